"""What a key may spend: every shape of both answers, and the checks on them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.clbench.campaign.money import (
    BALANCE,
    KEY,
    Bound,
    Known,
    Spendable,
    balance_bound,
    drained_per_hour,
    key_bound,
    key_checks,
)
from pytest_evalharness.clbench.checking import State

NOW = 1_800_000_000.0


def key(**told):
    return key_bound({"data": told}, NOW)


def balance(total, used):
    return balance_bound({"data": {"total_credits": total, "total_usage": used}})


def dollars(amount, name=KEY):
    return Bound(name, Known.DOLLARS, amount, f"${amount}")


UNCAPPED = Bound(KEY, Known.UNCAPPED, None, "the key has no limit")
NOBODY = Bound.unknown(BALANCE, "nobody knows")


@pytest.mark.parametrize(
    ("told", "known", "left"),
    [
        # A key of a monthly limit: what was ever used says nothing about this month.
        ({"limit": 100, "limit_remaining": 74.5, "limit_reset": "monthly", "usage": 3000.0}, Known.DOLLARS, 74.5),
        ({"limit": None, "limit_remaining": None, "limit_reset": None, "usage": 12.0}, Known.UNCAPPED, None),
        # Older answers: without a period the difference is right, with one it is not.
        ({"limit": 100, "limit_reset": None, "usage": 25.5}, Known.DOLLARS, 74.5),
        ({"limit": 100, "limit_reset": "daily", "usage": 25.5}, Known.UNKNOWN, None),
        ({"limit": 100, "limit_remaining": -3.0, "usage": 103}, Known.DOLLARS, 0.0),
        ({"limit": 100, "limit_remaining": "74.5", "usage": "25.5"}, Known.DOLLARS, 74.5),
        ({"limit": 100, "limit_remaining": float("nan"), "usage": None}, Known.UNKNOWN, None),
        ({"limit": 100, "limit_remaining": True, "limit_reset": "weekly"}, Known.UNKNOWN, None),
        ({"usage": 5}, Known.UNKNOWN, None),
    ],
)  # fmt: skip
def test_what_a_key_may_spend(told, known, left):
    bound = key(**told)
    assert (bound.known, bound.dollars) == (known, left)
    assert bound.words


@pytest.mark.parametrize(("at", "left"), [("2026-01-01T00:00:00Z", 0.0), ("2999-01-01T00:00:00Z", 50.0)])
def test_a_key_that_has_expired_may_spend_nothing(at, left):
    assert key(limit=100, limit_remaining=50, expires_at=at).dollars == left


def test_an_expired_key_without_a_limit_may_spend_nothing_either():
    bound = key(limit=None, limit_remaining=None, expires_at="2026-01-01T00:00:00Z")
    assert (bound.known, bound.dollars) == (Known.DOLLARS, 0.0)
    assert "expired at 2026-01-01" in bound.words


@pytest.mark.parametrize("answer", [None, [], "x", {}, {"data": None}, {"data": []}])
def test_answers_that_are_none(answer):
    assert key_bound(answer, NOW).known is Known.UNKNOWN
    assert balance_bound(answer).known is Known.UNKNOWN


def test_the_balance_is_what_was_bought_less_what_was_used():
    assert balance(100.5, 25.75).dollars == 74.75
    assert balance(10, 25).dollars == 0.0
    assert balance(None, 25).known is Known.UNKNOWN


def test_a_limit_is_not_money():
    """A key of $12,000 on an account of $2,000."""
    told = Spendable(key(limit=12_000, limit_remaining=12_000.0, usage=0), balance(2_100, 100))
    assert told.dollars == 2_000.0
    assert "$12,000.00" in told.words
    assert "$2,000.00" in told.words


def test_an_unknown_bound_is_neither_zero_nor_endless():
    assert Spendable(dollars(50.0), NOBODY).dollars == 50.0
    assert Spendable(dollars(50.0), NOBODY).missing == (BALANCE,)
    nothing = Spendable(UNCAPPED, NOBODY)
    assert nothing.dollars is None
    assert nothing.words.startswith(
        "spendable unknown (key limit: the key has no limit; account balance: unknown"
    )


@pytest.mark.parametrize(
    ("spendable", "states", "mend"),
    [
        (Spendable(dollars(70), dollars(70, BALANCE)), ("ok", "ok", "ok"), ""),
        (Spendable(dollars(59.9), dollars(70, BALANCE)), ("failed", "ok", "failed"), "raise the key's limit, or use another key"),
        (Spendable(UNCAPPED, dollars(10, BALANCE)), ("ok", "failed", "failed"), "add credits, or run fewer rollouts"),
        (Spendable(UNCAPPED, dollars(70, BALANCE)), ("ok", "ok", "ok"), ""),
        (Spendable(dollars(70), NOBODY), ("ok", "unknown", "unknown"), "find out account balance"),
        (Spendable(dollars(5), NOBODY), ("failed", "unknown", "failed"), "raise the key's limit"),
        (Spendable(UNCAPPED, NOBODY), ("ok", "unknown", "unknown"), "find out account balance"),
    ],
)  # fmt: skip
def test_checks_against_the_cost_of_a_plan(spendable, states, mend):
    checks = key_checks(spendable, 50.0)
    assert tuple(check.state for check in checks) == states
    assert [check.name for check in checks] == [KEY, BALANCE, "spendable"]
    assert checks[-1].mend.startswith(mend)
    assert all(check.mend or check.state is State.OK for check in checks)
    assert "$60.00: $50.00 that the plan is expected to cost, times 1.2" in checks[0].needed


def test_shared_keys_drain_faster_than_the_campaign_spends():
    def at(seconds, usage):
        return seconds, key(limit=100, limit_remaining=50, usage=usage)

    assert drained_per_hour(at(0, 10.0), at(1800, 30.0), own=12.0) == 40.0
    assert drained_per_hour(at(0, 10.0), at(3600, 11.0), own=12.0) == 12.0
    assert drained_per_hour(at(60, 10.0), at(60, 30.0), own=12.0) == 12.0
    assert drained_per_hour(at(0, None), at(3600, 30.0), own=12.0) == 12.0


numbers = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("limit", "limit_remaining", "usage"), numbers)
        | {"limit_reset": st.sampled_from([None, "daily", "monthly", "\x1b[31m"]), "expires_at": numbers},
    )
)
def test_no_answer_makes_a_bound_that_contradicts_itself(told):
    bound = key_bound({"data": told}, NOW)
    assert (bound.dollars is not None) == (bound.known is Known.DOLLARS)
    assert bound.dollars is None or 0.0 <= bound.dollars < float("inf")
    assert bound.words.isprintable()


bounds = st.none() | st.floats(0, 1e6)


@given(bounds, bounds, st.floats(0.01, 1e6))
def test_a_plan_passes_only_where_every_bound_is_told_and_holds_it(one, other, cost):
    spendable = Spendable(
        Bound.unknown(KEY, "?") if one is None else dollars(one),
        NOBODY if other is None else dollars(other, BALANCE),
    )
    state = key_checks(spendable, cost, safety=1.0)[-1].state
    assert (state is State.OK) == (one is not None and other is not None and min(one, other) >= cost)
    short = any(told is not None and told < cost for told in (one, other))
    assert (state is State.FAILED) == short
