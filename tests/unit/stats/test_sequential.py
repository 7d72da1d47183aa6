import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from pytest_evalharness.stats import group_sequential, normal, sequential
from pytest_evalharness.stats.ratings import expected_score

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "sequential.json").read_text())["cases"]
PAIRED = json.loads((GOLDEN / "paired.json").read_text())["cases"]


def of(kind):
    found = [case for case in CASES if case["kind"] == kind]
    assert found
    return found


def test_every_golden_sprt_bound():
    for case in of("sprt_bounds"):
        found = sequential.sprt_bounds(float(case["alpha"]), float(case["beta"]))
        assert found == pytest.approx((float(case["lower"]), float(case["upper"])), rel=1e-12)


def test_every_golden_likelihood_ratio():
    for case in of("gsprt_llr_logistic"):
        scores = expected_score(float(case["elo0"])), expected_score(float(case["elo1"]))
        found = sequential.gsprt_llr(case["counts_low_to_high"], *scores)
        assert found == pytest.approx(float(case["llr"]), rel=1e-9), case
    for case in of("gsprt_llr_normal"):
        found = sequential.gsprt_llr_normal(case["counts_low_to_high"], float(case["s0"]), float(case["s1"]))
        assert found == pytest.approx(float(case["llr"]), rel=1e-10), case


def test_swapping_the_hypotheses_turns_the_ratio_round():
    counts = [3, 10, 30, 14, 5]
    there, back = sequential.gsprt_llr(counts, 0.5, 0.6), sequential.gsprt_llr(counts, 0.6, 0.5)
    assert there == pytest.approx(-back, rel=1e-12)
    mirrored = sequential.gsprt_llr(counts[::-1], 0.5, 0.4)
    assert mirrored == pytest.approx(there, rel=1e-12)
    assert sequential.gsprt_llr_normal([0, 30, 0], 0.5, 0.6) is None


def test_every_golden_spending_boundary():
    names = {"lan_demets_obrien_fleming": "obrien_fleming", "lan_demets_pocock": "pocock"}
    for case in of("alpha_spending"):
        information = [float(Fraction(t)) for t in case["information"]]
        found = group_sequential.group_sequential_bounds(
            information, float(case["alpha_one_sided"]), names[case["spending"]]
        )
        # the golden values come from a program that integrates to about 1e-6
        assert found == pytest.approx([float(z) for z in case["z"]], abs=2e-6), case


def test_boundaries_at_30_60_and_100_games():
    looks = [0.3, 0.6, 1.0]
    obrien_fleming = group_sequential.group_sequential_bounds(looks)
    assert obrien_fleming == pytest.approx([3.9286, 2.6700, 1.9810], abs=1e-4)
    pocock = group_sequential.group_sequential_bounds(looks, spending="pocock")
    assert pocock == pytest.approx([2.3118, 2.3210, 2.2689], abs=1e-4)


def test_all_looks_together_spend_alpha():
    looks = [0.3, 0.6, 1.0]
    bounds = group_sequential.group_sequential_bounds(looks, 0.05, "pocock")
    roots = np.sqrt(np.array(looks))
    correlation = np.minimum.outer(looks, looks) / np.outer(roots, roots)
    inside = stats.multivariate_normal(np.zeros(3), correlation, seed=1).cdf(bounds)  # it draws its points
    assert 1 - inside == pytest.approx(0.05, abs=2e-5)


def test_one_look_is_the_ordinary_test():
    assert group_sequential.group_sequential_bounds([1.0]) == [pytest.approx(normal.critical(0.05))]


def test_a_look_too_early_to_spend_anything_has_an_infinite_bound():
    bounds = group_sequential.group_sequential_bounds([0.001, 1.0])
    assert bounds == [math.inf, pytest.approx(normal.critical(0.05), rel=1e-12)]


