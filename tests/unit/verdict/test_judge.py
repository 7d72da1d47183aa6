import json
import math
import pickle
from pathlib import Path

import pytest

from pytest_evalharness.stats import bayes, difference, exact, miettinen_nurminen, paired
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Pairs
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.words import Decision, Reason, Sensitivity, Separated, Verdict

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics"
CASES = json.loads((GOLDEN / "verdicts.json").read_text())["cases"]


def arm(wins, finished, missing=0, label="arm"):
    return ArmEvidence(label, wins, finished, finished + missing)


def judged(candidate, baseline, claim="better", *trust, **declared):
    return judge(Declaration(claim, **declared), arm(*candidate), arm(*baseline), trust)


def codes(judgement):
    return [finding.reason.value for finding in judgement.reasons]


def test_there_are_golden_cases():
    assert len(CASES) == 24
    assert sum(case["pairs"] is not None for case in CASES) == 3


@pytest.mark.parametrize("number", range(24))
def test_golden(number):
    case = CASES[number]
    expected = case["expected"]
    arms = [
        arm(case[role]["wins"], case[role]["completed"], case[role]["missing"])
        for role in ("candidate", "baseline")
    ]
    paired = case["pairs"]
    pairs = Pairs(*(paired[key] for key in "abcd")) if paired else None
    declared = Declaration("better", margin=float(case["margin"]), pairing="seed" if paired else None)
    found = judge(declared, *arms, pairs=pairs)

    assert found.verdict == expected["verdict"]
    assert found.separated == expected["separated"]
    assert found.within_margin is expected["within_margin"]
    assert found.noninferior is expected["noninferior"]
    assert found.diff == pytest.approx(float(expected["diff"]), abs=1e-10)
    assert found.p == pytest.approx(float(expected["p_mcnemar" if paired else "p_score"]), rel=1e-10)
    for mine, theirs in (
        (found.ci, "ci95"),
        (found.ci_margin, "ci90"),
        (found.wilson_candidate, "wilson_candidate"),
        (found.wilson_baseline, "wilson_baseline"),
    ):
        assert mine == pytest.approx(tuple(map(float, expected[theirs])), abs=1e-10)
    if "statistical_verdict" in expected:
        assert found.statistical_verdict == expected["statistical_verdict"]
        assert found.worst_case == expected["missing"]["worst_case"]
        assert found.best_case == expected["missing"]["best_case"]
        assert found.sensitivity == expected["missing"]["sensitivity"]
        distrusted = {finding.reason.value for finding in found.reasons if finding.reason.forbids_trust}
        assert distrusted == set(expected["untrustworthy_reasons"])
    if "required_n" in expected:
        again = judge(Declaration("better", target_lift=0.2), *arms)
        assert {
            "mde_0.1": found.required_n.score,
            "mde_0.1_overlap": found.required_n.overlap,
            "mde_0.2": again.required_n.score,
        } == expected["required_n"]


# ---------------------------------------------------------------- trust first


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.forbids_trust], ids=str)
def test_any_failed_check_silences_the_effect(reason):
    found = judged((30, 30), (0, 30), "better", Finding(reason, "as found"))
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert found.decision is Decision.UNTRUSTWORTHY
    assert codes(found) == [reason.value]
    assert found.statistical_verdict is Verdict.BETTER  # kept, but not shown:
    shown = "\n".join([found.headline("A/B crew"), *found.summary_lines()])
    assert "BETTER" not in shown.upper().replace("UNTRUSTWORTHY", "")
    assert " pp " not in shown


@pytest.mark.parametrize("claim", ["better", "not_worse", "noninferior", "equivalent", "separated"])
def test_an_untrustworthy_comparison_meets_no_claim(claim):
    found = judged((30, 30), (29, 30), claim, Finding(Reason.SEATS), margin=0.5)
    assert found.decision is Decision.UNTRUSTWORTHY


