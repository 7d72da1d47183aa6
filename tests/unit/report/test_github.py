import re
import shlex
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.text import redact
from pytest_evalharness.report.github import (
    MOST_ANNOTATIONS,
    Overall,
    annotate,
    annotation,
    command_line,
    outputs,
    overall,
    summary,
)

ANYTHING = st.text(alphabet=st.characters(codec=None, categories=None), max_size=60)
HOSTILE = "::error::x\x1b[31m\r\n::stop-commands::x\u202e ##[add-mask]x, title=y: %0A" + "n" * 10_000
given_a_report = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def read_back(line):
    """A workflow command as the runner reads it: command, properties, message."""
    assert line.startswith("::")
    head, _, message = line[2:].partition("::")
    command, _, words = head.partition(" ")
    properties = dict(pair.split("=", 1) for pair in words.split(","))

    def back(text, codes):
        for code, sign in codes:
            text = text.replace(code, sign)
        return text.replace("%25", "%")

    lines = [("%0D", "\r"), ("%0A", "\n")]
    told = {name: back(value, [*lines, ("%3A", ":"), ("%2C", ",")]) for name, value in properties.items()}
    return command, told, back(message, lines)


def read_outputs(text):
    """The file of outputs as the runner reads it."""
    found, lines = {}, iter(re.split(r"\r?\n|\r", text))
    for line in lines:
        if not line:
            continue
        if "=" in line and ("<<" not in line or line.index("=") < line.index("<<")):
            name, _, found_value = line.partition("=")
            found[name] = found_value
            continue
        name, _, end = line.partition("<<")
        value = []
        while (part := next(lines)) != end:
            value.append(part)
        found[name] = "\n".join(value)
    return found


# ------------------------------------------------------------- one word for all


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"exit_code": 2}, "interrupted"),
        ({"exit_code": 3}, "error"),
        ({"exit_code": 4}, "error"),
        ({"exit_code": 11, "missing": ("evals/x.py::test_gone",)}, "untrustworthy"),
        ({"exit_code": 1}, "met"),  # another test failed: the claims were met, the exit code says the rest
        ({"exit_code": 6}, "met"),
        ({}, "met"),
    ],
)
def test_the_run_itself_comes_first(report, case, compared, changes, word):
    assert overall(report(case(compared()), **changes)) == word


def test_a_run_without_cases_has_shown_nothing(report):
    assert overall(report()) is Overall.UNTRUSTWORTHY


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("untrustworthy", "untrustworthy"), ("error", "untrustworthy"), ("something new", "untrustworthy"),
        ("not_run", "not_run"), ("failed", "not_met"), ("inconclusive", "inconclusive"),
        ("skipped", "inconclusive"), ("passed", "met"),
    ],
)  # fmt: skip
def test_an_outcome_has_its_word(report, case, outcome, word):
    assert overall(report(case(outcome=outcome))) == word


@given(
    st.lists(st.sampled_from(["untrustworthy", "not_run", "failed", "inconclusive", "passed"]), min_size=1)
)
@given_a_report
def test_the_worst_case_decides(report, case, outcomes):
    alone = [overall(report(case(outcome=outcome))) for outcome in outcomes]
    together = overall(report(*[case(outcome=outcome) for outcome in outcomes]))
    assert list(Overall).index(together) == min(map(list(Overall).index, alone))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({}, "met"), ({"wins": (6, 17)}, "not_met"), ({"wins": (16, 15)}, "inconclusive"),
        ({"trusted": False}, "untrustworthy"),
    ],
)  # fmt: skip
def test_a_case_that_passed_by_its_own_condition_says_what_its_claim_came_to(
    report, case, compared, found, word
):
    assert overall(report(case(compared(**found)))) == word


# -------------------------------------------------------------------- summary


def test_a_summary_that_fits_is_whole(report, case, compared):
    text = summary(report(case(compared())), room=10_000, where="runs/x/summary.md")
    assert text.startswith("# Evaluation")
    assert "Cut" not in text


