"""The report for a terminal, as plain lines; whoever prints them adds colour. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import builds, clbench, engines, success
from pytest_evalharness.report.model import (
    SCOPE,
    CaseReport,
    Report,
    remarks,
    stratum_counts,
    unfinished_told,
)

_WIDE = 300
SILENT = -2
_TONES = {success.State.OK: "plain", success.State.NOT: "bad", success.State.UNKNOWN: "unsure"}


def lines(report: Report, verbose: int = 1) -> Iterator[tuple[str, str]]:
    """Pairs of a tone (`good`, `bad`, `unsure`, `plain`) and a line.

    Args:
        report: the run.
        verbose: 1 tells the details of every case, 0 of those that did not pass; -1 leaves them out, and -2 everything that
            does not change what the verdicts are worth.
    """
    names = Counter(result["name"] for case in report.cases for result in case.results)
    for case in report.cases:
        yield from _case(case, verbose, alike=any(names[result["name"]] > 1 for result in case.results))
    for tone, text in beside(report):
        if verbose > SILENT or tone != "plain":
            yield tone, text
    if verbose > SILENT and any(case.results for case in report.cases):
        yield "plain", f"each difference is {SCOPE}"
    yield report.tone, f"exit {report.exit_code}: {report.exit_words}"


def beside(report: Report) -> Iterator[tuple[str, str]]:
    """What is told of a run beside its cases, likewise."""
    for nodeid in report.missing:
        yield "bad", f"{printable(nodeid, _WIDE)}: collected, and never reported"
    if report.unfinished:
        yield "unsure", unfinished_told(report)
    if report.api:
        yield "plain", f"server API: {printable(report.api, _WIDE)}"
    if report.cost_words:
        yield "plain", f"cost: {printable(report.cost_words, _WIDE)}"
    for notice in report.notices:
        yield "plain", f"note: {printable(notice, _WIDE)}"
    for request in report.still_running:
        yield "unsure", f"still running on the server: {printable(request, _WIDE)}"
    if report.still_running:
        yield (
            "unsure",
            "nothing is lost and nothing is posted twice: the same command goes on with these requests",
        )


def success_lines(check: success.SuccessCheck) -> Iterator[tuple[str, str]]:
    """The runbook's success check, likewise: how many of its points are as they should be, and each with what was seen."""
    whose = f" of {check.name}" if check.name else ""
    yield "good" if check.passed else "plain", f"success check{whose}: {check.words}"
    for point in check.points:
        yield _TONES[point.state], f"  {point}"


def _case(case: CaseReport, verbose: int, *, alike: bool) -> Iterator[tuple[str, str]]:
    """A line for each verdict; under it what must be known beside it, and the details that are wanted."""
    tone = {"passed": "good", "inconclusive": "unsure", "skipped": "plain", "disclosed": "plain"}.get(
        case.outcome, "bad"
    )
    nodeid = printable(case.nodeid, _WIDE)
    short = verbose <= SILENT or (verbose <= 0 and case.outcome == "passed")
    whose = f" ({nodeid})" if short and (alike or not case.results) else ""
    told = [f"{printable(headline, _WIDE)}{whose}" for headline in case.headlines if headline]
    for line in told or [nodeid]:  # an arm by itself has no verdict that its case could be told by
        yield tone, f"{case.outcome.upper():<13} {line}"
    if told and not short:
        yield "plain", f"{'':<13} {nodeid}"
    if verbose > SILENT:
        for shade, text in (*_details(case, whole=verbose >= 0 and not short), *_doubts(case, short=short)):
            yield shade, f"{'':<13} {text}"


def _details(case: CaseReport, *, whole: bool) -> Iterator[tuple[str, str]]:
    """What must be known beside a case's verdicts; as a whole with configurations, builds and the success check."""
    for result in case.results:
        if whole and result["judgement"]["verdict"] != "untrustworthy":
            for stratum in result["judgement"].get("strata", ()):
                yield "plain", f"configuration {printable(stratum_counts(stratum), _WIDE)}"
        if whole:
            for sentence in builds.sentences(result):
                yield "plain", f"builds {printable(sentence, _WIDE)}"
        for remark in remarks(result):
            yield "plain", printable(remark, _WIDE)
    if whole:
        yield from (("plain", line) for told in case.engines for line in engines.lines(told))
        yield from (("plain", line) for told in case.clbench for line in clbench.lines(told))
        for check in success.of_case(case):
            yield from success_lines(check)


def _doubts(case: CaseReport, *, short: bool) -> Iterator[tuple[str, str]]:
    """A line for each success check that failed, where its points are not told."""
    for check in success.of_case(case) if short else ():
        failed = [point.name for point in check.points if point.state is success.State.NOT]
        if failed:
            yield "unsure", f"success check: {', '.join(failed)} not ok (-v tells why)"
