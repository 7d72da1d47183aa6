import json
from pathlib import Path

import pytest

from pytest_evalharness.stats import bayes

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "bayes.json").read_text())["cases"]


def test_every_golden_case():
    assert len(CASES) > 10
    for case in CASES:
        table = case["x1"], case["n1"], case["x2"], case["n2"]
        prior = float(case["prior_a"]), float(case["prior_b"])
        found = bayes.probability_better(*table, prior), *bayes.expected_loss(*table, prior)
        keys = ("p_better", "loss_choose_candidate", "loss_choose_baseline")
        assert found == pytest.approx([float(case[key]) for key in keys], rel=1e-10, abs=0), case


def test_arms_are_interchangeable():
    for table in ((3, 9, 5, 7), (0, 0, 0, 0), (0, 1000, 1000, 1000), (500_000, 10**6, 499_000, 10**6)):
        x_c, n_c, x_b, n_b = table
        better, worse = bayes.probability_better(*table), bayes.probability_better(x_b, n_b, x_c, n_c)
        assert better + worse == pytest.approx(1.0, abs=1e-11)
        assert bayes.expected_loss(*table)[::-1] == pytest.approx(
            bayes.expected_loss(x_b, n_b, x_c, n_c), rel=1e-9
        )


def test_loss_difference_is_the_difference_of_means():
    candidate, baseline = bayes.expected_loss(7, 10, 4, 12)
    assert baseline - candidate == pytest.approx(7.5 / 11 - 4.5 / 13, rel=1e-12)


@pytest.mark.parametrize("prior", [(0, 1), (1, -1), (float("nan"), 1), (1, float("inf"))])
def test_an_impossible_prior_is_refused(prior):
    for function in (bayes.probability_better, bayes.expected_loss):
        with pytest.raises(ValueError, match="prior"):
            function(1, 2, 1, 2, prior)
        with pytest.raises(ValueError, match="wins"):
            function(3, 2, 1, 2)
