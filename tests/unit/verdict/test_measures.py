"""Another metric than the win rate: Student's t decides, in the metric's own units."""

import json
import random

import pytest
from scipy import stats

from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Pairs
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.measures import Measures, planned
from pytest_evalharness.verdict.metrics import metric_of, words_of
from pytest_evalharness.verdict.pooling import require_poolable
from pytest_evalharness.verdict.words import Decision, Metric, Reason, Verdict

TASKS = "evals.metrics:tasks_done"
LOW = tuple(float(i % 5) for i in range(30))
HIGH = tuple(value + 2.0 for value in LOW)


def judged(
    candidate, baseline, *, claim="better", wins=(0, 0), missing=(0, 0), pairs=None, words=None, **declared
):
    measures = Measures(tuple(candidate), tuple(baseline), paired=pairs is not None)
    arms = [
        ArmEvidence(label, won, len(values), len(values) + lost)
        for label, won, values, lost in zip(
            ("a:v2", "a:v1"), wins, (candidate, baseline), missing, strict=True
        )
    ]
    said = {"metric": TASKS, "secondary": [], **declared}
    return judge(Declaration(claim, **said), *arms, measures=measures, pairs=pairs, **(words or {}))


def reasons(judgement):
    return [finding.reason for finding in judgement.reasons]


# ------------------------------------------------------------------ declaring


@pytest.mark.parametrize(
    ("said", "metric", "words"),
    [
        ("wins", Metric.WINS, "win rate"),
        ("win rate", Metric.WINS, "win rate"),
        ("score", Metric.SCORE, "seat score"),
        ("seat score", Metric.SCORE, "seat score"),
        (TASKS, TASKS, "tasks_done"),
        ("m:Class.method", "m:Class.method", "Class.method"),
    ],
)
def test_a_metric_by_all_its_names(said, metric, words):
    assert metric_of(said) == Declaration("better", metric=said).metric == metric
    assert words_of(metric) == words


@pytest.mark.parametrize(
    "said", ["luck", "", "a:b:c", "a b:c", ":f", "m:", "m:<lambda>", "m:f()", None, 3, print]
)
def test_what_is_no_metric(said):
    with pytest.raises(ValueError, match="metric must be 'win rate', 'seat score', or a function's name"):
        Declaration("better", metric=said)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"rule": "overlap"},
            "rule 'overlap' is for win rates: metric 'seat score' is judged by Student's t",
        ),
        ({"rule": "bayes"}, "is for win rates"),
        ({"rule": "exact"}, "is for win rates"),
        ({"rule": "group_sequential", "looks": [10, 30]}, "is for win rates"),
        ({"looks": [10, 30]}, "looks need a rule that stands them"),
        ({"claim": "separated"}, "is read off the Wilson intervals of win rates"),
        ({"claim": "noninferior"}, "needs a margin"),
        ({"margin": 0.0}, "margin must be a number above 0, in the metric's units"),
        ({"margin": float("inf")}, "margin must be a number above 0"),
        ({"margin": True}, "margin must be a number above 0"),
        ({"target_lift": -1}, "target_lift must be a number above 0"),
        ({"secondary": ["score"], "metric": TASKS, "rule": "overlap"}, "metric 'tasks_done' is judged"),
        ({"secondary": ["wins", "score"]}, "must not name the primary metric, 'seat score'"),
    ],
)
def test_what_does_not_go_with_it_is_refused_with_a_reason(words, message):
    with pytest.raises(ValueError, match=message):
        Declaration(**{"claim": "better", "metric": "seat score", **words})


def test_it_has_no_way_to_pool():
    with pytest.raises(ValueError, match="metric 'seat score' has no way to pool"):
        require_poolable(Declaration("better", metric="score"), 2)


def test_the_win_rate_is_declared_as_ever_and_changes_no_key():
    assert Declaration("better").to_json() == Declaration("better", metric="win rate").to_json()
    assert "metric" not in Declaration("better").to_json()
    assert Declaration("better").margin is None
    with pytest.raises(ValueError, match="margin must lie strictly between 0 and 1"):
        Declaration("noninferior", margin=3)


