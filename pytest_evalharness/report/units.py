"""In what a comparison is told: percentage points of the win rate, or the units of its declared metric. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.verdict.figures import amount, plain_amount
from pytest_evalharness.verdict.metrics import metric_of, words_of
from pytest_evalharness.verdict.words import Metric

_NAME = 60
_MINUS = "\N{MINUS SIGN}"


def metric(declared: Mapping[str, Any]) -> str:
    """The declared metric in words, made harmless; empty for the win rate.

    Args:
        declared: a declaration's plain data.
    """
    try:
        named = metric_of(declared.get("metric", Metric.WINS))
    except ValueError:  # of a later release
        return printable(declared.get("metric"), _NAME)
    return "" if named == Metric.WINS else printable(words_of(named), _NAME)


def points(value: float) -> str:
    """A difference in percentage points, with its sign and a true minus."""
    return f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", _MINUS)


def difference(value: float, declared: Mapping[str, Any]) -> str:
    """A difference in the comparison's own units, without naming them."""
    return amount(value).replace("-", _MINUS) if metric(declared) else points(value)


def mean(value: float) -> str:
    """A mean of the metric."""
    return plain_amount(value).replace("-", _MINUS)


def margin(declared: Mapping[str, Any]) -> str:
    """A declared margin with its unit: `0.20`, `1.5 seat score`."""
    words = metric(declared)
    return f"{declared['margin']:g} {words}" if words else f"{declared['margin']:.2f}"


def short(judged: Mapping[str, Any]) -> str:
    """A judgement's difference and interval, `+50.0 [+33.0, +67.0]`; `unit` names what they are in.

    Args:
        judged: a judgement's plain data; its difference is known.
    """
    declared = judged["declaration"]
    low, high = (difference(limit, declared) for limit in judged["ci"])
    return f"{difference(judged['diff'], declared)} [{low}, {high}]"


def unit(declared: Mapping[str, Any]) -> str:
    """What a difference is in: percentage points, or the metric."""
    return metric(declared) or "pp"