@pytest.mark.parametrize("room", [0, -5, 50])
def test_without_room_there_is_no_summary(report, case, compared, room):
    assert summary(report(case(compared())), room=room, where="runs/x/summary.md") == ""


@given(st.integers(200, 6_000), st.integers(1, 40))
@given_a_report
def test_a_summary_never_takes_more_than_there_is(report, case, compared, room, many):
    whole = report(*[case(compared(), nodeid=f"tést[{n}]") for n in range(many)])
    text = summary(whole, room=room, where="runs/x/summary.md")
    full = summary(whole, room=10**6, where="")
    assert len(text.encode()) <= room
    if text != full:
        *kept, blank, note, last = text.split("\n")
        assert full.startswith("\n".join(kept))
        assert (blank, last) == ("", "")
        assert "The rest is in runs/x/summary\\.md" in note


def test_where_the_rest_is_can_be_no_markup(report, case, compared):
    cases = [case(compared(), nodeid=f"t[{n}]") for n in range(40)]
    text = summary(report(*cases), room=2_000, where="a<b>|[x](y)\n# title")
    assert "a\\<b\\>\\|\\[x\\]" in text
    assert "\n# title" not in text


# ---------------------------------------------------------------- annotations


@given(ANYTHING, ANYTHING, ANYTHING)
def test_a_command_is_one_line_and_read_back_as_it_was(title, message, file):
    line = annotation("error", title, message, (file, 3))
    assert not {"\r", "\n"} & set(line)
    properties = {"file": file, "line": "3", "title": f"evalharness: {title}"}
    assert read_back(line) == ("error", properties, message)


@given(ANYTHING, ANYTHING)
@given_a_report
def test_no_text_from_outside_makes_a_command_of_its_own(report, case, name, message):
    for text in (name, HOSTILE):
        (line,) = annotate(report(case(nodeid=text, outcome="failed", message=message), exit_code=1), {})
        assert len(line.splitlines()) == 1
        command, properties, told = read_back(line)
        assert (command, properties) == ("error", {"title": "evalharness: failed"})
        assert not {"\x1b", "\u202e", "\r"} & set(told)
        assert len(told) < 700


def test_what_passed_is_not_worth_a_word(report, case, compared):
    assert annotate(report(case(compared())), {}) == []


@pytest.mark.parametrize(
    ("outcome", "level", "title"),
    [
        ("failed", "error", "failed"), ("error", "error", "error"), ("untrustworthy", "error", "untrustworthy"),
        ("something new", "error", "untrustworthy"), ("inconclusive", "warning", "cannot tell"),
        ("skipped", "warning", "skipped, so its claim was not judged"),
    ],
)  # fmt: skip
def test_an_outcome_has_its_level_and_its_place(report, case, outcome, level, title):
    told = report(case(outcome=outcome, message="why\nmore"), exit_code=1)
    (line,) = annotate(told, {"evals/test_a.py::test_b": ("evals/test_a.py", 7)})
    properties = {"file": "evals/test_a.py", "line": "7", "title": f"evalharness: {title}"}
    assert read_back(line) == (level, properties, "why\nevals/test_a.py::test_b")


def test_there_are_at_most_ten_and_errors_come_first(report, case):
    unsure = [case(nodeid=f"u{n}", outcome="inconclusive", message="?") for n in range(8)]
    failed = [case(nodeid=f"f{n}", outcome="failed", message="no") for n in range(7)]
    lines = annotate(report(*unsure, *failed, missing=("gone",), exit_code=1), {})
    told = [read_back(line) for line in lines]
    assert len(told) == MOST_ANNOTATIONS
    assert [level for level, _, _ in told] == ["error"] * 8 + ["warning"] * 2
    assert "never reported" in told[7][2]
    assert told[-1] == (
        "warning",
        {"title": "evalharness: cannot tell"},
        "?\nu1\nand 6 more: see the step summary",
    )


