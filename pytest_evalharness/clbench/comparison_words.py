"""A comparison of two runs in words: the same first line as every other comparison, and every number below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.comparable import SIDES
from pytest_evalharness.clbench.comparing import METRIC, RunComparison
from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.pairing import Pairing, TaskDifference
from pytest_evalharness.stats.stratified import stratified_t
from pytest_evalharness.verdict import checks
from pytest_evalharness.verdict.checks import CheckState
from pytest_evalharness.verdict.figures import plain_amount, signed
from pytest_evalharness.verdict.words import Claim, Reason, Verdict

NAME = "A/B CL-Bench"
UNIT = "normalised reward"
EMBEDDED = "embedded miniature"
SCOPE = "the effect on these tasks and instances with these orders, not a rank"
_WIDE = 300
_NAME = 60


def headline(told: RunComparison) -> str:
    """One line: verdict, difference with its interval, both means, rollouts, claim; of what cannot be believed the reasons."""
    start = f"{NAME}: {told.verdict.upper()}"
    beside = [EMBEDDED] if told.embedded else []
    if told.verdict is Verdict.UNTRUSTWORTHY:
        return ", ".join([start, "; ".join(printable(reason, _WIDE) for reason in told.reasons), *beside])
    n_c, n_b = told.rollouts
    parts = [start, difference(told), _arms(told)]
    parts.append(f"{n_c} vs {n_b} rollouts of {len(told.tasks)} task{'s' if len(told.tasks) > 1 else ''}")
    if told.aa:
        parts.append("as an A/A run should")
    elif told.declaration.claim is not Claim.BETTER:
        parts.append(f"{claim_words(told)} {told.decision.words}")
    if any(one.name == "instances" and one.state is CheckState.OK for one in told.checks):
        parts.append("instances verified")
    return ", ".join([*parts, *beside])


def difference(told: RunComparison) -> str:
    """The difference and its interval."""
    if told.found is None:
        return "no difference measured"
    found = told.found
    return f"{UNIT} {signed(found.difference, 4)} [{signed(found.low, 4)}, {signed(found.high, 4)}]"


def claim_words(told: RunComparison) -> str:
    """The claim, its margin included."""
    claim, margin = told.declaration.claim, told.declaration.margin
    word = claim.value.replace("_", " ")
    return f"{word} within {margin:g}" if claim.needs_margin and margin is not None else word


def lines(told: RunComparison) -> list[str]:
    """The compact report; of what cannot be believed only what was looked at."""
    trusted = told.verdict is not Verdict.UNTRUSTWORTHY
    return [
        f"{name:<15}: {text}" for name, text in (_told(told) if trusted else _broken(told))
    ] + checks.lines(told.checks, trusted=trusted)


def _broken(told: RunComparison) -> Iterator[tuple[str, str]]:
    for reason in told.reasons:
        yield "untrustworthy", printable(reason, _WIDE)
    yield from _runs(told)


def _told(told: RunComparison) -> Iterator[tuple[str, str]]:
    yield from _runs(told)
    yield "metric", _metric(told)
    if told.family is not None and told.family > 1:
        yield (
            "family",
            f"raw p={told.p_gate:.2g}, adjusted p={told.p_adjusted:.2g} (Holm, {told.family} comparisons tested together)",
        )
    for task in told.tasks:
        yield BY_TASK[task.task].short, _task(task, told.declaration.alpha)
    if told.detectable is not None:
        yield (
            "detectable",
            f"a true difference of {plain_amount(told.detectable)}, 80 % power, at the spread that was seen",
        )
        yield (
            "required",
            f"{told.needed} rollouts a task for a true difference of {told.declaration.target_lift:g}",
        )
    for side in SIDES:
        lost = [one for task in told.tasks for one in task.left_out[side]]
        if lost:
            yield "left out", f"{side}: {printable('; '.join(lost), _WIDE)}"
    for task_name, side in told.only:
        yield "not compared", f"{BY_TASK[task_name].short}, whole in the {side} only"
    yield (
        "normalised by",
        f"the stateless baselines of {printable(told.normalised_by, _NAME)}; cohort rewards: {told.scale}",
    )
    if told.aa:
        yield (
            "claim",
            f"an A/A run tells no difference: {told.decision.words} (the declared claim is not judged)",
        )
    else:
        yield "claim", f"{claim_words(told)}: {told.decision.words}{_unseen(told)}"
    for reason in told.reasons:
        yield "note", printable(reason, _WIDE)
    yield "scope", SCOPE


def _runs(told: RunComparison) -> Iterator[tuple[str, str]]:
    for side, name, folder in zip(SIDES, told.names, told.folders, strict=True):
        yield side, f"{printable(name, _NAME)}, {printable(folder, _WIDE)}"


def _arms(told: RunComparison) -> str:
    if told.means is None:
        return "no means"
    ours, theirs = (plain_amount(mean) for mean in told.means)
    return f"{printable(told.names[0], _NAME)} {ours} vs {printable(told.names[1], _NAME)} {theirs}"


def _metric(told: RunComparison) -> str:
    if told.found is None:
        return f"{UNIT}, too few rollouts for an interval"
    found = told.found
    level = f"{100 * (1 - told.declaration.alpha):.4g} %"
    if found.p is None or found.df is None:
        return f"{difference(told)}  nothing varies, so nothing is tested"
    line = (
        f"{difference(told)} ({level}, t over rollouts, {found.df:.1f} degrees of freedom)  p={found.p:.2g}"
    )
    if told.p_exact is not None:
        line += f"  permutation p={told.p_exact:.2g}"
    if any(reason.reason is Reason.WITHIN_MARGIN for reason in told.reasons):
        line += ", real but smaller than the margin"
    return line


def _task(one: TaskDifference, alpha: float) -> str:
    """A task's own difference, which is shown and not judged."""
    stratum = one.stratum
    told = signed(one.difference, 4)
    if one.fewest > 1:
        found = stratified_t([stratum], alpha)
        told += f" [{signed(found.low, 4)}, {signed(found.high, 4)}]"
    arms = f"{plain_amount(sum(one.candidate) / len(one.candidate))} vs {plain_amount(sum(one.baseline) / len(one.baseline))}"
    told += f"  {arms}  {len(one.candidate)} vs {len(one.baseline)} rollouts, {one.pairing.value}"
    if one.higher is not None:
        told += f"; {one.higher} of {one.instances} instances higher, {one.lower} lower"
    if one.pairing is Pairing.SUMS:
        told += "; ids tell positions only"
    return told


