"""Why an episode failed: its error's own file, and whom each error type blames. Pure.

The words are those of the service's own documentation of `error_info.json` and of an episode's life.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_evalharness.episodes.untrusted import MIB, MOST_SEATS, object_of, text, whole

KIND = "error info"
LARGEST = MIB
_LONGEST_WORD = 80
_LONGEST_MESSAGE = 2000


class Blame(StrEnum):
    """Whom an error type blames. `UNKNOWN` is a word that is on no list, and counts for nothing."""

    PLAYER = "player"
    GAME = "game"
    INFRASTRUCTURE = "infrastructure"
    UNKNOWN = "unknown"


_WORDS: Mapping[Blame, tuple[str, ...]] = {
    Blame.PLAYER: ("player_error", "players_missing"),
    # The service counts the last two in a competition, though it names no seat for them.
    Blame.GAME: (
        "game_unhealthy", "game_contract_violation", "results_missing", "results_malformed", "replay_missing",
        "replay_unloadable", "oom", "game_error", "crash", "episode_timeout",
    ),
    Blame.INFRASTRUCTURE: (
        "platform_error", "episode_inconclusive", "player_never_started", "worker_error", "worker_oom", "config_error",
        "player_file_unavailable", "player_file_mismatch", "node_disruption", "dispatch_failed", "round_failed", "cancelled",
    ),
}  # fmt: skip
_BLAMED: Mapping[str, Blame] = {word: blame for blame, words in _WORDS.items() for word in words}


def blame_of(error_type: str | None) -> Blame:
    """Whom an error type blames."""
    return _BLAMED.get(error_type or "", Blame.UNKNOWN)


@dataclass(frozen=True)
class ErrorInfo:
    """An `error_info.json`.

    Attributes:
        error_type: the service's word; empty where the file leaves it to the episode's row.
        message: the runner's own summary, made harmless and short.
        failed_seat: the seat that it blames; None where it names none.
    """

    error_type: str
    message: str
    failed_seat: int | None


def read_error_info(data: bytes | Mapping[str, Any]) -> ErrorInfo:
    """An `error_info.json`, from its bytes or as parsed.

    Raises:
        ArtifactUnreadable: it is larger than 1 MiB, or no JSON object.
    """
    told = object_of(data, KIND, LARGEST)
    return ErrorInfo(
        text(told.get("error_type"), _LONGEST_WORD) or "",
        text(told.get("message"), _LONGEST_MESSAGE) or "",
        whole(told.get("failed_policy_index"), 0, MOST_SEATS - 1),
    )
