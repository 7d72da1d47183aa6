"""Several runs beside one another: the reference that normalises them, and ranks where a rank means something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.clbench.domains import REFERENCE_RUN, Family
from pytest_evalharness.clbench.run_folder import PublishedRun, read_run
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.clbench.scoring import RunScore, score_run
from pytest_evalharness.errors import FamiliesMixed, ReferenceMissing


@dataclass(frozen=True)
class Standing:
    """A run's place.

    Attributes:
        score: what it scored.
        rank: from 1, None where it has none.
        no_rank: why it has none; empty where it has one.
    """

    score: RunScore
    rank: int | None
    no_rank: str


def standings(
    runs: Sequence[PublishedRun], reference: PublishedRun, scale: Scale = Scale.BITS
) -> list[Standing]:
    """The runs' scores, best first; those without a rank last.

    Raises:
        FamiliesMixed: some ran the benchmark's tasks and some the embedded miniature's.
        EvalHarnessError: as `score_run`, of the first run that cannot be scored.
    """
    if len({one.family for one in (*runs, reference)}) > 1:
        told = ", ".join(f"{one.name} ({one.family})" for one in (*runs, reference))
        raise FamiliesMixed(
            f"runs of different tasks cannot stand beside one another: {told}",
            not_done="nothing was scored",
            next_step="score the runs of the embedded miniature by themselves",
        )
    scores = [score_run(run, reference, scale) for run in runs]
    ordered = sorted(scores, key=lambda one: -_value(one))
    why = {id(one): _no_rank(one, len(scores)) for one in ordered}
    ranked = [one for one in ordered if not why[id(one)]]
    placed = [Standing(one, 1 + sum(_value(other) > _value(one) for other in ranked), "") for one in ranked]
    return placed + [Standing(one, None, why[id(one)]) for one in ordered if why[id(one)]]


def _value(score: RunScore) -> float:
    told = score.normalized_reward
    return float("-inf") if told is None else told.mean


def _no_rank(score: RunScore, runs: int) -> str:
    if not score.complete:
        return f"a rank takes all {len(score.family.tasks)} tasks, and it has {len(score.tasks)}"
    if score.readings[score.scale].mixed:
        return f"the scale {score.scale} adds up cohort rewards of different units"
    return "" if runs > 1 else "a rank takes other runs beside it"


def reference_of(runs: Sequence[PublishedRun], told: str | Path | None) -> PublishedRun:
    """The run whose baselines normalise the others: the one that was named, the leaderboard's among them, or beside them.

    Raises:
        ReferenceMissing: there is none.
        RunUnreadable: the one that was named is none.
    """
    if told is not None:
        return read_run(told)
    for run in runs:
        if run.is_reference:
            return run
    official = [run for run in runs if run.family is Family.OFFICIAL]
    for run in official:
        beside = run.folder.resolve().parent / REFERENCE_RUN
        if beside.is_dir():
            return read_run(beside)
    names = ", ".join(run.name for run in runs)
    if not official:
        raise ReferenceMissing(
            f"{names}: rewards are normalised by the baselines of another run, and the embedded miniature has none of its own",
            not_done="nothing was scored; no run was normalised by its own baseline, which would make its reward its gain",
            next_step="add --reference final_results/runs/NAME, a run of the embedded miniature by another system "
            "(to pytest: --eval-clbench-reference)",
        )
    raise ReferenceMissing(
        f"{names}: rewards are normalised by the baselines of {REFERENCE_RUN}, which is neither named nor beside the run",
        not_done="nothing was scored; no run was normalised by its own baseline, which would make its reward its gain",
        next_step=f"add --reference final_results/runs/{REFERENCE_RUN} (to pytest: --eval-clbench-reference)",
    )
