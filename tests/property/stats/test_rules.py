"""Every rule, whatever the counts: symmetric, monotone, and the same from its thresholds as from its definition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.stats.enumeration import winning_counts
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Counts
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Rule

DECIDING = [rule for rule in Rule if rule.decides and rule is not Rule.ALWAYS_VALID]
"""Rules that look at counts alone."""
ONE_LOOK = [rule for rule in DECIDING if not rule.sequential]


@st.composite
def tables(draw):
    n_c, n_b = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    return Counts(draw(st.integers(0, n_c)), n_c, draw(st.integers(0, n_b)), n_b)


def declared(rule, alpha):
    looks = (10, 20, 40) if rule is Rule.GROUP_SEQUENTIAL else ()
    return Standard.of(Declaration("better", rule, alpha=alpha, looks=looks))


@pytest.mark.parametrize("rule", DECIDING)
@settings(max_examples=60, deadline=None)
@given(counts=tables(), alpha=st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.4]))
def test_swapping_the_arms_or_wins_and_losses_turns_the_direction_round(rule, counts, alpha):
    towards = rules.direction(counts, declared(rule, alpha))
    swapped = Counts(counts.x_b, counts.n_b, counts.x_c, counts.n_c)
    losses = Counts(counts.n_c - counts.x_c, counts.n_c, counts.n_b - counts.x_b, counts.n_b)
    assert rules.direction(swapped, declared(rule, alpha)) == -towards
    assert rules.direction(losses, declared(rule, alpha)) == -towards


@pytest.mark.parametrize("rule", ONE_LOOK)
@settings(max_examples=60, deadline=None)
@given(counts=tables(), alpha=st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.4]))
def test_the_thresholds_are_the_direction(rule, counts, alpha):
    up = winning_counts(counts.n_c, counts.n_b, rule.value, alpha)
    better = counts.x_c >= up[counts.x_b]
    worse = counts.x_c <= counts.n_c - up[counts.n_b - counts.x_b]
    assert rules.direction(counts, declared(rule, alpha)) == better - worse


@pytest.mark.parametrize("rule", DECIDING)
@settings(max_examples=40, deadline=None)
@given(counts=tables())
def test_one_more_win_never_makes_the_candidate_look_worse(rule, counts):
    if counts.x_c < counts.n_c:
        more = Counts(counts.x_c + 1, counts.n_c, counts.x_b, counts.n_b)
        assert rules.direction(more, declared(rule, 0.05)) >= rules.direction(counts, declared(rule, 0.05))
