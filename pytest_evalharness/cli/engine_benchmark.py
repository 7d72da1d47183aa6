"""`evalharness engine benchmark` and `report`: fit, score, judge, and read it again."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.cli import whole
from pytest_evalharness.cli.engine_evidence import add_data, data_folder
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalharness.engines.benchmark.report import Report
    from pytest_evalharness.engines.plan import EnginePlan

_NOTHING = "nothing was fitted or scored"


def add_to(inner: Any) -> None:
    """Add the subcommands."""
    benchmark = inner.add_parser(
        "benchmark",
        help="fit engines on the fit calls, score their tables on the calls that they never saw",
        description="Every engine is fitted on the fit calls of a set and scored on the held-out ones by PDWIS, a fitted model and "
        "their doubly robust blend, each with a 95 % bootstrap interval over calls, beside what the agent does today.",
    )
    benchmark.add_argument(
        "--evidence",
        required=True,
        metavar="SET",
        help="a set's id, a file, sim:WORLD for simulated calls, or vol:PATH below the data folder's datasets/",
    )
    benchmark.add_argument(
        "--engines",
        default="all",
        metavar="NAMES",
        help="all, none, or names with commas between (%(default)s)",
    )
    benchmark.add_argument("--file", metavar="APP.PY", help="fit your own engines of this file too")
    benchmark.add_argument("--engine", metavar="NAME", help="of --file, fit this one only", default=None)
    benchmark.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="score a decision table from a JSON file beside the engines'; repeat for more",
    )
    benchmark.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="[ENGINE.]KEY=VALUE",
        help="a knob of every engine that has it, or of the engine named before the dot; repeat for more",
    )
    benchmark.add_argument(
        "--remote", action="store_true", help="fit on an executor (none can be chosen yet)"
    )
    benchmark.add_argument(
        "--bootstrap", type=whole(0), default=200, metavar="B", help="resamples (%(default)s)"
    )
    benchmark.add_argument("--seed", type=whole(0), default=0, help="of the resamples (%(default)s)")
    benchmark.add_argument(
        "--margin",
        type=float,
        metavar="UNITS",
        help="a lift within this many units a call is no difference: what stays inside is shown equivalent",
    )
    add_data(benchmark)
    benchmark.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the report")
    benchmark.add_argument("--json", action="store_true", help="print the report as JSON")
    benchmark.set_defaults(run=run)
    report = inner.add_parser(
        "report", help="read a benchmark's report", description="Read a benchmark's report."
    )
    report.add_argument("report", metavar="REPORT.JSON")
    report.add_argument(
        "--engine", metavar="NAME", help="open this row: reasons, support, and its table in words"
    )
    told = report.add_mutually_exclusive_group()
    told.add_argument("--json", action="store_true", help="print it as JSON")
    told.add_argument(
        "--html",
        type=Path,
        metavar="OUT.HTML",
        help="write it as one page that needs no network; --engine has its row open",
    )
    report.set_defaults(run=show)


def run(parsed: argparse.Namespace) -> int:
    """Run a benchmark and print its leaderboard.

    Raises:
        UsageError: a value is wrong, or there is nothing to score.
        EvalHarnessError: the evidence cannot be read, is not enough, or contradicts itself.
    """
    from pytest_evalharness.engines.running import Places, Prepared

    if parsed.remote:
        raise _wrong(
            "--remote fits on an executor, and none can be chosen yet",
            "leave --remote out: everything is fitted here",
        )
    plan = _plan(parsed)
    with redirect_stdout(sys.stderr):
        prepared = Prepared(plan, Places(data=data_folder(parsed).root, base=Path()))
    say = progress(sys.stderr)
    with redirect_stdout(sys.stderr):  # what an engine of the user's prints is no part of the report
        report = prepared.run(say)
    say("")
    if parsed.output is not None:
        _write(parsed.output, report.save)
    _show(report, None, as_json=parsed.json)
    if parsed.output is not None and not parsed.json:
        print(
            f"\nreport: {parsed.output}   (evalharness engine report {parsed.output} --engine NAME opens a row)"
        )
    return 0


def show(parsed: argparse.Namespace) -> int:
    """Print a report that was written.

    Raises:
        EvalHarnessError: it is no report, has no such engine, or its page cannot be written.
    """
    from pytest_evalharness.engines.benchmark.report import Report

    report = Report.load(parsed.report)
    if parsed.html is None:
        _show(report, parsed.engine, as_json=parsed.json)
        return 0
    text = _page(report, parsed.engine)
    _write(parsed.html, lambda path: write_atomic(path, text))
    print(f"page: {parsed.html}")
    return 0


def _page(report: Report, engine: str | None) -> str:
    from pytest_evalharness.engines.benchmark.page import page
    from pytest_evalharness.report import html

    try:
        return html.render_engines(page(report, None if engine is None else report[engine].engine))
    except ImportError:
        raise UsageError(
            "a page takes jinja2, which is not installed",
            not_done="no page was written",
            next_step=html.INSTALL,
        ) from None


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file that the user named.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write(path)
    except OSError as problem:
        raise UsageError(
            f"{path} cannot be written: {problem.strerror}",
            not_done="the file was not written",
            next_step="name a file in a folder that may be written",
        ) from None


def _show(report: Report, engine: str | None, *, as_json: bool) -> None:
    import msgspec

    from pytest_evalharness.engines.benchmark import rendering

    if as_json:
        told = report if engine is None else report[engine]
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return
    for line in rendering.leaderboard(report) if engine is None else rendering.opened(report, report[engine]):
        print(line)


def _plan(parsed: argparse.Namespace) -> EnginePlan:
    from pytest_evalharness.engines.plan import EnginePlan, engines_told

    try:
        return EnginePlan(
            evidence=parsed.evidence,
            engines=engines_told(parsed.engines),
            file=parsed.file,
            own=parsed.engine,
            tables=_tables(parsed.table),
            params=params_told(parsed.param),
            bootstrap=parsed.bootstrap,
            seed=parsed.seed,
            margin=parsed.margin,
        )
    except ValueError as problem:
        raise _wrong(
            str(problem), "evalharness engine benchmark --help tells what each option takes"
        ) from None


def _tables(told: Sequence[str]) -> dict[str, str]:
    tables = {}
    for one in told:
        name, equals, file = one.partition("=")
        if not equals or not name or not file:
            raise _wrong(f"--table takes NAME=FILE, not {one!r}", "for instance --table mine=table.json")
        tables[name] = file
    return tables


def params_told(told: Sequence[str]) -> dict[str, dict[str, str]]:
    """Knobs by engine; under the empty name those that are told for every engine that has them."""
    found: dict[str, dict[str, str]] = {}
    for one in told:
        key, equals, value = one.partition("=")
        name, _, knob = key.rpartition(".")
        if not equals or not knob:
            raise _wrong(f"--param takes KEY=VALUE, not {one!r}", "for instance --param alpha=2")
        found.setdefault(name, {})[knob] = value
    return found


def progress(out: TextIO) -> Callable[[str], None]:
    """Progress on a line that is written over on a terminal, and on lines of their own else; nothing said clears it."""
    if out.isatty():
        return lambda text: print(f"\r\x1b[K{text}", end="", file=out, flush=True)
    seen: set[str] = set()

    def once(text: str) -> None:
        what = text.partition(" ")[0]
        if text and (what != "resampled" or what not in seen):
            print(text, file=out, flush=True)
        seen.add(what)

    return once


def _wrong(what: str, next_step: str) -> UsageError:
    return UsageError(what, not_done=_NOTHING, next_step=next_step)
