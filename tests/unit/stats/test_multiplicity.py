import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_evalharness.stats.multiplicity import benjamini_hochberg, holm

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "multiplicity.json").read_text())["cases"]


def test_every_golden_family():
    assert CASES
    for case in CASES:
        p_values = [float(p) for p in case["p"]]
        assert holm(p_values) == pytest.approx([float(p) for p in case["holm"]], rel=1e-12)
        assert benjamini_hochberg(p_values) == pytest.approx([float(p) for p in case["bh"]], rel=1e-12)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=30))
def test_adjusting_keeps_the_order_and_never_helps(p_values):
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(iter(p_values))
        assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
        by_raw = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
        assert by_raw == sorted(by_raw)
    assert all(
        b <= h * (1 + 1e-12) for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True)
    )
    if p_values:
        theirs = stats.false_discovery_control(p_values)
        assert benjamini_hochberg(p_values) == pytest.approx(list(theirs), rel=1e-12)


def test_one_p_value_is_left_alone_and_none_is_none():
    assert holm([0.04]) == benjamini_hochberg([0.04]) == [0.04]
    assert holm([]) == benjamini_hochberg([]) == []


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.1, None, "0.5", True])
def test_what_is_no_p_value_is_refused_with_its_place(bad):
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="p-value 2"):
            adjust([0.5, bad])
