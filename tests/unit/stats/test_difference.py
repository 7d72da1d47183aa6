import json
from pathlib import Path

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from pytest_evalharness.stats import difference, exact, normal, proportions

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
INTERVALS = json.loads((GOLDEN / "diff_unpaired.json").read_text())["cases"]
TESTS = json.loads((GOLDEN / "tests_unpaired.json").read_text())["cases"]
METHODS = {
    "newcombe": difference.newcombe,
    "newcombe_cc": difference.newcombe_cc,
    "agresti_caffo": difference.agresti_caffo,
    "miettinen_nurminen": difference.miettinen_nurminen,
    "mee": difference.mee,
}


def table(case):
    return case["x1"], case["n1"], case["x2"], case["n2"]


@pytest.mark.parametrize("method", METHODS)
def test_every_golden_interval(method):
    cases = [case for case in INTERVALS if case["method"] == method]
    assert len(cases) > 80
    for case in cases:
        found = METHODS[method](*table(case), float(case["alpha"]))
        # Relative even for the tiny limits of arms of 1e9 games, where the trigonometric cubic fails.
        assert found == pytest.approx(tuple(map(float, case["lo_hi"])), rel=1e-10, abs=1e-14), case


def test_every_golden_test():
    assert len(TESTS) > 40
    for case in TESTS:
        expected = {key: float(case[key]) for key in ("z_pooled", "p_pooled", "z_score", "p_score")}
        pooled = difference.pooled_z(*table(case))
        found = {
            "z_pooled": pooled,
            "p_pooled": normal.two_sided(pooled),
            "z_score": difference.score_z(*table(case)),
            "p_score": difference.score_p(*table(case)),
        }
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-14), case


def test_the_two_wilson_intervals_and_their_overlap():
    words = {0: "none", 1: "candidate", -1: "baseline"}
    for case in TESTS:
        candidate = proportions.wilson(case["x1"], case["n1"])
        baseline = proportions.wilson(case["x2"], case["n2"])
        assert candidate == pytest.approx(tuple(map(float, case["wilson1"])), abs=1e-12)
        assert baseline == pytest.approx(tuple(map(float, case["wilson2"])), abs=1e-12)
        assert words[proportions.separated(candidate, baseline)] == case["separated"]


def test_fisher_in_the_same_tables():
    for case in TESTS:
        found = [
            exact.fisher(*table(case)),
            exact.fisher(*table(case), "greater"),
            exact.fisher(*table(case), "less"),
            exact.fisher_midp(*table(case)),
        ]
        names = ("fisher_two_sided", "fisher_greater", "fisher_less", "fisher_midp")
        for value, name in zip(found, names, strict=True):
            if case[name] is not None:
                assert value == pytest.approx(float(case[name]), rel=1e-10), (case, name)


def test_newcombe_agrees_with_statsmodels():
    for case in ((18, 30, 11, 30), (1, 7, 0, 9), (30, 30, 25, 28)):
        theirs = confint_proportions_2indep(*case, method="newcomb", compare="diff", alpha=0.05)
        assert difference.newcombe(*case) == pytest.approx(tuple(map(float, theirs)), abs=1e-13)


def test_values_to_keep_in_the_head():
    assert difference.miettinen_nurminen(18, 30, 11, 30) == pytest.approx((-0.02163, 0.45982), abs=5e-6)
    assert difference.score_p(18, 30, 11, 30) == pytest.approx(0.0729, abs=5e-5)
    assert difference.miettinen_nurminen(56, 70, 48, 80) == pytest.approx((0.0528, 0.3382), abs=5e-5)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "agresti_caffo"])
def test_an_arm_that_won_all_against_one_that_won_none_ends_exactly_at_1(method):
    low, high = METHODS[method](8, 8, 0, 8)
    assert high == 1.0
    assert 0 < low < 1
    assert METHODS[method](0, 8, 8, 8) == (-high, -low)


def test_the_score_statistic_at_a_limit_is_the_critical_value():
    for case in ((18, 30, 11, 30), (3, 9, 3, 7), (0, 30, 0, 30), (99, 100, 95, 100)):
        low, high = difference.miettinen_nurminen(*case, 0.1)
        z = normal.critical(0.1)
        assert difference.score_z(*case, delta=low) == pytest.approx(z, abs=1e-9)
        assert difference.score_z(*case, delta=high) == pytest.approx(-z, abs=1e-9)


def test_no_variance_is_no_evidence():
    assert difference.score_z(0, 30, 0, 20) == difference.score_z(30, 30, 20, 20) == 0.0
    assert difference.score_p(30, 30, 20, 20) == 1.0
    assert difference.score_z(0, 30, 0, 20, delta=5e-324) == 0.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1, 0, 1, 2), "candidate games"),
        ((1, 2, 0, 0), "baseline games"),
        ((3, 2, 1, 2), "candidate wins"),
        ((1, 2, 3, 2), "baseline wins"),
        ((True, 2, 1, 2), "candidate wins"),
        ((1, 2, 1, 2.0), "baseline games"),
    ],
)
def test_invalid_counts_are_refused_by_name(arguments, name):
    for function in (*METHODS.values(), difference.score_z, difference.score_p, difference.pooled_z):
        with pytest.raises(ValueError, match=name):
            function(*arguments)


@pytest.mark.parametrize("delta", [1, -1, 2.0, float("nan"), True])
def test_a_tested_difference_must_be_possible(delta):
    with pytest.raises(ValueError, match="delta"):
        difference.score_z(1, 2, 1, 2, delta)


@pytest.mark.parametrize("alpha", [0.05, 0.9, 0.999999, 1e-12])
@pytest.mark.parametrize("n", [1, 24, 10**6])
def test_arms_without_a_win_have_the_limits_of_one_arm(n, alpha):
    """The losing arm's rate is 0 then, so that the other limit solves delta^2 = z^2 delta (1 - delta) / n."""
    z = normal.critical(alpha)
    low, high = difference.mee(0, n, 0, n, alpha)
    assert high == pytest.approx(z * z / (n + z * z), rel=1e-12)
    assert low == pytest.approx(-high, rel=1e-12)
