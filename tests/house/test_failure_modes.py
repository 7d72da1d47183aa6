"""How the league's service fails is tried here: each number of `tests/FAILURES.md` has tests, and each such test a row."""

from pathlib import Path

import pytest

from tests.house.marked import marked, table

TESTS = Path(__file__).parents[1]
PAGE = TESTS / "FAILURES.md"
TRIED = {*range(1, 43)} - {29}
"""What concerns running, judging and downloading. The other one, 29, is about uploads, and nothing here uploads."""


@pytest.fixture(scope="module")
def tried():
    return marked((path.read_text() for path in sorted(TESTS.rglob("test_*.py"))), "failure_mode")


@pytest.mark.parametrize("number", sorted(TRIED))
def test_every_failure_has_a_test(tried, number):
    assert tried.get(number), f"no test is marked @pytest.mark.failure_mode(number={number})"


def test_the_table_names_the_tests_that_carry_its_numbers(tried):
    assert table(PAGE.read_text()) == tried
