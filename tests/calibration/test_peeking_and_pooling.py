"""Looking again, running again and pooling: what the reference simulated, within three standard errors of both.

Looks that advance both arms together are enumerated in `unit/stats/test_sequential_power.py`. Here are the rest: arms
that advance at random, fresh runs, and several configurations of 30 games an arm. The reference does not name the base
rates of its configurations; of the sets tried, the ones below give all its numbers at once.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from pytest_evalharness.stats import arrays, normal, pooled, power, student

pytestmark = pytest.mark.slow

RUNS = 100_000
GAMES = 30
Z = normal.critical(0.05)
CONFIGURATIONS = (0.3, 0.5, 0.4, 0.6, 0.5, 0.7)  # the first two, four and six of them
ALIKE = (0.5, 0.5, 0.5, 0.5)


def margin(share):
    """Rounding, and three standard errors of the difference of two simulations of this size."""
    return 5e-4 + 3 * math.sqrt(2 * share * (1 - share) / RUNS)


def simulated(share):
    return pytest.approx(share, abs=margin(share))


class Strata(NamedTuple):
    """Arrays of (configurations, runs)."""

    x_c: np.ndarray
    n_c: np.ndarray
    x_b: np.ndarray
    n_b: np.ndarray


def played(rates_c, games_c, rates_b, games_b, seed):
    random = np.random.default_rng(seed)
    columns = [
        np.asarray(values).reshape(len(rates_b), -1) for values in (rates_c, games_c, rates_b, games_b)
    ]
    p_c, n_c, p_b, n_b = (np.broadcast_to(column, (len(rates_b), RUNS)) for column in columns)
    return Strata(random.binomial(n_c, p_c), n_c, random.binomial(n_b, p_b), n_b)


@cache
def configurations(count, lift, seed=3):
    bases = np.array(CONFIGURATIONS[:count])
    return played(bases + lift, [GAMES] * count, bases, [GAMES] * count, seed)


@cache
def differing_effects(mean, seed=4):
    """Four configurations whose effects are normal with a standard deviation of .15."""
    effects = np.random.default_rng(seed).normal(mean, 0.15, size=(4, RUNS))
    return played(np.clip(0.5 + effects, 0.0, 1.0), [GAMES] * 4, ALIKE, [GAMES] * 4, seed + 1)


def towards(low, high):
    return (low > 0).astype(int) - (high < 0)


# `stats.pooled` of all runs at once; the first test holds each function against its original.


def cmh(strata):
    x_c, n_c, x_b, n_b = (column.astype(float) for column in strata)
    total, wins = n_c + n_b, x_c + x_b
    excess = ((x_c * n_b - x_b * n_c) / total).sum(axis=0)
    variance = (n_c * n_b * wins * (total - wins) / (total**2 * (total - 1))).sum(axis=0)
    z = np.divide(excess, np.sqrt(variance), out=np.zeros_like(excess), where=variance > 0)
    return np.where(np.abs(z) > Z, np.sign(z), 0)


def effects(strata):
    x_c, n_c, x_b, n_b = strata
    p_c, p_b = (x_c + 0.5) / (n_c + 1), (x_b + 0.5) / (n_b + 1)
    return x_c / n_c - x_b / n_b, p_c * (1 - p_c) / n_c + p_b * (1 - p_b) / n_b


def average(strata, tau_squared):
    d, v = effects(strata)
    weights = 1 / (v + tau_squared)
    return (weights * d).sum(axis=0) / weights.sum(axis=0), weights


def fixed_effect(strata):
    middle, weights = average(strata, 0.0)
    half = Z / np.sqrt(weights.sum(axis=0))
    return towards(middle - half, middle + half)


def between(strata):
    """DerSimonian and Laird's variance between configurations."""
    middle, weights = average(strata, 0.0)
    q = (weights * (effects(strata)[0] - middle) ** 2).sum(axis=0)
    total = weights.sum(axis=0)
    return np.maximum((q - len(weights) + 1) / (total - (weights**2).sum(axis=0) / total), 0.0)


def random_effects(strata):
    middle, weights = average(strata, between(strata))
    half = Z / np.sqrt(weights.sum(axis=0))
    return towards(middle - half, middle + half)


def hksj(strata):
    middle, weights = average(strata, between(strata))
    spread = (weights * (effects(strata)[0] - middle) ** 2).sum(axis=0)
    error = np.sqrt(spread / ((len(weights) - 1) * weights.sum(axis=0)))
    half = student.t_critical(0.05, len(weights) - 1) * error
    return towards(middle - half, middle + half)


