"""What does a design with several looks do? Its chances of either answer, and the games it takes, before it starts.

Two independent arms advance together, or pairs come in one by one. Whatever depends on the counts alone is
enumerated: the probability of every table that no look has stopped at is carried from look to look.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from pytest_evalharness.stats.enumeration import binomial, winning_counts
from pytest_evalharness.stats.group_sequential import group_sequential_bounds
from pytest_evalharness.stats.inputs import count, level, proportion
from pytest_evalharness.stats.paired_power import pair_rates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex

    from numpy import float64, signedinteger
    from numpy.typing import NDArray

    from pytest_evalharness.stats.enumeration import RuleName
    from pytest_evalharness.stats.group_sequential import Spending

    Crosses = Callable[[int, int], NDArray[signedinteger]]


class Design(NamedTuple):
    """How a design with looks behaves at given true rates.

    Attributes:
        better: Probability that a look decides for the candidate.
        worse: Probability that a look decides for the baseline.
        stop: For each look the probability that it is the last one; what no look decides ends at the last.
        expected_games: Mean number of games per arm (or of pairs) when the design ends.
    """

    better: float
    worse: float
    stop: tuple[float, ...]
    expected_games: float


class Simulated(NamedTuple):
    """How a design behaves by simulation.

    Attributes:
        better: Share of the paths that decide for the candidate.
        worse: Share of the paths that decide for the baseline.
        standard_error: The larger one of those two shares.
    """

    better: float
    worse: float
    standard_error: float


def look_power(p_cand: float, p_base: float, looks: Sequence[SupportsIndex], crosses: Crosses) -> Design:
    """The exact chances of any rule that looks at the wins of two independent arms.

    In words: the probabilities of the tables not yet decided, moved on by the games between two looks, minus what
    each look decides. Imports numpy when called.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        looks: Games per arm at each look, increasing, at least 1.
        crosses: Called with the index of a look and its games n; gives (n + 1, n + 1) whole numbers, at
            [x_c, x_b] +1 where the look decides for the candidate, -1 for the baseline, 0 where it goes on.

    Raises:
        ValueError: A value is invalid, or there are no looks, or they do not increase.

    Source: Armitage, McPherson and Rowe (1969), J. R. Stat. Soc. A 132, 235-244.
    """
    import numpy as np

    p_c, p_b = proportion(p_cand, "p_cand"), proportion(p_base, "p_base")
    games = _increasing(looks)
    undecided = np.ones((1, 1))
    decided: list[tuple[float, float]] = []
    for index, (before, now) in enumerate(pairwise((0, *games))):
        undecided = _moves(before, now, p_c) @ undecided @ _moves(before, now, p_b).T
        decided.append(_taken(undecided, crosses(index, now)))
    return _design(games, decided)


def group_sequential_power(
    p_cand: float,
    p_base: float,
    looks: Sequence[SupportsIndex],
    *,
    alpha: float = 0.05,
    spending: Spending = "obrien_fleming",
) -> Design:
    """The exact chances of the score test at planned looks, against the bounds of `group_sequential_bounds`.

    In words: a look at n_k of n_K games decides where the size of `difference.score_z` reaches the bound of
    information n_k / n_K at alpha/2 on either side. Imports numpy and scipy.special when called.

    When to use it: to choose between one look and several. With looks at 30, 60 and 100 games an arm, a rate of
    .5 and a lift of .2 it keeps the power of one look at 100 (.83) and takes 87 games.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        looks: Games per arm at each look, increasing, at least 1.
        alpha: Two-sided level of all looks together.
        spending: "obrien_fleming" or "pocock".

    Raises:
        ValueError: A value is invalid, or there are no looks, or they do not increase.

    Source: Lan and DeMets (1983), Biometrika 70, 659-663.
    """
    import numpy as np

    from pytest_evalharness.stats.arrays import score_z

    games = _increasing(looks)
    bounds = group_sequential_bounds([n / games[-1] for n in games], 0.5 * level(alpha), spending)

    def crosses(index: int, n: int) -> NDArray[signedinteger]:
        wins = np.arange(n + 1)
        z = score_z(wins[:, None], n, wins[None, :], n)
        return (z >= bounds[index]).astype(np.int8) - (z <= -bounds[index])

    return look_power(p_cand, p_base, games, crosses)


def peeking_power(
    p_cand: float,
    p_base: float,
    looks: Sequence[SupportsIndex],
    *,
    rule: RuleName = "score",
    alpha: float = 0.05,
) -> Design:
    """The exact chances of a rule for one look that is asked at every look and believed as soon as it decides.

    When to use it: to see what peeking does. With equal rates of .5 and a look at every game from 8 to 100 the score
    rule decides in 29 % of all runs, the overlap rule in 5 %. Imports numpy when called.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        looks: Games per arm at each look, increasing, at least 1.
        rule: "score", "overlap", "newcombe" or "exact", as in `enumeration.winning_counts`.
        alpha: The level of the rule at each look.

    Raises:
        ValueError: A value is invalid, or there are no looks, or they do not increase.
    """
    import numpy as np

    def crosses(_: int, n: int) -> NDArray[signedinteger]:
        up, wins = np.array(winning_counts(n, n, rule, alpha)), np.arange(n + 1)
        better = wins[:, None] >= up[None, :]
        # The mirror image counts losses: turning both axes round swaps wins and losses.
        return better.astype(np.int8) - better[::-1, ::-1]

    return look_power(p_cand, p_base, looks, crosses)


def overlap_power(
    p_cand: float, p_base: float, looks: Sequence[SupportsIndex], alpha: float = 0.05
) -> Design:
    """`peeking_power` of the rule "the two Wilson intervals do not overlap", which bears being looked at often."""
    return peeking_power(p_cand, p_base, looks, rule="overlap", alpha=alpha)


def evalue_power(
    p_cand: float,
    p_base: float,
    correlation: float,
    n: SupportsIndex,
    *,
    alpha: float = 0.05,
    every: SupportsIndex = 1,
) -> Design:
    """The exact chances of the sequential McNemar e-value of pairs, looked at while they come in.

    In words: a look decides, for the arm that won more of the pairs that differ, where
    `sequential.mcnemar_log_e` reaches log(1/alpha). Imports numpy when called.

    When to use it: before watching pairs without planned looks. For a rate of .5 and a lift of .2 it finds about
    half of all differences within 100 pairs, where planned looks find more than four fifths.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        correlation: Within-pair correlation phi in [0, 1), as in `paired_power.pair_rates`.
        n: The most pairs, at least 1.
        alpha: The level, valid at all looks together however many there are.
        every: Pairs from one look to the next, at least 1; the last look is at n.

    Raises:
        ValueError: A value is invalid.

    Source: Grunwald, de Heide and Koolen (2024), J. R. Stat. Soc. B 86.
    """
    import numpy as np

    only_c, only_b = pair_rates(p_cand, p_base, correlation)
    bar = -math.log(level(alpha))
    most, step = _at_least_1(n, "n"), _at_least_1(every, "every")
    looks = [*range(step, most, step), most]
    ahead = np.arange(most + 1)[:, None] - np.arange(most + 1)[None, :]
    directions = np.where(_log_e_values(most) >= bar, np.sign(ahead), 0)
    neither = max(0.0, 1.0 - only_c - only_b)
    undecided = np.zeros((most + 1, most + 1))
    undecided[0, 0] = 1.0
    decided = []
    for before, now in pairwise((0, *looks)):
        for _ in range(now - before):
            moved = neither * undecided
            moved[1:] += only_c * undecided[:-1]
            moved[:, 1:] += only_b * undecided[:, :-1]
            undecided = moved
        decided.append(_taken(undecided, directions))
    return _design(looks, decided)


def betting_power(
    p_cand: float,
    p_base: float,
    n: SupportsIndex,
    *,
    alpha: float = 0.05,
    paths: SupportsIndex = 20_000,
    seed: int = 0,
) -> Simulated:
    """The chances of hedged betting on unpaired games, looked at after every turn; by simulation.

    In words: `sequential.betting_log_capital` of many random runs; the gambler who first reaches log(2/alpha)
    decides. The stakes depend on the order in which wins came, not on how many there were, so there are 4^n
    histories where a rule of counts has n^2 tables: they are sampled, with the same random numbers for the same
    seed. Imports numpy when called.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        n: The most games per arm, at least 1.
        alpha: The level.
        paths: Number of simulated runs, at least 1.
        seed: Of the random numbers.

    Raises:
        ValueError: A value is invalid.

    Source: Waudby-Smith and Ramdas (2024), J. R. Stat. Soc. B 86, 1-27.
    """
    import numpy as np

    p_c, p_b = proportion(p_cand, "p_cand"), proportion(p_base, "p_base")
    most, runs = _at_least_1(n, "n"), _at_least_1(paths, "paths")
    bar = math.log(2.0 / level(alpha))
    random = np.random.default_rng(seed)
    total, squares = np.full(runs, 0.5), np.full(runs, 0.25)
    up, down, towards = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    for turn in range(1, most + 1):
        won_c, won_b = random.random(runs) < p_c, random.random(runs) < p_b
        y = 0.5 + 0.5 * (won_c.astype(float) - won_b)
        stake = np.minimum(1.0, np.sqrt(2.0 * bar / (squares * math.log(turn + 1.0))))
        up += np.log1p(stake * (y - 0.5))
        down += np.log1p(-stake * (y - 0.5))
        towards = np.where(towards != 0.0, towards, (up >= bar) * 1.0 - (down >= bar))
        total += y
        squares += (y - total / (turn + 1)) ** 2
    shares = float((towards > 0.0).mean()), float((towards < 0.0).mean())
    return Simulated(*shares, max(math.sqrt(share * (1.0 - share) / runs) for share in shares))


def _increasing(looks: Sequence[SupportsIndex]) -> list[int]:
    games = [count(n, "looks") for n in looks]
    if not games or any(now <= before for before, now in pairwise((0, *games))):
        raise ValueError(f"looks must be games that increase from at least 1, got {games!r}")
    return games


def _at_least_1(value: SupportsIndex, name: str) -> int:
    whole = count(value, name)
    if whole == 0:
        raise ValueError(f"{name} must be at least 1, got 0")
    return whole


def _moves(before: int, now: int, p: float) -> NDArray[float64]:
    """The probability of each number of wins 0..now for each number of wins 0..before."""
    import numpy as np

    masses = np.array([*binomial(now - before, p), 0.0])
    more = np.arange(now + 1)[:, None] - np.arange(before + 1)[None, :]
    more[(more < 0) | (more > now - before)] = now - before + 1  # where the last, empty entry is
    moves: NDArray[float64] = masses[more]
    return moves


def _taken(undecided: NDArray[float64], directions: NDArray[signedinteger]) -> tuple[float, float]:
    """What a look decides either way, taken out of the tables."""
    shares = float(undecided[directions > 0].sum()), float(undecided[directions < 0].sum())
    undecided[directions != 0] = 0.0
    return shares


def _design(games: Sequence[int], decided: Sequence[tuple[float, float]]) -> Design:
    stop = [better + worse for better, worse in decided]
    stop[-1] = max(0.0, 1.0 - math.fsum(stop[:-1]))
    return Design(
        better=min(1.0, math.fsum(better for better, _ in decided)),
        worse=min(1.0, math.fsum(worse for _, worse in decided)),
        stop=tuple(stop),
        expected_games=math.fsum(share * n for share, n in zip(stop, games, strict=True)),
    )


def _log_e_values(n: int) -> NDArray[float64]:
    """`sequential.mcnemar_log_e` of every table of up to n pairs of each differing kind, digit for digit."""
    import numpy as np

    from pytest_evalharness.stats.sequential import mcnemar_log_e

    values = np.zeros((n + 1, n + 1))
    for b in range(n + 1):
        for c in range(min(b, n - b) + 1):
            values[b, c] = values[c, b] = mcnemar_log_e(b, c)
    return values
