"""Writing a recorded match into a folder."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from pytest_evalharness.arena.game.match import Match
from pytest_evalharness.arena.game.record import Event, Input


def write(match: Match, folder: Path) -> None:
    """Write ``results.json``, ``events.jsonl``, ``inputs.jsonl`` and ``logs/policy_agent_{slot}.log``.

    Args:
        match: a match played with ``record=True``.
        folder: created if absent; files in it are replaced.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(match.results), encoding="utf-8")
    (folder / "events.jsonl").write_text("".join(map(_event_line, match.events)), encoding="utf-8")
    (folder / "inputs.jsonl").write_text("".join(map(_input_line, match.inputs)), encoding="utf-8")
    for slot, lines in enumerate(match.logs):
        (logs / f"policy_agent_{slot}.log").write_text("\n".join((*lines, "")), encoding="utf-8")


def _event_line(event: Event) -> str:
    (entry,) = event.value.items()
    head = f'{{"ts": {event.ts}, "player": {event.player}, "key": "{event.key}", "value": '
    return f"{head}{_value(*entry)}}}\n"


@lru_cache(maxsize=4096, typed=True)
def _value(name: str, value: object) -> str:
    """The JSON of a single-entry object; a match has few different ones, so they are kept."""
    return json.dumps({name: value})


def _input_line(row: Input) -> str:
    return f'[{row.tick}, {row.seat}, "{row.action}", {row.argument}, {row.ticks}]\n'
