"""Whichever seats hang, they are named, and in no more games than were announced."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.league.wedge import BudgetSpent, Outcome, most_tests, search

SEATS = range(8)


class Games:
    """Games that hang if one of these seats keeps its policy."""

    def __init__(self, wedged, budget=1000):
        self.wedged = frozenset(wedged)
        self.budget = budget
        self.kept = []

    def __call__(self, kept):
        if len(self.kept) == self.budget:
            raise BudgetSpent
        self.kept.append(kept)
        return bool(kept & self.wedged)


PAIRS_AND_LESS = [w for size in range(3) for w in itertools.combinations(SEATS, size)]


@pytest.mark.parametrize("wedged", PAIRS_AND_LESS, ids=str)
def test_any_one_and_any_two_of_eight_are_named_within_ten_games(wedged):
    games = Games(wedged)
    found = search(SEATS, games)
    assert set(found.wedged) == set(wedged)
    assert found.outcome is (Outcome.NAMED if wedged else Outcome.NOT_AGAIN)
    assert len(games.kept) <= most_tests(8, len(wedged)) <= 10
    assert set(found.cleared) == set(SEATS) - set(wedged)
    assert len(set(games.kept)) == len(games.kept), "no game is played twice"


@given(
    st.permutations(SEATS),
    st.sets(st.sampled_from(SEATS)),
    st.sets(st.sampled_from(SEATS)),
    st.integers(1, 8),
)
def test_any_number_in_any_order_whoever_is_suspected_first(order, wedged, prime, size):
    seats = order[:size]
    wedged, prime = wedged & set(seats), prime & set(seats)
    games = Games(wedged)
    found = search(seats, games, prime=prime)
    assert set(found.wedged) == wedged
    assert len(found.wedged) == len(wedged)
    assert len(games.kept) <= most_tests(size, len(wedged), prime=len(prime))


@given(st.sets(st.sampled_from(SEATS)), st.integers(0, 20))
def test_a_budget_is_never_exceeded_and_what_was_told_by_then_is_true(wedged, budget):
    games = Games(wedged, budget)
    found = search(SEATS, games)
    assert len(games.kept) <= budget
    assert set(found.wedged) <= wedged
    assert not set(found.cleared) & wedged
    if found.among:
        assert set(found.among) & wedged
    if found.outcome is not Outcome.OUT_OF_BUDGET:
        assert set(found.wedged) == wedged


def test_who_is_suspected_first_is_told_in_four_games():
    games = Games({4})
    assert search(SEATS, games, prime={4}).wedged == (4,)
    assert games.kept == [frozenset(), frozenset(SEATS), frozenset({4}), frozenset(SEATS) - {4}]


def test_games_that_hang_whoever_sits_there_blame_no_policy():
    asked = []

    def hangs(kept):
        asked.append(kept)
        return True

    assert search(SEATS, hangs).outcome is Outcome.NO_POLICY
    assert asked == [frozenset()], "nothing else is played: it could not tell anything"
