"""A run's events as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_evalharness.base.text import printable

CHANGES = frozenset(
    {"resumed", "posted", "adopted", "finished", "refused", "abandoned", "wedged", "answer_lost"}
)
"""What is told even under `-q`."""


_SENTENCES = {
    "posted": "posted as {request}",
    "resumed": "goes on with {request}; nothing was posted again",
    "adopted": "found its request {request}; nothing was posted again",
    "answer_lost": "the answer to its POST was lost; looking for the request",
    "outage": "the server does not answer; {request} is asked again: {reason}",
    "finished": "all episodes have ended ({request})",
    "refused": "refused: {reason}",
    "abandoned": "no longer waited for: {reason}",
    "wedged": "wedged: {reason}",
}


def is_change(event: Mapping[str, Any]) -> bool:
    """Whether an event is a change of state rather than a count that moved."""
    return event.get("what") in CHANGES


def line(event: Mapping[str, Any]) -> str | None:
    """One line, or None for an event that is nothing to people."""
    if event.get("kind") != "arm":
        return None
    who = f"{event.get('side')} {printable(event.get('label', ''))}"
    request = printable(event.get("request", ""))
    what = str(event.get("what"))
    if what == "progress":
        return f"{who}: {_counts(event)}"
    sentence = _SENTENCES.get(what)
    if sentence is None:
        return None
    return f"{who}: " + sentence.format(request=request, reason=printable(event.get("reason", ""), 300))


def _counts(event: Mapping[str, Any]) -> str:
    counts = event.get("counts")
    total = event.get("total", 0)
    if not isinstance(counts, dict):
        return f"{total} episodes"
    done = sum(int(counts.get(word, 0)) for word in ("completed", "failed", "cancelled"))
    rest = ", ".join(
        f"{number} {printable(word)}" for word, number in sorted(counts.items()) if word != "completed"
    )
    return f"{done} of {total} episodes have ended" + (f" ({rest})" if rest else "")


def open_requests(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Arm key → `candidate NAME xreq_…`, for every arm that was posted and had not ended when the events stop."""
    still: dict[str, str] = {}
    for event in events:
        if event.get("kind") != "arm":
            continue
        key, what = str(event.get("key")), event.get("what")
        if what in {"posting", "posted", "adopted", "resumed", "progress", "abandoned"}:
            request = event.get("request", "(sent; the answer was not seen)")
            still[key] = f"{event.get('side')} {event.get('label')} {request}"
        elif what in {"finished", "refused", "wedged"}:
            still.pop(key, None)
    return still
