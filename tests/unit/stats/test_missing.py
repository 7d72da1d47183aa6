import pytest

from pytest_evalharness.stats import missing


def test_extremes_give_every_missing_episode_to_one_side():
    assert missing.extremes((23, 28, 2), (15, 29, 1)) == ((23, 30, 16, 30), (25, 30, 15, 30))
    assert missing.extremes((0, 0, 3), (1, 1, 0)) == ((0, 3, 1, 1), (3, 3, 1, 1))


def test_asymmetry_is_fishers_test():
    assert missing.asymmetry_p(8, 100, 0, 100) == pytest.approx(0.00675, abs=5e-6)
    assert missing.asymmetry_p(0, 30, 0, 30) == 1.0


def test_fragility_counts_the_games_a_result_hangs_on():
    assert missing.fragility(23, 30, 15, 30) == 1
    assert missing.fragility(26, 30, 15, 30) == 4
    assert missing.fragility(4, 30, 15, 30) == missing.fragility(26, 30, 15, 30)
    assert missing.fragility(18, 30, 11, 30) == 0


def test_invalid_counts_are_refused_by_name():
    with pytest.raises(ValueError, match="baseline missing"):
        missing.extremes((1, 2, 0), (1, 2, -1))
    with pytest.raises(ValueError, match="candidate wins"):
        missing.extremes((3, 2, 0), (1, 2, 0))
    with pytest.raises(ValueError, match="candidate games"):
        missing.fragility(0, 0, 1, 2)
