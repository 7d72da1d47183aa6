"""How the league's service fails is tried here: each number of `tests/FAILURES.md` has tests, and each such test a row."""

from pathlib import Path

import pytest

from tests.house.marked import marked, table

TESTS = Path(__file__).parents[1]
PAGE = TESTS / "FAILURES.md"
OF_A_RUN = {*range(1, 43)} - {4, *range(18, 22), 29, *range(31, 34)}
"""What concerns running and judging. The others (4, 18 to 21, 29, 31 to 33) are about downloads and uploads."""


@pytest.fixture(scope="module")
def tried():
    return marked((path.read_text() for path in sorted(TESTS.rglob("test_*.py"))), "failure_mode")


@pytest.mark.parametrize("number", sorted(OF_A_RUN))
def test_every_failure_of_a_run_has_a_test(tried, number):
    assert tried.get(number), f"no test is marked @pytest.mark.failure_mode(number={number})"


def test_the_table_names_the_tests_that_carry_its_numbers(tried):
    assert table(PAGE.read_text()) == tried
