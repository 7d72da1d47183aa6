import json
import re

import pytest

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.errors import (
    ConditionNotMet,
    Inconclusive,
    ServerUnreachable,
    Untrustworthy,
    UsageError,
)
from pytest_evalharness.league.family import Settled
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.needs import games_among
from pytest_evalharness.verdict.words import Reason, Verdict

# Wins of candidate and baseline, games an arm. The names are those of the verdict with a margin of 0.2.
BETTER, WORSE, EQUIVALENT, UNSURE = (80, 50, 100), (10, 50, 100), (50, 50, 100), (15, 15, 30)
MUCH_BETTER = (95, 50, 100)
SLIGHTLY_BETTER = (98, 90, 100)  # significant, and inside the margin
OVERLAPPING = (65, 50, 100)  # better by the score interval, and the two Wilson intervals overlap
PASS = None
TABLE = {
    ("better", BETTER): PASS,
    ("better", SLIGHTLY_BETTER): PASS,
    ("better", WORSE): ConditionNotMet,
    ("better", EQUIVALENT): ConditionNotMet,
    ("better", UNSURE): Inconclusive,
    ("not_worse", BETTER): PASS,
    ("not_worse", EQUIVALENT): PASS,
    ("not_worse", UNSURE): PASS,
    ("not_worse", WORSE): ConditionNotMet,
    ("noninferior", BETTER): PASS,
    ("noninferior", EQUIVALENT): PASS,
    ("noninferior", WORSE): ConditionNotMet,
    ("noninferior", UNSURE): Inconclusive,
    ("equivalent", EQUIVALENT): PASS,
    ("equivalent", SLIGHTLY_BETTER): PASS,
    ("equivalent", MUCH_BETTER): ConditionNotMet,
    ("equivalent", BETTER): Inconclusive,  # the interval begins inside the margin
    ("equivalent", WORSE): ConditionNotMet,
    ("equivalent", UNSURE): Inconclusive,
    ("separated", BETTER): PASS,
    ("separated", WORSE): ConditionNotMet,
    ("separated", OVERLAPPING): Inconclusive,
    ("separated", EQUIVALENT): Inconclusive,
    ("separated", UNSURE): Inconclusive,
}
MARGINS = {"better": 0.2, "not_worse": 0.2, "noninferior": 0.2, "equivalent": 0.2, "separated": None}
WRONG_SEATS = Finding(Reason.SEATS, "candidate: ereq_1: seat 0 holds rival:v3", "candidate", ("ereq_1",))
HOSTILE = "\x1b[31mbot\n\u202e:v2"


@pytest.fixture
def result(make):
    def compare(
        counts=BETTER, claim="better", *trust, label="bot:v2", verified=("seats",), rule="score",
        requests=(), **changes
    ):  # fmt: skip
        candidate, baseline, games = counts
        declaration = Declaration(claim, rule=rule, margin=MARGINS[claim])
        arms = (
            ArmEvidence(label, candidate, games, games, 0.5, 3, 1, requests or ("xreq_c",)),
            ArmEvidence("bot:v1", baseline, games, games, None, 0, 0, requests or ("xreq_b",)),
        )
        judgement = judge(declaration, *arms, trust, verified=verified)
        return ABResult(
            "A/B crew", make.plan(declaration=declaration), judgement, make.roster(), {}, **changes
        )

    return compare


def raised_by(call, *args):
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001 - the class is what the test is about
        return error
    return None


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize(("claim", "counts"), TABLE)
def test_what_becomes_of_a_claim(result, claim, counts):
    error = raised_by(result(counts, claim).require)
    assert type(error) is (TABLE[claim, counts] or type(None))


@pytest.mark.parametrize("claim", MARGINS)
@pytest.mark.parametrize("counts", [BETTER, WORSE, EQUIVALENT, UNSURE])
def test_evidence_that_cannot_be_believed_meets_no_claim(result, claim, counts):
    found = result(counts, claim, WRONG_SEATS)
    for refuse in (found.require, found.require_trust):
        assert type(raised_by(refuse)) is Untrustworthy


@pytest.mark.parametrize("verdict", Verdict)
def test_no_named_verdict_lets_untrustworthy_evidence_pass(result, verdict):
    assert type(raised_by(result(BETTER, "better", WRONG_SEATS).require, verdict)) is Untrustworthy


def test_the_counts_mean_what_their_names_say(result):
    told = {counts: result(counts).verdict for counts in (BETTER, WORSE, EQUIVALENT, UNSURE, OVERLAPPING)}
    assert list(told.values()) == ["better", "worse", "equivalent", "inconclusive", "better"]


