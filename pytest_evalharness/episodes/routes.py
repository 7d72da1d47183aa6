"""Where artifacts are, route by route: those of episodes as today, or those of jobs as in mid 2026."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.artifacts import Artifact, Category, Offer, State
from pytest_evalharness.episodes.references import Reference
from pytest_evalharness.episodes.untrusted import MOST_SEATS, whole
from pytest_evalharness.errors import CredentialsRejected
from pytest_evalharness.observatory.artifacts import (
    JOB_KINDS,
    episode_path,
    job_path,
    job_seat_path,
    seat_path,
)
from pytest_evalharness.observatory.episodes import EpisodeCalls
from pytest_evalharness.observatory.status import Status

NEVER_PLAYED = "the episode was cancelled before it was played"
NOT_YOURS = "only the owner of the policy version in this seat may read it"
_NOT_PLAYED_YET = "the episode has not ended"
_NO_LOG = "the server lists none for this seat"
_WHOLE: Mapping[Category, str] = {
    Category.RESULTS: "results",
    Category.ERROR_INFO: "error-info",
    Category.GAME_LOG: "logs",
}
"""What belongs to the whole game → its name in today's routes."""
_OF_SEATS: Mapping[Category, str] = {
    Category.PLAYER_LOG: "policy-logs",
    Category.PLAYER_ARTIFACT: "policy-artifact",
}
_SEAT_IN_NAME = re.compile(r"(?:^|_)(\d{1,3})(?:\.[a-z]{1,8})?$")


class Source(ABC):
    """Says what episodes left and where it is. Safe to use from several threads, but for `prepare`.

    Attributes:
        described: whether the server's own description says where that is; else it is where today's service has it.
    """

    described = True

    def prepare(self, episodes: Sequence[Reference], wanted: Collection[Category]) -> None:
        """Ask once for what many calls would ask for. Raises what `Observatory` says."""
        del episodes, wanted

    def offers(self, episode: Reference, wanted: Collection[Category]) -> list[Offer]:
        """The artifacts of an episode, each once.

        Raises:
            EvalHarnessError: the server cannot be asked; see `Observatory`.
        """
        asked = [one for one in wanted if one is not Category.ERROR_INFO or episode.status is Status.FAILED]
        if episode.status is Status.CANCELLED:
            return list(_all(episode, asked, State.NOT_PRODUCED, NEVER_PLAYED))
        if not (episode.over and episode.status.terminal):
            return list(_all(episode, asked, State.PENDING, _NOT_PLAYED_YET))
        return self._offers(episode, asked)

    @abstractmethod
    def _offers(self, episode: Reference, wanted: Collection[Category]) -> list[Offer]:
        """The artifacts of an episode that was played."""

    def renewed(self, episode: Reference, artifact: Artifact) -> Offer | None:
        """The same artifact with an address that counts again; None where its address never expires."""
        del episode, artifact
        return None


class EpisodeRoutes(Source):
    """Today's: each artifact is one of its episode, and each seat's belongs to the owner of its policy version."""

    def __init__(self, calls: EpisodeCalls) -> None:
        self._calls = calls
        self.described = calls.dialect.capabilities.known

    def _offers(self, episode: Reference, wanted: Collection[Category]) -> list[Offer]:
        found = [
            _at(Artifact(category), episode_path(episode.id, word))
            for category, word in _WHOLE.items()
            if category in wanted
        ]
        if Category.REPLAY in wanted:
            found.append(replay_offer(episode, episode_path(episode.id, "replay")))
        seats = [one for one in wanted if one.per_seat]
        return [*found, *(self._seats(episode, seats) if seats else ())]

    def _seats(self, episode: Reference, wanted: Sequence[Category]) -> Iterator[Offer]:
        listed = self._calls.seats(episode.id)
        if listed is None:  # nobody says which seats may be read: each is asked for
            for seat, version in sorted(episode.seats.items()):
                for category in wanted:
                    yield _seat_offer(episode, category, seat, version)
            return
        known = {one.position: one for one in listed if one.position < MOST_SEATS}
        for seat in sorted({*known, *episode.seats}):
            told = known.get(seat)
            for category in wanted:
                artifact = Artifact(category, seat)
                if told is None:
                    yield Offer(artifact, State.DENIED, NOT_YOURS)
                elif told.has_log if category is Category.PLAYER_LOG else told.has_artifact:
                    yield _seat_offer(episode, category, seat, told.policy_version_id)
                else:
                    yield Offer(artifact, State.NOT_PRODUCED if episode.sealed else None, _NO_LOG)


