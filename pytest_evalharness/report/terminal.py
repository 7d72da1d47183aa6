"""The report for a terminal, as plain lines; whoever prints them adds colour. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import builds, success
from pytest_evalharness.report.model import (
    SCOPE,
    CaseReport,
    Report,
    remarks,
    stratum_counts,
    unfinished_told,
)

_WIDE = 300
_TONES = {success.State.OK: "plain", success.State.NOT: "bad", success.State.UNKNOWN: "unsure"}


def lines(report: Report) -> Iterator[tuple[str, str]]:
    """Pairs of a tone (`good`, `bad`, `unsure`, `plain`) and a line."""
    for case in report.cases:
        yield from _case(case)
    yield from beside(report)
    if any(case.results for case in report.cases):
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


def _case(case: CaseReport) -> Iterator[tuple[str, str]]:
    tone = {"passed": "good", "inconclusive": "unsure", "skipped": "plain"}.get(case.outcome, "bad")
    for headline in case.headlines:
        yield tone, f"{case.outcome.upper():<13} {printable(headline, _WIDE)}"
    yield "plain", f"{'':<13} {printable(case.nodeid, _WIDE)}"
    for result in case.results:
        if result["judgement"]["verdict"] != "untrustworthy":
            for stratum in result["judgement"].get("strata", ()):
                yield "plain", f"{'':<13} configuration {printable(stratum_counts(stratum), _WIDE)}"
        for sentence in builds.sentences(result):
            yield "plain", f"{'':<13} builds {printable(sentence, _WIDE)}"
        for remark in remarks(result):
            yield "plain", f"{'':<13} {printable(remark, _WIDE)}"
    for check in success.of_case(case):
        for shade, line in success_lines(check):
            yield shade, f"{'':<13} {line}"
