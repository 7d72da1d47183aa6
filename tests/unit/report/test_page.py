import json
from dataclasses import asdict

import pytest

from pytest_evalharness.report.page import page

HOSTILE = "\x1b[31m</script>\n\u202e" + "x" * 10_000


@pytest.fixture
def shown(report, case):
    """The page of a run of one case."""
    return lambda *results, outcome="passed", message="", **words: page(
        report(case(*results, outcome=outcome, message=message), **words)
    )


@pytest.fixture
def view(shown):
    return lambda result: shown(result).cases[0].comparisons[0]


# -------------------------------------------------- what cannot be believed


def test_an_untrustworthy_comparison_shows_no_effect_anywhere(shown, compared, episodes):
    spoilt = compared((27, 16), trusted=False, episodes=episodes(30))
    whole = shown(spoilt, outcome="untrustworthy", message=spoilt["headline"], exit_code=11)
    seen = whole.cases[0].comparisons[0]
    assert (seen.arms_plot, seen.difference_plot, seen.difference, seen.numbers) == (None, None, "", "")
    assert all(arm.share == "" for arm in seen.arms)
    assert {name for name, *_ in seen.arm_facts} == {"missing", "requests"}


def test_the_page_of_what_cannot_be_believed_is_one_and_the_same_whoever_won(shown, compared, episodes):
    def told(wins, changes):
        spoilt = compared(wins, trusted=False, episodes=episodes(30, changes))
        return shown(spoilt, outcome="untrustworthy", message=spoilt["headline"], exit_code=11)

    lost = {i: {"outcome": "loss", "score": 0.0, "kills": 5} for i in range(1, 31)}
    assert told((27, 16), {}) == told((0, 29), lost)


def test_an_untrustworthy_comparison_shows_what_is_wrong_and_what_to_do(view, compared, episodes):
    spoilt = compared((27, 16), trusted=False, episodes=episodes(3, {1: {"wrong": {"0": "rival:v3"}}}))
    seen = view({**spoilt, "next_step": "run again with --eval-fresh"})
    assert seen.seats_open
    assert seen.misplaced[0].found == "rival:v3"
    assert seen.next_step == "run again with --eval-fresh"
    assert [check.name for check in seen.checks if check.state == "failed"] == ["Seats"]
    assert "seat 0 holds rival:v3" in next(check.text for check in seen.checks if check.state == "failed")


def test_its_rows_stand_at_its_own_place(shown, compared, episodes):
    spoilt = compared((27, 16), trusted=False, episodes=episodes(2))
    good = compared(episodes=episodes(5))
    whole = shown(spoilt, good)
    tables = whole.data["comparisons"]
    assert [view.place for view in whole.cases[0].comparisons] == [0, 1]
    assert [len(table["rows"]) for table in tables] == [4, 10]
    assert ["outcome" in table["columns"] for table in tables] == [False, True]


# ------------------------------------------------------------ what is shown


def test_a_comparison_has_its_sentence_its_plots_and_its_numbers(view, compared, episodes):
    seen = view(compared((28, 15), episodes=episodes(30)))
    assert (seen.verdict, seen.symbol, seen.difference) == ("better", "▲", "+43.3 [+22.0, +61.8]")
    assert seen.arms_plot.candidate.x > seen.arms_plot.baseline.x
    assert seen.difference_plot.margin is None
    assert (seen.wilson, seen.interval, seen.margin) == ("95\xa0% Wilson intervals", "95\xa0% interval", "")
    assert {name: both for name, *both in seen.arm_facts}["kills"] == ["3", "3"]
    assert (seen.episodes, seen.seats) == (60, "as placed in 60 episodes")
    assert not seen.seats_open


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("noninferior", "only below \N{MINUS SIGN}20.0 would matter"),
        ("equivalent", "only beyond 20.0 to either side would matter"),
    ],
)
def test_a_margin_is_explained(view, compared, claim, words):
    seen = view(compared((28, 15), claim=claim, margin=0.2))
    assert seen.margin == f"thick bar: 90\xa0% interval, on which the margin is judged; {words}"


