"""Arrays of tables against the golden values, and what they refuse; `property/` holds them against single tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from pytest_evalharness.stats import arrays, difference, proportions

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
SINGLE = json.loads((GOLDEN / "single_proportion.json").read_text())["cases"]
INTERVALS = json.loads((GOLDEN / "diff_unpaired.json").read_text())["cases"]
TESTS = json.loads((GOLDEN / "tests_unpaired.json").read_text())["cases"]
PAIRED = json.loads((GOLDEN / "paired.json").read_text())["cases"]
EQUIVALENCE = json.loads((GOLDEN / "equivalence.json").read_text())["cases"]
ONE_ARM = ["wilson", "wilson_cc", "agresti_coull", "clopper_pearson", "jeffreys", "midp"]
TWO_ARMS = ["newcombe", "newcombe_cc", "agresti_caffo", "miettinen_nurminen", "mee"]
TESTS_OF_ARMS = ["score_z", "score_p", "pooled_z", "fisher", "fisher_midp"]
PAIRS = ["tango", "newcombe_paired", "bonett_price"]
DIFFERING = ["mcnemar_z", "mcnemar_p", "mcnemar_exact", "mcnemar_midp"]


def columns(cases, *keys):
    return [np.array([case[key] for case in cases]) for key in keys]


def expected(cases, key):
    return np.array([case[key] for case in cases], dtype=float)


def by_level(cases, method):
    chosen = [case for case in cases if case["method"] == method]
    assert len(chosen) > 80
    for alpha in sorted({case["alpha"] for case in chosen}):
        yield float(alpha), [case for case in chosen if case["alpha"] == alpha]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([1.0], [2]), "wins must be whole numbers"),
        (([True], [2]), "wins must be whole numbers"),
        (([1], [float("nan")]), "games must be whole numbers"),
        (([-1], [2]), "wins must not be negative"),
        (([1, 3], [2, 2]), "wins must not exceed games, got 3 of 2"),
        ((["1"], [2]), "wins must be whole numbers"),
        ((np.array([2**63], dtype=np.uint64), [2]), "wins must be at most 3,000,000,000 in an array"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ONE_ARM)
def test_invalid_counts_are_refused(method, counts, message):
    with pytest.raises(ValueError, match=message):
        getattr(arrays, method)(*counts)


@pytest.mark.parametrize("method", TWO_ARMS + TESTS_OF_ARMS)
def test_an_arm_without_games_and_too_many_wins_are_refused(method):
    function = getattr(arrays, method)
    with pytest.raises(ValueError, match="baseline games must be at least 1"):
        function([1], [2], [0], [0])
    with pytest.raises(ValueError, match="candidate wins must not exceed candidate games, got 9 of 8"):
        function([1, 9], 8, 2, 8)


@pytest.mark.parametrize("method", PAIRS)
def test_no_pairs_are_refused(method):
    with pytest.raises(ValueError, match="pairs must be at least 1"):
        getattr(arrays, method)([1, 0], 0, 0, 0)
    with pytest.raises(ValueError, match="neither must not be negative"):
        getattr(arrays, method)(1, 1, 1, [-1])


def test_invalid_levels_margins_and_sides_are_refused():
    for method in ONE_ARM:
        with pytest.raises(ValueError, match="alpha"):
            getattr(arrays, method)([1], [2], 0)
    for method in TWO_ARMS + PAIRS:
        with pytest.raises(ValueError, match="alpha"):
            getattr(arrays, method)([1], [2], [0], [1], 1.0)
    for method in DIFFERING:
        with pytest.raises(ValueError, match="only_b must be whole numbers"):
            getattr(arrays, method)([1], [0.5])
    for method in ("noninferiority_p", "nonsuperiority_p", "equivalence_p"):
        with pytest.raises(ValueError, match="margin"):
            getattr(arrays, method)([1], [2], [0], [1], 0.0)
    with pytest.raises(ValueError, match="delta"):
        arrays.score_z([1], [2], [0], [1], 1.0)
    with pytest.raises(ValueError, match="alternative"):
        arrays.fisher([1], [2], [0], [1], "sideways")


@pytest.mark.parametrize("method", ONE_ARM)
def test_every_golden_interval_of_one_arm(method):
    for alpha, cases in by_level(SINGLE, method):
        found = getattr(arrays, method)(*columns(cases, "x", "n"), alpha)
        tiny = 1e-15 if method == "agresti_coull" else 0  # it subtracts, so its limits near 0 are absolute
        np.testing.assert_allclose(np.stack(found, axis=1), expected(cases, "lo_hi"), rtol=1e-10, atol=tiny)


@pytest.mark.parametrize("method", TWO_ARMS)
def test_every_golden_interval_of_two_arms(method):
    for alpha, cases in by_level(INTERVALS, method):
        found = getattr(arrays, method)(*columns(cases, "x1", "n1", "x2", "n2"), alpha)
        np.testing.assert_allclose(np.stack(found, axis=1), expected(cases, "lo_hi"), rtol=1e-10, atol=1e-14)


def test_every_golden_test_of_two_arms():
    table = columns(TESTS, "x1", "n1", "x2", "n2")
    names = {"z_pooled": "pooled_z", "z_score": "score_z", "p_score": "score_p"}
    names |= {"fisher_two_sided": "fisher", "fisher_midp": "fisher_midp"}
    for key, method in names.items():
        np.testing.assert_allclose(
            getattr(arrays, method)(*table), expected(TESTS, key), rtol=1e-10, atol=1e-14
        )
    for side in ("greater", "less"):
        found = arrays.fisher(*table, side)
        np.testing.assert_allclose(found, expected(TESTS, f"fisher_{side}"), rtol=1e-10, atol=1e-14)


def test_every_golden_equivalence():
    for margin in sorted({case["margin"] for case in EQUIVALENCE}):
        cases = [case for case in EQUIVALENCE if case["margin"] == margin]
        table, delta = columns(cases, "x1", "n1", "x2", "n2"), float(margin)
        found = {
            "z_lower": arrays.score_z(*table, -delta),
            "z_upper": arrays.score_z(*table, delta),
            "p_noninferior": arrays.noninferiority_p(*table, delta),
            "p_nonsuperior": arrays.nonsuperiority_p(*table, delta),
            "p_tost": arrays.equivalence_p(*table, delta),
        }
        for key, values in found.items():
            np.testing.assert_allclose(values, expected(cases, key), rtol=1e-10, atol=1e-14)


def test_every_golden_pair():
    table = columns(PAIRED, "a", "b", "c", "d")
    for method in DIFFERING:
        found = getattr(arrays, method)(*table[1:3])
        np.testing.assert_allclose(found, expected(PAIRED, method), rtol=1e-12, atol=1e-15)
    for alpha in ("0.05", "0.10"):
        found = {
            "tango": arrays.tango(*table, float(alpha)),
            "newcombe_m10": arrays.newcombe_paired(*table, float(alpha)),
            "newcombe_m8": arrays.newcombe_paired(*table, float(alpha), corrected=False),
            "bonett_price": arrays.bonett_price(*table, float(alpha)),
        }
        golden = [case[f"alpha_{alpha}"] for case in PAIRED]
        for key, limits in found.items():
            np.testing.assert_allclose(
                np.stack(limits, axis=1), expected(golden, key), rtol=1e-10, atol=1e-13, err_msg=key
            )


def test_counts_are_broadcast():
    lows, _ = arrays.newcombe(np.arange(9)[:, None], 8, np.arange(9)[None, :], 8)
    assert lows.shape == (9, 9)
    assert lows[8, 2] == pytest.approx(difference.newcombe(8, 8, 2, 8)[0])
    assert arrays.wilson([0, 3], 0 + np.array([0, 3]))[1].tolist() == [1.0, 1.0]
    assert arrays.clopper_pearson(np.arange(6).reshape(2, 3), 5)[0].shape == (2, 3)
    assert arrays.fisher(np.arange(6).reshape(2, 3), 5, 2, 5).shape == (2, 3)
    assert arrays.tango([[1], [2]], [3, 4], 2, 1)[0].shape == (2, 2)


@pytest.mark.parametrize("method", ONE_ARM)
def test_numbers_and_nothing_are_arrays_too(method):
    low, high = getattr(arrays, method)(3, 10)
    assert low.shape == high.shape == ()
    assert (low, high) == pytest.approx(getattr(proportions, method)(3, 10))
    assert [limits.tolist() for limits in getattr(arrays, method)([], [])] == [[], []]


def test_numbers_and_nothing_are_tables_too():
    table = 18, 30, 11, 30
    for method in TWO_ARMS:
        limits = getattr(arrays, method)(*table)
        assert [float(limit) for limit in limits] == pytest.approx(getattr(difference, method)(*table))
        assert [limits.shape for limits in getattr(arrays, method)([], [], [], [])] == [(0,), (0,)]
    for method in TESTS_OF_ARMS:
        assert np.shape(getattr(arrays, method)(*table)) == ()
        assert getattr(arrays, method)([], [], [], []).shape == (0,)
    for method in PAIRS:
        assert [np.shape(limit) for limit in getattr(arrays, method)(10, 8, 3, 9)] == [(), ()]
    for method in DIFFERING:
        assert np.shape(getattr(arrays, method)(8, 3)) == ()
    assert np.shape(arrays.equivalence_p(*table, 0.1)) == ()
