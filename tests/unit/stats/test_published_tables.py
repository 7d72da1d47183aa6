"""The operating characteristics that the documentation quotes, recomputed by exact enumeration."""

import numpy as np
import pytest

from pytest_evalharness.stats import difference, enumeration, exact, paired, power, proportions

RATES = np.linspace(0.005, 0.995, 199)


def by_interval(method):
    def direction(x_c, n_c, x_b, n_b):
        low, high = method(x_c, n_c, x_b, n_b)
        return int(low > 0) - int(high < 0)

    return direction


def by_p(test):
    def direction(x_c, n_c, x_b, n_b):
        if x_c * n_b == x_b * n_c or test(x_c, n_c, x_b, n_b) > 0.05:
            return 0
        return 1 if x_c * n_b > x_b * n_c else -1

    return direction


def overlap(x_c, n_c, x_b, n_b):
    return proportions.separated(proportions.wilson(x_c, n_c), proportions.wilson(x_b, n_b))


def overlap_cc(x_c, n_c, x_b, n_b):
    return proportions.separated(proportions.wilson_cc(x_c, n_c), proportions.wilson_cc(x_b, n_b))


def overlap_exact(x_c, n_c, x_b, n_b):
    return proportions.separated(proportions.clopper_pearson(x_c, n_c), proportions.clopper_pearson(x_b, n_b))


RULES = {
    "overlap": overlap,
    "overlap_cc": overlap_cc,
    "overlap_exact": overlap_exact,
    "newcombe": by_interval(difference.newcombe),
    "newcombe_cc": by_interval(difference.newcombe_cc),
    "score": by_interval(difference.miettinen_nurminen),
    "agresti_caffo": by_interval(difference.agresti_caffo),
    "fisher": by_p(exact.fisher),
    "midp": by_p(exact.fisher_midp),
    "barnard": by_p(exact.barnard),
}


def decisions(rule, n_c, n_b=None):
    n_b = n_b or n_c
    table = [[RULES[rule](x_c, n_c, x_b, n_b) for x_b in range(n_b + 1)] for x_c in range(n_c + 1)]
    return np.array(table)


def chance(mask, p_c, p_b):
    n_c, n_b = mask.shape[0] - 1, mask.shape[1] - 1
    return float(np.array(enumeration.binomial(n_c, p_c)) @ mask @ np.array(enumeration.binomial(n_b, p_b)))


# Type I error: largest over all rates, and mean over the rates in [.1, .9].
TYPE_1 = [
    ("overlap", 8, 0.0042, 0.0020),
    ("overlap", 30, 0.0062, 0.0050),
    ("overlap_cc", 30, 0.0027, 0.0018),
    ("overlap_exact", 30, 0.0027, 0.0024),
    ("newcombe", 8, 0.0768, 0.0477),
    ("newcombe", 30, 0.0519, 0.0460),
    ("newcombe_cc", 30, 0.0346, 0.0269),
    ("score", 8, 0.0534, 0.0388),
    ("score", 30, 0.0554, 0.0501),
    ("agresti_caffo", 30, 0.0519, 0.0460),
    ("fisher", 30, 0.0274, 0.0234),
    ("midp", 8, 0.0279, 0.0224),
    ("midp", 30, 0.0519, 0.0434),
    ("barnard", 8, 0.0279, 0.0224),
    ("barnard", 30, 0.0469, 0.0437),
    ("overlap", 100, 0.0057, 0.0056),
    ("score", 100, 0.0560, 0.0506),
]


@pytest.mark.parametrize(("rule", "n", "largest", "mean"), TYPE_1)
def test_type_1_error(rule, n, largest, mean):
    wrong = decisions(rule, n) != 0
    errors = np.array([chance(wrong, p, p) for p in RATES])
    middle = (RATES > 0.0999) & (RATES < 0.9001)
    assert errors.max() == pytest.approx(largest, abs=2e-4)
    assert errors[middle].mean() == pytest.approx(mean, abs=3e-4)


