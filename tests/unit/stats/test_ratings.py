import json
import math
from pathlib import Path

import pytest

from pytest_evalharness.stats import ratings

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"


def test_every_golden_elo():
    for case in json.loads((GOLDEN / "elo.json").read_text())["cases"]:
        found = ratings.elo(float(case["score"]))
        assert found == pytest.approx(float(case["elo"]), rel=1e-12, abs=1e-12)
        assert ratings.expected_score(found) == pytest.approx(float(case["score"]), rel=1e-12)


def test_no_difference_is_large_enough_for_certainty():
    assert ratings.elo(0.0) is ratings.elo(1.0) is None
    assert ratings.expected_score(-1e9) == 0.0
    assert ratings.expected_score(1e9) == 1.0


def test_normalised_elo():
    assert ratings.normalised_elo(0.5, 0.1) == 0.0
    assert ratings.normalised_elo(0.6, 0.125) == pytest.approx(0.1 / 0.5 * 800 / math.log(10))
    assert ratings.normalised_elo(0.6, 0.0) is None


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_what_is_no_score_is_refused(score):
    with pytest.raises(ValueError, match="score"):
        ratings.elo(score)
    with pytest.raises(ValueError, match="mean"):
        ratings.normalised_elo(score, 0.1)
