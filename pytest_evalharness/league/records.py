"""What an arm left behind, one record an episode, and what is read off the tested seat. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_evalharness.verdict.evidence import ArmEvidence

COMPLETED = "completed"


class Outcome(StrEnum):
    """What an episode says about the tested seat."""

    WIN = "win"
    LOSS = "loss"
    MISSING = "missing"


@dataclass(frozen=True)
class SeatedAs:
    """Who really sat in a position."""

    position: int
    policy_version_id: str | None
    kind: str
    is_filler: bool


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode as the service reported it, kept whole enough to be judged again without the service."""

    id: str
    status: str
    error_type: str | None
    seed: int | None
    participants: tuple[SeatedAs, ...]
    config: Mapping[str, Any] | None
    results: Mapping[str, Any] | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EpisodeRecord:
        """A record as it was journalled."""
        return cls(**{**data, "participants": tuple(SeatedAs(**seat) for seat in data["participants"])})

    def outcome(self, seat: int) -> Outcome:
        """Win, loss or missing.

        A game that a connection timeout ended is a draw nobody played for. It counts as the tested seat's loss
        if that seat dropped out, and is missing otherwise (the service gives every seat a false `win`).
        """
        if self.status != COMPLETED or not self.results:
            return Outcome.MISSING
        wins = self.results.get("win")
        if not isinstance(wins, list) or seat >= len(wins):
            return Outcome.MISSING
        dropped = self.count("connect_timeout", seat) + self.count("disconnect_timeout", seat)
        if not any(wins) and self._anyone_dropped():
            return Outcome.LOSS if dropped else Outcome.MISSING
        return Outcome.WIN if wins[seat] else Outcome.LOSS

    def _anyone_dropped(self) -> bool:
        lists = [(self.results or {}).get(key) or [] for key in ("connect_timeout", "disconnect_timeout")]
        return any(any(values) for values in lists if isinstance(values, list))

    def count(self, key: str, seat: int) -> int:
        """A seat's entry in one of the per-seat counters of `results.json`; 0 where there is no sensible one."""
        value = self._entry(key, seat)
        return int(value) if isinstance(value, int) and value > 0 else 0

    def _entry(self, key: str, seat: int) -> Any:
        values = (self.results or {}).get(key)
        return values[seat] if isinstance(values, list) and seat < len(values) else None

    def score(self, seat: int) -> float | None:
        """The seat's score; only `results.json` has one per seat. None where it holds no finite number."""
        value = self._entry("scores", seat)
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if number else None

    def role(self, seat: int) -> str | None:
        """The role the seat really played, or None where the results name none."""
        crew, imposter = self.count("crew", seat), self.count("imposter", seat)
        if crew == imposter:
            return None
        return "imposter" if imposter else "crew"


@dataclass(frozen=True)
class ArmRecord:
    """Everything an arm's requests left behind."""

    request_ids: tuple[str, ...]
    request_statuses: tuple[str, ...]
    coworlds: tuple[str, ...]
    requested: int
    episodes: tuple[EpisodeRecord, ...]

    @classmethod
    def from_blocks(cls, evidence: Sequence[Mapping[str, Any]], requested: int) -> ArmRecord:
        """Put an arm together from its blocks' journalled evidence, in the order of the blocks."""
        episodes = [EpisodeRecord.from_json(e) for block in evidence for e in block["episodes"]]
        coworlds = {f"{b['request']['coworld_name']} {b['request']['coworld_version']}" for b in evidence}
        return cls(
            request_ids=tuple(str(block["request"]["id"]) for block in evidence),
            request_statuses=tuple(str(block["request"]["status"]) for block in evidence),
            coworlds=tuple(sorted(coworlds)),
            requested=requested,
            episodes=tuple(episodes),
        )

    def outcomes(self, seat: int) -> list[Outcome]:
        """What each episode says about a seat, in order."""
        return [episode.outcome(seat) for episode in self.episodes]

    def scores(self, seat: int, counted: Sequence[bool]) -> list[float] | None:
        """A seat's score in each counted episode; None where one of them has none."""
        told = [e.score(seat) for e, counts in zip(self.episodes, counted, strict=True) if counts]
        known = [score for score in told if score is not None]
        return known if len(known) == len(told) else None

    def evidence(self, label: str, seat: int, counted: Sequence[bool] | None = None) -> ArmEvidence:
        """The numbers that the verdict is made of.

        Args:
            label: who sat in the tested seat.
            seat: the tested seat.
            counted: which episodes count, in order; one that is missing never does. All others when left out.
        """
        outcomes = self.outcomes(seat)
        if counted is None:
            counted = [outcome is not Outcome.MISSING for outcome in outcomes]
        played = [e for e, counts in zip(self.episodes, counted, strict=True) if counts]
        scores = [s for s in (e.score(seat) for e in played) if s is not None]
        wins = [o for o, counts in zip(outcomes, counted, strict=True) if counts].count(Outcome.WIN)
        present = len(outcomes) - outcomes.count(Outcome.MISSING)
        return ArmEvidence(
            label=label,
            wins=wins,
            finished=len(played),
            requested=max(self.requested, present),  # a server that lists more is distrusted, not a crash
            mean_score=sum(scores) / len(scores) if scores else None,
            kills=sum(e.count("kills", seat) for e in played),
            vote_timeouts=sum(e.count("vote_timeout", seat) for e in played),
            request_ids=self.request_ids,
            unpaired=present - len(played),
        )
