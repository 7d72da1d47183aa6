"""What users of other tools met is tried here: each row of `tests/THREADS.md` has tests, and each such test a row."""

from pathlib import Path

import pytest

from tests.house.marked import marked, table

TESTS = Path(__file__).parents[1]
PAGE = TESTS / "THREADS.md"
OF_A_RUNNER = {*range(1, 16), 20, 22, 24, 25}
"""The rows about what runs and waits. The others (16 to 19, 21, 23) are about statistics, polling and containers."""


@pytest.fixture(scope="module")
def tried():
    return marked((path.read_text() for path in sorted(TESTS.rglob("test_*.py"))), "thread")


@pytest.mark.parametrize("row", sorted(OF_A_RUNNER))
def test_every_row_about_a_runner_has_a_test(tried, row):
    assert tried.get(row), f"no test is marked @pytest.mark.thread(row={row})"


def test_the_table_names_the_tests_that_carry_its_rows(tried):
    assert table(PAGE.read_text()) == tried


def test_a_row_without_tests_is_seen():
    source = (
        "@pytest.mark.thread(row=3)\n@pytest.mark.slow\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n"
    )
    assert marked([source], "thread") == {3: {"test_a"}}
    assert marked([source], "failure_mode") == {}
    assert table("| 3 | x#1 | y | `test_a`, `test_c` |\n| 4 | x#2 | y | - |\n") == {
        3: {"test_a", "test_c"},
        4: set(),
    }
