"""Where the marks of an interval plot stand, in the units of its drawing. Pure geometry: nothing is drawn here.

Both drawings are `WIDTH` by `HEIGHT` units, so that they can stand side by side or, on a narrow screen, one above the
other at their own size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 360
HEIGHT = 134
_LEFT, _RIGHT = 12.0, 348.0
_ROWS = (30.0, 76.0)
"""Where the whiskers of the two arms lie."""
_MIDDLE = 53.0
_AXIS = 100.0
_HALF_WIDTHS = (0.1, 0.2, 0.4, 0.6, 1.0)
"""How far a difference's axis may reach to either side."""
_ROOM = 1.05


@dataclass(frozen=True)
class Axis:
    """A scale from values to units.

    Attributes:
        low: the value at the left end.
        high: the value at the right end; above `low`.
    """

    low: float
    high: float

    def at(self, value: float) -> float:
        """The value's place, in units to one decimal; beyond an end it is that end's."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    x: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Whisker:
    """An interval and the estimate in it.

    Attributes:
        y: its height.
        x: the estimate.
        low: the interval's lower end.
        high: its upper end.
    """

    y: float
    x: float
    low: float
    high: float


@dataclass(frozen=True)
class ArmsPlot:
    """Both arms' win rates with their Wilson intervals, on an axis from 0 to 100 %."""

    candidate: Whisker
    baseline: Whisker
    ticks: tuple[Tick, ...]
    axis: float = _AXIS


@dataclass(frozen=True)
class DifferencePlot:
    """The difference in win rate with its interval.

    Attributes:
        whisker: the difference and the interval that directions are judged on.
        inner: the ends of the interval that margins are judged on; None without a margin.
        zero: no difference.
        margin: the ends of what would not matter; None without a margin.
        one_sided: whether only a loss is limited by the margin.
    """

    whisker: Whisker
    inner: tuple[float, float] | None
    zero: float
    margin: tuple[float, float] | None
    one_sided: bool
    ticks: tuple[Tick, ...]
    axis: float = _AXIS


def arms_plot(judged: Mapping[str, Any]) -> ArmsPlot | None:
    """The plot of both arms; None where an arm has no game.

    Args:
        judged: a judgement's plain data.
    """
    axis = Axis(0.0, 1.0)
    whiskers = []
    for side, y in zip(("candidate", "baseline"), _ROWS, strict=True):
        arm = judged[side]
        limits = judged.get(f"wilson_{side}")
        if not arm["finished"] or limits is None:
            return None
        low, high = limits
        whiskers.append(
            Whisker(y, axis.at(arm["wins"] / arm["finished"]), axis.at(low), axis.at(high)),
        )
    values = (0.0, 0.25, 0.5, 0.75, 1.0)
    return ArmsPlot(whiskers[0], whiskers[1], _ticks(axis, values, [f"{100 * v:g}" for v in values]))


def difference_plot(judged: Mapping[str, Any]) -> DifferencePlot | None:
    """The plot of the difference; None where there is none.

    Args:
        judged: a judgement's plain data.
    """
    if judged["diff"] is None:
        return None
    declared = judged["declaration"]
    margin, one_sided = declared["margin"], declared["claim"] == "noninferior"
    half = reach([*judged["ci"], *(judged["ci_margin"] if margin is not None else ()), margin or 0.0])
    axis = Axis(-half, half)
    low, high = judged["ci"]
    values = (-half, -half / 2, 0.0, half / 2, half)
    return DifferencePlot(
        whisker=Whisker(_MIDDLE, axis.at(judged["diff"]), axis.at(low), axis.at(high)),
        inner=None if margin is None else (axis.at(judged["ci_margin"][0]), axis.at(judged["ci_margin"][1])),
        zero=axis.at(0.0),
        margin=None if margin is None else (axis.at(-margin), _RIGHT if one_sided else axis.at(margin)),
        one_sided=one_sided,
        ticks=_ticks(axis, values, [_signed(100 * v) for v in values]),
    )


def reach(values: Sequence[float]) -> float:
    """How far a difference's axis goes to either side, so that every value has room on it; at most 1."""
    needed = _ROOM * max(abs(value) for value in values)
    return next((half for half in _HALF_WIDTHS if half >= needed), _HALF_WIDTHS[-1])


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0"


def _ticks(axis: Axis, values: Sequence[float], labels: Sequence[str]) -> tuple[Tick, ...]:
    """Marks whose outer labels stay inside of the drawing."""
    last = len(values) - 1
    return tuple(
        Tick(axis.at(value), label, "start" if i == 0 else "end" if i == last else "middle")
        for i, (value, label) in enumerate(zip(values, labels, strict=True))
    )


# ------------------------------------------------------------------ values without bounds


@dataclass(frozen=True)
class Scale:
    """An axis of values in some unit, with marks at round numbers; rows of one table share it."""

    axis: Axis
    ticks: tuple[Tick, ...]

    @classmethod
    def around(cls, values: Iterable[float], *, signed: bool = False) -> Scale:
        """An axis with room for all values.

        Args:
            values: finite; none at all, or all the same, make an axis of one unit to either side.
            signed: whether the marks show a plus, as differences do.
        """
        found = list(values) or [0.0]
        low, high = min(found), max(found)
        room = (high - low) * (_ROOM - 1.0) or 1.0
        axis = Axis(low - room, high + room)
        step = _round_step((axis.high - axis.low) / _MARKS)
        places = range(math.ceil(axis.low / step), math.floor(axis.high / step) + 1)
        marks = [at * step for at in places]
        labels = [_signed(mark) if signed else f"{mark:g}".replace("-", "\N{MINUS SIGN}") for mark in marks]
        return cls(axis, tuple(Tick(axis.at(mark), label) for mark, label in zip(marks, labels, strict=True)))

    def whisker(self, estimate: float | None, ci: Sequence[float] | None) -> Whisker | None:
        """An estimate and its interval, if it has one, in the middle of a row; None without an estimate."""
        if estimate is None:
            return None
        low, high = ci or (estimate, estimate)
        return Whisker(ROW_HEIGHT / 2, self.axis.at(estimate), self.axis.at(low), self.axis.at(high))


ROW_HEIGHT = 22
"""Of a drawing that is one row of a table."""
_MARKS = 5


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least * (1.0 - 1e-12))
