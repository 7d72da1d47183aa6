"""One pass, out of its live snapshot or of the artifact of a task that is through. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact, Unreadable, artifact_of, decoded, plain
from pytest_evalharness.clbench.campaign.live_shapes import LiveExecution, LiveTrace, Turn, counted
from pytest_evalharness.clbench.campaign.snapshot import LivePass, PassState, sound, unique
from pytest_evalharness.clbench.poisoning import passes
from pytest_evalharness.clbench.shapes import Outcome, Usage


def live_pass(raw: bytes) -> LivePass:
    """A pass as its live snapshot tells it; where the snapshot lies tells which pass it is.

    Raises:
        Unreadable: no whole JSON, values of wrong types, or numbers that no run earns.
    """
    told = decoded(raw, LiveTrace)
    execution = told.execution or LiveExecution()
    outcomes = unique(
        (told.result.instance_outcomes if told.result else None) or told.instance_outcomes or []
    )
    _require_sound(outcomes, execution)
    usage = (execution.usage.interaction if execution.usage else None) or Usage()
    turns = told.interactions or []
    open_turns = list(_open(turns, {one.instance_id for one in outcomes}))
    params = told.task.params if told.task else None
    return LivePass(
        "",
        None,
        status=told.status or "running",
        expected=(params.expected if params else None) or counted(execution.instances_total),
        outcomes=outcomes,
        interactions=max(len(turns), execution.total_interactions or 0),
        open_turns=len(open_turns),
        open_instance=next((one.query.instance_id for one in reversed(open_turns) if one.query), None),
        open_forfeits=sum(one.response is not None and one.response.forfeited for one in open_turns),
        forfeited=frozenset(_forfeited(turns)) | {one.instance_id for one in outcomes if one.forfeited},
        blocked=counted(execution.instances_blocked) or 0,
        cost=usage.cost_usd,
        unpriced=usage.pricing_complete is False or bool(usage.unpriced_call_count),
        seconds=_lasted(execution.wall_duration_seconds),
        started=execution.start_time,
    )


def _lasted(told: float | None) -> float | None:
    """Seconds, unless a clock that was set meanwhile tells what cannot be."""
    return told if told and sound(told, least=0.0) else None


def published_passes(task: str, raw: bytes) -> tuple[LivePass, ...]:
    """The passes of a task that is through, as its artifact tells them.

    Raises:
        Unreadable: it is none.
    """
    artifact = artifact_of(task, plain(raw))
    return tuple(_published(artifact, one) for one in passes(artifact))


def _published(artifact: TaskArtifact, one: Pass) -> LivePass:
    whole = artifact.expected is None or len(one.outcomes) >= artifact.expected
    good = whole and one.status in {None, "completed"}
    return LivePass(
        artifact.task,
        one.run_index,
        state=PassState.COMPLETE if good else PassState.SHORT,
        status=one.status,
        expected=artifact.expected or len(one.outcomes),
        outcomes=one.outcomes,
        interactions=sum((one.turns or Counter()).values()),
        forfeited=one.forfeited,
        blocked=one.blocked,
        cost=one.cost,
        unpriced=one.unpriced,
    )


def _open(turns: Iterable[Turn], closed: set[str]) -> Iterator[Turn]:
    """Turns of instances that have no outcome yet."""
    for one in turns:
        if (
            one.query is not None
            and one.query.instance_id is not None
            and one.query.instance_id not in closed
        ):
            yield one


def _forfeited(turns: Iterable[Turn]) -> Iterator[str]:
    for one in turns:
        if one.response is not None and one.response.forfeited and one.query and one.query.instance_id:
            yield one.query.instance_id


def _require_sound(outcomes: Iterable[Outcome], execution: LiveExecution) -> None:
    usage = execution.usage.interaction if execution.usage else None
    if not sound(usage.cost_usd if usage else None, least=0.0):
        raise Unreadable("it tells a cost that no run has")
    for one in outcomes:
        if not (sound(one.reward) and sound(one.cost_usd, least=0.0)):
            raise Unreadable("an instance has a number that no run earns or costs")
