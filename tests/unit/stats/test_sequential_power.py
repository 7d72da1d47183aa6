"""Designs with looks: enumerated here once more by hand, and as the reference tabulates them."""

import math
from itertools import product

import numpy as np
import pytest

from pytest_evalharness.stats import (
    difference,
    group_sequential,
    power,
    proportions,
    sequential,
    sequential_power,
)


def test_invalid_input_is_refused_by_name():
    looks = sequential_power.overlap_power
    calls = [
        (lambda: looks(1.5, 0.5, [3]), "p_cand"),
        (lambda: looks(0.5, float("nan"), [3]), "p_base"),
        (lambda: looks(0.5, 0.5, []), "looks"),
        (lambda: looks(0.5, 0.5, [0, 3]), "looks"),
        (lambda: looks(0.5, 0.5, [3, 3]), "looks"),
        (lambda: looks(0.5, 0.5, [3.0]), "looks"),
        (lambda: looks(0.5, 0.5, [3], alpha=0.0), "alpha"),
        (lambda: sequential_power.peeking_power(0.5, 0.5, [3], rule="coin"), "rule"),
        (lambda: sequential_power.group_sequential_power(0.5, 0.5, [3], alpha=1.0), "alpha"),
        (lambda: sequential_power.group_sequential_power(0.5, 0.5, [3], spending="thrifty"), "spending"),
        (lambda: sequential_power.evalue_power(0.5, 0.5, 1.0, 10), "correlation"),
        (lambda: sequential_power.evalue_power(0.5, 0.5, 0.1, 0), "n must"),
        (lambda: sequential_power.evalue_power(0.5, 0.5, 0.1, 10, every=0), "every"),
        (lambda: sequential_power.evalue_power(0.5, 0.5, 0.1, 10, alpha=-1.0), "alpha"),
        (lambda: sequential_power.betting_power(0.5, -0.1, 10), "p_base"),
        (lambda: sequential_power.betting_power(0.5, 0.5, 0), "n must"),
        (lambda: sequential_power.betting_power(0.5, 0.5, 10, paths=0), "paths"),
        (lambda: sequential_power.betting_power(0.5, 0.5, 10, alpha=2.0), "alpha"),
    ]
    for call, name in calls:
        with pytest.raises(ValueError, match=name):
            call()


def by_hand(p_c, p_b, looks, direction):
    """Every sequence of games of both arms, followed until a look decides."""
    better = worse = games = 0.0
    stop = [0.0] * len(looks)
    for history in product(product((0, 1), repeat=2), repeat=looks[-1]):
        chance = math.prod((p_c if c else 1 - p_c) * (p_b if b else 1 - p_b) for c, b in history)
        for index, n in enumerate(looks):
            towards = direction(index, sum(c for c, _ in history[:n]), sum(b for _, b in history[:n]), n)
            if towards or n == looks[-1]:
                better += chance * (towards > 0)
                worse += chance * (towards < 0)
                stop[index] += chance
                games += chance * n
                break
    return better, worse, stop, games


def assert_same(design, expected):
    better, worse, stop, games = expected
    assert design.better == pytest.approx(better, abs=1e-12)
    assert design.worse == pytest.approx(worse, abs=1e-12)
    assert design.stop == pytest.approx(stop, abs=1e-12)
    assert design.expected_games == pytest.approx(games, abs=1e-11)
    assert 0 < better < 1
    assert sum(design.stop) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_planned_looks_are_what_every_history_gives(spending):
    looks = [3, 5, 7]
    bounds = group_sequential.group_sequential_bounds([3 / 7, 5 / 7, 1.0], 0.15, spending)

    def direction(index, x_c, x_b, n):
        z = difference.score_z(x_c, n, x_b, n)
        return int(z >= bounds[index]) - int(z <= -bounds[index])

    found = sequential_power.group_sequential_power(0.8, 0.3, looks, alpha=0.3, spending=spending)
    assert_same(found, by_hand(0.8, 0.3, looks, direction))


