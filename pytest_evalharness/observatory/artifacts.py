"""What an episode left behind, as the service gives it: JSON objects and bytes. Reading them is `episodes/`'s part.

Today's servers give artifacts of an episode. Those of June 2026 gave them of the job that played it, which an episode's row
names; there were fewer kinds, and they were spelt otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.observatory.calls import MISSING, Asking, Calls, named, segment
from pytest_evalharness.observatory.dialect import Artifacts
from pytest_evalharness.observatory.models import EpisodeRow

JOB_KINDS = {"results": "results", "error-info": "error_info", "logs": "logs", "replay": "replay"}
"""Today's name → that of a job's artifact."""


def episode_path(episode_request_id: str, kind: str) -> str:
    """Where an artifact of an episode is."""
    return f"/v2/episode-requests/{segment(episode_request_id)}/artifacts/{kind}"


def seat_path(episode_request_id: str, policy_version_id: str, seat: int, kind: str) -> str:
    """Where what a seat left is; `kind` is `policy-logs` or `policy-artifact`."""
    return f"/v2/episode-requests/{segment(episode_request_id)}/{segment(policy_version_id)}/{kind}/{seat}"


def job_path(job_id: str, kind: str) -> str:
    """Where an artifact of a job is, by its own name."""
    return f"/jobs/{segment(job_id)}/artifacts/{kind}"


def job_seat_path(job_id: str, seat: int, kind: str) -> str:
    """Where what a seat left is, of a job; `kind` as with `seat_path`."""
    return f"/jobs/{segment(job_id)}/{kind}/{seat}"


class ArtifactReader:
    """Reads artifacts from the routes of the server's dialect. Safe to use from several threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._of_jobs = _OfJobs(calls)
        self._routes: dict[Artifacts, _Routes] = {
            Artifacts.EPISODE: _OfEpisodes(),
            Artifacts.JOB: self._of_jobs,
        }

    def note(self, episodes: Iterable[EpisodeRow]) -> None:
        """Remember what rows tell, so that it need not be asked for again."""
        self._of_jobs.note(episodes)

    def object(
        self,
        episode_request_id: str,
        kind: str,
        *,
        not_done: str,
        late_seconds: float = 0.0,
        deadline: Deadline | None = None,
    ) -> dict[str, Any] | None:
        """An artifact that is a JSON object; None if it is absent after `late_seconds`, or the server has none of the kind.

        Raises:
            CredentialsRejected: this token may not read it.
        """
        ask = _asking(kind, episode_request_id, not_done, late_seconds, deadline)
        path = self._routes[self._calls.dialect.artifacts].whole(episode_request_id, kind, ask)
        return None if path is None else self._calls.object(path, ask)

    def of_seat(
        self,
        episode_request_id: str,
        policy_version_id: str,
        seat: int,
        kind: str,
        *,
        not_done: str,
        deadline: Deadline | None = None,
    ) -> bytes | None:
        """What belongs to one seat, as bytes; None if it is absent. Only the owner of its policy version is given it.

        Args:
            episode_request_id: the episode.
            policy_version_id: who sat there.
            seat: the seat's position.
            kind: `policy-logs` or `policy-artifact`.
            not_done: what the message of a failure says about submissions.
            deadline: how long it may take with all repetitions.

        Raises:
            CredentialsRejected: this token may not read it.
        """
        ask = _asking(kind, episode_request_id, not_done, 0.0, deadline)
        routes = self._routes[self._calls.dialect.artifacts]
        path = routes.of_seat(episode_request_id, policy_version_id, seat, kind, ask)
        return None if path is None else self._calls.bytes(path, ask)


class _Routes(ABC):
    """Where artifacts are. A path is None where the server has no such thing."""

    @abstractmethod
    def whole(self, episode: str, kind: str, ask: Asking) -> str | None:
        """The path of an episode's artifact."""

    @abstractmethod
    def of_seat(self, episode: str, version: str, seat: int, kind: str, ask: Asking) -> str | None:
        """The path of what belongs to a seat."""


class _OfEpisodes(_Routes):
    def whole(self, episode: str, kind: str, ask: Asking) -> str | None:
        del ask
        return episode_path(episode, kind)

    def of_seat(self, episode: str, version: str, seat: int, kind: str, ask: Asking) -> str | None:
        del ask
        return seat_path(episode, version, seat, kind)


class _OfJobs(_Routes):
    """Jobs are asked by the id in an episode's row, and their logs by the number of the seat."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._jobs: dict[str, str] = {}

    def note(self, episodes: Iterable[EpisodeRow]) -> None:
        """Remember which jobs played these."""
        self._jobs.update({row.id: row.job_id for row in episodes if row.job_id is not None})

    def whole(self, episode: str, kind: str, ask: Asking) -> str | None:
        word = JOB_KINDS.get(kind)
        job = None if word is None else self._job(episode, ask)
        return None if job is None or word is None else job_path(job, word)

    def of_seat(self, episode: str, version: str, seat: int, kind: str, ask: Asking) -> str | None:
        del version
        job = self._job(episode, ask)
        return None if job is None else job_seat_path(job, seat, kind)

    def _job(self, episode: str, ask: Asking) -> str | None:
        """The job that played an episode; None while nobody does."""
        if episode not in self._jobs:
            row = self._calls.maybe(f"/v2/episode-requests/{segment(episode)}", EpisodeRow, ask)
            self.note([] if row is None else [row])
        return self._jobs.get(episode)


def _asking(
    kind: str, episode_request_id: str, not_done: str, late_seconds: float, deadline: Deadline | None
) -> Asking:
    return Asking(
        f"read the {kind} of {named(episode_request_id)}",
        not_done,
        deadline=deadline,
        late_seconds=late_seconds,
        absent=MISSING,
    )
