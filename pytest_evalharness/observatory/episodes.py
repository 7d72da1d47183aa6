"""Finding episodes and what they left, in the server's own dialect, which its description tells and no failure is asked about."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_evalharness.errors import NotTheService, UsageError
from pytest_evalharness.net import Streams
from pytest_evalharness.observatory.calls import HIDDEN, MISSING, Asking, Calls, Missing, Rows, named, segment
from pytest_evalharness.observatory.credentials import Token
from pytest_evalharness.observatory.dialect import Artifacts, Dialect
from pytest_evalharness.observatory.endpoint import Endpoint
from pytest_evalharness.observatory.models import Round
from pytest_evalharness.observatory.models.sources import (
    Evidence,
    ManifestEntry,
    ManifestPage,
    SeatFiles,
    SourceRequest,
    SourceRow,
)
from pytest_evalharness.observatory.openapi import Call
from pytest_evalharness.observatory.requests import LATE_SECONDS, REQUESTS
from pytest_evalharness.observatory.status import Status

NOT_DONE = "nothing more was downloaded; what is there stays"
MANIFEST = "/v2/episode-requests/download-manifest"
MOST_IDS = 50
"""Ids that one call takes."""
_REQUEST_ID = re.compile(r"ereq_[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BULK = "/v2/episode-requests"
_PAGE = 100
_FILES_A_PAGE = 200
_MOST_PAGES = 1000


def is_request_id(text: str) -> bool:
    """Whether this is an episode's id as the service makes them: calls for many ids refuse them all for one that is none."""
    return _REQUEST_ID.fullmatch(text) is not None


