"""A run's events as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.report.model import MANY, requests_told

TURN = "another run on this home has the embedded league; waiting for its end"
ENGINES = "engines"
"""The kind of event that tells how far an engine benchmark is."""
CLBENCH = "clbench"
"""The kind of event that tells how far a campaign of CL-Bench is."""
CHANGES = frozenset(
    {"resumed", "posted", "adopted", "finished", "refused", "abandoned", "cancelled", "wedged", "answer_lost"}
)
"""What is told even under `-q`."""


_SENTENCES = {
    "posted": "posted as {request}",
    "resumed": "goes on with {request}; nothing was posted again",
    "adopted": "found its request {request}; nothing was posted again",
    "answer_lost": "the answer to its POST was lost; looking for the request",
    "late": "all episodes of {request} have ended; waiting for results that are published late",
    "feed_lost": "the change feed of {request} fails, so the request itself is read instead: {reason}",
    "outage": "the server does not answer; {request} is asked again: {reason}",
    "finished": "all episodes have ended ({request})",
    "refused": "refused: {reason}",
    "abandoned": "no longer waited for: {reason}",
    "cancelled": "cancelled: {reason}",
    "wedged": "wedged: {reason}",
}
_SENTENCES_OF_MANY = {
    "posted": "{requests} requests to post, the first is {request}",
    "resumed": "goes on with its requests, {request} and others; nothing was posted again",
}
_SHARES = 4
"""Lines that tell how far an arm of many requests has come."""
_EVERY_TERMINAL = 2.0
_EVERY_LOG = 30.0
_SILENT = 2
_OVER = ("completed", "failed", "cancelled")
_MOVING = frozenset({"progress", "ended"})


class Crowds:
    """Chooses what is told of arms that are cut into many requests: a change once, and their ends a share at a time."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._shares: dict[tuple[str, int], int] = {}

    def wanted(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is worth a line. What an arm of few requests says always is."""
        what, key = str(event.get("what")), str(event.get("key"))
        if what == "ended":
            total = int(event.get("total", 0))
            share = int(event.get("done", 0)) * _SHARES // max(total, 1)
            before = self._shares.get((key, total), 0)  # a further look reads more of them
            self._shares[key, total] = max(share, before)
            return share > before
        if not _of_many(event):
            return True
        if what in {"finished", "progress"} or (key, what) in self._told:
            return False
        self._told.add((key, what))
        return True


class Narrator:
    """Chooses which events become lines, and how often a count that moves is told again.

    Args:
        quiet: 0 tells everything, 1 changes of state only, 2 nothing.
        interactive: whether a terminal shows the lines: a log gets fewer of them.
        counts: whether counts that move are told; not where `Standings` shows them.
    """

    def __init__(self, *, quiet: int = 0, interactive: bool = False, counts: bool = True) -> None:
        self._quiet = quiet
        self._untold = frozenset() if counts else _MOVING
        self._pause = _EVERY_TERMINAL if interactive else _EVERY_LOG
        self._crowds = Crowds()
        self._last: dict[str, float] = {}

    def lines(self, events: Iterable[Mapping[str, Any]], now: float) -> Iterator[str]:
        """The lines of some events.

        Args:
            events: what is new, oldest first.
            now: seconds on a clock that never jumps.
        """
        for event in events:
            if event.get("what") in self._untold and not is_change(event):
                continue
            if self._crowds.wanted(event) and self._wanted(event, now):
                text = line(event)
                if text:
                    yield text

    def _wanted(self, event: Mapping[str, Any], now: float) -> bool:
        if self._quiet >= _SILENT:
            return False
        if is_change(event):
            return True
        what = event.get("what")
        # Arms end a share at a time; a campaign's supervisor says little, and alarms are among it.
        if what == "ended" or event.get("kind") == CLBENCH:
            return not self._quiet
        if what != "outage" and (self._quiet or what != "progress"):
            return False
        key = f"{event.get('key')} {what}"
        pause = self._pause if what == "progress" else _EVERY_LOG
        if now - self._last.get(key, -pause) < pause:
            return False
        self._last[key] = now
        return True


class Standings:
    """How far all arms are, in one line for a terminal that can replace it."""

    def __init__(self) -> None:
        self._arms: dict[str, dict[str, tuple[int, int]]] = {}
        self._open: set[str] = set()

    def note(self, event: Mapping[str, Any]) -> None:
        """Take an event in: the games of an arm's request, or of an arm of many how many requests have ended."""
        what = event.get("what")
        if event.get("kind") != "arm" or _of_many(event):
            return
        name = str(event.get("block", event.get("key")))
        counted = self._arms.setdefault(f"{event.get('side')} {printable(event.get('label', ''))}", {})
        if what in {"progress", "ended"}:
            done, total = counted[name] = _done(event)
            (self._open.add if done < total else self._open.discard)(name)
        elif what in {"finished", "refused", "abandoned", "cancelled", "wedged"}:
            self._open.discard(name)
            if what == "finished" and name in counted:
                counted[name] = counted[name][1], counted[name][1]

    @property
    def line(self) -> str:
        """`candidate keeper:v2 4 of 30, baseline keeper:v1 7 of 30`; empty while no arm is under way."""
        if not self._open:
            return ""
        told = []
        for who, blocks in sorted(self._arms.items(), reverse=True):  # candidates before baselines
            done, total = (
                (sum(numbers) for numbers in zip(*blocks.values(), strict=True)) if blocks else (0, 0)
            )
            told += [f"{who} {done} of {total}"] if total else []
        return ", ".join(told)


def _done(event: Mapping[str, Any]) -> tuple[int, int]:
    """How much of an arm has ended, and how much there is of it."""
    counts, total = event.get("counts"), int(event.get("total", 0))
    if not isinstance(counts, dict):
        return int(event.get("done", 0)), total
    return sum(int(counts.get(word, 0)) for word in _OVER), total


def _of_many(event: Mapping[str, Any]) -> bool:
    return event.get("kind") == "arm" and int(event.get("requests", 1)) >= MANY


def is_change(event: Mapping[str, Any]) -> bool:
    """Whether an event is a change of state rather than a count that moved."""
    if event.get("what") == "ended":
        return event.get("done") == event.get("total")
    return event.get("kind") == "turn" or event.get("what") in CHANGES


def line(event: Mapping[str, Any]) -> str | None:
    """One line, or None for an event that is nothing to people."""
    if event.get("kind") == "turn":
        return TURN
    if event.get("kind") == ENGINES:
        return f"engine benchmark: {printable(event.get('text', ''), 300)}"
    if event.get("kind") == CLBENCH:
        return f"CL-Bench: {printable(event.get('text', ''), 600)}"
    return _of_an_arm(event) if event.get("kind") == "arm" else None


def _of_an_arm(event: Mapping[str, Any]) -> str | None:
    who = f"{event.get('side')} {printable(event.get('label', ''))}"
    request = printable(event.get("request", ""))
    what = str(event.get("what"))
    if what == "progress":
        return f"{who}: {_counts(event)}"
    if what == "ended":
        return f"{who}: {event.get('done')} of {event.get('total')} {printable(event.get('unit', 'requests'))} finished"
    sentence = _SENTENCES.get(what)
    if _of_many(event):
        sentence = _SENTENCES_OF_MANY.get(what, sentence)
    if sentence is None:
        return None
    words = {"request": request, "reason": printable(event.get("reason", ""), 300)}
    return f"{who}: " + sentence.format(**words, requests=event.get("requests"))


def _counts(event: Mapping[str, Any]) -> str:
    counts = event.get("counts")
    total = event.get("total", 0)
    if not isinstance(counts, dict):
        return counted(total, "episode")
    done = sum(int(counts.get(word, 0)) for word in _OVER)
    rest = ", ".join(
        f"{number} {printable(word)}" for word, number in sorted(counts.items()) if word != "completed"
    )
    return f"{done} of {total} episodes have ended" + (f" ({rest})" if rest else "")


def still_running(events: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What the same command goes on with: open requests, and none after a wedge, which it does not wait for again."""
    if any(event.get("what") == "wedged" for event in events):
        return ()
    return tuple(open_requests(events))


def open_requests(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was posted and had not ended when the events stop: `candidate NAME xreq_…`, many of one arm in one line."""
    still: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.get("kind") != "arm":
            continue
        block, what = str(event.get("block", event.get("key"))), event.get("what")
        if what in {"posting", "posted", "adopted", "resumed", "progress", "abandoned"}:
            request = event.get("request", "(sent; the answer was not seen)")
            still[block] = f"{event.get('side')} {event.get('label')}", str(request)
        elif what in {"finished", "refused", "cancelled", "wedged"}:
            still.pop(block, None)
    arms: dict[str, list[str]] = {}
    for who, request in still.values():
        arms.setdefault(who, []).append(request)
    told = []
    for who, requests in arms.items():
        told += (
            [f"{who} {one}" for one in requests]
            if len(requests) < MANY
            else [f"{who} {requests_told(requests)}"]
        )
    return told
