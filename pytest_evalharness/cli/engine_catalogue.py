"""`evalharness engine ls`: the engines there are, and those of a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable

if TYPE_CHECKING:
    from pytest_evalharness.engines.catalogue.contract import DecisionEngine, Param

_WIDE = 300


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    listing = inner.add_parser(
        "ls",
        help="the engines there are, with their knobs; or those of a Python file",
        description="The catalogue's engines with what they learn from and their knobs, or the engines that a Python file declares.",
    )
    listing.add_argument("file", nargs="?", metavar="APP.PY", help="list the engines of this file")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """List engines.

    Raises:
        UsageError: the file cannot be imported, or declares none.
    """
    from pytest_evalharness.engines import catalogue
    from pytest_evalharness.engines.catalogue.loading import load_engines

    engines = (
        load_engines(parsed.file) if parsed.file else [*catalogue.all(), catalogue.get(catalogue.SANITY)]
    )
    if parsed.json:
        print(json.dumps([engine.as_dict() for engine in engines], indent=2))
        return 0
    for engine in engines:
        for line in _lines(engine):
            print(printable(line, _WIDE))
    return 0


def _lines(engine: DecisionEngine) -> Iterator[str]:
    told = engine.declaration
    only = "   simulator only in a benchmark" if engine.why_not_on_a_log is not None else ""
    yield f"{engine.name:<18} {engine.label} ({told.family}), learns from {told.learns_from}{only}"
    if told.about:
        yield f"{'':<18} {' '.join(told.about.split())}"
    for param in told.params:
        yield f"{'':<18}   {param.name}={param.default}{_range(param)}: {' '.join((param.help or param.label).split())}"


def _range(param: Param) -> str:
    if param.kind == "choice":
        return f" ({'|'.join(param.choices)})"
    ends = ["" if end is None else f"{end:g}" for end in (param.min, param.max)]
    return f" ({ends[0]}…{ends[1]})" if any(ends) else ""
