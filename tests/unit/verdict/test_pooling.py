"""Several configurations, one verdict: what cannot be pooled, what is distrusted, and the numbers."""

import itertools
import json
import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.stats import difference, pooled
from pytest_evalharness.stats.normal import SQRT2, critical, two_sided
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.pooling import judge_pool
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Decision, Effects, Reason, Rule, Sensitivity, Verdict

GOLDEN = Path(__file__).parents[2] / "golden" / "statistics" / "stratified.json"
CASES = [case for case in json.loads(GOLDEN.read_text())["cases"] if len(case["tables"]) > 1]
LIFT = [(20, 30, 13, 30), (18, 30, 11, 30), (22, 30, 16, 30), (15, 30, 8, 30)]
FLAT = [(15, 30, 15, 30), (11, 30, 12, 30), (20, 30, 19, 30), (8, 30, 8, 30)]


def stratum(table, missing=(0, 0), name="crew"):
    x_c, n_c, x_b, n_b = table
    lost_c, lost_b = missing
    return Stratum(
        name,
        ArmEvidence("new", x_c, n_c, n_c + lost_c, request_ids=("xreq_c",)),
        ArmEvidence("old", x_b, n_b, n_b + lost_b, request_ids=("xreq_b",)),
    )


def strata(tables, missing=None):
    missing = missing or [(0, 0)] * len(tables)
    return [
        stratum(t, lost, f"config {k}") for k, (t, lost) in enumerate(zip(tables, missing, strict=True), 1)
    ]


def judged(tables, claim="better", missing=None, judging=None, **declared):
    return judge_pool(Declaration(claim, **declared), strata(tables, missing), **(judging or {}))


def codes(found):
    return [finding.reason for finding in found.reasons]


# ------------------------------------------------------------- what is refused


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule is not Rule.SCORE])
def test_only_the_score_rule_pools(rule):
    looks = {"looks": (10, 30)} if rule is Rule.GROUP_SEQUENTIAL else {}
    with pytest.raises(ValueError, match=f"rule '{rule}' has no way to pool: rule must be 'score'"):
        judged(LIFT, rule=rule, **looks)


def test_claims_about_single_arms_are_refused():
    with pytest.raises(ValueError, match="no one rate: claim better, not_worse, noninferior or equivalent"):
        judged(LIFT, "separated")
    with pytest.raises(ValueError, match="pairing 'seed' cannot be pooled"):
        judged(LIFT, pairing="seed")


def test_too_few_configurations_are_refused():
    with pytest.raises(ValueError, match="at least 2 configurations, got 1"):
        judged(LIFT[:1])
    with pytest.raises(ValueError, match="at least 4 configurations to learn a spread from, got 3"):
        judged(LIFT[:3], effects="random")


# ---------------------------------------------------------------- trust first


@pytest.mark.parametrize(
    ("table", "missing", "reason"),
    [
        ((0, 0, 11, 30), (30, 0), Reason.NO_GAMES),
        ((18, 26, 11, 30), (4, 0), Reason.MISSING_OVER_LIMIT),
        ((2, 2, 1, 30), (28, 0), Reason.MISSING_DIFFERS),
    ],
)
def test_an_untrustworthy_configuration_spoils_the_pool_and_is_named(table, missing, reason):
    found = judged([*LIFT[:3], table], missing=[(0, 0)] * 3 + [missing])
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert found.decision is Decision.UNTRUSTWORTHY
    assert reason in codes(found)
    assert all("config 4" in finding.detail for finding in found.reasons)
    assert "config 4" in found.headline("A/B pool")
    assert " pp" not in "\n".join([found.headline("A/B pool"), *found.summary_lines()])


def test_losses_that_differ_only_in_all_configurations_together_are_found():
    found = judged(FLAT, missing=[(3, 0)] * 4)
    assert codes(found) == [Reason.MISSING_DIFFERS]
    assert "12 of 132 and 0 of 120" in found.reasons[0].detail


def test_a_failed_check_of_the_run_comes_before_every_number():
    seats = Finding(Reason.SEATS, "config 2: seat 0 holds a filler", "candidate")
    found = judged(LIFT, judging={"trust": [seats]})
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert found.reasons == (seats,)
    assert found.statistical_verdict is Verdict.BETTER


def test_missing_games_that_could_turn_the_pool_round_make_it_untrustworthy():
    found = judged([(300, 600, 260, 600), (285, 600, 260, 600)], missing=[(60, 60), (60, 60)])
    assert codes(found) == [Reason.MISSING_REVERSES]
    assert (found.statistical_verdict, found.worst_case) == (Verdict.BETTER, Verdict.WORSE)


