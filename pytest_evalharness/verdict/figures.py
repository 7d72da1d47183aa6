"""Numbers as they are printed."""

from __future__ import annotations


def signed(value: float, digits: int) -> str:
    """A number with its sign, never "-0"."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def amount(value: float) -> str:
    """A difference in a metric's units, with its sign and four digits that count; never "-0"."""
    return f"{float(f'{value:.4g}') + 0.0:+.4g}"


def plain_amount(value: float) -> str:
    """A number in a metric's units."""
    return f"{value + 0.0:.4g}"