def test_all_reasons_are_listed():
    found = judged((3, 5, 25), (20, 30), "better", Finding(Reason.SEATS), Finding(Reason.ROLES))
    assert codes(found) == ["seats", "roles", "missing_over_limit", "missing_differs_between_arms"]


@pytest.mark.parametrize(
    ("candidate", "baseline"), [((0, 0), (5, 30)), ((5, 30), (0, 0, 4)), ((0, 0), (0, 0))]
)
def test_an_arm_without_games_is_untrustworthy_and_nothing_breaks(candidate, baseline):
    found = judged(candidate, baseline, "noninferior", margin=0.2)
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert "no_games" in codes(found)
    assert (found.diff, found.ci, found.p) == (None, (-1.0, 1.0), 1.0)
    assert found.noninferior is None
    assert json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("n", [10, 30, 70, 100])
def test_a_tenth_missing_is_allowed_and_no_more(n):
    limit = n // 10
    allowed, too_many = (0, n - limit, limit), (0, n - limit - 1, limit + 1)
    assert judged(allowed, allowed).verdict is not Verdict.UNTRUSTWORTHY
    assert codes(judged(too_many, allowed)) == ["missing_over_limit"]


def test_what_the_missing_episodes_could_do():
    assert judged((18, 30), (11, 30)).sensitivity is Sensitivity.HOLDS
    weak = judged((23, 28, 2), (15, 29, 1))
    assert (weak.sensitivity, codes(weak)) == (Sensitivity.WEAKENS, ["missing_weakens"])
    could = judged((20, 28, 2), (14, 29, 1))
    assert could.sensitivity is Sensitivity.COULD_DECIDE
    assert codes(could) == ["spans_zero", "missing_could_decide"]
    # 57/100 against 43/100 is decisive; the nine missing ones could hardly turn it round
    assert judged((57, 91, 9), (39, 91, 9)).sensitivity is not Sensitivity.REVERSES


# ------------------------------------------------------------- then the counts


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_under_five_games_nothing_is_decided(n):
    for candidate, baseline in (((n, n), (0, 30)), ((0, 30), (n, n)), ((n, n), (0, n))):
        found = judged(candidate, baseline)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert codes(found)[0] == "small_n"
        assert found.decision is Decision.CANNOT_TELL


def test_five_to_nine_games_need_the_exact_test_to_agree():
    found = judged((7, 8), (3, 8))
    assert found.ci[0] > 0  # the score interval alone would have said better
    assert found.p_exact == pytest.approx(0.0534, abs=5e-5)
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, ["exact_disagrees"])
    agreed = judged((8, 8), (2, 8))
    assert agreed.verdict is Verdict.BETTER
    assert agreed.p_exact < 0.05
    assert judged((2, 8), (8, 8)).verdict is Verdict.WORSE
    assert judged((10, 10), (4, 10)).p_exact is None


def test_eight_games_against_half_decide_only_at_the_extremes():
    verdicts = [judged((x, 8), (4, 8)).verdict for x in range(9)]
    assert verdicts == [Verdict.WORSE, *[Verdict.INCONCLUSIVE] * 7, Verdict.BETTER]


def test_smallest_decisive_results_at_30_and_100_games():
    for baseline, (up, down), (strict_up, strict_down) in (
        ((15, 30), (23, 7), (26, 4)),
        ((8, 30), (16, 2), (19, 0)),
        ((22, 30), (28, 14), (30, 11)),
        ((50, 100), (64, 36), (70, 30)),
    ):
        n = baseline[1]
        for rule, least, most in (("score", up, down), ("overlap", strict_up, strict_down)):
            verdict = {x: judged((x, n), baseline, rule=rule).verdict for x in range(n + 1)}
            assert min(x for x in verdict if verdict[x] is Verdict.BETTER) == least
            assert max(x for x in verdict if verdict[x] is Verdict.WORSE) == most


