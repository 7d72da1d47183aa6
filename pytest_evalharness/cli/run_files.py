"""`evalharness runs show | report | export | verify`: a finished run read again, without a server."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.files import readable_json, write_atomic
from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.cli.home import add_home, found, home_of
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.records import RecordedVerdict
    from pytest_evalharness.verdict.judgement import Judgement
    from pytest_evalharness.verdict.pooled_judgement import PooledJudgement

_UNTRUSTWORTHY = 11
_SHOWN = 20
"""How many differences are spelt out; the rest are counted."""


def add_to(inner: Any) -> None:
    """Add these subcommands to `runs`."""
    show = inner.add_parser(
        "show",
        help="the verdicts of one run, with every number",
        description="Print what a run concluded, comparison by comparison, with the other attempts at the same question.",
    )
    show.add_argument("run_id", metavar="RUN", help="the run's id (evalharness runs ls)")
    add_home(show)
    show.set_defaults(run=run_show)
    report = inner.add_parser(
        "report",
        help="write a run's summary.md and report.html again",
        description="Write summary.md and report.html again from the run's results.json, for example with another release.",
    )
    report.add_argument("run_id", metavar="RUN", help="the run's id")
    add_home(report)
    report.set_defaults(run=run_report)
    export = inner.add_parser(
        "export",
        help="write a run's evidence to one file that anybody can verify",
        description="Write everything that a run's verdicts were computed from to one JSON file: what was asked and declared, who sat "
        "where, every episode's result, looks, verdicts, and a digest.",
    )
    export.add_argument("run_id", metavar="RUN", help="the run's id")
    add_home(export)
    export.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to (evidence.json in the run's folder)"
    )
    export.set_defaults(run=run_export)
    verify = inner.add_parser(
        "verify",
        help="compute every number and verdict of an evidence file again",
        description="Compute every number and every verdict of an exported file again, offline. Exit code 0 if all are identical, 11 if "
        "anything differs.",
    )
    verify.add_argument("file", type=Path, metavar="FILE", help="what export wrote")
    verify.set_defaults(run=run_verify)


# --------------------------------------------------------------------- show


def run_show(parsed: argparse.Namespace) -> int:
    """Print a run's verdicts; of one that was refused before the ledger knew it, what its report says.

    Raises:
        UsageError: there is no such run.
    """
    try:
        return _show(parsed)
    except UsageError:
        if _show_report(home_of(parsed) / "runs" / parsed.run_id):
            return 0
        raise


def _show_report(folder: Path) -> bool:
    """Print the report of a run that came to an end before the ledger knew it; whether there is one."""
    from pytest_evalharness.report import terminal
    from pytest_evalharness.report.model import Report

    try:
        report = Report.from_json(json.loads((folder / "results.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    print(
        f"{printable(report.run_id)}  {printable(report.server)}  (its report; the ledger knows nothing of it)"
    )
    for _, line in terminal.lines(report, 0):
        print(f"  {printable(line, 1000)}")
    return True


def _show(parsed: argparse.Namespace) -> int:
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.kept_arm import KeptArm

    with found(parsed, reading=True) as (ledger, run):
        print(f"{printable(run.id)}  {printable(run.server)}")
        service = run.info.get("service")
        if service:
            print(f"server API: {printable(str(service.get('words', '')), 300)}")
        judged = {one.id: verdict.judgement for one, verdict in ledger.judged_in(run.id)}
        for comparison_id in run.comparisons:
            kept = Kept.read(ledger, comparison_id)
            print(f"\n{kept.name}")
            told = _told(kept, judged.get(comparison_id))
            for line in (*told, *_builds(kept), *_since(ledger, kept, run.id)):
                print(f"  {line}")
        for arm in (KeptArm.read(ledger, one) for one in run.arms):
            print(f"\n{arm.name}")
            for line in arm.lines():
                print(f"  {line}")
    return 0


def _since(ledger: Ledger, kept: Kept, run_id: str) -> Iterator[str]:
    """What else answers a comparison's question: more games of it, other attempts, and all of them together."""
    from pytest_evalharness.league.history import pooled_attempts
    from pytest_evalharness.league.kept import Kept

    verdicts = ledger.verdicts(kept.comparison.id)
    mine = [told for told in verdicts if told.run_id == run_id]
    if mine and _requests(verdicts[-1]) > _requests(mine[-1]):
        yield f"extended since : {headline_of(verdicts[-1].judgement)} (run {printable(verdicts[-1].run_id)})"
    others = [one for one in ledger.attempts(kept.comparison.plan) if one.id != kept.comparison.id]
    for other in others:
        told = Kept.read(ledger, other.id)
        how = told.words if told.judgement is None else headline_of(told.judgement)
        yield f"other attempt  : {how} (attempt {other.attempt}, run {printable(other.run_id)})"
    judgement = _read(kept.judgement) if others and kept.judgement is not None else None
    if judgement is not None and (together := pooled_attempts(ledger, kept.comparison, judgement)):
        yield f"together       : {together}"


