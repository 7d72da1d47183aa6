import numpy as np
import pytest
from scipy import stats

from pytest_evalharness.stats import bootstrap

DATA = np.random.default_rng(11)
SKEWED = list(DATA.exponential(2, 60)), list(DATA.exponential(3, 55))


def seeded():
    return np.random.default_rng(5)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_both_intervals_agree_with_scipy(method):
    theirs = stats.bootstrap(
        SKEWED,
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        n_resamples=40_000,
        method=method,
        rng=seeded(),
    ).confidence_interval
    function = bootstrap.bca if method == "BCa" else bootstrap.percentile
    found = function(*SKEWED, resamples=40_000, random=seeded())
    width = float(theirs.high - theirs.low)
    assert found == pytest.approx((float(theirs.low), float(theirs.high)), abs=0.02 * width)


def test_the_same_generator_gives_the_same_interval():
    for function in (bootstrap.bca, bootstrap.percentile):
        assert function(*SKEWED, random=seeded()) == function(*SKEWED, random=seeded())


def test_constant_scores_give_the_difference():
    for function in (bootstrap.bca, bootstrap.percentile):
        assert function([2.0] * 5, [1.0] * 4, random=seeded()) == (1.0, 1.0)


def test_invalid_input_is_refused_by_name():
    for function in (bootstrap.bca, bootstrap.percentile):
        with pytest.raises(ValueError, match="candidate score 1 must be finite"):
            function([float("inf"), 1.0], [1.0, 2.0], random=seeded())
        with pytest.raises(ValueError, match="resamples"):
            function([1.0, 2.0], [1.0, 2.0], resamples=0, random=seeded())
        with pytest.raises(ValueError, match="alpha"):
            function([1.0, 2.0], [1.0, 2.0], 1.0, random=seeded())
