"""Checks that a benchmark makes of itself while it runs: a number is shown only where they hold."""

from __future__ import annotations

import numpy as np

from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.ope.importance import Weighted
from pytest_evalharness.engines.ope.scoring import Scores, score
from pytest_evalharness.engines.ope.target import Target
from pytest_evalharness.errors import EvidenceContradicted

_CLOSE = 1e-9
_FAR = 5.0
"""Standard errors from 1 at which a mean weight says that the propensities are wrong."""
_DOUBTFUL = 3.0
_MOST_WEIGHT = 2.0
"""A mean weight beyond this is wrong beyond what heavy tails explain."""


def hold(calls: Calls, today: Scores, table: Target | None) -> list[str]:
    """Check the held-out side and the estimators on it.

    Args:
        calls: the held-out log.
        today: the scores of today's agent.
        table: some engine's table, to score a second time in another order of the calls.

    Returns:
        What is doubtful and no contradiction, in words.

    Raises:
        EvidenceContradicted: today's agent is not worth its calls' mean outcome, its weights do not average 1, the order of
            calls matters, or the propensities cannot be those of the agent that made the calls.
    """
    mean = float(calls.returns.mean())
    for name in ("pdwis", "wis", "pdis", *(("dm",) if calls.gamma == 1.0 else ())):
        worth = today.values[name]
        if worth is None or not np.isclose(worth, mean, rtol=_CLOSE, atol=_CLOSE):
            raise _contradicted(f"today's agent is worth {worth} a call by {name}, and its calls {mean}")
    if not np.isclose(today.mean_weight, 1.0, rtol=_CLOSE):
        raise _contradicted(f"the weights of today's agent average {today.mean_weight}, not 1")
    if table is not None:
        _same_in_reverse(calls, table)
    return _propensities(calls)


def _same_in_reverse(calls: Calls, table: Target) -> None:
    forward = score(calls, {"it": table}, resamples=0)["it"]
    turned = _reversed(calls)
    backward = score(turned, {"it": table}, resamples=0)["it"]
    for name, worth in forward.values.items():
        other = backward.values[name]
        if (worth is None) != (other is None) or (
            worth is not None and other is not None and not np.isclose(worth, other, rtol=1e-6, atol=1e-6)
        ):
            raise _contradicted(
                f"a table is worth {worth} by {name}, and {other} when the calls are read backwards"
            )


def _reversed(calls: Calls) -> Calls:
    """The same calls, last call first; states keep their positions."""
    lengths = np.bincount(calls.call)
    rows = np.concatenate(
        [np.arange(start, start + size) for start, size in zip(calls.first_row, lengths, strict=True)][::-1]
    )
    return Calls(
        calls.ids[::-1],
        calls.states,
        calls.moves,
        len(calls) - 1 - calls.call[rows],
        calls.step[rows],
        calls.state[rows],
        calls.move[rows],
        calls.reward[rows],
        calls.propensity[rows],
        calls.gamma,
    )


def _propensities(calls: Calls) -> list[str]:
    """A random agent's weights use every propensity, and average at most 1 where those are right (less by untried moves)."""
    weights = Weighted.of(calls, Target.random(calls)).final
    mean = float(weights.mean())
    error = float(weights.std(ddof=1)) / len(weights) ** 0.5 if len(weights) > 1 else 0.0
    above = (mean - 1.0) / error if error else 0.0
    said = f"a random agent's weights average {mean:.3g}, {above:.1f} standard errors above 1"
    if above > _FAR and mean > _MOST_WEIGHT:
        raise _contradicted(f"{said}: the propensities are not those of the agent that made the calls")
    return [f"{said}: the propensities may be wrong"] if above > _DOUBTFUL else []


def _contradicted(what: str) -> EvidenceContradicted:
    return EvidenceContradicted(
        f"the benchmark contradicts itself: {what}",
        not_done="no number of it is shown as a result",
        next_step="build the evidence again with evalharness engine evidence-build; if it stays, report this message",
    )
