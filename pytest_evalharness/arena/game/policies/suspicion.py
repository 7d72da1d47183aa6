"""How crew reason in a meeting: from own sightings and what others said to one suspect, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pytest_evalharness.arena.game.actions import NOBODY
from pytest_evalharness.arena.game.policies.observation import Observation, Statement
from pytest_evalharness.arena.game.policies.skill import Skill
from pytest_evalharness.arena.game.station import DISTANCE

# Grounds of an accusation, by strength.
NO_GROUND: Final = 0
NEAR: Final = 1  # was near the body
VENTED: Final = 2  # climbed out of a vent
KILLED: Final = 3  # was seen to kill
GROUNDS: Final = ("none", "near", "vent", "kill")

_CERTAIN: Final = 4.0
_WEIGHT: Final = (0.0, 0.25, 1.3, 1.6)  # of an accusation heard, per ground
_SLANDER: Final = (0.0, 0.15, 1.0, 1.0)  # of being accused oneself, against the accuser
_ACCUSED: Final = 0.3  # what is left of the word of somebody who was already accused of a deed
_LIAR: Final = 0.7
_FALSE_ALIBI: Final = 0.7
_NEARBY: Final = 130.0  # ticks of walk from a body within which a sighting counts
_PRESENCE: Final = 0.75
_FRESH: Final = 120  # a sighting this young contradicts a false alibi
_SAY_NEAR: Final = 0.45  # suspicion from which a seat mentions who was near
_NOISE: Final = 0.5


def presence(seen: Observation, skill: Skill, suspect: int) -> float:
    """How much one's own last sighting of a suspect speaks against it, 0 to 1."""
    if seen.body is None:
        return 0.0
    age = seen.tick - seen.seen_tick[suspect]
    if age >= skill.memory:
        return 0.0
    distance = DISTANCE[seen.seen_room[suspect]][seen.body[1]]
    return max(0.0, 1.0 - distance / _NEARBY) * (1.0 - age / skill.memory)


def honest_statement(seen: Observation, skill: Skill) -> Statement:
    """A witness names the culprit; others mention whom they saw near the body, if anybody stands out."""
    for culprit, ground in seen.witnessed.items():
        if seen.living[culprit]:
            return Statement(seen.seat, seen.room, culprit, ground)
    suspect, score = NOBODY, _SAY_NEAR
    for other, living in enumerate(seen.living):
        if living and other != seen.seat:
            here = skill.inference * presence(seen, skill, other)
            if here > score:
                suspect, score = other, here
    return Statement(seen.seat, seen.room, suspect, NO_GROUND if suspect == NOBODY else NEAR)


def verdict(seen: Observation, skill: Skill, chance: Callable[[], float]) -> int:
    """The seat to vote for, -1 to skip."""
    score = _from_memory(seen, skill, chance)
    _add_statements(seen, skill, score)
    suspect, most = NOBODY, skill.vote_threshold
    for other, living in enumerate(seen.living):
        if living and other != seen.seat and score[other] >= most:
            suspect, most = other, score[other]
    return suspect


def _from_memory(seen: Observation, skill: Skill, chance: Callable[[], float]) -> list[float]:
    score = [0.0] * seen.rules.players
    blur = (1.0 - skill.inference) * _NOISE * 2.0
    for other, living in enumerate(seen.living):
        if living and other != seen.seat:
            score[other] = _PRESENCE * skill.inference * presence(seen, skill, other) + blur * chance()
    for culprit in seen.witnessed:
        score[culprit] += _CERTAIN
    for liar in seen.liars:
        score[liar] += _LIAR * skill.inference
    return score


def _add_statements(seen: Observation, skill: Skill, score: list[float]) -> None:
    suspects: set[int] = set()
    for said in seen.statements:
        speaker = said.speaker
        if said.ground >= VENTED:
            suspects.add(said.accused)
        if speaker == seen.seat:
            continue
        if said.accused == seen.seat:
            score[speaker] += _SLANDER[said.ground] * skill.inference
        elif said.accused != NOBODY:
            word = _ACCUSED if speaker in suspects else 1.0
            score[said.accused] += _WEIGHT[said.ground] * skill.trust * word
        age = seen.tick - seen.seen_tick[speaker]
        if age < _FRESH and DISTANCE[said.room][seen.seen_room[speaker]] > age:
            score[speaker] += _FALSE_ALIBI * skill.inference
