"""Importance sampling: calls weighted by how much likelier the scored policy makes what was done in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from pytest_evalharness.engines.ope.calls import Calls, Floats, Ints
from pytest_evalharness.engines.ope.target import Target


@dataclass(frozen=True, eq=False)
class Sums:
    """A policy's weights, summed over the calls of b resamples.

    Attributes:
        weight: sum over i of W_it (H, b).
        earned: sum over i of W_it x_it (H, b).
        whole: sum over i of W_i G_i, W_i being the weight that a call ends with (b).
        stepwise: sum over i and t of gamma^t W_it x_it (b).
    """

    weight: Floats
    earned: Floats
    whole: Floats
    stepwise: Floats


@dataclass(frozen=True, eq=False)
class Weighted:
    """A policy's weights on a log.

    Attributes:
        calls: the log.
        weights: W_it (n, H).
    """

    calls: Calls
    weights: Floats

    @classmethod
    def of(cls, calls: Calls, target: Target) -> Self:
        """A policy's weights on a log."""
        return cls(calls, target.weights(calls))

    @property
    def final(self) -> Floats:
        """The weight that each call ends with (n)."""
        return self.weights[:, -1]

    @cached_property
    def _columns(self) -> tuple[Ints, Floats]:
        """What is summed, side by side, so that counts are read once; of the calls that have any weight (n', 2H + 2).

        A call that a table contradicts at its first turn adds to nothing, and those are most.
        """
        calls = self.calls
        earned = self.weights * calls.padded(calls.reward, 0.0)
        columns = np.column_stack([
            self.weights, earned, self.final * calls.returns, earned @ calls.discounts
        ])  # fmt: skip
        some = np.flatnonzero(self.weights[:, 0])
        return some, np.ascontiguousarray(columns[some].T)

    def sums(self, counts: Floats) -> Sums:
        """Sum over resamples.

        Args:
            counts: how often each call counts in each resample (n, b).
        """
        some, columns = self._columns
        horizon = self.calls.horizon
        told = columns @ (counts if len(some) == len(counts) else counts[some])
        return Sums(told[:horizon], told[horizon : 2 * horizon], told[-2], told[-1])

    def pdwis(self, sums: Sums) -> Floats:
        """Per-decision weighted importance sampling, each step with its own denominator (b).

        sum over t of gamma^t (sum_i W_it x_it) / (sum_i W_it): the consistent form that Thomas (2015, thesis) calls
        CWPDIS. The one of Precup, Sutton and Singh (2000), which divides once, is not on the scale of a return.

        Args:
            sums: of the resamples; numerators and denominators follow the draws.

        Returns:
            The value in each resample, nan where no call has weight: no overlap is no score, and not 0.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = sums.earned / sums.weight
        scored: Floats = self.calls.discounts @ steps
        return scored

    def pdis(self, sums: Sums, drawn: Floats) -> Floats:
        """Per-decision importance sampling, sum of gamma^t W_it x_it over the number of calls (b): unbiased, unbounded.

        Args:
            sums: of the resamples.
            drawn: how many calls each resample drew (b).
        """
        return sums.stepwise / drawn

    def wis(self, sums: Sums) -> Floats:
        """Weighted importance sampling of whole calls, sum W_i G_i over sum W_i (b): within the range of the returns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            scored: Floats = sums.whole / sums.weight[-1]
        return scored

    @property
    def effective(self) -> float:
        """Kong's (1992) effective sample size, (sum W)^2 / sum W^2 of the final weights, in calls; 0 where all are 0."""
        total = float(self.final.sum())
        return total * total / float(self.final @ self.final) if total > 0.0 else 0.0

    @property
    def matched(self) -> int:
        """Calls that the policy does not contradict."""
        return int(np.count_nonzero(self.final))

    @property
    def mean(self) -> float:
        """The mean final weight. Near 1 where the propensities are right, whatever the policy."""
        return float(self.final.mean())
