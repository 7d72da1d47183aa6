"""What a submission to the leaderboard has to have, each item verified or missing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.domains import BY_TASK, FULL_ROLLOUTS, REFERENCE_RUN, Family
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.trust import checks, full_rollouts

REGISTRATION = (
    "the leaderboard's scripts know runs by name: ask in the pull request for yours in DEFAULT_RUN_NAMES and its prefix in SYSTEM_DEFS",
    f"until then a new run is invisible unless they are called with --run YOURS --run {REFERENCE_RUN}, or with --include-all-runs",
    f"with --run YOURS alone they normalise by the run's own baseline without a word: name {REFERENCE_RUN} too",
)
"""What surprises whoever registers a run."""
_BY_HAND = {
    "description": "one or two sentences on the system: write them in the pull request",
    "implementation link": "a public address of the implementation: write it in the pull request",
    "first contact": "ask on the benchmark's Discord before the pull request",
}


@dataclass(frozen=True)
class Item:
    """One item: verified in the artifacts, or missing from them."""

    name: str
    words: str
    verified: bool = False


def items(run: PublishedRun) -> list[Item]:
    """The whole list, in the order of the submission page; a run of the embedded miniature has one item only."""
    if run.family is Family.EMBEDDED:
        return [
            Item(
                "the benchmark's tasks",
                "a run of the embedded miniature cannot be submitted: its tasks are invented",
            )
        ]
    return list(_items(run))


def _items(run: PublishedRun) -> Iterator[Item]:
    by_name = {one.name: one for one in checks(run)}
    for name, check in (("default schedule", "schedule"), ("all six tasks", "coverage")):
        yield Item(name, by_name[check].seen, verified=by_name[check].state is State.OK)
    counts = full_rollouts(run)
    shown = ", ".join(f"{BY_TASK[task].short} {count}" for task, count in counts.items())
    enough = min(counts.values()) >= FULL_ROLLOUTS
    yield Item(f"{FULL_ROLLOUTS} complete rollouts", f"complete: {shown}", verified=enough)
    baselines = by_name["baselines"]
    whole = baselines.state is State.OK and len(run.tasks) == len(run.family.tasks)
    yield Item("stateless baseline", baselines.seen, verified=whole)
    yield _layout(run)
    system = (run.manifest.system if run.manifest else None) or _common(
        [a.system for a in run.tasks.values()]
    )
    nameless = "neither the manifest nor the artifacts name it"
    yield Item("system name", system or nameless, verified=bool(system))
    yield _by_hand("description")
    yield _model(run)
    scored = whole and min(counts.values()) > 0
    words = "evalharness clbench score prints them" if scored else "they take every task and baseline"
    yield Item("mean gain and task scores", words, verified=scored)
    yield _by_hand("implementation link")
    finished = [
        one.finished_at for one in (run.metadata, run.manifest) if one is not None and one.finished_at
    ]
    yield Item(
        "evaluation date", finished[0] if finished else "no finished_at is told", verified=bool(finished)
    )
    yield _by_hand("first contact")


def _layout(run: PublishedRun) -> Item:
    missing = [
        name
        for name, there in (("manifest.json", run.manifest), ("metadata.json", run.metadata))
        if there is None
    ]
    missing += [f"tasks/{task}.json.gz" for task in run.family.tasks if task not in run.separate]
    words = f"missing {', '.join(missing)}" if missing else "manifest, metadata and six task files"
    return Item("files in final_results", words, verified=not missing)


def _model(run: PublishedRun) -> Item:
    told = _common([artifact.model for artifact in run.tasks.values()])
    if told is None:
        return Item("model", "the artifacts name no model, or several: name provider and version")
    if "/" not in told:
        return Item("model", f"{told} names no provider: write provider/model with its version")
    return Item("model", told, verified=True)


def _common(told: list[str | None]) -> str | None:
    names = set(told)
    return names.pop() if len(names) == 1 else None


def _by_hand(name: str) -> Item:
    return Item(name, f"not seen in a run directory; {_BY_HAND[name]}")
