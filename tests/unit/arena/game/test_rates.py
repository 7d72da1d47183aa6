"""The true rates in the default field, by playing. Bounds allow four standard errors around the aim."""

from math import sqrt
from random import Random
from statistics import mean

import pytest

from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play

GAMES = 5000
SLACK = 4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured():
    return {}


@pytest.fixture
def rate(forced, seated, measured):
    def measure(build, role):
        if (build, role) not in measured:
            seat = 0 if role == "crew" else 2
            seats = seated(build, role)
            wins = sum(play(forced, seats, seed).results["win"][seat] for seed in range(GAMES))
            measured[build, role] = wins / GAMES
        return measured[build, role]

    return measure


def slack(share):
    return SLACK * sqrt(share * (1 - share) / GAMES)


def test_the_baseline_is_the_bottleneck_of_its_crew(rate):
    assert abs(rate("keeper-1", "crew") - 0.45) < slack(0.45)


@pytest.mark.parametrize("build", ["keeper-2", "rival-3"])
def test_better_crew(build, rate):
    assert rate(build, "crew") > 0.93


def test_the_broken_edit(rate):
    assert rate("keeper-3", "crew") < 0.03


def test_the_neutral_edit(rate):
    assert abs(rate("keeper-4", "crew") - rate("keeper-1", "crew")) < 0.02 + slack(0.45) * sqrt(2) / 2


@pytest.mark.parametrize("build", ["keeper-1", "keeper-2", "keeper-4"])
def test_imposter_play_is_the_same_in_every_version(build, rate):
    assert abs(rate(build, "imposter") - 0.79) < slack(0.79) + 0.01


def test_the_rival_is_no_imposter(rate):
    assert rate("rival-3", "imposter") < 0.05


def test_the_strong_seven_lead_mixed_role_play():
    config, chance = parse_config({}), Random(5)
    scores = {player.name: [] for player in CAST}
    for seed in range(4000):
        table = chance.sample(CAST, 8)
        seats = [SeatEntry(player.name, player.builds[-1]) for player in table]
        results = play(config, seats, seed).results
        for player, score in zip(table, results["scores"], strict=True):
            scores[player.name].append(score)
    field = [player for player in CAST if player.tier is not Tier.OWN]
    field.sort(key=lambda player: -mean(scores[player.name]))
    assert {player.tier for player in field[:7]} == {Tier.STRONG}
    assert mean(scores[field[6].name]) - mean(scores[field[7].name]) > 0.15