def wilson_at(x, n, z):
    middle, half = x + z * z / 2, z * np.sqrt(x * (n - x) / n + z * z / 4)
    return (middle - half) / (n + z * z), (middle + half) / (n + z * z)


def yan_su(strata):
    x_c, n_c, x_b, n_b = strata
    weights = n_c * n_b / (n_c + n_b)
    weights = weights / weights.sum(axis=0)
    limits = []
    for x, n in ((x_c, n_c), (x_b, n_b)):
        errors = weights * np.sqrt(x * (n - x) / n) / n
        errors = np.where(errors.any(axis=0), errors, weights / np.sqrt(n))
        reduced = Z * np.sqrt((errors**2).sum(axis=0)) / errors.sum(axis=0)
        limits += [(weights * limit).sum(axis=0) for limit in wilson_at(x, n, reduced)]
    low_c, high_c, low_b, high_b = limits
    lam_c, lam_b = (weights**2 / n_c).sum(axis=0), (weights**2 / n_b).sum(axis=0)
    d = (weights * (x_c / n_c - x_b / n_b)).sum(axis=0)
    below = Z * np.sqrt(lam_c * low_c * (1 - low_c) + lam_b * high_b * (1 - high_b))
    above = Z * np.sqrt(lam_c * high_c * (1 - high_c) + lam_b * low_b * (1 - low_b))
    return towards(d - below, d + above)


def raw_score(strata):
    """All games of an arm as if they came from one configuration."""
    z = arrays.score_z(*(column.sum(axis=0) for column in strata))
    return np.where(np.abs(z) > Z, np.sign(z), 0)


def separated(x_c, n_c, x_b, n_b):
    low_c, high_c = arrays.wilson(x_c, n_c)
    low_b, high_b = arrays.wilson(x_b, n_b)
    return (low_c > high_b).astype(int) - (high_c < low_b)


def raw_overlap(strata):
    return separated(*(column.sum(axis=0) for column in strata))


def any_separated(strata):
    """Only asked for the direction that the simulated effect has."""
    return np.where((separated(*strata) < 0).any(axis=0), -1, 0)


def single_answers(tables):
    """What `stats.pooled` decides, in the order of `POOLED`."""
    wins, p = pooled.cmh(tables)
    sign = math.copysign(1, pooled.mantel_haenszel(tables)[0]) if wins else 0
    yield sign if p < 0.05 else 0
    for estimate in (pooled.fixed_effect(tables), pooled.random_effects(tables)):
        half = Z * estimate.standard_error
        yield towards(np.float64(estimate.difference - half), np.float64(estimate.difference + half))
    for interval in (pooled.hksj(tables), pooled.yan_su(tables)):
        yield towards(*map(np.float64, interval[1:]))


POOLED = [cmh, fixed_effect, random_effects, hksj, yan_su]


@pytest.mark.parametrize(("count", "lift"), [(2, -0.15), (4, -0.1), (6, 0.0)])
def test_the_functions_of_all_runs_are_those_of_the_package(count, lift):
    bases = np.array(CONFIGURATIONS[:count])
    games = np.random.default_rng(8).integers(1, 40, size=(2, count, RUNS))
    strata = played(bases + lift, games[0], bases, games[1], 9)
    answers = [function(strata)[:400] for function in POOLED]
    for run in range(400):
        tables = [tuple(int(column[k, run]) for column in strata) for k in range(count)]
        assert list(single_answers(tables)) == [answer[run] for answer in answers]
    assert all(np.any(answer != 0) for answer in answers)


# Two, four and six configurations in which the candidate is worse by .10: how often each procedure says so.
WORSE_BY_A_TENTH = [
    (any_separated, (0.052, 0.096, 0.139)),
    (raw_overlap, (0.049, 0.109, 0.178)),
    (raw_score, (0.197, 0.351, 0.476)),
    (cmh, (0.213, 0.368, 0.506)),
    (yan_su, (0.201, 0.355, 0.476)),
    (fixed_effect, (0.236, 0.399, 0.539)),
    (random_effects, (0.185, 0.321, 0.454)),
    (hksj, (0.083, 0.217, 0.372)),
]