def test_a_declaration_comes_back():
    for declared in (
        Declaration("equivalent", metric=TASKS, margin=2.5, target_lift=7),
        Declaration("better", metric="seat score"),
    ):
        assert Declaration.from_json(json.loads(json.dumps(declared.to_json()))) == declared
    assert Declaration("better", metric="seat score").secondary == (Metric.WINS,)


def test_measures_come_exactly_where_they_decide():
    arms = ArmEvidence("a", 1, 6), ArmEvidence("b", 1, 6)
    with pytest.raises(ValueError, match="metric 'seat score' was declared"):
        judge(Declaration("better", metric="score"), *arms)
    with pytest.raises(ValueError, match="only wins decide"):
        judge(Declaration("better"), *arms, measures=Measures((1.0,) * 6, (1.0,) * 6))
    with pytest.raises(ValueError, match=r"one a counted game \(6, 6\)"):
        judge(Declaration("better", metric="score"), *arms, measures=Measures((1.0,) * 5, (1.0,) * 6))
    with pytest.raises(ValueError, match="paired exactly as"):
        judge(
            Declaration("better", metric="score"),
            *arms,
            measures=Measures((1.0,) * 6, (1.0,) * 6, paired=True),
        )


# -------------------------------------------------------------------- judging


def test_the_numbers_are_welchs():
    found = judged(HIGH, LOW[:20])
    other = stats.ttest_ind(HIGH, LOW[:20], equal_var=False)
    low, high = other.confidence_interval(0.95)
    assert found.verdict is Verdict.BETTER
    assert found.decision is Decision.MET
    assert found.diff == pytest.approx(2.0)
    assert found.p == pytest.approx(other.pvalue, rel=1e-9)
    assert found.ci == pytest.approx((low, high), rel=1e-9)
    assert found.ci_margin == pytest.approx(tuple(other.confidence_interval(0.90)), rel=1e-9)
    assert (found.measure.candidate, found.measure.baseline) == (4.0, 2.0)
    assert found.measure.test == "Welch"


def test_pairs_are_judged_by_their_differences():
    wobble = [0.1 * (i % 3) for i in range(12)]
    base = [100.0 * i for i in range(12)]
    candidate = [b + 1 + w for b, w in zip(base, wobble, strict=True)]
    pairs = Pairs.of(((1, 1),) * 12)
    found = judged(candidate, base, wins=(12, 12), pairs=pairs, pairing="seed")
    other = stats.ttest_rel(candidate, base)
    assert found.verdict is Verdict.BETTER
    assert found.p == pytest.approx(other.pvalue, rel=1e-6)
    assert found.measure.test == "paired t"
    assert found.required_pairs is not None
    assert judged(candidate, base).verdict is Verdict.INCONCLUSIVE, "unpaired, the seeds' spread hides it"


def test_directions_mirror_each_other():
    better, worse = judged(HIGH, LOW), judged(LOW, HIGH)
    assert (better.verdict, worse.verdict) == (Verdict.BETTER, Verdict.WORSE)
    assert worse.ci == pytest.approx(tuple(-limit for limit in reversed(better.ci)))
    assert worse.decision is Decision.NOT_MET


@pytest.mark.parametrize(
    ("margin", "claim", "decision"),
    [
        (2.0, "equivalent", Decision.MET),
        (0.3, "equivalent", Decision.CANNOT_TELL),
        (2.0, "noninferior", Decision.MET),
        (0.3, "noninferior", Decision.CANNOT_TELL),
    ],
)
def test_margins_are_in_the_metrics_units(margin, claim, decision):
    found = judged(LOW, LOW[::-1], claim=claim, margin=margin)
    assert found.decision is decision
    assert (found.verdict is Verdict.EQUIVALENT) == (margin == 2.0)


