"""`evalharness engine demo`: invented calls with a known truth, from the export to the leaderboard."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import whole

if TYPE_CHECKING:
    from pytest_evalharness.engines.benchmark.report import Report
    from pytest_evalharness.engines.evidence.document import Evidence
    from pytest_evalharness.engines.worlds.world import World

WORLD = "acme-phone"
CALLS, SEED = 20_000, 7
_KEY = "the demo hides no real call"
"""With a key of its own every folder would split the same calls another way."""


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    demo = inner.add_parser(
        "demo",
        help="invented calls with a known truth: export, evidence, leaderboard, in a few seconds",
        description="Plays calls of a simulated world, writes them as a platform would export them, builds evidence with the rule "
        "tagger, fits and scores every engine, and shows beside each score what its table is truly worth in that world.",
    )
    demo.add_argument(
        "-n", "--calls", type=whole(100), default=CALLS, metavar="N", help="calls (%(default)s)"
    )
    demo.add_argument("--seed", type=whole(0), default=SEED, help="of all chance (%(default)s)")
    demo.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the export, the evidence and the report here"
    )
    demo.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the demo.

    Raises:
        EvalHarnessError: the folder cannot be used.
    """
    if parsed.keep is not None:
        parsed.keep.mkdir(parents=True, exist_ok=True)
        return _run(parsed, parsed.keep)
    with tempfile.TemporaryDirectory(prefix="evalharness-") as folder:
        return _run(parsed, Path(folder))


def _run(parsed: argparse.Namespace, folder: Path) -> int:
    from pytest_evalharness.cli.engine_benchmark import progress
    from pytest_evalharness.engines import catalogue, worlds
    from pytest_evalharness.engines.benchmark import rendering
    from pytest_evalharness.engines.benchmark.run import benchmark

    world = worlds.named(WORLD)
    evidence = made(world, folder, parsed.calls, parsed.seed)
    say = progress(sys.stderr)
    report = benchmark(evidence, [*catalogue.all(), catalogue.get(catalogue.SANITY)], say=say)
    say("")
    for line in rendering.leaderboard(report):
        print(line)
    print()
    for line in _truth(world, report):
        print(line)
    if parsed.keep is not None:
        print(f"\nreport: {report.save(folder / 'report.json')}, evidence: {folder / 'evidence.json'}")
    return 0


def made(world: World, folder: Path, calls: int, seed: int) -> Evidence:
    """Export, register and build: what a user does with a platform's calls.

    Args:
        world: whose calls.
        folder: for the export, the data and the evidence file.
        calls: how many.
        seed: of all chance.

    Raises:
        EvalHarnessError: the folder cannot be used.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.engines.evidence.building import BuildPlan, build
    from pytest_evalharness.engines.evidence.document import Evidence
    from pytest_evalharness.engines.evidence.folder import KEY_VARIABLE, DataFolder
    from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
    from pytest_evalharness.engines.evidence.world import load_world, outcomes_of
    from pytest_evalharness.engines.worlds.transcripts import export

    path = folder / "calls.jsonl.gz"
    made_by = export(world, path, calls, seed)
    speech, data = load_world(), DataFolder(folder / "data")
    plan = BuildPlan("demo", path, speech, outcomes_of(speech), calls=calls, seed=seed)
    with RuleTagger(speech) as tagger:
        record = build(
            plan, tagger, data, clock=SystemClock(), environ={KEY_VARIABLE: _KEY}, on_progress=lambda *_: None
        )
    evidence = Evidence.load(data.datasets / record.path)
    evidence.document.synthetic = made_by
    evidence.document.manifest["content_hash"] = evidence.content_hash()
    evidence.save(folder / "evidence.json")
    return evidence


def _truth(world: World, report: Report) -> Iterator[str]:
    """What the leaderboard's tables are worth in the world that made the calls up."""
    yield "The truth, which no log tells: what a call is exactly worth in the world that made these up"
    exact = world.truth
    yield f"  today {exact['today']:.2f}, random {exact['random']:.2f}, optimum {exact['optimum']:.2f}"
    for row in report.ranked:
        if row.estimates is None or row.verdict is None:
            continue
        told = row.estimates.pdwis.estimate
        scored = "n/a" if told is None else f"{told:.2f}"
        worth = world.worth_of(row.policy)
        yield (
            f"  {row.engine:<18} truly {worth:>6.2f} ({worth - exact['today']:+.2f} over today), scored {scored:>6} on "
            f"{row.ess:,.0f} effective calls: {row.verdict.head}"
        )
