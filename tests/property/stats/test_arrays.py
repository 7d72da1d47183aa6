"""An array of tables gives what its tables give one by one, whatever the counts and the level."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_evalharness.stats import arrays, difference, equivalence, exact, paired, proportions

fixed = settings(derandomize=True, deadline=None, max_examples=60)

LEVELS = st.one_of(st.floats(1e-6, 0.99), st.sampled_from([0.05, 0.10, 1e-12, 1e-100, 1e-300, 0.999999]))
GAMES = st.one_of(st.integers(1, 12), st.integers(1, 300), st.sampled_from([10**5, 10**6, 10**9]))
EXACT, SEARCHED = 1e-12, 1e-10


@st.composite
def an_arm(draw, least=0):
    n = draw(st.one_of(st.just(least), GAMES))
    return draw(st.one_of(st.integers(0, n), st.sampled_from([0, n]))), n


@st.composite
def two_arms(draw):
    return *draw(an_arm(1)), *draw(an_arm(1))


@st.composite
def some_pairs(draw):
    largest = draw(st.sampled_from([3, 30, 400, 10**9 // 4]))
    table = tuple(draw(st.one_of(st.integers(0, 2), st.integers(0, largest))) for _ in range(4))
    assume(sum(table))
    return table


def lists(tables):
    return st.lists(tables, min_size=1, max_size=6)


def assert_same(found, singles, tolerance, smallest):
    """Element by element; nothing is ever not a number."""
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, singles, rtol=tolerance, atol=smallest)
    ends = np.isin(singles, (-1.0, 0.0, 1.0)) | np.isin(found, (-1.0, 1.0))
    assert (np.asarray(found)[ends] == np.asarray(singles)[ends]).all() or smallest > 0.0


ONE_ARM = [
    ("wilson", EXACT, 0.0),
    ("wilson_cc", EXACT, 0.0),
    ("agresti_coull", EXACT, 1e-15),  # it subtracts
    ("clopper_pearson", EXACT, 0.0),
    ("jeffreys", EXACT, 0.0),
    ("midp", EXACT, 0.0),
]


@pytest.mark.parametrize(("method", "tolerance", "smallest"), ONE_ARM)
@fixed
@given(tables=lists(an_arm()), alpha=LEVELS)
def test_intervals_of_one_arm(method, tolerance, smallest, tables, alpha):
    found = np.stack(getattr(arrays, method)(*zip(*tables, strict=True), alpha), axis=1)
    singles = [getattr(proportions, method)(*table, alpha) for table in tables]
    assert_same(found, singles, tolerance, smallest)


# Limits that are differences of rates: what is left after subtracting has the absolute accuracy of a rate.
TWO_ARMS = [
    ("newcombe", EXACT, 1e-15),
    ("newcombe_cc", EXACT, 1e-15),
    ("agresti_caffo", EXACT, 1e-15),
    ("miettinen_nurminen", SEARCHED, 1e-14),
    ("mee", SEARCHED, 1e-14),
]


@pytest.mark.parametrize(("method", "tolerance", "smallest"), TWO_ARMS)
@fixed
@given(tables=lists(two_arms()), alpha=LEVELS)
def test_intervals_of_two_arms(method, tolerance, smallest, tables, alpha):
    found = np.stack(getattr(arrays, method)(*zip(*tables, strict=True), alpha), axis=1)
    singles = [getattr(difference, method)(*table, alpha) for table in tables]
    assert_same(found, singles, tolerance, smallest)
    assert (found[:, 0] >= -1.0).all()
    assert (found[:, 1] <= 1.0).all()


@fixed
@given(tables=lists(two_arms()), delta=st.one_of(st.just(0.0), st.floats(-0.99, 0.99)))
def test_statistics_of_two_arms(tables, delta):
    rows = list(zip(*tables, strict=True))
    assert_same(
        arrays.score_z(*rows, delta), [difference.score_z(*table, delta) for table in tables], 1e-10, 1e-13
    )
    for method in ("score_z", "pooled_z"):
        assert_same(
            getattr(arrays, method)(*rows),
            [getattr(difference, method)(*table) for table in tables],
            EXACT,
            0.0,
        )
    assert_same(arrays.score_p(*rows), [difference.score_p(*table) for table in tables], 1e-11, 1e-300)


@fixed
@given(tables=lists(two_arms()), margin=st.floats(0.001, 0.99))
def test_p_values_of_a_margin(tables, margin):
    rows = list(zip(*tables, strict=True))
    for method in ("noninferiority_p", "nonsuperiority_p", "equivalence_p"):
        singles = [getattr(equivalence, method)(*table, margin) for table in tables]
        assert_same(getattr(arrays, method)(*rows, margin), singles, 1e-9, 1e-13)


@fixed
@given(tables=lists(st.tuples(an_arm(1), an_arm(1)).filter(lambda arms: arms[0][1] + arms[1][1] <= 700)))
def test_fishers_p_values(tables):
    tables = [(*candidate, *baseline) for candidate, baseline in tables]
    rows = list(zip(*tables, strict=True))
    for method in ("fisher", "fisher_midp"):
        assert getattr(arrays, method)(*rows).tolist() == [getattr(exact, method)(*table) for table in tables]


@pytest.mark.parametrize("method", ["mcnemar_z", "mcnemar_p", "mcnemar_exact", "mcnemar_midp"])
@fixed
@given(tables=lists(some_pairs()))
def test_tests_of_pairs(method, tables):
    _, only_c, only_b, _ = zip(*tables, strict=True)
    singles = [getattr(paired, method)(b, c) for _, b, c, _ in tables]
    assert_same(getattr(arrays, method)(only_c, only_b), singles, 1e-11, 1e-300)


@pytest.mark.parametrize(
    ("method", "tolerance", "smallest"),
    [("tango", SEARCHED, 1e-14), ("newcombe_paired", EXACT, 1e-13), ("bonett_price", EXACT, 1e-15)],
)
@fixed
@given(tables=lists(some_pairs()), alpha=LEVELS)
def test_intervals_of_pairs(method, tolerance, smallest, tables, alpha):
    found = np.stack(getattr(arrays, method)(*zip(*tables, strict=True), alpha), axis=1)
    singles = [getattr(paired, method)(*table, alpha) for table in tables]
    assert_same(found, singles, tolerance, smallest)


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_every_table_of_two_equal_arms(n, alpha):
    tables = [(x_c, n, x_b, n) for x_c in range(n + 1) for x_b in range(n + 1)]
    rows = list(zip(*tables, strict=True))
    for method, tolerance, smallest in TWO_ARMS:
        singles = [getattr(difference, method)(*table, alpha) for table in tables]
        assert_same(np.stack(getattr(arrays, method)(*rows, alpha), axis=1), singles, tolerance, smallest)