@pytest.mark.parametrize(
    ("counts", "named", "expected"),
    [
        (BETTER, ["better"], PASS),
        (BETTER, [Verdict.BETTER, "equivalent"], PASS),
        (BETTER, ["worse"], ConditionNotMet),
        (WORSE, ["worse"], PASS),
        (WORSE, ["better", "equivalent", "inconclusive"], ConditionNotMet),
        (EQUIVALENT, ["equivalent"], PASS),
        (EQUIVALENT, ["better"], ConditionNotMet),
        (UNSURE, ["inconclusive"], PASS),
        (UNSURE, ["better"], Inconclusive),
        (UNSURE, ["better", "worse", "equivalent"], Inconclusive),
    ],
)
def test_named_verdicts_stand_in_for_the_claim(result, counts, named, expected):
    assert type(raised_by(result(counts, "not_worse").require, *named)) is (expected or type(None))


@pytest.mark.parametrize("word", ["helped", "BETTER", "", None, 3])
def test_a_word_that_is_no_verdict(result, word):
    error = raised_by(result().require, word)
    assert type(error) is UsageError
    assert "better, worse, equivalent, inconclusive, untrustworthy" in error.next_step


# ----------------------------------------------------------------- consumed


def test_looking_at_the_evidence_is_noticed(result):
    for look in (lambda r: r.require(), lambda r: r.verdict, lambda r: r.require("better")):
        found = result()
        assert not found.consumed
        look(found)
        assert found.consumed


def test_a_rule_that_is_report_only_is_told_to_be_replaced_not_played_again(result):
    error = _error(result(BETTER, rule="bayes"))
    assert isinstance(error, Inconclusive)
    assert "P(better) 1.000" in str(error)
    assert 'declare a rule that decides, such as rule="score"' in error.next_step
    assert "--eval-num" not in error.next_step


def _error(found):
    with pytest.raises(Inconclusive) as raised:
        found.require()
    return raised.value


def test_a_refusal_counts_as_a_look(result):
    found = result(WORSE)
    assert raised_by(found.require) is not None
    assert found.consumed


def test_what_only_shows_the_evidence_is_no_look(result):
    found = result(age=5.0)
    found.require_trust()
    assert found.headline
    assert repr(found)
    assert found.lines()
    assert found.to_json()
    assert found.candidate.wins == 80
    assert not found.consumed


# -------------------------------------------------------------------- words


def test_the_first_line_has_the_decision_and_the_numbers(result):
    first, *_ = str(raised_by(result((6, 17, 30)).require)).splitlines()
    assert first == "A/B crew: WORSE, -36.7 pp [-57.1, -12.2], 6/30 vs 17/30, seats verified"


def test_the_message_has_everything_needed_to_look_further(result):
    text = str(raised_by(result(UNSURE, age=7_800.0, attempt=3, earlier=("worse (attempt 1)",)).require))
    for told in (
        "INCONCLUSIVE", "request xreq_c", "request xreq_b", "mean seat score 0.50", "mean seat score none", "kills 3",
        "vote timeouts 1", "not a league rank", "2 h 10 min old", "attempt 3", "earlier: worse (attempt 1)",
        "neither met nor refuted", "--eval-num", "EVH110",
    ):  # fmt: skip
        assert told in text


def test_fresh_evidence_of_a_first_attempt_says_nothing_of_it(result):
    text = "\n".join(result().lines())
    assert "attempt" not in text
    assert " old" not in text


def test_untrustworthy_evidence_shows_no_effect(result):
    found = result(BETTER, "better", WRONG_SEATS, verified=())
    text = str(raised_by(found.require))
    assert "seat 0 holds rival:v3" in text
    for hidden in (" pp", "80/100", "Wilson", "score (MN)", "seat score", "0.50", "kills", "vote timeouts"):
        assert hidden not in text
        assert hidden not in "\n".join(found.to_json()["lines"])
    for told in ("bot:v2, request xreq_c", "bot:v1, request xreq_b"):
        assert told in text


def test_the_whole_verdict_in_one_line(result):
    shown = repr(result())
    assert shown.startswith("<A/B crew: BETTER, +30.0 pp")
    assert shown.endswith("requests xreq_c xreq_b>")
    assert "\n" not in shown


def test_a_hostile_name_in_the_lines_is_harmless(result):
    for line in result(label=HOSTILE).lines():
        assert line.isprintable()


def test_reports_get_plain_data(result):
    data = result(WORSE, "not_worse", attempt=2, earlier=("better (attempt 1)",)).to_json()
    assert json.loads(canonical_json(data)) == data
    assert data["headline"].startswith("A/B crew: WORSE")
    assert (data["attempt"], data["earlier"], data["evidence_age_seconds"]) == (
        2,
        ["better (attempt 1)"],
        None,
    )