def test_verdicts_are_told_apart_by_a_sign_and_not_by_colour_alone(view, compared):
    results = [
        compared((28, 15)), compared((6, 17)), compared((15, 15), margin=0.3), compared((15, 15)),
        compared(trusted=False),
    ]  # fmt: skip
    assert [view(result).symbol for result in results] == ["▲", "▼", "=", "?", "!"]


def test_a_result_without_episodes_or_roster_is_shown_all_the_same(view, compared):
    seen = view(compared())
    assert (seen.episodes, seen.seats, seen.field, seen.misplaced) == (0, "", (), ())


def test_what_must_be_known_stands_beside_the_verdict(view, compared):
    seen = view(compared((15, 15), attempt=2, earlier=["worse (attempt 1)"], evidence_age_seconds=60.0))
    assert any("1 min old" in text for text in seen.remarks)
    assert any("worse (attempt 1)" in text for text in seen.remarks)
    assert any("includes 0" in text for text in seen.remarks)
    assert dict(seen.spent)["games"].endswith("nothing was posted by this run")


def test_the_price_is_said_to_be_unknown(view, compared):
    assert dict(view(compared()).spent) == {
        "games": "60 asked for in 3 requests",
        "cost": "not told by the server",
    }


@pytest.mark.parametrize(
    ("costs", "words", "told"),
    [
        ((2.5, 3.0, 4.0), {}, "9.5 credits"),
        ((2.5, None, 4.0), {}, "6.5 credits for 2 of the requests, the others not told by the server"),
        ((None, None, None), {}, "not told by the server"),
        (None, {"evidence_age_seconds": 60.0}, "not asked: this run posted nothing"),
    ],
)
def test_a_comparison_costs_what_the_server_says_of_its_requests(shown, compared, costs, words, told):
    result = compared(**words)
    ids = [one for side in ("candidate", "baseline") for one in result["judgement"][side]["request_ids"]]
    cost = None if costs is None else {
        "balance_after": 1.0, "balance_before": 2.0, "budget": None, "per_verdict": None, "spent": None,
        "requests": {**dict(zip(ids, costs, strict=True)), "xreq_of_another_case": 100.0},
    }  # fmt: skip
    [seen] = shown(result, cost=cost).cases[0].comparisons
    assert dict(seen.spent)["cost"] == told


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ({}, "rely on it"),
        ({"aa": True}, "go on: the harness"),
        ({"claim": "separated"}, "see what the case said"),
    ],
)
def test_there_is_always_something_to_do_next(view, compared, words, step):
    wins = (28, 15) if not words else (15, 15)
    assert view(compared(wins, **words)).next_step.startswith(step)


def test_many_requests_are_counted(view, compared):
    many = compared()
    many["judgement"]["candidate"]["request_ids"] = [f"xreq_{i}" for i in range(30)]
    told = {name: both for name, *both in view(many).arm_facts}["requests"]
    assert told == ["xreq_0 xreq_1 xreq_2 and 27 more", "xreq_b"]


def test_a_case_without_a_result_says_why(shown):
    seen = shown(outcome="error", message="no token\n  next: log in", exit_code=11).cases[0]
    assert (seen.comparisons, seen.symbol, seen.message) == ((), "!", ("no token", "  next: log in"))


@pytest.mark.parametrize(("code", "tone"), [(0, "good"), (10, "unsure"), (1, "bad"), (11, "bad"), (2, "bad")])
def test_a_run_has_a_tone(report, code, tone):
    assert page(report(exit_code=code)).tone == tone


def test_every_text_from_outside_is_one_harmless_line(shown, compared, episodes):
    member = {"label": HOSTILE, "player_name": HOSTILE, "score": None}
    result = compared(
        label=HOSTILE, episodes=episodes(2, label=HOSTILE), roster={"opponents": [member]}, name=HOSTILE
    )
    whole = shown(
        {**result, "next_step": HOSTILE, "lines": [HOSTILE]}, message=HOSTILE, run_id=HOSTILE, server=HOSTILE,
        missing=(HOSTILE,), unfinished=(HOSTILE,), notices=(HOSTILE,), still_running=(HOSTILE,), settings={"notes": HOSTILE},
        service={"words": HOSTILE},
    )  # fmt: skip
    text = json.dumps(asdict(whole), ensure_ascii=False)
    assert not set(text) & set("\x1b\u202e")
    assert "x" * 700 not in text
