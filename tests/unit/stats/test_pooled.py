import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

from pytest_evalharness.stats import conditional, difference, pooled, student

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "stratified.json").read_text())["cases"]
FOUR = [(12, 30, 9, 30), (18, 30, 15, 30), (20, 30, 18, 30), (14, 30, 12, 30)]


def test_every_golden_case():
    assert len(CASES) >= 5
    for case in CASES:
        tables = [tuple(table) for table in case["tables"]]
        plain, corrected = pooled.cmh(tables), pooled.cmh(tables, correction=0.5)
        rd, se = pooled.mantel_haenszel(tables)
        diff, low, high = pooled.yan_su(tables)
        fixed, random = pooled.fixed_effect(tables), pooled.random_effects(tables)
        found = [*plain, *corrected, rd, se, diff, low, high]
        found += [fixed.difference, fixed.standard_error, fixed.q]
        found += [random.tau_squared, random.difference, random.standard_error]
        yan_su, ivw = case["yan_su"], case["ivw_half_smoothed"]
        expected = [case["cmh_chi2"], case["cmh_p"], case["cmh_chi2_cc"], case["cmh_p_cc"]]
        expected += [case["mh_risk_difference"], case["sato_se"], yan_su["diff"], yan_su["lo"], yan_su["hi"]]
        expected += [ivw[key] for key in ("fe", "fe_se", "Q", "tau2", "re", "re_se")]
        assert found == pytest.approx([float(value) for value in expected], rel=1e-10, abs=1e-12), case[
            "name"
        ]
        odds = pooled.mantel_haenszel_odds(tables)
        wanted = float(case["mh_odds_ratio"])
        assert odds == (pytest.approx(wanted, rel=1e-10) if math.isfinite(wanted) else None)


def test_one_configuration_is_the_ordinary_comparison():
    table = (18, 30, 11, 27)
    chi_square, p = pooled.cmh([table])
    assert p == pytest.approx(difference.score_p(*table), rel=1e-12)
    assert chi_square == pytest.approx(difference.score_z(*table) ** 2, rel=1e-12)
    assert pooled.yan_su([table])[1:] == pytest.approx(difference.newcombe(*table), abs=1e-14)


def test_cmh_agrees_with_statsmodels():
    squares = [np.array([[x_c, n_c - x_c], [x_b, n_b - x_b]]) for x_c, n_c, x_b, n_b in FOUR]
    theirs = StratifiedTable(squares).test_null_odds(correction=False)
    assert pooled.cmh(FOUR) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-11)


def test_the_order_of_configurations_does_not_matter():
    for method in (pooled.cmh, pooled.mantel_haenszel, pooled.yan_su, pooled.fixed_effect, pooled.hksj):
        assert method(FOUR[::-1]) == pytest.approx(method(FOUR), rel=1e-12)


def test_swapping_arms_turns_the_interval_round():
    swapped = [(x_b, n_b, x_c, n_c) for x_c, n_c, x_b, n_b in FOUR]
    for method in (pooled.yan_su, pooled.hksj):
        d, low, high = method(FOUR)
        assert method(swapped) == pytest.approx((-d, -high, -low), abs=1e-12)


def test_hksj_by_hand():
    tables = [(20, 30, 10, 30), (15, 30, 15, 30), (25, 30, 20, 30), (5, 30, 10, 30)]
    random = pooled.random_effects(tables)
    assert random.tau_squared > 0
    assert random.i_squared == pytest.approx(1 - 3 / random.q)
    effects = np.array([10 / 30, 0.0, 5 / 30, -5 / 30])
    rates = np.array([[(x + 0.5) / 31 for x in (t[0], t[2])] for t in tables])
    weights = 1 / ((rates * (1 - rates) / 30).sum(axis=1) + random.tau_squared)
    middle = (weights * effects).sum() / weights.sum()
    error = math.sqrt((weights * (effects - middle) ** 2).sum() / 3 / weights.sum())
    half = float(stats.t.isf(0.025, 3)) * error
    assert pooled.hksj(tables) == pytest.approx((middle, middle - half, middle + half), rel=1e-10)


def test_configurations_that_say_nothing_break_nothing():
    assert pooled.cmh([(30, 30, 30, 30), (0, 30, 0, 30)]) == (0.0, 1.0)
    assert pooled.cmh([(1, 1, 0, 1)])[1] == pytest.approx(difference.score_p(1, 1, 0, 1))
    assert pooled.fixed_effect([(15, 30, 15, 30)]).i_squared == 0.0


def test_configurations_that_agree_to_the_digit_have_the_error_of_their_games():
    same = [(18, 30, 15, 30)] * 4
    average = pooled.random_effects(same)
    half = student.t_critical(0.05, 3) * average.standard_error
    assert half > 0.1
    assert pooled.hksj(same) == pytest.approx((0.1, 0.1 - half, 0.1 + half), rel=1e-10)
    assert pooled.hksj_p(same) > 0.05
    assert pooled.hksj_p([(15, 30, 15, 30)] * 2) == 1.0


