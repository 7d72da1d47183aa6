import json
from pathlib import Path

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from pytest_evalharness.stats import difference, normal, paired

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "paired.json").read_text())["cases"]


def table(case):
    return case["a"], case["b"], case["c"], case["d"]


def test_every_golden_mcnemar():
    assert len(CASES) > 15
    for case in CASES:
        found = {
            "mcnemar_exact": paired.mcnemar_exact(case["b"], case["c"]),
            "mcnemar_midp": paired.mcnemar_midp(case["b"], case["c"]),
            "mcnemar_z": paired.mcnemar_z(case["b"], case["c"]),
            "mcnemar_p": paired.mcnemar_p(case["b"], case["c"]),
        }
        assert found == pytest.approx({key: float(case[key]) for key in found}, rel=1e-12, abs=1e-15), case


@pytest.mark.parametrize("alpha", ["0.05", "0.10"])
def test_every_golden_interval(alpha):
    for case in CASES:
        expected = case[f"alpha_{alpha}"]
        level = float(alpha)
        found = {
            "tango": paired.tango(*table(case), level),
            "newcombe_m10": paired.newcombe_paired(*table(case), level),
            "newcombe_m8": paired.newcombe_paired(*table(case), level, corrected=False),
            "bonett_price": paired.bonett_price(*table(case), level),
        }
        for name, limits in found.items():
            assert limits == pytest.approx(tuple(map(float, expected[name])), rel=1e-10, abs=1e-13), (
                case,
                name,
            )


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_tango_excludes_0_exactly_when_mcnemar_rejects(n, alpha):
    for b in range(n + 1):
        for c in range(n + 1 - b):
            low, high = paired.tango(n - b - c, b, c, 0, alpha)
            assert -1.0 <= low <= (b - c) / n <= high <= 1.0
            assert (low > 0 or high < 0) == (paired.mcnemar_p(b, c) < alpha), (b, c)
            mirrored = paired.tango(0, c, b, n - b - c, alpha)
            assert mirrored == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 0.9, 0.999999])
@pytest.mark.parametrize("n", [1, 30, 10**9])
def test_tango_stays_finite_and_ordered(n, alpha):
    for b, c in ((0, 0), (n, 0), (0, n), (n // 2, n - n // 2), (1, 0)):
        low, high = paired.tango(n - b - c, b, c, 0, alpha)
        assert -1.0 <= low <= (b - c) / n <= high <= 1.0
    assert paired.tango(0, n, 0, 0, alpha)[1] == 1.0
    assert paired.tango(0, 0, n, 0, alpha)[0] == -1.0


def test_newcombe_without_correlation_is_the_unpaired_interval():
    # 6 * 6 = 4 * 9 makes phi vanish
    limits = paired.newcombe_paired(6, 4, 9, 6, corrected=False)
    assert limits == pytest.approx(difference.newcombe(10, 25, 15, 25), abs=1e-15)


def test_no_differing_pair_is_no_evidence():
    # statsmodels' large-sample version answers p = 0 here
    assert paired.mcnemar_exact(0, 0) == paired.mcnemar_midp(0, 0) == paired.mcnemar_p(0, 0) == 1.0


def test_exact_agrees_with_statsmodels_also_for_many_pairs():
    for b, c in ((3, 11), (40, 25), (1100, 1000), (5000, 5300)):
        theirs = mcnemar([[0, b], [c, 0]], exact=True).pvalue
        assert paired.mcnemar_exact(b, c) == pytest.approx(theirs, rel=1e-9)
    assert paired.mcnemar_midp(1100, 1100) == pytest.approx(1.0, abs=1e-9)
    assert paired.mcnemar_exact(0, 10_000) < 1e-300 or paired.mcnemar_exact(0, 10_000) == 0.0


def test_required_pairs():
    z_a, z_b = normal.critical(0.05), normal.quantile(0.2)
    expected = (z_a * 0.5**0.5 + z_b * (0.5 - 0.04) ** 0.5) ** 2 / 0.04
    assert paired.required_pairs(0.2, 0.5) == paired.required_pairs(-0.2, 0.5) == int(expected) + 1
    for bad in (
        {"lift": 0},
        {"lift": float("nan")},
        {"discordance": 0.1},
        {"discordance": 1.5},
        {"power": 1},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            paired.required_pairs(**{"lift": 0.2, "discordance": 0.5, **bad})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1, -1, 0, 0), "only_c"),
        ((1, 0, 0.5, 0), "only_b"),
        ((True, 0, 0, 0), "both"),
        ((0, 0, 0, "1"), "neither"),
    ],
    ids=str,
)
def test_invalid_counts_are_refused_by_name(arguments, name):
    for function in (paired.tango, paired.newcombe_paired, paired.bonett_price):
        with pytest.raises(ValueError, match=name):
            function(*arguments)
        with pytest.raises(ValueError, match="pairs"):
            function(0, 0, 0, 0)
        with pytest.raises(ValueError, match="alpha"):
            function(1, 1, 1, 1, 0)
    with pytest.raises(ValueError, match="only_b"):
        paired.mcnemar_exact(1, -1)


def test_the_score_statistic_belongs_to_the_interval():
    for table in ((10, 8, 3, 9), (15, 0, 0, 15), (0, 1, 7, 0)):
        low, high = paired.tango(*table, 0.1)
        z = normal.critical(0.1)
        if low > -1.0:
            assert paired.score_z(*table, low) == pytest.approx(z, abs=1e-8)
        if high < 1.0:
            assert paired.score_z(*table, high) == pytest.approx(-z, abs=1e-8)
        assert paired.score_z(*table) == pytest.approx(paired.mcnemar_z(*table[1:3]), abs=1e-15)
    with pytest.raises(ValueError, match="delta"):
        paired.score_z(1, 1, 1, 1, 1.0)


# Pairs that differ, the smaller kind, then P(at most that many heads) and P(exactly that many), from 40 digits.
MANY = [
    (2001, 900, 3.8283141738787163e-6, 7.2739456706663748e-7),
    (10**5, 49_000, 1.2943580191734489e-10, 5.1946592098893009e-12),
    (10**6, 495_000, 7.6907775219536759e-24, 1.5377142783537227e-25),
    (10**9, 499_950_000, 7.8278613054190379e-4, 1.700073314412139e-7),
    (10**9, 499_999_000, 0.47479807604672929, 2.5180912992541785e-5),
    (10**9, 5 * 10**8, 0.50001261566260695, 2.5231325213893769e-5),
    (4001, 2000, 0.5, 0.012611722013367609),
]


@pytest.mark.parametrize(("differing", "fewer", "tail", "own"), MANY)
def test_exact_tests_of_many_pairs(differing, fewer, tail, own):
    b, c = fewer, differing - fewer
    assert paired.mcnemar_exact(b, c) == pytest.approx(min(1.0, 2 * tail), rel=1e-11)
    assert paired.mcnemar_midp(c, b) == pytest.approx(1.0 if b == c else 2 * tail - own, rel=1e-11)
