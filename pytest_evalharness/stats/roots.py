"""One root of a continuous function inside a bracket."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_EVALUATIONS = 200


def illinois(
    function: Callable[[float], float],
    left: tuple[float, float],
    right: tuple[float, float],
    tolerance: float,
) -> float:
    """The root between left and right by the Illinois variant of false position.

    Args:
        function: Continuous on [left, right].
        left: One end and the function there.
        right: The other end and the function there; the two values differ in sign, or one of them is 0.
        tolerance: A step or bracket this small ends the search.

    Returns:
        A point within a few tolerances of a root.

    Source: Dowell and Jarratt (1971), BIT 11, 168-174.
    """
    (a, f_a), (b, f_b) = left, right
    if f_a == 0.0:
        return a
    for _ in range(_EVALUATIONS):
        if f_b == 0.0:
            return b
        step = f_b * (a - b) / (f_b - f_a)
        point = b + step
        if not (a < point < b or b < point < a):
            return a if abs(f_a) < abs(f_b) else b  # it rounds to an end
        value = function(point)
        if (value > 0.0) == (f_b > 0.0):
            f_a *= 0.5  # the same end was kept twice: weigh it down, or it never moves
        else:
            a, f_a = b, f_b
        b, f_b = point, value
        if -tolerance <= step <= tolerance:
            break
    return b


def limit_below(excess: Callable[[float], float], estimate: float, start: float) -> float:
    """The lower confidence limit of an inverted test: the root of `excess` in [-1, estimate).

    In words: bracket the root from a first guess, in steps that grow, then `illinois` to rounding.

    Args:
        excess: Positive left of the limit and negative between it and the estimate; finite from -1 on.
        estimate: The observed difference, above -1.
        start: A guess in [-1, estimate).
    """
    left = right = start
    value_left = value_right = excess(start)
    part = 0.05
    while value_right > 0.0:
        left, value_left = right, value_right
        right = left + min(part, 0.9) * (estimate - left)
        value_right = excess(right)
        part *= 4.0
    while value_left < 0.0:
        right, value_right = left, value_left
        left = max(right - part * (estimate - right), -1.0)
        value_left = excess(left)
        part *= 4.0
    scale = 2e-16 * max(abs(estimate), abs(start))
    return illinois(excess, (left, value_left), (right, value_right), scale)