def test_peeking_with_the_overlap_rule_is_what_every_history_gives():
    def direction(_, x_c, x_b, n):
        return proportions.separated(proportions.wilson(x_c, n, 0.2), proportions.wilson(x_b, n, 0.2))

    found = sequential_power.overlap_power(0.9, 0.4, [2, 4, 5, 7], alpha=0.2)
    assert_same(found, by_hand(0.9, 0.4, [2, 4, 5, 7], direction))


@pytest.mark.parametrize("rule", ["score", "overlap", "newcombe", "exact"])
def test_one_look_is_the_exact_power_of_the_rule(rule):
    found = sequential_power.peeking_power(0.7, 0.45, [25], rule=rule)
    assert found[:2] == pytest.approx(power.exact_power(0.7, 0.45, 25, rule=rule), abs=1e-12)
    assert found[2:] == ((1.0,), 25.0)


def test_swapping_the_arms_turns_a_design_round():
    there = sequential_power.group_sequential_power(0.7, 0.4, [10, 20, 40])
    back = sequential_power.group_sequential_power(0.4, 0.7, [10, 20, 40])
    assert there[:2] == pytest.approx(back[1::-1], abs=1e-13)
    assert there.stop == pytest.approx(back.stop, abs=1e-13)


def test_certain_games_have_certain_ends():
    sure = sequential_power.overlap_power(1.0, 0.0, range(1, 31))
    first = next(n for n in range(1, 31) if proportions.wilson(n, n)[0] > proportions.wilson(0, n)[1])
    assert sure[:2] == (1.0, 0.0)
    assert sure.expected_games == first
    level = sequential_power.overlap_power(1.0, 1.0, [4, 9])
    assert level == (0.0, 0.0, (0.0, 1.0), 9.0)
    pairs = sequential_power.evalue_power(1.0, 0.0, 0.0, 30)
    needed = next(b for b in range(1, 31) if sequential.mcnemar_log_e(b, 0) >= math.log(20))
    assert pairs[:2] == (1.0, 0.0)
    assert pairs.expected_games == needed


# Looks at 30, 60 and 100 games an arm, base .5, as the reference has them from 100,000 simulated runs or more.
def test_planned_looks_as_tabulated():
    looks = (30, 60, 100)
    level = sequential_power.group_sequential_power(0.5, 0.5, looks)
    assert level.better + level.worse == pytest.approx(0.047, abs=0.001)
    lifted = sequential_power.group_sequential_power(0.7, 0.5, looks)
    assert lifted.better == pytest.approx(0.833, abs=0.001)
    assert lifted.expected_games == pytest.approx(87, abs=0.5)
    assert lifted.better == pytest.approx(
        power.exact_power(0.7, 0.5, 100)[0], abs=0.001
    )  # looking costs nothing
    large = sequential_power.group_sequential_power(0.8, 0.5, looks)
    assert large.better == pytest.approx(0.995, abs=5e-4)
    assert large.expected_games == pytest.approx(67, abs=0.5)
    pocock = sequential_power.group_sequential_power(0.7, 0.5, looks, spending="pocock")
    assert pocock.better == pytest.approx(0.772, abs=5e-4)
    assert pocock.expected_games == pytest.approx(72, abs=0.6)  # 72.54


EVERY_GAME = range(8, 101)
# Looks, then P(any decision) under no effect at p = .5 for the score and the overlap rule: simulated 100,000 times
# at least, so that three standard errors are added to the rounding.
PEEKING = [
    ([30], 0.052, 0.006),
    ([8, 30], 0.095, 0.010),
    ([8, 30, 100], 0.136, 0.016),
    ([30, 60, 90], 0.108, 0.013),
    (range(10, 101, 5), 0.221, 0.034),
    (EVERY_GAME, 0.293, 0.051),
    (range(1, 101), None, 0.059),
]


def simulated(share, runs=100_000):
    return pytest.approx(share, abs=5e-4 + 3 * math.sqrt(share * (1 - share) / runs))