@pytest.mark.failure_mode(number=39)
def test_the_overlap_rule_decides_by_the_intervals():
    assert judged((25, 30), (15, 30)).verdict is Verdict.BETTER
    found = judged((25, 30), (15, 30), rule="overlap")
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, ["overlap"])
    assert judged((26, 30), (15, 30), rule="overlap").separated is Separated.CANDIDATE
    assert judged((4, 30), (15, 30), rule="overlap").verdict is Verdict.WORSE


def test_the_newcombe_rule_decides_by_its_own_interval():
    # Newcombe and the score interval disagree on 8 of the 961 tables of 30 games: these are two of them.
    for candidate, baseline, newcombe, score in (
        ((3, 30), (0, 30), Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE),
        ((4, 30), (0, 30), Verdict.INCONCLUSIVE, Verdict.BETTER),
    ):
        found = judged(candidate, baseline, rule="newcombe")
        assert found.verdict is newcombe
        assert judged(candidate, baseline).verdict is score
        assert found.ci == difference.newcombe(*candidate, *baseline)
        assert (found.ci[0] > 0) == (found.verdict is Verdict.BETTER)
    assert judged((4, 30), (0, 30), rule="newcombe").ci_margin == judged((4, 30), (0, 30)).ci_margin


def test_the_exact_rule_decides_by_barnards_p_and_shows_the_score_interval():
    found = judged((25, 30), (18, 30), rule="exact")
    assert found.p < 0.05 < found.p_exact
    assert found.ci[0] > 0
    assert found.p_exact == exact.barnard(25, 30, 18, 30)
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, ["exact_keeps"])
    assert judged((26, 30), (15, 30), rule="exact").verdict is Verdict.BETTER
    assert judged((4, 30), (15, 30), rule="exact").verdict is Verdict.WORSE
    assert judged((7, 8), (3, 8), rule="exact").verdict is Verdict.INCONCLUSIVE
    assert judged((50, 100), (50, 100), rule="exact", margin=0.15).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize("claim", ["better", "not_worse", "noninferior", "equivalent", "separated"])
def test_the_bayes_rule_reports_and_never_decides(claim):
    found = judged((26, 30), (15, 30), claim, rule="bayes", margin=0.9)
    assert (found.verdict, found.decision) == (Verdict.INCONCLUSIVE, Decision.CANNOT_TELL)
    assert codes(found) == ["report_only"]
    assert found.p_better == bayes.probability_better(26, 30, 15, 30)
    assert found.expected_loss == bayes.expected_loss(26, 30, 15, 30)
    assert codes(judged((3, 4), (0, 4), claim, rule="bayes", margin=0.9)) == ["small_n", "report_only"]
    assert judged((0, 0), (1, 30), claim, rule="bayes", margin=0.9).p_better is None
    assert judged((26, 30), (15, 30), claim, margin=0.9).p_better is None


@pytest.mark.parametrize("rule", ["newcombe", "exact"])
def test_planning_numbers_of_the_declared_rule_stand_beside_those_of_the_two_others(rule):
    found = judged((18, 30), (11, 30), rule=rule)
    assert found.required_n.under(found.declaration.rule) == getattr(found.required_n, rule) == 383
    assert getattr(found.detectable_lift, rule) == pytest.approx(found.detectable_lift.score, abs=0.02)
    assert found.required_n.overlap == 637
    assert getattr(judged((18, 30), (11, 30)).required_n, rule) is None


def test_equivalent_is_shown_inside_the_margin_and_only_there():
    assert judged((50, 100), (50, 100), margin=0.15).verdict is Verdict.EQUIVALENT
    assert judged((50, 100), (50, 100), margin=0.10).verdict is Verdict.INCONCLUSIVE
    assert judged((50, 100), (50, 100)).verdict is Verdict.INCONCLUSIVE
    assert judged((50, 100), (50, 100)).within_margin is None