def _unseen(told: RunComparison) -> str:
    """What "not worse" could have missed: without it the word would promise too much."""
    if told.declaration.claim is not Claim.NOT_WORSE or told.verdict is Verdict.WORSE:
        return ""
    if told.detectable is None:
        return ", but no loss at all could have been seen"
    return f", but a true loss below {plain_amount(told.detectable)} would often not have been seen"


def to_json(told: RunComparison) -> dict[str, Any]:
    """Plain data for reports: what every row of CL-Bench has, and every number of the comparison."""
    found, declared = told.found, told.declaration
    trusted = told.verdict is not Verdict.UNTRUSTWORTHY
    n_c, n_b = told.rollouts
    return {
        "kind": "A/B",
        "headline": headline(told),
        "lines": lines(told),
        "outcome": told.verdict.value,
        "verdict": told.verdict.value,
        "decision": told.decision.value,
        "claim": "A/A" if told.aa else claim_words(told),
        "declaration": declared.to_json(),
        "metric": METRIC,
        "candidate": told.names[0],
        "baseline": told.names[1],
        "folders": list(told.folders),
        "normalised_by": told.normalised_by,
        "scale": told.scale.value,
        "embedded": told.embedded,
        "reasons": [reason.to_json() for reason in told.reasons],
        "checks": [one.to_json() for one in checks.shown(told.checks, trusted=trusted)],
        "difference": found.difference if found is not None else None,
        "ci": [found.low, found.high] if found is not None else None,
        "p": found.p if found is not None else None,
        "p_exact": told.p_exact,
        "p_gate": told.p_gate if trusted else None,
        "p_adjusted": told.p_adjusted if trusted else None,
        "family": told.family,
        "means": None if told.means is None else list(told.means),
        "rollouts": [n_c, n_b] if trusted else None,
        "detectable": told.detectable if trusted else None,
        "required_rollouts": told.needed if trusted else None,
        "tasks": [_task_json(one) for one in told.tasks] if trusted else [],
        "not_compared": [list(pair) for pair in told.only],
    }


def _task_json(one: TaskDifference) -> dict[str, Any]:
    return {
        "task": one.task,
        "pairing": one.pairing.value,
        "seeds": [list(arm) for arm in one.seeds],
        "candidate": list(one.candidate),
        "baseline": list(one.baseline),
        "difference": one.difference,
        "higher": one.higher,
        "lower": one.lower,
        "instances": one.instances,
        "left_out": {side: list(lost) for side, lost in one.left_out.items()},
    }
