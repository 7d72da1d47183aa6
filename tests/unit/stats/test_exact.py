import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from scipy import stats

from pytest_evalharness.stats import boschloo, enumeration, exact

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "exact_unconditional.json").read_text())["cases"]


def table(case):
    return case["x1"], case["n1"], case["x2"], case["n2"]


def test_every_golden_barnard():
    assert len(CASES) > 10
    for case in CASES:
        p, nuisance = exact.barnard_with_nuisance(*table(case))
        assert p == pytest.approx(float(case["barnard_pooled_two_sided"]), abs=1e-11), case
        if case["nuisance"] is not None and p < 1.0:
            expected = float(case["nuisance"])
            assert nuisance == pytest.approx(min(expected, 1 - expected), abs=1e-5), case


def test_every_golden_boschloo():
    for case in CASES:
        x_c, n_c, x_b, n_b = table(case)
        found = [
            boschloo.boschloo_greater(x_c, n_c, x_b, n_b),
            boschloo.boschloo_greater(x_b, n_b, x_c, n_c),
            boschloo.boschloo(x_c, n_c, x_b, n_b),
        ]
        names = ("boschloo_greater", "boschloo_less", "boschloo_two_sided_2min")
        for value, name in zip(found, names, strict=True):
            if case[name] is not None:
                assert value == pytest.approx(float(case[name]), abs=1e-10), (case, name)
        assert found[0] <= exact.fisher(x_c, n_c, x_b, n_b, "greater") + 1e-12


def test_barnard_counts_ties_that_floats_lose():
    # scipy answers .08596 here, because equal statistics differ in their last digit
    assert exact.barnard(18, 30, 11, 30) == pytest.approx(0.09246, abs=5e-6)


def test_barnard_is_the_largest_exact_tail_probability():
    x_c, n_c, x_b, n_b = 6, 7, 2, 6
    s = x_c + x_b
    bar = Fraction((x_c * n_b - x_b * n_c) ** 2, s * (n_c + n_b - s))
    tail = [
        (a, b)
        for a in range(n_c + 1)
        for b in range(n_b + 1)
        if 0 < a + b < n_c + n_b and Fraction((a * n_b - b * n_c) ** 2, (a + b) * (n_c + n_b - a - b)) >= bar
    ]

    def probability(pi):
        mass_c, mass_b = enumeration.binomial(n_c, pi), enumeration.binomial(n_b, pi)
        return sum(mass_c[a] * mass_b[b] for a, b in tail)

    brute = max(probability(i / 2000) for i in range(1, 2000))
    assert exact.barnard(x_c, n_c, x_b, n_b) == pytest.approx(brute, abs=1e-6)
    assert exact.barnard(x_c, n_c, x_b, n_b) >= brute - 1e-12


def test_barnard_of_equal_rates_is_1():
    assert exact.barnard(5, 10, 10, 20) == exact.barnard(0, 3, 0, 5) == exact.barnard(3, 3, 5, 5) == 1.0


def test_fisher_agrees_with_scipy():
    for case in ((18, 30, 11, 30), (0, 5, 3, 9), (8, 100, 0, 100), (7, 8, 3, 8)):
        x_c, n_c, x_b, n_b = case
        square = [[x_c, n_c - x_c], [x_b, n_b - x_b]]
        for alternative in ("two-sided", "greater", "less"):
            theirs = stats.fisher_exact(square, alternative=alternative).pvalue
            assert exact.fisher(*case, alternative) == pytest.approx(theirs, rel=1e-11)


@pytest.mark.parametrize("case", [(3_000, 5_000, 2_900, 5_100), (5, 10**6, 17, 10**6), (40, 9_000, 9, 900)])
def test_fisher_of_large_arms_agrees_with_scipy(case):
    x_c, n_c, x_b, n_b = case
    square = [[x_c, n_c - x_c], [x_b, n_b - x_b]]
    for alternative in ("two-sided", "greater", "less"):
        theirs = stats.fisher_exact(square, alternative=alternative).pvalue
        assert exact.fisher(*case, alternative) == pytest.approx(theirs, rel=1e-8)
    assert 0 < exact.fisher_midp(*case) < exact.fisher(*case)


def test_midp_takes_half_of_the_equally_probable_tables():
    weights = [math.comb(8, k) * math.comb(8, 10 - k) for k in range(2, 9)]
    own = math.comb(8, 7) * math.comb(8, 3)
    smaller = sum(w for w in weights if w < own)
    equal = sum(w for w in weights if w == own)
    assert exact.fisher_midp(7, 8, 3, 8) == pytest.approx((smaller + equal / 2) / sum(weights), rel=1e-14)


def test_an_unknown_alternative_is_refused():
    with pytest.raises(ValueError, match="sideways"):
        exact.fisher(1, 2, 1, 2, "sideways")


@pytest.mark.parametrize("function", [exact.fisher, exact.fisher_midp, exact.barnard, boschloo.boschloo])
def test_invalid_counts_are_refused_by_name(function):
    with pytest.raises(ValueError, match="candidate wins"):
        function(3, 2, 1, 2)
    with pytest.raises(ValueError, match="baseline games"):
        function(1, 2, 0, 0)
