"""Importance sampling: calls weighted by how much likelier the scored policy makes what was done in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pytest_evalharness.engines.ope.calls import Calls, Floats
from pytest_evalharness.engines.ope.target import Target


@dataclass(frozen=True, eq=False)
class Weighted:
    """A policy's weights on a log.

    Attributes:
        calls: the log.
        weights: W_it (n, H).
        earned: W_it x_it (n, H).
    """

    calls: Calls
    weights: Floats
    earned: Floats

    @classmethod
    def of(cls, calls: Calls, target: Target) -> Self:
        """A policy's weights on a log."""
        weights = target.weights(calls)
        return cls(calls, weights, weights * calls.padded(calls.reward, 0.0))

    @property
    def final(self) -> Floats:
        """The weight that each call ends with (n)."""
        return self.weights[:, -1]

    def pdwis(self, counts: Floats) -> Floats:
        """Per-decision weighted importance sampling, each step with its own denominator (b).

        sum over t of gamma^t (sum_i W_it x_it) / (sum_i W_it): the consistent form that Thomas (2015, thesis) calls
        CWPDIS. The one of Precup, Sutton and Singh (2000), which divides once, is not on the scale of a return.

        Args:
            counts: how often each call counts in each resample (n, b); numerators and denominators follow.

        Returns:
            The value in each resample, nan where no call has weight: no overlap is no score, and not 0.
        """
        totals = self.weights.T @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = (self.earned.T @ counts) / totals
        scored: Floats = self.calls.discounts @ steps
        return scored

    def pdis(self, counts: Floats) -> Floats:
        """Per-decision importance sampling, sum of gamma^t W_it x_it over the number of calls (b): unbiased, unbounded."""
        scored: Floats = (self.earned @ self.calls.discounts) @ counts / counts.sum(axis=0)
        return scored

    def wis(self, counts: Floats) -> Floats:
        """Weighted importance sampling of whole calls, sum W_i G_i over sum W_i (b): within the range of the returns."""
        totals = self.final @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            scored: Floats = (self.final * self.calls.returns) @ counts / totals
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