@pytest.mark.parametrize(
    ("candidate", "baseline", "margin", "verdict"),
    [
        ((5300, 10000), (5000, 10000), 0.05, Verdict.BETTER),
        ((5000, 10000), (5300, 10000), 0.05, Verdict.WORSE),
        ((8, 100), (0, 100), 0.20, Verdict.BETTER),
        ((95, 100), (100, 100), 0.10, Verdict.WORSE),
    ],
)
def test_a_real_difference_inside_the_margin_keeps_its_direction(candidate, baseline, margin, verdict):
    found = judged(candidate, baseline, "equivalent", margin=margin)
    assert found.verdict is verdict
    assert found.within_margin
    assert "within_margin" in codes(found)
    assert found.decision is Decision.MET  # the claim "equivalent" is about the margin alone
    assert any("real but smaller than the margin" in line for line in found.summary_lines())


def test_the_ceiling_is_named():
    found = judged((30, 30), (30, 30), margin=0.10)
    assert (found.verdict, found.ceiling, codes(found)) == (Verdict.EQUIVALENT, True, ["ceiling"])
    assert judged((1, 30), (0, 30)).ceiling
    assert not judged((28, 30), (30, 30)).ceiling
    assert not judged((0, 30), (30, 30)).ceiling


def test_planning_numbers():
    found = judged((18, 30), (11, 30))
    assert (found.required_n.score, found.required_n.overlap, found.configs_to_pool) == (383, 637, 4)
    assert judged((18, 30), (11, 30), rule="overlap").configs_to_pool == 7
    assert judged((18, 30), (11, 30), target_lift=0.2).configs_to_pool is None
    assert judged((18, 30), (11, 30), target_lift=0.9).required_n.score is None
    half = judged((15, 30), (15, 30))
    assert half.planning_rate == 0.5
    assert half.detectable_lift.score == pytest.approx(0.33, abs=0.01)
    assert half.detectable_lift.overlap == pytest.approx(0.41, abs=0.01)
    assert half.detectable_loss == half.detectable_lift


def test_another_level_moves_every_interval():
    found = judged((18, 30), (11, 30), alpha=0.01)
    assert found.ci == miettinen_nurminen(18, 30, 11, 30, 0.01)
    assert found.ci_margin == miettinen_nurminen(18, 30, 11, 30, 0.02)
    assert judged((23, 30), (15, 30), alpha=0.01).verdict is Verdict.INCONCLUSIVE


def judged_pairs(a, b, c, e, missing=0, **declared):
    n = a + b + c + e
    declaration = Declaration(declared.pop("claim", "better"), pairing="seed", **declared)
    return judge(declaration, arm(a + b, n, missing), arm(a + c, n, missing), pairs=Pairs(a, b, c, e))


def test_pairs_are_judged_by_tango_and_mcnemar():
    found = judged_pairs(12, 6, 0, 12)
    assert found.verdict is Verdict.BETTER
    assert found.ci == pytest.approx((0.06378, 0.37306), abs=5e-6)
    assert (found.required_pairs, found.pairs) == (155, Pairs(12, 6, 0, 12))
    assert any(line.startswith("score (Tango)") for line in found.summary_lines())
    assert judged_pairs(12, 0, 6, 12).verdict is Verdict.WORSE
    # the same counts as independent arms say nothing
    assert judged((18, 30), (12, 30)).verdict is Verdict.INCONCLUSIVE


def test_pairs_are_judged_by_the_other_rules_in_their_own_way():
    table = (12, 6, 0, 12)
    assert judged_pairs(*table, rule="newcombe").ci == paired.newcombe_paired(*table)
    found = judged_pairs(*table, rule="exact")
    assert found.p_exact == pytest.approx(0.03125)
    assert found.verdict is Verdict.BETTER
    kept = judged_pairs(12, 5, 0, 13, rule="exact")
    assert kept.p < 0.05 < kept.p_exact
    assert codes(kept) == ["exact_keeps"]
    assert codes(judged_pairs(*table, rule="bayes")) == ["report_only"]


