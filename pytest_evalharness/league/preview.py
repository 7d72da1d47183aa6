"""What a run would do: seats, field, episodes, budgets, and what so many games can show. Posts nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.blocks import AT_ONCE
from pytest_evalharness.league.family import standing_of
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.game import CREWRIFT
from pytest_evalharness.league.plan import TICKS_PER_SECOND, Budgets, ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.families import Standing
from pytest_evalharness.verdict import wins
from pytest_evalharness.verdict.family_power import family_power
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.plan_wording import aa_lines, family_line, power_lines
from pytest_evalharness.verdict.planning import outlook
from pytest_evalharness.verdict.words import Effects

_CORRELATIONS = (0.0, 0.3)
"""How alike two games of a pair may be: not at all, and as much as where a seed fixes map and tasks but not the timing."""


def lines(plan: ComparisonPlan, planned: Frozen, budgets: Budgets, *, claims: int = 1) -> Iterator[str]:
    """The plan of one comparison, a line at a time. Names of players are made harmless.

    Args:
        plan: what was asked.
        planned: the field, the builds, and who would sit where.
        budgets: how long the arms may take.
        claims: how many claims are tested together.
    """
    declared = plan.declaration
    margin = f" within {declared.margin:.2f}" if declared.margin is not None else ""
    if declared.measured and declared.margin is not None:
        margin = f" within {declared.margin:g} {words_of(declared.metric)}"
    by = (
        f"decided by the {declared.rule} rule"
        if declared.rule.decides
        else f"left open: the {declared.rule} rule is report only,"
    )
    if plan.aa:
        yield f"claim      none: an A/A run must tell no difference, by the {declared.rule} rule at alpha {declared.alpha:g}"
    else:
        yield f"claim      {declared.claim}{margin}, {by} at alpha {declared.alpha:g}"
    yield from _setting(plan, planned, budgets)
    if declared.measured:
        yield f"metric     {words_of(declared.metric)} by Student's t: what so many games can show follows from its spread"
        return
    yield from _outlooks(plan)
    if claims > 1 and not plan.aa and standing_of(declared) is Standing.MEMBER:
        yield family_line(family_power(declared, claims, plan.episodes))


def pool_lines(
    plan: PoolPlan,
    strata: Sequence[Frozen],
    budgets: Callable[[ComparisonPlan], Budgets],
    *,
    claims: int = 1,
) -> Iterator[str]:
    """The plan of a pool: the claim, each configuration, and what all of them together can show.

    Args:
        plan: what was asked.
        strata: who would sit where, for each configuration in order.
        budgets: how long the arms of a configuration may take.
        claims: how many claims are tested together.
    """
    declared = plan.declaration
    margin = f" within {declared.margin:.2f}" if declared.margin is not None else ""
    claim = "none: an A/A run must tell no difference" if plan.aa else f"{declared.claim}{margin}, decided"
    by = "mean effect of HKSJ" if declared.effects is Effects.RANDOM else "Cochran-Mantel-Haenszel test"
    yield f"claim      {claim} by the {by} at alpha {declared.alpha:g}, over {len(strata)} configurations"
    for (name, part), frozen in zip(plan.strata, strata, strict=True):
        yield f"config     {printable(name)}"
        for line in _setting(part, frozen, budgets(part)):
            yield f"  {line}"
    fewest = min(part.episodes for part in plan.plans)
    found = outlook(declared, games=fewest, configs=len(strata))
    yield from aa_lines(found) if plan.aa else power_lines(found)
    if claims > 1 and not plan.aa and standing_of(declared) is Standing.MEMBER:
        yield family_line(family_power(declared, claims, fewest * len(strata)))


def _setting(plan: ComparisonPlan, planned: Frozen, budgets: Budgets) -> Iterator[str]:
    """Where the arms play, against whom, and for how long."""
    roster, arms = planned.roster, planned.arms
    if plan.reading() is not None:
        yield f"game       {plan.game.words}; won: {wins.words_of(plan.declaration.win)}"
    yield from [_arms(plan)] if plan.adopted is None else _adopted(arms)
    if planned.builds is not None:
        for line in planned.builds.summary():
            yield f"builds     {line}"
        for warning in planned.builds.warnings:
            yield f"warning    {printable(warning, 500)}"
    if plan.adopted is None:
        yield (
            f"field      {printable(roster.league)}, {printable(roster.division)}: {roster.live_players} live players, "
            f"{roster.chosen}, as of {roster.resolved_at}"
        )
    for position in range(len(plan.roles)):
        yield f"seat {position}     {_seat(position, plan, roster, arms)}"
    yield (
        f"budgets    queue {span(budgets.queue)}, stall {span(budgets.stall)}, total {span(budgets.total)}; "
        "the last two from the first running game"
    )
    if plan.adopted is None:
        yield _wall_clock(plan)


def _adopted(arms: Mapping[str, Arm]) -> Iterator[str]:
    """The requests of arms that somebody else posted."""
    for side in SIDES:
        told = ", ".join(
            f"{one}: {counted(block.episodes, 'game')}"
            for one, block in zip(arms[side].adopted, arms[side].blocks, strict=True)
        )
        yield f"{side:<10} {told}"


def _arms(plan: ComparisonPlan) -> str:
    server = printable(plan.server)
    where = server if plan.server.startswith("embedded:") else f"{server}, {plan.backend}"
    length = f"{plan.ticks} ticks" if plan.game.ticks else "of the game's own length"
    if plan.declaration.pairing is None:
        return f"arms       {plan.episodes} episodes each, {length}, on {where}"
    return (
        f"arms       {plan.episodes} pairs: one request a pair and arm, seeds drawn when the field is frozen, "
        f"{length}, on {where}"
    )


def _wall_clock(plan: ComparisonPlan) -> str:
    if plan.game != CREWRIFT:
        return "wall clock not known: how long a game takes is the game's own"
    if plan.declaration.pairing is None:
        return play_line(plan.ticks)
    seconds = plan.ticks / TICKS_PER_SECOND
    rounds = math.ceil(len(SIDES) * plan.episodes / AT_ONCE)
    return (
        f"wall clock at most {span(seconds)} an episode ({plan.ticks} ticks at {TICKS_PER_SECOND} a second), "
        f"{AT_ONCE} requests at one time: at most {span(rounds * seconds)} of play"
    )


def _outlooks(plan: ComparisonPlan) -> Iterator[str]:
    """What so many games can show; of pairs, with games that are not alike at all and with games that are somewhat."""
    declared, say = plan.declaration, aa_lines if plan.aa else power_lines
    if declared.pairing is None:
        yield from say(outlook(declared, games=plan.episodes))
        return
    try:
        found = [outlook(declared, games=plan.episodes, correlation=phi) for phi in _CORRELATIONS]
    except ValueError as problem:
        yield f"pairs      {problem}; what follows holds for independent arms"
        yield from say(outlook(declared, games=plan.episodes))
        return
    for one in found:
        yield f"pairs      if the two games of a pair correlate by {one.correlation:g}:"
        yield from say(one)


def _seat(position: int, plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm]) -> str:
    role = str(plan.roles[position]) or "-"
    labels = [printable(arms[side].seats[position].label) for side in SIDES]
    ours = arms[SIDES[0]].seats[position].led_by == plan.tested_seat
    if labels[0] != labels[1] or ours:
        tested = "  <- tested" if ours else ""
        return f"{role:<9} {labels[0]} against {labels[1]}{tested}"
    if plan.adopted is not None:
        return f"{role:<9} {labels[0]}"
    member = roster.seat(position, plan.tested_seat, plan.game)
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
