"""Means over rollouts and tasks, their standard errors and intervals. Pure.

The composite is the unweighted mean over tasks; its standard error is `sqrt(sum of the tasks' squared standard errors) / T`,
which ignores the noise of the baselines. The published 95 % interval is 1.96 of these; with five rollouts a t interval is 1.42
times as wide.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.student import t_critical

ALPHA = 0.05


@dataclass(frozen=True)
class Estimate:
    """A mean over rollouts.

    Attributes:
        mean: in the unit of what was averaged.
        se: the sample standard deviation over the root of n; None for one rollout, where the leaderboard prints 0.
        n: rollouts.
    """

    mean: float
    se: float | None
    n: int


@dataclass(frozen=True)
class Composite:
    """A mean over tasks.

    Attributes:
        mean: of the tasks' means, unweighted.
        se: its standard error over rollouts; None if a task has one rollout only.
        tasks: how many tasks it is over.
        z: the 95 % interval as it is published.
        t: the 95 % interval with the degrees of freedom of the task with the fewest rollouts.
    """

    mean: float
    se: float | None
    tasks: int
    z: tuple[float, float] | None
    t: tuple[float, float] | None


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of some rollouts, None of none."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(mean, None, 1)
    return Estimate(mean, statistics.stdev(values, mean) / math.sqrt(len(values)), len(values))


def composite(tasks: Mapping[str, Estimate | None]) -> Composite | None:
    """The mean over the tasks that have a value, None if none has."""
    told = [one for one in tasks.values() if one is not None]
    if not told:
        return None
    mean = math.fsum(one.mean for one in told) / len(told)
    errors = [one.se for one in told if one.se is not None]
    if len(errors) < len(told):
        return Composite(mean, None, len(told), None, None)
    se = math.sqrt(math.fsum(error * error for error in errors)) / len(told)
    z, t = critical(ALPHA) * se, t_critical(ALPHA, min(one.n for one in told) - 1) * se
    return Composite(mean, se, len(told), (mean - z, mean + z), (mean - t, mean + t))
