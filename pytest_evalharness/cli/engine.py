"""`evalharness engine …`: decision engines on real calls. One file a subcommand; this one only lists them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PARTS: tuple[str, ...] = (
    "engine_evidence",
    "engine_benchmark",
    "engine_catalogue",
    "engine_world",
    "engine_demo",
)
"""Modules of this package that add their subcommands, in the order in which the help shows them: each has `add_to(inner)`."""


def add_to(commands: Any) -> None:
    """Add the subcommand and its own."""
    engine = commands.add_parser(
        "engine",
        help="decision engines on real calls: evidence, benchmark, verdict",
        description="Decision tables judged on logged calls: build evidence, fit engines, score them on calls they never saw.",
    )
    inner = engine.add_subparsers(dest="engine_command", metavar="COMMAND", required=True)
    for part in PARTS:
        import_module(f"pytest_evalharness.cli.{part}").add_to(inner)
