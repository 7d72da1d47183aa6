"""A benchmark's report as a page shows it: plain values, ready to be laid out by a template that computes nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from pytest_evalharness.engines.benchmark import rendering as say
from pytest_evalharness.engines.benchmark.report import (
    Baseline,
    Estimate,
    Estimates,
    Lift,
    Lifts,
    Report,
    Row,
)
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.report.plot import Scale, Tick, Whisker

_LONG = 10_000
_SIGNS = {"good": "▲", "bad": "▼", "neutral": "=", "warn": "?"}
_ESTIMATES = (
    ("pdwis", "PDWIS", "each call reweighted, turn by turn: the estimate"),
    ("dm", "DM", "what a model fitted on the held-out calls expects"),
    ("dr", "DR", "PDWIS, with that model as a control variate"),
    ("wis", "WIS", "each whole call reweighted"),
    ("pdis", "PDIS", "reweighted, not normalised"),
    ("dm_fit", "DM of the fit calls", "a second opinion that shares no row with PDWIS"),
)


@dataclass(frozen=True)
class Figure:
    """A number, its interval in words, and where both stand in a drawing; None where there is nothing to draw."""

    value: str
    ci: str = ""
    whisker: Whisker | None = None


@dataclass(frozen=True)
class LineView:
    """A line of a row's table of lifts.

    Attributes:
        name: the estimator, or how the table is followed.
        about: what that is.
        worth: a call, under the table.
        lift: over today.
        ess: effective calls; empty where they are those of the table itself.
    """

    name: str
    about: str
    worth: Figure
    lift: Figure
    ess: str = ""


@dataclass(frozen=True)
class SupportView:
    """A state that costs overlap: its words, the table's move, how often that was made there, and the calls lost."""

    state: str
    move: str
    tried: str
    lost: str


@dataclass(frozen=True)
class OpenedView:
    """What a row opens into.

    Attributes:
        line: one sentence saying why.
        caveat: what the verdict does not prove.
        reasons: codes of the shared vocabulary.
        estimates: an estimator each.
        lean: the table followed now and then, and wholly.
        split: its lift on the later calls; None where the evidence does not tell the calls' order.
        zero: where no lift is, in the drawings.
        ticks: marks of the drawings' axis.
        remarks: what must be known besides.
        support: the states that cost the most overlap.
        table: state, move and the state's id.
    """

    line: str
    caveat: str
    reasons: str
    estimates: tuple[LineView, ...]
    lean: tuple[LineView, ...]
    split: LineView | None
    zero: float
    ticks: tuple[Tick, ...]
    remarks: tuple[str, ...]
    support: tuple[SupportView, ...]
    table: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class RowView:
    """A line of the leaderboard.

    Attributes:
        engine: its name; of a baseline whose it is.
        label: what it is called.
        head: the verdict in the benchmark's words, or the status; empty for a baseline.
        tone: of the verdict, or "none".
        sign: of the verdict.
        reason: why there is no verdict.
        opened: what it opens into; None where there is nothing more.
        unfolded: whether it is open from the start.
    """

    engine: str
    label: str = ""
    head: str = ""
    tone: str = "none"
    sign: str = ""
    reason: str = ""
    pdwis: Figure = Figure("")
    dm: str = ""
    dr: str = ""
    ess: str = ""
    today: Figure = Figure("")
    random: str = ""
    opened: OpenedView | None = None
    unfolded: bool = False


@dataclass(frozen=True)
class PageView:
    """The page of a benchmark.

    Attributes:
        identity: the benchmark's name.
        title: how many tables were scored, and which are ahead.
        facts: of the evidence and of the run.
        notices: what a reader must know besides.
        caveat: what no row proves.
        baselines: today and random.
        rows: the engines, best first.
        today: where today's agent stands in the drawings; None without a value.
        ticks: marks of the leaderboard's axis.
    """

    identity: str
    title: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    caveat: str
    baselines: tuple[RowView, ...]
    rows: tuple[RowView, ...]
    today: float | None
    ticks: tuple[Tick, ...]


def page(report: Report, unfolded: str | None = None) -> PageView:
    """A report's page.

    Args:
        report: the benchmark's.
        unfolded: the engine whose row is open from the start.
    """
    worths = [one.pdwis for one in report.baselines.values()]
    worths += [row.estimates.pdwis for row in report.rows if row.estimates is not None]
    scale = Scale.around(_ends((one.estimate, one.ci) for one in worths))
    today = report.baselines.get("today")
    words = msgspec.convert(report.info.get("words") or {}, Words)
    return PageView(
        identity=say.said(report.benchmark_id),
        title=say.summary(report),
        facts=tuple(_facts(report)),
        notices=tuple(map(say.said, report.notices)),
        caveat=say.said(report.caveat, _LONG),
        baselines=tuple(_baseline(name, one, scale) for name, one in report.baselines.items()),
        rows=tuple(_row(row, scale, words, unfolded=row.engine == unfolded) for row in report.ranked),
        today=None if today is None or today.pdwis.estimate is None else scale.axis.at(today.pdwis.estimate),
        ticks=scale.ticks,
    )


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    info = report.info
    yield "calls of", say.said(info.get("env") or "the evidence")
    yield "fitted on", f"{info['fit_calls']:,} calls"
    yield "scored on", f"{info['held_out_calls']:,} held-out calls"
    yield "moves and states read by", f"tagger {say.said(info.get('tagger'))}"
    yield "propensities", say.said(info.get("propensity_source"))
    yield "intervals", f"95 %, {info['bootstrap']:,} resamples of whole calls, seed {info['seed']}"
    yield "evidence", say.said(info.get("evidence"))


