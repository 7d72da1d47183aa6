import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.report.markdown import render

HOSTILE = (
    "</td><script>x</script>|[click](http://evil.example)|`code`|@team|#1|**b**\n# title\n|---|\x1b[31m\u202e"
)
ANYTHING = st.text(alphabet=st.characters(codec=None, categories=None), min_size=1, max_size=60)


def bare(text):
    """The document without its escaped signs: what Markdown would interpret."""
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", text).replace("&#8203;", "")


def shape(text):
    """How many lines, and how many cells in each row of the table."""
    lines = bare(text).splitlines()
    return len(lines), [line.count("|") for line in lines]


def written(report, case, compared, name):
    return render(
        report(
            case(compared(label=name), nodeid=name),
            case(compared((6, 17), trusted=False), nodeid=name, outcome="untrustworthy", message=name),
            case(nodeid=name, outcome="error", message=name),
            run_id=name,
            server=name,
            missing=(name,),
            unfinished=(name,),
            notices=(name,),
            service={"words": name},
            exit_code=11,
        )
    )


@pytest.mark.parametrize("name", [HOSTILE, *HOSTILE.split("|"), "|", "\\|", "\\", "a\\", "``", "<", "&lt;"])
def test_hostile_names_are_inert_text(report, case, compared, name):
    text = written(report, case, compared, name)
    assert shape(text) == shape(written(report, case, compared, "name"))
    assert not set(bare(text)) & set("<>[]`*_@&~$\\\x1b\u202e")
    assert bare(text).count("#") == 1


@given(ANYTHING)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_name_changes_the_document(report, case, compared, name):
    text = written(report, case, compared, name)
    assert shape(text) == shape(written(report, case, compared, "name"))
    assert not set(bare(text)) & set("<>[]`*_@&~$\\\x1b")


def test_how_the_server_was_spoken_to_is_told(report):
    assert "\nServer API: current, cursors.\n" in render(report(service={"words": "current, cursors"}))
    assert "Server API" not in render(report())


def test_a_row_has_the_verdict_and_the_numbers(report, case, compared):
    row = next(line for line in render(report(case(compared()))).splitlines() if line.startswith("| ✅"))
    cells = [cell.strip() for cell in bare(row).strip("|").split("|")]
    assert cells[2:5] == ["better", "BETTER", "keeperv2 28/30"]
    assert cells[5] == "keeperv1 15/30"
    assert cells[6] == "+43.3 pp"
    assert cells[7].endswith("(95 %)")


def test_the_interval_says_its_level(report, case, compared):
    assert "(99 %)" in render(report(case(compared(alpha=0.01))))


def test_an_untrustworthy_comparison_shows_no_effect(report, case, compared):
    text = render(report(case(compared(trusted=False), outcome="untrustworthy", message="x"), exit_code=11))
    assert "UNTRUSTWORTHY" in text
    assert " pp" not in text
    assert "seat 0 holds" in text


def test_no_games_show_no_effect(report, case, compared):
    assert " pp" not in render(report(case(compared((0, 0), games=0), outcome="untrustworthy")))


@pytest.mark.parametrize(
    ("outcome", "mark"),
    [
        ("passed", "✅"), ("failed", "❌"), ("inconclusive", "❔"), ("untrustworthy", "⛔"), ("error", "⛔"),
        ("skipped", "⏭️"), ("something new", "⛔"),
    ],
)  # fmt: skip
def test_an_outcome_has_its_mark(report, case, compared, outcome, mark):
    assert f"| {mark} |" in render(report(case(outcome=outcome, message="why")))
    assert f"| {mark} |" in render(report(case(compared(), outcome=outcome)))


def test_everything_worth_knowing_is_said(report, case, compared):
    old = compared(attempt=2, earlier=["worse (attempt 1)"], evidence_age_seconds=60.0)
    text = render(
        report(
            case(old),
            missing=("evals/x.py::test_gone",),
            unfinished=("evals/x.py::test_later",),
            notices=("overridden",),
            exit_code=11,
        )
    )
    for told in (
        "Played on the embedded league", "not a league rank", "exit code 11", "untrustworthy: no evidence",
        "collected, and never reported", "stopped before\\: evals/x\\.py\\:\\:test\\_later",
        "note: overridden", "worse \\(attempt 1\\)", "1 min old",
    ):  # fmt: skip
        assert told in text
    assert text.endswith("\n")
    assert "embedded league" not in render(report(server="https://host/api"))


def test_a_run_without_cases(report):
    assert render(report(exit_code=5)).startswith("# Evaluation 20260901\\-120000\\-abc: no tests\n")