def test_a_case_whose_worker_died_is_told_once(report, case):
    died = case(nodeid="f", outcome="error", message="worker 'gw1' crashed while running 'f'")
    lines = annotate(report(died, missing=("f", "g"), exit_code=11), {})
    assert [read_back(line)[2] for line in lines] == [
        "worker 'gw1' crashed while running 'f'\nf",
        "collected, and never reported\ng",
    ]


def test_exactly_ten_are_all_shown(report, case):
    failed = [case(nodeid=f"f{n}", outcome="failed", message="no") for n in range(10)]
    lines = annotate(report(*failed, exit_code=1), {})
    assert len(lines) == 10
    assert "more" not in "".join(lines)


def test_what_another_plugin_annotates_is_left_to_it(report, case):
    told = report(
        case(outcome="failed", message="no"), case(outcome="untrustworthy", message="seats"), exit_code=1
    )
    (line,) = annotate(told, {}, leave_out={"failed"})
    assert "seats" in line


def test_many_cases_without_credentials_are_one_annotation(report, case):
    cases = [case(nodeid=f"n{n}", outcome="not_run", message="not run: …") for n in range(5)]
    (line,) = annotate(report(*cases, exit_code=11), {})
    assert read_back(line)[2] == (
        "not run: no credentials (a pull request from a fork has no secrets): 5 cases"
    )


def test_what_runs_on_is_told(report, case, compared):
    running = tuple(f"candidate keeper:v2 xreq_{n}" for n in range(9))
    (line,) = annotate(report(case(compared()), still_running=running, exit_code=2), {})
    level, _, message = read_back(line)
    assert level == "warning"
    assert message.splitlines()[4:6] == ["candidate keeper:v2 xreq_4", "and 4 more"]
    assert "nothing is posted twice" in message


def test_a_case_with_many_comparisons_stays_readable(report, case, compared):
    many = case(*[compared((6, 17)) for _ in range(9)], outcome="failed", message="no")
    (line,) = annotate(report(many, exit_code=1), {})
    assert read_back(line)[2].splitlines()[5] == "and 4 more"


# -------------------------------------------------------------------- outputs


@given(st.dictionaries(st.sampled_from(["verdict", "run-dir", "exit-code"]), ANYTHING))
def test_outputs_are_read_back_and_no_value_writes_another(values):
    found = read_outputs(outputs(values, delimiter="evalharness-0123"))
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name] == re.sub(r"\r\n?", "\n", value)


def test_a_value_with_lines_cannot_end_itself():
    hostile = "x\nEOF\nverdict=met\r\nverdict=met"
    found = read_outputs(outputs({"verdict": "not_met", "run-dir": hostile}, delimiter="EOF-1"))
    assert found == {"verdict": "not_met", "run-dir": hostile.replace("\r\n", "\n")}
    with pytest.raises(ValueError, match="run-dir holds the delimiter"):
        outputs({"run-dir": hostile}, delimiter="EOF")


# ------------------------------------------------------------ the command line


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)))
def test_a_command_is_one_line_that_steers_nothing(words):
    line = command_line(words)
    assert line.isprintable()
    if all(word.isprintable() for word in words):
        assert shlex.split(line) == words


@pytest.mark.parametrize(
    "word",
    [
        "",
        "a b",
        "it's",
        "$(id)",
        "`id`",
        "a\nb",
        "\r\n",
        "\x1b[31m",
        "'\n\\",
        "é\u202e\n1",
        "x\x011",
        "\udcff1\n",
    ],
)
def test_bash_reads_exactly_the_words(word):
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command_line([word, 'end'])}"], capture_output=True, check=True
    )
    assert done.stdout == word.encode(errors="surrogateescape") + b"\0end\0"


def test_a_secret_is_in_no_command():
    redact.hide("tok-s3cr3t'quoted")
    line = command_line(["pytest", "--eval-notes=tok-s3cr3t'quoted", "--x", "token=abcdef"])
    assert "s3cr3t" not in line
    assert "abcdef" not in line
    assert shlex.split(line)[1] == "--eval-notes=[redacted]"
