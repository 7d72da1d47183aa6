"""Skills cause rates: turn one skill and play changes, in the direction the skill says."""

import random
from dataclasses import fields, replace

import pytest

from pytest_evalharness.arena.game.match import SeatEntry, play_skills
from pytest_evalharness.arena.game.policies import CATALOGUE, CrewPolicy, Observation, Rules, Skill, Statement
from pytest_evalharness.arena.game.policies.suspicion import KILLED, NEAR

RULES = Rules(
    players=8, imposters=2, task_ticks=72, kill_cooldown=800, kill_range=20, report_range=20, vent_range=16
)


def crew_rate(forced, skill, games=150, others="aurora-5", **changes):
    rest = replace(CATALOGUE[others], **changes)
    seats = [SeatEntry(f"p{seat}", others) for seat in range(8)]
    wins = [play_skills(forced, seats, [skill, *[rest] * 7], seed).results["win"][0] for seed in range(games)]
    return sum(wins) / games


@pytest.mark.parametrize("name", [field.name for field in fields(Skill) if field.name != "sweep"])
def test_a_skill_out_of_range_is_refused(name):
    with pytest.raises(ValueError, match=name):
        Skill(**{name: -0.1})


def test_no_skill_is_a_rate_of_winning():
    assert not [field.name for field in fields(Skill) if "win" in field.name or "rate" in field.name]


def test_dawdling_at_tasks_costs_matches_step_by_step(forced):
    keeper = CATALOGUE["keeper-1"]
    rates = [
        crew_rate(forced, replace(keeper, hesitation=hesitation))
        for hesitation in (100.0, 400.0, 500.0, 600.0, 900.0)
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 0.9
    assert rates[-1] < 0.1
    assert 0.1 < rates[2] < 0.9


def test_steering_badly_costs_matches(forced):
    keeper = CATALOGUE["keeper-1"]
    assert crew_rate(forced, replace(keeper, steering=0.6)) < crew_rate(forced, keeper) - 0.1


def test_letting_go_of_tasks_costs_matches(forced):
    keeper = CATALOGUE["keeper-1"]
    assert crew_rate(forced, replace(keeper, fumble=0.4)) < crew_rate(forced, keeper) - 0.1


def test_imposters_who_lie_low_longer_lose(forced):
    keeper = CATALOGUE["keeper-1"]
    rates = [crew_rate(forced, keeper, lull=lull) for lull in (0.0, 1400.0, 4000.0)]
    assert rates == sorted(rates)
    assert rates[2] - rates[0] > 0.5


def ejected_imposters(forced, games=100, **changes):
    """Mean number of imposters ejected, when everybody has the changed skills."""
    skill = replace(CATALOGUE["sable-3"], attentiveness=1.0, **changes)
    seats = [SeatEntry(f"p{seat}", "sable-3") for seat in range(8)]
    ejected = 0
    for seed in range(games):
        match = play_skills(forced, seats, [skill] * 8, seed, record=True)
        ejected += sum(
            event.key == "died" and event.value == {"cause": "ejected"} and event.player in (2, 3)
            for event in match.events
        )
    return ejected / games


def test_attentive_witnesses_get_imposters_ejected(forced):
    assert ejected_imposters(forced, attention=1.0) > ejected_imposters(forced, attention=0.2) + 0.2


def test_killing_before_witnesses_gets_imposters_ejected(forced):
    assert ejected_imposters(forced, recklessness=1.0) > ejected_imposters(forced, recklessness=0.0) + 0.1


def in_meeting(skill, **facts):
    seen = Observation(RULES, 0, room=0, tasks=[], buttons=1, fellows=None)
    seen.tick = 2000
    seen.body = (7, 4)
    seen.living[7] = False
    for name, value in facts.items():
        setattr(seen, name, value)
    return CrewPolicy(skill, random.Random(1)).vote(seen)


CAREFUL = Skill(inference=1.0, trust=0.8, vote_threshold=0.85)


def test_without_evidence_a_careful_crew_member_skips():
    assert in_meeting(CAREFUL) == -1


def test_a_witness_votes_for_the_culprit():
    assert in_meeting(CAREFUL, witnessed={3: KILLED}) == 3


def test_a_testimony_convinces_who_trusts():
    testimony = [Statement(1, 0, 3, KILLED)]
    assert in_meeting(CAREFUL, statements=testimony) == 3
    assert in_meeting(replace(CAREFUL, trust=0.1), statements=testimony) == -1


def test_a_false_testimony_gives_its_author_away():
    slander = [Statement(3, 0, 0, KILLED)]
    assert in_meeting(CAREFUL, statements=slander) == 3


def test_the_accused_is_not_believed_when_it_accuses_back():
    statements = [Statement(1, 0, 3, KILLED), Statement(3, 0, 1, KILLED)]
    assert in_meeting(CAREFUL, statements=statements) == 3


def test_a_fresh_sighting_at_the_scene_and_a_rumour_are_enough():
    rooms, ticks = [0, 0, 0, 4, 0, 0, 0, 0], [-10_000] * 8
    ticks[3] = 1990
    rumour = [Statement(1, 4, 3, NEAR)]
    assert in_meeting(CAREFUL, seen_room=rooms, seen_tick=ticks) == -1
    assert in_meeting(CAREFUL, seen_room=rooms, seen_tick=ticks, statements=rumour) == 3
    forgotten = replace(CAREFUL, memory=5.0)
    assert in_meeting(forgotten, seen_room=rooms, seen_tick=ticks, statements=rumour) == -1


def test_an_alibi_that_contradicts_a_sighting_is_suspicious():
    rooms, ticks = [0, 0, 0, 8, 0, 0, 0, 0], [-10_000] * 8
    ticks[3] = 1995
    alibi, rumour = Statement(3, 2, -1, 0), Statement(1, 4, 3, NEAR)
    assert in_meeting(CAREFUL, seen_room=rooms, seen_tick=ticks, statements=[alibi, rumour]) == 3
    honest = Statement(3, 8, -1, 0)
    assert in_meeting(CAREFUL, seen_room=rooms, seen_tick=ticks, statements=[honest, rumour]) == -1