def test_many_requests_are_counted_in_every_line_and_listed_in_the_data(result):
    ids = tuple(f"xreq_{i}" for i in range(30))
    found = result(WORSE, requests=ids)
    assert repr(found).endswith(
        "seats verified; 30 requests, xreq_0 … xreq_29 against 30 requests, xreq_0 … xreq_29>"
    )
    message = str(raised_by(found.require))
    assert "vote timeouts 1, 30 requests, xreq_0 … xreq_29" in message
    assert "coworld xp-request episodes xreq_0 lists its games (and likewise 29 more requests" in message
    assert "xreq_17" not in message
    assert found.to_json()["judgement"]["candidate"]["request_ids"] == list(ids)


def test_the_requests_of_a_few_looks_are_listed(result):
    assert "requests xreq_1 xreq_2 xreq_3" in "\n".join(
        result(requests=("xreq_1", "xreq_2", "xreq_3")).lines()
    )


# ------------------------------------------------------------------- together


@pytest.fixture
def among(result):
    """A result whose family is asked for at most once: what the other claims brought, or why they cannot be waited for."""

    def make(counts, others, claim="better"):
        found = result(counts, claim)
        found.asked = []

        def settle():
            found.asked.append(True)
            if isinstance(others, Exception):
                raise others
            alone = found.alone
            return Settled(
                judge(alone.declaration, alone.candidate, alone.baseline, verified=("seats",), others=others)
            )

        found.settle = settle
        return found

    return make


def test_the_evidence_waits_for_nobody(among):
    found = among((65, 50, 100), [1.0])
    assert found.candidate.kills == 3
    assert found.baseline.wins == 50
    assert repr(found.plan)
    assert repr(found) == "<A/B crew: not asked for its verdict yet; requests xreq_c xreq_b>"
    found.require_trust()
    assert found.asked == []
    assert found.verdict is Verdict.INCONCLUSIVE
    assert repr(found).startswith("<A/B crew: INCONCLUSIVE, ")  # now it is known


@pytest.mark.parametrize(
    "look",
    [
        lambda r: r.verdict, lambda r: r.judgement, lambda r: r.headline, lambda r: r.lines(),
        lambda r: r.to_json(), lambda r: r.require("inconclusive"), lambda r: r.together,
    ],
    ids=["verdict", "judgement", "headline", "lines", "json", "require", "together"],
)  # fmt: skip
def test_whoever_asks_for_the_verdict_gets_the_adjusted_one_and_waits_once(among, look):
    found = among(OVERLAPPING, [1.0])
    look(found)
    look(found)
    assert found.asked == [True]
    assert found.alone.verdict is Verdict.BETTER
    assert found.judgement.verdict is Verdict.INCONCLUSIVE
    assert found.to_json()["judgement"]["p_adjusted"] == 2 * found.alone.p_gate


def test_what_cannot_be_waited_for_is_asked_again(among):
    found = among(BETTER, ServerUnreachable("gone"))
    for _ in range(2):
        with pytest.raises(ServerUnreachable):
            found.require()
    assert found.asked == [True, True]
    assert found.consumed


@pytest.mark.parametrize(
    ("counts", "told", "untold"),
    [
        ((23, 15, 30), ["--eval-num 100 asks again with more games (", " among 2 claims"], "accept that"),
        (
            OVERLAPPING,
            ["declare fewer claims together in a new run (--eval-fresh)", "family of 2"],
            "--eval-num",
        ),
    ],
)
def test_what_the_family_keeps_open_has_a_next_step_of_its_own(among, make, counts, told, untold):
    found = among(counts, [1.0])
    found.plan = make.plan(episodes=counts[2], declaration=found.plan.declaration)
    error = raised_by(found.require)
    assert type(error) is Inconclusive
    for words in told:
        assert words in error.next_step
    assert untold not in error.next_step
    assert "would stand alone, and does not among all the claims" in str(error)


def test_a_small_target_among_many_claims_needs_more_games(among):
    alone, many = (games_among(among(BETTER, [1.0] * others).judgement) for others in (0, 11))
    assert alone == among(BETTER, []).judgement.required_n.score
    assert many > 1.5 * alone


# -------------------------------------------------------------- for a report


@pytest.mark.parametrize(
    ("counts", "trust", "step"),
    [
        (WORSE, (), "do not ship this edit; coworld xp-request episodes xreq_c lists its games"),
        (UNSURE, (), "accept that|--eval-num"),
        (BETTER, (WRONG_SEATS,), "--eval-fresh"),
        (BETTER, (), "^$"),
    ],
)
def test_a_result_says_what_to_do_about_its_claim(result, counts, trust, step):
    found = result(counts, "better", *trust)
    assert re.search(step, found.next_step)
    assert found.to_json()["next_step"] == found.next_step
    error = raised_by(found.require)
    assert error is None or error.next_step == found.next_step


def test_a_result_carries_its_episodes_row_by_row(result, make):
    arms = make.arms()
    found = result(BETTER, arms=arms)
    assert found.to_json()["episodes"] == {}
    found.records = {side: make.record(arm) for side, arm in arms.items()}
    assert [len(found.to_json()["episodes"][side]["rows"]) for side in arms] == [4, 4]
