"""The league's HTTP API as typed calls."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import FieldUnavailable, NotTheService
from pytest_evalharness.net import Limits, MakeCarrier
from pytest_evalharness.net.transport import OnRetry
from pytest_evalharness.observatory.artifacts import ArtifactReader
from pytest_evalharness.observatory.calls import HIDDEN, Asking, Calls, Missing, named, segment
from pytest_evalharness.observatory.capabilities import Capabilities, read_capabilities
from pytest_evalharness.observatory.credentials import NOTHING_SUBMITTED, Token
from pytest_evalharness.observatory.describing import describe
from pytest_evalharness.observatory.dialect import Auth, Dialect
from pytest_evalharness.observatory.endpoint import Endpoint
from pytest_evalharness.observatory.episodes import EpisodeCalls
from pytest_evalharness.observatory.feed import ChangeFeed
from pytest_evalharness.observatory.models import (
    ContainerImage,
    Credits,
    Division,
    EpisodeRow,
    ExperienceRequestDetail,
    Leaderboard,
    League,
    Membership,
    PolicyVersion,
    PolicyVersionDetail,
    Round,
    RoundDetail,
    WhoAmI,
)
from pytest_evalharness.observatory.problems import AnswerLost, NotSent, Translator
from pytest_evalharness.observatory.requests import (
    GOES_ON,
    KEY,
    LATE_SECONDS,
    REQUESTS,
    cancel,
    create,
    read,
)
from pytest_evalharness.observatory.search import FoundRequests, search_requests

__all__ = ["AnswerLost", "NotSent", "Observatory"]

_LARGE_PAGE = 1000
_PAGE = 100
_ENDED = frozenset({"retired", "ended", "removed", "inactive"})


_NO_LEAGUE = Missing(
    FieldUnavailable, "name another: --eval-league ID, --eval-division ID   (coworld leagues)"
)


class Observatory(Closing):
    """A client of one league server. Safe to use from several threads; close it at the end.

    Every call raises, in the words of `pytest_evalharness.errors`:
    `ServerUnreachable` (nobody answers in time), `CredentialsRejected` (401, 403),
    `NotTheService` (no JSON, another shape, a redirect, an unexpected status).
    `not_done` is what the message says about submissions; each call's default fits its usual place.
    `deadline` bounds a call with all its repetitions; without one the transport's limits do.

    Args:
        server_root: the root of the API, `https://HOST/api`; `/observatory` is appended.
        token: sent to this server only.
        clock: tells the time, and waits between tries.
        rng: draws the jitter of the waits.
        environ: where proxies are looked up; the process's environment by default.
        limits: deadlines and sizes.
        on_retry: told the reason and the seconds before each wait.
        stop: once set, no call waits for another try.
        carrier: makes what carries each single request, in place of the usual pools.
        on_remark: told what every reader of the results should know, such as a list that the server may have cut.

    Raises:
        UsageError: the root is no address that a token may be sent to.
    """

    def __init__(
        self,
        server_root: str,
        token: Token,
        *,
        clock: Clock,
        rng: random.Random,
        environ: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        on_retry: OnRetry | None = None,
        stop: threading.Event | None = None,
        carrier: MakeCarrier | None = None,
        on_remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._endpoint = Endpoint(
            server_root,
            clock=clock,
            rng=rng,
            environ=environ,
            limits=limits,
            on_retry=on_retry,
            stop=stop,
            carrier=carrier,
        )
        self.server_root = self._endpoint.root
        self._clock = clock
        self._token = token
        transport = self._endpoint.transport(token, Auth.BEARER)
        self._calls = Calls(transport, Translator(self.server_root, token), on_remark)
        self._artifacts = ArtifactReader(self._calls)
        self._learnt = False

    def __repr__(self) -> str:
        """The address, never the token."""
        return f"Observatory({named(self.server_root)})"

    def close(self) -> None:
        """Close every connection."""
        self._calls.transport.close()

    # --- who and what is this server

    def whoami(self, *, not_done: str = NOTHING_SUBMITTED, deadline: Deadline | None = None) -> WhoAmI:
        """Whose token this is.

        Raises:
            CredentialsRejected: also when the server takes the token for none and answers `anonymous`.
        """
        ask = Asking("find out whose token this is", not_done, deadline=deadline)
        who = self._calls.one("/whoami", WhoAmI, ask)
        if who.anonymous:
            raise self._calls.translator.rejected(ask.doing, not_done, "it counts as anonymous")
        return who

    @property
    def dialect(self) -> Dialect:
        """Which generation of the service is spoken to; assumed to be today's until `learn` has read it."""
        return self._calls.dialect

    def learn(self, *, not_done: str = NOTHING_SUBMITTED) -> Dialect:
        """Read the server's description, once, and speak its dialect from now on. Not for several threads.

        A server that shows none, or one that says nothing of this API, is taken for today's, and the dialect says why.

        Raises:
            CredentialsRejected: the server does not take the token.
            ServerUnreachable: nobody answers.
        """
        if not self._learnt:
            # In both headers: which of them the server takes is what it is about to tell.
            with self._endpoint.transport(self._token, *Auth) as transport:
                dialect = describe(transport, self._calls.translator, not_done)
            if dialect.auth is not Auth.BEARER:
                self._calls.transport.close()
                self._calls.transport = self._endpoint.transport(self._token, dialect.auth)
            self._calls.dialect, self._learnt = dialect, True
        return self._calls.dialect

    def capabilities(self, *, not_done: str = NOTHING_SUBMITTED) -> Capabilities:
        """Which calls the server knows; `known` is False when it does not say."""
        ask = Asking("read the server's description", not_done, absent=HIDDEN)
        document = self._calls.bytes("/openapi.json", ask)
        if document is None:
            return Capabilities()
        try:
            return read_capabilities(document)
        except ValueError as problem:
            what = f"cannot {ask.doing}: {named(str(problem))}"
            raise self._calls.translator.not_the_service(what, not_done) from None

    def knows_idempotency_keys(self, *, not_done: str = GOES_ON) -> bool:
        """Whether a create that is repeated under its key is answered with the first request.

        False also where the server does not say, or not in a way that can be read.
        """
        if self._learnt:
            return bool(self.dialect.capabilities.takes("POST", REQUESTS, KEY))
        try:
            return bool(self.capabilities(not_done=not_done).takes("POST", REQUESTS, KEY))
        except NotTheService:
            return False

    def credits(self, *, not_done: str = GOES_ON, deadline: Deadline | None = None) -> Credits | None:
        """The account's balance and recent spending; None when the server does not tell."""
        ask = Asking("read the credits", not_done, absent=HIDDEN, deadline=deadline)
        return self._calls.maybe("/usage/me/credits", Credits, ask)

    # --- the field

    def league(self, league_id: str, *, not_done: str = NOTHING_SUBMITTED) -> League:
        """A league by its id."""
        ask = Asking(f"read the league {named(league_id)}", not_done, missing=_NO_LEAGUE)
        return self._calls.one(f"/v2/leagues/{segment(league_id)}", League, ask)

    def coworld(self, coworld_id: str, *, not_done: str = NOTHING_SUBMITTED) -> dict[str, Any] | None:
        """What a game says of itself (`manifest`: its schemas and variants), as it is; None where the server does not tell."""
        ask = Asking(f"read the game {named(coworld_id)}", not_done, absent=HIDDEN)
        return self._calls.object(f"/v2/coworlds/{segment(coworld_id)}", ask)

    def divisions(self, league_id: str, *, not_done: str = NOTHING_SUBMITTED) -> list[Division]:
        """A league's divisions, in the server's order."""
        ask = Asking(
            f"list the divisions of the league {named(league_id)}",
            not_done,
            params={"league_id": league_id},
            missing=_NO_LEAGUE,
        )
        return self._calls.all("/v2/divisions", Division, ask, limit=_LARGE_PAGE)

    def competition_division(self, league_id: str, *, not_done: str = NOTHING_SUBMITTED) -> Division:
        """The division that counts: of type `competition`, neither hidden nor archived, lowest (level, id).

        Raises:
            FieldUnavailable: the league has none.
        """
        open_ones = [
            division
            for division in self.divisions(league_id, not_done=not_done)
            if division.type == "competition" and not division.hidden and division.archived_at is None
        ]
        if not open_ones:
            raise FieldUnavailable(
                f"the league {named(league_id)} has no open competition division",
                not_done=not_done,
                next_step=_NO_LEAGUE.next_step,
            )
        return min(open_ones, key=lambda division: (division.level, division.id))

    def memberships(
        self,
        *,
        league_id: str | None = None,
        division_id: str | None = None,
        policy_version_id: str | None = None,
        player_id: str | None = None,
        active_only: bool = True,
        champions_only: bool = False,
        mine: bool = False,
        not_done: str = NOTHING_SUBMITTED,
    ) -> list[Membership]:
        """Memberships that match, from all pages.

        With `active_only` those that have ended are left out here too: not every server obeys the filter.
        """
        where = named(division_id or league_id or "the server")
        ask = Asking(
            f"list the league members of {where}",
            not_done,
            params={
                "active_only": active_only,
                "champions_only": champions_only,
                "mine": mine,
                "league_id": league_id,
                "division_id": division_id,
                "policy_version_id": policy_version_id,
                "player_id": player_id,
            },
            missing=_NO_LEAGUE,
        )
        rows = self._calls.all("/v2/league-policy-memberships", Membership, ask, limit=_LARGE_PAGE)
        return [row for row in rows if not active_only or self._is_active(row)]

    def rounds(
        self,
        *,
        league_id: str | None = None,
        division_id: str | None = None,
        status: str | None = None,
        limit: int = 20,
        not_done: str = NOTHING_SUBMITTED,
    ) -> list[Round]:
        """The first `limit` rounds in the server's order, which is newest first."""
        ask = Asking(
            f"list the rounds of {named(division_id or league_id or 'the server')}",
            not_done,
            params={"league_id": league_id, "division_id": division_id, "status": status},
            missing=_NO_LEAGUE,
        )
        found: list[Round] = []
        for page in self._calls.pages("/v2/rounds", Round, ask, limit=min(limit, _PAGE)):
            found += page
            if len(found) >= limit:
                break
        return found[:limit]

    def round(self, round_id: str, *, not_done: str = NOTHING_SUBMITTED) -> RoundDetail:
        """A round with its results."""
        ask = Asking(f"read the round {named(round_id)}", not_done)
        return self._calls.one(f"/v2/rounds/{segment(round_id)}", RoundDetail, ask)

    def leaderboard(self, division_id: str, *, not_done: str = NOTHING_SUBMITTED) -> Leaderboard:
        """A division's leaderboard; it has no entries where the server shows none."""
        ask = Asking(f"read the leaderboard of {named(division_id)}", not_done, absent=HIDDEN)
        path = f"/v2/divisions/{segment(division_id)}/leaderboard"
        return self._calls.maybe(path, Leaderboard, ask) or Leaderboard(entries=())

    def round_episodes(
        self, round_id: str, *, limit: int = 20, not_done: str = NOTHING_SUBMITTED
    ) -> list[EpisodeRow]:
        """The first `limit` games of a round, in the server's order; what each left is asked for by its id."""
        ask = Asking(f"list the games of the round {named(round_id)}", not_done)
        path = f"/v2/rounds/{segment(round_id)}/episode-requests"
        for page in self._calls.pages(path, EpisodeRow, ask, limit=min(limit, _PAGE)):
            return page[:limit]
        return []

    # --- policies

    def policy_versions(
        self,
        name: str | None = None,
        version: int | None = None,
        *,
        mine: bool = True,
        not_done: str = NOTHING_SUBMITTED,
    ) -> list[PolicyVersion]:
        """Uploaded versions: your own, unless `mine` is False. A `name` is matched exactly."""
        ask = Asking(
            f"look up the policy {named(name)}" if name else "list the uploaded policies",
            not_done,
            params={"mine": True if mine else None, "name_exact": name, "version": version},
        )
        rows = self._calls.all("/stats/policy-versions", PolicyVersion, ask, limit=_PAGE)
        return [row for row in rows if (name is None or row.name == name) and version in {None, row.version}]

    def policy_version(
        self, policy_version_id: str, *, not_done: str = NOTHING_SUBMITTED
    ) -> PolicyVersionDetail | None:
        """One version by its id; None when the server does not tell."""
        ask = Asking(f"read the policy version {named(policy_version_id)}", not_done, absent=HIDDEN)
        return self._calls.maybe(
            f"/stats/policy-versions/{segment(policy_version_id)}", PolicyVersionDetail, ask
        )

    def container_image(self, image_id: str, *, not_done: str = NOTHING_SUBMITTED) -> ContainerImage | None:
        """A policy's image; None when the server does not tell."""
        ask = Asking(f"read the image {named(image_id)}", not_done, absent=HIDDEN)
        return self._calls.maybe(f"/v2/container_images/{segment(image_id)}", ContainerImage, ask)

    # --- experience requests

    def create_experience_request(
        self, body: Mapping[str, Any], *, deadline: Deadline | None = None
    ) -> ExperienceRequestDetail:
        """Submit an experience request. It is sent once.

        Only `AnswerLost` leaves open whether it was accepted; after every other error nothing was submitted.

        Raises:
            AnswerLost: it may have been accepted: look for its notes with `find_experience_requests`.
            RequestRefused: the server refused it.
            NotSent: nothing reached the server; a `ServerUnreachable`.
            CredentialsRejected: the token does not count.
        """
        return create(self._calls, body, deadline)

    def experience_request(
        self,
        request_id: str,
        *,
        fresh: bool = False,
        not_done: str = GOES_ON,
        deadline: Deadline | None = None,
    ) -> ExperienceRequestDetail:
        """A request with its episodes. A `fresh` one may be answered with 404 for a while after its create."""
        late = LATE_SECONDS if fresh else 0.0
        detail = read(self._calls, request_id, late, not_done, deadline)
        self._artifacts.note(detail.episodes)
        return detail

    @property
    def feed(self) -> ChangeFeed:
        """The change feeds of requests."""
        return ChangeFeed(self._calls, self._clock)

    @property
    def episodes(self) -> EpisodeCalls:
        """Lists of episodes, and what they left."""
        return EpisodeCalls(self._calls, self._endpoint, self._token)

    def find_experience_requests(
        self, token_in_notes: str, since: float | None = None, *, not_done: str = GOES_ON
    ) -> FoundRequests:
        """Your requests whose notes contain a text.

        Args:
            token_in_notes: the text that the create carried in its notes.
            since: seconds since 1970 at which it was sent; older requests cannot be it.
                Without it the whole history is read.
            not_done: what the message of a failure says about submissions.

        Returns:
            the matches, and whether finding none proves that there is none (`conclusive`).
        """
        return search_requests(self._calls, token_in_notes, since, not_done)

    def cancel(self, request_id: str) -> bool | None:
        """Softly stop a request: what has not started never starts, what runs ends by itself.

        Returns:
            True if it is cancelled, False if it had ended before, None if the server cannot cancel; one that says so in its
            description is not asked.

        Raises:
            ServerUnreachable: also when the answer was lost: then it may or may not be cancelled.
        """
        return None if self.dialect.cancels is False else cancel(self._calls, request_id)

    def episode_results(
        self, episode_request_id: str, *, late_seconds: float = LATE_SECONDS, not_done: str = GOES_ON
    ) -> dict[str, Any] | None:
        """An episode's `results.json`, as it is.

        Results appear a little after an episode's end.

        Returns:
            the object, or None if it is still absent after `late_seconds`.
        """
        return self._artifacts.object(
            episode_request_id, "results", not_done=not_done, late_seconds=late_seconds
        )

    def episode_error_info(
        self, episode_request_id: str, *, late_seconds: float = LATE_SECONDS, not_done: str = GOES_ON
    ) -> dict[str, Any] | None:
        """A failed episode's `error_info.json`, as it is.

        Returns:
            the object, or None if it is still absent after `late_seconds`.
        """
        return self._artifacts.object(
            episode_request_id, "error-info", not_done=not_done, late_seconds=late_seconds
        )

    def player_status(
        self, episode_request_id: str, *, not_done: str = GOES_ON, deadline: Deadline | None = None
    ) -> dict[str, Any] | None:
        """What became of the players' processes of an ended episode, as it is; None where the service keeps none."""
        return self._artifacts.object(
            episode_request_id, "player-status", not_done=not_done, deadline=deadline
        )

    def policy_artifact(
        self,
        episode_request_id: str,
        policy_version_id: str,
        seat: int,
        *,
        not_done: str = GOES_ON,
        deadline: Deadline | None = None,
    ) -> bytes | None:
        """The archive that a policy uploaded of its own play in a seat; None where it uploaded none.

        Raises:
            CredentialsRejected: the policy version is somebody else's.
        """
        return self._artifacts.of_seat(
            episode_request_id,
            policy_version_id,
            seat,
            "policy-artifact",
            not_done=not_done,
            deadline=deadline,
        )

    def policy_log(
        self,
        episode_request_id: str,
        policy_version_id: str,
        seat: int,
        *,
        not_done: str = GOES_ON,
        deadline: Deadline | None = None,
    ) -> bytes | None:
        """The log of a seat's process; None where there is none. Only its owner may read it, as `policy_artifact`."""
        return self._artifacts.of_seat(
            episode_request_id, policy_version_id, seat, "policy-logs", not_done=not_done, deadline=deadline
        )

    def _is_active(self, row: Membership) -> bool:
        over = row.end_time is not None and row.end_time.timestamp() <= self._clock.now()
        return not over and row.status not in _ENDED
