"""A mean over strata: against one stratum's own tests, against numbers by hand, and for its level."""

import math
from itertools import product

import numpy as np
import pytest

from pytest_evalharness.stats.scores import paired_t, permutation_p, sign_flip_p, welch
from pytest_evalharness.stats.stratified import Stratum, smallest_p, stratified_permutation_p, stratified_t
from pytest_evalharness.stats.student import t_critical

A, B = [1.0, 4.0, 2.5, 3.0, 8.0], [0.5, 3.0, 2.0, 1.0, 4.0]


def test_one_stratum_is_the_test_that_it_always_was():
    assert stratified_t([Stratum(A, B)]) == pytest.approx(welch(A, B))
    assert stratified_t([Stratum(A, B, paired=True)]) == pytest.approx(paired_t(A, B))
    assert stratified_permutation_p([Stratum(A, B)]) == permutation_p(A, B)
    assert stratified_permutation_p([Stratum(A, B, paired=True)]) == sign_flip_p(A, B)


def test_two_strata_by_hand():
    pairs, apart = Stratum([2.0, 5.0], [1.0, 2.0], paired=True), Stratum([3.0, 5.0, 7.0], [2.0, 6.0])
    # differences 1 and 3: mean 2, variance 2 over 2 pairs; then 5 - 4 = 1, variances 4/3 and 8/2
    parts, freedoms = [2 / 2, 4 / 3, 8 / 2], [1, 2, 1]
    error = math.sqrt(sum(parts)) / 2
    df = sum(parts) ** 2 / sum(part**2 / one for part, one in zip(parts, freedoms, strict=True))
    found = stratified_t([pairs, apart], 0.10)
    assert found.difference == pytest.approx(1.5)
    assert (found.standard_error, found.df) == pytest.approx((error, df))
    assert found.high - 1.5 == pytest.approx(t_critical(0.10, df) * error)


def test_deals_of_all_strata_are_listed_together():
    strata = [Stratum([2.0, 5.0], [1.0, 2.0], paired=True), Stratum([3.0, 9.0], [2.0, 1.0], paired=True)]
    sums = [(a * 1 + b * 3) / 2 + (c * 1 + d * 8) / 2 for a, b, c, d in product((1, -1), repeat=4)]
    share = sum(abs(one) >= 6.5 for one in sums) / 16
    assert stratified_permutation_p(strata) == share == smallest_p(strata) == 2 / 16


def test_where_nothing_varies_nothing_is_tested():
    found = stratified_t([Stratum([0.3, 0.3], [0.1, 0.1]), Stratum([1.0, 2.0], [0.9, 1.9], paired=True)])
    assert found.p is None or found.p < 1e-9  # pairs apart by rounding only
    assert stratified_t([Stratum([0.3, 0.3], [0.1, 0.1])]).p is None


def test_random_deals_agree_with_listed_ones():
    random = np.random.default_rng(3)
    few = [Stratum(random.normal(size=6).tolist(), random.normal(size=6).tolist(), paired=True)] * 2
    many = [Stratum(one.candidate * 3, one.baseline * 3, paired=True) for one in few]
    listed = stratified_permutation_p(few)
    assert 0.0 < listed <= 1.0
    assert stratified_permutation_p(many, random=np.random.default_rng(1)) <= listed + 0.02
    with pytest.raises(ValueError, match="too many deals"):
        stratified_permutation_p(many)


def test_the_level_is_kept_with_six_strata_of_five_pairs():
    random = np.random.default_rng(20260901)
    scales = [0.02, 0.3, 0.1, 0.05, 0.2, 0.08]  # as unlike as the tasks of a benchmark
    wrong = 0
    for _ in range(1500):
        strata = [
            Stratum((s * random.normal(size=5)).tolist(), (s * random.normal(size=5)).tolist(), paired=True)
            for s in scales
        ]
        wrong += not stratified_t(strata).low <= 0.0 <= stratified_t(strata).high
    assert 0.03 <= wrong / 1500 <= 0.065


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ([], "at least one"),
        ([Stratum([1.0], [1.0, 2.0])], "at least 2"),
        ([Stratum([1.0, 2.0, 3.0], [1.0, 2.0], paired=True)], "equally many"),
        ([Stratum([1.0, math.nan], [1.0, 2.0])], "finite"),
    ],
)
def test_what_is_refused(strata, message):
    with pytest.raises(ValueError, match=message):
        stratified_t(strata)
