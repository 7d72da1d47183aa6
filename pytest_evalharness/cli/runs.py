"""`evalharness runs …`: what the ledger holds, and a look at what is still being played."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.files import readable_json
from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.cli import INCOMPLETE, run_files, run_play
from pytest_evalharness.cli.home import add_home, connected, found, home_of, opened
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.kept_arm import KeptArm
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.runs import RunRecord


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    runs = commands.add_parser(
        "runs", help="the runs of the ledger, and a look at one", description="The runs of the ledger."
    )
    inner = runs.add_subparsers(dest="runs_command", metavar="COMMAND", required=True)
    listing = inner.add_parser(
        "ls",
        help="list them, the newest first",
        description="List the runs of the ledger, the newest first, with their cases and verdicts. Makes and changes nothing.",
    )
    add_home(listing)
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.add_argument(
        "--verdict",
        choices=("better", "worse", "equivalent", "inconclusive", "untrustworthy"),
        help="only the comparisons with this verdict, with their numbers, builds and notes",
    )
    listing.set_defaults(run=run_ls)
    look = inner.add_parser(
        "look",
        help="look at a run that is still being played",
        description="Show what has finished of a run's comparisons, and write down that it was seen. Under a rule that stands one look "
        "only, the comparison is judged by the overlap rule from then on: that needs --yes. Posts nothing.",
    )
    look.add_argument("run_id", metavar="RUN", help="the run's id (evalharness runs ls)")
    add_home(look)
    look.add_argument("--yes", action="store_true", help="look even if the overlap rule takes over for good")
    look.set_defaults(run=run_look)
    run_files.add_to(inner)
    run_play.add_to(inner)


# ----------------------------------------------------------------------- ls


def run_ls(parsed: argparse.Namespace) -> int:
    """List the runs."""
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.kept_arm import KeptArm

    home = home_of(parsed)
    with opened(home, reading=True) as ledger:
        runs = [] if ledger is None else [run for run in ledger.runs.newest_first() if not run.dry]
        told = [
            (run, [] if ledger is None else [Kept.read(ledger, one) for one in run.comparisons])
            for run in runs
        ]
        arms = {
            run.id: [] if ledger is None else [KeptArm.read(ledger, one) for one in run.arms] for run in runs
        }
    if parsed.verdict is not None:
        # Each comparison once, with the run that began it, however often it was read again.
        told = [
            (run, [one for one in kept if _is(one, parsed.verdict) and one.comparison.run_id == run.id])
            for run, kept in told
        ]
        told = [(run, kept) for run, kept in told if kept]
    if parsed.json:
        print(readable_json([_plain(run, kept, arms[run.id]) for run, kept in told]), end="")
        return 0
    if not told and parsed.verdict is not None:
        print(f"no comparison is {parsed.verdict.upper()}")
        return 0
    if not told:
        print(
            f"no runs: {home} has {'no ledger' if ledger is None else 'an empty ledger'}"
            if home.exists()
            else f"no runs: there is no folder {home}"
        )
        return 0
    for run, kept in told:
        print(_line(run, kept))
        for arm in arms[run.id] if parsed.verdict is None else ():
            print(f"  {'single arm':<14} {arm.name}: {arm.words}")
        for one in kept:
            print(f"  {one.words.upper() if one.judgement is not None else one.words:<14} {one.name}")
            if parsed.verdict is not None:
                for line in _details(run, one):
                    print(f"{'':17}{line}")
    return 0


def _is(kept: Kept, verdict: str) -> bool:
    return kept.judgement is not None and kept.judgement["verdict"] == verdict


def _details(run: RunRecord, kept: Kept) -> Iterator[str]:
    """The numbers of a comparison, its builds, and what the user noted: a refuted edit is knowledge too."""
    from pytest_evalharness.cli.run_files import headline_of

    yield headline_of(kept.judgement or {})
    yield from dict.fromkeys(" against ".join(map(printable, part.labels)) for part in kept.parts)
    notes = run.info.get("settings", {}).get("notes")
    if notes:
        yield f"notes: {printable(str(notes), 300)}"


def _line(run: RunRecord, kept: Sequence[Kept]) -> str:
    from pytest_evalharness.base.clock import iso

    cases = counted(len(kept), "comparison")
    if run.arms:
        cases += f", {counted(len(run.arms), 'single arm')}"
    return f"{printable(run.id)}  {iso(run.began)[:16]}Z  {printable(run.server)}  {cases}"


def _plain(run: RunRecord, kept: Sequence[Kept], arms: Sequence[KeptArm]) -> dict[str, Any]:
    from pytest_evalharness.base.clock import iso

    return {
        "run": run.id,
        "began": iso(run.began),
        "server": run.server,
        "notes": run.info.get("settings", {}).get("notes"),
        "comparisons": [_comparison(one) for one in kept],
        "single_arms": [one.to_json() for one in arms],
    }


def _comparison(kept: Kept) -> dict[str, Any]:
    """A comparison for programs. Of one that cannot be believed there is no effect."""
    from pytest_evalharness.league.arms import SIDES
    from pytest_evalharness.verdict.words import Verdict

    judged = kept.judgement or {}
    believed = judged.get("verdict") != Verdict.UNTRUSTWORTHY
    return {
        "id": kept.comparison.id,
        "case": kept.comparison.case_name,
        "attempt": kept.comparison.attempt,
        "claim": kept.declaration.claim.value,
        "rule": kept.declaration.rule.value,
        "state": kept.words,
        "verdict": judged.get("verdict"),
        "decision": judged.get("decision"),
        "difference": judged.get("diff") if believed else None,
        "interval": judged.get("ci") if believed else None,
        "builds": [
            {
                side: {"label": label, "version": version}
                for side, label, version in zip(SIDES, part.labels, part.builds.versions, strict=True)
            }
            for part in kept.parts
        ],
    }


# --------------------------------------------------------------------- look


def run_look(parsed: argparse.Namespace) -> int:
    """Look at a run.

    Raises:
        EvalHarnessError: there is no such run, the user must agree first, or the server does not answer.
    """
    with found(parsed) as (ledger, run):
        return _look(ledger, run, home_of(parsed), yes=parsed.yes)


def _look(ledger: Ledger, run: RunRecord, home: Path, *, yes: bool) -> int:
    from pytest_evalharness.league import early_look
    from pytest_evalharness.league.kept import Kept

    kept = [Kept.read(ledger, one) for one in run.comparisons]
    if not kept:
        print("this run has asked for no comparison yet")
    for one in kept:
        if early_look.over(one):
            print(
                f"{one.name}: {one.words.upper() if one.judgement is not None else one.words}; nothing to look at early"
            )
    open_ones = [one for one in kept if not early_look.over(one)]
    posted = [one for one in open_ones if not one.never_posted]
    for one in open_ones:
        if one.never_posted:
            print(f"{one.name}: nothing is posted yet")
    moved = [one for one in posted if early_look.moves_to_overlap(ledger, one)]
    if moved and not _agreed(moved, yes=yes):
        print("not looked; nothing was written down", file=sys.stderr)
        return INCOMPLETE
    if posted:
        _show(ledger, run, home, posted)
    return 0


def _agreed(moved: Sequence[Kept], *, yes: bool) -> bool:
    """Say what a look costs, and ask.

    Raises:
        UsageError: nobody is there to be asked.
    """
    for one in moved:
        rule = one.declaration.rule
        print(
            f"{one.name}: its {rule} rule keeps its promise for {'its planned looks' if rule.stands_looks else 'one look'} only. "
            "Once looked at now, it is judged by the overlap rule for good, which finds less.",
            file=sys.stderr,
        )
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(
            "looking now changes the rule that decides, and nobody is here to agree",
            not_done="nothing was looked at and nothing was written down",
            next_step="the same command with --yes, or wait for the verdict",
        )
    print("Look all the same? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _show(ledger: Ledger, run: RunRecord, home: Path, posted: Sequence[Kept]) -> None:
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.league import early_look
    from pytest_evalharness.report.model import field_notice

    with connected(run, home) as observatory:
        for one in posted:
            seen = early_look.look(ledger, observatory, one, run_id=run.id, clock=SystemClock())
            print(
                f"{one.name}: look written down; the {early_look.rule_by_now(ledger, one)} rule will decide"
            )
            for part in seen:
                print(f"  {part}")
    notice = field_notice(run.server)
    if notice:
        print(f"note: {printable(notice)}")
