"""`evalharness engine run`: an engine in a world's simulator, beside the world's exact optimum."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import whole
from pytest_evalharness.cli.engine_benchmark import params_told
from pytest_evalharness.errors import UsageError

_WIDE = 300


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    running = inner.add_parser(
        "run",
        help="fit an engine in a simulated world whose truth is known, and play its table there",
        description="An engine that learns by acting acts in the world; one that learns from a log is given simulated calls. What "
        "its table is exactly worth stands beside the exact optimum. Worlds are invented: nothing here is about real calls.",
    )
    running.add_argument("engine", metavar="NAME")
    running.add_argument("--world", default="acme", help="the simulated world (%(default)s)")
    running.add_argument(
        "--episodes",
        type=whole(1),
        default=100,
        metavar="N",
        help="calls played with the table (%(default)s)",
    )
    running.add_argument("--seed", type=whole(0), default=3, help="of all chance (%(default)s)")
    running.add_argument("--file", metavar="APP.PY", help="the engine is one of this file's")
    running.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE", help="a knob; repeat for more"
    )
    running.add_argument("--json", action="store_true", help="print JSON")
    running.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run an engine in a world.

    Raises:
        UsageError: no such engine, world or knob.
        EvalHarnessError: the engine cannot learn there.
    """
    from pytest_evalharness.engines import catalogue
    from pytest_evalharness.engines.catalogue.loading import load_engines
    from pytest_evalharness.engines.catalogue.running import run_in_world

    if parsed.file is None:
        engine = catalogue.get(parsed.engine)
    else:
        own = {one.name: one for one in load_engines(parsed.file)}
        if parsed.engine not in own:
            raise _wrong(
                f"{parsed.file} has no engine {parsed.engine!r}", f"evalharness engine ls {parsed.file}"
            )
        engine = own[parsed.engine]
    told = params_told(parsed.param)
    params = {**told.pop("", {}), **told.pop(engine.name, {})}
    strange = sorted(set(params) - {one.name for one in engine.declaration.params}) + sorted(
        f"{name}.{knob}" for name, knobs in told.items() for knob in knobs
    )
    if strange:
        raise _wrong(f"{engine.name} has no knob {strange[0]!r}", "evalharness engine ls shows every knob")
    with redirect_stdout(sys.stderr):  # what an engine of the user's prints is no part of the report
        found = run_in_world(engine, parsed.world, parsed.episodes, parsed.seed, params=params)
    if parsed.json:
        print(json.dumps(found, indent=2, sort_keys=True))
        return 0
    for line in _lines(found):
        print(printable(line, _WIDE))
    return 0


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    learned, exact, played = found["learned_from"], found["exact"], found["measured"]
    yield f"{found['label']} in the world {found['world']} ({found['synthetic']})"
    yield from (f"note: {notice}" for notice in found["notices"])
    yield f"learned from {learned['calls']:,} calls, {learned['turns']:,} turns ({learned['kind']})"
    yield ""
    yield f"{'exact worth of a call':<28} {'its table':>10} {exact['table']:>9.2f}"
    for name in ("optimum", "today", "random", "worst"):
        if name in exact:
            yield f"{'':<28} {name:>10} {exact[name]:>9.2f}"
    if found["share_of_optimum"] is not None:
        yield f"{'':<28} {found['share_of_optimum']:.0%} of the way from random to the optimum"
    error = "" if played["standard_error"] is None else f" ± {played['standard_error']:.2f} (standard error)"
    yield ""
    yield f"{played['calls']:,} calls played with it: {played['mean_return']:.2f} a call{error}"
    yield "outcomes: " + ", ".join(f"{name} {count:,}" for name, count in played["outcomes"].items())
    if played["unknown_share"]:
        yield f"{played['unknown_share']:.0%} of the turns met a state that its table does not know; {found['completion']}"


def _wrong(what: str, next_step: str) -> UsageError:
    return UsageError(what, not_done="nothing was learned or played", next_step=next_step)