class EpisodeCalls:
    """Reads lists, rows and manifests, and opens streams. Safe to use from several threads.

    Every call raises what `Observatory` says.
    """

    def __init__(self, calls: Calls, endpoint: Endpoint, token: Token) -> None:
        self._calls = calls
        self._endpoint = endpoint
        self._token = token

    @property
    def dialect(self) -> Dialect:
        """Which generation of the service is spoken to."""
        return self._calls.dialect

    def streams(self) -> Streams:
        """Streams of this server's files; close them at the end."""
        return self._endpoint.streams(self._token, self.dialect.auth)

    # --- what the server offers

    @property
    def has_manifest(self) -> bool:
        """Whether it has a download manifest."""
        return self.dialect.capabilities.has("GET", MANIFEST) is True

    @property
    def of_jobs(self) -> bool:
        """Whether files belong to jobs, as in mid 2026."""
        return self.dialect.artifacts is Artifacts.JOB

    def _has(self, path: str) -> bool:
        """Whether a route exists; a server that tells nothing is taken for today's."""
        return self.dialect.capabilities.has("GET", path) is not False

    def filters_by(self, name: str) -> bool:
        """Whether the list of all episodes can be narrowed down by this field, as in mid 2026."""
        call = self.dialect.capabilities.call("GET", _BULK)
        return call is not None and name in call.query

    def _recorded(self) -> Call | None:
        """The list of recorded league episodes of mid 2026."""
        found = self.dialect.capabilities.calls.items()
        return next(
            (
                call
                for route, call in found
                if route.endswith("/episodes") and "policy_version_id" in call.query
            ),
            None,
        )

    # --- lists

    def of_round(self, round_id: str) -> Rows[SourceRow]:
        """A round's episodes."""
        path = f"/v2/rounds/{segment(round_id)}/episode-requests"
        if self._has("/v2/rounds/{id}/episode-requests"):
            return self._list(path, f"the episodes of the round {named(round_id)}", {})
        return self._filtered("round_id", round_id, "--xreq or --ereq")

    def of_pool(self, pool_id: str) -> Rows[SourceRow]:
        """A pool's episodes.

        Raises:
            UsageError: the server has no pools.
        """
        return self._filtered("pool_id", pool_id, "--round ROUND   (pools were abolished in June 2026)")

    def of_division(self, division_id: str) -> Rows[SourceRow]:
        """A division's episodes, where the server lists them together; see `filters_by`."""
        return self._filtered("division_id", division_id, "--round ROUND")

    def of_version(self, policy_version_id: str) -> Rows[SourceRow]:
        """The episodes that a policy version played."""
        what = f"the episodes of the policy version {named(policy_version_id)}"
        if self._has("/v2/policy-versions/{id}/episode-requests"):
            return self._list(f"/v2/policy-versions/{segment(policy_version_id)}/episode-requests", what, {})
        if self._recorded() is not None:
            return self._list("/episodes", what, {"policy_version_id": policy_version_id})
        return self._filtered("policy_version_id", policy_version_id, "--round, --xreq or --ereq")

    def rounds(self, division_id: str) -> Rows[Round]:
        """A division's rounds, the newest first."""
        ask = self._asking(
            f"list the rounds of {named(division_id)}", {"division_id": division_id}, named_by_user=True
        )
        return self._calls.pages("/v2/rounds", Round, ask, limit=_PAGE)

    def _filtered(self, name: str, value: str, instead: str) -> Rows[SourceRow]:
        word = name.removesuffix("_id").replace("_", " ")
        if not self.filters_by(name):
            raise UsageError(
                f"this server does not list the episodes of a {word}",
                not_done="nothing was downloaded",
                next_step=f"name them by {instead}",
            )
        return self._list(_BULK, f"the episodes of the {word} {named(value)}", {name: value})

    def _list(self, path: str, what: str, params: Mapping[str, str]) -> Rows[SourceRow]:
        ask = self._asking(f"list {what}", params, named_by_user=True)
        return self._calls.pages(path, SourceRow, ask, limit=_PAGE)

    # --- single ones

    def of_request(self, request_id: str) -> SourceRequest:
        """A request with all its episodes; one that was just made may be answered with 404 for a while."""
        ask = self._asking(
            f"read the request {named(request_id)}", {}, named_by_user=True, late_seconds=LATE_SECONDS
        )
        return self._calls.one(f"{REQUESTS}/{segment(request_id)}", SourceRequest, ask)

    def request_status(self, request_id: str) -> Status | None:
        """How a request stands; None where the server does not show it."""
        ask = self._asking(f"read the request {named(request_id)}", {}, HIDDEN)
        found = self._calls.maybe(f"{REQUESTS}/{segment(request_id)}", SourceRequest, ask)
        return None if found is None else found.status

    def row(self, episode_request_id: str) -> SourceRow | None:
        """An episode by its id; None where the server shows none."""
        ask = self._asking(f"read the episode {named(episode_request_id)}", {}, HIDDEN)
        return self._calls.maybe(f"{_BULK}/{segment(episode_request_id)}", SourceRow, ask)

    def standing(self, episode_request_ids: Sequence[str]) -> dict[str, SourceRow]:
        """How many episodes stand, fifty a call: less than each one's row, and of those only that the server shows in this way.

        Nothing where it has no such call, as in mid 2026.
        """
        if not self.filters_by("ids"):
            return {}
        found: dict[str, SourceRow] = {}
        known = [one for one in dict.fromkeys(episode_request_ids) if is_request_id(one)]
        for start in range(0, len(known), MOST_IDS):
            ids = known[start : start + MOST_IDS]
            ask = self._asking("read how episodes stand", {"ids": ids, "view": "progress"})
            with contextlib.suppress(NotTheService):  # each is read by itself then
                pages = self._calls.pages(_BULK, SourceRow, ask, limit=_FILES_A_PAGE)
                found |= {row.id: row for page in pages for row in page if row.id in ids}
        return found

    def recorded(self, episode_id: str) -> SourceRow | None:
        """A recorded episode by its UUID; None where the server shows none.

        Today's service finds recorded episodes by their request: where that has the same UUID, it is found so.
        """
        if self._recorded() is not None:
            ask = self._asking(f"read the episode {named(episode_id)}", {}, HIDDEN)
            return self._calls.maybe(f"/episodes/{segment(episode_id)}", SourceRow, ask)
        found = self.row(f"ereq_{episode_id}")
        return found if found is not None and found.episode_id == episode_id else None

    # --- what they left

    def sealed(self, episode_request_ids: Sequence[str]) -> dict[str, bool]:
        """Of some episodes, whether their files are final; without those of which the server does not tell."""
        if not self.has_manifest:  # both came with the same generation
            return {}
        found: dict[str, bool] = {}
        known = [one for one in episode_request_ids if is_request_id(one)]
        for start in range(0, len(known), MOST_IDS):
            ids = known[start : start + MOST_IDS]
            ask = self._asking("read how episodes stand", {"ids": ids, "view": "progress"})
            pages = self._calls.pages(_BULK, Evidence, ask, limit=_FILES_A_PAGE)
            with contextlib.suppress(NotTheService):  # then nobody tells, as by a server without such a call
                found |= {row.id: row.evidence_state == "sealed" for page in pages for row in page}
        return found

    def manifest(
        self, episode_request_ids: Sequence[str], categories: Sequence[str]
    ) -> Iterator[ManifestEntry]:
        """The files of at most 50 episodes, all pages of the manifest."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            params = {
                "ids": list(episode_request_ids),
                "include": list(categories),
                "limit": _FILES_A_PAGE,
                "cursor": cursor,
            }
            page = self._calls.one(MANIFEST, ManifestPage, self._asking("read the download manifest", params))
            yield from page.entries
            if page.next_cursor is None or page.next_cursor == cursor:
                return
            cursor = page.next_cursor

    def seats(self, episode_request_id: str) -> list[SeatFiles] | None:
        """The seats whose files this token may read; None where the server does not tell."""
        ask = self._asking(f"list the seats of {named(episode_request_id)}", {}, HIDDEN)
        found = self._calls.listed(f"{_BULK}/{segment(episode_request_id)}/policy-artifacts", ask)
        return None if found is None else [self._calls.read(SeatFiles, row, ask) for row in found]

    def of_job(self, job_id: str, kind: str) -> list[Any] | None:
        """The names of a job's files of a kind, `policy-logs` or `policy-artifact`; None where there is no such list.

        Raises:
            CredentialsRejected: this token may not see the job's files.
        """
        ask = self._asking(f"list the {kind} of the job {named(job_id)}", {}, MISSING)
        return self._calls.listed(f"/jobs/{segment(job_id)}/{kind}", ask)

    def _asking(
        self,
        doing: str,
        params: Mapping[str, Any],
        absent: frozenset[int] = frozenset(),
        *,
        named_by_user: bool = False,
        late_seconds: float = 0.0,
    ) -> Asking:
        missing = Missing(UsageError, "look up the id again: ids of leagues and rounds change")
        return Asking(
            doing,
            NOT_DONE,
            params=params,
            absent=absent,
            missing=missing if named_by_user else None,
            late_seconds=late_seconds,
        )
