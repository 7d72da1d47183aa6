"""A benchmark's report for a terminal, as plain lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.engines.benchmark.report import DONE, Baseline, Estimate, Lift, Report, Row
from pytest_evalharness.engines.evidence.words import Words

_NAME, _WIDE, _LONG, _VALUE = 20, 300, 10_000, 24
NONE = "n/a"


def leaderboard(report: Report) -> Iterator[str]:
    """Today and random first, then each engine by its PDWIS."""
    info = report.info
    yield (
        f"{said(info.get('env') or 'evidence')}: {info['fit_calls']:,} fit calls, {info['held_out_calls']:,} held out; tagger "
        f"{said(info.get('tagger'))}, propensities {said(info.get('propensity_source'))}, {info['bootstrap']:,} resamples, "
        f"seed {info['seed']}"
    )
    for notice in report.notices:
        yield f"note: {said(notice)}"
    yield ""
    yield (
        f"{'':{_NAME}} {'PDWIS [95 %]':>{_VALUE}} {'DM':>8} {'DR':>8} {'ESS':>8} {'vs today':>{_VALUE}} {'vs random':>9}"
    )
    for name, baseline in report.baselines.items():
        yield _baseline_line(name, baseline)
    for row in report.ranked:
        yield from _row_lines(row)
    yield ""
    yield said(report.caveat, _LONG)


def opened(report: Report, row: Row) -> Iterator[str]:
    """One row with its reasons, and its table in the world's own words."""
    yield f"{said(row.label)} ({said(row.engine)}): {said(row.status)}"
    if row.verdict is None or row.estimates is None or row.vs_today is None or row.vs_random is None:
        yield f"  {said(row.reason)}"
        return
    yield f"  {said(row.verdict, _LONG)}"
    yield ""
    estimates = row.estimates
    for name, label in (("pdwis", "PDWIS"), ("dm", "DM"), ("dr", "DR"), ("wis", "WIS"), ("pdis", "PDIS")):
        over = getattr(row.vs_today, name, None)
        beside = f"   vs today {difference(over)}" if over is not None else ""
        yield f"  {label:<6} {estimate(getattr(estimates, name)):>{_VALUE}}{beside}"
    yield f"  {'DM fit':<6} {number(estimates.dm_fit.estimate):>{_VALUE}}   fitted on the fit calls: a second opinion"
    yield f"  all tables at once: lift over today {interval(row.vs_today.pdwis.simultaneous)}"
    yield from (f"  {line}" for line in remarks(row))
    if row.time_split is not None:
        later = difference(row.time_split)
        yield f"  on the last fifth of the calls, fitted on those before: lift over today {later}"
    yield from _lean_lines(row)
    if row.support:
        yield "  where the overlap goes:"
        yield from (f"    {said(one.words)}" for one in row.support)
    yield ""
    yield "  the table:"
    words = msgspec.convert(report.info.get("words") or {}, Words)
    for state, move in sorted(row.policy.items()):
        yield f"    {said(words.state(state))}: {said(words.move(move))}"
    yield ""
    yield said(report.caveat, _LONG)


def _row_lines(row: Row) -> Iterator[str]:
    name = f"{said(row.engine)[:_NAME]:{_NAME}}"
    if row.estimates is None or row.vs_today is None or row.vs_random is None or row.verdict is None:
        yield f"{name} {said(row.status)}: {said(row.reason)}"
        return
    told = row.estimates
    yield (
        f"{name} {estimate(told.pdwis):>{_VALUE}} {number(told.dm.estimate):>8} {number(told.dr.estimate):>8} "
        f"{told.ess:>8,.1f} {difference(row.vs_today.pdwis):>{_VALUE}} {number(row.vs_random.pdwis.lift, sign=True):>9}"
    )
    yield f"{'':{_NAME}} {said(row.verdict.head)}"


def _baseline_line(name: str, told: Baseline) -> str:
    return (
        f"{name:{_NAME}} {estimate(told.pdwis):>{_VALUE}} {number(told.dm.estimate):>8} {number(told.dr.estimate):>8} "
        f"{told.ess:>8,.1f}"
    )


def remarks(row: Row) -> Iterator[str]:
    """What else must be known of a row's estimates."""
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


def _lean_lines(row: Row) -> Iterator[str]:
    if row.lean:
        yield "  followed only now and then (is the direction good?):"
    for one in row.lean:
        yield f"    {one.alpha:>4.0%} of the time: lift over today {difference(one.lift)}, {one.ess:,.1f} effective calls"


def estimate(told: Estimate) -> str:
    """A value and its interval."""
    return number(told.estimate) if told.ci is None else f"{number(told.estimate)} {interval(told.ci)}"


def difference(told: Lift) -> str:
    """A lift and its interval, with signs."""
    value = number(told.lift, sign=True)
    return value if told.ci is None else f"{value} {interval(told.ci, sign=True)}"


def number(value: float | None, *, sign: bool = False) -> str:
    """A value to two places."""
    return NONE if value is None else f"{value:+.2f}" if sign else f"{value:.2f}"


def interval(ci: tuple[float, float] | None, *, sign: bool = False) -> str:
    """Both ends."""
    return NONE if ci is None else f"[{number(ci[0], sign=sign)}, {number(ci[1], sign=sign)}]"


def said(value: object, limit: int = _WIDE) -> str:
    """Words from outside, fit to be shown; what is not told is `n/a`, as a number without a value is."""
    return NONE if value is None else printable(str(value), limit)


def summary(report: Report) -> str:
    """One line: how many engines, and which are ahead."""
    done = [row for row in report.rows if row.status == DONE]
    ahead = [row.engine for row in done if row.verdict is not None and row.verdict.verdict == "better"]
    told = f"ahead of today: {', '.join(map(said, ahead))}" if ahead else "none is ahead of today"
    calls = counted(report.info["held_out_calls"], "held-out call")
    return f"{counted(len(done), 'table')} scored on {calls}; {told}"
