"""Every estimate of every policy on one log, with the resamples behind its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from pytest_evalharness.engines.ope.calls import NONE, Calls, Floats
from pytest_evalharness.engines.ope.fqe import Evaluation, Fitted
from pytest_evalharness.engines.ope.importance import Weighted
from pytest_evalharness.engines.ope.resampling import counts, interval
from pytest_evalharness.engines.ope.tally import Cells, Tally
from pytest_evalharness.engines.ope.target import Target
from pytest_evalharness.engines.ope.wdr import Corrections

WEIGHTED = ("pdwis", "wis", "pdis")
"""The estimators that read weights alone."""
ESTIMATORS = (*WEIGHTED, "dm", "dr")

Progress = Callable[[int, int], None]
"""Called with (resamples done, of how many)."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What one policy is worth on a log, in the outcomes' own units a call.

    Attributes:
        values: of each estimator in `ESTIMATORS`, or in `WEIGHTED` where no model was asked for; None where it has none.
        draws: the resampled values, nan where there is none (B each).
        ess: Kong's effective sample size, in calls.
        matched: calls that the policy does not contradict.
        mean_weight: near 1 where the propensities are right.
        guessed: the share of decisions for which the model has only a guess, because the log never tried the policy's move.
        unterminated: the share of calls from whose first state the model finds no end of a call under the policy.
        model_only: no call has any weight, not even at the first step, so that `dr` is `dm`.
        fitted: the model behind `dm`, at the log itself; None where no model was asked for.
    """

    values: Mapping[str, float | None]
    draws: Mapping[str, Floats]
    ess: float
    matched: int
    mean_weight: float
    guessed: float
    unterminated: float
    model_only: bool
    fitted: Fitted | None

    def interval(self, estimator: str, level: float = 0.95) -> tuple[float, float] | None:
        """The percentile interval of one estimate."""
        return interval(self.draws[estimator], level)

    def lift(self, estimator: str, over: Scores) -> float | None:
        """The difference from another policy's estimate."""
        mine, theirs = self.values[estimator], over.values[estimator]
        return None if mine is None or theirs is None else mine - theirs

    def lifts(self, estimator: str, over: Scores) -> Floats:
        """The resampled differences; both sides were scored on the same resamples (B)."""
        return self.draws[estimator] - over.draws[estimator]


class _Scored:
    """One policy while its resamples are gathered."""

    def __init__(self, cells: Cells, target: Target, *, modelled: bool) -> None:
        self._target = target
        self._cells = cells
        self._weighted = Weighted.of(cells.calls, target)
        self._evaluation = Evaluation(cells, target) if modelled else None
        self._corrections = Corrections(cells, self._weighted) if modelled else None
        self._gathered: dict[str, list[Floats]] = {}

    def _score(self, drawn: Floats, tally: Tally) -> tuple[dict[str, Floats], Fitted | None]:
        weighted, drew = self._weighted, drawn.sum(axis=0)
        sums = weighted.sums(drawn)
        found = {
            "pdwis": weighted.pdwis(sums),
            "wis": weighted.wis(sums),
            "pdis": weighted.pdis(sums, drew),
        }
        if self._evaluation is None or self._corrections is None:
            return found, None
        fitted = self._evaluation.fit(tally)
        return {**found, "dm": fitted.dm, "dr": self._corrections.wdr(drawn, sums, fitted)}, fitted

    def gather(self, drawn: Floats, tally: Tally) -> None:
        for name, values in self._score(drawn, tally)[0].items():
            self._gathered.setdefault(name, []).append(values)

    def done(self, drawn: Floats, tally: Tally) -> Scores:
        point, fitted = self._score(drawn, tally)
        weighted = self._weighted
        return Scores(
            values={name: _finite(float(value[0])) for name, value in point.items()},
            draws={name: np.concatenate([np.empty(0), *self._gathered.get(name, [])]) for name in point},
            ess=weighted.effective,
            matched=weighted.matched,
            mean_weight=weighted.mean,
            guessed=self._guessed(),
            unterminated=float(fitted.unterminated[0]) if fitted is not None else 0.0,
            model_only=not weighted.weights[:, 0].any(),
            fitted=fitted,
        )

    def _guessed(self) -> float:
        calls, at = self._cells.calls, self._cells.at
        if self._target.uniform:
            return float((at[calls.state] == NONE).mean())
        chosen = self._target.choice[calls.state]
        return float(((chosen != NONE) & (at[calls.state, chosen] == NONE)).mean())


def score(
    calls: Calls,
    targets: Mapping[str, Target],
    *,
    weighed: Mapping[str, Target] | None = None,
    resamples: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Scores]:
    """Score policies on a log, each by every estimator, with shared resamples.

    In every resample the denominators are recomputed and the model is fitted again; normalising once and resampling
    the terms, as several libraries do, gives intervals for another quantity.

    Args:
        calls: the log.
        targets: the policies, by name.
        weighed: further ones, scored by `WEIGHTED` alone, which costs a tenth.
        resamples: how many bootstrap resamples, B.
        seed: of the resamples.
        progress: told how many of them are done.
    """
    # The products are thin, and several of them run at once under workers: threads of their own would only wait for cores.
    with threadpool_limits(1, "blas"):
        cells = Cells.of(calls)
        scored = {name: _Scored(cells, target, modelled=True) for name, target in targets.items()}
        scored |= {name: _Scored(cells, target, modelled=False) for name, target in (weighed or {}).items()}
        done = 0
        for drawn in counts(len(calls), resamples, seed):
            tally = cells.tally(drawn)
            for one in scored.values():
                one.gather(drawn, tally)
            done += drawn.shape[1]
            if progress is not None:
                progress(done, resamples)
        all_once = np.ones((len(calls), 1))
        tally = cells.tally(all_once)
        return {name: one.done(all_once, tally) for name, one in scored.items()}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
