"""p-values of rules about intervals: at most alpha exactly when the rule decides at alpha."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_evalharness.stats import difference, dual, normal, paired, proportions

fixed = settings(derandomize=True, deadline=None, max_examples=300)
LEVELS = st.one_of(st.floats(1e-12, 0.9999), st.sampled_from([0.05, 0.10, 1e-100]))


@st.composite
def arms(draw):
    games = st.one_of(st.integers(1, 12), st.integers(1, 300), st.sampled_from([10**6, 10**9]))
    n_c, n_b = draw(games), draw(games)
    return draw(st.integers(0, n_c)), n_c, draw(st.integers(0, n_b)), n_b


@st.composite
def pairs(draw):
    largest = draw(st.sampled_from([3, 30, 400, 10**9 // 4]))
    cells = [draw(st.one_of(st.integers(0, 3), st.integers(0, largest))) for _ in range(4)]
    assume(sum(cells))
    return cells


def overlap_decides(table, alpha):
    x_c, n_c, x_b, n_b = table
    candidate, baseline = proportions.wilson(x_c, n_c, alpha), proportions.wilson(x_b, n_b, alpha)
    return proportions.separated(candidate, baseline) != 0


def excludes_0(interval):
    def decides(table, alpha):
        low, high = interval(*table, alpha)
        return low > 0.0 or high < 0.0

    return decides


def uncorrected(*table):
    return paired.newcombe_paired(*table, corrected=False)


UNPAIRED = [(dual.overlap_p, overlap_decides), (dual.newcombe_p, excludes_0(difference.newcombe))]
PAIRED = [
    (dual.newcombe_paired_p, excludes_0(paired.newcombe_paired)),
    (lambda *table: dual.newcombe_paired_p(*table, corrected=False), excludes_0(uncorrected)),
]


@pytest.mark.parametrize("function", [dual.overlap_p, dual.newcombe_p])
def test_invalid_arms_are_refused_by_name(function):
    for table, name in (
        ((4, 3, 0, 3), "candidate wins"),
        ((1, 3, -1, 3), "baseline wins"),
        ((0, 0, 1, 3), "candidate games must be at least 1"),
        ((1, 3, 0, 0), "baseline games must be at least 1"),
        ((1.0, 3, 0, 3), "candidate wins"),
        ((True, 3, 0, 3), "candidate wins"),
    ):
        with pytest.raises(ValueError, match=name):
            function(*table)


def test_invalid_pairs_are_refused_by_name():
    for table, name in (((0, 0, 0, 0), "pairs"), ((1, -1, 0, 0), "only_c"), ((1, 1, 0.5, 0), "only_b")):
        with pytest.raises(ValueError, match=name):
            dual.newcombe_paired_p(*table)


def assert_dual(p, table, alpha, decides):
    assert 0.0 <= p <= 1.0
    z = normal.critical(alpha)
    # Away from the tie: a rule that subtracts limits of 1e9 games has seven digits of z left.
    if p == 0.0 or (p < 1.0 and abs(normal.critical(p) / z - 1.0) > 1e-6) or p == 1.0:
        assert (p <= alpha) == decides(table, alpha)


@pytest.mark.parametrize(("function", "decides"), UNPAIRED, ids=["overlap", "newcombe"])
@fixed
@given(table=arms(), alpha=LEVELS)
def test_p_is_at_most_alpha_exactly_when_the_rule_decides(function, decides, table, alpha):
    assert_dual(function(*table), table, alpha, decides)


@pytest.mark.parametrize(("function", "decides"), PAIRED, ids=["corrected", "uncorrected"])
@fixed
@given(table=pairs(), alpha=LEVELS)
def test_p_of_pairs_is_at_most_alpha_exactly_when_the_rule_decides(function, decides, table, alpha):
    assert_dual(function(*table), table, alpha, decides)


@pytest.mark.parametrize(("function", "decides"), UNPAIRED, ids=["overlap", "newcombe"])
def test_p_decides_as_the_rule_does_at_5_percent_for_every_table_of_equal_and_unequal_arms(function, decides):
    for n_c, n_b in ((1, 1), (5, 5), (8, 8), (13, 7), (20, 29), (30, 30), (30, 27), (30, 15), (12, 30)):
        for x_c in range(n_c + 1):
            for x_b in range(n_b + 1):
                table = x_c, n_c, x_b, n_b
                assert (function(*table) <= 0.05) == decides(table, 0.05), table


def test_p_of_pairs_decides_as_the_rule_does_at_5_percent_for_every_table_of_up_to_30():
    function, decides = PAIRED[0]
    for n in (1, 2, 5, 9, 16, 30):
        for b in range(n + 1):
            for c in range(n - b + 1):
                for a in range(n - b - c + 1):
                    table = a, b, c, n - a - b - c
                    assert (function(*table) <= 0.05) == decides(table, 0.05), table


@pytest.mark.parametrize("n", [1, 8, 30, 57, 10**9])
def test_the_overlap_of_equal_arms_is_the_pooled_z_over_the_root_of_2(n):
    for x_c, x_b in ((n, 0), (n // 2, n // 3), (0, 1), (n, n - 1)):
        z = difference.pooled_z(x_c, n, x_b, n)
        assert dual.overlap_p(x_c, n, x_b, n) == pytest.approx(normal.two_sided(z / math.sqrt(2)), rel=1e-9)


def test_equal_rates_have_a_p_of_1():
    for table in ((0, 5, 0, 9), (3, 6, 10, 20), (7, 7, 2, 2)):
        assert dual.overlap_p(*table) == dual.newcombe_p(*table) == 1.0
    for table in ((3, 0, 0, 2), (1, 4, 4, 0), (0, 0, 0, 1), (5, 0, 0, 0)):
        assert dual.newcombe_paired_p(*table) == 1.0


@fixed
@given(arms())
def test_swapping_arms_or_wins_with_losses_keeps_p(table):
    x_c, n_c, x_b, n_b = table
    for function in (dual.overlap_p, dual.newcombe_p):
        p = function(*table)
        assert function(x_b, n_b, x_c, n_c) == pytest.approx(p, rel=1e-6)
        assert function(n_c - x_c, n_c, n_b - x_b, n_b) == pytest.approx(p, rel=1e-6)
    # the stricter rule has the larger p
    assert dual.overlap_p(*table) >= dual.newcombe_p(*table) * (1.0 - 1e-6)


def test_pairs_without_correlation_have_the_unpaired_p():
    assert dual.newcombe_paired_p(6, 9, 4, 6) == pytest.approx(dual.newcombe_p(15, 25, 10, 25), rel=1e-12)
    mirrored = dual.newcombe_paired_p(6, 4, 9, 6)
    assert mirrored == pytest.approx(dual.newcombe_p(15, 25, 10, 25), rel=1e-12)
