"""Edits whose effect is known, through the real game and the real verdict: found as often as the statistics predict."""

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

import pytest
from scipy.stats import binom

from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.league.seats import layout
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Verdict

RUNS = 200
GAMES = 20
SEAT = 0
BASELINE, BETTER, WORSE = "keeper-1", "keeper-2", "keeper-3"
CLAIM = Declaration("better")
BY_CHANCE = 0.0005
"""How rarely a count may lie beyond either of its limits, though the prediction is right."""


def table(build):
    strong = [SeatEntry(player.name, player.builds[-1]) for player in CAST if player.tier is Tier.STRONG][:7]
    return [SeatEntry("keeper", build), *strong]


@pytest.fixture(scope="module")
def wins():
    """Wins of each build in 200 runs of 20 games, no seed used twice."""
    config = parse_config(
        {"imposterCount": 2, "autoImposterCount": False, "slots": layout(679961).slots(), "maxTicks": 10_000}
    )
    found = {}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for place, build in enumerate((BASELINE, BETTER, WORSE)):
            seeds = range(place * RUNS * GAMES, (place + 1) * RUNS * GAMES)
            games = pool.map(play, repeat(config), repeat(table(build)), seeds, chunksize=200)
            won = [bool(game.results["win"][SEAT]) for game in games]
            found[build] = [won[first : first + GAMES] for first in range(0, len(won), GAMES)]
    return found


def rate(runs):
    return sum(map(sum, runs)) / (RUNS * GAMES)


@pytest.mark.slow
@pytest.mark.parametrize("games", [6, 10, 20])
@pytest.mark.parametrize(("build", "verdict"), [(BETTER, Verdict.BETTER), (WORSE, Verdict.WORSE)])
def test_an_edit_is_found_as_often_as_predicted(wins, build, verdict, games):
    """With few games the prediction is far from 1, so that more finds than predicted would be a fault as well."""
    chances = outcome_chances(CLAIM, rate(wins[build]), rate(wins[BASELINE]), games).verdicts
    found = [
        judge(
            CLAIM,
            ArmEvidence(build, sum(candidate[:games]), games),
            ArmEvidence(BASELINE, sum(baseline[:games]), games),
        ).verdict
        for candidate, baseline in zip(wins[build], wins[BASELINE], strict=True)
    ]
    least, most = binom.ppf([BY_CHANCE, 1 - BY_CHANCE], RUNS, chances[verdict])
    assert least <= found.count(verdict) <= most, (
        f"{found.count(verdict)} of {RUNS}, {chances[verdict]:.3f} predicted"
    )
    other = Verdict.WORSE if verdict is Verdict.BETTER else Verdict.BETTER
    assert found.count(other) <= binom.ppf(1 - BY_CHANCE, RUNS, chances[other])
    if games == GAMES:
        assert chances[verdict] > 0.98
    else:
        assert 0.05 < chances[verdict] < 0.98, "a prediction that no count could contradict"
