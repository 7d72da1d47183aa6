import pytest
from scipy import stats

from pytest_evalharness.stats import normal


@pytest.mark.parametrize(
    "alpha", [0.999999, 0.9, 0.51, 0.5, 0.32, 0.1, 0.05, 0.01, 1e-6, 1e-12, 1e-100, 1e-300]
)
def test_the_critical_value_agrees_with_scipy(alpha):
    # scipy halves alpha, which is exact, and inverts the upper tail
    assert normal.critical(alpha) == pytest.approx(
        stats.norm.isf(alpha / 2), rel=1e-13 if alpha < 0.9 else 1e-9
    )


@pytest.mark.parametrize("alpha", [0.999999, 0.7, 0.05, 1e-12, 1e-200, 1e-300])
def test_the_tail_beyond_the_critical_value_is_alpha(alpha):
    assert normal.two_sided(normal.critical(alpha)) == pytest.approx(alpha, rel=1e-11)


def test_even_the_smallest_number_has_a_finite_critical_value():
    assert 38 < normal.critical(5e-324) < 39


@pytest.mark.parametrize("p", [1e-300, 0.01, 0.05, 0.3, 0.5, 0.8, 0.975, 1 - 1e-12])
def test_the_quantile_agrees_with_scipy(p):
    assert normal.quantile(p) == pytest.approx(stats.norm.isf(p), rel=1e-12, abs=1e-15)


def test_tails_are_those_of_the_normal_distribution():
    assert normal.upper_tail(0.0) == 0.5
    assert normal.upper_tail(1.5) == pytest.approx(stats.norm.sf(1.5), rel=1e-14)
    assert normal.upper_tail(-1.5) == pytest.approx(stats.norm.sf(-1.5), rel=1e-14)
    assert normal.two_sided(-2.0) == normal.two_sided(2.0) == pytest.approx(2 * stats.norm.sf(2), rel=1e-14)


@pytest.mark.parametrize("alpha", [0, 1, -0.05, 1.5, float("nan"), float("inf"), True, "0.05", None, 1 + 2j])
def test_a_level_must_lie_between_0_and_1(alpha):
    with pytest.raises(ValueError, match="alpha"):
        normal.critical(alpha)
