"""The reward of one instance, and the three scales on which cohort studies were published. Pure.

The same answers exist as a clipped ratio `max(0, 1 - KL_agent / KL_reference)` and as the difference `KL_reference -
KL_agent`, of divergences stored in nats (older runs, which name no unit) or in bits. The reference reward of the task is in
bits, so only differences in bits are comparable with it.
"""

from __future__ import annotations

import math
from enum import StrEnum

from pytest_evalharness.clbench.artifact import Pass
from pytest_evalharness.clbench.domains import CLOSE, COHORT, DATABASE, QUERY_BUDGET
from pytest_evalharness.clbench.shapes import Outcome

_LN2 = math.log(2.0)
_SAME = 1e-3


class Scale(StrEnum):
    """How rewards of cohort studies are read."""

    BITS = "bits"
    """Differences, all of them in bits: the one consistent reading."""
    PR9 = "pr9"
    """Differences in whatever unit they are stored: what the leaderboard's script does since its cohort fix."""
    PREFIX = "prefix"
    """Rewards as they are stored: what the script did before."""


class Unit(StrEnum):
    """In what the divergences of an outcome are stored, as the data tell."""

    BITS = "bits"
    NATS = "nats"
    UNKNOWN = "unknown"


_METRICS: dict[str | None, Unit] = {"kl_skill_score": Unit.NATS, "kl_information_gain_bits": Unit.BITS}
"""What a metric's name says of the divergences beside it."""


def divergences(outcome: Outcome) -> tuple[float, float] | None:
    """(reference, agent), None where the outcome has not both."""
    told = outcome.metadata
    if told is None or told.mean_reference_kl is None or told.mean_kl_divergence is None:
        return None
    return told.mean_reference_kl, told.mean_kl_divergence


def unit_of(outcome: Outcome, twin: tuple[float, float] | None = None) -> Unit:
    """The unit of an outcome's divergences: its own word, the same answer told in bits elsewhere, or what its reward is.

    Args:
        outcome: of cohort studies.
        twin: its (reference, agent) divergences in bits, where the trace has its other list.
    """
    pair = divergences(outcome)
    if pair is None or outcome.metadata is None:
        return Unit.UNKNOWN
    told = outcome.metadata.kl_unit
    if told is not None:
        return next((one for one in (Unit.BITS, Unit.NATS) if one == told), Unit.UNKNOWN)
    if twin is not None and pair[0] > 0.0:
        return _unit_beside(pair[0], twin[0])
    if outcome.raw_metric_name in _METRICS:
        return _METRICS[outcome.raw_metric_name]
    return Unit.UNKNOWN if _only_a_difference(outcome, pair) else Unit.NATS


def _unit_beside(stored: float, in_bits: float) -> Unit:
    """The unit in which a divergence was stored that is so many bits."""
    units = {Unit.NATS: in_bits * _LN2, Unit.BITS: in_bits}
    return next((unit for unit, told in units.items() if abs(told / stored - 1.0) < _SAME), Unit.UNKNOWN)


def _only_a_difference(outcome: Outcome, pair: tuple[float, float]) -> bool:
    """Whether the stored reward is the difference and not the clipped ratio: no published form has that without a unit."""
    if outcome.reward is None:
        return False
    reference, agent = pair
    ratio = max(0.0, 1.0 - agent / reference) if reference else 0.0
    return abs(outcome.reward - (reference - agent)) <= CLOSE < abs(outcome.reward - ratio)


def reward(
    task: str, outcome: Outcome, scale: Scale, *, budget: int | None, unit: Unit = Unit.UNKNOWN
) -> float:
    """The canonical reward of an instance.

    Args:
        task: its id.
        outcome: what was stored.
        scale: of cohort studies.
        budget: queries an instance of the database may take.
        unit: of the outcome's divergences, for `Scale.BITS`.

    Returns:
        The reward in the task's own unit; a missing one is 0. An unknown unit leaves the stored reward as it is: whoever
        asks for bits has to refuse it first.
    """
    stored = outcome.reward or 0.0
    if task == DATABASE:
        regret = regret_of(outcome)
        return stored if regret is None else max(0.0, 1.0 - regret / (budget or QUERY_BUDGET))
    if task != COHORT or scale is Scale.PREFIX:
        return stored
    pair = divergences(outcome)
    if pair is None or (scale is Scale.BITS and unit is Unit.UNKNOWN):
        return stored
    difference = pair[0] - pair[1]
    return difference / _LN2 if scale is Scale.BITS and unit is Unit.NATS else difference


def regret_of(outcome: Outcome) -> float | None:
    """The queries that an instance of the database cost, the whole budget for a wrong answer."""
    if outcome.raw_metric_value is not None:
        return outcome.raw_metric_value
    return outcome.metadata.regret if outcome.metadata else None


def total(task: str, one: Pass, scale: Scale, budget: int | None) -> float:
    """The sum of a pass's rewards."""
    return math.fsum(rewards(task, one, scale, budget))


def rewards(task: str, one: Pass, scale: Scale, budget: int | None) -> list[float]:
    """A pass's rewards, in its order."""
    return [
        reward(task, outcome, scale, budget=budget, unit=_unit(task, one, outcome))
        for outcome in one.outcomes
    ]


def units(one: Pass) -> frozenset[Unit]:
    """The units that a pass of cohort studies is stored in."""
    return frozenset(_unit(COHORT, one, outcome) for outcome in one.outcomes)


def _unit(task: str, one: Pass, outcome: Outcome) -> Unit:
    return unit_of(outcome, one.in_bits.get(outcome.instance_id)) if task == COHORT else Unit.UNKNOWN
