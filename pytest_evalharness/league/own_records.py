"""What is read of an episode beyond its results: what became of the players, and what the tested policy recorded of itself.

None of it decides a game's result alone, and all of it may be absent, refused or broken: then a trust check says that it is
unknown, and no game that was played is lost. Each request costs the service something, so the policy's own records, which may
be large, are read of a few games only unless they were asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.episodes.ballots import agrees
from pytest_evalharness.episodes.logs import Log, read_log
from pytest_evalharness.episodes.player_status import PlayerStatus, read_player_status
from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.episodes.telemetry import read_telemetry
from pytest_evalharness.errors import ArtifactUnreadable, CredentialsRejected, EvalHarnessError
from pytest_evalharness.league.records import LOG, STATUS, TELEMETRY
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import EpisodeRow

SAMPLE = 3
"""Of so many games of a request the tested policy's own records are read where nobody asked for more."""
PATIENCE = 60.0
"""Seconds that all of a request's optional artifacts may take together."""
_Read = TypeVar("_Read")


@dataclass
class OwnRecords:
    """What was read; see the attributes of the same names of `EpisodeRecord`."""

    players: list[dict[str, Any]] | None = None
    adviser: dict[str, int] | None = None
    ballots: list[int] | None = None
    last_words: str = ""
    untold: dict[str, str] = field(default_factory=dict)


class Looking:
    """Reads the optional artifacts of one request's episodes. Safe to use from several threads.

    Args:
        observatory: the client.
        seat: the tested seat.
        version: the policy version in it.
        clock: for how long it may take.
    """

    def __init__(self, observatory: Observatory, seat: int, version: str, clock: Clock) -> None:
        self._observatory = observatory
        self._seat = seat
        self._version = version
        self._until = Deadline.after(clock, PATIENCE)
        self._refused: dict[str, str] = {}
        self._one_archive = threading.Lock()

    def read(self, row: EpisodeRow, results: SeatResults | None, *, deep: bool) -> OwnRecords:
        """The optional artifacts of an episode.

        Args:
            row: the episode.
            results: its results; None where it has none.
            deep: whether the tested policy's own records are read too.
        """
        found = OwnRecords()
        status = self._status(row, found)
        if deep and results is not None:
            self._telemetry(row, results, found)
            if found.ballots is None or status is None or status.crashed(self._seat) is None:
                self._log(row, results, found)
        return found

    def _status(self, row: EpisodeRow, found: OwnRecords) -> PlayerStatus | None:
        status = self._ask(
            STATUS,
            found,
            lambda: self._observatory.player_status(row.id, deadline=self._until),
            read_player_status,
        )
        found.players = None if status is None else status.to_json()
        return status

    def _telemetry(self, row: EpisodeRow, results: SeatResults, found: OwnRecords) -> None:
        with self._one_archive:  # they may be large, and many at once would be larger than a machine
            told = self._ask(
                TELEMETRY,
                found,
                lambda: self._observatory.policy_artifact(
                    row.id, self._version, self._seat, deadline=self._until
                ),
                read_telemetry,
            )
        if told is None:
            return
        found.adviser = {
            "decisions": told.decisions,
            "fallbacks": told.fallbacks,
            "disabled": told.disabled,
            "malformed": told.malformed,
        }
        if agrees(told.ballots, results, self._seat):
            found.ballots = list(told.ballots)

    def _log(self, row: EpisodeRow, results: SeatResults, found: OwnRecords) -> None:
        def read(data: bytes) -> Log:
            return read_log(data, "log of the tested seat")

        log = self._ask(
            LOG,
            found,
            lambda: self._observatory.policy_log(row.id, self._version, self._seat, deadline=self._until),
            read,
        )
        if log is None:
            return
        if log.complaint:
            found.untold[LOG] = f"collector: {log.complaint}"
        found.last_words = log.last_words
        if found.ballots is None and agrees(log.ballots, results, self._seat):
            found.ballots = log.ballots

    def _ask(
        self,
        kind: str,
        found: OwnRecords,
        ask: Callable[[], Any],
        read: Callable[[Any], _Read],
    ) -> _Read | None:
        """One artifact, or None and in `untold` why. Who refuses it once, or cannot be reached, is not asked again."""
        why = self._refused.get(kind, "no time was left" if self._until.expired else "")
        if not why:
            try:
                told = ask()
                if told is not None:
                    return read(told)
                why = "absent"
            except ArtifactUnreadable as problem:
                why = problem.what
            except EvalHarnessError as problem:
                why = (
                    "not permitted"
                    if isinstance(problem, CredentialsRejected)
                    else "the server did not give it"
                )
                self._refused[kind] = why
        found.untold[kind] = why
        return None