def test_few_pairs_need_the_midp_test_to_agree():
    found = judged_pairs(0, 4, 0, 4)
    assert found.p < 0.05
    assert found.p_exact == pytest.approx(0.0625)
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, ["exact_disagrees"])
    assert judged_pairs(0, 5, 0, 4).verdict is Verdict.BETTER
    assert codes(judged_pairs(0, 4, 0, 0)) == ["small_n"]


def test_incomplete_pairs_are_counted_against_and_for_the_candidate():
    found = judged_pairs(12, 6, 0, 10, missing=2)
    assert (found.worst_case, found.best_case) == (Verdict.INCONCLUSIVE, Verdict.BETTER)
    assert found.sensitivity is Sensitivity.WEAKENS


def test_pairs_must_be_declared_and_must_add_up():
    arms = arm(18, 30), arm(12, 30)
    with pytest.raises(ValueError, match="no pairs were declared"):
        judge(Declaration("better"), *arms, pairs=Pairs(12, 6, 0, 12))
    with pytest.raises(ValueError, match="pairs by seed were declared"):
        judge(Declaration("better", pairing="seed"), *arms)
    with pytest.raises(ValueError, match="pairs must add up"):
        judge(Declaration("better", pairing="seed"), *arms, pairs=Pairs(12, 6, 1, 11))


# ---------------------------------------------------------------- then the claim

MET, NOT_MET, CANNOT_TELL = Decision.MET, Decision.NOT_MET, Decision.CANNOT_TELL


@pytest.mark.parametrize(
    ("claim", "candidate", "baseline", "margin", "decision"),
    [
        ("better", (26, 30), (15, 30), None, MET),
        ("better", (4, 30), (15, 30), None, NOT_MET),
        ("better", (50, 100), (50, 100), 0.15, NOT_MET),
        ("better", (18, 30), (11, 30), None, CANNOT_TELL),
        ("not_worse", (26, 30), (15, 30), None, MET),
        ("not_worse", (18, 30), (11, 30), None, MET),
        ("not_worse", (50, 100), (50, 100), 0.15, MET),
        ("not_worse", (2, 4), (2, 4), None, CANNOT_TELL),
        ("not_worse", (4, 30), (15, 30), None, NOT_MET),
        ("noninferior", (50, 100), (50, 100), 0.20, MET),
        ("noninferior", (0, 100), (50, 100), 0.20, NOT_MET),
        ("noninferior", (38, 100), (50, 100), 0.20, CANNOT_TELL),
        ("noninferior", (5000, 10000), (5300, 10000), 0.05, MET),
        ("equivalent", (50, 100), (50, 100), 0.15, MET),
        ("equivalent", (90, 100), (50, 100), 0.15, NOT_MET),
        ("equivalent", (10, 100), (50, 100), 0.15, NOT_MET),
        ("equivalent", (55, 100), (50, 100), 0.15, CANNOT_TELL),
        ("separated", (26, 30), (15, 30), None, MET),
        ("separated", (25, 30), (15, 30), None, CANNOT_TELL),
        ("separated", (4, 30), (15, 30), None, NOT_MET),
    ],
)
def test_what_becomes_of_a_claim(claim, candidate, baseline, margin, decision):
    assert judged(candidate, baseline, claim, margin=margin).decision is decision


# ------------------------------------------------------------------------ A/A runs


def judged_aa(candidate, baseline, claim="better", *trust, **declared):
    return judge(Declaration(claim, **declared), arm(*candidate), arm(*baseline), trust, aa=True)