def _seat_offer(episode: Reference, category: Category, seat: int, version: str | None) -> Offer:
    artifact = Artifact(category, seat)
    if version is None:
        return Offer(artifact, State.NOT_PRODUCED, "no policy sits there")
    return _at(artifact, seat_path(episode.id, version, seat, _OF_SEATS[category]))


class JobRoutes(Source):
    """Those of mid 2026: everything belongs to the job that played, and lists name files, whose numbers are the seats."""

    def __init__(self, calls: EpisodeCalls) -> None:
        self._calls = calls

    def _offers(self, episode: Reference, wanted: Collection[Category]) -> list[Offer]:
        if episode.job_id is None:
            state = State.NOT_PRODUCED if episode.over else State.PENDING
            return list(_all(episode, wanted, state, "no job played it"))
        found = [
            _at(Artifact(category), job_path(episode.job_id, JOB_KINDS[word]))
            for category, word in _WHOLE.items()
            if category in wanted
        ]
        if Category.REPLAY in wanted:
            found.append(replay_offer(episode, job_path(episode.job_id, JOB_KINDS["replay"])))
        for category in wanted:
            if category.per_seat:
                found.extend(self._seats(episode, episode.job_id, category))
        return found

    def _seats(self, episode: Reference, job: str, category: Category) -> Iterator[Offer]:
        word = _OF_SEATS[category]
        try:
            listed = self._calls.of_job(job, word)
        except CredentialsRejected:
            for seat in sorted(episode.seats):
                yield Offer(Artifact(category, seat), State.DENIED, "the job's files are not for this token")
            return
        numbers = [seat_of(one) for one in listed or ()]
        known = {number for number in numbers if number is not None}
        unread = (
            None in numbers
        )  # whose file that is, nobody can tell: each seat that is not listed may have it
        for seat in sorted({*known, *episode.seats}):
            artifact = Artifact(category, seat)
            if seat in known or unread:
                yield _at(artifact, job_seat_path(job, seat, word))
            else:
                yield Offer(artifact, None, _NO_LOG)


def seat_of(name: Any) -> int | None:
    """The seat that a listed file belongs to: the number in its name, or the name itself where it is a number.

    The place in the list is none: seats whose files are hidden are left out of it.
    """
    if isinstance(name, str):
        match = _SEAT_IN_NAME.search(name)
        return None if match is None else whole(int(match[1]), 0, MOST_SEATS - 1)
    return whole(name, 0, MOST_SEATS - 1)


def replay_offer(episode: Reference, route: str) -> Offer:
    """A replay: from its public address if it has one that can be fetched, else from the server's route."""
    artifact, url = Artifact(Category.REPLAY), episode.replay_url or ""
    if url.lower().startswith(("http://", "https://")):
        return Offer(artifact, address=url, route=shown(url))
    return _at(artifact, route)  # also for `conductor://`, which only the service itself can read


def shown(address: str) -> str:
    """An address without its query, in which a signature may stand, and without a login."""
    bare = address.partition("#")[0].partition("?")[0]
    scheme, found, rest = bare.partition("://")
    if not found:
        return printable(bare, 300)
    host, slash, path = rest.partition("/")
    origin = _origin(f"{scheme}://{host}")
    return printable(f"{origin}{slash}{path}", 300) if origin else "an address that is none"


@lru_cache(maxsize=64)
def _origin(address: str) -> str:
    """Scheme and host, empty where it is none; thousands of files come from one."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{host}"


def _at(artifact: Artifact, path: str) -> Offer:
    return Offer(artifact, address=path, route=shown(path))


def _all(episode: Reference, wanted: Collection[Category], state: State, reason: str) -> Iterator[Offer]:
    for category in wanted:
        for seat in sorted(episode.seats) if category.per_seat else (None,):
            yield Offer(Artifact(category, seat), state, reason)
