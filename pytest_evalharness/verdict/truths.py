"""What may be true of a candidate that is planned for: the rates that a claim and its target lift speak of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from pytest_evalharness.stats.inputs import level
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Claim

_ROUNDING = 1e-9


class Effect(NamedTuple):
    """A true effect.

    Attributes:
        words: The effect for people, without an article: "lift of 0.10".
        rate: The candidate's true win rate with it, in [0, 1].
    """

    words: str
    rate: float


def lift(wanted: float, base: float) -> Effect:
    """The candidate wins that much more often; or always, if there is no room for more, and then it says so."""
    return Effect(_words("lift", wanted, 1.0 - base, base), min(base + wanted, 1.0))


def loss(wanted: float, base: float) -> Effect:
    """The candidate wins that much less often; or never, if there is no room for more, and then it says so."""
    return Effect(_words("loss", wanted, base, base), max(base - wanted, 0.0))


def target(declaration: Declaration, base: float) -> Effect:
    """The effect that a plan is made to see: the target lift, or for `not_worse` a loss of that size."""
    towards = loss if declaration.claim is Claim.NOT_WORSE else lift
    return towards(declaration.target_lift, base)


def truths(declaration: Declaration, base: float) -> Iterator[tuple[str, float]]:
    """Words and rate of each truth: nothing changed, what the claim rules out, what a plan hopes for."""
    yield "no effect", base
    if declaration.claim.needs_margin and declaration.margin is not None:
        yield _truth(loss(declaration.margin, base))
    elif declaration.claim is Claim.NOT_WORSE:
        yield _truth(loss(declaration.target_lift, base))
    yield _truth(lift(declaration.target_lift, base))


def require_possible(declaration: Declaration, base: float) -> None:
    """Refuse an effect that the claim is about and that no candidate can have.

    Claims with a margin are planned for a candidate that changed nothing, which is always possible.

    Args:
        declaration: The claim and its target lift.
        base: The baseline's true win rate, inside (0, 1).

    Raises:
        ValueError: The baseline's rate is invalid, or the candidate's would be below 0 or above 1.
    """
    base, wanted = level(base, "base"), declaration.target_lift
    if declaration.claim.needs_margin:
        return
    down = declaration.claim is Claim.NOT_WORSE
    rate = base - wanted if down else base + wanted
    if not -_ROUNDING <= rate <= 1.0 + _ROUNDING:
        raise ValueError(
            f"a {'loss' if down else 'lift'} of {wanted:g} from a rate of {base:g} is not possible: "
            f"the rate would be {rate:g}"
        )


def possible_correlation(p_cand: float, p_base: float, correlation: float) -> float:
    """The correlation that pairs of games with these true win rates are counted with.

    In words: at most `(min(p_C, p_B) - p_C p_B) / sqrt(p_C q_C p_B q_B)`, where the weaker arm wins only what the
    stronger one does; 0 where one of them never varies. `stats.paired_power.pair_rates` lowers it to the same.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        correlation: The wanted within-pair correlation in [0, 1).
    """
    spread = math.sqrt(p_cand * (1.0 - p_cand) * p_base * (1.0 - p_base))
    if spread == 0.0:
        return 0.0
    most = (min(p_cand, p_base) - p_cand * p_base) / spread
    return correlation if correlation <= most + _ROUNDING else most


def _truth(effect: Effect) -> tuple[str, float]:
    return f"a true {effect.words}", effect.rate


def _words(kind: str, wanted: float, most: float, base: float) -> str:
    if wanted <= most + _ROUNDING:
        return f"{kind} of {_told(wanted)}"
    return f"{kind} of {_told(most)} (the most there can be from {base:g})"


def _told(value: float) -> str:
    """Two decimals, or two digits of what would read as nothing."""
    return f"{value:.2f}" if round(value, 2) else f"{value:.2g}"
