"""The placebo: a policy against itself, through the real game and the real verdict, a thousand times."""

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

import pytest
from scipy.stats import binom

from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.league.seats import layout
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Verdict

COMPARISONS = 1000
GAMES = 30
SEAT = 0


def seats():
    strong = [SeatEntry(player.name, player.builds[-1]) for player in CAST if player.tier is Tier.STRONG][:7]
    return [SeatEntry("keeper", "keeper-1"), *strong]


@pytest.fixture(scope="module")
def arms():
    """Wins of 2,000 arms of one and the same build, no seed used twice."""
    config = parse_config(
        {"imposterCount": 2, "autoImposterCount": False, "slots": layout(679961).slots(), "maxTicks": 10_000}
    )
    seeds = range(2 * COMPARISONS * GAMES)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        games = pool.map(play, repeat(config), repeat(seats()), seeds, chunksize=500)
        won = [bool(game.results["win"][SEAT]) for game in games]
    return [won[first : first + GAMES] for first in range(0, len(won), GAMES)]


def decisive(arms, rule):
    looks = usual_looks(GAMES) if rule == "group_sequential" else ()
    declaration = Declaration("better", rule=rule, looks=looks)
    return sum(decided(declaration, c, b) for c, b in zip(arms[::2], arms[1::2], strict=True))


def decided(declaration, candidate, baseline):
    for look, games in enumerate(declaration.looks or (GAMES,)):
        turns = [(int(c), int(b)) for c, b in zip(candidate[:games], baseline[:games], strict=True)]
        sides = [ArmEvidence("keeper:v1", sum(side), games) for side in zip(*turns, strict=True)]
        if judge(declaration, *sides, turns=turns, look=look).verdict in {Verdict.BETTER, Verdict.WORSE}:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "nominal"),
    [
        ("score", 0.05),
        ("overlap", 0.0056),
        ("newcombe", 0.052),
        ("exact", 0.05),
        ("group_sequential", 0.05),
        ("always_valid", 0.05),
        ("bayes", 0.0),
    ],
)
def test_a_build_against_itself_is_rarely_told_apart(arms, rule, nominal):
    """At most what a rule promises: the count may exceed it by chance once in a thousand runs of this test."""
    assert 0.2 < sum(map(sum, arms)) / (len(arms) * GAMES) < 0.8, (
        "a table that cannot lose would prove nothing"
    )
    assert decisive(arms, rule) <= binom.ppf(0.999, COMPARISONS, nominal)
