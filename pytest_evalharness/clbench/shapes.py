"""What the benchmark writes down, as far as it is read here: columns that are not named are skipped, not kept."""

from __future__ import annotations

from typing import Any

import msgspec


class Metadata(msgspec.Struct, gc=False, frozen=True):
    """What a task adds to an outcome.

    Attributes:
        kl_unit: the unit of both divergences, where it is told.
        mean_kl_divergence: of the agent's answer, cohort studies only.
        mean_reference_kl: of the reference answer.
        regret: queries beyond none, database only.
        forfeit_reason: set when an adapter answered in the place of a system that did not.
        llm_error: likewise.
        latency_timeout: likewise.
    """

    kl_unit: str | None = None
    mean_kl_divergence: float | None = None
    mean_reference_kl: float | None = None
    regret: float | None = None
    forfeit_reason: Any = None
    llm_error: Any = None
    latency_timeout: Any = None


class Outcome(msgspec.Struct, gc=False, frozen=True):
    """What one instance earned. A missing reward counts as 0 in sums, as on the leaderboard."""

    instance_id: str
    instance_index: int | None = None
    reward: float | None = None
    success: bool | None = None
    raw_metric_name: str | None = None
    raw_metric_value: float | None = None
    metadata: Metadata | None = None
    cost_usd: float | None = None

    @property
    def forfeited(self) -> bool:
        """Whether somebody else answered in the system's place."""
        told = self.metadata
        return told is not None and bool(told.forfeit_reason or told.llm_error or told.latency_timeout)


class Query(msgspec.Struct, gc=False):
    """What was asked; the prompt stays the bytes that it was."""

    prompt: msgspec.Raw = msgspec.Raw()
    instance_id: str | None = None


class Said(msgspec.Struct, gc=False):
    """What stands beside an answer that is not the system's own."""

    forfeit_reason: Any = None
    llm_error: Any = None
    latency_timeout: Any = None


class Response(msgspec.Struct, gc=False):
    """What was answered: only what the adapter says of it."""

    metadata: Said | None = None

    @property
    def forfeited(self) -> bool:
        """Whether somebody else answered in the system's place, or an error did."""
        told = self.metadata
        return told is not None and bool(told.forfeit_reason or told.llm_error or told.latency_timeout)


class Interaction(msgspec.Struct, gc=False):
    """One turn."""

    query: Query | None = None
    response: Response | None = None


class Usage(msgspec.Struct, gc=False):
    """Calls and money of a pass."""

    unpriced_call_count: int | None = None
    pricing_complete: bool | None = None
    cost_usd: float | None = None


class Usages(msgspec.Struct, gc=False):
    """Usage by kind; `interaction` is the sum of the others."""

    interaction: Usage | None = None


class Execution(msgspec.Struct, gc=False):
    """How a pass went."""

    run_index: int | None = None
    usage: Usages | None = None
    instances_blocked: int | None = None
    coverage_ratio: float | None = None


class Result(msgspec.Struct, gc=False):
    """What a pass earned: the list that the leaderboard reads."""

    instance_outcomes: list[Outcome] | None = None


class Trace(msgspec.Struct, gc=False):
    """One pass over a task; cohort studies have their outcomes twice, in two units."""

    status: str | None = None
    execution: Execution | None = None
    interactions: list[Interaction] | None = None
    instance_outcomes: list[Outcome] | None = None
    result: Result | None = None


class RunTrace(msgspec.Struct, gc=False):
    """A rollout's place."""

    run_index: int | None = None
    trace: Trace | None = None


class TaskParams(msgspec.Struct, gc=False):
    """How many instances were to come, by whichever name; the query budget of the database."""

    expected_num_instances: int | None = None
    num_instances: int | None = None
    num_questions: int | None = None
    max_queries_per_question: int | None = None

    @property
    def expected(self) -> int | None:
        """Instances of a complete pass, None where nobody tells."""
        told = (self.expected_num_instances, self.num_instances, self.num_questions)
        return next((one for one in told if one is not None), None)


class TaskSummary(msgspec.Struct, gc=False):
    """Which task."""

    name: str | None = None
    params: TaskParams | None = None


class SystemParams(msgspec.Struct, gc=False):
    """Of the system under test."""

    model: Any = None


class SystemSummary(msgspec.Struct, gc=False):
    """Which system."""

    name: str | None = None
    params: SystemParams | None = None


class Summary(msgspec.Struct, gc=False):
    """The head of an artifact."""

    run_group_id: str | None = None
    status: str | None = None
    system: SystemSummary | None = None
    task: TaskSummary | None = None
    schedule: Any = None
    run_count: Any = None
    run_mode: str | None = None


class WrittenOff(msgspec.Struct, gc=False, frozen=True):
    """A rollout that a crash interrupted: it is in no mean."""

    run_index: int | None = None
    instances: int | None = None
    expected: int | None = None
    cost_usd: float | None = None


class Salvaged(msgspec.Struct, gc=False, frozen=True):
    """What an artifact says that was put together after a crash, by `evalharness clbench salvage`.

    Attributes:
        state: `partial` where passes are missing.
        groups: run groups that its passes are of: several where the campaign was started several times.
        rollouts_expected: how many there were to be.
        rollouts_complete: seeds of those that it has.
        written_off: those that were interrupted, each attempt.
    """

    state: str | None = None
    groups: list[str] | None = None
    rollouts_expected: int | None = None
    rollouts_complete: list[int] | None = None
    written_off: list[WrittenOff] | None = None

    @property
    def partial(self) -> bool:
        """Whether passes are missing."""
        return self.state == "partial"

    @property
    def lacks_rollouts(self) -> bool:
        """Whether rollouts are missing, not only the baseline."""
        told = self.rollouts_expected
        return self.partial and (told is None or len(self.rollouts_complete or ()) < told)


class ViewerArtifact(msgspec.Struct, gc=False):
    """`tasks/<task>.json[.gz]`; `salvage` is there only where it was put together after a crash."""

    kind: str | None = None
    summary: Summary | None = None
    baseline_trace: Trace | None = None
    run_traces: list[RunTrace] | None = None
    salvage: Salvaged | None = None


class ManifestTask(msgspec.Struct, gc=False):
    """How a task of a campaign ended."""

    task: str
    schedule: str | None = None
    status: str | None = None


class Manifest(msgspec.Struct, gc=False):
    """`manifest.json` of a run directory; `metadata.json` has the same first fields."""

    run_name: str | None = None
    system: str | None = None
    system_args: list[str] | None = None
    status: str | None = None
    finished_at: str | None = None
    tasks: list[ManifestTask] | None = None
