import json
import math
from pathlib import Path

import pytest
from scipy import stats

from pytest_evalharness.stats import difference, enumeration, exact, normal, power, proportions

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "power.json").read_text())["cases"]


def test_every_golden_sample_size():
    cases = [case for case in CASES if "p_base" in case]
    assert len(cases) == 7
    for case in cases:
        rates = float(case["p_base"]), float(case["p_cand"]), float(case["alpha"]), float(case["power"])
        assert power.games_formula(*rates) == pytest.approx(float(case["n_score_formula"]), rel=1e-11)
        assert power.games_formula(*rates, "overlap") == pytest.approx(
            float(case["n_overlap_formula"]), rel=1e-11
        )


def test_every_golden_identity_of_the_overlap_rule():
    values = {case["identity"]: float(case["value"]) for case in CASES if "identity" in case}
    z = normal.critical(0.05)
    root = math.sqrt(2)

    def ratio(beta):
        z_b = normal.quantile(beta)
        return ((root * z + z_b) / (z + z_b)) ** 2

    assert values == pytest.approx(
        {
            "overlap_effective_alpha": normal.two_sided(root * z),
            "overlap_level_matching_0.05": 1 - normal.two_sided(z / root),
            "sample_size_ratio_80": ratio(0.2),
            "sample_size_ratio_90": ratio(0.1),
        },
        rel=1e-11,
    )


def test_every_golden_exact_power():
    cases = [case["exact_power"] for case in CASES if "exact_power" in case]
    assert len(cases) == 4
    for case in cases:
        for rule in ("score", "overlap"):
            found = power.exact_power(float(case["p_cand"]), float(case["p_base"]), case["n"], rule=rule)
            expected = tuple(map(float, case[f"{rule}_better_worse"]))
            assert found == pytest.approx(expected, rel=1e-10), case


def sees(rule, x_c, n_c, x_b, n_b):
    """Which way a rule sees a table, from its definition."""
    if rule == "overlap":
        return proportions.separated(proportions.wilson(x_c, n_c), proportions.wilson(x_b, n_b))
    if rule == "exact":
        ahead = x_c * n_b - x_b * n_c
        return ((ahead > 0) - (ahead < 0)) * (exact.barnard(x_c, n_c, x_b, n_b) <= 0.05)
    interval = {"score": difference.miettinen_nurminen, "newcombe": difference.newcombe}[rule]
    low, high = interval(x_c, n_c, x_b, n_b)
    return (low > 0) - (high < 0)


@pytest.mark.parametrize("rule", ["score", "overlap", "newcombe", "exact"])
@pytest.mark.parametrize(("n_c", "n_b"), [(1, 1), (8, 8), (13, 7), (30, 30), (30, 27)])
def test_the_thresholds_are_the_rule_itself(n_c, n_b, rule):
    up = enumeration.winning_counts(n_c, n_b, rule, 0.05)
    assert list(up) == sorted(up)
    for x_b in range(n_b + 1):
        for x_c in range(n_c + 1):
            towards = sees(rule, x_c, n_c, x_b, n_b)
            assert (towards > 0) == (x_c >= up[x_b])
            assert (towards < 0) == (x_c <= n_c - up[n_b - x_b])


@pytest.mark.parametrize("delta", [-0.2, 0.1])
@pytest.mark.parametrize("z", [-1.645, 1.645])
def test_shifted_thresholds_are_the_score_test(delta, z):
    n_c, n_b = 12, 15
    up = enumeration.shifted_counts(n_c, n_b, delta, z)
    for x_b in range(n_b + 1):
        for x_c in range(n_c + 1):
            assert (difference.score_z(x_c, n_c, x_b, n_b, delta) > z) == (x_c >= up[x_b])


# Minimum detectable lift at 80 % power, to two digits: (base, n, overlap, score).
DETECTABLE = [
    (0.10, 8, 0.81, 0.63), (0.10, 30, 0.41, 0.30), (0.10, 100, 0.20, 0.15),
    (0.125, 8, 0.81, 0.64), (0.125, 30, 0.43, 0.32), (0.125, 100, 0.21, 0.16),
    (0.25, 8, None, 0.64), (0.25, 30, 0.45, 0.35), (0.25, 100, 0.24, 0.19),
    (0.40, 8, None, 0.59), (0.40, 30, 0.44, 0.35), (0.40, 100, 0.25, 0.19),
    (0.50, 8, None, None), (0.50, 30, 0.41, 0.33), (0.50, 100, 0.25, 0.19),
    (0.60, 8, None, None), (0.60, 30, 0.36, 0.30), (0.60, 100, 0.23, 0.18),
    (0.75, 8, None, None), (0.75, 30, None, 0.22), (0.75, 100, 0.18, 0.15),
    (0.90, 8, None, None), (0.90, 30, None, None), (0.90, 100, None, 0.09),
]  # fmt: skip


@pytest.mark.parametrize(("base", "n", "overlap", "score"), DETECTABLE)
def test_detectable_lift_as_tabulated(base, n, overlap, score):
    for rule, expected in (("overlap", overlap), ("score", score)):
        found = power.detectable_lift(base, n, rule=rule)
        if expected is None:
            assert found is None
        else:
            assert found == pytest.approx(expected, abs=0.0061)  # some are rounded, some rounded up
            better = power.exact_power(base + found, base, n, rule=rule)[0]
            assert better == pytest.approx(0.8, abs=1e-7)


