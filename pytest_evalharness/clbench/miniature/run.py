"""`clbench run TASK`: a run resolved, its passes, and what is written when all of them have ended."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import arguments, registry


def new_run_group_id(*suffix: str) -> str:
    """The instant in UTC, as a name."""
    return "_".join([datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ"), *suffix])


def command(argv: Sequence[str], root: Path) -> int:
    """Run the command.

    Args:
        argv: what follows `run`.
        root: of the checkout.

    Returns:
        0, also where a provider refused everything; 1 if a pass failed or nothing could be resolved.

    Raises:
        SystemExit: 2 for arguments that argparse refuses, 1 for names and values that nothing fits.
    """
    parser = arguments.parser()
    told = arguments.translated(argv)
    early, _ = parser.parse_known_args(told)
    config = arguments.config(early.config)
    names = {
        kind: getattr(early, kind) or (config.get(kind) or {}).get("name") for kind in ("system", "task")
    }
    if not all(names.values()):
        parser.error("Must specify --system and --task, or provide --config with both")
    for kind, known in (("system", registry.SYSTEMS), ("task", registry.TASKS)):
        if names[kind] not in known:
            arguments.unknown(kind, str(names[kind]))
    system, task = str(names["system"]), str(names["task"])
    defaults = {"system": registry.system_class(system).parameters, "task": registry.TASK_PARAMETERS}
    for kind, told_by in defaults.items():
        for name, default in told_by.items():
            parser.add_argument(
                f"--{kind}.{name.replace('_', '-')}", dest=f"{kind}.{name}", help=f"default: {default}"
            )
    parsed = parser.parse_args(told)
    params = {kind: arguments.params(parser, parsed, config, kind, defaults[kind]) for kind in defaults}
    chosen = arguments.chosen_schedule(root, task, params["task"])
    plan = Plan(
        root, system, task, params["system"], params["task"], arguments.setup(parsed, config, chosen), parsed
    )
    return plan.dry_run() if parsed.dry_run else plan.execute()


class Plan:
    """A run with everything resolved.

    Args:
        root: of the checkout.
        system: its name.
        task: its id.
        system_params: resolved.
        task_params: resolved.
        setup: rollouts, workers and mode.
        parsed: the other flags.
    """

    def __init__(  # noqa: PLR0917 - it is what a run consists of
        self,
        root: Path,
        system: str,
        task: str,
        system_params: dict[str, Any],
        task_params: dict[str, Any],
        setup: tuple[int, int, str],
        parsed: argparse.Namespace,
    ) -> None:
        self.root, self.system, self.task = root, system, task
        self.system_params, self.task_params = system_params, task_params
        self.runs, self.workers, self.mode = setup
        self.parsed = parsed
        self.group = parsed.run_group_id or new_run_group_id()
        self.live = Path("results") / task / "live" / self.group

    def dry_run(self) -> int:
        """Print what would be done."""
        print("Dry run successful.")
        print(f"System: {self.system}\nTask: {self.task}")
        print(f"Resolved system params: {self.system_params}")
        print(f"Resolved task params: {self.task_params}")
        print(f"Runs: {self.runs}, max workers: {self.workers}, mode: {self.mode}")
        print(f"Live dashboard: {self.parsed.live_dashboard}")
        print("Benchmark execution was skipped.")
        return 0

    def execute(self) -> int:
        """Play all passes and write everything down; 1 if one failed."""
        from pytest_evalharness.clbench.miniature.passes import RUN_PID

        os.environ[RUN_PID] = str(os.getpid())
        print(f"Running {self.system} on {self.task}...", flush=True)
        print(f"System params: {self.system_params}\nTask params: {self.task_params}\n", flush=True)
        try:
            self._execute()
        except KeyboardInterrupt:
            print("\n\nInterrupted by user.", file=sys.stderr)
            return 1
        except Exception as problem:  # noqa: BLE001 - upstream ends every failure so
            where = (f"Task: {self.task}", f"System: {self.system}", f"Run group: {self.group}")
            print(
                "Error: Benchmark execution failed.",
                *(f"  {one}" for one in where),
                sep="\n",
                file=sys.stderr,
            )
            print(f"  {type(problem).__name__}: {problem}", file=sys.stderr)
            traceback.print_exception(problem)
            return 1
        return 0

    def _execute(self) -> None:
        from pytest_evalharness.clbench.miniature import passes, pool, summaries
        from pytest_evalharness.clbench.miniature.faults import Faults
        from pytest_evalharness.clbench.miniature.traces import system_entry

        Faults(self.root).striking(
            "", self.task, None, 0
        )  # a fault that nobody knows is refused before anything runs
        built = passes.build_task(self.root, self.task, self.task_params)
        shown = {**self.task_params, "expected_num_instances": built.num_instances}
        head = {
            "system": system_entry(self.system, self.system_params),
            "task": {"name": self.task, "params": shown},
            "task_brief": built.brief,
        }
        with_baseline = registry.system_class(self.system).makes_baseline()
        if not with_baseline:
            print(f"Note: {self.system} does not support baseline mode. Skipping baseline run.\n", flush=True)
        self._manifest(head, "running", "baseline" if with_baseline else "runs", with_baseline=with_baseline)
        self._log("started", runs=self.runs, max_workers=self.workers, run_mode=self.mode)
        if self.parsed.live_dashboard and self.parsed.live_server:
            self._serve()
        rollouts = [self._job(index) for index in range(self.runs)]
        instances = [self._job(None, one) for one in range(built.num_instances)] if with_baseline else []
        live = self.live / "baseline.json" if self.parsed.live_dashboard else None
        traces, baseline = pool.run_passes(rollouts, instances, self.workers, live)
        self._log("finished")
        paths = self._write_traces(traces, baseline)
        told = summaries.summary(
            head=head,
            run_group_id=self.group,
            max_workers=self.workers,
            run_mode=self.mode,
            traces=traces,
            baseline=baseline,
            trace_paths=paths[1:],
            baseline_path=paths[0] or None,
        )
        artifact = summaries.write_artifact(self.task, told, baseline, traces)
        print(f"\nLoad this in the viewer: {artifact}", flush=True)
        self._manifest(head, told["status"], "completed", with_baseline=with_baseline, summary=artifact)

    def _job(self, run_index: int | None, instance: int | None = None) -> Any:
        from pytest_evalharness.clbench.miniature.passes import Job

        live = None
        if self.parsed.live_dashboard and run_index is not None:
            live = self.live / f"run_{run_index + 1}.json"
        return Job(
            self.root, self.task, self.task_params, self.system, self.system_params, self.group, run_index, instance,
            replicate=self.mode == "replicate", live=live,
        )  # fmt: skip

    def _write_traces(self, traces: list[dict[str, Any]], baseline: dict[str, Any] | None) -> list[str]:
        folder = Path("results") / self.task / "traces" / self.group
        folder.mkdir(parents=True, exist_ok=True)
        paths = [str(folder / "baseline.json") if baseline is not None else ""]
        if baseline is not None:
            (folder / "baseline.json").write_text(json.dumps(baseline))
        for at, trace in enumerate(traces):
            path = folder / f"run_{at:04d}.json"
            path.write_text(json.dumps(trace))
            paths.append(str(path))
        return paths

    def _manifest(
        self,
        head: dict[str, Any],
        status: str,
        phase: str,
        *,
        with_baseline: bool,
        summary: Path | None = None,
    ) -> None:
        from pytest_evalharness.clbench.miniature.traces import write_json

        if not self.parsed.live_dashboard:
            return
        told = {
            "kind": "live_manifest",
            "run_group_id": self.group,
            "status": status,
            "phase": phase,
            "poll_interval_ms": 2000,
            **head,
            "baseline": {"trace_path": str(self.live / "baseline.json")} if with_baseline else None,
            "runs": [
                {"run_index": at, "trace_path": str(self.live / f"run_{at + 1}.json")}
                for at in range(self.runs)
            ],
            "manifest_path": str(self.live / "manifest.json"),
        }
        write_json(
            self.live / "manifest.json", told if summary is None else {**told, "summary_path": str(summary)}
        )

    def _log(self, event: str, **more: Any) -> None:
        self.live.mkdir(parents=True, exist_ok=True)
        bound = {"run_group_id": self.group, "task": self.task, "system": self.system, "phase": "benchmark"}
        stamp = datetime.now(UTC).isoformat()
        line = {"timestamp": stamp, "level": "RUN", "logger": "src.cli", "event": event, **bound, **more}
        with (self.live / "run.log").open("a") as file:
            file.write(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")

    def _serve(self) -> None:
        from pytest_evalharness.clbench.miniature.dashboard import serve

        try:
            print(f"Live dashboard: {serve(self.root)}\n", flush=True)
        except OSError as problem:
            print(f"Live dashboard server could not start: {problem}", flush=True)
