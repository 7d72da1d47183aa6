"""What is left of several p-values when all of them were asked for? Adjustments for a family of tests."""

from __future__ import annotations

from pytest_evalharness.stats.inputs import proportion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def holm(p_values: Iterable[float]) -> list[float]:
    """Holm's adjusted p-values, which bound the chance of any false alarm in the family.

    In words: with the m p-values sorted upwards, the j-th is multiplied by m - j + 1, never falls below the one
    before it, and is at most 1. Compare them with alpha as they are.

    When to use it: for the cases that together gate one session.

    Args:
        p_values: Any number of p-values in [0, 1].

    Returns:
        As many adjusted values in [0, 1], in the order given.

    Raises:
        ValueError: A p-value is no number in [0, 1]; the message has its position.

    Source: Holm (1979), Scand. J. Stat. 6, 65-70.
    """
    values = _checked(p_values)
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = running
    return adjusted


def benjamini_hochberg(p_values: Iterable[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, which bound the expected share of false alarms.

    In words: with the m p-values sorted upwards, the j-th is multiplied by m / j and never exceeds the one after
    it.

    When to use it: for lists that are explored, not for a gate. Arguments, range and errors as `holm`.

    Source: Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    values = _checked(p_values)
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    running = 1.0
    for rank in range(len(values), 0, -1):
        index = order[rank - 1]
        running = min(running, values[index] * (len(values) / rank))
        adjusted[index] = running
    return adjusted


def _checked(p_values: Iterable[float]) -> list[float]:
    values = list(p_values)
    for number, p in enumerate(values, start=1):
        if type(p) is not float or not 0.0 <= p <= 1.0:
            values[number - 1] = proportion(p, f"p-value {number}")
    return values
