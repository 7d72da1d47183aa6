"""Rules for results that are read more than once, claims that are tested together, and metrics that object."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.stats import group_sequential, power, sequential
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.counts import Counts, Pairs
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.family_power import family_power
from pytest_evalharness.verdict.gate import adjusted_p, gate_p
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.rules import direction
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Rule, Sensitivity, Verdict

LOOKS = (30, 60, 100)
PLANNED = Declaration("better", "group_sequential", looks=LOOKS)


def arm(wins, finished, missing=0):
    return ArmEvidence("arm", wins, finished, finished + missing)


def judged(declaration, candidate, baseline, **words):
    return judge(declaration, arm(*candidate), arm(*baseline), **words)


def codes(found):
    return [finding.reason for finding in found.reasons]


# ------------------------------------------------------------------ declaring


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"rule": "score", "looks": [10, 30]}, "looks need a rule that stands them .*got rule 'score'"),
        ({"rule": "group_sequential"}, "needs looks"),
        ({"rule": "group_sequential", "looks": [30, 30]}, "looks must increase"),
        ({"rule": "group_sequential", "looks": [0, 30]}, "looks must increase from at least 1"),
        ({"rule": "group_sequential", "looks": "30"}, "looks must be a list"),
        ({"rule": "group_sequential", "looks": [1.5, 30]}, "looks must be a whole number"),
        ({"rule": "group_sequential", "looks": [True, 30]}, "looks must be a whole number"),
        ({"claim": "noninferior", "margin": 0.1, "rule": "always_valid"}, "tells directions only"),
        ({"claim": "separated", "rule": "always_valid"}, "tells directions only"),
        ({"margin": 0.1, "rule": "always_valid"}, "takes no margin"),
        ({"spending": "all"}, "spending must be one of obrien_fleming, pocock"),
        ({"metric": "luck"}, "metric must be 'win rate', 'seat score', or a function's name"),
        ({"secondary": ["wins"]}, "must not name the primary metric"),
        ({"secondary": "score"}, "secondary must be a list"),
        ({"secondary": ["luck"]}, "secondary must be one of"),
        ({"missing": "ignore"}, "missing must be one of exclude, strict"),
    ],
)
def test_what_cannot_be_declared_is_named(words, message):
    with pytest.raises(ValueError, match=message):
        Declaration(**{"claim": "better", **words})


def test_a_declaration_comes_back_and_what_is_usual_changes_no_key():
    plain = Declaration("better").to_json()
    assert set(plain) == {"alpha", "claim", "margin", "pairing", "rule", "target_lift"}
    declared = Declaration(
        "better", "group_sequential", looks=[5, 9], spending="pocock", secondary=[], missing="strict"
    )
    assert Declaration.from_json(declared.to_json()) == declared
    assert declared.digest != Declaration("better", "group_sequential", looks=[5, 9]).digest


@pytest.mark.parametrize(
    ("episodes", "looks"), [(100, (30, 60, 100)), (30, (9, 18, 30)), (2, (1, 2)), (1, (1,))]
)
def test_the_usual_looks(episodes, looks):
    assert usual_looks(episodes) == looks


# --------------------------------------------------------------- planned looks


@pytest.mark.parametrize(("look", "bound"), [(0, 3.9286), (1, 2.6700), (2, 1.9810)])
def test_the_bound_of_each_look_is_the_published_one(look, bound):
    assert Standard.of(PLANNED, look=look).bar == pytest.approx(bound, abs=5e-5)
    assert Standard.of(PLANNED).bar == pytest.approx(1.9810, abs=5e-5)  # the last one if none is named


def test_a_look_at_next_to_nothing_has_a_bound_that_a_report_can_print():
    declared = Declaration("better", "group_sequential", looks=[1, 1000])
    found = judged(declared, (5, 5), (0, 5), look=0)
    assert found.bound == 37.0
    assert found.verdict is Verdict.INCONCLUSIVE
    assert Judgement.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found


@pytest.mark.parametrize("look", [-1, 3])
def test_there_is_no_other_look(look):
    with pytest.raises(ValueError, match="look must be 0 to 2"):
        Standard.of(PLANNED, look=look)


def test_an_early_look_needs_more_than_the_last():
    early = judged(PLANNED, (23, 30), (15, 30), look=0)
    assert (early.verdict, codes(early)) == (Verdict.INCONCLUSIVE, [Reason.BOUND_NOT_REACHED])
    assert early.ci[0] < 0 < early.ci[1]  # the interval is that of this look's bound
    assert judged(Declaration("better"), (23, 30), (15, 30)).verdict is Verdict.BETTER
    last = judged(PLANNED, (77, 100), (60, 100), look=2)
    assert (last.verdict, last.decision) == (Verdict.BETTER, Decision.MET)
    assert (
        "planned look   : |z| 2.58 against the bound 1.9810 of this look (obrien-fleming): crossed"
        in last.summary_lines()
    )


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2))
def test_the_interval_of_a_look_never_contradicts_its_verdict(x_c, x_b, look):
    found = judged(PLANNED, (x_c, 30), (x_b, 30), look=look)
    assert (found.verdict is Verdict.BETTER) == (found.ci[0] > 0)
    assert (found.verdict is Verdict.WORSE) == (found.ci[1] < 0)


@pytest.mark.parametrize(
    ("claim", "candidate", "baseline", "settled"),
    [
        ("better", (30, 30), (5, 30), True),
        ("better", (5, 30), (30, 30), True),
        ("better", (16, 30), (15, 30), False),
        ("not_worse", (16, 30), (15, 30), False),  # met for want of evidence is not settled
        ("not_worse", (30, 30), (5, 30), True),
        ("not_worse", (5, 30), (30, 30), True),
    ],
)
def test_a_look_ends_it_only_when_something_was_found(claim, candidate, baseline, settled):
    declared = Declaration(claim, "group_sequential", looks=LOOKS)
    assert judged(declared, candidate, baseline, look=0).settled is settled


def test_missing_episodes_at_an_early_look_do_not_end_it():
    found = judged(PLANNED, (20, 26, 4), (5, 30), look=0)
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert not found.settled


def test_an_aa_run_ends_early_only_on_an_alarm():
    assert not judged(PLANNED, (16, 30), (15, 30), look=0, aa=True).settled
    assert judged(PLANNED, (30, 30), (2, 30), look=0, aa=True).settled


# ----------------------------------------------------------- looking at any time


def turns_of(text):
    """`c` candidate only, `b` baseline only, `+` both, `-` neither."""
    kinds = {"c": (1, 0), "b": (0, 1), "+": (1, 1), "-": (0, 0)}
    return tuple(kinds[letter] for letter in text)


def test_always_valid_needs_the_order_of_games():
    with pytest.raises(ValueError, match="needs the games in their order"):
        judged(Declaration("better", "always_valid"), (20, 30), (10, 30))


def test_betting_decides_on_the_games_in_turn():
    turns = turns_of("c" * 20 + "+" * 10)
    declared = Declaration("better", "always_valid")
    found = judged(declared, (30, 30), (10, 30), turns=turns)
    assert (found.verdict, found.decision) == (Verdict.BETTER, Decision.MET)
    up, _ = sequential.betting_log_capital(turns, 0.05)
    assert found.log_evidence[0] == pytest.approx(up - math.log(2))
    mirrored = judged(declared, (10, 30), (30, 30), turns=[(b, c) for c, b in turns])
    assert mirrored.verdict is Verdict.WORSE
    flat = judged(declared, (15, 30), (15, 30), turns=turns_of("+-" * 15))
    assert (flat.verdict, codes(flat)) == (Verdict.INCONCLUSIVE, [Reason.EVIDENCE_SHORT])


def test_evidence_that_was_enough_once_stays_enough():
    """Whoever looked then would have decided; looking later must not take that back."""
    turns = turns_of("c" * 12 + "b" * 12)
    pairs = Pairs.of(turns)
    declared = Declaration("better", "always_valid", pairing="seed")
    assert sequential.mcnemar_log_e(12, 0) > math.log(20)
    found = judged(declared, (12, 24), (12, 24), pairs=pairs)
    assert found.verdict is Verdict.BETTER
    assert Judgement.from_json(found.to_json()) == found


def test_the_error_of_always_valid_looked_at_after_every_pair_stays_below_alpha():
    rng = random.Random(7)
    standard = Standard.of(Declaration("better", "always_valid", pairing="seed"))
    wrong = 0
    for _ in range(1500):
        turns = tuple((rng.random() < 0.5, rng.random() < 0.5) for _ in range(100))
        wrong += direction(Pairs.of(tuple((int(c), int(b)) for c, b in turns)), standard) != 0
    assert wrong / 1500 <= 0.05


def test_missing_games_count_against_the_evidence_in_the_worst_case():
    turns = turns_of("c" * 10 + "+" * 18)
    found = judged(Declaration("better", "always_valid"), (28, 28, 2), (18, 28, 2), turns=turns)
    assert found.worst_case in (Verdict.BETTER, Verdict.INCONCLUSIVE)
    worst, best = Counts(28, 28, 18, 28, turns).extremes(2, 2)
    assert worst.turns[-2:] == ((0, 1), (0, 1))
    assert best.turns[-2:] == ((1, 0), (1, 0))


# -------------------------------------------------------------- unplanned looks


@pytest.mark.parametrize("rule", ["score", "newcombe", "exact", "group_sequential"])
def test_an_unplanned_look_moves_a_rule_that_promises_for_planned_ones_to_overlap(rule):
    looks = LOOKS if rule == "group_sequential" else ()
    declared = Declaration("better", rule, looks=looks)
    found = judged(declared, (64, 100), (48, 100), unplanned_looks=1)
    assert found.rule is Rule.OVERLAP
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, [Reason.OVERLAP, Reason.UNPLANNED_LOOK])
    assert judged(declared, (64, 100), (48, 100)).verdict is Verdict.BETTER
    assert any(f"by the overlap rule, not the declared {rule}" in line for line in found.summary_lines())
    assert judged(declared, (80, 100), (48, 100), unplanned_looks=3).verdict is Verdict.BETTER


@pytest.mark.parametrize("rule", ["overlap", "always_valid", "bayes"])
def test_a_rule_that_stands_any_look_stays(rule):
    found = judged(Declaration("better", rule), (64, 100), (48, 100), unplanned_looks=2, turns=[(1, 0)] * 48)
    assert found.rule is Rule(rule)
    assert Reason.UNPLANNED_LOOK not in codes(found)


# --------------------------------------------------------------------- families

GATES = [Declaration("better", rule) for rule in ("score", "overlap", "newcombe", "exact")]
GATES += [Declaration("better", "group_sequential", looks=(10, 30)), Declaration("separated")]


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from(GATES))
def test_a_gate_opens_exactly_when_its_p_value_is_below_alpha(x_c, x_b, declared):
    counts, standard = Counts(x_c, 30, x_b, 30), Standard.of(declared)
    p = gate_p(counts, standard, declared.claim)
    assert 0 < p <= 1
    rule = Rule.OVERLAP if declared.claim is Claim.SEPARATED else declared.rule
    opens = direction(counts, Standard(rule, 0.05, looks=declared.looks, look=len(declared.looks[1:]))) != 0
    assert abs(p - 0.05) < 1e-9 or opens == (p <= 0.05)


@pytest.mark.parametrize("declared", [Declaration("better", "bayes"), Declaration("better")])
def test_what_can_decide_nothing_has_a_p_value_of_1(declared):
    few = Counts(4, 4, 0, 4) if declared.rule is Rule.SCORE else Counts(30, 30, 0, 30)
    assert gate_p(few, Standard.of(declared), declared.claim) == 1.0


def test_with_few_games_the_exact_test_has_its_say():
    p = gate_p(Counts(7, 8, 3, 8), Standard.of(Declaration("better")), Claim.BETTER)
    assert p == pytest.approx(0.0534, abs=1e-4)


def test_always_valid_turns_its_evidence_round():
    pairs = Pairs.of(turns_of("c" * 12))
    p = gate_p(pairs, Standard.of(Declaration("better", "always_valid", pairing="seed")), Claim.BETTER)
    assert p == pytest.approx(math.exp(-sequential.mcnemar_log_e(12, 0)))


def test_holm_takes_back_a_direction_that_does_not_stand_among_the_others():
    alone = judged(Declaration("better"), (23, 30), (15, 30))
    assert (alone.verdict, alone.p_adjusted, alone.family) == (Verdict.BETTER, None, None)
    one_of_one = judged(Declaration("better"), (23, 30), (15, 30), others=[])
    assert (one_of_one.verdict, one_of_one.family) == (Verdict.BETTER, 1)
    among = judged(Declaration("better"), (23, 30), (15, 30), others=[1.0, 0.5])
    assert (among.verdict, among.decision) == (Verdict.INCONCLUSIVE, Decision.CANNOT_TELL)
    assert codes(among) == [Reason.FAMILY]
    assert among.p_adjusted == pytest.approx(3 * alone.p)
    assert among.family == 3
    assert (
        "family         : raw p=0.034, adjusted p=0.1 (Holm, 3 claims tested together)"
        in among.summary_lines()
    )
    strong = judged(Declaration("better"), (29, 30), (15, 30), others=[1.0] * 11)
    assert strong.verdict is Verdict.BETTER


def test_what_only_the_family_keeps_open_reads_as_that():
    among = judged(Declaration("better"), (23, 30), (15, 30), others=[1.0, 0.5])
    (line,) = (line for line in among.summary_lines() if line.startswith("cannot tell"))
    assert line == (
        "cannot tell    : difference between +0.02 and +0.48 alone, where p=0.034 would have decided; among 3 claims tested "
        "together it is 0.1, and 0.05 is allowed"
    )
    open_anyway = judged(Declaration("better"), (16, 30), (15, 30), others=[1.0])
    assert "alone" not in "".join(line for line in open_anyway.summary_lines() if "cannot tell" in line)


@pytest.mark.parametrize("claim", ["better", "not_worse", "separated"])
def test_what_a_family_costs_is_what_a_share_of_alpha_costs(claim):
    declared = Declaration(claim, target_lift=0.2)
    one, many = family_power(declared, 1, 30), family_power(declared, 12, 30)
    assert one.alone == one.among == many.alone
    assert many.among < 0.6 * many.alone
    assert (many.claims, many.outcome) == (12, "fails" if claim == "not_worse" else "passes")
    assert many.effect == f"a true {'loss' if claim == 'not_worse' else 'lift'} of 0.20"


def test_what_a_family_costs_in_numbers():
    found = family_power(Declaration("better", target_lift=0.2), 2, 30)
    assert found.alone == pytest.approx(power.exact_power(0.7, 0.5, 30, rule="score")[0])
    assert found.among == pytest.approx(power.exact_power(0.7, 0.5, 30, rule="score", alpha=0.025)[0])


def test_an_effect_without_room_is_told_as_the_most_there_can_be():
    found = family_power(Declaration("better", target_lift=0.7), 2, 30)
    assert found.effect == "a true lift of 0.50 (the most there can be from 0.5)"
    assert found.alone == pytest.approx(power.exact_power(1.0, 0.5, 30, rule="score")[0])


def test_the_others_can_also_help():
    """Holm is stepwise: beside smaller p-values a claim needs less."""
    assert judged(Declaration("better"), (23, 30), (15, 30), others=[1e-6, 1e-6]).verdict is Verdict.BETTER


def test_not_worse_is_not_refuted_by_a_loss_that_does_not_stand():
    alone = judged(Declaration("not_worse"), (15, 30), (23, 30))
    assert alone.decision is Decision.NOT_MET
    assert judged(Declaration("not_worse"), (15, 30), (23, 30), others=[1.0, 1.0]).decision is Decision.MET


def test_a_separation_that_does_not_stand_is_not_told_as_met():
    declared = Declaration("separated")
    assert judged(declared, (26, 30), (15, 30)).decision is Decision.MET
    found = judged(declared, (26, 30), (15, 30), others=[1.0] * 9)
    assert found.decision is Decision.CANNOT_TELL
    assert found.p_gate > found.p  # the overlap's own


def test_margins_are_not_touched_by_the_family():
    declared = Declaration("noninferior", margin=0.2)
    one, many = (judged(declared, (50, 100), (50, 100), others=others) for others in (None, [1.0] * 20))
    assert one.decision is many.decision is Decision.MET


@given(st.floats(0, 1), st.lists(st.floats(0, 1), max_size=12))
def test_an_adjusted_p_value_is_never_smaller_and_never_more_than_bonferroni(own, others):
    adjusted = adjusted_p(own, others)
    assert own <= adjusted <= min(1.0, own * (1 + len(others)) * (1 + 1e-12))
    assert adjusted_p(own, list(reversed(others))) == adjusted


# ------------------------------------------------------------ secondary metrics

UP, DOWN = [10.0, 11.0, 12.0, 11.0] * 5, [1.0, 2.0, 1.0, 2.0] * 5


def test_scores_that_decide_the_other_way_leave_it_open():
    found = judged(Declaration("better"), (29, 30), (12, 30), scores=(DOWN, UP))
    assert (found.verdict, found.decision, codes(found)) == (
        Verdict.INCONCLUSIVE,
        Decision.CANNOT_TELL,
        [Reason.METRICS_DISAGREE],
    )
    assert judged(Declaration("better"), (29, 30), (12, 30), scores=(UP, DOWN)).verdict is Verdict.BETTER


@pytest.mark.parametrize("claim", list(Claim))
def test_metrics_that_disagree_leave_every_claim_open(claim):
    found = judged(Declaration(claim, margin=0.1), (29, 30), (12, 30), scores=(DOWN, UP))
    assert found.decision is Decision.CANNOT_TELL


def test_scores_alone_decide_nothing():
    found = judged(Declaration("better"), (15, 30), (15, 30), scores=(UP, DOWN))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.scores.objection == 1
    assert any(line.startswith("seat score     : +") for line in found.summary_lines())


@pytest.mark.parametrize(
    ("words", "scores"),
    [({"secondary": []}, (DOWN, UP)), ({}, None), ({}, ([1.0], [2.0])), ({}, ([1.0] * 9, [2.0] * 9))],
    ids=["not declared", "none", "too few", "no score varies"],
)
def test_what_cannot_object(words, scores):
    assert judged(Declaration("better", **words), (29, 30), (12, 30), scores=scores).verdict is Verdict.BETTER


def test_scores_of_pairs_are_compared_pair_by_pair():
    turns = turns_of("c" * 12 + "+" * 8)
    base = [float(k) for k in range(20)]
    declared = Declaration("better", pairing="seed")
    scores = ([value - 1 - 0.01 * (k % 3) for k, value in enumerate(base)], base)
    found = judged(declared, (20, 20), (8, 20), pairs=Pairs.of(turns), scores=scores)
    assert found.scores.test == "paired t"
    assert codes(found) == [Reason.METRICS_DISAGREE]  # unpaired, these scores would not differ


# ---------------------------------------------------------------- strict missing


def test_a_strict_policy_demands_the_worst_case_too():
    weak = ((23, 28, 2), (15, 29, 1))
    found = judged(Declaration("better"), *weak)
    assert (found.verdict, found.sensitivity) == (Verdict.BETTER, Sensitivity.WEAKENS)
    strict = judged(Declaration("better", missing="strict"), *weak)
    assert (strict.verdict, strict.decision) == (Verdict.INCONCLUSIVE, Decision.CANNOT_TELL)
    assert codes(strict)[0] is Reason.MISSING_STRICT
    holds = judged(Declaration("better", missing="strict"), (29, 29, 1), (10, 30))
    assert holds.verdict is Verdict.BETTER


def test_a_claim_about_a_margin_is_held_to_its_own_worst_case():
    counts = ((46, 95, 5), (46, 95, 5))
    found = judged(Declaration("noninferior", margin=0.16), *counts)
    assert (found.decision, found.sensitivity) == (Decision.MET, Sensitivity.WEAKENS)
    strict = judged(Declaration("noninferior", margin=0.16, missing="strict"), *counts)
    assert strict.decision is Decision.CANNOT_TELL


def test_repeated_p_values_and_bounds_agree():
    information = [look / 100 for look in LOOKS]
    bounds = group_sequential.group_sequential_bounds(information, 0.025)
    for look, bound in enumerate(bounds):
        assert group_sequential.repeated_p(bound, look, information) == pytest.approx(0.05, abs=1e-9)