@pytest.mark.parametrize(
    ("procedure", "powers"), WORSE_BY_A_TENTH, ids=lambda value: getattr(value, "__name__", "")
)
def test_power_of_pooling(procedure, powers):
    for count, expected in zip((2, 4, 6), powers, strict=True):
        assert (procedure(configurations(count, -0.10)) < 0).mean() == simulated(expected)


def test_power_of_cmh_for_a_larger_loss():
    for count, expected in zip((2, 4, 6), (0.436, 0.696, 0.851), strict=True):
        assert (cmh(configurations(count, -0.15)) < 0).mean() == simulated(expected)


@pytest.mark.parametrize(
    ("procedure", "least", "most"),
    [(cmh, 0.048, 0.052), (yan_su, 0.042, 0.046), (fixed_effect, 0.058, 0.061)],
)
def test_type_1_error_of_pooling(procedure, least, most):
    for count in (2, 4, 6):
        found = (procedure(configurations(count, 0.0)) != 0).mean()
        assert least - margin(least) <= found <= most + margin(most)


def pooled_where_they_point_the_same_way(strata):
    """The configurations whose difference has the sign of the overall one, if there are two at least."""
    difference = strata.x_c - strata.x_b  # arms are equal
    chosen = np.sign(difference) == np.sign(difference.sum(axis=0))
    enough = (chosen.sum(axis=0) >= 2) & (difference.sum(axis=0) != 0)
    kept = Strata(*(np.where(chosen | ~enough, column, 0) for column in strata))
    return np.where(enough, raw_score(kept), 0), np.where(enough, raw_overlap(kept), 0)


def test_pooling_only_what_points_the_same_way_is_selection():
    for count, score, overlap in ((2, 0.044, 0.005), (4, 0.180, 0.021), (6, 0.316, 0.047)):
        by_score, by_overlap = pooled_where_they_point_the_same_way(configurations(count, 0.0))
        assert (by_score != 0).mean() == simulated(score)
        assert (by_overlap != 0).mean() == simulated(overlap)


def test_adding_up_raw_counts_turns_uneven_missingness_into_an_effect():
    strata = played([0.2, 0.8], [30, 10], [0.2, 0.8], [10, 30], 6)
    assert (raw_score(strata) < 0).mean() == pytest.approx(
        0.84, abs=0.005 + 3 * math.sqrt(0.84 * 0.16 / RUNS)
    )
    assert (cmh(strata) != 0).mean() == simulated(0.044)


def test_only_hksj_keeps_its_level_where_effects_differ():
    null = differing_effects(0.0)
    for procedure, expected in ((cmh, 0.205), (random_effects, 0.110), (hksj, 0.053)):
        assert (procedure(null) != 0).mean() == simulated(expected)
    assert (hksj(differing_effects(-0.15)) < 0).mean() == simulated(0.215)


# A fresh run after each that did not decide, at most so many, under no effect at p = .5.
@pytest.mark.parametrize(
    ("runs", "score", "overlap"), [(1, 0.052, 0.006), (3, 0.148, 0.018), (5, 0.234, 0.031)]
)
def test_running_again_until_something_is_found(runs, score, overlap):
    for rule, expected in (("score", score), ("overlap", overlap)):
        once = sum(power.exact_power(0.5, 0.5, GAMES, rule=rule))
        assert 1 - (1 - once) ** runs == simulated(expected)


def test_arms_that_advance_at_random_are_watched_nearly_as_safely():
    """From eight games an arm on, a look at each game of either, until both have a hundred."""
    limits = [arrays.wilson(np.arange(101), np.maximum(np.arange(101), n)) for n in range(101)]
    low = np.array([lows for lows, _ in limits])
    high = np.array([highs for _, highs in limits])
    random = np.random.default_rng(10)
    n_c, n_b = np.full(RUNS, 8), np.full(RUNS, 8)
    x_c, x_b = random.binomial(8, 0.5, size=(2, RUNS))
    apart = np.zeros(RUNS, dtype=bool)
    for _ in range(2 * 92 + 1):
        apart |= (low[n_c, x_c] > high[n_b, x_b]) | (high[n_c, x_c] < low[n_b, x_b])
        candidate = (n_c < 100) & ((n_b == 100) | (random.random(RUNS) < 0.5))
        baseline = ~candidate & (n_b < 100)
        won = random.random(RUNS) < 0.5
        n_c, n_b = n_c + candidate, n_b + baseline
        x_c, x_b = x_c + (candidate & won), x_b + (baseline & won)
    assert (n_c == 100).all()
    assert (n_b == 100).all()
    assert apart.mean() == simulated(0.056)