# Games of the arms, then the largest type I error of Newcombe, of the score rule and of Barnard.
OTHER_ARMS = [
    (5, 5, 0.062, 0.062, 0.022),
    (6, 6, 0.068, 0.039, 0.039),
    (10, 10, 0.042, 0.042, 0.042),
    (12, 12, 0.064, 0.064, 0.045),
    (15, 15, 0.055, 0.043, 0.043),
    (20, 20, 0.053, 0.053, 0.050),
    (25, 25, 0.065, 0.065, 0.046),
    (40, 40, 0.057, 0.059, 0.048),
    (50, 50, 0.057, 0.057, 0.049),
    (75, 75, 0.060, 0.054, 0.050),
    (30, 29, 0.062, 0.051, 0.047),
    (30, 27, 0.061, 0.054, 0.050),
    (30, 25, 0.054, 0.050, 0.050),
    (30, 20, 0.056, 0.049, 0.049),
    (30, 15, 0.050, 0.050, 0.045),
    (100, 90, 0.052, 0.053, 0.049),
    (100, 50, 0.057, 0.052, 0.049),
]


def errors_of(rule, n_c, n_b=None):
    """The type I error at every rate, from the rule's thresholds."""
    both = [power.exact_power(p, p, n_c, n_b, rule=rule) for p in RATES]
    return np.array([better + worse for better, worse in both])


@pytest.mark.parametrize(("n_c", "n_b", "newcombe", "score", "exact"), OTHER_ARMS)
def test_largest_type_1_error_of_other_arms(n_c, n_b, newcombe, score, exact):
    for rule, expected in (("newcombe", newcombe), ("score", score), ("exact", exact)):
        assert errors_of(rule, n_c, n_b).max() == pytest.approx(expected, abs=8e-4)
    assert errors_of("exact", n_c, n_b).max() <= 0.05


@pytest.mark.parametrize(
    ("rule", "n", "largest", "mean"),
    [
        ("newcombe", 8, 0.0768, 0.0477),
        ("newcombe", 30, 0.0519, 0.0460),
        ("newcombe", 100, 0.0560, 0.0507),
        ("exact", 8, 0.0279, 0.0224),
        ("exact", 30, 0.0469, 0.0437),
        ("exact", 100, 0.0496, 0.0467),
    ],
)
def test_type_1_error_of_a_rule(rule, n, largest, mean):
    errors = errors_of(rule, n)
    middle = (RATES > 0.0999) & (RATES < 0.9001)
    assert errors.max() == pytest.approx(largest, abs=2e-4)
    assert errors[middle].mean() == pytest.approx(mean, abs=3e-4)


# Probability of "better": base, lift, then overlap, newcombe, score, mid-p, Barnard with 8, 30 and 100 games.
POWER = [
    (0.5, 0.1, (0.006, 0.084, 0.061, 0.033, 0.033), (0.024, 0.120, 0.120, 0.120, 0.113), (0.087, 0.309, 0.309, 0.309, 0.282)),
    (0.5, 0.2, (0.016, 0.161, 0.128, 0.077, 0.077), (0.116, 0.351, 0.351, 0.347, 0.342), (0.548, 0.832, 0.832, 0.832, 0.828)),
    (0.5, 0.3, (0.037, 0.276, 0.244, 0.166, 0.166), (0.370, 0.692, 0.692, 0.679, 0.678), (0.963, 0.995, 0.995, 0.995, 0.995)),
    (0.5, 0.4, (0.076, 0.436, 0.420, 0.335, 0.335), (0.777, 0.949, 0.949, 0.941, 0.941), (1.00, 1.00, 1.00, 1.00, 1.00)),
    (0.25, 0.1, (0.004, 0.066, 0.060, 0.037, 0.037), (0.025, 0.129, 0.129, 0.116, 0.115), (0.109, 0.342, 0.337, 0.337, 0.329)),
    (0.25, 0.2, (0.014, 0.153, 0.131, 0.082, 0.082), (0.120, 0.363, 0.363, 0.349, 0.348), (0.587, 0.849, 0.846, 0.846, 0.843)),
    (0.25, 0.3, (0.042, 0.284, 0.235, 0.155, 0.155), (0.351, 0.670, 0.670, 0.666, 0.661), (0.949, 0.993, 0.993, 0.993, 0.993)),
    (0.125, 0.25, (0.015, 0.181, 0.175, 0.135, 0.135), (0.294, 0.624, 0.625, 0.602, 0.602), (0.923, 0.988, 0.988, 0.988, 0.987)),
    (0.75, 0.1, (0.001, 0.043, 0.042, 0.033, 0.033), (0.029, 0.149, 0.155, 0.144, 0.144), (0.157, 0.420, 0.420, 0.418, 0.415)),
    (0.75, 0.2, (0.003, 0.083, 0.083, 0.077, 0.077), (0.237, 0.571, 0.633, 0.570, 0.583), (0.923, 0.988, 0.988, 0.987, 0.987)),
]  # fmt: skip
COLUMNS = ("overlap", "newcombe", "score", "midp", "barnard")


