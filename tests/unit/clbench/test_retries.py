"""The rules of the retry budget, on rows as engines write them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.clbench.campaign.retries import (
    Limits,
    Rule,
    limits_of,
    retries,
    retry_checks,
    retry_checks_of,
    waits_of,
)
from pytest_evalharness.clbench.campaign.runroots import Rows, rows_of
from pytest_evalharness.clbench.checking import State
from tests.unit.clbench.left import Left, error, wait

DEATH, UNSENT = "provider_outcome_unknown", "transport_unavailable"
HERE = Path("events.jsonl")


def rows(*told):
    return rows_of("".join(f"{json.dumps(row)}\n" for row in told).encode())


def seen(*told, limits=None):
    return retries([(HERE, rows(*told))], limits or Limits(attempts=12))


def broken(*told, **words):
    return [(one.rule, one.task) for one in seen(*told, **words).violations]


def attempts(count, kind="provider_transient", **more):
    return [error("t", kind, attempt=n, **more) for n in range(1, count + 1)]


def test_three_deaths_of_one_call_are_within_the_rule_and_four_are_not():
    assert broken(*attempts(3, DEATH)) == []
    assert seen(*attempts(3, DEATH)).deaths == 3
    assert broken(*attempts(4, DEATH)) == [(Rule.DEATHS, "t")]


def test_deaths_of_two_rounds_are_not_added_up():
    assert broken(*attempts(3, DEATH), *attempts(3, DEATH, round_=2)) == []


def test_repeats_count_as_attempts():
    mixed = [*attempts(3, DEATH), *[error("t", attempt=n) for n in range(4, 13)]]
    assert broken(*mixed) == []
    assert seen(*mixed).attempts == 12
    assert broken(*mixed, error("t", attempt=13)) == [(Rule.ATTEMPTS, "t")]


def test_an_answer_is_an_attempt_too():
    answer = {
        "type": "llm_round",
        "task_id": "t",
        "round_id": "e1:round:1",
        "round": 1,
        "attempt": 4,
        "cost_usd": 0.1,
    }
    assert broken(*attempts(3), answer, limits=Limits(attempts=4)) == []
    assert broken(*attempts(3), answer, limits=Limits(attempts=3)) == [(Rule.ATTEMPTS, "t")]


def test_other_rows_about_an_attempt_are_no_attempts():
    again = {**error("t", attempt=3), "type": "llm_non_retryable_same_request"}
    assert broken(*attempts(3), again, limits=Limits(attempts=3)) == []


def test_what_never_left_the_host_takes_nothing_of_the_budget():
    assert broken(*attempts(30, UNSENT)) == []
    # A call that is dialled again after a wait has its whole budget once more.
    again = [*attempts(12), error("t", UNSENT, attempt=1), *attempts(12)]
    assert broken(*again) == []
    assert broken(*attempts(12), *attempts(12)) == [(Rule.ATTEMPTS, "t")]
    # Its deaths are the round's all the same.
    assert broken(*attempts(2, DEATH), error("t", UNSENT), *attempts(2, DEATH)) == [(Rule.DEATHS, "t")]


def test_waiting_is_free():
    assert broken(wait("t", "waiting", 30, cost_usd=0.0), error("t", UNSENT, cost_usd=None)) == []
    paid = seen(wait("t", "waiting", 30, cost_usd=0.02), error("u", UNSENT, cost_usd=0.5))
    assert [(one.rule, one.task) for one in paid.violations] == [(Rule.FREE, "t"), (Rule.FREE, "u")]
    assert "$0.0200 for attempts that never left the host" in paid.violations[0].words


def test_no_wait_is_longer_than_the_ceiling():
    long = [wait("t", "entered", 0), wait("t", "waiting", 21_000), wait("t", "waiting", 21_700)]
    assert broken(*long) == [(Rule.CEILING, "t")]
    assert broken(*long[:2]) == []
    # Two waits that are each within it.
    assert (
        broken(*long[:2], wait("t", "recovered", 21_100), wait("t", "entered", 0), wait("t", "ended", 20_000))
        == []
    )


def test_a_wait_is_told_once_however_many_rows_tell_of_it():
    told = [
        wait("t", "entered", 0), wait("u", "waiting", 10), wait("t", "waiting", 30), wait("t", "recovered", 45),
        wait("t", "entered", 0), wait("t", "entered", 0), wait("t", "ended", 90),
    ]  # fmt: skip
    found = waits_of(rows(*told).rows)
    assert [(one.task, one.seconds, one.over) for one in found] == [
        ("t", 45.0, "recovered"), ("t", 0.0, ""), ("t", 90.0, "ended"), ("u", 10.0, ""),
    ]  # fmt: skip


def test_rows_with_fewer_fields_are_read_as_far_as_they_go():
    told = [
        {"type": "llm_api_error"},
        {"type": "network_wait"},
        {"type": "llm_api_error", "task_id": 5, "round": "x"},
    ]
    found = seen(*told)
    assert (found.calls, found.attempts, len(found.waits), found.violations) == (1, 1, 1, ())


def test_torn_lines_are_counted_and_no_other_is_lost():
    raw = b'{"type": "network_wait", "task_id": "t"}\n{"type": "llm_api_error\n[1, "llm_api_error"]\n{"type": "network_wait"'
    told = rows_of(raw)
    assert (len(told.rows), told.unreadable) == (1, 3)


@pytest.mark.parametrize(
    ("environment", "limits"),
    [
        ({}, Limits(6, 21_600.0)),
        (
            {"OUROBOROS_TRANSIENT_RETRY_MAX": "12", "OUROBOROS_TASK_ABS_CEILING_SEC": "3600"},
            Limits(12, 3600.0),
        ),
        ({"OUROBOROS_TRANSIENT_RETRY_MAX": "1"}, Limits(3, 21_600.0)),
        (
            {"OUROBOROS_TRANSIENT_RETRY_MAX": "many", "OUROBOROS_TASK_ABS_CEILING_SEC": "0"},
            Limits(6, 21_600.0),
        ),
        ({"OUROBOROS_TRANSIENT_RETRY_MAX": "inf"}, Limits(6, 21_600.0)),
    ],
)
def test_limits_are_the_campaigns_or_the_engines_own(environment, limits):
    assert limits_of(environment) == limits


def test_checks_say_what_was_seen():
    found = seen(*attempts(2, DEATH), wait("t", "entered", 0), wait("t", "recovered", 90))
    checks = retry_checks(found, Limits(12))
    assert [one.state for one in checks] == [State.OK] * 4
    assert [one.seen for one in checks] == [
        "2 attempts died after they were sent, in 1 calls that failed",
        "at most 2 attempts of a call",
        "1 waits, none of them paid for",
        "1 waits, the longest 1 min 30 s",
    ]
    assert checks[1].needed == "at most 12 of one call, repeats included (OUROBOROS_TRANSIENT_RETRY_MAX)"


def test_checks_name_who_broke_a_rule():
    many = [row for n in range(7) for row in (error(f"t{n}", DEATH, attempt=a) for a in range(1, 5))]
    deaths, *others = retry_checks(seen(*many), Limits(12))
    assert deaths.state is State.FAILED
    assert deaths.seen.startswith("t0: 4 attempts died after they were sent; t1: ")
    assert deaths.seen.endswith("; and 2 more")
    assert [one.state for one in others] == [State.OK] * 3


def test_nothing_is_known_without_events():
    checks = retry_checks(retries([], Limits()), Limits())
    assert {one.state for one in checks} == {State.UNKNOWN}
    assert all(one.mend for one in checks)


def test_the_events_of_all_engines_below_a_runs_root(tmp_path):
    left = Left(tmp_path)
    left.events(*attempts(4, DEATH))
    left.root("aaaa0002")
    left.events(*attempts(12))
    environment = {"OUROBOROS_TRANSIENT_RETRY_MAX": "12"}
    states = {one.name: one.state for one in retry_checks_of(left.runs_root, environment)}
    assert states == {
        "retries: transport deaths": State.FAILED,
        "retries: attempts": State.OK,
        "retries: free waits": State.OK,
        "retries: length of waits": State.OK,
    }
    assert {one.state for one in retry_checks_of(tmp_path / "no", environment)} == {State.UNKNOWN}


kinds = st.sampled_from([DEATH, UNSENT, "provider_transient", "network_wait"])


@given(st.lists(st.tuples(st.sampled_from("tu"), st.integers(1, 3), kinds), max_size=40), st.integers(3, 12))
def test_a_plain_count_finds_the_same(told, most):
    """An oracle that goes through the rows once for each call."""
    made = [
        wait(task, "waiting", 1) if kind == "network_wait" else error(task, kind, round_=number)
        for task, number, kind in told
    ]
    found = seen(*made, limits=Limits(attempts=most))
    deaths = attempts = 0
    for call in {(task, number) for task, number, kind in told if kind not in {"network_wait", UNSENT}}:
        mine = [k for t, n, k in told if (t, n) == call or (t == call[0] and k in {"network_wait", UNSENT})]
        deaths += mine.count(DEATH) > 3
        runs, length = [], 0
        for kind in mine:
            length = 0 if kind in {"network_wait", UNSENT} else length + 1
            runs.append(length)
        attempts += max(runs) > most
    rules = [one.rule for one in found.violations]
    assert (rules.count(Rule.DEATHS), rules.count(Rule.ATTEMPTS)) == (deaths, attempts)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(raw):
    told = rows_of(raw + b'\n"attempt"\n' + raw)
    assert isinstance(told, Rows)
