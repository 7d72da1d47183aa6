import json
from pathlib import Path

import pytest

from pytest_evalharness.stats import difference, equivalence

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "equivalence.json").read_text())["cases"]


def test_every_golden_case():
    assert len(CASES) > 20
    for case in CASES:
        table = case["x1"], case["n1"], case["x2"], case["n2"]
        margin = float(case["margin"])
        found = {
            "z_lower": difference.score_z(*table, delta=-margin),
            "z_upper": difference.score_z(*table, delta=margin),
            "p_noninferior": equivalence.noninferiority_p(*table, margin),
            "p_nonsuperior": equivalence.nonsuperiority_p(*table, margin),
            "p_tost": equivalence.equivalence_p(*table, margin),
        }
        assert found == pytest.approx({key: float(case[key]) for key in found}, rel=1e-10, abs=1e-14), case
        interval = difference.miettinen_nurminen(*table, 0.10)
        assert interval == pytest.approx(tuple(map(float, case["ci90"])), abs=1e-12), case
        # The p-values and the 90 % interval say the same.
        inside = -margin < interval[0] and interval[1] < margin
        assert inside == (found["p_tost"] < 0.05) == case["equivalent"]
        assert (interval[0] > -margin) == (found["p_noninferior"] < 0.05) == case["noninferior"]


@pytest.mark.parametrize("margin", [0, 1, -0.1, float("nan"), True, None])
def test_a_margin_must_lie_between_0_and_1(margin):
    for function in (
        equivalence.noninferiority_p,
        equivalence.nonsuperiority_p,
        equivalence.equivalence_p,
    ):
        with pytest.raises(ValueError, match="margin"):
            function(1, 2, 1, 2, margin)