@pytest.mark.parametrize(
    ("base", "lift"),
    [
        (0.10, 0.31),
        (0.125, 0.33),
        (0.25, 0.35),
        (0.40, 0.35),
        (0.50, 0.34),
        (0.60, 0.31),
        (0.75, 0.23),
        (0.90, None),
    ],
)
def test_detectable_lift_of_the_exact_rule_with_30_games_as_tabulated(base, lift):
    found = power.detectable_lift(base, 30, rule="exact")
    assert found is None if lift is None else found == pytest.approx(lift, abs=0.0061)


def test_a_detectable_loss_is_a_detectable_lift_of_losses():
    loss = power.detectable_loss(0.7, 30)
    assert loss == power.detectable_lift(1 - 0.7, 30)
    assert power.exact_power(0.7 - loss, 0.7, 30)[1] == pytest.approx(0.8, abs=1e-7)


def test_large_arms_use_the_formula_and_meet_the_exact_answer():
    exact = power.detectable_lift(0.4, 500)
    formula = power.detectable_lift(0.4, 501)
    assert formula == pytest.approx(exact, abs=0.002)
    assert power.games_formula(0.4, 0.4 + formula) == pytest.approx(501, rel=1e-6)
    assert 0 < power.detectable_lift(0.5, 10**9) < 1e-4
    assert power.detectable_lift(1.0, 10**9) is None
    assert power.detectable_lift(1 - 1e-7, 2000) is None


def test_required_games_shrink_the_baseline_and_turn_round_at_the_edge():
    assert power.required_n(11, 30, 0.10) == 383
    assert power.required_n(11, 30, 0.20) == 97
    assert power.required_n(11, 30, 0.10, rule="overlap") == 637
    assert power.required_n(30, 30, 0.10) == power.required_n(30, 30, -0.10) == power.required_n(0, 30, 0.10)
    assert power.required_n(0, 0, 0.10) == power.required_n(1, 2, 0.10)
    assert power.required_n(15, 30, 0.6) is None


def test_binomial_masses_agree_with_scipy():
    for n, p in ((0, 0.3), (1, 0.5), (30, 0.01), (100, 0.77), (2000, 0.5), (30, 0.0), (30, 1.0)):
        masses = enumeration.binomial(n, p)
        assert masses == pytest.approx(list(stats.binom.pmf(range(n + 1), n, p)), rel=1e-10, abs=1e-300)
        assert enumeration.upper_sums(masses)[0] == pytest.approx(1.0, abs=1e-14)


def test_invalid_input_is_refused_by_name():
    calls = [
        (lambda: power.games_formula(0.5, 0.5), "p_cand"),
        (lambda: power.games_formula(1.5, 0.5), "p_base"),
        (lambda: power.games_formula(0.5, 0.6, rule="coin"), "rule"),
        (lambda: power.games_formula(0.5, 0.6, power=1.0), "power"),
        (lambda: power.required_n(1, 2, 0.0), "lift"),
        (lambda: power.required_n(1, 2, float("nan")), "lift"),
        (lambda: enumeration.winning_counts(0, 3), "n_c"),
        (lambda: enumeration.winning_counts(3, 0), "n_b"),
        (lambda: enumeration.winning_counts(3, 3, "coin"), "rule"),
        (lambda: power.exact_power(0.5, -0.1, 3), "p must"),
        (lambda: power.detectable_lift(0.5, 3, power=0.0), "power"),
        (lambda: power.detectable_lift(float("nan"), 3), "p_base"),
    ]
    for call, name in calls:
        with pytest.raises(ValueError, match=name):
            call()


# Games per arm for 80 % power of a margin's claim when nothing changed, about: the formula's values.
@pytest.mark.parametrize(
    ("base", "margin", "equivalent", "noninferior"),
    [
        (0.5, 0.10, 429, 310),
        (0.5, 0.15, 191, 138),
        (0.5, 0.20, 108, 78),
        (0.25, 0.10, 322, 232),
        (0.25, 0.20, 81, 58),
    ],
)
def test_games_for_a_margin_are_near_the_formula(base, margin, equivalent, noninferior):
    for which, about in enumerate((noninferior, equivalent)):
        chance = lambda n, which=which: power.margin_power(base, base, n, margin=margin)[which]  # noqa: E731
        found = power.smallest_from(chance, about)
        assert found == pytest.approx(about, rel=0.06)
        assert chance(found) >= 0.8 > chance(found - 1)


def test_margin_power_as_tabulated():
    assert power.margin_power(0.5, 0.5, 100, margin=0.20) == pytest.approx((0.885, 0.771), abs=6e-4)
    assert power.margin_power(0.3, 0.5, 100, margin=0.20) == pytest.approx((0.048, 0.048), abs=6e-4)
    assert power.margin_power(0.7, 0.5, 30, margin=0.10) == pytest.approx((0.763, 0.0), abs=6e-4)


def test_the_smallest_number_is_the_one_from_which_on_the_power_holds():
    # 37 games reach 80 % for .25 + .4 under the overlap rule, 38 or 39 do not: the sawtooth settles at 40
    chance = lambda n: power.exact_power(0.65, 0.25, n, rule="overlap")[0]  # noqa: E731
    assert chance(37) >= 0.8 > chance(39)
    assert power.smallest_from(chance, power.games_formula(0.25, 0.65, rule="overlap")) == 40
    with pytest.raises(ValueError, match="no number of games near 10"):
        power.smallest_from(lambda _: 0.0, 10)