@pytest.mark.parametrize(
    ("policy", "verdict", "reason"),
    [
        ("exclude", Verdict.BETTER, Reason.MISSING_WEAKENS),
        ("strict", Verdict.INCONCLUSIVE, Reason.MISSING_STRICT),
    ],
)
def test_missing_games_that_could_undo_it_are_told_or_keep_it_open(policy, verdict, reason):
    declared = Declaration("better", missing=policy)
    found = judge_pool(declared, strata([(18, 29, 12, 29), (17, 29, 11, 29)], [(1, 1), (1, 1)]))
    assert found.sensitivity is Sensitivity.WEAKENS
    assert found.worst_case is Verdict.INCONCLUSIVE
    assert found.verdict is verdict
    assert reason in codes(found)


def test_in_an_aa_run_only_the_pool_can_raise_the_alarm():
    one_sided = [(24, 30, 12, 30), (12, 30, 20, 30), (15, 30, 18, 30)]
    assert difference.score_p(*one_sided[0]) < 0.01
    calm = judged(one_sided, judging={"aa": True})
    assert (calm.verdict, calm.decision) == (Verdict.INCONCLUSIVE, Decision.MET)
    assert "as an A/A run should" in calm.headline("A/A pool")
    alarm = judged(LIFT, judging={"aa": True})
    assert alarm.verdict is Verdict.UNTRUSTWORTHY
    assert codes(alarm) == [Reason.AA_ALARM]


# ---------------------------------------------------------------- small numbers


def test_fewer_than_five_games_in_all_decide_nothing():
    found = judged([(2, 2, 0, 30), (2, 2, 0, 30)])
    assert (found.verdict, codes(found)) == (Verdict.INCONCLUSIVE, [Reason.SMALL_N])
    assert found.decision is Decision.CANNOT_TELL
    assert found.p_gate == 1.0
    assert found.p < 0.001


def test_with_few_games_the_exact_test_must_agree():
    tables = [(3, 4, 1, 4), (4, 4, 2, 4)]
    found = judged(tables)
    assert found.p < 0.06
    assert found.p_exact is None or found.p_exact > 0.05
    assert found.verdict is Verdict.INCONCLUSIVE
    sure = judged([(4, 4, 0, 4), (4, 4, 0, 4)])
    assert sure.verdict is Verdict.BETTER
    assert sure.p_exact == pytest.approx(2 / 70**2)
    assert sure.p_gate == sure.p_exact


def test_the_exact_test_can_keep_a_direction_from_counting():
    found = judged([(4, 4, 1, 4), (1, 1, 0, 1)])
    assert found.p < 0.05 < found.p_exact
    assert codes(found)[0] is Reason.EXACT_DISAGREES


# ------------------------------------------------------------------ the numbers


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden(case):
    found = judged([tuple(table) for table in case["tables"]], margin=0.2)
    yan_su = case["yan_su"]
    assert found.p == pytest.approx(float(case["cmh_p"]), rel=1e-10)
    assert found.diff == pytest.approx(float(case["mh_risk_difference"]), abs=1e-12)
    assert found.ci == pytest.approx((float(yan_su["lo"]), float(yan_su["hi"])), abs=1e-10)
    assert found.heterogeneity.q == pytest.approx(float(case["ivw_half_smoothed"]["Q"]), rel=1e-9, abs=1e-12)
    assert (found.random is None) is (len(case["tables"]) < 4)


def test_verdicts_of_the_fixed_effect():
    assert judged(LIFT).verdict is Verdict.BETTER
    assert judged([(t[2], t[3], t[0], t[1]) for t in LIFT]).verdict is Verdict.WORSE
    assert judged(FLAT).verdict is Verdict.INCONCLUSIVE
    assert codes(judged(FLAT)) == [Reason.POOL_KEEPS]
    assert judged(FLAT, margin=0.15).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize(
    ("tables", "claim", "decision"),
    [
        (LIFT, "better", Decision.MET),
        (FLAT, "better", Decision.CANNOT_TELL),
        (FLAT, "not_worse", Decision.MET),
        (FLAT, "noninferior", Decision.MET),
        (FLAT, "equivalent", Decision.MET),
        (LIFT, "equivalent", Decision.CANNOT_TELL),
        ([(t[2], t[3], t[0], t[1]) for t in LIFT], "not_worse", Decision.NOT_MET),
    ],
)
def test_claims(tables, claim, decision):
    margin = 0.15 if claim in {"noninferior", "equivalent"} else None
    assert judged(tables, claim, margin=margin).decision is decision


def test_not_worse_tells_the_loss_it_could_not_have_seen():
    line = judged(FLAT, "not_worse").summary_lines()[-3]
    assert line.startswith("claim          : not worse: met, but a true loss below 0.")