def test_a_loss_beyond_the_margin_is_not_met():
    found = judged(LOW, HIGH, claim="noninferior", margin=0.5)
    assert found.decision is Decision.NOT_MET
    inside = judged([v + 0.9 for v in LOW], LOW, margin=5.0)
    assert (inside.verdict, inside.within_margin) == (Verdict.BETTER, True)
    assert Reason.WITHIN_MARGIN in reasons(inside)


def test_few_games_need_the_permutation_test_and_fewer_decide_nothing():
    found = judged(HIGH[:6], LOW[:6])
    assert found.p_exact is not None
    agreed = judged([10, 11, 12, 13, 14], [0, 1, 2, 3, 4])
    assert (agreed.verdict, agreed.p_exact) == (Verdict.BETTER, pytest.approx(2 / 252))
    refused = judged([3.0, 0.0, 3.0, 3.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0])
    assert refused.p < 0.05 < refused.p_exact
    assert (refused.verdict, reasons(refused)) == (Verdict.INCONCLUSIVE, [Reason.EXACT_DISAGREES])
    few = judged(HIGH[:4], LOW[:4])
    assert (few.verdict, reasons(few)) == (Verdict.INCONCLUSIVE, [Reason.SMALL_N])
    assert few.p_gate == 1.0


@pytest.mark.parametrize(("games", "diff"), [(0, None), (1, None), (2, 2.0)])
def test_hardly_any_game(games, diff):
    found = judged(HIGH[:games], LOW[:games])
    assert found.diff == diff
    assert found.decision in {Decision.CANNOT_TELL, Decision.UNTRUSTWORTHY}
    json.dumps(found.to_json(), allow_nan=False)
    assert found.headline("A/B")
    assert found.summary_lines()


def test_what_never_varies_cannot_be_tested():
    for candidate in (5.0, 7.0):
        found = judged([candidate] * 30, [5.0] * 30, claim="equivalent", margin=10)
        assert (found.verdict, reasons(found)) == (Verdict.INCONCLUSIVE, [Reason.NO_SPREAD])
        assert found.decision is Decision.CANNOT_TELL
        assert found.diff == candidate - 5.0
        assert found.p_gate == 1.0
        assert "nothing varies, so nothing is tested" in "\n".join(found.summary_lines())


def test_wins_may_object_and_nothing_more():
    against = judged(HIGH, LOW, wins=(2, 28), secondary=["wins"])
    assert (against.verdict, reasons(against)) == (Verdict.INCONCLUSIVE, [Reason.METRICS_DISAGREE])
    assert judged(HIGH, LOW, wins=(2, 28), secondary=[]).verdict is Verdict.BETTER
    assert judged(HIGH, LOW, wins=(14, 15), secondary=["wins"]).verdict is Verdict.BETTER


def test_ceilings_are_those_of_wins_and_none_here():
    found = judged(HIGH, LOW, wins=(30, 30))
    assert not found.ceiling
    assert Reason.CEILING not in reasons(found)


def test_missing_games_are_taken_to_lie_within_what_was_seen():
    found = judged([v + 0.8 for v in LOW], LOW, missing=(1, 1))
    assert (found.worst_case, found.best_case) == (Verdict.INCONCLUSIVE, Verdict.BETTER)
    worst, best = Measures((1.0, 2.0), (3.0,)).extremes(1, 2)
    assert (worst.candidate, worst.baseline) == ((1.0, 2.0, 1.0), (3.0, 3.0, 3.0))
    assert (best.candidate, best.baseline) == ((1.0, 2.0, 3.0), (3.0, 1.0, 1.0))
    paired, _ = Measures((1.0, 2.0), (3.0, 4.0), paired=True).extremes(1, 0)
    assert (paired.candidate, paired.baseline) == ((1.0, 2.0, 1.0), (3.0, 4.0, 4.0))