@pytest.mark.parametrize("claim", ["better", "not_worse", "noninferior", "equivalent", "separated"])
@pytest.mark.parametrize("rule", ["score", "overlap", "newcombe", "exact"])
def test_an_aa_run_that_tells_a_difference_is_an_alarm(claim, rule):
    for candidate, baseline, word in (((26, 30), (15, 30), "better"), ((4, 30), (15, 30), "worse")):
        found = judged_aa(candidate, baseline, claim, rule=rule, margin=0.9)
        assert (found.verdict, found.decision) == (Verdict.UNTRUSTWORTHY, Decision.UNTRUSTWORTHY)
        assert codes(found) == ["aa_alarm"]
        won = f"{candidate[0]}/30 against 15/30, {word} by the {rule} rule"
        assert won in found.headline("A/A crew")
        assert " pp " not in found.headline("A/A crew")


@pytest.mark.parametrize("claim", ["better", "not_worse", "noninferior", "equivalent", "separated"])
@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict"),
    [
        ((16, 30), (15, 30), Verdict.INCONCLUSIVE),
        ((50, 100), (50, 100), Verdict.EQUIVALENT),
        ((2, 3), (0, 3), Verdict.INCONCLUSIVE),  # with so few games there can be no alarm
    ],
)
def test_an_aa_run_that_tells_none_is_met_whatever_was_claimed(claim, candidate, baseline, verdict):
    found = judged_aa(candidate, baseline, claim, margin=0.15)
    assert (found.verdict, found.decision) == (verdict, Decision.MET)
    assert "as an A/A run should" in found.headline("A/A crew")
    assert any("an A/A run tells no difference: met" in line for line in found.summary_lines())


def test_what_is_wrong_with_an_aa_run_comes_before_its_alarm():
    found = judged_aa((26, 30), (4, 30), "better", Finding(Reason.SEATS))
    assert codes(found) == ["seats"]


# ---------------------------------------------------------------------- plain data


@pytest.mark.parametrize(
    "found",
    [
        judged((18, 30), (11, 30)),
        judged((0, 0, 3), (11, 30), "noninferior", margin=0.2),
        judged((7, 8), (3, 8), "equivalent", Finding(Reason.SEATS, "x", "candidate", ("e1",)), margin=0.2),
        judged((15, 30), (15, 30), "separated", rule="overlap"),
        judged_pairs(12, 6, 0, 12, claim="equivalent", margin=0.1),
        judged((18, 30), (11, 30), rule="newcombe"),
        judged((18, 30), (11, 30), rule="exact"),
        judged((18, 30), (11, 30), rule="bayes"),
        judge(Declaration("better"), arm(18, 30), arm(17, 30), aa=True),
    ],
    ids=["inconclusive", "no-games", "seats", "overlap", "pairs", "newcombe", "exact", "bayes", "aa"],
)
def test_json_and_pickle_round_trip(found):
    text = json.dumps(found.to_json(), sort_keys=True, allow_nan=False)
    again = Judgement.from_json(json.loads(text))
    assert again == found
    assert json.dumps(again.to_json()) == json.dumps(found.to_json()) == text
    assert pickle.loads(pickle.dumps(found)) == found
    exact_built_ins(found.to_json())


def exact_built_ins(value):
    assert type(value) in (dict, list, str, int, float, bool, type(None))
    if type(value) is dict:
        assert list(value) == sorted(value)
    for item in value.values() if type(value) is dict else value if type(value) is list else ():
        exact_built_ins(item)


def test_no_zero_is_negative():
    text = json.dumps(judged((0, 30), (0, 30)).to_json())
    assert "-0.0," not in text
    assert math.copysign(1, json.loads(text)["diff"]) == 1


def test_a_judgement_from_before_there_was_a_posterior_can_be_read():
    data = judged((18, 30), (11, 30)).to_json()
    for later in ("p_better", "expected_loss", "aa"):
        del data[later]
    data["required_n"] = {"score": 383, "overlap": 637}
    assert Judgement.from_json(data) == judged((18, 30), (11, 30))


def test_a_judgement_of_another_schema_is_refused():
    data = judged((18, 30), (11, 30)).to_json()
    with pytest.raises(ValueError, match="schema 99"):
        Judgement.from_json({**data, "schema": 99})