@pytest.mark.parametrize(("looks", "score", "overlap"), PEEKING, ids=str)
def test_peeking_as_tabulated(looks, score, overlap):
    for rule, expected in (("score", score), ("overlap", overlap)):
        if expected is not None:
            found = sequential_power.peeking_power(0.5, 0.5, looks, rule=rule)
            assert found.better == pytest.approx(found.worse, abs=1e-12)
            assert found.better + found.worse == simulated(expected)


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.05, 0.008), (0.1, 0.022), (0.2, 0.037), (0.3, 0.045), (0.5, 0.050), (0.8, 0.037), (0.9, 0.022)],
)
def test_the_overlap_rule_bears_a_look_at_every_game(p, expected):
    found = sequential_power.overlap_power(p, p, EVERY_GAME)
    assert found.better + found.worse == simulated(expected)


def test_power_of_the_overlap_rule_looked_at_every_game_as_tabulated():
    assert sequential_power.overlap_power(0.7, 0.5, EVERY_GAME).better == pytest.approx(0.68, abs=0.005)


def test_pairs_watched_one_by_one_are_what_every_history_gives():
    p_c, p_b, phi, n, alpha = 0.9, 0.3, 0.1, 9, 0.3
    both = p_c * p_b + phi * math.sqrt(p_c * (1 - p_c) * p_b * (1 - p_b))
    only_c, only_b = p_c - both, p_b - both
    masses = {1: only_c, -1: only_b, 0: 1 - only_c - only_b}
    for looks in (range(1, n + 1), (4, 8, 9)):
        better = worse = pairs = 0.0
        for history in product((1, -1, 0), repeat=n):
            chance, end, towards = math.prod(masses[kind] for kind in history), n, 0
            for look in looks:
                b, c = history[:look].count(1), history[:look].count(-1)
                if sequential.mcnemar_log_e(b, c) >= math.log(1 / alpha):
                    end, towards = look, b - c
                    break
            better += chance * (towards > 0)
            worse += chance * (towards < 0)
            pairs += chance * end
        every = 1 if len(looks) == n else 4
        found = sequential_power.evalue_power(p_c, p_b, phi, n, alpha=alpha, every=every)
        assert found[:2] == pytest.approx((better, worse), abs=1e-12)
        assert found.expected_games == pytest.approx(pairs, abs=1e-11)
        assert len(found.stop) == len(looks)
        assert worse > 0


def test_the_e_value_keeps_its_level_and_has_the_power_that_was_measured():
    for phi in (0.0, 0.3, 0.6):
        level = sequential_power.evalue_power(0.5, 0.5, phi, 300)
        assert 0.01 < level.better + level.worse <= 0.05
    lifted = sequential_power.evalue_power(0.7, 0.5, 0.0, 100)
    assert 0.505 <= lifted.better <= 0.535  # .51 with this prior, .53 with the best one


def test_betting_is_the_single_run_many_times():
    n, paths, p_c, p_b, alpha = 40, 60, 0.8, 0.4, 0.1
    found = sequential_power.betting_power(p_c, p_b, n, alpha=alpha, paths=paths, seed=7)
    random = np.random.default_rng(7)
    games = np.array([[random.random(paths) < p for p in (p_c, p_b)] for _ in range(n)], dtype=float)
    better = worse = 0
    for run in range(paths):
        for turns in range(1, n + 1):
            up, down = sequential.betting_log_capital(map(tuple, games[:turns, :, run]), alpha)
            if max(up, down) >= math.log(2 / alpha):
                better += up > down
                worse += up < down
                break
    assert 0 < better < paths
    assert found[:2] == (better / paths, worse / paths)
    assert found.standard_error == pytest.approx(math.sqrt(found.better * (1 - found.better) / paths))


def test_betting_keeps_its_level_has_the_power_that_was_measured_and_repeats_itself():
    level = sequential_power.betting_power(0.5, 0.5, 100)
    assert level.better + level.worse <= 0.05
    lifted = sequential_power.betting_power(0.7, 0.5, 100)
    assert lifted.better == pytest.approx(0.53, abs=0.005 + 3 * lifted.standard_error)
    assert lifted == sequential_power.betting_power(0.7, 0.5, 100)
    assert lifted != sequential_power.betting_power(0.7, 0.5, 100, seed=1)
