"""Two win rates estimated under a given difference: the core of every score interval for p_C - p_B."""

from __future__ import annotations

import math

_LARGE = 100_000  # total games from which the closed form loses digits that Newton keeps
_STEPS = 200
_THIRD = 1.0 / 3.0


def score_variance(x_c: int, n_c: int, x_b: int, n_b: int, delta: float) -> float:
    """The variance of the observed difference if the true difference were delta.

    In words: `p_C q_C / n_C + p_B q_B / n_B` at the maximum likelihood rates with p_C - p_B = delta. Those
    solve a cubic in the lower of the two rates; counting from the lower rate and, when most games are won,
    counting losses instead of wins, keeps every sum free of cancellation.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate.
        x_b: Wins of the baseline.
        n_b: Games of the baseline.
        delta: A difference inside [-1, 1].

    Returns:
        A variance in [0, 1/4/n_C + 1/4/n_B].

    Source: Miettinen and Nurminen (1985), appendix; Farrington and Manning (1990), Stat. Med. 9, 1447-1454.
    """
    if 2 * (x_c + x_b) > n_c + n_b:
        x_c, x_b, delta = n_c - x_c, n_b - x_b, -delta
    if delta >= 0.0:
        u = _lower_rate(x_b, n_b, x_c, n_c, delta)
        upper = u + delta
        return upper * (1.0 - upper) / n_c + u * (1.0 - u) / n_b
    u = _lower_rate(x_c, n_c, x_b, n_b, -delta)
    upper = u - delta
    return u * (1.0 - u) / n_c + upper * (1.0 - upper) / n_b


def _lower_rate(x: int, n: int, x_up: int, n_up: int, delta: float) -> float:
    """The rate u of the lower arm (x of n) when the other (x_up of n_up) has rate u + delta, delta >= 0.

    u is the only root inside [0, 1 - delta] of a cubic that is positive left of it.
    """
    total, wins = n + n_up, x + x_up
    a2 = (n_up + 2 * n) * delta - total - wins
    a1 = (n * delta - total - 2 * x) * delta + wins
    if x == 0:  # one root is 0, and the others may be so near that the closed form cannot tell them apart
        root = math.sqrt(max(a2 * a2 - 4.0 * total * a1, 0.0))
        return min(2.0 * a1 / (root - a2), 1.0 - delta) if a1 > 0.0 else 0.0
    a0 = x * delta * (1.0 - delta)
    bend = a2 / (3.0 * total)
    q = bend * bend * bend - bend * a1 / (2.0 * total) + a0 / (2.0 * total)
    r = math.sqrt(max(bend * bend - a1 / (3.0 * total), 0.0))
    if q < 0.0:
        r = -r
    cube = r * r * r
    ratio = q / cube if cube else 0.0
    angle = (math.pi + math.acos(max(-1.0, min(1.0, ratio)))) * _THIRD
    u = max(0.0, min(1.0 - delta, 2.0 * r * math.cos(angle) - bend))
    return u if total < _LARGE else _polish(u, 1.0 - delta, (float(total), a2, a1, a0))


def _polish(u: float, top: float, cubic: tuple[float, float, float, float]) -> float:
    """Newton's method on the cubic, kept inside a shrinking bracket; exact for tiny rates of huge arms."""
    a3, a2, a1, a0 = cubic
    left, right = 0.0, top
    for _ in range(_STEPS):
        value = ((a3 * u + a2) * u + a1) * u + a0
        if value > 0.0:
            left = u
        elif value < 0.0:
            right = u
        else:
            return u
        slope = (3.0 * a3 * u + 2.0 * a2) * u + a1
        point = u - value / slope if slope else left
        if not left < point < right:
            point = 0.5 * (left + right)
        if abs(point - u) <= 2e-16 * point:
            return point
        u = point
    return u
