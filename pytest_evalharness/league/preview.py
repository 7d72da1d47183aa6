"""What a run would do: seats, field, episodes, budgets, and what so many games can show. Posts nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.plan import Budgets, ComparisonPlan
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.seats import SEATS
from pytest_evalharness.stats import power
from pytest_evalharness.stats.normal import quantile
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Claim, Decision

PLANNING_RATE = 0.5
"""The baseline win rate that plans assume before anything was played: the one that asks for the most games."""
RULES: tuple[Literal["score"], Literal["overlap"]] = ("score", "overlap")


def lines(plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm], budgets: Budgets) -> Iterator[str]:
    """The plan of one comparison, a line at a time. Names of players are made harmless."""
    declared = plan.declaration
    margin = f" within {declared.margin:.2f}" if declared.margin is not None else ""
    by = (
        f"decided by the {declared.rule} rule"
        if declared.rule.decides
        else f"left open: the {declared.rule} rule is report only,"
    )
    yield f"claim      {declared.claim}{margin}, {by} at alpha {declared.alpha:g}"
    where = (
        printable(plan.server)
        if plan.server.startswith("embedded:")
        else f"{printable(plan.server)}, {plan.backend}"
    )
    yield f"arms       {plan.episodes} episodes each, {plan.ticks} ticks, on {where}"
    yield (
        f"field      {printable(roster.league)}, {printable(roster.division)}: {roster.live_players} live players, "
        f"{roster.chosen}, as of {roster.resolved_at}"
    )
    for position in range(SEATS):
        yield f"seat {position}     {_seat(position, plan, roster, arms)}"
    yield (
        f"budgets    queue {span(budgets.queue)}, stall {span(budgets.stall)}, total {span(budgets.total)}; "
        "the last two from the first running game"
    )
    yield from power_lines(plan)


def _seat(position: int, plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm]) -> str:
    role = str(plan.layout.roles[position])
    labels = [printable(arms[side].seats[position].label) for side in SIDES]
    if labels[0] != labels[1] or position == plan.tested_seat:
        tested = "  <- tested" if position == plan.tested_seat else ""
        return f"{role:<9} {labels[0]} against {labels[1]}{tested}"
    member = roster.seat(position, plan.tested_seat)
    score = "unscored" if member.score is None else f"best recent score {member.score:.3f}"
    who = (
        f" ({printable(member.player_name)}, {score})"
        if member.label == arms[SIDES[0]].seats[position].label
        else ""
    )
    return f"{role:<9} {labels[0]}{who}"


def power_lines(plan: ComparisonPlan) -> Iterator[str]:
    """What so many games can show, by exact enumeration from a baseline rate of one half."""
    declared, n = plan.declaration, plan.episodes
    if declared.claim.needs_margin and declared.margin is not None:
        yield from _margin_lines(declared, declared.margin, n)
        return
    lift = declared.target_lift
    found = [power.detectable_lift(PLANNING_RATE, n, rule=rule, alpha=declared.alpha) for rule in RULES]
    needed = [
        math.ceil(power.games_formula(PLANNING_RATE, _shifted(lift), declared.alpha, rule=rule))
        for rule in RULES
    ]
    yield (
        f"power      from a rate of {PLANNING_RATE}: {n} games find a lift of {_told(found[0])} "
        f"(overlap rule {_told(found[1])}) with 80 % power"
    )
    yield f"           a lift of {lift:.2f} needs {needed[0]} games an arm (overlap rule {needed[1]})"
    yield _chances(declared, "no effect", PLANNING_RATE, n)
    yield _chances(declared, f"a true lift of {lift:.2f}", _shifted(lift), n)


def _margin_lines(declared: Declaration, margin: float, n: int) -> Iterator[str]:
    """For a claim about a margin the question is another: how often does it hold, and how often should it not?"""
    needed = _games_for_margin(declared, margin)
    yield (
        f"power      from a rate of {PLANNING_RATE}: {declared.claim} within {margin:.2f} needs {needed} games an arm "
        "for 80 % power when nothing changed"
    )
    yield _chances(declared, "no effect", PLANNING_RATE, n)
    yield _chances(declared, f"a true loss of {margin:.2f}", max(PLANNING_RATE - margin, 0.0), n)


def _games_for_margin(declared: Declaration, margin: float) -> int:
    """`2pq (z_a + z_b)^2 / margin^2`; equivalence looks at both sides and shares its error between them.

    Source: Chow, Shao and Wang (2008), Sample Size Calculations in Clinical Research, ch. 4.
    """
    beta = 0.20 / 2 if declared.claim is Claim.EQUIVALENT else 0.20
    z = quantile(declared.alpha) + quantile(beta)
    return math.ceil(2 * PLANNING_RATE * (1 - PLANNING_RATE) * (z / margin) ** 2)


def _chances(declared: Declaration, words: str, rate: float, n: int) -> str:
    chances = outcome_chances(declared, rate, PLANNING_RATE, n).decisions
    return (
        f"chances    under {words}: passes {chances[Decision.MET]:.0%}, fails {chances[Decision.NOT_MET]:.0%}, "
        f"cannot tell {chances[Decision.CANNOT_TELL]:.0%}"
    )


def _shifted(lift: float) -> float:
    """A rate that far above the planning rate; a rate ends at 1."""
    return min(PLANNING_RATE + lift, 1.0)


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
