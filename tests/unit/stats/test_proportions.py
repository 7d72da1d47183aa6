import json
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from pytest_evalharness.stats import proportions

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "single_proportion.json").read_text())["cases"]
INVALID = json.loads((GOLDEN / "invalid_inputs.json").read_text())["cases"]
METHODS = {
    "wilson": proportions.wilson,
    "wilson_cc": proportions.wilson_cc,
    "agresti_coull": proportions.agresti_coull,
    "clopper_pearson": proportions.clopper_pearson,
    "jeffreys": proportions.jeffreys,
    "midp": proportions.midp,
}


@pytest.mark.parametrize("method", METHODS)
def test_every_golden_interval(method):
    cases = [case for case in CASES if case["method"] == method]
    assert len(cases) > 90
    for case in cases:
        found = METHODS[method](case["x"], case["n"], float(case["alpha"]))
        expected = tuple(map(float, case["lo_hi"]))
        # absolute, and relative where the limit itself is tiny
        tiny = (
            1e-15 if method == "agresti_coull" else 0
        )  # it subtracts, so its limits near 0 and 1 are absolute
        assert found == pytest.approx(expected, rel=1e-10, abs=tiny), case


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", INVALID, ids=str)
def test_invalid_input_is_refused_by_name(method, case):
    x = float("nan") if case["x"] == "nan" else case["x"]
    with pytest.raises(ValueError, match=r"wins|games|alpha"):
        METHODS[method](x, case["n"], case.get("alpha", 0.05))


@pytest.mark.parametrize("value", [2.0, "3", None, np.float64(3), np.True_, np.nan])
def test_what_is_no_whole_number_is_no_count(value):
    with pytest.raises(ValueError, match="wins must be a whole number"):
        proportions.wilson(value, 10)
    with pytest.raises(ValueError, match="games must be a whole number"):
        proportions.wilson(1, value)


def test_integers_of_any_library_count():
    assert proportions.wilson(np.int32(18), np.uint64(30)) == proportions.wilson(18, 30)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "agresti_coull"])
@pytest.mark.parametrize("alpha", [0.05, 1e-300, 0.999999])
@pytest.mark.parametrize("n", [1, 8, 30, 10**9])
def test_no_win_and_no_loss_end_exactly_at_0_and_1(method, n, alpha):
    interval = METHODS[method]
    assert interval(0, n, alpha)[0] == 0.0
    assert interval(n, n, alpha)[1] == 1.0
    assert interval(0, n, alpha)[1] <= 1.0
    assert interval(n, n, alpha)[0] >= 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.999, 0.05, 1e-12, 1e-100, 1e-300])
@pytest.mark.parametrize("n", [2, 8, 1000, 10**9])
def test_every_limit_is_a_number_around_the_rate(method, n, alpha):
    for x in {0, 1, n // 3, n - 1, n}:
        low, high = METHODS[method](x, n, alpha)
        assert 0.0 <= low <= 1.0
        assert 0.0 <= high <= 1.0
        if method not in ("agresti_coull", "jeffreys", "midp"):  # those may miss it at an alpha near 1
            assert low <= x / n <= high
        assert low < high


@pytest.mark.parametrize("method", METHODS)
def test_no_games_say_nothing(method):
    assert METHODS[method](0, 0) == (0.0, 1.0)


def test_exact_limits_hold_their_tail_where_the_library_gives_nan():
    low, high = proportions.clopper_pearson(3, 8, 1e-300)
    assert 56 * low**3 == pytest.approx(5e-301, rel=1e-9)  # C(8, 3) p^3, for p near 0
    assert (low, high) == pytest.approx((2.07e-101, 1.0), rel=1e-2)


def test_wilson_agrees_with_statsmodels():
    for n in (1, 7, 30, 333):
        for x in range(n + 1):
            ours = proportions.wilson(x, n, 0.1)
            theirs = proportion_confint(x, n, alpha=0.1, method="wilson")
            assert ours == pytest.approx(tuple(map(float, theirs)), abs=1e-14)


def test_separated_needs_a_gap():
    assert proportions.separated((0.5, 0.7), (0.1, 0.4)) == 1
    assert proportions.separated((0.1, 0.4), (0.5, 0.7)) == -1
    assert proportions.separated((0.1, 0.5), (0.5, 0.7)) == 0
    assert proportions.separated((0.5, 0.7), (0.1, 0.5)) == 0


@pytest.mark.parametrize(("x", "n"), [(28, 88), (33, 83), (60, 88), (50, 83)])
def test_midp_keeps_between_the_exact_limits_where_the_library_has_only_noise_left(x, n):
    alpha = 1e-300
    low, high = proportions.midp(x, n, alpha)
    exact_low, exact_high = proportions.clopper_pearson(x, n, alpha)
    narrow_low, narrow_high = proportions.clopper_pearson(x, n, 2 * alpha)
    assert exact_low <= low <= narrow_low * (1 + 1e-6)
    assert narrow_high * (1 - 1e-6) <= high <= exact_high
