"""When to ask again, and how long to wait before."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from pytest_evalharness.net.errors import (
    AnswerLost,
    DeadlineExceeded,
    HttpStatus,
    NetError,
    NotSent,
)

TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same GET may succeed."""
NOT_FOUND = 404
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 8.0
_SPREAD = 0.25


def backoff(attempt: int, rng: random.Random) -> float:
    """Seconds to wait after the `attempt`-th failure (from 1): doubling, half of it drawn, at most 8.

    The drawn half keeps clients that failed together from coming back together.
    """
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt - 1, 16))
    return ceiling * (0.5 + 0.5 * rng.random())


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a `Retry-After` header asks for: an amount, or an HTTP date against `now`.

    None if there is none, or nothing that can be read.
    """
    raw = headers.get("retry-after", "").strip()
    if not raw:
        return None
    try:
        seconds = float(raw)
    except ValueError:
        return _until(raw, now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(raw: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(raw)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def may_get_again(problem: NetError) -> bool:
    """Whether a GET that ended so is worth another try."""
    if isinstance(problem, HttpStatus):
        return problem.status in TRANSIENT
    return isinstance(problem, NotSent | AnswerLost | DeadlineExceeded)


def not_found(problem: NetError) -> bool:
    """Whether the server knows no such thing, which of something just made may mean "not yet"."""
    return isinstance(problem, HttpStatus) and problem.status == NOT_FOUND


def may_post_again(problem: NetError) -> bool:
    """Whether a POST that ended so has provably done nothing."""
    if isinstance(problem, HttpStatus):
        return problem.refused_before_execution
    return isinstance(problem, NotSent)


def pause(problem: NetError, attempt: int, *, rng: random.Random, now: float) -> float:
    """Seconds to wait before the next try: what the server asks for plus a little, else the back-off."""
    asked = retry_after(problem.headers, now) if isinstance(problem, HttpStatus) else None
    if asked is None:
        return backoff(attempt, rng)
    return asked + _SPREAD * rng.random()
