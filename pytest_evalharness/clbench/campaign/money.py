"""What a key may still spend: two bounds, each known or not, and the smaller of those that are known. Pure.

A key's limit is not money, and an account's balance is not what one key may take of it: both are told, and what nobody
tells is neither zero nor without end. The shapes are those of OpenRouter's `GET /key` and `GET /credits`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.base.clock import iso, parse_iso
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.checking import Check, State

KEY = "key limit"
BALANCE = "account balance"
SAFETY = 1.2
"""What a campaign is expected to cost, times this, has to be there: costs of one domain-seed differ by more."""
_WANTS_MANAGEMENT = "give a management key, or look at the account's credits page"
_KEY_PAGE = "raise the key's limit, or use another key"
_TOP_UP = "add credits, or run fewer rollouts"


class Known(StrEnum):
    """What is known of a bound."""

    DOLLARS = "dollars"
    UNCAPPED = "uncapped"
    """There is no such bound: it is told that nothing limits the key."""
    UNKNOWN = "unknown"
    """Nobody tells."""


@dataclass(frozen=True)
class Bound:
    """One of the two bounds.

    Attributes:
        name: `KEY` or `BALANCE`.
        known: what is known of it.
        dollars: how much is left; None unless `known` is DOLLARS. Never negative.
        words: what was seen, or why nothing is known.
        usage: all that was ever spent under it, in dollars: two readings tell how fast it drains. None where it is not told.
    """

    name: str
    known: Known
    dollars: float | None
    words: str
    usage: float | None = None

    @classmethod
    def unknown(cls, name: str, why: str) -> Bound:
        """A bound that nobody tells."""
        return cls(name, Known.UNKNOWN, None, f"unknown: {why}")


@dataclass(frozen=True)
class Spendable:
    """Both bounds of one key."""

    key: Bound
    balance: Bound

    @property
    def dollars(self) -> float | None:
        """The smaller of the bounds that are known; None where none is."""
        told = [bound.dollars for bound in (self.key, self.balance) if bound.dollars is not None]
        return min(told, default=None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the bounds that nobody tells: `dollars` may be too much by any amount where there are some."""
        return tuple(bound.name for bound in (self.key, self.balance) if bound.known is Known.UNKNOWN)

    @property
    def words(self) -> str:
        """Both bounds and the smaller, in one line."""
        least = "unknown" if self.dollars is None else f"${self.dollars:,.2f}"
        return f"spendable {least} ({self.key.name}: {self.key.words}; {self.balance.name}: {self.balance.words})"


# ------------------------------------------------------------------ answers


def key_bound(answer: object, now: float) -> Bound:
    """What `GET /key` tells, asked with the key itself.

    `limit_remaining` is what counts. `usage` is of all time while a limit may be of a day, a week or a month: their difference
    is used only where the limit never resets and nothing better is told.

    Args:
        answer: the JSON.
        now: seconds since 1970; a key that has expired may spend nothing.
    """
    told = _data(answer)
    if told is None:
        return Bound.unknown(KEY, "the answer has no data")
    usage = _dollars(told.get("usage"))
    expires = _instant(told.get("expires_at"))
    if expires is not None and expires <= now:
        return Bound(KEY, Known.DOLLARS, 0.0, f"the key expired at {iso(expires)}", usage)
    reset = told.get("limit_reset")
    period = f", resets {printable(reset, 20)}" if reset else ""
    limit, left = _dollars(told.get("limit")), _dollars(told.get("limit_remaining"))
    if left is not None:
        of = "" if limit is None else f" of ${limit:,.2f}"
        return Bound(KEY, Known.DOLLARS, max(0.0, left), f"${left:,.2f}{of} left{period}", usage)
    if "limit" in told and told["limit"] is None and told.get("limit_remaining") is None:
        return Bound(KEY, Known.UNCAPPED, None, "the key has no limit", usage)
    if limit is not None and usage is not None and not reset:
        left = limit - usage
        words = f"${left:,.2f} of ${limit:,.2f} left, as limit less usage"
        return Bound(KEY, Known.DOLLARS, max(0.0, left), words, usage)
    return Bound.unknown(KEY, f"the answer tells no limit_remaining{period}")


def balance_bound(answer: object) -> Bound:
    """What `GET /credits` tells: all that was bought, less all that was used."""
    told = _data(answer)
    if told is None:
        return Bound.unknown(BALANCE, "the answer has no data")
    total, used = _dollars(told.get("total_credits")), _dollars(told.get("total_usage"))
    if total is None or used is None:
        return Bound.unknown(BALANCE, "the answer tells no total_credits and total_usage")
    left = total - used
    return Bound(BALANCE, Known.DOLLARS, max(0.0, left), f"${left:,.2f} of ${total:,.2f} left", used)


def drained_per_hour(earlier: tuple[float, Bound], later: tuple[float, Bound], own: float = 0.0) -> float:
    """How fast a bound drains, in dollars an hour: by us, or by everybody who shares the key, whichever is more.

    Args:
        earlier: seconds since 1970, and the bound as it was then.
        later: the same of a later reading.
        own: what the campaign itself spends an hour.
    """
    seconds = later[0] - earlier[0]
    before, after = earlier[1].usage, later[1].usage
    if seconds <= 0.0 or before is None or after is None:
        return own
    return max(own, (after - before) / seconds * 3600.0)


# ------------------------------------------------------------------- checks


def key_checks(spendable: Spendable, cost: float, *, safety: float = SAFETY) -> tuple[Check, ...]:
    """Whether a key can pay a plan: one check a bound, and one of both.

    Args:
        spendable: the bounds as they were just told.
        cost: dollars that the plan is expected to cost.
        safety: `cost` times this has to be there.
    """
    needed = cost * safety
    told = f"${needed:,.2f}: ${cost:,.2f} that the plan is expected to cost, times {safety:g}"
    bounds = (
        _bound_check(spendable.key, needed, told, _KEY_PAGE),
        _bound_check(spendable.balance, needed, told, _TOP_UP),
    )
    states = {check.state for check in bounds}
    if State.FAILED in states:
        state, mend = State.FAILED, "; ".join(check.mend for check in bounds if check.state is State.FAILED)
    elif spendable.dollars is None or spendable.missing:
        missing = " and ".join(spendable.missing) or "any bound in dollars"
        state, mend = State.UNKNOWN, f"find out {missing}: what nobody tells may be less than the plan costs"
    else:
        state, mend = State.OK, ""
    return (*bounds, Check("spendable", state, spendable.words, told, mend))


def _bound_check(bound: Bound, needed: float, told: str, mend: str) -> Check:
    name = bound.name
    if bound.known is Known.UNKNOWN:
        how = (
            _WANTS_MANAGEMENT
            if name == BALANCE
            else "evalharness clbench preflight again; look at the key's page"
        )
        return Check(name, State.UNKNOWN, bound.words, told, how)
    if bound.dollars is not None and bound.dollars < needed:
        return Check(name, State.FAILED, bound.words, told, mend)
    return Check(name, State.OK, bound.words, told)


# ------------------------------------------------------------------- values


def _data(answer: object) -> Mapping[str, object] | None:
    told = answer.get("data") if isinstance(answer, dict) else None
    return told if isinstance(told, dict) else None


def _dollars(told: object) -> float | None:
    """A number that can be money; some answers write numbers as text."""
    if isinstance(told, bool) or not isinstance(told, int | float | str):
        return None
    try:
        value = float(told)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _instant(told: object) -> float | None:
    if not isinstance(told, str):
        return None
    try:
        return parse_iso(told)
    except (ValueError, OverflowError):
        return None