def test_bounds_of_looks_where_next_to_nothing_is_spent():
    looks = [n / 100 for n in range(1, 101)]
    bounds = group_sequential.group_sequential_bounds(looks)
    assert bounds == sorted(bounds, reverse=True)
    # the last bound of a design that looks all the time is little above that of Brownian motion, 2.24
    assert 1.98 < bounds[-1] < normal.critical(0.025)
    for now, bound in zip(looks, bounds, strict=True):
        # whoever is beyond a bound has crossed that one or an earlier one
        assert normal.upper_tail(bound) <= group_sequential.spent(now) * (1 + 1e-9)


def test_spending_ends_at_alpha():
    for spending in ("obrien_fleming", "pocock"):
        parts = [group_sequential.spent(t / 10, 0.025, spending) for t in range(1, 11)]
        assert parts == sorted(parts)
        assert parts[-1] == pytest.approx(0.025, rel=1e-12)


DESIGNS = [(1.0,), (0.3, 0.6, 1.0), (0.5, 1.0), (0.02, 0.5, 0.9, 0.95, 1.0)]


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
@pytest.mark.parametrize("information", DESIGNS, ids=str)
@settings(max_examples=40, deadline=None)
@given(z=st.floats(-8.0, 8.0), alpha=st.floats(1e-9, 0.999), data=st.data())
def test_a_repeated_p_is_at_most_alpha_exactly_when_the_look_crosses(information, spending, z, alpha, data):
    look = data.draw(st.integers(0, len(information) - 1))
    bound = group_sequential.group_sequential_bounds(information, alpha / 2, spending)[look]
    p = group_sequential.repeated_p(z, look, information, spending)
    assert normal.two_sided(z) * (1 - 1e-12) <= p <= 1.0
    if abs(z) != pytest.approx(bound, abs=1e-7):
        assert (p <= alpha) == (abs(z) >= bound)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.4])
def test_a_repeated_p_of_a_bound_is_its_alpha(spending, alpha):
    information = [k / 10 for k in range(1, 11)]
    bounds = group_sequential.group_sequential_bounds(information, alpha / 2, spending)
    for look, bound in enumerate(bounds):
        found = group_sequential.repeated_p(-bound, look, information, spending)
        assert found == pytest.approx(alpha, rel=1e-8)


def test_repeated_p_values_of_extreme_statistics():
    looks = [0.3, 0.6, 1.0]
    for look in range(3):
        assert group_sequential.repeated_p(0.0, look, looks) == 1.0
        large = [group_sequential.repeated_p(z, look, looks) for z in (5.0, 20.0, 36.9, 37.0, 1e6, math.inf)]
        assert large == sorted(large, reverse=True)
        assert 0.0 < large[-1] < 1e-80
    assert group_sequential.repeated_p(0.1, 0, looks) == 1.0  # no alpha below 1 lets it cross
    assert group_sequential.repeated_p(1.7, 0, [1.0]) == pytest.approx(normal.two_sided(1.7), rel=1e-12)


def test_every_golden_mixture_width():
    for case in of("normal_mixture_cs_halfwidth"):
        n_opt, alpha = case["n_opt"], float(case["alpha"])
        rho = sequential.mixture_rho_squared(n_opt, alpha)
        assert rho == pytest.approx(float(case["rho_squared"]), rel=1e-12)
        found = sequential.mixture_half_width(float(case["variance"]), case["n"], n_opt, alpha)
        assert found == pytest.approx(float(case["halfwidth"]), rel=1e-12)


def test_every_golden_e_value():
    for case in of("mcnemar_eprocess"):
        found = sequential.mcnemar_log_e(case["b"], case["c"], float(case["prior"]))
        assert found == pytest.approx(float(case["log_e"]), rel=1e-11, abs=1e-12), case
        assert (found >= math.log(20)) == case["reject_at_0_05"]
    for case in PAIRED:
        found = sequential.mcnemar_log_e(case["b"], case["c"])
        assert found == pytest.approx(float(case["log_eprocess_kt"]), rel=1e-11, abs=1e-12), case


@pytest.mark.parametrize("prior", [0.5, 3.0])
def test_the_e_value_averages_1_under_the_hypothesis(prior):
    m = 12
    values = [math.exp(sequential.mcnemar_log_e(b, m - b, prior)) for b in range(m + 1)]
    assert sum(special.comb(m, b) / 2**m * value for b, value in enumerate(values)) == pytest.approx(1.0)


