"""The report as Markdown, for `summary.md`. Text from outside stays text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.base.text import markdown
from pytest_evalharness.report import clbench, engines, success, units
from pytest_evalharness.report.model import LEAGUE, MANY, SCOPE, CaseReport, Report, remarks, unfinished_told
from pytest_evalharness.report.success import SuccessCheck
from pytest_evalharness.verdict.figures import amount

_WIDE = 400
_WIDEST = 2000
_MARKS = {
    "passed": "✅",
    "failed": "❌",
    "inconclusive": "❔",
    "untrustworthy": "⛔",
    "skipped": "⏭️",
    "disclosed": "⏭️",
}


def render(report: Report) -> str:
    """The whole document."""
    out = [f"# Evaluation {markdown(report.run_id)}: {report.exit_words}", ""]
    if report.embedded:
        out += ["**Played on the embedded league: real games, invented players.**", ""]
    out += [
        f"Server {markdown(report.server)}, finished {markdown(report.finished_at)}, exit code {report.exit_code}.",
        "",
        *([f"Server API: {markdown(report.api, _WIDE)}.", ""] if report.api else []),
        *([f"Cost: {markdown(report.cost_words, _WIDE)}.", ""] if report.cost_words else []),
        "| | case | claim | verdict | candidate | baseline | difference | interval |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in report.cases:
        out += _rows(case)
    if any(case.kind == LEAGUE for case in report.cases):
        out += ["", f"Each difference is {SCOPE}."]
    caveats = {str(one["caveat"]) for case in report.cases for one in case.engines}
    out += ["", *(line for caveat in sorted(caveats) for line in (markdown(caveat, _WIDE * MANY), ""))]
    for case in report.cases:
        told = [remark for result in case.results for remark in remarks(result)]
        out += [f"- {markdown(case.nodeid, _WIDE)}: {markdown(remark, _WIDE)}" for remark in told]
        for one in case.clbench:
            out += [f"- {markdown(case.nodeid, _WIDE)}: {markdown(one['headline'], _WIDE)}"]
            out += [f"  - {markdown(line, _WIDE)}" for line in clbench.lines(one)]
        if case.message and not case.clbench:
            out += [f"- {markdown(case.nodeid, _WIDE)}: {markdown(case.headlines[0], _WIDE)}"]
        for check in success.of_case(case):
            out += _success(case, check)
    out += [f"- {markdown(nodeid, _WIDE)}: collected, and never reported" for nodeid in report.missing]
    if report.unfinished:
        out += [f"- {markdown(unfinished_told(report), _WIDE * MANY)}"]
    out += [f"- still running on the server: {markdown(request, _WIDE)}" for request in report.still_running]
    out += [f"- note: {markdown(notice, _WIDE)}" for notice in report.notices]
    return "\n".join(out).rstrip() + "\n"


def _success(case: CaseReport, check: SuccessCheck) -> list[str]:
    """The runbook's success check: a line for how many of its points are as they should be, and one for each."""
    whose = f" of {markdown(check.name)}" if check.name else ""
    return [
        f"- {markdown(case.nodeid, _WIDE)}: success check{whose}, {check.words}",
        *(f"  {one.number}. {one.name}, {one.state}: {markdown(one.seen, _WIDEST)}" for one in check.points),
    ]


def _rows(case: CaseReport) -> list[str]:
    mark = _MARKS.get(case.outcome, "⛔")
    name = markdown(case.nodeid, _WIDE)
    if not case.results and not case.engines and not case.clbench:
        return [f"| {mark} | {name} | | {case.outcome} | | | | |"]
    told = [f"| {mark} | {name} | {engines.cells(one)} |" for one in case.engines]
    told += [f"| {mark} | {name} | {clbench.cells(one)} |" for one in case.clbench]
    return told + [
        row
        for result in case.results
        for row in (f"| {mark} | {name} | {_cells(result['judgement'])} |", *_strata(result["judgement"]))
    ]


def _strata(judged: Mapping[str, Any]) -> list[str]:
    """A row for each configuration of a pool: its counts and its own difference, which is not judged."""
    rows = []
    for stratum in judged.get("strata", ()):
        arms = stratum["candidate"], stratum["baseline"]
        shown = judged["verdict"] != "untrustworthy" and all(arm["finished"] for arm in arms)
        rates = [arm["wins"] / arm["finished"] for arm in arms] if shown else []
        effect = f"{100 * (rates[0] - rates[1]):+.1f} pp" if shown else ""
        cells = [
            "",
            f"configuration {markdown(stratum['name'], _WIDE)}",
            "",
            "",
            *(_arm(arm, trusted=judged["verdict"] != "untrustworthy") for arm in arms),
            effect,
            "",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _arm(arm: Mapping[str, Any], *, trusted: bool) -> str:
    """An arm and its counts; of what cannot be believed only how many games there were."""
    if not trusted:
        return f"{markdown(arm['label'])}, {arm['finished']} games"
    return f"{markdown(arm['label'])} {arm['wins']}/{arm['finished']}"


def _cells(judged: Mapping[str, Any]) -> str:
    pooled, trusted = "strata" in judged, judged["verdict"] != "untrustworthy"
    arms = [
        f"{arm['finished']} games" if pooled else _arm(arm, trusted=trusted)
        for arm in (judged["candidate"], judged["baseline"])
    ]
    shown = trusted and judged["diff"] is not None
    declared = judged["declaration"]
    metric = units.metric(declared)
    low, high = judged["ci"]
    level = f"{100 * (1 - declared['alpha']):.4g} %"
    effect = interval = ""
    if shown and metric:
        effect = f"{amount(judged['diff'])} {markdown(metric)}"
        interval = f"{amount(low)} to {amount(high)} ({level})"
    elif shown:
        effect = f"{100 * judged['diff']:+.1f} pp"
        interval = f"{100 * low:+.1f} to {100 * high:+.1f} ({level})"
    claim = "A/A" if judged.get("aa") else declared["claim"].replace("_", " ")
    return " | ".join([claim, judged["verdict"].upper(), *arms, effect, interval])
