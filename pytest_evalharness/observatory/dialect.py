"""Which generation of the service a server is, chosen once from its own description and never guessed from failures. Pure.

The reference for what a description means: a server without cancel, bulk reads and manifest, whose lists are cut by offsets and
whose artifacts belong to jobs, is that of June 2026; today's has cursors, and artifacts that belong to episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.observatory.capabilities import Capabilities
from pytest_evalharness.observatory.openapi import BEARER
from pytest_evalharness.observatory.paging import Paging

LEGACY_HEADER = "X-Auth-Token"
"""Where tokens stood before May 2026; retired, and still taken by some."""
REQUESTS = "/v2/experience-requests"
_CANCEL = f"{REQUESTS}/{{id}}/cancel"
_MANIFEST = "/v2/episode-requests/download-manifest"
_EPISODE_ARTIFACTS = "/v2/episode-requests/{id}/artifacts/"
_JOB_ARTIFACTS = "/jobs/{id}/artifacts/"
_DIGEST_SHOWN = 12


class Auth(StrEnum):
    """Which header a token is sent in."""

    BEARER = "Authorization: Bearer"
    LEGACY = LEGACY_HEADER

    def headers(self, secret: str) -> dict[str, str]:
        """The header with a token in it."""
        if self is Auth.LEGACY:
            return {LEGACY_HEADER: secret}
        return {"Authorization": f"Bearer {secret}"}


class Artifacts(StrEnum):
    """Which routes give what an episode left."""

    EPISODE = "artifacts of episodes"
    JOB = "artifacts of jobs"


@dataclass(frozen=True)
class Dialect:
    """What was chosen for a server.

    Attributes:
        capabilities: what it was chosen from.
        auth: the header for the token.
        paging: how its list of requests is cut; other lists may differ.
        artifacts: the routes that artifacts are read from.
        cancels: whether requests can be cancelled; None if nobody knows.
        assumed: why the description could not be read, so that all of this is only assumed; else empty.
    """

    capabilities: Capabilities
    auth: Auth
    paging: Paging
    artifacts: Artifacts
    cancels: bool | None
    assumed: str = ""

    @property
    def name(self) -> str:
        """`current`, `2026-06`, `mixed` for a server between or beyond them, `assumed` for one that does not tell."""
        if self.assumed:
            return "assumed"
        told = (self.cancels, self.paging, self.artifacts)
        if told == (True, Paging.CURSOR, Artifacts.EPISODE):
            return "current"
        return "2026-06" if told == (False, Paging.OFFSET, Artifacts.JOB) else "mixed"

    @property
    def words(self) -> str:
        """Everything that was chosen, in one line for people."""
        if self.assumed:
            return f"not described ({printable(self.assumed, 160)}); assumed: {self._chosen}"
        about = self.capabilities
        title = " ".join(part for part in (printable(about.title, 60), printable(about.version, 30)) if part)
        return f"{self.name}: {title or 'no title'}, sha256 {about.digest[:_DIGEST_SHOWN]}; {self._chosen}"

    @property
    def _chosen(self) -> str:
        cancel = {True: "can cancel", False: "cannot cancel", None: "cancel unknown"}[self.cancels]
        header = "Bearer" if self.auth is Auth.BEARER else LEGACY_HEADER
        return f"{header}, {self.paging}, {self.artifacts}, {cancel}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for records."""
        return {
            "artifacts": self.artifacts.value,
            "assumed": printable(self.assumed, 300),
            "auth": self.auth.value,
            "cancels": self.cancels,
            "dialect": self.name,
            "digest": self.capabilities.digest,
            "paging": self.paging.value,
            "participants_have_kind": self.capabilities.tells_kind,
            "title": printable(self.capabilities.title, 120),
            "version": printable(self.capabilities.version, 60),
            "words": self.words,
        }


def assume(why: str, described: Capabilities | None = None) -> Dialect:
    """What is safest where nothing is described: what the service is documented to do today.

    Lists are followed by whatever paging their answers have, and a cancel is tried.
    """
    return Dialect(
        described or Capabilities(), Auth.BEARER, Paging.UNKNOWN, Artifacts.EPISODE, None, assumed=why
    )


def choose(described: Capabilities) -> Dialect:
    """The dialect of a server that describes itself."""
    if not described.has("POST", REQUESTS):
        return assume("its description lists no way to create an experience request", described)
    return Dialect(
        capabilities=described,
        auth=_auth(described),
        paging=paging_of(described, REQUESTS),
        artifacts=_artifacts(described),
        cancels=described.has("POST", _CANCEL),
    )


def paging_of(described: Capabilities, path: str) -> Paging:
    """How a list is asked for."""
    call = described.call("GET", path)
    if call is None:
        return Paging.UNKNOWN
    for name, paging in (("cursor", Paging.CURSOR), ("offset", Paging.OFFSET), ("limit", Paging.LIMIT)):
        if name in call.query:
            return paging
    return Paging.WHOLE


def most_rows(described: Capabilities, path: str) -> int | None:
    """The largest limit that a list takes; None if nobody knows."""
    call = described.call("GET", path)
    return None if call is None or "limit" not in call.query else call.query["limit"].most


def _auth(described: Capabilities) -> Auth:
    """Bearer wherever it is taken: the other header is being retired."""
    if BEARER not in described.schemes and LEGACY_HEADER.lower() in described.schemes:
        return Auth.LEGACY
    return Auth.BEARER


class _Results(Enum):
    """Whether results can be read below a path."""

    NO_ROUTE = auto()
    GIVEN = auto()
    NOT_GIVEN = auto()
    KINDS_NOT_TOLD = auto()


def _artifacts(described: Capabilities) -> Artifacts:
    """Episodes' own routes where they give results; jobs' where only they do.

    A route may take the kind as a parameter without telling which kinds there are, as that of June did, which knew no
    results. Then the server's age decides: one that lists neither cancel nor manifest is older than results there.
    """
    if _results_below(described, _JOB_ARTIFACTS) in {_Results.NO_ROUTE, _Results.NOT_GIVEN}:
        return Artifacts.EPISODE
    given = _results_below(described, _EPISODE_ARTIFACTS)
    newer = described.has("POST", _CANCEL) or described.has("GET", _MANIFEST)
    if given is _Results.GIVEN or (given is _Results.KINDS_NOT_TOLD and newer):
        return Artifacts.EPISODE
    return Artifacts.JOB


def _results_below(described: Capabilities, path: str) -> _Results:
    if described.has("GET", f"{path}results"):
        return _Results.GIVEN
    by_kind = described.call("GET", f"{path}{{kind}}")
    if by_kind is None:
        return _Results.NO_ROUTE
    kinds = by_kind.path[-1].words
    if not kinds:
        return _Results.KINDS_NOT_TOLD
    return _Results.GIVEN if "results" in kinds else _Results.NOT_GIVEN
