"""`evalharness clbench losses`: what a campaign lost, by class, each with what closes it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.clbench_named import add_named, named
from pytest_evalharness.errors import NothingLeft

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.loss_words import LossReport
    from pytest_evalharness.containers.events import Death
    from pytest_evalharness.containers.state import Container

_NOT_DONE = "nothing was read"
_NANO = 1_000_000_000


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    losses = inner.add_parser(
        "losses",
        help="what a campaign lost, by class, each with what closes it",
        description="Reads the engines' task results and events, the tasks' logs and the container engine's events, and tells each "
        "known class of loss with what closes it, whether calls kept to their retry budget, and who can read the engines' keys. RUNDIR may also be a folder that holds "
        "engines' own folders. Nothing is started, paid or written. 0 if nothing was lost, 1 if something was, or nothing tells; 11 if there is nothing to read.",
    )
    add_named(losses)
    losses.add_argument(
        "--runs-root",
        type=Path,
        metavar="DIR",
        help="where engines have their folders (the campaign's OUROBOROS_BENCH_RUNS_ROOT)",
    )
    losses.add_argument("--logs", type=Path, metavar="DIR", help="the tasks' logs (logs/ of the run)")
    losses.add_argument("--json", action="store_true", help="print JSON, every occurrence among it")
    losses.set_defaults(run=run_losses)


def run_losses(parsed: argparse.Namespace) -> int:
    """Print what was lost.

    Raises:
        UsageError: no campaign and no folder has that name.
        NothingLeft: neither an engine's folder nor a log is there.
    """
    from pytest_evalharness.clbench.campaign import loss_words

    told = _read(_found(parsed))
    if parsed.json:
        from pytest_evalharness.base.files import readable_json

        print(readable_json(loss_words.as_data(told)), end="")
    else:
        for line in loss_words.report(told):
            print(line)
    return 0 if told.clean else INCOMPLETE


@dataclass(frozen=True)
class _Found:
    """Where a campaign left what.

    Attributes:
        name: of it.
        runs_root: of its engines.
        logs: of its tasks.
        since: when it began, in seconds since 1970; 0 where nothing tells.
        environment: its variables, as far as they are known.
        embedded: whether it ran on the miniature.
        system: under test; empty where nothing tells.
    """

    name: str
    runs_root: Path
    logs: Path
    since: float = 0.0
    environment: Mapping[str, str] = field(default_factory=dict)
    embedded: bool = False
    system: str = ""


def _found(parsed: argparse.Namespace) -> _Found:
    """Where the campaign that was named left what.

    Raises:
        UsageError: there is none.
    """
    from pytest_evalharness.clbench.campaign.beside import environment_of
    from pytest_evalharness.clbench.campaign.live import checkout_of
    from pytest_evalharness.clbench.campaign.runroots import runroot_folders, runs_root_of

    with named(parsed, not_done=_NOT_DONE) as campaign:
        folder, checkout = campaign.folder, campaign.checkout
        record = campaign.ledger.campaigns.find(campaign.name) if campaign.ledger else None
    logs = parsed.logs or folder / "logs"
    if record is not None:
        environment, embedded = environment_of(record), bool(record.told["embedded"])
        name, since, system = record.name, record.created_at, str(record.told.get("system") or "")
    elif runroot_folders(folder) or not (folder / "manifest.json").exists():
        return _Found(folder.name, parsed.runs_root or folder, logs, environment=os.environ)
    else:
        checkout = checkout or checkout_of(folder)
        embedded = checkout is not None and (checkout / "cl_bench_runs").is_dir()
        manifest = _manifest(folder)
        name, since, system = folder.name, _started(manifest), str(manifest.get("system") or "")
        environment = dict(os.environ)
    usual = runs_root_of(environment, checkout or folder, embedded=embedded)
    return _Found(name, parsed.runs_root or usual, logs, since, environment, embedded, system)


def _manifest(folder: Path) -> Mapping[str, Any]:
    """A run's manifest; empty where it cannot be read."""
    import json

    try:
        told = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _started(manifest: Mapping[str, Any]) -> float:
    """When a run began, in seconds since 1970; 0 where its manifest does not tell."""
    from pytest_evalharness.base.clock import parse_iso

    try:
        return parse_iso(manifest["started_at"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return 0.0


def _read(found: _Found) -> LossReport:
    from pytest_evalharness.clbench.campaign.hygiene import engine_settings, settings_check
    from pytest_evalharness.clbench.campaign.loss_words import LossReport
    from pytest_evalharness.clbench.campaign.losses import losses, read_all
    from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
    from pytest_evalharness.clbench.campaign.retries import limits_of, retries, retry_checks
    from pytest_evalharness.clbench.campaign.runroots import runroot_folders

    folders = runroot_folders(found.runs_root, found.since)
    in_containers = any("docker" in folder.name for folder in folders)
    deaths, containers, notes = _containers(found.since) if in_containers else ((), (), list[str]())
    seen = read_all(found.runs_root, found.logs, since=found.since, deaths=deaths, containers=containers)
    if not seen.runroots and not seen.logs:
        raise NothingLeft(
            f"{found.runs_root} has no engine's folder, and {found.logs} no log",
            not_done=_NOT_DONE,
            next_step="--runs-root DIR names where engines have theirs (OUROBOROS_BENCH_RUNS_ROOT), --logs DIR the logs",
        )
    if not seen.runroots and (not found.system or OUROBOROS in found.system.lower()):
        notes.append(f"engines: none has a folder at {found.runs_root} that is as young as the campaign")
    for root in seen.runroots:
        notes += [f"{root.folder / name}: {why}" for name, why in root.unreadable.items()]
    limits = limits_of(found.environment)
    called = retries(((root.events_file, root.events) for root in seen.runroots), limits)
    return LossReport(
        name=found.name,
        losses=losses(seen),
        retries=retry_checks(called, limits),
        settings=settings_check(engine_settings(root.folder for root in seen.runroots)),
        engines=len(seen.runroots),
        logs=tuple(seen.logs),
        notes=tuple(notes),
        embedded=found.embedded,
        system=found.system,
    )


def _containers(since: float) -> tuple[tuple[Death, ...], tuple[Container, ...], list[str]]:
    """How containers died since then, those that run, and what could not be read."""
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.containers.events import deaths, read_events
    from pytest_evalharness.containers.state import Engine
    from pytest_evalharness.errors import EngineUnavailable

    clock = SystemClock()
    try:
        with Engine.reached(clock=clock) as engine:
            told = read_events(engine, since=int(since * _NANO), until=int(clock.now() * _NANO))
            running = engine.containers()
    except EngineUnavailable as problem:
        return (), (), [f"the container engine's events: {problem.what}"]
    notes = [] if told.complete else ["the container engine's first events: it remembers the last 256 only"]
    return deaths(told.events), running, notes
