"""What an arm brought back, and what was found wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.stats import inputs
from pytest_evalharness.verdict.claim import word
from pytest_evalharness.verdict.words import Reason


@dataclass(frozen=True, slots=True)
class ArmEvidence:
    """The counts of one arm.

    Args:
        label: Who played, as shown to people. Untrusted text: escape it where it is rendered.
        wins: Games won.
        finished: Games finished.
        requested: Games asked for, at least `finished`; those without a result when left out are none.
        mean_score: Mean seat score over finished games, if known.
        kills: Kills in all finished games together, if known.
        vote_timeouts: Votes that ran out of time in all finished games together, if known.
        request_ids: The server's ids of the requests that were played.
        unpaired: Finished games whose partner in the other arm has no result, so that they are left out of `finished`.
        charged: Games counted as lost because the tested policy itself failed.
        unknown: Missing games whose cause nobody knows.
        distinct: Different games among all that were played; None where their content is not known.

    Raises:
        ValueError: A count is invalid, or they contradict each other; the message names it.
    """

    label: str
    wins: int
    finished: int
    requested: int | None = None
    mean_score: float | None = None
    kills: int | None = None
    vote_timeouts: int | None = None
    request_ids: tuple[str, ...] = ()
    unpaired: int = 0
    charged: int = 0
    unknown: int = 0
    distinct: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        wins, finished = inputs.wins_of(self.wins, self.finished)
        requested = finished if self.requested is None else inputs.count(self.requested, "requested")
        if finished > requested:
            raise ValueError(f"finished must not exceed requested, got {finished} of {requested}")
        for name, most in (("unpaired", requested - finished), ("charged", finished - wins)):
            part = inputs.count(getattr(self, name), name)
            if part > most:
                raise ValueError(f"{name} must be at most {most}, got {part}")
            put(self, name, part)
        unknown = inputs.count(self.unknown, "unknown")
        if unknown > requested - finished - self.unpaired:
            raise ValueError(
                f"unknown must be at most {requested - finished - self.unpaired}, the missing games, got {unknown}"
            )
        put(self, "unknown", unknown)
        put(self, "wins", wins)
        put(self, "finished", finished)
        put(self, "requested", requested)
        if self.mean_score is not None:
            score = float(self.mean_score)
            if not math.isfinite(score):
                raise ValueError(f"mean_score must be a finite number, got {self.mean_score!r}")
            put(self, "mean_score", score)
        for name in ("kills", "vote_timeouts", "distinct"):
            value = getattr(self, name)
            if value is not None:
                put(self, name, inputs.count(value, name))
        put(self, "request_ids", tuple(self.request_ids))

    @property
    def missing(self) -> int:
        """Games asked for that brought no result."""
        return self.posted - self.finished - self.unpaired

    @property
    def posted(self) -> int:
        """Games asked for."""
        return self.finished if self.requested is None else self.requested

    @property
    def rate(self) -> float | None:
        """Wins over finished games, or None without any."""
        return self.wins / self.finished if self.finished else None

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "charged": self.charged,
            "distinct": self.distinct,
            "finished": self.finished,
            "kills": self.kills,
            "label": self.label,
            "mean_score": self.mean_score,
            "request_ids": list(self.request_ids),
            "requested": self.posted,
            "unknown": self.unknown,
            "unpaired": self.unpaired,
            "vote_timeouts": self.vote_timeouts,
            "wins": self.wins,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ArmEvidence:
        """The arm that `to_json` gave."""
        return cls(**{**data, "request_ids": tuple(data["request_ids"])})


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, with the particulars of this run.

    Args:
        reason: The code; a `Reason` or its value.
        detail: What exactly was found: episodes, seats, numbers. Untrusted text may be in it.
        arm: "candidate", "baseline", or "" for both.
        episodes: The episodes it was found in.
    """

    reason: Reason
    detail: str = ""
    arm: str = ""
    episodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", word(Reason, self.reason, "reason"))
        object.__setattr__(self, "episodes", tuple(self.episodes))

    def __str__(self) -> str:
        particulars = ": ".join(part for part in (self.arm, self.detail) if part)
        return f"{self.reason.sentence} ({particulars})" if particulars else self.reason.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "arm": self.arm,
            "detail": self.detail,
            "episodes": list(self.episodes),
            "reason": self.reason.value,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """The finding that `to_json` gave."""
        return cls(**{**data, "episodes": tuple(data["episodes"])})
