"""Time as an argument: what tells the time and what waits, so that tests need neither."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> float:
        """Seconds since 1970 (wall clock): for records that outlive the process."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps: for measuring how long something took."""
        ...

    def wait(self, seconds: float, stop: threading.Event | None = None) -> bool:
        """Wait; return True as soon as `stop` is set, False when the time is over."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed point in the past."""
        return time.monotonic()

    def wait(self, seconds: float, stop: threading.Event | None = None) -> bool:
        """Wait for `seconds`, or until `stop` is set."""
        if stop is None:
            time.sleep(max(0.0, seconds))
            return False
        return stop.wait(max(0.0, seconds))


def iso(seconds: float) -> str:
    """An instant as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_iso(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 instant; one without a zone is read as UTC.

    Raises:
        ValueError: the text is no instant.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def span(seconds: float) -> str:
    """A duration for people: `0.4 s`, `12 s`, `7 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 9.95:  # noqa: PLR2004 - below ten seconds the tenths matter
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    first = next(i for i, (amount, _) in enumerate(parts) if amount or i == len(parts) - 1)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)