def test_random_effects_decide_by_the_spread_between_configurations():
    unlike = [(28, 30, 12, 30), (15, 30, 14, 30), (25, 30, 10, 30), (13, 30, 15, 30)]
    fixed, mean = judged(unlike), judged(unlike, effects="random")
    assert fixed.verdict is Verdict.BETTER
    assert Reason.HETEROGENEOUS in codes(fixed)
    assert mean.verdict is Verdict.INCONCLUSIVE
    assert Reason.HETEROGENEOUS not in codes(mean)
    assert (mean.diff, *mean.ci) == pooled.hksj(unlike)
    assert mean.p == pooled.hksj_p(unlike)
    assert fixed.random == mean.random
    assert judged(LIFT, effects="random").verdict is Verdict.BETTER
    assert "random effects : " in "\n".join(mean.summary_lines())


def test_an_unplanned_look_asks_for_the_level_of_the_overlap_rule():
    tables = [(18, 30, 12, 30), (18, 30, 11, 30)]
    planned, looked = judged(tables), judged(tables, judging={"unplanned_looks": 2})
    assert 0.0056 < planned.p < 0.05
    assert (planned.verdict, looked.verdict) == (Verdict.BETTER, Verdict.INCONCLUSIVE)
    assert looked.rule is Rule.OVERLAP
    assert looked.p_gate == pytest.approx(two_sided(critical(looked.p) / SQRT2))
    assert looked.ci[0] < planned.ci[0]
    assert "so the overlap rule decides for good (2 times)" in "\n".join(looked.summary_lines())
    assert judged(LIFT, judging={"unplanned_looks": 1}).verdict is Verdict.BETTER


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule not in {Rule.SCORE, Rule.BAYES}])
def test_after_a_look_any_rule_that_decides_gives_way_to_the_pooled_test(rule):
    looks = {"looks": (10, 30)} if rule is Rule.GROUP_SEQUENTIAL else {}
    found = judged(LIFT, rule=rule, judging={"unplanned_looks": 1}, **looks)
    asked = judged(LIFT, judging={"unplanned_looks": 1})
    assert found.declaration.rule is rule
    assert found.rule is Rule.OVERLAP
    assert (found.verdict, found.p, found.ci, found.required_n) == (
        asked.verdict,
        asked.p,
        asked.ci,
        asked.required_n,
    )
    (line,) = (line for line in found.summary_lines() if line.startswith("CMH"))
    assert "at the overlap rule's level" in line
    assert ("not the declared rule's" in line) is (rule is not Rule.OVERLAP)
    assert PooledJudgement.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_rule_that_never_decides_is_never_pooled():
    with pytest.raises(ValueError, match="rule 'bayes' never decides, so there is nothing to pool"):
        judged(LIFT, rule="bayes", judging={"unplanned_looks": 1})


def test_among_several_claims_the_pool_is_one():
    tables = [(18, 30, 12, 30), (18, 30, 11, 30)]
    alone, member = judged(tables), judged(tables, judging={"others": [0.5, 0.04]})
    assert alone.family is None
    assert member.family == 3
    assert member.p_adjusted == pytest.approx(3 * alone.p)
    assert (member.verdict, codes(member)) == (Verdict.INCONCLUSIVE, [Reason.FAMILY])
    assert "(Holm, 3 claims tested together)" in "\n".join(member.summary_lines())


def test_a_configuration_that_cannot_tell_is_named():
    found = judged([*LIFT, (30, 30, 30, 30)])
    ceiling = [finding for finding in found.reasons if finding.reason is Reason.CEILING]
    assert [finding.detail for finding in ceiling] == ["config 5"]
    assert not found.ceiling
    assert judged([(30, 30, 30, 30), (0, 30, 0, 30)]).ceiling


# -------------------------------------------------------------------- in words


def test_the_report_shows_every_configuration_and_how_they_were_pooled():
    found = judged(LIFT, judging={"verified": ("seats",)})
    assert found.headline("A/B pool") == (
        "A/B pool: BETTER, +22.5 pp [+9.9, +34.2], 4 configurations, 120 vs 120 games, seats verified"
    )
    lines = found.summary_lines()
    assert lines[0] == "configuration  : config 1  20/30 vs 13/30  +0.233"
    assert [line.partition(":")[0].strip() for line in lines] == [
        *["configuration"] * 4, "CMH", "random effects", "heterogeneity", "detectable", "required_n", "missing",
        "played", "claim",
    ]  # fmt: skip
    assert "(Yan-Su)  p=0.00044  -> better" in lines[4]
    assert "(HKSJ)" in lines[5]
    assert lines[5].endswith("(shown, does not decide)")
    assert lines[6].startswith("heterogeneity  : Q 0.06 on 3 df, p=1, I2 0 %")


