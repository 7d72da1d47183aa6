"""Did this edit help our policy? `pytest evals/ --candidate=NAME:v2 --baseline=NAME:v1` answers."""

import pytest


@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew_win_rate(ab):
    """As crew, the candidate wins more often than the baseline did."""
    ab.require()


@pytest.mark.league_ab(role="imposter", episodes=100, claim="noninferior", margin=0.20)
def test_imposter_is_not_hurt(ab):
    """As imposter, the candidate does not win less often than the baseline by 20 points or more."""
    ab.require()
