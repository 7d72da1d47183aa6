"""A pool in every rendering: one result, its configurations beside it, and no rate of unlike games."""

import pytest

from pytest_evalharness.report.html import render
from pytest_evalharness.report.junit import properties
from pytest_evalharness.report.markdown import render as as_markdown
from pytest_evalharness.report.page import page
from pytest_evalharness.report.terminal import lines
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.pooling import judge_pool
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Reason

HOSTILE = "\x1b[31m<script>|`x`\n\u202e"
TABLES = {"crew": (22, 13), "imposter": (20, 12)}
SEATS = Finding(Reason.SEATS, "imposter, ereq_1: seat 0 holds a filler", "candidate")


@pytest.fixture
def pooled(compared, episodes):
    """A pool's plain data, as the league hands it over."""

    def result(names=("crew", "imposter"), *, trusted=True, looked=0):
        tables = dict(zip(names, TABLES.values(), strict=True))
        strata = [
            Stratum(
                name,
                ArmEvidence("new", won[0], 30, request_ids=(f"xreq_c{i}",)),
                ArmEvidence("old", won[1], 30, request_ids=(f"xreq_b{i}",)),
            )
            for i, (name, won) in enumerate(tables.items())
        ]
        judged = judge_pool(
            Declaration("better", secondary=()), strata, trust=() if trusted else (SEATS,),
            verified=("seats",) if trusted else (), unplanned_looks=looked,
        )  # fmt: skip
        last = names[-1]
        return {
            "name": "A/B pool",
            "headline": judged.headline("A/B pool"),
            "lines": [f"  {line}" for line in judged.summary_lines()],
            "next_step": "",
            "judgement": judged.to_json(),
            "family": None,
            "plan": {"server": "embedded:2026", "strata": []},
            "strata": {
                name: compared(won, trusted=trusted or name != last, episodes=episodes(3))
                for name, won in tables.items()
            },
            "attempt": 1,
            "earlier": [],
            "evidence_age_seconds": None,
        }

    return result


def told(result):
    return {name.removeprefix("evalharness."): value for name, value in properties(result, "run-1")}


def test_a_pool_that_cannot_be_believed_shows_no_effect(pooled, report, case):
    whole = report(case(pooled(trusted=False), outcome="untrustworthy"), exit_code=11)
    values = told(pooled(trusted=False))
    assert {values[name] for name in ("effect", "ci_low", "p", "p_gate", "strata", "wins_candidate")} == {""}
    texts = [*(text for _, text in lines(whole)), as_markdown(whole)]
    assert not any("22/30" in text and " pp" in text for text in texts)
    assert all("configuration crew 22" not in text for text in texts)
    shown = page(whole).cases[0].comparisons
    assert [one.name for one in shown] == ["A/B pool", "crew", "imposter"]
    assert all(one.arms_plot is None and one.difference_plot is None and not one.numbers for one in shown)
    assert shown[0].strata == ()
    assert not any(arm.share for one in shown for arm in one.arms)
    assert any(check.state == "failed" for check in shown[0].checks)


def test_it_is_one_row_with_a_row_for_each_configuration(pooled, report, case):
    text = as_markdown(report(case(pooled())))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "| better | BETTER | 60 games | 60 games | +28.3 pp |" in rows[-3]
    assert rows[-2:] == [
        "|  | configuration crew |  |  | new 22/30 | old 13/30 | +30.0 pp |  |",
        "|  | configuration imposter |  |  | new 20/30 | old 12/30 | +26.7 pp |  |",
    ]
    shown = [text.strip() for _, text in lines(report(case(pooled())))]
    assert shown[2:4] == ["configuration crew 22/30 vs 13/30", "configuration imposter 20/30 vs 12/30"]


def test_the_page_has_the_pool_and_each_configuration_beside_it(pooled, report, case):
    whole = page(report(case(pooled())))
    pool, *configurations = whole.cases[0].comparisons
    assert pool.numbers.startswith("2 configurations, 60 against 60 games: +28.3 percentage points, 95")
    assert not any(arm.share for arm in pool.arms)
    assert pool.arms_plot is None
    assert pool.difference_plot is not None
    assert [(one.name, one.difference) for one in pool.strata] == [("crew", "+30.0"), ("imposter", "+26.7")]
    assert "interval" not in {fact for fact, _, _ in pool.arm_facts}
    assert [one.name for one in configurations] == ["crew", "imposter"]
    assert all(one.arms_plot is not None and one.episodes == 6 for one in configurations)
    assert all("not judged alone" in one.sentence and not one.claim for one in configurations)
    assert [one.place for one in whole.cases[0].comparisons] == [0, 1, 2]
    assert len(whole.data["comparisons"]) == 3


def test_after_an_early_look_the_interval_says_its_level(pooled, report, case):
    pool = page(report(case(pooled(looked=1)))).cases[0].comparisons[0]
    assert pool.interval == "interval at the overlap rule's level"


def test_wins_of_unlike_games_are_no_property(pooled):
    values = told(pooled())
    assert (values["kind"], values["n_candidate"], values["n_baseline"]) == ("A/B pool", "60", "60")
    assert values["wins_candidate"] == values["wins_baseline"] == values["separated"] == ""
    assert values["strata"] == "crew 22/30 vs 13/30; imposter 20/30 vs 12/30"
    assert float(values["effect"]) == pytest.approx(0.283333)


def test_a_hostile_name_of_a_configuration_stays_text(pooled, report, case):
    whole = report(case(pooled((HOSTILE, "imposter"))))
    for _, text in lines(whole):
        assert "\x1b" not in text
        assert "\n" not in text
        assert "\u202e" not in text
    document = as_markdown(whole)
    assert "<script>" not in document
    assert "\x1b" not in document
    assert (
        len({line.replace("\\|", "").count("|") for line in document.splitlines() if line.startswith("|")})
        == 1
    )
    seen = page(whole).cases[0].comparisons[1].name
    assert "\x1b" not in seen
    assert "\n" not in seen
    assert "<script>|" not in render(whole)
