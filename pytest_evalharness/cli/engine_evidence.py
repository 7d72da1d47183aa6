"""`evalharness engine evidence-build` and `evidence-sets`: real calls become evidence, and which evidence there is."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.columns import columns
from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import whole
from pytest_evalharness.cli.home import add_home, home_of
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.engines.evidence.building import BuildPlan
    from pytest_evalharness.engines.evidence.folder import DataFolder, SetRecord
    from pytest_evalharness.engines.evidence.taggers.reading import Tagger
    from pytest_evalharness.engines.evidence.world import World

_REGISTRY = "registry"
_EVERY = 10.0


def add_to(inner: Any) -> None:
    """Add the two subcommands."""
    _add_build(inner)
    sets = inner.add_parser(
        "evidence-sets",
        help="the evidence sets there are, newest first",
        description="Evidence sets, newest first; files without a record are listed too.",
    )
    sets.add_argument("world", nargs="?", help="only this world's")
    add_data(sets)
    sets.add_argument("--json", action="store_true", help="print JSON")
    sets.set_defaults(run=show)


def add_data(command: argparse.ArgumentParser) -> None:
    """Add `--data` and `--home`."""
    command.add_argument(
        "--data",
        metavar="DIR",
        help="the folder of exports and sets (the folder data in the home, which is .evalharness)",
    )
    add_home(command)


def data_folder(parsed: argparse.Namespace) -> DataFolder:
    """The data folder that was named, or the usual one.

    Raises:
        UsageError: a setting, or the ini file, cannot be read.
    """
    from pytest_evalharness.engines.evidence.folder import DataFolder

    return DataFolder(Path(parsed.data).absolute() if parsed.data else home_of(parsed) / "data")


def _add_build(inner: Any) -> None:
    build = inner.add_parser(
        "evidence-build",
        help="build an evidence set from a world's real calls",
        description="Reads the call export once, samples calls uniformly, removes phone numbers and addresses, reads each agent "
        "turn's move and the state before it, and writes an evidence document. The same command goes on where an interrupted one "
        "stopped.",
    )
    build.add_argument("world", help="whose calls: the name of the world (tenant)")
    build.add_argument(
        "--source",
        choices=[_REGISTRY, "volume"],
        help="registry: the calls the world holds (default). volume: the export below call-logs/",
    )
    build.add_argument(
        "--path", metavar="P", help="volume: the file below call-logs/ (WORLD/WORLD_calls.jsonl.gz)"
    )
    build.add_argument(
        "--from",
        dest="register",
        metavar="FILE",
        help="copy this export into the registry first; it replaces what is there",
    )
    build.add_argument(
        "--tagger",
        default="rule",
        metavar="rule|judge|model:ID",
        help="who reads moves and states (%(default)s)",
    )
    build.add_argument(
        "-n", "--calls", type=whole(1), default=2000, metavar="N", help="calls to sample (%(default)s)"
    )
    build.add_argument(
        "--seed", type=whole(0), default=7, help="same seed, same sample, same split (%(default)s)"
    )
    build.add_argument(
        "--max-turns",
        type=whole(1),
        default=8,
        metavar="T",
        help="agent turns kept of a call (%(default)s)",
    )
    build.add_argument("--outcomes", metavar="FILE", help="TOML: what the platform's labels mean here")
    build.add_argument("--world-file", metavar="FILE", help="TOML: moves, cues and words")
    build.add_argument("--models", metavar="FILE", help="TOML: judge and models (models.toml in --data)")
    build.add_argument(
        "--budget", type=whole(1), metavar="TOKENS", help="what the judge may cost, over models.toml"
    )
    add_data(build)
    build.add_argument("--json", action="store_true", help="print the set's record as JSON")
    build.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Build a set.

    Raises:
        EvalHarnessError: it cannot be built; the message says why.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.engines.evidence.building import build

    folder = data_folder(parsed)
    asked = _asked(parsed)
    with _tagger(parsed, asked.world, folder) as tagger:
        plan = replace(asked, export=_export(parsed, asked, folder))
        record = build(
            plan, tagger, folder, clock=SystemClock(), environ=os.environ, on_progress=_Progress(sys.stderr)
        )
    if parsed.json:
        import msgspec

        print(json.dumps(msgspec.to_builtins(record), indent=2, sort_keys=True))
    else:
        for line in _built(record, folder):
            print(line)
    return 0


def _asked(parsed: argparse.Namespace) -> BuildPlan:
    """What is asked for, except where the calls are: whatever is refused here has copied nothing."""
    from pytest_evalharness.engines.evidence.building import BuildPlan
    from pytest_evalharness.engines.evidence.folder import checked_tenant
    from pytest_evalharness.engines.evidence.world import load_world, outcomes_of

    source = parsed.source or ("volume" if parsed.path else _REGISTRY)
    if parsed.path and source == _REGISTRY:
        raise _wrong("--path names a file of the volume; the registry has one place for a world's calls")
    if parsed.register and source != _REGISTRY:
        raise _wrong("--from registers an export, so the source is the registry, not the volume")
    world = load_world(Path(parsed.world_file) if parsed.world_file else None)
    return BuildPlan(
        env=checked_tenant(parsed.world),
        export=Path(),
        world=world,
        outcomes=outcomes_of(world, Path(parsed.outcomes) if parsed.outcomes else None),
        source=source,
        calls=parsed.calls,
        seed=parsed.seed,
        max_turns=parsed.max_turns,
    )


def _export(parsed: argparse.Namespace, asked: BuildPlan, folder: DataFolder) -> Path:
    if parsed.register and folder.register(asked.env, Path(parsed.register)):
        print(f"the registry's earlier calls of {asked.env} were replaced", file=sys.stderr)
    return folder.export(asked.env, asked.source, parsed.path)


def _tagger(parsed: argparse.Namespace, world: World, folder: DataFolder) -> Tagger:
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.engines.evidence.taggers.choosing import make_tagger

    return make_tagger(
        parsed.tagger,
        world,
        models=Path(parsed.models) if parsed.models else folder.root / "models.toml",
        cache=folder.root / "cache" / "readings.sqlite",
        environ=os.environ,
        clock=SystemClock(),
        budget=parsed.budget,
    )


class _Progress:
    """Shows how far a build is: one line that is rewritten on a terminal, a line now and then elsewhere."""

    def __init__(self, stream: Any) -> None:
        from pytest_evalharness.base.clock import SystemClock

        self._stream, self._clock = stream, SystemClock()
        self._terminal = stream.isatty()
        self._last, self._stage = -_EVERY, ""

    def __call__(self, share: float, what: str) -> None:
        now, stage = self._clock.monotonic(), what.partition(":")[0]
        every = 0.1 if self._terminal else _EVERY
        if stage == self._stage and now - self._last < every:
            return
        self._last, self._stage = now, stage
        line = f"{share:4.0%}  {what}"
        if self._terminal:
            end = "\n" if share >= 1.0 else ""
            print(f"\r\x1b[K{line}", end=end, file=self._stream, flush=True)
        else:
            print(line, file=self._stream, flush=True)


def _built(record: SetRecord, folder: DataFolder) -> list[str]:
    counts, split, tagger = record.counts, record.split, record.tagger
    by = tagger["kind"] if "model_id" not in tagger else f"{tagger['kind']}:{tagger['model_id']}"
    lines = [
        f"evidence set {record.id} of {record.env}: {counts['calls']:,} calls, {counts['turns']:,} agent turns"
    ]
    lines.append(
        f"split      {split['fit_calls']:,} calls to fit, {split['held_out_calls']:,} held out; tagged by {by}"
    )
    left = ", ".join(f"{why} {count:,}" for why, count in counts["left_out"].items())
    lines.append(f"left out   {left or 'nothing'} (of {counts['rows']:,} rows)")
    stats = ", ".join(f"{what} {count:,}" for what, count in tagger["stats"].items())
    lines.append(f"readings   {stats}")
    if tagger["kind"] == "rule":
        lines.append("           cue phrases show the pipeline at work; they decide nothing")
    lines.append(f"file       {folder.datasets / record.path}")
    lines.append(f"next       evalharness engine benchmark --evidence {record.id} --engines all")
    return lines


def show(parsed: argparse.Namespace) -> int:
    """List the sets.

    Raises:
        UsageError: a setting cannot be read.
    """
    folder = data_folder(parsed)
    found = folder.sets(parsed.world)
    if parsed.json:
        import msgspec

        print(json.dumps({"sets": msgspec.to_builtins(found)}, indent=2, sort_keys=True))
        return 0
    if not found:
        of = f" of {parsed.world}" if parsed.world else ""
        print(f"no evidence sets{of} in {folder.root}; evalharness engine evidence-build WORLD builds one")
        return 0
    rows = [["set", "world", "tagger", "calls", "fit", "held out", "built"], *map(_row, found)]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    return 0


def _row(one: SetRecord) -> list[str]:
    set_id, env = printable(one.id), printable(one.env)  # a file's name may be anything
    if one.on_volume_only:
        return [set_id, env, "(no record)", "", "", "", one.created_at[:19]]
    numbers = (one.counts.get("calls"), one.split.get("fit_calls"), one.split.get("held_out_calls"))
    told = ["" if number is None else f"{number:,}" for number in numbers]
    return [set_id, env, printable(one.tagger.get("kind", "?")), *told, one.created_at[:19]]


def _wrong(what: str) -> UsageError:
    return UsageError(
        what, not_done="no evidence was built", next_step="evalharness engine evidence-build --help"
    )