@pytest.mark.parametrize("shift", [0, 4, 7, 9])
def test_the_p_value_of_hksj_is_its_intervals(shift):
    tables = [(12 + shift, 30, 9, 30), (18 + shift, 30, 15, 30), (20 + shift, 30, 16, 30), (10, 30, 12, 30)]
    p = pooled.hksj_p(tables)
    for alpha, excluded in ((p * 1.001, True), (p * 0.999, False)):
        _, low, high = pooled.hksj(tables, alpha)
        assert (low > 0 or high < 0) is excluded


def test_the_exact_test_of_one_configuration_is_fishers():
    for table in ((7, 8, 3, 8), (5, 5, 0, 6), (0, 9, 0, 9), (3, 4, 40, 90)):
        x_c, n_c, x_b, n_b = table
        theirs = stats.fisher_exact([[x_c, n_c - x_c], [x_b, n_b - x_b]]).pvalue
        assert conditional.exact_cmh([table]) == pytest.approx(theirs, rel=1e-9)


def test_the_exact_test_counts_every_way_the_wins_can_fall():
    tables = [(3, 3, 1, 3), (2, 3, 0, 2)]
    chances = [
        {k: stats.hypergeom.pmf(k, n_c + n_b, x_c + x_b, n_c) for k in range(n_c + 1)}
        for x_c, n_c, x_b, n_b in tables
    ]
    sums = {}
    for one, other in itertools.product(*chances):
        sums[one + other] = sums.get(one + other, 0.0) + chances[0][one] * chances[1][other]
    expected = sum(chance for chance in sums.values() if chance <= sums[5] * (1 + 1e-9))
    assert conditional.exact_cmh(tables) == pytest.approx(expected, rel=1e-9)
    assert conditional.exact_cmh(tables[::-1]) == conditional.exact_cmh(tables)
    with pytest.raises(ValueError, match="tables must be at least 1"):
        conditional.exact_cmh([])
    with pytest.raises(ValueError, match="baseline wins"):
        conditional.exact_cmh([(1, 2, 3, 2)])


def test_invalid_tables_are_refused():
    for method in (
        pooled.cmh,
        pooled.mantel_haenszel,
        pooled.mantel_haenszel_odds,
        pooled.yan_su,
        pooled.fixed_effect,
        pooled.random_effects,
    ):
        with pytest.raises(ValueError, match="tables must be at least 1"):
            method([])
        with pytest.raises(ValueError, match="baseline wins"):
            method([(1, 2, 3, 2)])
    with pytest.raises(ValueError, match="at least 2"):
        pooled.hksj([(1, 2, 1, 2)])


@pytest.mark.parametrize("df", [1, 1.5, 2.5, 10, 39.9, 40.1, 298.3, 1e4])
@pytest.mark.parametrize("alpha", [1 - 1e-9, 0.9, 0.5, 0.05, 1e-6, 1e-60])
def test_student_agrees_with_scipy(df, alpha):
    t = student.t_critical(alpha, df)
    assert t == pytest.approx(float(stats.t.isf(alpha / 2, df)), rel=1e-10 if alpha < 0.99 else 1e-6)
    assert student.t_two_sided(t, df) == student.t_two_sided(-t, df) == pytest.approx(alpha, rel=1e-10)
    with pytest.raises(ValueError, match="df"):
        student.t_critical(alpha, 0)


def test_student_at_its_ends():
    assert student.t_two_sided(0.0, 3) == 1.0
    assert student.t_two_sided(math.inf, 3) == 0.0
    assert student.t_two_sided(1e300, 1) == pytest.approx(2 / math.pi * 1e-300, rel=1e-12)
    assert student.t_critical(0.5, 1) == pytest.approx(1.0, rel=1e-15)  # Cauchy's quartile
    assert student.t_critical(1e-250, 1) == pytest.approx(2 / math.pi * 1e250, rel=1e-12)
    for alpha in (1e-250, 1e-100, 0.2):  # two degrees of freedom have a closed form
        t = student.t_critical(alpha, 2)
        assert 2 / (2 + t * t + t * math.sqrt(2 + t * t)) == pytest.approx(alpha, rel=1e-12)
    with pytest.raises(OverflowError):
        student.t_critical(1e-250, 0.5)


def test_heterogeneity_is_the_chi_square_tail_of_q():
    for q, k in ((0.0, 4), (3.2, 2), (9.0, 4), (200.0, 30), (1e4, 3)):
        assert pooled.heterogeneity_p(q, k) == pytest.approx(stats.chi2.sf(q, k - 1), rel=1e-12)
    assert pooled.heterogeneity_p(0.0, 1) == pooled.heterogeneity_p(5.0, 1) == 1.0
    assert pooled.heterogeneity_p(float("inf"), 2) == 0.0


@pytest.mark.parametrize(
    ("q", "k", "name"),
    [(-1.0, 3, "q must"), (float("nan"), 3, "q must"), (1.0, 0, "k must"), (1.0, 2.0, "k must")],
)
def test_heterogeneity_refuses_what_is_no_q_and_no_number_of_tables(q, k, name):
    with pytest.raises(ValueError, match=name):
        pooled.heterogeneity_p(q, k)
