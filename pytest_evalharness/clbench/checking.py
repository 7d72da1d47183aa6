"""One line of a trust report, and how it is made. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.poisoning import passes
from pytest_evalharness.clbench.run_folder import PublishedRun


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    """Something is not there yet: what is there may be believed."""
    FAILED = "failed"
    """What is there is not to be believed as it is."""
    UNKNOWN = "unknown"
    """The artifacts do not tell."""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        name: of the check.
        state: how it ended.
        seen: what the artifacts hold.
        needed: what a result that may be believed has.
        mend: what to do; empty where all is well.
    """

    name: str
    state: State
    seen: str
    needed: str
    mend: str = ""


def judged(
    name: str, needed: str, problems: list[str], fine: str, mend: str, *, bad: State = State.FAILED
) -> Check:
    """The check that fails, or is `bad`, if there are problems; without any it saw `fine`."""
    if problems:
        return Check(name, bad, "; ".join(problems), needed, mend)
    return Check(name, State.OK, fine, needed)


def short(task: str) -> str:
    """How tables call a task."""
    return BY_TASK[task].short


def every_pass(run: PublishedRun) -> Iterator[tuple[TaskArtifact, Pass]]:
    """Every pass of a run, with its task."""
    for artifact in run.tasks.values():
        for one in passes(artifact):
            yield artifact, one
