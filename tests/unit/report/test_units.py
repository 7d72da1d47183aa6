"""A comparison in its own units: the sentences, the page's short form and the table of a metric that is not the win rate."""

import pytest

from pytest_evalharness.report import markdown, units
from pytest_evalharness.report import sentences as say
from pytest_evalharness.report.junit import properties
from pytest_evalharness.report.page import comparison
from pytest_evalharness.report.success import of_result
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.measures import Measures

LOW = tuple(float(i % 5) for i in range(30))


@pytest.fixture
def measured(compared):
    """A comparison by a function's number, `shift` apart."""

    def result(shift=2.0, metric="m:tasks_done", claim="better", **declared):
        arms = (
            ArmEvidence("keeper:v2", 20, 30, 30, 0.5, 3, 1, ("xreq_c",)),
            ArmEvidence("keeper:v1", 15, 30, 30, 0.5, 3, 1, ("xreq_b",)),
        )
        high = tuple(value + shift for value in LOW)
        judgement = judge(
            Declaration(claim, metric=metric, **declared),
            *arms,
            measures=Measures(high, LOW),
            verified=("seats",),
        )
        told = compared()
        return {
            **told,
            "headline": judgement.headline("A/B crew"),
            "judgement": judgement.to_json(),
            "plan": {"server": "embedded:2026", "declaration": judgement.declaration.to_json()},
        }

    return result


@pytest.mark.parametrize(
    ("shift", "declared", "sentence"),
    [
        (2.0, {}, "keeper:v2 has more tasks_done than keeper:v1."),
        (-2.0, {}, "keeper:v2 has less tasks_done than keeper:v1."),
        (0.1, {}, "These games cannot tell whether keeper:v2 has more or less tasks_done than keeper:v1."),
        (
            0.1,
            {"margin": 1.5},
            "keeper:v2 and keeper:v1 have equally much tasks_done to within 1.5 tasks_done.",
        ),
    ],
)
def test_the_verdict_in_a_sentence(measured, shift, declared, sentence):
    assert say.verdict_sentence(measured(shift, **declared)["judgement"]) == sentence


def test_the_numbers_in_a_sentence(measured):
    told = say.numbers_sentence(measured()["judgement"])
    assert told.startswith("Mean tasks_done 4 against 2 in 30 and 30 games: +2, 95")
    assert "percentage" not in told
    minus = say.numbers_sentence(measured(-2.0)["judgement"])
    assert "\N{MINUS SIGN}2," in minus


def test_the_claim_in_its_units(measured):
    found = measured(claim="noninferior", margin=1.5)["judgement"]
    assert say.claim_words(found["declaration"]) == "“noninferior” within 1.5 tasks_done"


def test_the_page_shows_its_units_and_no_plot_in_percentage_points(measured):
    view = comparison(measured(metric="seat score", margin=9.0), 0)
    assert view.difference.startswith("+2 [+1.")
    assert view.unit == "seat score"
    assert view.difference_plot is None
    assert view.margin == ""
    assert view.arms_plot is not None, "wins stand beside it"
    assert ("metric", "seat score") in view.facts


def test_the_win_rate_stays_in_percentage_points(compared):
    view = comparison(compared(), 0)
    assert view.unit == "pp"
    assert view.difference_plot is not None
    assert ("metric", "win rate") in view.facts


def test_the_table_and_junit_name_the_metric(measured, report, case):
    told = measured()
    text = markdown.render(report(case(told)))
    assert "+2 tasks\\_done" in text
    assert " pp" not in text
    values = dict(properties(told, "run-1"))
    assert (values["evalharness.metric"], values["evalharness.effect"]) == ("tasks_done", "2")


def test_the_success_check_speaks_of_the_metric(measured):
    enough = of_result(measured()).points[3]
    assert enough.seen == "30 and 30 games: tasks_done by Student's t tells better"
    short = of_result(measured(0.1)).points[3]
    assert "a true difference of 0.1 tasks_done needs" in short.seen


def test_a_metric_of_a_later_release_is_shown_as_it_is():
    assert units.metric({"metric": "\x1b[2J?"}) == "\ufffd[2J?"
    assert units.metric({}) == ""
