import pytest

from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge


def judged(candidate, baseline, claim="better", *trust, verified=(), **declared):
    arms = [ArmEvidence("arm", wins, n, asked) for wins, n, asked in (candidate, baseline)]
    return judge(Declaration(claim, **declared), *arms, trust, verified=verified)


def test_the_first_line_carries_decision_and_numbers():
    found = judged((6, 30, 30), (17, 30, 30), verified=["seats"])
    assert found.headline("A/B crew") == (
        "A/B crew: WORSE, -36.7 pp [-57.1, -12.2], 6/30 vs 17/30, seats verified"
    )
    assert judged((6, 30, 30), (17, 30, 30)).headline("swap") == (
        "swap: WORSE, -36.7 pp [-57.1, -12.2], 6/30 vs 17/30"
    )


@pytest.mark.parametrize(
    ("claim", "declared", "words"),
    [
        ("not_worse", {}, "not worse met"),
        ("noninferior", {"margin": 0.15}, "noninferior within 0.15 met"),
        ("equivalent", {"margin": 0.1}, "equivalent within 0.10 cannot tell"),
        ("separated", {}, "separated cannot tell"),
    ],
)
def test_a_claim_that_the_verdict_does_not_answer_is_answered_beside_it(claim, declared, words):
    found = judged((52, 100, 100), (45, 100, 100), claim, verified=["seats"], **declared)
    assert found.headline("A/B imposter") == (
        f"A/B imposter: INCONCLUSIVE, +7.0 pp [-6.9, +20.6], 52/100 vs 45/100, {words}, seats verified"
    )


def test_an_untrustworthy_comparison_gives_reasons_and_no_numbers():
    found = judged(
        (6, 30, 30), (17, 30, 30), "better", Finding("seats", "episode 3, seat 2"), verified=["seats"]
    )
    assert found.headline("A/B crew") == (
        "A/B crew: UNTRUSTWORTHY, players did not sit where they were placed (episode 3, seat 2)"
    )
    assert found.summary_lines() == [
        "untrustworthy  : players did not sit where they were placed (episode 3, seat 2)",
        "missing        : 0 / 0",
    ]


def test_an_inconclusive_summary_says_what_would_decide():
    assert judged((18, 30, 30), (11, 30, 30)).summary_lines() == [
        "candidate  18/30  0.600 [0.423, 0.754]   baseline  11/30  0.367 [0.219, 0.545]     (95 % Wilson)",
        "wilson-overlap : overlap -> not separated (strict; safe under repeated looks; alpha 0.0056)",
        "score (MN)     : +0.233 [-0.022, +0.460]  p=0.073  -> inconclusive",
        "detectable     : lift 0.35 / 0.44, loss 0.29 / 0.35 (score / overlap), 80 % power, 30 games an arm, rate 0.38",
        "required_n     : 383 per arm for a true lift of 0.10 (overlap rule 637), as 4 requests of 100",
        "missing        : 0 / 0",
        "played         : look 1 of 1; unpaired",
        "claim          : better: cannot tell",
        "cannot tell    : difference between -0.02 and +0.46",
        "note           : the interval for the difference includes 0",
    ]


def test_no_summary_calls_an_inconclusive_result_no_difference():
    for found in (
        judged((15, 30, 30), (15, 30, 30)),
        judged((2, 4, 4), (2, 4, 4)),
        judged((7, 8, 8), (3, 8, 8)),
        judged((0, 30, 30), (0, 30, 30), "not_worse"),
    ):
        text = "\n".join([found.headline("x"), *found.summary_lines()]).lower()
        assert "no difference" not in text
        assert "neutral" not in text
        assert "cannot tell" in text
        assert "-0.00 and" not in text