def test_after_a_look_out_of_plan_the_overlap_rules_level_is_asked_for():
    candidate = [v + 0.9 for v in LOW]
    plain, looked = judged(candidate, LOW), judged(candidate, LOW, words={"unplanned_looks": 1})
    assert plain.verdict is Verdict.BETTER
    assert looked.verdict is Verdict.INCONCLUSIVE
    assert looked.ci[0] < 0.0 < plain.ci[0]
    assert looked.p_gate > 0.05 > plain.p_gate
    assert "at the overlap rule's level" in "\n".join(looked.summary_lines())


def test_a_family_adjusts_it_like_any_other_claim():
    alone = judged([v + 0.9 for v in LOW], LOW)
    among = judged([v + 0.9 for v in LOW], LOW, words={"others": [1.0, 1.0, 1.0]})
    assert alone.verdict is Verdict.BETTER
    assert (among.verdict, reasons(among)) == (Verdict.INCONCLUSIVE, [Reason.FAMILY])
    assert among.p_adjusted == pytest.approx(4 * alone.p_gate)


def test_every_number_survives_the_journal():
    found = judged(HIGH, LOW, margin=3.0, missing=(0, 1))
    assert Judgement.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found
    old = {key: value for key, value in found.to_json().items() if key != "measure"}
    assert Judgement.from_json(old).measure is None


# --------------------------------------------------------------------- words


def test_the_report_speaks_in_its_units():
    found = judged(HIGH, LOW, claim="noninferior", margin=1.5, wins=(20, 10), secondary=["wins"])
    first = found.headline("A/B crew")
    assert first.startswith("A/B crew: BETTER, tasks_done +2 [+1.")
    assert "mean 4 vs 2 in 30 vs 30 games" in first
    assert "noninferior within 1.5 tasks_done met" in first
    told = found.summary_lines()
    lines = {line.partition(":")[0].strip(): line for line in told}
    assert lines["metric"].startswith("metric         : tasks_done +2 [+")
    assert "(Welch)  p=" in lines["metric"]
    assert lines["metric"].endswith("-> better")
    assert (
        lines["means"]
        == "means          : candidate  4 (SD 1.438, 30 games)   baseline  2 (SD 1.438, 30 games)"
    )
    assert lines["score (MN)"].endswith("(wins; secondary, can only object)")
    assert "tasks_done difference" in lines["detectable"]
    assert "for a true difference of 0.1 tasks_done" in lines["required_n"]
    assert not any(" pp" in line for line in [first, *told])


def test_what_not_worse_could_have_missed_is_told_in_its_units():
    found = judged(LOW, LOW[::-1], claim="not_worse")
    assert found.decision is Decision.MET
    assert "a true loss below 1.04 tasks_done would often not have been seen" in "\n".join(
        found.summary_lines()
    )


def test_an_untrustworthy_one_shows_no_number():
    found = judged(HIGH, LOW, missing=(0, 20))
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert "tasks_done" not in found.headline("A/B") + "\n".join(found.summary_lines())


# ------------------------------------------------------------------- planning


def test_games_needed_follow_from_the_spread():
    """Two arms with a standard deviation of 1 and a true difference of 0.5: 63 an arm, the textbook's number."""
    unit = tuple((-1.0, 1.0) * 500)
    found = planned(Measures(unit, unit), 0.5, 0.05)
    assert found.required_n.score == 63
    assert found.required_n.overlap > found.required_n.score
    assert found.detectable.score == pytest.approx(2.8016 * (2 / 1000) ** 0.5, rel=1e-3)
    none = planned(Measures((1.0,), (2.0,)), 0.5, 0.05)
    assert none.required_n.score is None


@pytest.mark.slow
def test_it_errs_as_often_as_it_says():
    """One build with itself, by its seat score: 3 for an imposter's win, 1 for a crew's, else 0."""
    chance = random.Random(7)

    def arm():
        return [chance.choice((0.0, 0.0, 0.0, 1.0, 3.0)) for _ in range(30)]

    told = [judged(arm(), arm()).verdict for _ in range(1500)]
    errors = sum(verdict is not Verdict.INCONCLUSIVE for verdict in told)
    assert stats.binomtest(errors, 1500, 0.05, alternative="greater").pvalue > 0.001
