"""The telemetry that a policy uploads of its own play: whether its adviser, a language model, was asked and answered. Pure.

The archive is the player's own work and nobody has looked into it: everything in it is a stranger's word. Read is
`telemetry.jsonl`, one JSON object a line, of which the `trace` lines of an adviser count: `…llm_decision` (it answered and was
followed), `…llm_fallback` (it did not, and the policy went by its rules) and `…llm_disabled` (it was never reachable).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.episodes.archives import opened
from pytest_evalharness.episodes.ballots import Ballot, target_of

KIND = "telemetry"
FILE = "telemetry.jsonl"
_LONGEST_LINE = 1024 * 1024
_MARK = b"llm_"
"""Every line of an adviser has it; the others, which are nearly all, need not be parsed."""


@dataclass(frozen=True)
class Telemetry:
    """What an adviser did in one game.

    Attributes:
        decisions: how often it answered.
        fallbacks: how often the policy had to do without.
        disabled: how often it was noted to be out of reach for good.
        ballots: the votes that it decided, in order.
        malformed: lines about it that cannot be read; a last line that was cut is none.
    """

    decisions: int = 0
    fallbacks: int = 0
    disabled: int = 0
    ballots: tuple[Ballot, ...] = ()
    malformed: int = 0

    @property
    def fire_rate(self) -> float | None:
        """Decisions over decisions and fallbacks; 0 where it was out of reach, None where nothing tells of an adviser."""
        asked = self.decisions + self.fallbacks
        if asked:
            return self.decisions / asked
        return 0.0 if self.disabled else None


def read_telemetry(data: bytes) -> Telemetry:
    """A policy's artifact; nothing of an adviser where it holds no telemetry.

    Raises:
        ArtifactUnreadable: the archive is too large, no zip, or one that must not be opened; its telemetry is damaged or
            unpacks to more than 64 MiB.
    """
    with opened(data, KIND) as archive:
        name = archive.named(FILE)
        return Telemetry() if name is None else _read(archive.read(name))


def _read(content: bytes) -> Telemetry:
    counted = {"decision": 0, "fallback": 0, "disabled": 0}
    ballots: list[Ballot] = []
    malformed = 0
    for event, data in _events(content):
        if event is None:
            malformed += 1
            continue
        kind = next((kind for kind in counted if event.endswith(f"llm_{kind}")), None)
        if kind is None:
            continue
        counted[kind] += 1
        decision = data.get("decision")
        if kind == "decision" and isinstance(decision, Mapping) and decision.get("vote") is not None:
            ballots.append(target_of(decision["vote"]))
    return Telemetry(counted["decision"], counted["fallback"], counted["disabled"], tuple(ballots), malformed)


def _events(content: bytes) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """The adviser's trace lines as (event, data); event is None for one that cannot be read."""
    start, end = 0, len(content)
    while start < end:
        stop = content.find(b"\n", start)
        last = stop < 0
        line = content[start : end if last else stop]
        start = end if last else stop + 1
        if _MARK not in line:
            continue
        row = _row(line)
        if row is None:
            if not last:  # a process that is killed leaves half a line
                yield None, {}
        elif row.get("kind") == "trace":
            event, data = row.get("event"), row.get("data")
            yield (event if isinstance(event, str) else None), (data if isinstance(data, Mapping) else {})


def _row(line: bytes) -> Mapping[str, Any] | None:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, Mapping) else None