def test_not_worse_prints_the_loss_it_could_not_have_seen():
    lines = judged((18, 30, 30), (15, 30, 30), "not_worse").summary_lines()
    assert (
        "claim          : not worse: met, but a true loss below 0.33 would often not have been seen" in lines
    )
    lines = judged((18, 30, 30), (15, 30, 30), "not_worse", rule="overlap").summary_lines()
    assert (
        "claim          : not worse: met, but a true loss below 0.41 would often not have been seen" in lines
    )
    few = judged((2, 4, 4), (2, 4, 4), "not_worse").summary_lines()
    assert any("no loss at all could have been seen reliably" in line for line in few)
    assert (
        "claim          : not worse: not met"
        in judged((6, 30, 30), (17, 30, 30), "not_worse").summary_lines()
    )


def test_other_lines_in_other_situations():
    found = judged((26, 28, 30), (12, 29, 30), rule="overlap")
    text = "\n".join(found.summary_lines())
    assert "no overlap -> candidate above" in text
    assert "-> better by the overlap rule" in text
    assert (
        "missing        : 2 (2 infrastructure) / 1 (1 infrastructure) (holds: worst case better, best case better)"
        in text
    )
    assert "exact p=0.053" in "\n".join(judged((7, 8, 8), (3, 8, 8)).summary_lines())
    assert "a true lift of 0.90 is not possible" in "\n".join(
        judged((15, 30, 30), (15, 30, 30), target_lift=0.9).summary_lines()
    )
    assert "(99 % Wilson)" in judged((15, 30, 30), (15, 30, 30), alpha=0.01).summary_lines()[0]


def test_each_rule_says_what_decided():
    def line(rule, start="score (MN)"):
        lines = judged((23, 30, 30), (15, 30, 30), rule=rule).summary_lines()
        return next(line for line in lines if line.startswith(start))

    assert line("score") == "score (MN)     : +0.267 [+0.021, +0.484]  p=0.034  -> better"
    assert line("newcombe", "newcombe") == (
        "newcombe       : +0.267 [+0.023, +0.471]  score p=0.034  -> better by the newcombe rule"
    )
    assert line("exact") == (
        "score (MN)     : +0.267 [+0.021, +0.484]  p=0.034  exact p=0.035  -> better by the exact rule"
    )
    assert line("bayes") == (
        "score (MN)     : +0.267 [+0.021, +0.484]  p=0.034  (for display: the bayes rule is report only)"
    )
    assert line("bayes", "bayes") == (
        "bayes          : P(better) 0.985, expected loss 0.001 with the candidate, 0.259 with the baseline "
        "(Jeffreys priors); reported, decides nothing"
    )
    assert "(newcombe / overlap)" in line("newcombe", "detectable")
    assert "(exact / overlap)" in line("exact", "detectable")
    assert "(score / overlap)" in line("bayes", "detectable")


def test_what_is_report_only_promises_nothing():
    found = judged((26, 30, 30), (15, 30, 30), "not_worse", rule="bayes")
    assert found.headline("A/B crew").startswith("A/B crew: INCONCLUSIVE, +36.7 pp")
    assert "claim          : not worse: cannot tell" in found.summary_lines()
    assert any(
        line.startswith("note           : the bayes rule is report only") for line in found.summary_lines()
    )


def test_missing_games_are_told_with_their_causes():
    candidate = ArmEvidence("new", 20, 28, 30, unknown=1)
    baseline = ArmEvidence("old", 15, 29, 30, unknown=1)
    found = judge(Declaration("better"), candidate, baseline)
    assert "missing        : 2 (1 infrastructure, 1 unknown) / 1 (1 unknown)" in "\n".join(
        found.summary_lines()
    )


def test_an_untrustworthy_comparison_tells_the_causes_too():
    found = judge(
        Declaration("better"), ArmEvidence("new", 20, 20, 30, unknown=10), ArmEvidence("old", 15, 30, 30)
    )
    assert found.summary_lines()[-1] == "missing        : 10 (10 unknown) / 0"


def test_the_first_line_names_all_checks_that_were_made():
    found = judged((26, 30, 30), (15, 30, 30), verified=("seats", "seeds"))
    assert found.headline("A/B crew").endswith("seats and seeds verified")
