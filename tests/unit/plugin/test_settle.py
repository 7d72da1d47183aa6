import itertools

import pytest

from pytest_evalharness.plugin.outcome import Tally, settle
from pytest_evalharness.plugin.session import plain
from pytest_evalharness.verdict.words import Verdict

PYTESTS_OWN = [2, 3, 4, 5, 6]


def tally(
    failed=0, untrustworthy=0, inconclusive=0, *, usage="", missing=False, misused=0, interrupted=False
):
    collected = {"a", "b", "c"}
    return Tally(
        collected=collected,
        reported=collected - {"b"} if missing else set(collected),
        failed=failed,
        untrustworthy=untrustworthy,
        inconclusive=inconclusive,
        usage=usage,
        misused=misused,
        interrupted=interrupted,
    )


@pytest.mark.parametrize(
    ("status", "found", "policy", "code"),
    [
        (0, {}, "exit", 0),
        (0, {"inconclusive": 1}, "exit", 10),
        (0, {"inconclusive": 1}, "pass", 0),
        (0, {"inconclusive": 1}, "fail", 1),  # a skipped or xfailed claim, which no exception has failed
        (0, {"misused": 1}, "exit", 4),
        (1, {"misused": 1, "failed": 2}, "exit", 4),
        (0, {"interrupted": True}, "exit", 2),
        (1, {"failed": 1}, "fail", 1),  # under `fail` a case that cannot tell has failed already
        (1, {"failed": 1}, "exit", 1),
        (1, {"untrustworthy": 1}, "exit", 11),
        (1, {"failed": 1, "untrustworthy": 3, "inconclusive": 5}, "exit", 1),
        (1, {"untrustworthy": 1, "inconclusive": 1}, "exit", 11),
        (0, {"missing": True}, "exit", 11),
        (0, {"missing": True, "inconclusive": 1}, "exit", 11),
        (0, {"missing": True, "inconclusive": 1}, "pass", 11),
        (1, {"missing": True, "failed": 1}, "exit", 1),
        (1, {"missing": True, "untrustworthy": 1}, "exit", 11),
        (1, {}, "exit", 1),  # something else failed
        (1, {"inconclusive": 1}, "exit", 1),
        (0, {"usage": "no server was named"}, "exit", 4),
        (1, {"usage": "no server was named", "failed": 1}, "exit", 4),
        (5, {"usage": "no server was named"}, "exit", 4),
    ],
)
def test_the_table(status, found, policy, code):
    assert settle(status, tally(**found), policy) == code


@pytest.mark.parametrize("status", PYTESTS_OWN)
def test_what_pytest_says_itself_stays(status):
    for failed, untrustworthy, inconclusive, missing in itertools.product(
        (0, 1), (0, 1), (0, 1), (False, True)
    ):
        found = tally(failed, untrustworthy, inconclusive, missing=missing)
        assert settle(status, found, "exit") == status


@pytest.mark.parametrize("policy", ["exit", "pass", "fail"])
@pytest.mark.parametrize("status", [0, 1])
def test_the_precedence_holds_for_every_combination(status, policy):
    for failed, untrustworthy, inconclusive, missing in itertools.product(
        (0, 2), (0, 2), (0, 2), (False, True)
    ):
        if (failed or untrustworthy) and status == 0:
            continue  # pytest says 1 for every failed report
        code = settle(status, tally(failed, untrustworthy, inconclusive, missing=missing), policy)
        if failed:
            assert code == 1
        elif untrustworthy or (missing and status == 0):
            assert code == 11
        elif inconclusive and policy != "pass" and status == 0:
            assert code == {"exit": 10, "fail": 1}[policy]
        else:
            assert code == status


def test_zero_means_that_every_case_reported():
    found = tally(missing=True)
    assert settle(0, found, "pass") != 0
    assert found.missing == ["b"]


@pytest.mark.parametrize(
    ("status", "stopped", "missing", "unfinished"),
    [
        (1, True, ["lost"], ["later"]),  # -x: what had begun must report, what had not is nobody's loss
        (1, False, ["later", "lost"], []),
        (2, False, [], ["later", "lost"]),  # an interrupt, which breaks off what is under way
        (3, False, ["later", "lost"], []),  # nobody told an internal error to stop anything
    ],
)
def test_a_stopped_run_loses_only_what_had_begun(status, stopped, missing, unfinished):
    found = Tally(collected={"a", "lost", "later"}, started={"a", "lost"}, reported={"a"}, failed=1)
    assert settle(status, found, "exit", stopped=stopped) == status
    assert (found.missing, found.unfinished) == (missing, unfinished)


def test_a_stop_is_no_excuse_for_a_green_run():
    found = Tally(collected={"a", "later"}, started={"a", "later"}, reported={"a"})
    assert settle(0, found, "pass", stopped=True) == 11


def test_without_eval_cases_nothing_changes():
    for status in range(7):
        assert settle(status, Tally(), "exit") == status


# A property that is not an exact string can lose a whole report on its way from a worker.
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Verdict.BETTER, "better"),
        (None, ""),
        (3, "3"),
        ("é", "é"),
        (0.5, "0.5"),
        (True, "True"),
        ("\ud800", "\\ud800"),
    ],
)
def test_properties_are_exact_strings(value, told):
    assert plain(value) == told
    assert type(plain(value)) is str