def _requests(verdict: RecordedVerdict) -> int:
    """How many of the candidate's requests a verdict rests on."""
    return len(verdict.judgement["candidate"]["request_ids"])


def _told(kept: Any, verdict: dict[str, Any] | None) -> Iterator[str]:
    """What a run concluded from a comparison, or where it stands."""
    if verdict is None:
        yield kept.words
        return
    yield headline_of(verdict)
    judgement = _read(verdict)
    if judgement is not None:
        for line in judgement.summary_lines():
            yield f"  {printable(line, 1000)}"


def _builds(kept: Kept) -> Iterator[str]:
    """What was found about the builds of a comparison, configuration by configuration."""
    for part in kept.parts:
        found = None if part.frozen is None else part.frozen.builds
        where = f"{printable(part.name)}: " if part.name else ""
        for line in found.summary() if found is not None else ():
            yield f"  builds         : {where}{line}"
        for warning in found.warnings if found is not None else ():
            yield f"  warning        : {where}{printable(warning, 500)}"


def headline_of(verdict: dict[str, Any]) -> str:
    """The first line of a stored judgement; of one that another release wrote only its verdict."""
    judgement = _read(verdict)
    if judgement is None:
        return f"{printable(str(verdict.get('verdict')))} (written by another release)"
    return printable(judgement.headline("A/A" if judgement.aa else "A/B"), 1000)


def _read(verdict: dict[str, Any]) -> Judgement | PooledJudgement | None:
    from pytest_evalharness.verdict.judgement import Judgement
    from pytest_evalharness.verdict.pooled_judgement import PooledJudgement

    try:
        return PooledJudgement.from_json(verdict) if "strata" in verdict else Judgement.from_json(verdict)
    except (ValueError, TypeError, KeyError):
        return None


# ------------------------------------------------------------------- report


def run_report(parsed: argparse.Namespace) -> int:
    """Render a run's report again.

    Raises:
        UsageError: the run has no results.json, or one that cannot be read.
    """
    from pytest_evalharness.report import html, markdown
    from pytest_evalharness.report.model import Report

    folder = home_of(parsed) / "runs" / parsed.run_id
    content = _json_of(folder / "results.json", "evalharness runs ls")
    try:
        report = Report.from_json(content)
        texts = {"summary.md": markdown.render(report)}
        try:
            texts["report.html"] = html.render(report)
        except ImportError:
            print(f"report.html was not written: {html.INSTALL}")
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UsageError(
            f"{folder / 'results.json'} is no report of this release ({type(problem).__name__}: {problem})",
            not_done="nothing was written",
            next_step="evalharness runs show RUN reads the ledger instead",
        ) from None
    for name, text in texts.items():
        _write(folder / name, text)
    return 0


# ------------------------------------------------------------------ export


def run_export(parsed: argparse.Namespace) -> int:
    """Write a run's evidence.

    Raises:
        UsageError: there is no such run, it judged nothing, or the file cannot be written.
    """
    from pytest_evalharness.league.evidence_file import export

    with found(parsed, reading=True) as (ledger, run):
        content = export(ledger, run.id)
    folder = home_of(parsed) / "runs" / run.id
    _write(parsed.output or folder / "evidence.json", readable_json(content))
    return 0


def run_verify(parsed: argparse.Namespace) -> int:
    """Compute a file's verdicts again.

    Raises:
        UsageError: it is no evidence file.
    """
    from pytest_evalharness.league.evidence_file import verify

    content = _json_of(parsed.file, "evalharness runs export RUN writes one")
    differ = verify(content)
    if not differ:
        number, arms = len(content["comparisons"]), len(content.get("single_arms", ()))
        verdicts = counted(number, "verdict")
        beside = f", the numbers of {counted(arms, 'single arm')}" if arms else ""
        print(
            f"identical: {verdicts}{beside} and every number follow from the evidence (sha256 {content['sha256']})"
        )
        return 0
    for one in differ[:_SHOWN]:
        print(
            f"{printable(one.where, 200)}: {printable(one.what, 200)} is {_shown(one.written)} in the file, "
            f"{_shown(one.computed)} by its evidence"
        )
    if len(differ) > _SHOWN:
        print(f"and {len(differ) - _SHOWN} more")
    print("the file was changed, or was written by a release that computes otherwise: do not rely on it")
    return _UNTRUSTWORTHY


def _shown(value: Any) -> str:
    return printable(json.dumps(value), 120)


def _json_of(path: Path, next_step: str) -> Any:
    """A file's JSON.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return json.loads(path.read_bytes())
    except OSError as problem:
        why = problem.strerror or str(problem)
    except ValueError:
        why = "it is no JSON"
    raise UsageError(f"{path} cannot be read: {why}", not_done="nothing was done", next_step=next_step)


def _write(path: Path, text: str) -> None:
    """Write a file and name it.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_atomic(path, text)
    except OSError as problem:
        raise UsageError(
            f"{path} cannot be written: {problem.strerror or problem}",
            not_done="nothing was written",
            next_step="name another file with --output, or make room",
        ) from None
    print(path)