def test_a_verdict_beside_an_interval_that_includes_0_is_explained():
    tables = next(
        ((a, 30, b, 30), (c, 30, d, 30))
        for a, b, c, d in itertools.product(range(12, 24), repeat=4)
        if pooled.cmh([(a, 30, b, 30), (c, 30, d, 30)])[1] < 0.05
        and a + c > b + d
        and pooled.yan_su([(a, 30, b, 30), (c, 30, d, 30)])[1] <= 0
    )
    assert "by the test: the interval, a little wider, just includes 0" in "\n".join(
        judged(tables).summary_lines()
    )


def test_it_is_plain_data_and_comes_back_whole():
    for found in (judged(LIFT, margin=0.1), judged(FLAT[:2]), judged([*FLAT[:2], (0, 0, 1, 30)])):
        data = json.loads(json.dumps(found.to_json()))
        again = PooledJudgement.from_json(data)
        assert again == found
        assert again.to_json() == data
        assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(ValueError, match="schema 99"):
        PooledJudgement.from_json({**data, "schema": 99})


def test_the_games_of_all_configurations_are_counted():
    found = judged(LIFT, missing=[(1, 0), (0, 0), (0, 0), (0, 2)])
    assert (found.candidate.finished, found.candidate.missing, found.candidate.label) == (120, 1, "new")
    assert (found.baseline.finished, found.baseline.missing) == (120, 2)
    assert found.candidate.request_ids == ("xreq_c",) * 4


# ------------------------------------------------------------------ properties

ARM = st.integers(10, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
TABLE = st.tuples(ARM, ARM).map(lambda arms: (*arms[0], *arms[1]))
TABLES = st.lists(TABLE, min_size=2, max_size=6)
EFFECTS = st.sampled_from(Effects)
NOTHING = (5, 5, 5, 5)


@given(TABLE)
def test_beside_a_configuration_that_says_nothing_the_pool_is_the_single_comparison(table):
    """A stratum without variance adds nothing to the test; with one stratum CMH is the N-1 chi-square."""
    found = judged([table, NOTHING])
    single = judge(Declaration("better"), *strata([table])[0].arms)
    assert found.p == pytest.approx(single.p, rel=1e-9, abs=1e-300)
    assert pooled.yan_su([table])[1:] == pytest.approx(difference.newcombe(*table), abs=1e-12)


@given(TABLES, EFFECTS, st.randoms(use_true_random=False))
def test_the_order_of_configurations_does_not_matter(tables, effects, rng):
    effects = effects if len(tables) >= 4 else Effects.FIXED
    shuffled = list(tables)
    rng.shuffle(shuffled)
    one, other = judged(tables, effects=effects, margin=0.1), judged(shuffled, effects=effects, margin=0.1)
    assert (other.verdict, other.decision) == (one.verdict, one.decision)
    assert (other.diff, other.p, *other.ci) == pytest.approx((one.diff, one.p, *one.ci), rel=1e-6, abs=1e-9)


@given(TABLES, EFFECTS)
def test_swapping_the_arms_turns_everything_round(tables, effects):
    effects = effects if len(tables) >= 4 else Effects.FIXED
    one = judged(tables, effects=effects)
    other = judged([(x_b, n_b, x_c, n_c) for x_c, n_c, x_b, n_b in tables], effects=effects)
    assert other.diff == pytest.approx(-one.diff, abs=1e-9)
    assert other.ci == pytest.approx((-one.ci[1], -one.ci[0]), abs=1e-9)
    assert other.p == pytest.approx(one.p, rel=1e-6)
    turned = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert other.verdict is turned.get(one.verdict, one.verdict)


def test_pooling_keeps_its_promise_where_raw_counts_break_theirs():
    """Base rates .2 and .8, arms of 30 and 10 games and of 10 and 30, no effect anywhere."""
    rng = random.Random(7)
    raw = proper = 0
    for _ in range(400):
        tables = []
        for rate, n_c, n_b in ((0.2, 30, 10), (0.8, 10, 30)):
            x_c, x_b = (sum(rng.random() < rate for _ in range(n)) for n in (n_c, n_b))
            tables.append((x_c, n_c, x_b, n_b))
        raw += difference.score_p(*map(sum, zip(*tables, strict=True))) < 0.05
        proper += judged(tables).statistical_verdict in (Verdict.BETTER, Verdict.WORSE)
    assert raw > 0.75 * 400
    assert proper < 0.09 * 400
