"""What must hold for every table, not only for the golden ones."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.stats import difference, enumeration, exact, normal, proportions

fixed = settings(derandomize=True, deadline=None)

LEVELS = st.one_of(st.floats(1e-6, 0.9), st.sampled_from([0.05, 0.10, 1e-12, 1e-100, 1e-300]))
DIFFERENCES = [difference.newcombe, difference.miettinen_nurminen, difference.mee]
ROUNDING = 1e-9


@st.composite
def an_arm(draw, most=300):
    n = draw(st.one_of(st.integers(1, 12), st.integers(1, most), st.sampled_from([10**6, 10**9])))
    return draw(st.integers(0, n)), n


@st.composite
def two_arms(draw):
    return *draw(an_arm()), *draw(an_arm())


@fixed
@given(an_arm(), LEVELS)
def test_wilson_lies_in_0_1_around_the_rate(arm, alpha):
    x, n = arm
    low, high = proportions.wilson(x, n, alpha)
    assert 0.0 <= low <= x / n <= high <= 1.0
    assert (low == 0.0) == (x == 0)
    assert (high == 1.0) == (x == n) or n > 10**6  # the last double below 1 may round to it


@fixed
@given(an_arm(), LEVELS)
def test_wilson_of_losses_is_the_mirror_image(arm, alpha):
    x, n = arm
    low, high = proportions.wilson(x, n, alpha)
    assert proportions.wilson(n - x, n, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-15)


@fixed
@given(an_arm(), LEVELS, LEVELS)
def test_wilson_narrows_as_alpha_grows(arm, alpha, other):
    narrow, wide = (proportions.wilson(*arm, level) for level in sorted((alpha, other), reverse=True))
    assert wide[0] <= narrow[0] + 1e-15
    assert narrow[1] <= wide[1] + 1e-15


@fixed
@given(an_arm())
def test_one_more_win_never_lowers_a_wilson_limit(arm):
    x, n = arm
    before, after = proportions.wilson(x, n + 1), proportions.wilson(x + 1, n + 1)
    assert before[0] <= after[0]
    assert before[1] <= after[1] + 1e-15


@pytest.mark.parametrize("interval", DIFFERENCES)
@fixed
@given(two_arms(), LEVELS)
def test_a_difference_lies_in_its_interval_and_that_in_minus_1_to_1(interval, table, alpha):
    low, high = interval(*table, alpha)
    x_c, n_c, x_b, n_b = table
    d = x_c / n_c - x_b / n_b
    assert -1.0 <= low <= d + 1e-15
    assert d - 1e-15 <= high <= 1.0
    assert math.isfinite(low)
    assert math.isfinite(high)


@pytest.mark.parametrize("interval", DIFFERENCES)
@fixed
@given(two_arms(), LEVELS)
def test_swapping_arms_or_wins_with_losses_turns_the_interval_round(interval, table, alpha):
    x_c, n_c, x_b, n_b = table
    low, high = interval(*table, alpha)
    assert interval(x_b, n_b, x_c, n_c, alpha) == pytest.approx((-high, -low), abs=ROUNDING)
    assert interval(n_c - x_c, n_c, n_b - x_b, n_b, alpha) == pytest.approx((-high, -low), abs=ROUNDING)


@pytest.mark.parametrize("interval", DIFFERENCES)
@fixed
@given(two_arms(), LEVELS, LEVELS)
def test_a_difference_interval_narrows_as_alpha_grows(interval, table, alpha, other):
    narrow, wide = (interval(*table, level) for level in sorted((alpha, other), reverse=True))
    assert wide[0] <= narrow[0] + ROUNDING
    assert narrow[1] <= wide[1] + ROUNDING


@pytest.mark.parametrize("interval", DIFFERENCES)
@fixed
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_one_more_win_of_the_candidate_never_lowers_a_limit(interval, n_c, n_b, data):
    x_c, x_b = data.draw(st.integers(0, n_c - 1)), data.draw(st.integers(0, n_b))
    before, after = interval(x_c, n_c, x_b, n_b), interval(x_c + 1, n_c, x_b, n_b)
    assert before[0] <= after[0] + ROUNDING
    assert before[1] <= after[1] + ROUNDING


@fixed
@given(two_arms(), st.floats(-0.99, 0.99))
def test_the_score_statistic_is_finite_and_mirrors(table, delta):
    x_c, n_c, x_b, n_b = table
    z = difference.score_z(*table, delta)
    assert math.isfinite(z)
    assert difference.score_z(x_b, n_b, x_c, n_c, -delta) == pytest.approx(-z, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("n_c", "n_b"), [(5, 5), (8, 8), (13, 7), (30, 30), (30, 27), (41, 12)])
@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_the_interval_excludes_0_exactly_when_p_is_below_alpha(n_c, n_b, alpha):
    for x_c in range(n_c + 1):
        for x_b in range(n_b + 1):
            low, high = difference.miettinen_nurminen(x_c, n_c, x_b, n_b, alpha)
            p = difference.score_p(x_c, n_c, x_b, n_b)
            assert (low > 0 or high < 0) == (p < alpha), (x_c, x_b)


@pytest.mark.parametrize(("n_c", "n_b"), [(8, 8), (13, 7), (30, 30), (100, 10), (57, 100)])
def test_separated_arms_differ_by_every_difference_interval(n_c, n_b):
    candidates = [(x, proportions.wilson(x, n_c)) for x in range(n_c + 1)]
    baselines = [(x, proportions.wilson(x, n_b)) for x in range(n_b + 1)]
    for x_c, candidate in candidates:
        for x_b, baseline in baselines:
            towards = proportions.separated(candidate, baseline)
            if towards:
                for interval in (difference.newcombe, difference.miettinen_nurminen):
                    low, high = interval(x_c, n_c, x_b, n_b)
                    assert (low > 0) if towards > 0 else (high < 0), (x_c, x_b)


@pytest.mark.parametrize("n", [5, 8, 13, 30, 57, 100])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_no_overlap_of_equal_arms_is_a_z_test_at_sqrt_2_times_z(n, alpha):
    bar = math.sqrt(2) * normal.critical(alpha)
    intervals = [proportions.wilson(x, n, alpha) for x in range(n + 1)]
    for x_c in range(n + 1):
        for x_b in range(n + 1):
            apart = proportions.separated(intervals[x_c], intervals[x_b]) != 0
            assert apart == (abs(difference.pooled_z(x_c, n, x_b, n)) > bar), (x_c, x_b)


@settings(fixed, max_examples=60)
@given(st.integers(1, 25), st.integers(1, 25), st.data())
def test_exact_p_values_are_probabilities_and_mirror(n_c, n_b, data):
    x_c, x_b = data.draw(st.integers(0, n_c)), data.draw(st.integers(0, n_b))
    for test in (exact.fisher, exact.fisher_midp, exact.barnard):
        p = test(x_c, n_c, x_b, n_b)
        assert 0.0 <= p <= 1.0
        assert test(x_b, n_b, x_c, n_c) == pytest.approx(p, rel=1e-9)
        assert test(n_c - x_c, n_c, n_b - x_b, n_b) == pytest.approx(p, rel=1e-9)
    assert exact.fisher_midp(x_c, n_c, x_b, n_b) <= exact.fisher(x_c, n_c, x_b, n_b)
    one_sided = [exact.fisher(x_c, n_c, x_b, n_b, side) for side in ("greater", "less")]
    assert sum(one_sided) >= 1.0 - 1e-12


@pytest.mark.parametrize(("n_c", "n_b"), [(5, 5), (8, 8), (9, 6), (12, 12)])
def test_barnard_never_rejects_a_true_hypothesis_too_often(n_c, n_b):
    rejected = [
        (x_c, x_b)
        for x_c in range(n_c + 1)
        for x_b in range(n_b + 1)
        if exact.barnard(x_c, n_c, x_b, n_b) <= 0.05
    ]
    for step in range(1, 100):
        mass_c, mass_b = enumeration.binomial(n_c, step / 100), enumeration.binomial(n_b, step / 100)
        assert sum(mass_c[x_c] * mass_b[x_b] for x_c, x_b in rejected) <= 0.05 + 1e-9
