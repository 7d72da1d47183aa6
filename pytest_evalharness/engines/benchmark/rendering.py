"""A benchmark's report for a terminal, as plain lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.benchmark.report import DONE, Baseline, Estimate, Lift, Report, Row
from pytest_evalharness.engines.evidence.words import Words

_NAME, _WIDE, _VALUE = 20, 300, 24
NONE = "n/a"


def leaderboard(report: Report) -> Iterator[str]:
    """Today and random first, then each engine by its PDWIS."""
    info = report.info
    yield (
        f"{_said(info.get('env') or 'evidence')}: {info['fit_calls']:,} fit calls, {info['held_out_calls']:,} held out; tagger "
        f"{_said(info.get('tagger'))}, propensities {_said(info.get('propensity_source'))}, {info['bootstrap']:,} resamples, "
        f"seed {info['seed']}"
    )
    for notice in report.notices:
        yield f"note: {_said(notice)}"
    yield ""
    yield (
        f"{'':{_NAME}} {'PDWIS [95 %]':>{_VALUE}} {'DM':>8} {'DR':>8} {'ESS':>8} {'vs today':>{_VALUE}} {'vs random':>9}"
    )
    for name, baseline in report.baselines.items():
        yield _baseline_line(name, baseline)
    for row in report.ranked:
        yield from _row_lines(row)
    yield ""
    yield report.caveat


def opened(report: Report, row: Row) -> Iterator[str]:
    """One row with its reasons, and its table in the world's own words."""
    yield f"{_said(row.label)} ({_said(row.engine)}): {row.status}"
    if row.verdict is None or row.estimates is None or row.vs_today is None or row.vs_random is None:
        yield f"  {_said(row.reason)}"
        return
    yield f"  {row.verdict}"
    yield ""
    estimates = row.estimates
    for name, label in (("pdwis", "PDWIS"), ("dm", "DM"), ("dr", "DR"), ("wis", "WIS"), ("pdis", "PDIS")):
        over = getattr(row.vs_today, name, None)
        beside = f"   vs today {_lift(over)}" if over is not None else ""
        yield f"  {label:<6} {_estimate(getattr(estimates, name)):>{_VALUE}}{beside}"
    yield f"  {'DM fit':<6} {_number(estimates.dm_fit.estimate):>{_VALUE}}   fitted on the fit calls: a second opinion"
    yield f"  all tables at once: lift over today {_interval(row.vs_today.pdwis.simultaneous)}"
    yield from (f"  {line}" for line in _remarks(row))
    yield from _lean_lines(row)
    if row.support:
        yield "  where the overlap goes:"
        yield from (f"    {_said(one.words)}" for one in row.support)
    yield ""
    yield "  the table:"
    words = msgspec.convert(report.info.get("words") or {}, Words)
    for state, move in sorted(row.policy.items()):
        yield f"    {_said(words.state(state))}: {_said(words.move(move))}"
    yield ""
    yield report.caveat


def _row_lines(row: Row) -> Iterator[str]:
    name = f"{_said(row.engine)[:_NAME]:{_NAME}}"
    if row.estimates is None or row.vs_today is None or row.vs_random is None or row.verdict is None:
        yield f"{name} {row.status}: {_said(row.reason)}"
        return
    told = row.estimates
    yield (
        f"{name} {_estimate(told.pdwis):>{_VALUE}} {_number(told.dm.estimate):>8} {_number(told.dr.estimate):>8} "
        f"{told.ess:>8,.1f} {_lift(row.vs_today.pdwis):>{_VALUE}} {_number(row.vs_random.pdwis.lift, sign=True):>9}"
    )
    yield f"{'':{_NAME}} {row.verdict.head}"


def _baseline_line(name: str, told: Baseline) -> str:
    return (
        f"{name:{_NAME}} {_estimate(told.pdwis):>{_VALUE}} {_number(told.dm.estimate):>8} {_number(told.dr.estimate):>8} "
        f"{told.ess:>8,.1f}"
    )


def _remarks(row: Row) -> Iterator[str]:
    told = row.estimates
    if told is None:
        return
    yield (
        f"{told.matched_calls:,} calls agree with it throughout; mean weight {told.mean_weight:.3g}; the model guesses "
        f"{told.guessed:.0%} of the decisions"
    )
    if told.out_of_range:
        yield "PDWIS is outside of every outcome that was seen: each step has its own denominator; read WIS beside it"
    if told.model_only:
        yield "no call has weight: DR is the model alone"
    if told.unterminated:
        yield f"the model finds no end of a call for {told.unterminated:.0%} of the calls, so DM and DR have no value"
    if row.more_calls is not None:
        yield f"about {row.more_calls:,} held-out calls would bring 30 effective ones"
    if row.time_split is not None:
        yield f"on the last fifth of the calls, fitted on those before: lift over today {_lift(row.time_split)}"


def _lean_lines(row: Row) -> Iterator[str]:
    if row.lean:
        yield "  followed only now and then (is the direction good?):"
    for one in row.lean:
        yield f"    {one.alpha:>4.0%} of the time: lift over today {_lift(one.lift)}, {one.ess:,.1f} effective calls"


def _estimate(told: Estimate) -> str:
    return _number(told.estimate) if told.ci is None else f"{_number(told.estimate)} {_interval(told.ci)}"


def _lift(told: Lift) -> str:
    number = _number(told.lift, sign=True)
    return number if told.ci is None else f"{number} {_interval(told.ci, sign=True)}"


def _number(value: float | None, *, sign: bool = False) -> str:
    return NONE if value is None else f"{value:+.2f}" if sign else f"{value:.2f}"


def _interval(ci: tuple[float, float] | None, *, sign: bool = False) -> str:
    return NONE if ci is None else f"[{_number(ci[0], sign=sign)}, {_number(ci[1], sign=sign)}]"


def _said(value: object) -> str:
    return printable(str(value), _WIDE)


def summary(report: Report) -> str:
    """One line: how many engines, and which are ahead."""
    done = [row for row in report.rows if row.status == DONE]
    ahead = [row.engine for row in done if row.verdict is not None and row.verdict.verdict == "better"]
    told = f"ahead of today: {', '.join(map(_said, ahead))}" if ahead else "none is ahead of today"
    return f"{len(done)} tables scored on {report.info['held_out_calls']:,} held-out calls; {told}"