# ------------------------------------------------------------------ the leaderboard


def _baseline(name: str, told: Baseline, scale: Scale) -> RowView:
    return RowView(
        engine=say.said(name),
        label={"today": "what the agent does", "random": "every move as likely"}.get(name, ""),
        pdwis=_figure(told.pdwis, scale),
        dm=_shown(told.dm.estimate),
        dr=_shown(told.dr.estimate),
        ess=f"{told.ess:,.1f}",
    )


def _row(row: Row, scale: Scale, words: Words, *, unfolded: bool) -> RowView:
    name, label = say.said(row.engine), say.said(row.label)
    told, over, found = row.estimates, row.vs_today, row.verdict
    if told is None or over is None or row.vs_random is None or found is None:
        return RowView(engine=name, label=label, head=say.said(row.status), reason=say.said(row.reason))
    return RowView(
        engine=name,
        label=label if label != name else "",
        head=say.said(found.head),
        tone=found.tone if found.tone in _SIGNS else "none",
        sign=_SIGNS.get(found.tone, ""),
        pdwis=_figure(told.pdwis, scale),
        dm=_shown(told.dm.estimate),
        dr=_shown(told.dr.estimate),
        ess=f"{told.ess:,.1f}",
        today=_lift(over.pdwis),
        random=_shown(row.vs_random.pdwis.lift, sign=True),
        opened=_opened(row, told, over, words),
        unfolded=unfolded,
    )


def _figure(told: Estimate, scale: Scale | None = None) -> Figure:
    drawn = None if scale is None else scale.whisker(told.estimate, told.ci)
    return Figure(_shown(told.estimate), _interval(told.ci), drawn)


def _lift(told: Lift, scale: Scale | None = None) -> Figure:
    drawn = None if scale is None else scale.whisker(told.lift, told.ci)
    return Figure(_shown(told.lift, sign=True), _interval(told.ci, sign=True), drawn)


def _shown(value: float | None, *, sign: bool = False) -> str:
    return _minus(say.number(value, sign=sign))


def _interval(ci: tuple[float, float] | None, *, sign: bool = False) -> str:
    return "" if ci is None else _minus(say.interval(ci, sign=sign))


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _ends(figures: Iterator[tuple[float | None, tuple[float, float] | None]]) -> list[float]:
    """Every value that a drawing must have room for."""
    return [value for estimate, ci in figures if estimate is not None for value in (estimate, *(ci or ()))]


# ------------------------------------------------------------------ a row that is opened


def _opened(row: Row, told: Estimates, over: Lifts, words: Words) -> OpenedView:
    found, split = row.verdict, row.time_split
    assert found is not None
    lifts = [over.pdwis, over.dm, over.dr, *(one.lift for one in row.lean), *([split] if split else [])]
    together = over.pdwis.simultaneous
    scale = Scale.around([0.0, *(together or ()), *_ends((one.lift, one.ci) for one in lifts)], signed=True)
    return OpenedView(
        line=say.said(found.line, _LONG),
        caveat=say.said(found.caveat, _LONG),
        reasons=", ".join(say.said(reason).replace("_", " ") for reason in found.reasons),
        estimates=tuple(_estimators(told, over, scale)),
        lean=tuple(_leans(row, told, over, scale)),
        split=None if split is None else _later(split, scale),
        zero=scale.axis.at(0.0),
        ticks=scale.ticks,
        remarks=tuple(say.remarks(row)),
        support=tuple(
            SupportView(
                say.said(words.state(one.state)),
                say.said(words.move(one.move)),
                f"{one.tried:,} of {one.visits:,}",
                f"{one.lost_calls:,}",
            )
            for one in row.support
        ),
        table=tuple(
            (say.said(words.state(state)), say.said(words.move(move)), say.said(state))
            for state, move in sorted(row.policy.items())
        ),
    )


def _estimators(told: Estimates, over: Lifts, scale: Scale) -> Iterator[LineView]:
    for name, label, about in _ESTIMATES:
        lift: Lift | None = getattr(over, name, None)
        shown = Figure("") if lift is None else _lift(lift, scale)
        yield LineView(label, about, _figure(getattr(told, name)), shown)
        if lift is not None and lift.simultaneous is not None:
            all_at_once = Lift(lift=lift.lift, ci=lift.simultaneous)
            yield LineView(
                "PDWIS, all tables at once",
                "an interval that holds for every table of the board together",
                Figure(""),
                _lift(all_at_once, scale),
            )


def _leans(row: Row, told: Estimates, over: Lifts, scale: Scale) -> Iterator[LineView]:
    if not row.lean:
        return
    for one in row.lean:
        worth = Figure(_shown(one.pdwis))
        yield LineView(f"{one.alpha:.0%} of the turns", "", worth, _lift(one.lift, scale), f"{one.ess:,.1f}")
    worth = Figure(_shown(told.pdwis.estimate))
    yield LineView("always: the table itself", "", worth, _lift(over.pdwis, scale), f"{told.ess:,.1f}")


def _later(split: Lift, scale: Scale) -> LineView:
    about = "fitted on the calls before them: the hash split mixes early and late calls, this one does not"
    return LineView("the last fifth of the calls", about, Figure(""), _lift(split, scale))
