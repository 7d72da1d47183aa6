import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pytest_evalharness.stats import scores

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "continuous.json").read_text())["cases"]
RANDOM = np.random.default_rng(11)
SKEWED = list(RANDOM.exponential(2, 30)), list(RANDOM.exponential(3, 28))


def of(kind):
    found = [
        ([float(v) for v in case["a"]], [float(v) for v in case["b"]], case)
        for case in CASES
        if case["kind"] == kind
    ]
    assert found
    return found


def test_every_golden_welch():
    for a, b, case in of("welch"):
        found = scores.welch(a, b)
        expected = [float(case[key]) for key in ("diff", "se", "df", "t", "p", "lo", "hi")]
        mine = [found.difference, found.standard_error, found.df, found.t, found.p, found.low, found.high]
        assert mine == pytest.approx(expected, rel=1e-10)


def test_every_golden_permutation():
    for a, b, case in of("permutation_two_sample_absdiff"):
        assert scores.permutation_p(a, b) == pytest.approx(float(case["p"]), rel=1e-12)
    for a, b, case in of("permutation_signflip_absmean"):
        assert scores.sign_flip_p(a, b) == pytest.approx(float(case["p"]), rel=1e-12)


def test_constant_scores_give_a_difference_and_no_test():
    for a, b, _ in of("welch_degenerate"):
        for method in (scores.welch, scores.paired_t):
            assert method(a, b) == (0.0, 0.0, 0.0, None, None, None, 0.0)
        assert scores.permutation_p(a, b) == scores.sign_flip_p(a, b) == 1.0
    assert scores.welch([0.1] * 7, [0.3] * 7).p is None
    assert scores.welch([0.1] * 7, [0.3] * 7).difference == pytest.approx(-0.2)


def test_welch_and_paired_t_agree_with_scipy():
    theirs = stats.ttest_ind(*SKEWED, equal_var=False)
    found = scores.welch(*SKEWED)
    assert (found.t, found.p) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-10)
    a, b = SKEWED[0][:28], SKEWED[1]
    theirs = stats.ttest_rel(a, b)
    found = scores.paired_t(a, b)
    assert (found.t, found.p) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-10)
    assert found.df == 27


def test_tiny_and_huge_scores_give_numbers():
    for scale in (1e-150, 1e150):
        found = scores.welch([1 * scale, 2 * scale, 4 * scale], [3 * scale, 5 * scale])
        assert found.p == pytest.approx(scores.welch([1, 2, 4], [3, 5]).p)


def test_random_permutations_meet_the_exact_answer():
    a, b = SKEWED[0][:10], SKEWED[1][:10]
    assert math.comb(20, 10) > scores.MOST_ENUMERATED
    found = scores.permutation_p(a, b, 20_000, random=np.random.default_rng(3))
    exact = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.abs(x.mean(axis) - y.mean(axis)),
        n_resamples=np.inf,
        alternative="greater",
    ).pvalue
    assert found == pytest.approx(float(exact), abs=4 * math.sqrt(0.25 / 20_000))
    again = scores.permutation_p(a, b, 20_000, random=np.random.default_rng(3))
    assert again == found


def test_random_sign_flips_meet_the_exact_answer():
    a, b = SKEWED[0][:16], SKEWED[1][:16]
    exact = scores.sign_flip_p(a, b)
    more = scores.sign_flip_p(
        [*a, 1.0], [*b, 1.0], 20_000, random=np.random.default_rng(3)
    )  # one pair that is equal
    assert more == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))


def test_equal_differences_are_ties_whatever_they_round_to():
    assert scores.permutation_p([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]) == 1.0
    # of 20 divisions, the observed one, its mirror image, and no other are this extreme
    assert scores.permutation_p([0.7, 0.8, 0.9], [0.1, 0.2, 0.3]) == pytest.approx(0.1)


def test_invalid_input_is_refused_by_name():
    good = [1.0, 2.0]
    for method in (scores.welch, scores.paired_t, scores.permutation_p, scores.sign_flip_p):
        with pytest.raises(ValueError, match="candidate score 2 must be finite"):
            method([1.0, float("nan")], good)
        with pytest.raises(ValueError, match="baseline scores must be at least 2"):
            method(good, [1.0])
    for method in (scores.paired_t, scores.sign_flip_p):
        with pytest.raises(ValueError, match="equally many"):
            method(good, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="resamples"):
        scores.permutation_p(good, good, 0)
    with pytest.raises(ValueError, match="random must be given"):
        scores.permutation_p(*SKEWED)
    with pytest.raises(ValueError, match="alpha"):
        scores.welch(good, good, 0)
