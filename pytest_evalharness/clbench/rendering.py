"""Scores and trust reports in words, a line each; names from outside are made harmless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.checking import Check
from pytest_evalharness.clbench.domains import BY_TASK, REFERENCE_RUN, Family
from pytest_evalharness.clbench.estimates import Composite, Estimate
from pytest_evalharness.clbench.leaderboard import Standing
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.clbench.scoring import Reading, RunScore, TaskScore
from pytest_evalharness.clbench.submission import REGISTRATION, Item

_NAMES = {
    Scale.BITS: "bits    differences, all in bits",
    Scale.PR9: "pr9     differences, in the unit they are stored in",
    Scale.PREFIX: "prefix  rewards as they are stored",
}


def scores(standings: Iterable[Standing], reference: str) -> Iterator[str]:
    """All runs, best first, then each of them opened."""
    ordered = list(standings)
    if len(ordered) > 1:
        yield from _table(ordered)
        yield ""
    for at, one in enumerate(ordered):
        if at:
            yield ""
        yield from _opened(one)
    if any(one.score.family is Family.EMBEDDED for one in ordered):
        yield ""
        yield "embedded miniature: invented tasks, whose scores say nothing about a system elsewhere"
    elif reference != REFERENCE_RUN:
        yield ""
        yield f"the leaderboard normalises by {REFERENCE_RUN}: these numbers are not comparable with its own"


def _family(family: Family) -> str:
    return "" if family is Family.OFFICIAL else f" ({family})"


def _table(ordered: list[Standing]) -> Iterator[str]:
    yield f"{'rank':>4}  {'run':<36} {'tasks':>5}  {'norm. reward':>12}  {'95 % t interval':>18}  {'norm. gain':>10}"
    for one in ordered:
        score = one.score
        rank = "-" if one.rank is None else str(one.rank)
        whole, gain = score.normalized_reward, score.normalized_gain
        yield (
            f"{rank:>4}  {printable(score.run, 36):<36} {len(score.tasks):>5}  {_mean(whole):>12}  "
            f"{_interval(whole.t if whole else None):>18}  {_mean(gain):>10}"
        )


def _opened(standing: Standing) -> Iterator[str]:
    score = standing.score
    told = score.normalized_reward
    place = f"rank {standing.rank}" if standing.rank else f"no rank: {standing.no_rank}"
    family, every = _family(score.family), len(score.family.tasks)
    yield f"{printable(score.run)}{family}: normalised reward {_mean(told)} over {len(score.tasks)} of {every} tasks, {place}"
    by = f"  normalised by the baselines of {printable(score.reference)}"
    official = score.family is Family.OFFICIAL
    yield f"{by}; cohort rewards: {_NAMES[score.scale].split('  ')[-1].strip()}" if official else by
    if told is not None:
        yield f"  95 % interval: z {_interval(told.z)} (as it is published), t {_interval(told.t)}"
    gain = score.normalized_gain
    told_of = f" over {gain.tasks} tasks, 95 % t {_interval(gain.t)}" if gain else ""
    yield f"  normalised gain over its own baselines: {_mean(gain)}{told_of}"
    yield ""
    yield (
        f"  {'task':<7}{'rollouts':>8}{'reward':>12}{'se':>9}{'baseline':>11}{'gain':>11}"
        f"{'norm. reward':>14}{'se':>9}{'norm. gain':>12}{'se':>9}"
    )
    yield from map(_task, score.tasks.values())
    yield ""
    yield from _beside(score)
    yield from _left_out(score)


def _task(one: TaskScore) -> str:
    base = "-" if one.baseline is None else f"{one.baseline:.4f}"
    return (
        f"  {BY_TASK[one.task].short:<7}{len(one.rollouts):>8}{_number(one.reward):>12}{_error(one.reward):>9}{base:>11}"
        f"{_number(one.gain):>11}{_number(one.normalized_reward):>14}{_error(one.normalized_reward):>9}"
        f"{_number(one.normalized_gain):>12}{_error(one.normalized_gain):>9}"
    )


def _beside(score: RunScore) -> Iterator[str]:
    if score.seeds:
        told = "  ".join(f"{index}: {value:.4f}" for index, value in score.seeds.items())
        yield f"  by seed: {told}"
    if any(one.cohort for one in score.readings.values()):
        yield "  cohort studies in three scales, and the composite with each:"
        for scale, reading in score.readings.items():
            yield f"    {_reading(scale, reading)}"
    yield f"  cost: {_dollars(score.cost_per_pass)} one rollout of each task, {_dollars(score.cost_all)} all passes"


def _reading(scale: Scale, reading: Reading) -> str:
    held = ", ".join(reading.units) or "none"
    state = f"MIXED UNITS: {held}" if len(reading.units) > 1 else held
    if not reading.known:
        state = f"UNKNOWN UNIT: {held}"
    cohort = reading.cohort
    value = _number(cohort.normalized_reward) if cohort else "-"
    return f"{_NAMES[scale]:<52} {value:>8}  composite {_mean(reading.normalized_reward)}   ({state})"


def _left_out(score: RunScore) -> Iterator[str]:
    if score.missing:
        yield f"  missing: {', '.join(BY_TASK[task].short for task in score.missing)}"
    for task in score.tasks.values():
        short = BY_TASK[task.task].short
        for one in task.excluded:
            yield f"  excluded: {short}, rollout {one.run_index}: {one.why}"
        if (told := task.salvaged) is not None and told.lacks_rollouts:
            of = "" if told.rollouts_expected is None else f" of {told.rollouts_expected}"
            yield f"  partial: {short} has {len(task.rollouts)}{of} rollouts, those that ended before a crash: no random sample of all"
        if task.baseline is None:
            yield f"  no gain: {short} has no whole baseline of its own"
    if single := [BY_TASK[one.task].short for one in score.tasks.values() if len(one.rollouts) == 1]:
        yield f"  no interval: one rollout of {', '.join(single)}, whose spread nobody knows"
    for flag in score.flags:
        yield f"  flagged: {printable(flag.words)}"
    if score.without_flagged is not None:
        yield f"  without the flagged rollouts it would be {_mean(score.without_flagged)}, which is not the score"


def report(
    name: str, checks: Iterable[Check], items: Iterable[Item], family: Family = Family.OFFICIAL
) -> Iterator[str]:
    """A trust report, then what a submission has and lacks."""
    yield f"{printable(name)}{_family(family)}: trust report"
    for one in checks:
        yield f"  {one.state:<10} {one.name}: {printable(one.seen, 400)}"
        if one.mend:
            yield f"             needed: {one.needed}"
            yield f"             mend:   {one.mend}"
    yield ""
    yield "submission"
    for item in items:
        yield f"  {'verified' if item.verified else 'missing':<10} {item.name}: {printable(item.words)}"
    if family is Family.OFFICIAL:
        yield ""
        yield from (f"registration: {line}" for line in REGISTRATION)


def _mean(told: Composite | None) -> str:
    return "-" if told is None else f"{told.mean:.4f}"


def _interval(told: tuple[float, float] | None) -> str:
    return "unknown" if told is None else f"[{told[0]:.4f}, {told[1]:.4f}]"


def _number(told: Estimate | None) -> str:
    return "-" if told is None else f"{told.mean:.4f}"


def _error(told: Estimate | None) -> str:
    return "-" if told is None or told.se is None else f"{told.se:.4f}"


def _dollars(told: float | None) -> str:
    return "unknown" if told is None else f"${told:,.2f}"
