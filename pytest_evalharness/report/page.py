"""The report as a page shows it: every sentence, number and mark ready to be laid out. Pure; a template computes nothing.

All text from outside is one harmless line here. That it cannot become markup is the template's part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_evalharness.base.text import amount, printable
from pytest_evalharness.report import (
    builds,
    checks,
    clbench,
    engines,
    plot,
    pool_page,
    rows,
    success,
    units,
)
from pytest_evalharness.report import sentences as say
from pytest_evalharness.report.model import SCOPE, CaseReport, Report, counts, remarks
from pytest_evalharness.report.page_view import ArmView, CaseView, ComparisonView, Page

Costs = Mapping[str, float | None]
"""Request → its credits; None where the server does not tell."""
_WIDE = 300
_MOST_LINES = 60
_MOST_REQUESTS = 3
_SYMBOLS = {"better": "▲", "worse": "▼", "equivalent": "=", "inconclusive": "?", "untrustworthy": "!"}
"""A verdict's sign: its colour is never all that tells it."""
_OUTCOMES = {
    "passed": "✓", "failed": "✕", "inconclusive": "?", "untrustworthy": "!", "skipped": "»", "disclosed": "»", "not_run": "»", "error": "!",
}  # fmt: skip
_UNTRUSTWORTHY = "untrustworthy"
_NOT_TOLD = "not told by the server"
_NOT_ASKED = "not asked: this run posted nothing"


def page(report: Report) -> Page:
    """Everything a page says about a run."""
    words = rows.Words()
    tables: list[dict[str, Any]] = []
    costs = None if report.cost is None else report.cost["requests"]
    cases = tuple(_case(number, case, tables, words, costs) for number, case in enumerate(report.cases, 1))
    return Page(
        run_id=printable(report.run_id),
        server=printable(report.server),
        api=printable(report.api, _WIDE),
        cost=printable(report.cost_words, _WIDE),
        finished_at=printable(report.finished_at),
        exit_code=report.exit_code,
        exit_words=report.exit_words,
        tone=report.tone,
        symbol={"good": "✓", "unsure": "?", "bad": "!"}[report.tone],
        embedded=report.embedded,
        scope=SCOPE,
        tally=tuple(counts(report.cases).items()),
        cases=cases,
        missing=_texts(report.missing),
        unfinished=_texts(report.unfinished),
        notices=_texts(report.notices),
        still_running=_texts(report.still_running),
        settings=tuple((name, printable(value, _WIDE)) for name, value in sorted(report.settings.items())),
        data={"comparisons": tables, "words": words.to_json()},
    )


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(printable(text, _WIDE) for text in texts)


def _case(
    number: int, case: CaseReport, tables: list[dict[str, Any]], words: rows.Words, costs: Costs | None
) -> CaseView:
    comparisons: list[ComparisonView] = []

    def add(view: ComparisonView, result: Mapping[str, Any], *, effect: bool) -> None:
        comparisons.append(view)
        tables.append(rows.table(result.get("episodes", {}), words, effect=effect))

    for result in case.results:
        effect = result["judgement"]["verdict"] != _UNTRUSTWORTHY
        view = comparison(result, len(tables), costs=costs)
        if "strata" not in result:
            add(view, result, effect=effect)
            continue
        add(pool_page.pooled(view, result), {}, effect=effect)
        for name, stratum in result["strata"].items():
            # Nothing of the effect may be read from a part of what cannot be believed.
            alone = comparison(stratum, len(tables), shown=effect, costs=costs)
            add(pool_page.part(alone, name), stratum, effect=effect)
    return CaseView(
        anchor=f"case-{number}",
        nodeid=printable(case.nodeid, _WIDE),
        outcome=case.outcome,
        symbol=_OUTCOMES.get(case.outcome, "!"),
        message=tuple(
            printable(line, 2 * _WIDE)
            for line in [*case.message.splitlines()[:_MOST_LINES], *_other_lines(case)]
        ),
        comparisons=tuple(comparisons),
        success=success.of_case(case) if not case.results else (),
        at_fault=case.at_fault,
        **({"judged": case.outcome} if case.at_fault else _judged(case)),
    )


