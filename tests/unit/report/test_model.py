import json

import pytest

from pytest_evalharness.base.files import readable_json
from pytest_evalharness.report import junit, markdown, terminal
from pytest_evalharness.report.model import EXIT_WORDS, Report, counts, remarks

PAID_BEFORE = "; the balance fell by less: earlier runs paid the rest, or it is not charged yet"


def test_the_record_is_plain_and_spelt_in_one_way_only(report, case, compared):
    whole = report(
        case(compared(), compared((6, 17))),
        case(outcome="error", message="\x1b[31mé\n"),
        missing=("evals/test_a.py::test_c",),
        notices=("note",),
        settings={"opponent": [], "num": None, "fresh": False},
        service={"words": "current", "cancels": None},
    )
    text = readable_json(whole.to_json())
    assert Report.from_json(json.loads(text)).service == whole.service
    assert readable_json(json.loads(text)) == text
    assert list(json.loads(text)) == sorted(whole.to_json())
    assert json.loads(text)["cases"][0]["results"][0]["judgement"]["verdict"] == "better"
    assert "\x1b" not in text


def test_a_record_names_its_schema_and_its_server(report):
    data = report().to_json()
    assert (data["schema"], data["embedded"], data["server"]) == (1, True, "embedded:2026")
    assert report(server="https://embedded.example/api").to_json()["embedded"] is False


def test_the_record_does_not_share_the_reports_data(report, case, compared):
    whole = report(case(compared()))
    whole.to_json()["settings"]["num"] = 99
    whole.to_json()["cases"][0]["results"].clear()
    assert whole.settings["num"] == 30
    assert whole.cases[0].results


@pytest.mark.parametrize("code", [0, 1, 3, 4, 5, 6, 10, 11])
def test_every_exit_code_has_words(report, code):
    assert report(exit_code=code).exit_words == EXIT_WORDS[code]


def test_an_interrupted_run_says_how_to_go_on(report):
    whole = report(exit_code=2)
    assert whole.exit_words.startswith(EXIT_WORDS[2])
    assert whole.exit_words.endswith(f"evalharness runs resume {whole.run_id}")


def test_a_run_without_secrets_says_that_it_was_not_run(report, case):
    not_run = case(outcome="not_run", message="not run: …")
    why = "not run: no credentials (a pull request from a fork has no secrets)"
    assert report(not_run, exit_code=11).exit_words == why
    assert report(not_run, case(outcome="untrustworthy"), exit_code=11).exit_words == EXIT_WORDS[11]
    assert report(not_run, exit_code=4).exit_words == EXIT_WORDS[4]


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (96.0, "4 credits for 2 requests, 4 a verdict (balance 100 before, 96 after)"),
        (95.0, "4 credits for 2 requests, 4 a verdict (balance 100 before, 95 after)"),
        (97.5, "4 credits for 2 requests, 4 a verdict (balance 100 before, 97.5 after)" + PAID_BEFORE),
        (None, "4 credits for 2 requests, 4 a verdict"),
    ],
)  # fmt: skip
def test_verdicts_that_rest_on_earlier_games_have_cost_more_than_the_balance_fell(report, after, told):
    cost = {
        "balance_before": 100.0, "balance_after": after, "budget": None, "per_verdict": 4.0, "spent": 4.0,
        "requests": {"xreq_1": 1.5, "xreq_2": 2.5},
    }  # fmt: skip
    assert report(cost=cost).cost_words == told


def test_an_exit_code_nobody_knows(report):
    assert report(exit_code=99).exit_words == "unknown"


def test_headlines_come_from_the_comparisons_else_from_the_message(case, compared):
    two = case(compared(), compared((6, 17)), message="A/B crew: something else\nmore")
    assert [line[:15] for line in two.headlines] == ["A/B crew: BETTE", "A/B crew: WORSE"]
    assert case(message="the server is gone\n  next: …").headlines == ["the server is gone"]
    assert case().headlines == [""]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ["judged in the family of 12 fixed when it was posted (run r1)"]),
        ({"method": "none"}, ["posted with --eval-multiplicity none (run r1): its p-value is not adjusted"]),
        ({"this_run": True}, []),
        ({"tested": 1, "now": 1}, []),
        ({"tested": 1, "now": 3}, ["judged in the family of 1 fixed when it was posted (run r1)"]),
    ],
)
def test_remarks_on_the_family_of_another_run(compared, changes, told):
    family = {"run": "r1", "this_run": False, "method": "holm", "tested": 12, "now": 1, **changes}
    assert remarks({**compared(), "family": family}) == told


def test_remarks_on_old_and_repeated_evidence(compared):
    assert remarks(compared()) == []
    told = remarks(compared(attempt=2, earlier=["worse (attempt 1)"], evidence_age_seconds=7800.0))
    assert "2 h 10 min old" in told[0]
    assert "--eval-fresh" in told[0]
    assert "attempt 2" in told[1]
    assert "worse (attempt 1)" in told[1]
    assert remarks(compared(evidence_age_seconds=0.0))
    assert remarks(compared(attempt=2)) == [], "nothing was judged before, so this is no further look"


def test_an_aa_run_is_called_one_in_every_report(report, case, compared):
    found = compared((16, 15), aa=True)
    assert "no edit was judged" in remarks(found)[0]
    told = report(case(found))
    assert "A/A" in markdown.render(told)
    assert "| A/A | INCONCLUSIVE |" in markdown.render(told)
    assert any("an A/A run: one build meets itself" in line for _, line in terminal.lines(told))
    assert dict(junit.properties(found, "run"))["evalharness.kind"] == "A/A"
    assert dict(junit.properties(compared(), "run"))["evalharness.kind"] == "A/B"


def test_counts(case):
    assert counts([case(), case(outcome="failed"), case()]) == {"passed": 2, "failed": 1}
    assert counts([]) == {}
