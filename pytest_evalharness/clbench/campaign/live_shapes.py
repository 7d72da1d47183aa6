"""What the benchmark writes down while a campaign runs, as far as it is read here."""

from __future__ import annotations

from typing import Any

import msgspec

from pytest_evalharness.clbench.shapes import Outcome, Response, Result, Usages


class Params(msgspec.Struct, gc=False):
    """Of a task: how many instances were to come, by whichever name. A stranger's system may add any type."""

    expected_num_instances: Any = None
    num_instances: Any = None
    num_questions: Any = None

    @property
    def expected(self) -> int | None:
        """Instances of a complete pass, as the runner counted them; None where it did not."""
        return counted(self.expected_num_instances)

    @property
    def asked(self) -> int | None:
        """Instances that were asked for, which some tasks overrule."""
        return counted(self.num_instances) or counted(self.num_questions)


class Asked(msgspec.Struct, gc=False):
    """Which instance a turn was about."""

    instance_id: str | None = None


class Turn(msgspec.Struct, gc=False):
    """One interaction; its texts are skipped."""

    query: Asked | None = None
    response: Response | None = None


class LiveTaskName(msgspec.Struct, gc=False):
    """Which task, and with what."""

    name: str | None = None
    params: Params | None = None


class LiveExecution(msgspec.Struct, gc=False):
    """How a pass goes."""

    start_time: str | None = None
    total_interactions: int | None = None
    wall_duration_seconds: float | None = None
    usage: Usages | None = None
    instances_total: int | None = None
    instances_blocked: int | None = None


class LiveTrace(msgspec.Struct, gc=False):
    """`live/<run group>/run_<k>.json` or `baseline.json`: the pass up to its last interaction."""

    status: str | None = None
    schedule: Any = None
    task: LiveTaskName | None = None
    execution: LiveExecution | None = None
    interactions: list[Turn] | None = None
    instance_outcomes: list[Outcome] | None = None
    result: Result | None = None


class Place(msgspec.Struct, gc=False):
    """Where a pass is written."""

    run_index: int | None = None
    trace_path: str | None = None


class LiveManifest(msgspec.Struct, gc=False):
    """`live/<run group>/manifest.json`: which passes there will be."""

    status: str | None = None
    phase: str | None = None
    task: LiveTaskName | None = None
    baseline: Place | None = None
    runs: list[Place] | None = None


class CampaignTask(msgspec.Struct, gc=False):
    """A task in the campaign's manifest."""

    task: str
    status: str | None = None
    started_at: str | None = None
    exit_code: int | None = None
    live_manifest_path: str | None = None


class CampaignManifest(msgspec.Struct, gc=False):
    """`final_results/runs/<name>/manifest.json`."""

    run_name: str | None = None
    system: str | None = None
    system_args: list[str] | None = None
    status: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    manifest_path: str | None = None
    tasks: list[CampaignTask] | None = None


def counted(told: Any) -> int | None:
    """A positive whole number, None of anything else."""
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else None
