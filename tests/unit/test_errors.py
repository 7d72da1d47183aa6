import copy
import multiprocessing
import pickle
import re
from pathlib import Path

import pytest

from pytest_evalharness import errors, settings
from pytest_evalharness.base.text import redact
from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    Inconclusive,
    Untrustworthy,
    UsageError,
    by_code,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
EXITS = {UsageError: 4, ConditionNotMet: 1, Inconclusive: 10, Untrustworthy: 11}


def family(kind):
    """The tree that errors.py itself grows; others may add branches that share a code with their parent."""
    own = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [kind, *(grandchild for child in own for grandchild in family(child))]


TREE = family(EvalHarnessError)
whole_tree = pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)


def full(kind):
    return kind("seat 3 hangs\n  in 4 games", not_done="nothing was judged", next_step="run again")


# --------------------------------------------------------------------- tree


def test_every_class_has_a_code_of_its_own():
    codes = [kind.code for kind in TREE]
    assert len(set(codes)) == len(codes)
    assert all("code" in vars(kind) for kind in TREE)
    assert all(re.fullmatch(r"EVH\d{3}", code) for code in codes)


@whole_tree
def test_a_code_leads_back_to_its_class(kind):
    assert by_code(kind.code) is kind


@pytest.mark.parametrize("code", ["", "EVH999", "evh001", "nonsense"])
def test_an_unknown_code_is_not_to_be_trusted(code):
    assert by_code(code) is Untrustworthy


@whole_tree
def test_exit_codes_follow_the_branch(kind):
    expected = next((code for branch, code in EXITS.items() if issubclass(kind, branch)), 11)
    assert kind.exit_code == expected


@whole_tree
def test_only_a_claim_that_is_not_met_is_an_assertion(kind):
    assert issubclass(kind, AssertionError) == (kind is ConditionNotMet)


def test_the_diagram_shows_exactly_the_classes_that_exist():
    drawn = re.findall(r"^    (?:EvalHarnessError$|[ │]*[├└]── \w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(line.split()[-1] for line in drawn) == sorted(kind.__name__ for kind in TREE)


def test_the_diagram_shows_the_branches_where_they_are():
    top = re.findall(r"^    [├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)
    below = re.findall(r"^        [├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert [
        kind.__name__ for kind in TREE if kind.__base__ is EvalHarnessError or kind is ConditionNotMet
    ] == top
    assert [kind.__name__ for kind in TREE if kind.__base__ is Untrustworthy] == below


@pytest.mark.parametrize("branch", EXITS, ids=lambda kind: kind.__name__)
def test_the_diagram_tells_the_exit_code(branch):
    line = next(line for line in (errors.__doc__ or "").splitlines() if f" {branch.__name__} " in line)
    assert line.endswith(f"exit {branch.exit_code}")


@whole_tree
def test_every_class_says_what_it_means(kind):
    assert kind.__doc__


# ----------------------------------------------------------------- messages


@whole_tree
def test_the_decision_comes_first_and_the_code_last(kind):
    assert str(full(kind)).splitlines() == [
        "seat 3 hangs",
        "  in 4 games",
        "  not done: nothing was judged",
        "  next:     run again",
        f"  code:     {kind.code}",
    ]


def test_what_was_not_said_takes_no_line():
    assert str(Untrustworthy("odd")) == "odd\n  code:     EVH111"


@whole_tree
def test_an_error_travels_whole(kind):
    error = full(kind)
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(back) is kind
        assert str(back) == str(error)
        assert (back.what, back.not_done, back.next_step) == (error.what, error.not_done, error.next_step)


def test_errors_travel_between_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        error = full(ConditionNotMet)
        back = pool.apply(copy.copy, (error,))  # there and back again
        assert type(back) is ConditionNotMet
        assert str(back) == str(error)
        with pytest.raises(UsageError, match="must not be empty") as caught:
            pool.apply(settings._read, (settings.BY_KEY["candidate"], " ", "--candidate"))
    assert caught.value.next_step.startswith("--candidate NAME:vN")


def test_a_secret_is_in_no_part_of_an_error():
    redact.hide("tok_test_errors_s3cret")
    texts = {
        "what": "sent tok_test_errors_s3cret",
        "not_done": "Bearer unknown-s3cret went nowhere",
        "next_step": "curl https://me:s3cret@host/api",
    }
    what = texts.pop("what")
    for kind in TREE:
        error = kind(what, **texts)
        for shown in (str(error), repr(error), repr(error.args), repr(vars(error)), str(pickle.dumps(error))):
            assert "s3cret" not in shown


# ----------------------------------------------------------- reference page


def sections():
    return dict(
        re.findall(r"^## (EVH\d{3})\n\n(.+?)(?=\n## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    )


@whole_tree
def test_every_code_has_its_paragraph(kind):
    text = sections()[kind.code]
    assert f"`{kind.__name__}`" in text
    assert f"exit {kind.exit_code}" in text
    assert "**Do:**" in text


def test_the_page_explains_no_code_that_does_not_exist():
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    assert headings == sorted(kind.code for kind in TREE)


def test_no_error_can_steer_a_terminal_whoever_wrote_its_words():
    error = Untrustworthy("xreq_\x1b[2J is\nwedged\u202e", not_done="\x1b]0;t\x07", next_step="a\rb")
    assert all(line.isprintable() for line in str(error).split("\n"))
    assert error.what.split("\n") == ["xreq_\ufffd[2J is", "wedged\ufffd"]
