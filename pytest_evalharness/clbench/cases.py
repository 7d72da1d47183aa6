"""A run taken apart into cases: one for each pass (a rollout, a stateless baseline) and one for each invariant. Pure.

Which cases there are follows from what was asked for and never from what a run happens to hold: a pass that is missing is a case
that fails, and every process names the same cases while a campaign is still running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.poisoning import flags, is_priced, passes
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, total
from pytest_evalharness.clbench.trust import CHECKS

OF_LOSSES = frozenset({"no poisoned instance", "no null rollout"})
"""Those that fail by name of a pass: where every such pass is disclosed, they are too."""
_BASELINE = "baseline"
_NEEDED = "every instance, scored, at a cost, and answered by the system"


@dataclass(frozen=True)
class PassName:
    """Which pass: `db/rollout 3`, `db/baseline`.

    Attributes:
        task: its id.
        run_index: the rollout's seed, from 0; None for the baseline.
    """

    task: str
    run_index: int | None

    def __str__(self) -> str:
        which = _BASELINE if self.run_index is None else f"rollout {self.run_index}"
        return f"{BY_TASK[self.task].short}/{which}"


def pass_names(tasks: Iterable[str], rollouts: int) -> list[PassName]:
    """Every pass that a run of these tasks has, task by task, the baseline first.

    Args:
        tasks: ids.
        rollouts: of each.
    """
    return [PassName(task, index) for task in tasks for index in (None, *range(rollouts))]


def of_pass(run: PublishedRun, name: PassName) -> Check:
    """What there is to say of one pass: `FAILED` where it measures an outage, `INCOMPLETE` where something is not there."""
    artifact = run.tasks.get(name.task)
    found = None if artifact is None else pass_of(artifact, name.run_index)
    if artifact is None or found is None:
        why = "; ".join(f"{file}: {told}" for file, told in run.unreadable.items() if name.task in file)
        seen = f"spoilt: {why}" if why else "not there"
        return Check(str(name), State.FAILED if why else State.INCOMPLETE, seen, _NEEDED, _again(run))
    doubts = [flag.words for flag in flags(run) if (flag.task, flag.run_index) == (name.task, name.run_index)]
    lacking = _lacking(run, artifact, found)
    seen = "; ".join([_earned(artifact, found), *doubts, *lacking])
    if doubts:
        mend = "quarantine the pass and run it again; keep the evidence, and never average it in"
        return Check(str(name), State.FAILED, seen, _NEEDED, mend)
    if lacking:
        return Check(str(name), State.INCOMPLETE, seen, _NEEDED, _again(run))
    return Check(str(name), State.OK, seen, _NEEDED)


@cache
def invariants() -> Mapping[str, Callable[[PublishedRun], Check]]:
    """Every check of the trust report by the name that it has there: a case is called what the report calls it."""
    nothing = PublishedRun("", Path(), None, None, {}, frozenset())
    return {check(nothing).name: check for check in CHECKS}


def of_invariant(run: PublishedRun, name: str) -> Check:
    """One invariant of a run.

    Args:
        run: what was published.
        name: of `invariants`.
    """
    return invariants()[name](run)


def pass_of(artifact: TaskArtifact, run_index: int | None) -> Pass | None:
    """A task's rollout, or its baseline for None; None if there is none."""
    return next((one for one in passes(artifact) if one.run_index == run_index), None)


def _earned(artifact: TaskArtifact, one: Pass) -> str:
    of = "" if artifact.expected is None else f" of {artifact.expected}"
    cost = "" if one.cost is None else f", ${one.cost:.2f}"
    reward = total(artifact.task, one, Scale.PR9, artifact.query_budget)
    return f"{len(one.outcomes)}{of} instances, reward {reward:.6g}{cost}"


def _lacking(run: PublishedRun, artifact: TaskArtifact, one: Pass) -> list[str]:
    """What the pass does not have."""
    told = []
    if artifact.expected is None:
        told.append("nothing tells how many instances are complete")
    elif len(one.outcomes) != artifact.expected:
        told.append(f"{artifact.expected - len(one.outcomes)} instances missing")
    if one.status not in {None, "completed"}:
        told.append(f"its status is {one.status}")
    if one.blocked:
        told.append(f"{one.blocked} instances blocked by the provider")
    missing = sum(outcome.reward is None for outcome in one.outcomes)
    if missing:
        told.append(f"{missing} instances without a reward, counted as 0")
    if one.unpriced:
        told.append("calls without a known price")
    elif is_priced(run) and not one.cost and one.outcomes:
        told.append("no cost, where other passes have one")
    return told


def _again(run: PublishedRun) -> str:
    return f"run it again from its first instance; evalharness clbench check {run.folder} tells the whole run"
