"""What a run would do: seats, field, episodes, budgets, and what so many games can show. Posts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.plan import TICKS_PER_SECOND, Budgets, ComparisonPlan
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.seats import SEATS
from pytest_evalharness.verdict.plan_wording import aa_lines, power_lines
from pytest_evalharness.verdict.planning import outlook


def lines(plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm], budgets: Budgets) -> Iterator[str]:
    """The plan of one comparison, a line at a time. Names of players are made harmless."""
    declared = plan.declaration
    margin = f" within {declared.margin:.2f}" if declared.margin is not None else ""
    by = (
        f"decided by the {declared.rule} rule"
        if declared.rule.decides
        else f"left open: the {declared.rule} rule is report only,"
    )
    if plan.aa:
        yield f"claim      none: an A/A run must tell no difference, by the {declared.rule} rule at alpha {declared.alpha:g}"
    else:
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
    yield play_line(plan.ticks)
    found = outlook(declared, games=plan.episodes)
    yield from aa_lines(found) if plan.aa else power_lines(found)


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


def play_line(ticks: int) -> str:
    """How long the games take. However many they are: the service plays the episodes of a request at once."""
    seconds = ticks / TICKS_PER_SECOND
    return f"wall clock at most {span(seconds)} an episode ({ticks} ticks at {TICKS_PER_SECOND} a second), all at once"