def test_betting_follows_the_better_arm_and_starts_from_nothing():
    assert sequential.betting_log_capital([]) == (0.0, 0.0)
    wins = [(1, 0)] * 40
    up, down = sequential.betting_log_capital(wins)
    assert up > math.log(2 / 0.05)
    assert down == 0.0
    assert sequential.betting_log_capital([(0, 1)] * 40) == (down, up)
    assert sequential.betting_log_capital([(1, 1), (0, 0)] * 50) == (0.0, 0.0)


@pytest.mark.slow
def test_betting_keeps_its_level_and_has_the_power_that_was_measured():
    random = np.random.default_rng(20240501)
    bar = math.log(2 / 0.05)

    def rejected(p_c, p_b, runs):
        hits = 0
        for _ in range(runs):
            games = zip(random.random(100) < p_c, random.random(100) < p_b, strict=True)
            hits += max(sequential.betting_log_capital((float(c), float(b)) for c, b in games)) >= bar
        return hits / runs

    assert rejected(0.5, 0.5, 2000) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
    assert rejected(0.7, 0.5, 2000) == pytest.approx(0.53, abs=3 * math.sqrt(0.25 / 2000) + 0.02)


def test_invalid_input_is_refused_by_name():
    calls = [
        (lambda: sequential.sprt_bounds(0.6, 0.5), "alpha . beta"),
        (lambda: sequential.sprt_bounds(0.05, 0), "beta"),
        (lambda: sequential.gsprt_llr([1], 0.5, 0.6), "counts"),
        (lambda: sequential.gsprt_llr([0, 0, 0], 0.5, 0.6), "counts"),
        (lambda: sequential.gsprt_llr([1, 2.5, 0], 0.5, 0.6), "counts"),
        (lambda: sequential.gsprt_llr([1, 2, 3], 0.0, 0.6), "score0"),
        (lambda: sequential.gsprt_llr_normal([1, 2, 3], 0.5, 1.0), "score1"),
        (lambda: sequential.mcnemar_log_e(-1, 2), "only_c"),
        (lambda: sequential.mcnemar_log_e(1, 2, 0.0), "prior"),
        (lambda: sequential.mcnemar_log_e(1, 2, float("nan")), "prior"),
        (lambda: sequential.betting_log_capital([(2, 0)]), "score_c"),
        (lambda: sequential.betting_log_capital([], cap=2.0), "cap"),
        (lambda: sequential.mixture_half_width(1.0, 0, 50), "n must"),
        (lambda: sequential.mixture_half_width(float("nan"), 5, 50), "variance"),
        (lambda: sequential.mixture_half_width(1.0, 5, 0), "n_opt"),
        (lambda: group_sequential.spent(0.0), "fraction"),
        (lambda: group_sequential.spent(0.5, spending="thrifty"), "spending"),
        (lambda: group_sequential.group_sequential_bounds([]), "information"),
        (lambda: group_sequential.group_sequential_bounds([0.5, 0.4, 1.0]), "information"),
        (lambda: group_sequential.group_sequential_bounds([0.5]), "information"),
        (lambda: group_sequential.group_sequential_bounds([float("nan"), 1.0]), "fraction"),
        (lambda: group_sequential.group_sequential_bounds([0.5, 1.0], 0.0), "alpha"),
        (lambda: group_sequential.repeated_p(float("nan"), 0, [1.0]), "z must"),
        (lambda: group_sequential.repeated_p(2.0, 2, [0.5, 1.0]), "look must be below"),
        (lambda: group_sequential.repeated_p(2.0, -1, [0.5, 1.0]), "look"),
        (lambda: group_sequential.repeated_p(2.0, 0, [0.5]), "information"),
        (lambda: group_sequential.repeated_p(2.0, 0, [0.5, 1.0], "thrifty"), "spending"),
    ]
    for call, name in calls:
        with pytest.raises(ValueError, match=name):
            call()