def _judged(case: CaseReport) -> dict[str, str]:
    """What the overview says of a case without a comparison on a league: of the last thing that it looked at."""
    for told in (*case.engines, *case.clbench)[-1:]:
        effect = told.get("difference", told.get("lift"))
        unit = "normalised reward" if "difference" in told else "a call"
        word = told["verdict"] or told.get("outcome") or told.get("status", "")
        return {
            "judged": printable(word, _WIDE),
            "number": "" if effect is None else f"{effect:+.4g} {unit}",
        }
    return {}


def _other_lines(case: CaseReport) -> Iterator[str]:
    """What a case on decision engines, or on CL-Bench runs, has to tell."""
    for told in case.engines:
        yield str(told["headline"])
        yield from engines.lines(told)
    for told in case.clbench:
        if not case.message:  # which begins with it, and goes on with the same lines
            yield str(told["headline"])
            yield from clbench.lines(told)


def comparison(
    result: Mapping[str, Any], place: int, *, shown: bool = True, costs: Costs | None = None
) -> ComparisonView:
    """What a page says about one comparison. Of one that cannot be believed it has no effect, and nothing to read one from.

    Args:
        result: a comparison's plain data (`ABResult.to_json`).
        place: its place among all comparisons of the page.
        shown: whether the effect may be shown at all.
        costs: what the server says of each request's credits; None where the run did not ask.
    """
    judged, declared = result["judgement"], result["judgement"]["declaration"]
    trusted = shown and judged["verdict"] != _UNTRUSTWORTHY
    episodes = result.get("episodes", {})
    wrong = rows.misplaced(episodes)
    total = sum(len(arm["rows"]) for arm in episodes.values())
    told = trusted and judged["diff"] is not None
    return ComparisonView(
        place=place,
        name=printable(result["name"]),
        verdict=printable(judged["verdict"]),
        symbol=_SYMBOLS.get(judged["verdict"], "!"),
        sentence=say.verdict_sentence(judged),
        numbers=say.numbers_sentence(judged) if trusted else "",
        claim=say.claim_sentence(judged),
        next_step=printable(result.get("next_step") or _next(judged), 2 * _WIDE),
        remarks=tuple(printable(text, _WIDE) for text in [*remarks(result), *checks.notes(judged)]),
        arms=tuple(_arm(judged, side, trusted=trusted) for side in rows.SIDES),
        arm_facts=_arm_facts(
            judged,
            str(result.get("score_regime", "")),
            trusted=trusted,
            crewrift="game" not in result["plan"],
        ),
        wilson=f"{100 * (1 - declared['alpha']):.4g}\N{NO-BREAK SPACE}% Wilson intervals",
        arms_plot=plot.arms_plot(judged) if trusted else None,
        difference_plot=plot.difference_plot(judged) if trusted and not units.metric(declared) else None,
        difference=units.short(judged) if told else "",
        unit=units.unit(declared),
        interval=say.level_words(judged),
        margin=_margin(declared) if told and not units.metric(declared) else "",
        checks=tuple(checks.checks(judged, builds.check(result))),
        success=success.of_result(result, shown=shown),
        builds=tuple(builds.evidence(result)),
        build_facts=tuple(builds.facts(result)),
        build_files=tuple(builds.files(result)),
        misplaced=tuple(wrong),
        seats=rows.seats_words(episodes) if total else "",
        seats_open=bool(wrong),
        episodes=total,
        facts=_facts(result, judged),
        spent=_spent(result, judged, costs),
        field=_field(result.get("roster") or {}),
        lines=tuple(printable(line.removeprefix("  "), 2 * _WIDE) for line in result.get("lines", ())),
    )


def _next(judged: Mapping[str, Any]) -> str:
    """What to do where the case itself names nothing: the claim is met."""
    if judged.get("aa"):
        return "go on: the harness treats both arms alike as far as these games can show"
    if judged["decision"] == "met":
        return f"rely on it for what was claimed, and no further: it is {SCOPE}"
    return "see what the case said"


def _margin(declared: Mapping[str, Any]) -> str:
    if declared["margin"] is None:
        return ""
    within = units.points(-declared["margin"])
    what = f"below {within}" if declared["claim"] == "noninferior" else f"beyond {within[1:]} to either side"
    return f"thick bar: {say.margin_level_words(declared)}, on which the margin is judged; only {what} would matter"


