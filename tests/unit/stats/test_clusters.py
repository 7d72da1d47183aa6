import math

import numpy as np
import pytest
from scipy import stats

from pytest_evalharness.stats import clusters, difference


def test_the_correlation_of_copies_is_1_and_of_balanced_clusters_negative():
    assert clusters.anova_icc([(5, 5), (0, 5), (5, 5)]) == 1.0
    assert clusters.anova_icc([(1, 2), (1, 2), (1, 2)]) == pytest.approx(-1.0)
    assert clusters.anova_icc([(5, 5), (5, 5)]) == 0.0


def test_the_correlation_by_hand():
    arm = [(4, 5), (1, 5), (3, 5)]
    games = [np.array([1] * x + [0] * (n - x)) for x, n in arm]
    grand = np.concatenate(games).mean()
    msb = sum(5 * (g.mean() - grand) ** 2 for g in games) / 2
    msw = sum(((g - g.mean()) ** 2).sum() for g in games) / 12
    assert clusters.anova_icc(arm) == pytest.approx((msb - msw) / (msb + 4 * msw))


def test_design_effect():
    assert clusters.design_effect(5, 0.2) == pytest.approx(1.8)
    assert clusters.design_effect(5, -0.2) == 1.0
    for bad in ((0.5, 0.1), (5, 1.5), (float("nan"), 0.1), (5, float("nan"))):
        with pytest.raises(ValueError, match="mean_size|correlation"):  # noqa: RUF043
            clusters.design_effect(*bad)


def test_means_are_compared_as_scipy_does():
    candidate, baseline = [(4, 5), (5, 5), (3, 5)], [(2, 5), (1, 5), (3, 5)]
    theirs = stats.ttest_ind([0.8, 1.0, 0.6], [0.4, 0.2, 0.6])
    found = clusters.cluster_means_t(candidate, baseline)
    limits = theirs.confidence_interval()
    assert found.p == pytest.approx(float(theirs.pvalue), rel=1e-10)
    assert (found.low, found.high) == pytest.approx((float(limits.low), float(limits.high)), rel=1e-10)
    assert found.df == 4


def test_without_correlation_only_the_critical_value_differs():
    balanced = [(1, 2)] * 500
    found = clusters.deflated_score(balanced, balanced)
    plain = difference.newcombe(500, 1000, 500, 1000)
    assert (found.low, found.high) == pytest.approx(plain, rel=2e-3)
    assert found.p == pytest.approx(1.0)


def test_copies_count_once():
    copies = [(10, 10), (0, 10), (10, 10), (0, 10)]
    found = clusters.deflated_score(copies, copies)
    assert found.high > difference.newcombe(2, 4, 2, 4)[1]


def test_nothing_that_varies_is_no_test():
    for method in (clusters.deflated_score, clusters.cluster_means_t):
        found = method([(5, 5), (5, 5)], [(5, 5), (5, 5)])
        assert (found.difference, found.p) == (0.0, None)
        assert math.isfinite(found.low)
        assert math.isfinite(found.high)


@pytest.mark.slow
def test_both_methods_keep_their_level_on_six_clusters_of_five():
    random = np.random.default_rng(7)
    runs, shape = 2000, 0.5 * (1 / 0.2 - 1)  # beta-binomial with correlation .2
    rejected = {"deflated": 0, "means": 0}
    for _ in range(runs):
        arms = [[(int(x), 5) for x in random.binomial(5, random.beta(shape, shape, 6))] for _ in range(2)]
        rejected["deflated"] += (clusters.deflated_score(*arms).p or 1) < 0.05
        rejected["means"] += (clusters.cluster_means_t(*arms).p or 1) < 0.05
    error = 3 * math.sqrt(0.05 * 0.95 / runs)
    assert rejected["deflated"] / runs == pytest.approx(0.039, abs=error)
    assert rejected["means"] / runs == pytest.approx(0.055, abs=error)


def test_invalid_clusters_are_refused():
    for method in (clusters.deflated_score, clusters.cluster_means_t):
        with pytest.raises(ValueError, match="at least 2 an arm"):
            method([(1, 2)], [(1, 2), (1, 2)])
        with pytest.raises(ValueError, match="cluster wins"):
            method([(1, 2), (3, 2)], [(1, 2), (1, 2)])
    with pytest.raises(ValueError, match="more than one game"):
        clusters.anova_icc([(1, 1), (0, 1)])
