"""The five points of the runbook's success check, each with what was seen."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ArmStalled, CredentialsRejected, SameBuild
from pytest_evalharness.report import html, markdown, terminal
from pytest_evalharness.report.model import SCOPE
from pytest_evalharness.report.success import POINTS, State, of_case, of_failure, of_result
from pytest_evalharness.report.terminal import success_lines
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

OK, NOT, UNKNOWN = State.OK, State.NOT, State.UNKNOWN
HOSTILE = "\x1b]0;title\x07\n\u202eEvil\r" + "x" * 5000


def builds(conclusion="different", files=None, warnings=()):
    return {
        "conclusion": conclusion,
        "sentence": "the sentence",
        "files": files,
        "warnings": list(warnings),
        "notes": [],
        "arms": {side: {"label": "keeper", "evidence": []} for side in ("candidate", "baseline")},
    }


@pytest.fixture
def judged(compared, episodes):
    """A whole row: episodes and builds beside the judgement."""

    def make(*args, changes=None, label="keeper:v2", proof=builds, **words):
        games = words.get("games", 30)
        row = compared(*args, label=label, episodes=episodes(games, changes, label=label), **words)
        return {**row, "builds": proof()}

    return make


def states(check):
    return [point.state for point in check.points]


def seen(check, number):
    return check.points[number - 1].seen


def test_a_decided_comparison_has_all_five(judged):
    check = of_result(judged())
    assert states(check) == [OK] * 5
    assert check.passed
    assert check.words == "5 of 5 points ok"
    assert [(point.number, point.name) for point in check.points] == list(enumerate(POINTS, 1))
    assert seen(check, 1).startswith("the sentence; ")
    assert seen(check, 2) == "candidate: 30 completed of 30 asked for; baseline: 30 completed of 30 asked for"
    assert "candidate: keeper:v2 as crew in seat 0, everybody as placed, in 30 of 30 episodes" in seen(
        check, 3
    )
    assert seen(check, 4) == "30 and 30 games: the Wilson intervals separate, candidate above"
    assert "candidate 28/30 [0.787, 0.982], mean seat score 0.50, kills 3, vote timeouts 1" in seen(check, 5)
    assert "requests xreq_c1 xreq_c2" in seen(check, 5)
    assert "request xreq_b" in seen(check, 5)
    assert "the intervals separate, candidate above" in seen(check, 5)


# -------------------------------------------------------------- point 1


@pytest.mark.parametrize(
    ("conclusion", "state"),
    [("different", OK), ("not_visible", OK), ("same", NOT), ("unproven", UNKNOWN), ("of a later release", UNKNOWN)],
)  # fmt: skip
def test_builds_are_as_they_were_proved(judged, conclusion, state):
    check = of_result(judged(proof=lambda: builds(conclusion)))
    assert check.points[0].state is state
    assert "only you can know" in seen(check, 1)


def test_what_is_known_of_the_trees_is_told(judged):
    told = seen(of_result(judged(proof=lambda: builds(files=["a.py", "b.py", "c.py", "d.py"]))), 1)
    assert "the commits differ in a.py, b.py, c.py and 1 more" in told
    assert "the commits do not differ" in seen(of_result(judged(proof=lambda: builds(files=[]))), 1)
    assert "a doubt" in seen(of_result(judged(proof=lambda: builds(warnings=["a doubt"]))), 1)


def test_builds_of_which_nothing_was_kept_are_unknown(judged):
    assert of_result(judged(proof=lambda: None)).points[0].state is UNKNOWN


def test_an_aa_run_judges_no_edit(judged):
    check = of_result(judged((15, 15), aa=True))
    assert check.points[0].state is NOT
    assert "A/A" in seen(check, 1)


# ---------------------------------------------------------- points 2 and 3


def against(judged, reason, detail="candidate: ereq_1"):
    row = judged()
    finding = Finding(reason, detail, "candidate", ("ereq_1",)).to_json()
    told = {**row["judgement"], "reasons": [finding], "verdict": "untrustworthy", "verified": []}
    return {**row, "judgement": {**told, "decision": "untrustworthy"}}


@pytest.mark.parametrize(
    ("reason", "number"),
    [
        (Reason.NOT_TERMINAL, 2), (Reason.WEDGED, 2), (Reason.FAILED, 2), (Reason.SEATS, 3), (Reason.ROLES, 3),
    ],
)  # fmt: skip
def test_a_failed_check_fails_its_point(judged, reason, number):
    check = of_result(against(judged, reason))
    assert check.points[number - 1].state is NOT
    assert "candidate: ereq_1" in seen(check, number)
    assert not check.passed


def test_statuses_are_counted(judged):
    changes = {1: {"status": "failed"}, 2: {"status": "cancelled"}}
    told = seen(of_result(judged(changes=changes)), 2)
    assert told.startswith("candidate: 1 cancelled, 28 completed, 1 failed of 30 asked for")


def test_seats_that_nobody_verified_are_unknown(judged):
    row = judged()
    row["judgement"]["verified"] = []
    assert of_result(row).points[2].state is UNKNOWN


def test_who_sits_in_several_seats_is_told_apart_by_position(judged):
    row = judged()
    for arm in row["episodes"].values():
        arm["seats"][5]["label"] = arm["seats"][0]["label"]
    assert "(keeper:v2 in seats 0 and 5: told apart by position)" in seen(of_result(row), 3)


def test_episodes_that_nobody_ever_sat_in_are_no_proof(judged):
    changes = {1: {"seated": False, "status": "failed"}}
    assert "in 29 of 30 episodes" in seen(of_result(judged(changes=changes)), 3)


# --------------------------------------------------------------- point 4


@pytest.mark.parametrize(
    ("wins", "words", "state", "told"),
    [
        ((28, 15), {}, OK, "the Wilson intervals separate, candidate above"),
        ((2, 15), {}, OK, "the Wilson intervals separate, baseline above"),
        ((22, 13), {}, OK, "the Wilson intervals overlap, the score rule tells better"),
        ((16, 15), {}, NOT, "a true lift of 0.10 needs 388 an arm"),
        ((16, 15), {"claim": "not_worse"}, NOT, "neither separate the arms nor call the change neutral"),
        ((18, 15), {"claim": "noninferior", "margin": 0.3}, OK, "noninferior within 0.30 is met"),
        ((15, 15), {"claim": "equivalent", "margin": 0.3}, OK, "the score rule tells equivalent"),
        ((17, 13), {"claim": "equivalent", "margin": 0.1}, NOT, "neither separate"),
        ((22, 13), {"claim": "separated"}, OK, "the score rule tells better"),
    ],
)
def test_enough_games_separate_the_arms_or_call_the_change_neutral(judged, wins, words, state, told):
    check = of_result(judged(wins, **words))
    assert check.points[3].state is state
    assert told in seen(check, 4)
    assert seen(check, 4).startswith("30 and 30 games")


# --------------------------------------------------------------- point 5


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("mean_score", None, "candidate: no mean seat score"),
        ("kills", None, "candidate: no kills"),
        ("vote_timeouts", None, "candidate: no vote timeouts"),
        ("request_ids", [], "candidate: no request id"),
        ("finished", 0, "candidate: no game"),
    ],
)
def test_a_number_that_is_absent_is_named(judged, key, value, told):
    row = judged()
    row["judgement"]["candidate"][key] = value
    check = of_result(row)
    assert check.points[4].state is NOT
    assert seen(check, 5) == told


def test_zero_is_a_number(judged):
    row = judged()
    row["judgement"]["candidate"] |= {"kills": 0, "vote_timeouts": 0, "mean_score": 0.0, "wins": 0}
    assert of_result(row).points[4].state is OK


def test_the_check_of_what_cannot_be_believed_is_one_and_the_same_whoever_won(judged):
    def told(wins, changes):
        return of_result(judged(wins, trusted=False, changes=changes))

    lost = {i: {"outcome": "loss", "score": 0.0, "kills": 5} for i in range(1, 31)}
    assert told((27, 16), {}) == told((0, 29), lost)
    assert states(told((27, 16), {})) == [OK, OK, NOT, UNKNOWN, NOT]


# ----------------------------------------------------------------- pools


@pytest.fixture
def pool(judged):
    def make(first, second):
        whole = judged((20, 20), games=60)
        strata = {"crew": {**first, "name": "crew"}, "imposter": {**second, "name": "imposter"}}
        judgement = {key: value for key, value in whole["judgement"].items() if "wilson" not in key}
        judgement = {**judgement, "strata": [], "verdict": "better", "decision": "met"}
        del judgement["separated"]
        return {"name": "A/B pool", "judgement": judgement, "strata": strata}

    return make


def test_of_a_pool_the_worst_configuration_counts_and_is_named(judged, pool):
    assert states(of_result(pool(judged(), judged((15, 14))))) == [OK] * 5  # the pool's own games are enough
    check = of_result(pool(judged(), judged(proof=lambda: builds("unproven"))))
    assert check.points[0].state is UNKNOWN
    assert seen(check, 1).startswith("imposter: the sentence")
    assert "crew: candidate: 30 completed" in seen(check, 2)
    assert "imposter: candidate: 30 completed" in seen(check, 2)
    check = of_result(pool(judged(), judged(trusted=False)))
    assert check.points[2].state is NOT
    assert "crew" not in seen(check, 3)


def test_of_a_pool_that_cannot_be_believed_no_configuration_tells_its_effect(judged, pool):
    row = pool(judged((29, 1)), judged((29, 1)))
    row["judgement"] |= {"verdict": "untrustworthy", "decision": "untrustworthy"}
    text = json.dumps(of_result(row).to_json())
    assert "29" not in text
    assert [point.state for point in of_result(row).points][3:] == [UNKNOWN, NOT]


# ------------------------------------------------------- where nothing was judged


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (SameBuild("keeper:v2 and keeper:v1 are one build", not_done="nothing was submitted"), 1),
        (ArmStalled("the candidate arm is wedged", not_done="nothing was judged"), 2),
    ],
)
def test_a_refusal_fails_the_point_it_is_about(case, error, number):
    (check,) = of_case(case(outcome="untrustworthy", message=str(error)))
    assert [point.number for point in check.points if point.state is NOT] == [number]
    assert seen(check, number) == error.what
    assert {point.state for point in check.points if point.number != number} == {UNKNOWN}


def test_any_other_failure_leaves_everything_open(case):
    (check,) = of_case(case(outcome="untrustworthy", message=str(CredentialsRejected("the token is old"))))
    assert states(check) == [UNKNOWN] * 5
    assert seen(check, 1) == "nothing was judged: the token is old"


def test_a_case_whose_body_failed_by_one_of_our_errors_has_its_check(case):
    told = "the metric m:f said nan, which is no finite number\n  code:     EVH001"
    (check,) = of_case(case(outcome="failed", message=told))
    assert check.points[0].seen == "nothing was judged: the metric m:f said nan, which is no finite number"
    assert of_case(case(outcome="failed", message="assert 1 == 2")) == ()
    (check,) = of_case(
        case(
            outcome="untrustworthy", message="nothing was judged: t.py::a carries a claim\n  code:     EVH243"
        )
    )
    assert check.points[0].seen.count("nothing was judged") == 1


def test_a_case_that_compared_nothing_and_failed_at_nothing_has_no_check(case):
    assert of_case(case(outcome="skipped")) == ()


def test_an_arm_that_has_not_ended_is_told(case):
    check = of_failure("not finished", ["candidate: running (xreq_1)", "baseline: not posted"])
    assert states(check) == [UNKNOWN, NOT, UNKNOWN, UNKNOWN, UNKNOWN]
    assert seen(check, 2) == "candidate: running (xreq_1); baseline: not posted"


# ---------------------------------------------------------------- everywhere


def test_every_comparison_of_a_case_has_its_own(case, judged):
    assert [check.passed for check in of_case(case(judged(), judged((16, 15))))] == [True, False]


@pytest.mark.parametrize("refused", [False, True])
def test_every_rendering_has_the_points_and_says_what_a_difference_is(report, case, judged, refused):
    error = SameBuild("the arms are one build", not_done="nothing was submitted")
    one = case(outcome="untrustworthy", message=str(error)) if refused else case({**judged(), "lines": []})
    whole = report(one)
    told = of_case(one)[0]
    shown = {
        "terminal": "\n".join(line for _, line in terminal.lines(whole)),
        "summary": markdown.render(whole).replace("\\", ""),
        "page": html.render(whole),
        "results": json.dumps(whole.to_json(), ensure_ascii=False),
    }
    for name, text in shown.items():
        for point in told.points:
            assert point.name in text, name
            assert point.seen[:20] in text, name
        if name != "terminal" or not refused:  # a terminal says nothing of differences where there are none
            assert SCOPE in text, name
    assert "not a league rank" in SCOPE
    assert "champion is a membership label" in SCOPE


@given(st.text(alphabet=st.characters(codec=None, categories=None), min_size=1, max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_no_name_can_steer_a_terminal(case, judged, name):
    for label in (name, HOSTILE):
        row = judged(label=label, proof=lambda: builds(files=[label], warnings=[label]))  # noqa: B023
        row["name"] = label
        failed = case(outcome="error", message=label)
        for check in (*of_case(case(row)), *of_case(failed)):
            for _, line in success_lines(check):
                assert printable(line, len(line)) == line


def test_another_game_has_no_kills_and_a_side_all_its_seats(judged):
    row = judged()
    game = {"name": "flags", "sides": [0, 1] * 4, "roles": "none", "ticks": False, "win": "highest"}
    row["plan"] = {**row["plan"], "game": game}
    for arm in row["episodes"].values():
        for seat in arm["seats"]:
            seat["role"] = ""
            if seat["position"] > 1:
                seat["captain"] = seat["position"] % 2
    check = of_result(row)
    assert states(check) == [OK] * 5
    mine = [seat["position"] for seat in arm["seats"] if seat["position"] % 2 == arm["tested_seat"] % 2]
    assert f" in seats {' and '.join(map(str, mine))}, everybody as placed" in seen(check, 3)
    assert " as " not in seen(check, 3).partition(", everybody")[0]
    assert "mean score " in seen(check, 5)
    assert "kills" not in seen(check, 5)
    assert "vote timeouts" not in seen(check, 5)