def _arm(judged: Mapping[str, Any], side: str, *, trusted: bool) -> ArmView:
    arm = judged[side]
    told = say.share(arm["wins"], arm["finished"]) if trusted else ""
    return ArmView(side, printable(arm["label"], say.NAME), told)


def _arm_facts(
    judged: Mapping[str, Any], regime: str, *, trusted: bool, crewrift: bool
) -> tuple[tuple[str, str, str], ...]:
    told = [_facts_of_arm(judged, side, regime, trusted=trusted, crewrift=crewrift) for side in rows.SIDES]
    return tuple((name, candidate, told[1][name]) for name, candidate in told[0].items())


def _facts_of_arm(
    judged: Mapping[str, Any], side: str, regime: str, *, trusted: bool, crewrift: bool
) -> dict[str, str]:
    arm = judged[side]
    facts = {}
    limits = judged.get(f"wilson_{side}")  # a pool has none: its configurations' wins are not added up
    if trusted and limits is not None:
        low, high = limits
        facts["interval"] = f"{100 * low:.1f} to {100 * high:.1f}\N{NO-BREAK SPACE}%"
        facts["mean seat score"] = "none" if arm["mean_score"] is None else f"{arm['mean_score']:.2f}"
        if crewrift:
            facts["score regime"] = printable(regime or "unknown")
            facts["kills"] = _known(arm["kills"])
            facts["vote timeouts"] = _known(arm["vote_timeouts"])
    missing = arm["requested"] - arm["finished"] - arm["unpaired"]
    facts["missing"] = f"{missing} of {arm['requested']}"
    facts["requests"] = " ".join(printable(one) for one in arm["request_ids"][:_MOST_REQUESTS])
    if len(arm["request_ids"]) > _MOST_REQUESTS:
        facts["requests"] += f" and {len(arm['request_ids']) - _MOST_REQUESTS} more"
    return facts


def _known(count: int | None) -> str:
    return "not told" if count is None else str(count)


def _facts(result: Mapping[str, Any], judged: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    declared, plan = judged["declaration"], result["plan"]
    facts: list[tuple[str, Any]] = [
        ("claim", say.claim_words(declared)),
        ("metric", units.metric(declared) or "win rate"),
        *([("won", declared["win"])] if "win" in declared else []),
        ("rule", declared["rule"]),
        ("error level", f"{declared['alpha']:g}, two-sided"),
        ("pairing", declared.get("pairing") or "none: independent arms"),
        ("attempt", result["attempt"]),
    ]
    facts += [
        (name, plan[key])
        for name, key in (
            ("tested seat", "tested_seat"), ("episodes an arm", "episodes"), ("ticks", "ticks"), ("league", "league"),
            ("backend", "backend"), ("server", "server"),
        )
        if plan.get(key) is not None
    ]  # fmt: skip
    return tuple((name, printable(value)) for name, value in facts)


def _spent(
    result: Mapping[str, Any], judged: Mapping[str, Any], costs: Costs | None
) -> tuple[tuple[str, str], ...]:
    """What a comparison took, as far as anybody knows. Requests that it shares with another comparison are in both prices."""
    arms = [judged[side] for side in rows.SIDES]
    requests = [request for arm in arms for request in arm["request_ids"]]
    games = f"{sum(arm['requested'] for arm in arms)} asked for in {len(requests)} requests"
    old = result["evidence_age_seconds"] is not None
    told = [cost for request in requests if (cost := (costs or {}).get(request)) is not None]
    if requests and len(told) == len(requests):
        price = f"{amount(sum(told))} credits"
    elif told:
        price = f"{amount(sum(told))} credits for {len(told)} of the requests, the others {_NOT_TOLD}"
    else:
        price = _NOT_ASKED if old and costs is None else _NOT_TOLD
    return (("games", f"{games}; nothing was posted by this run" if old else games), ("cost", price))


def _field(roster: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (
            printable(member["label"], say.NAME),
            printable(member["player_name"], say.NAME),
            "none" if member["score"] is None else f"{member['score']:.2f}",
        )
        for member in roster.get("opponents", ())
    )
