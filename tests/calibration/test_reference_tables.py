"""The reference's exact tables, recomputed by enumeration and equal within rounding.

Its table of detectable lifts is in `unit/stats/test_power.py`.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from pytest_evalharness.stats import (
    arrays,
    bayes,
    boschloo,
    difference,
    enumeration,
    normal,
    paired_power,
    power,
)
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Decision, Verdict

pytestmark = pytest.mark.slow

FOUR_DIGITS, THREE_DIGITS, TWO_DIGITS = 5.1e-5, 5.1e-4, 5.1e-3
Z = normal.critical(0.05)
RATES = np.linspace(0.005, 0.995, 199)
MIDDLE = (RATES > 0.0999) & (RATES < 0.9001)


def tables(n):
    wins = np.arange(n + 1)
    return wins[:, None], n, wins[None, :], n


def excluding_0(method):
    def directions(n):
        low, high = method(*tables(n))
        return (low > 0).astype(int) - (high < 0)

    return directions


def without_overlap(method, alpha=0.05):
    def directions(n):
        low, high = method(np.arange(n + 1), n, alpha)
        return (low[:, None] > high[None, :]).astype(int) - (high[:, None] < low[None, :])

    return directions


def significant(test):
    def directions(n):
        x_c, _, x_b, _ = tables(n)
        return np.where(test(*tables(n)) <= 0.05, np.sign(x_c - x_b), 0)

    return directions


def wald(n):
    """Never offered, only tabulated: its interval has no width where an arm won all or none."""
    x_c, _, x_b, _ = tables(n)
    p_c, p_b = x_c / n, x_b / n
    bar = Z * np.sqrt((p_c * (1 - p_c) + p_b * (1 - p_b)) / n)
    return np.where(np.abs(p_c - p_b) > bar, np.sign(x_c - x_b), 0)


def mirrored(better):
    return better.astype(int) - better[::-1, ::-1]


def barnard(n):
    up = np.array(enumeration.winning_counts(n, n, "exact"))
    return mirrored(np.arange(n + 1)[:, None] >= up)


def by_boschloo(n):
    """One more win never makes the test less certain, so one pass along the staircase is enough."""
    better, x_c = np.zeros((n + 1, n + 1), dtype=bool), 0
    for x_b in range(n + 1):
        while x_c <= n and not (x_c > x_b and boschloo.boschloo(x_c, n, x_b, n) <= 0.05):
            x_c += 1
        better[x_c:, x_b] = True
    return mirrored(better)


def bayesian(n):
    chance = np.array([[bayes.probability_better(c, n, b, n) for b in range(n + 1)] for c in range(n + 1)])
    return mirrored(chance > 0.975)


def one_rate_outside_the_other_interval(n):
    low, high = arrays.wilson(np.arange(n + 1), n)
    rates = np.arange(n + 1) / n
    outside = (rates[:, None] < low) | (rates[:, None] > high)
    return (outside | outside.T).astype(int)


RULES = {
    "overlap": without_overlap(arrays.wilson),
    "overlap_cc": without_overlap(arrays.wilson_cc),
    "overlap_exact": without_overlap(arrays.clopper_pearson),
    "overlap_83.4": without_overlap(arrays.wilson, normal.two_sided(Z / math.sqrt(2))),
    "newcombe": excluding_0(arrays.newcombe),
    "newcombe_cc": excluding_0(arrays.newcombe_cc),
    "score": excluding_0(arrays.miettinen_nurminen),
    "agresti_caffo": excluding_0(arrays.agresti_caffo),
    "wald": wald,
    "fisher": significant(arrays.fisher),
    "midp": significant(arrays.fisher_midp),
    "barnard": barnard,
    "boschloo": by_boschloo,
    "bayes": bayesian,
    "outside": one_rate_outside_the_other_interval,
}


@cache
def directions(rule, n):
    return RULES[rule](n)


@cache
def masses(n, p):
    return np.array(enumeration.binomial(n, float(p)))


# Type I error for 8, 30 and 100 games an arm: largest over all rates, and mean over the rates in [.1, .9].
TYPE_1 = [
    ("overlap", (0.0042, 0.0020), (0.0062, 0.0050), (0.0057, 0.0056)),
    ("overlap_cc", (0.0005, 0.0002), (0.0027, 0.0018), (0.0036, 0.0031)),
    ("overlap_exact", (0.0005, 0.0002), (0.0027, 0.0024), (0.0037, 0.0035)),
    ("overlap_83.4", (0.0768, 0.0477), (0.0554, 0.0501), (0.0560, 0.0516)),
    ("newcombe", (0.0768, 0.0477), (0.0519, 0.0460), (0.0560, 0.0507)),
    ("newcombe_cc", (0.0213, 0.0114), (0.0346, 0.0269), (0.0400, 0.0371)),
    ("score", (0.0534, 0.0388), (0.0554, 0.0501), (0.0560, 0.0506)),
    ("agresti_caffo", (0.0534, 0.0388), (0.0519, 0.0460), (0.0560, 0.0492)),
    ("wald", (0.0822, 0.0747), (0.0604, 0.0563), (0.0560, 0.0525)),
    ("fisher", (0.0213, 0.0114), (0.0274, 0.0234), (0.0400, 0.0348)),
    ("midp", (0.0279, 0.0224), (0.0519, 0.0434), (0.0560, 0.0497)),
    ("barnard", (0.0279, 0.0224), (0.0469, 0.0437), (0.0496, 0.0467)),
    ("boschloo", (0.0279, 0.0224), (0.0469, 0.0374), (0.0496, 0.0446)),
    ("bayes", (0.0822, 0.0747), (0.0598, 0.0535), (0.0658, 0.0520)),
    ("outside", (0.52, 0.35), (0.53, 0.22), (0.52, 0.19)),
]


@pytest.mark.parametrize(("rule", "small", "middle", "large"), TYPE_1, ids=[row[0] for row in TYPE_1])
def test_type_1_errors(rule, small, middle, large):
    rounding = TWO_DIGITS if rule == "outside" else FOUR_DIGITS
    for n, expected in ((8, small), (30, middle), (100, large)):
        wrong = (directions(rule, n) != 0).astype(float)
        errors = np.array([masses(n, p) @ wrong @ masses(n, p) for p in RATES])
        assert (errors.max(), errors[MIDDLE].mean()) == pytest.approx(expected, abs=rounding), n


def test_on_how_many_tables_newcombe_and_the_score_interval_disagree():
    for n, differing in ((8, 2), (30, 8), (100, 16)):
        assert int((directions("newcombe", n) != directions("score", n)).sum()) == differing


# Probability of "better" with the mid-p version of Fisher's test and 100 games an arm: base, lift, power.
MIDP_POWER = [
    (0.5, 0.1, 0.309),
    (0.5, 0.2, 0.832),
    (0.5, 0.3, 0.995),
    (0.25, 0.1, 0.337),
    (0.25, 0.2, 0.846),
    (0.25, 0.3, 0.993),
    (0.125, 0.25, 0.988),
    (0.75, 0.1, 0.418),
    (0.75, 0.2, 0.987),
]


@pytest.mark.parametrize(("base", "lift", "expected"), MIDP_POWER)
def test_power_of_the_midp_test_with_100_games(base, lift, expected):
    better = (directions("midp", 100) > 0).astype(float)
    assert masses(100, base + lift) @ better @ masses(100, base) == pytest.approx(expected, abs=THREE_DIGITS)


# Games an arm, wins of the baseline, then the fewest and the most wins that are told apart; None where none are.
SMALLEST_DECISIVE = [
    (30, 8, (19, 0), (16, 2)),
    (30, 15, (26, 4), (23, 7)),
    (30, 22, (30, 11), (28, 14)),
    (8, 2, (8, None), (7, None)),
    (8, 4, (None, None), (8, 0)),
    (100, 50, (70, 30), (64, 36)),
]


@pytest.mark.parametrize(("n", "baseline", "overlap", "score"), SMALLEST_DECISIVE)
def test_smallest_decisive_results(n, baseline, overlap, score):
    for rule, (up, down) in (("overlap", overlap), ("score", score)):
        column = directions(rule, n)[:, baseline]
        assert min(np.flatnonzero(column > 0), default=None) == up
        assert max(np.flatnonzero(column < 0), default=None) == down


# Games per arm for 80 % power, overlap and score, for lifts of .05, .10, .15, .20, .25, .30 and .40.
LIFTS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40)
GAMES = [
    (0.125, [(1327, 796), (371, 223), (181, 109), (110, 66), (75, 46), (56, 34), (34, 20)]),
    (0.25, [(2080, 1250), (546, 329), (253, 152), (146, 89), (96, 59), (67, 40), (40, 23)]),
    (0.50, [(2595, 1559), (645, 392), (282, 167), (154, 94), (96, 59), (64, 39), (31, 19)]),
    (0.75, [(1818, 1092), (414, 249), (164, 97), (78, 45)]),
]


@pytest.mark.parametrize(
    ("base", "rows"), GAMES, ids=lambda value: str(value) if isinstance(value, float) else ""
)
def test_games_for_80_percent_power(base, rows):
    for lift, games in zip(LIFTS, rows, strict=False):
        for rule, n in zip(("overlap", "score"), games, strict=True):
            formula = power.games_formula(base, base + lift, rule=rule)
            assert abs(n - formula) <= (4 if n < 400 else 0.006 * n) + 1
            assert power.exact_power(base + lift, base, n, rule=rule)[0] >= 0.8
            assert power.exact_power(base + lift, base, n - 1, rule=rule)[0] < 0.8


CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
# 30 pairs: largest type I error and power for .5 + .2, by within-pair correlation. The last type I error of the overlap
# rule is 4e-5, where one unit of the last digit, 1e-4, stands.
PAIRED_30 = [
    ("exact", (0.028, 0.026, 0.023, 0.013), (0.258, 0.276, 0.337, 0.521)),
    ("midp", (0.047, 0.045, 0.042, 0.031), (0.334, 0.358, 0.432, 0.671)),
    ("score", (0.048, 0.048, 0.048, 0.048), (0.336, 0.359, 0.434, 0.745)),
    ("newcombe_paired", (0.048, 0.046, 0.042, 0.031), (0.338, 0.361, 0.433, 0.672)),
    ("unpaired_score", (0.055, 0.044, 0.023, 0.004), (0.351, 0.343, 0.323, 0.268)),
    ("unpaired_overlap", (0.006, 0.004, 0.001, 0.0001), (0.116, 0.104, 0.078, 0.036)),
]


def both_arms(n, p_c, p_b, phi):
    """The probability of every (x_c, x_b) of n pairs: given the baseline's wins, the candidate's are two binomials."""
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    given_win, given_loss = min((p_b - only_b) / p_b, 1.0), min(only_c / (1.0 - p_b), 1.0)
    columns = [
        mass * np.convolve(enumeration.binomial(x_b, given_win), enumeration.binomial(n - x_b, given_loss))
        for x_b, mass in enumerate(masses(n, p_b))
    ]
    return np.array(columns).T


@cache
def tables_of_pairs(n):
    """All (both, only_c, only_b, neither) of n pairs, and the logarithm of the number of ways to each of them."""
    differing = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    cells = np.array([(a, b, c, n - a - b - c) for b, c in differing for a in range(n + 1 - b - c)]).T
    return cells, gammaln(n + 1) - gammaln(cells + 1).sum(axis=0)


def chances_of_pairs(rule, n, p_c, p_b, phi):
    if rule.startswith("unpaired_"):
        towards = directions(rule.removeprefix("unpaired_"), n)
        joint = both_arms(n, p_c, p_b, phi)
        return joint[towards > 0].sum(), joint[towards < 0].sum()
    if rule != "newcombe_paired":
        return paired_power.exact_paired_power(p_c, p_b, n, phi, rule=rule)
    cells, log_ways = tables_of_pairs(n)
    low, high = arrays.newcombe_paired(*cells)
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    rates = np.array([p_b - only_b, only_c, only_b, 1.0 - p_b - only_c])
    joint = np.exp(log_ways + xlogy(cells, rates[:, None]).sum(axis=0))
    return joint[low > 0].sum(), joint[high < 0].sum()


@pytest.mark.parametrize(("rule", "errors", "powers"), PAIRED_30, ids=[row[0] for row in PAIRED_30])
def test_30_pairs(rule, errors, powers):
    for phi, error, expected in zip(CORRELATIONS, errors, powers, strict=True):
        largest = max(sum(chances_of_pairs(rule, 30, p, p, phi)) for p in RATES)
        assert largest == pytest.approx(error, abs=1e-4 if error == 0.0001 else THREE_DIGITS)
        found = chances_of_pairs(rule, 30, 0.7, 0.5, phi)[0]
        assert found == pytest.approx(expected, abs=THREE_DIGITS)


# Power of 100 pairs for .5 + .1, and of 8 pairs for .5 + .2 beside their largest type I error.
PAIRED_100 = [
    ("score", (0.291, 0.318, 0.393, 0.626)),
    ("midp", (0.291, 0.317, 0.383, 0.602)),
    ("unpaired_score", (0.309, 0.300, 0.275, 0.213)),
    ("unpaired_overlap", (0.087, 0.076, 0.053, 0.017)),
]
PAIRED_8 = [
    ("midp", (0.018, 0.013, 0.006, 0.001), (0.053, 0.047, 0.032, 0.013)),
    ("score", (0.052, 0.046, 0.029, 0.006), (0.119, 0.118, 0.104, 0.064)),
]


@pytest.mark.parametrize(("rule", "powers"), PAIRED_100)
def test_100_pairs(rule, powers):
    for phi, expected in zip(CORRELATIONS, powers, strict=True):
        assert chances_of_pairs(rule, 100, 0.6, 0.5, phi)[0] == pytest.approx(expected, abs=THREE_DIGITS)


@pytest.mark.parametrize(("rule", "errors", "powers"), PAIRED_8)
def test_8_pairs(rule, errors, powers):
    for phi, error, expected in zip(CORRELATIONS, errors, powers, strict=True):
        largest = max(sum(chances_of_pairs(rule, 8, p, p, phi)) for p in RATES)
        assert largest == pytest.approx(error, abs=THREE_DIGITS)
        assert chances_of_pairs(rule, 8, 0.7, 0.5, phi)[0] == pytest.approx(expected, abs=THREE_DIGITS)


# Base .5: n, lift, better, separated better, worse, separated worse, then at margins .10 and .20: equivalent,
# inconclusive, non-inferior.
CHARACTERISTICS = [
    (8, 0.0, (0.026, 0.002), (0.026, 0.002), (0, 0), (0.947, 0.947), (0.106, 0.227)),
    (8, -0.2, (0.003, 0.0), (0.128, 0.016), (0, 0), (0.869, 0.869), (0.018, 0.055)),
    (30, 0.0, (0.026, 0.003), (0.026, 0.003), (0, 0.002), (0.948, 0.946), (0.184, 0.451)),
    (30, -0.1, (0.003, 0.0), (0.120, 0.024), (0, 0.005), (0.877, 0.872), (0.046, 0.185)),
    (30, -0.2, (0.0, 0.0), (0.351, 0.116), (0, 0.007), (0.649, 0.642), (0.007, 0.048)),
    (30, 0.2, (0.351, 0.116), (0.0, 0.0), (0, 0.007), (0.649, 0.642), (0.763, 0.937)),
    (30, 0.3, (0.692, 0.370), (0.0, 0.0), (0, 0.003), (0.308, 0.305), (0.954, 0.994)),
    (100, 0.0, (0.028, 0.003), (0.028, 0.003), (0, 0.771), (0.944, 0.173), (0.416, 0.885)),
    (100, -0.1, (0.0, 0.0), (0.309, 0.087), (0, 0.410), (0.690, 0.280), (0.051, 0.415)),
    (100, -0.2, (0.0, 0.0), (0.832, 0.548), (0, 0.048), (0.168, 0.120), (0.001, 0.048)),
    (100, 0.2, (0.832, 0.548), (0.0, 0.0), (0, 0.048), (0.168, 0.120), (0.997, 1.000)),
]


@pytest.mark.parametrize("row", CHARACTERISTICS, ids=lambda row: f"{row[0]}, {row[1]}")
def test_three_way_verdicts(row):
    n, lift, better, worse, *by_margin = row
    p = 0.5 + lift
    told = power.exact_power(p, 0.5, n)
    assert told == pytest.approx((better[0], worse[0]), abs=THREE_DIGITS)
    apart = power.exact_power(p, 0.5, n, rule="overlap")
    assert apart == pytest.approx((better[1], worse[1]), abs=THREE_DIGITS)
    undecided = directions("score", n) == 0
    weights = np.outer(masses(n, p), masses(n, 0.5))
    for margin, equal, unknown, harmless in zip((0.10, 0.20), *by_margin, strict=True):
        low, high = arrays.miettinen_nurminen(*tables(n), 0.10)
        inside = weights[undecided & (low > -margin) & (high < margin)].sum()
        assert inside == pytest.approx(equal, abs=THREE_DIGITS)
        assert 1.0 - sum(told) - inside == pytest.approx(unknown, abs=THREE_DIGITS)
        assert weights[low > -margin].sum() == pytest.approx(harmless, abs=THREE_DIGITS)


@pytest.mark.parametrize(
    "row", [row for row in CHARACTERISTICS if row[0] >= 10], ids=lambda row: f"{row[0]}, {row[1]}"
)
def test_the_chances_of_a_plan_are_the_same_verdicts(row):
    """With fewer than ten games an exact test has to agree as well, which the table of the reference leaves out."""
    n, lift, better, worse, *by_margin = row
    for margin, equal, unknown, harmless in zip((0.10, 0.20), *by_margin, strict=True):
        found = outcome_chances(Declaration("noninferior", margin=margin), 0.5 + lift, 0.5, n)
        expected = {
            Verdict.BETTER: better[0],
            Verdict.WORSE: worse[0],
            Verdict.EQUIVALENT: equal,
            Verdict.INCONCLUSIVE: unknown,
        }
        assert found.verdicts == pytest.approx(expected, abs=THREE_DIGITS)
        assert found.decisions[Decision.MET] == pytest.approx(harmless, abs=THREE_DIGITS)
        assert found.separated == pytest.approx((better[1], worse[1]), abs=THREE_DIGITS)


# Half the width of the 90 % and the 95 % score interval of two arms that won half of their games.
HALF_WIDTHS = [
    (8, 0.391, 0.452),
    (30, 0.209, 0.247),
    (50, 0.163, 0.193),
    (100, 0.116, 0.138),
    (200, 0.082, 0.098),
    (400, 0.058, 0.069),
]


@pytest.mark.parametrize(("n", "narrow", "wide"), HALF_WIDTHS)
def test_half_widths(n, narrow, wide):
    for alpha, expected in ((0.10, narrow), (0.05, wide)):
        assert difference.miettinen_nurminen(n // 2, n, n // 2, n, alpha)[1] == pytest.approx(
            expected, abs=6e-4
        )
