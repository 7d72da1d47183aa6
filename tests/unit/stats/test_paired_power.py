import numpy as np
import pytest

from pytest_evalharness.stats import enumeration, paired, paired_power, power

# Within-pair correlation, then for 30 pairs: largest type I error of exact, mid-p and z, and their power for .5 + .2.
TABULATED = [
    (0.0, (0.028, 0.047, 0.048), (0.258, 0.334, 0.336)),
    (0.1, (0.026, 0.045, 0.048), (0.276, 0.358, 0.359)),
    (0.3, (0.023, 0.042, 0.048), (0.337, 0.432, 0.434)),
    (0.6, (0.013, 0.031, 0.048), (0.521, 0.671, 0.745)),
]
RULES = ("exact", "midp", "score")


@pytest.mark.parametrize(("phi", "errors", "powers"), TABULATED)
def test_tests_of_30_pairs_as_tabulated(phi, errors, powers):
    for rule, error, found in zip(RULES, errors, powers, strict=True):
        rates = np.linspace(0.01, 0.99, 99)
        largest = max(sum(paired_power.exact_paired_power(p, p, 30, phi, rule=rule)) for p in rates)
        assert largest == pytest.approx(error, abs=8e-4)
        better = paired_power.exact_paired_power(0.7, 0.5, 30, phi, rule=rule)[0]
        assert better == pytest.approx(found, abs=8e-4)


@pytest.mark.parametrize(
    ("phi", "z", "apart"),
    [(0.0, 0.291, 0.087), (0.1, 0.318, 0.076), (0.3, 0.393, 0.053), (0.6, 0.626, 0.017)],
)
def test_100_pairs_as_tabulated(phi, z, apart):
    assert paired_power.exact_paired_power(0.6, 0.5, 100, phi)[0] == pytest.approx(z, abs=6e-4)
    assert paired_power.separated_pairs(0.6, 0.5, 100, phi)[0] == pytest.approx(apart, abs=6e-4)


def test_without_correlation_the_overlap_of_pairs_is_that_of_independent_arms():
    found = paired_power.separated_pairs(0.7, 0.45, 30, 0.0)
    assert found == pytest.approx(power.exact_power(0.7, 0.45, 30, rule="overlap"), abs=1e-12)


@pytest.mark.parametrize(
    "rates", [(0.7, 0.5, 0.3), (0.5, 0.5, 0.0), (1.0, 0.5, 0.9), (0.95, 0.5, 0.9), (0.0, 0.0, 0.5)]
)
def test_the_rates_of_differing_pairs_fit_the_arms(rates):
    p_c, p_b, phi = rates
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    assert only_c - only_b == pytest.approx(p_c - p_b)
    assert min(only_c, only_b) >= 0
    assert only_c + only_b <= 1


def test_a_correlation_that_two_rates_cannot_have_is_lowered():
    assert paired_power.pair_rates(0.95, 0.5, 0.9) == pytest.approx((0.45, 0.0))


@pytest.mark.parametrize("delta", [-0.2, 0.1])
@pytest.mark.parametrize("z", [-1.645, 1.645])
def test_shifted_thresholds_are_tangos_statistic(delta, z):
    n = 14
    up = paired_power.shifted_pairs(n, delta, z)
    for c in range(n + 1):
        for b in range(n - c + 1):
            assert (paired.score_z(0, b, c, n - b - c, delta) > z) == (b >= up[c])


def test_thresholds_are_the_tests():
    n = 15
    for rule, test in (
        ("score", paired.mcnemar_p),
        ("exact", paired.mcnemar_exact),
        ("midp", paired.mcnemar_midp),
    ):
        up = paired_power.winning_pairs(n, rule, 0.05)
        for c in range(n + 1):
            for b in range(n - c + 1):
                assert (b > c and test(b, c) <= 0.05) == (b >= up[c])


def test_margins_are_those_of_tango():
    n, p_c, p_b, phi = 16, 0.55, 0.5, 0.3
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    noninferior = inside = 0.0
    for c, mass in enumerate(enumeration.binomial(n, only_b)):
        for b, share in enumerate(enumeration.binomial(n - c, only_c / (1 - only_b))):
            low, high = paired.tango(0, b, c, n - b - c, 0.10)
            noninferior += mass * share * (low > -0.4)
            inside += mass * share * (low > -0.4 and high < 0.4)
    found = paired_power.paired_margin_power(p_c, p_b, n, phi, 0.4)
    assert found == pytest.approx((noninferior, inside), abs=1e-12)
    assert 0 < inside < noninferior < 1


def test_the_detectable_lift_is_found_with_80_percent_power():
    for phi in (0.0, 0.3, 0.6):
        lift = paired_power.detectable_paired_lift(0.5, 30, phi)
        assert paired_power.exact_paired_power(0.5 + lift, 0.5, 30, phi)[0] == pytest.approx(0.8, abs=1e-5)
    assert paired_power.detectable_paired_lift(0.5, 4, 0.3) is None


def test_invalid_input_is_refused_by_name():
    for call, name in (
        (lambda: paired_power.pair_rates(1.5, 0.5, 0.1), "p_cand"),
        (lambda: paired_power.pair_rates(0.5, 0.5, 1.0), "correlation"),
        (lambda: paired_power.pair_rates(0.5, 0.5, -0.1), "correlation"),
        (lambda: paired_power.winning_pairs(3, "coin"), "rule"),
        (lambda: paired_power.winning_pairs(0), "n must"),
        (lambda: paired_power.winning_pairs(3, alpha=2.0), "alpha"),
    ):
        with pytest.raises(ValueError, match=name):
            call()
