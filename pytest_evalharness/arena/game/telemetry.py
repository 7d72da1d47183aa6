"""What a policy uploads of its own play: every meeting that its adviser, a language model, decided or failed to decide.

The policies of this game carry no language model. Their telemetry says of each vote what that of a policy with one would say:
that the adviser decided it, or that its call failed and the policy went by its rules, which play the same.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pytest_evalharness.arena.game.record import Event

COLOURS: Final = ("red", "blue", "green", "pink", "orange", "yellow", "purple", "cyan")
"""The colours of the seats, in their order."""
MODEL: Final = "arena-adviser"
_DATE: Final = (2026, 1, 1, 0, 0, 0)
"""Archives are the same bytes whenever they are made."""


def telemetry(events: Sequence[Event], seat: int, *, fires: bool) -> list[dict[str, Any]]:
    """The rows of one seat, in the order of its play.

    Args:
        events: the match's.
        seat: whose they are.
        fires: whether the adviser answers; else every call fails.
    """
    return [row for event in events if event.player == seat for row in _rows(event, fires=fires)]


def _rows(event: Event, *, fires: bool) -> Iterator[dict[str, Any]]:
    if event.key == "completed_task":
        yield _trace(event.ts, "domain.task_completed", {"room": event.value["room"]})
    elif event.key == "vote_cast" and fires:
        latency = 400 + event.ts % 700
        target = event.value.get("target_slot")
        vote = COLOURS[target] if isinstance(target, int) else "skip"
        decision = {
            "trigger": "deadline", "model": MODEL, "latency_ms": latency, "usage": {"output_tokens": 20 + event.ts % 40},
            "decision": {"vote": vote},
        }  # fmt: skip
        yield _trace(event.ts, "domain.meeting_llm_decision", decision)
        yield {
            "kind": "metric", "metric_kind": "histogram", "name": "llm_latency_ms", "value": float(latency),
            "tags": {"layer": "meeting"},
        }  # fmt: skip
    elif event.key == "vote_cast":
        yield _trace(event.ts, "domain.meeting_llm_fallback", {"reason": "call_failed"})


def _trace(tick: int, event: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "trace", "tick": tick, "event": event, "name": event, "data": data}


def archive(rows: Sequence[dict[str, Any]], build: str) -> bytes:
    """The rows as the zip that a policy uploads: ``telemetry.jsonl`` and ``manifest.json``."""
    files = {
        "manifest.json": json.dumps({"schema_version": 1, "build": build, "rows": len(rows)}),
        "telemetry.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