def test_power_with_8_games():
    better = {rule: decisions(rule, 8) > 0 for rule in COLUMNS}
    for base, lift, expected, *_ in POWER:
        found = [chance(better[rule], base + lift, base) for rule in COLUMNS]
        assert found == pytest.approx(expected, abs=6e-4)


def test_power_with_30_games():
    better = {rule: decisions(rule, 30) > 0 for rule in COLUMNS}
    for base, lift, _, expected, _ in POWER:
        found = [chance(better[rule], base + lift, base) for rule in COLUMNS]
        assert found == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("row", POWER, ids=lambda row: f"{row[0]}+{row[1]}")
def test_power_of_the_rules(row):
    """The same table through the thresholds of the four rules that there are, with 100 games too."""
    base, lift, *expected = row
    for games, (overlap, newcombe, score, _, barnard) in zip((8, 30, 100), expected, strict=True):
        told = {"overlap": overlap, "newcombe": newcombe, "score": score, "exact": barnard}
        found = {rule: power.exact_power(base + lift, base, games, rule=rule)[0] for rule in told}
        assert found == pytest.approx(told, abs=6e-4)


# Games per arm for 80 % power: base, lift, overlap, score.
GAMES = [
    (0.125, 0.10, 371, 223),
    (0.25, 0.20, 146, 89),
    (0.50, 0.10, 645, 392),
    (0.50, 0.20, 154, 94),
    (0.50, 0.30, 64, 39),
    (0.50, 0.40, 31, 19),
    (0.75, 0.20, 78, 45),
]


@pytest.mark.parametrize(("base", "lift", "strict", "score"), GAMES)
def test_games_for_80_percent_power(base, lift, strict, score):
    for rule, n in (("overlap", strict), ("score", score)):
        assert power.exact_power(base + lift, base, n, rule=rule)[0] >= 0.8
        assert power.exact_power(base + lift, base, n - 1, rule=rule)[0] < 0.8
        formula = power.games_formula(base, base + lift, rule=rule)
        assert n == pytest.approx(formula, abs=max(5, 0.006 * n))


# Pairs: type I error (largest over rates) and power for .5 + .2, at within-pair correlations 0, .1, .3, .6.
PAIRED = [
    ("mcnemar_exact", (0.028, 0.026, 0.023, 0.013), (0.258, 0.276, 0.337, 0.521)),
    ("mcnemar_midp", (0.047, 0.045, 0.042, 0.031), (0.334, 0.358, 0.432, 0.671)),
    ("mcnemar_p", (0.048, 0.048, 0.048, 0.048), (0.336, 0.359, 0.434, 0.745)),
]


def pair_rates(p_c, p_b, phi):
    both = p_c * p_b + phi * np.sqrt(p_c * (1 - p_c) * p_b * (1 - p_b))
    return p_c - both, p_b - both


def rejection(mask, only_c, only_b, direction=None):
    """P(rejected) for n pairs, of which only the differing ones matter."""
    n = mask.shape[0] - 1
    total = 0.0
    differing = enumeration.binomial(n, only_c + only_b)
    share = only_c / (only_c + only_b)
    for m in range(1, n + 1):
        heads = enumeration.binomial(m, share)
        for b in range(m + 1):
            if mask[b, m - b] and (direction is None or b > m - b):
                total += differing[m] * heads[b]
    return total


@pytest.mark.parametrize(("test", "type_1", "powers"), PAIRED, ids=[row[0] for row in PAIRED])
def test_pairs(test, type_1, powers):
    n = 30
    function = getattr(paired, test)
    mask = np.array([[b + c <= n and function(b, c) < 0.05 for c in range(n + 1)] for b in range(n + 1)])
    for phi, error, expected in zip((0, 0.1, 0.3, 0.6), type_1, powers, strict=True):
        errors = [rejection(mask, *pair_rates(p, p, phi)) for p in np.linspace(0.01, 0.99, 99)]
        assert max(errors) == pytest.approx(error, abs=8e-4)
        assert rejection(mask, *pair_rates(0.7, 0.5, phi), direction=1) == pytest.approx(expected, abs=8e-4)
