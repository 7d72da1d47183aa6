"""The table of faults: name, what its value means, what it does."""

from __future__ import annotations

import re
from typing import Any

from pytest_evalharness.arena.faults.artifacts import ARTIFACT_FAULTS
from pytest_evalharness.arena.faults.fault import ALWAYS, MOST_TIMES, Fault, FaultSpecError, seconds, times
from pytest_evalharness.arena.game.hosted import MISHAPS
from pytest_evalharness.arena.game.scoring import Scoring

_SEAT = re.compile(r"(?P<seat>[0-7])(?::(?P<policy>[^:\s]+:v[1-9][0-9]*))?")
_GAMES = re.compile(
    r"(?P<count>[1-9][0-9]{0,5}):(?P<policy>[^:\s]+:v[1-9][0-9]*)(?::(?P<error>[a-z_]{1,40}))?"
)

_LABEL = re.compile(r"[^:\s]+:v[1-9][0-9]*")
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}")

_PLAYERS = re.compile(
    rf"(?P<count>[1-9][0-9]{{0,5}}):(?P<policy>[^:\s]+:v[1-9][0-9]*):(?P<mishap>{'|'.join(MISHAPS)})"
)


def _broken(text: str) -> tuple[int, int]:
    """How many calls are answered with which status of a server that is broken."""
    count, _, status = text.partition(":")
    if status not in {"", "500", "502", "503", "504"}:
        raise ValueError(text)
    return times(count), int(status or 500)


def _scoring(text: str) -> str:
    return Scoring(text).value


def _status(text: str) -> int:
    if text not in {"400", "422"}:
        raise ValueError(text)
    return int(text)


def _seat(text: str) -> tuple[int, str | None]:
    found = _SEAT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found["seat"]), found["policy"]


def _label(text: str) -> str:
    if _LABEL.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _to_come(text: str) -> tuple[str, bool]:
    """A version, and whether what is to happen to it has happened."""
    return _label(text), False


def _version(text: str) -> str:
    if _VERSION.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _games(text: str) -> tuple[int, str, str]:
    found = _GAMES.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found["count"]), found["policy"], found["error"] or "platform_error"


def _players(text: str) -> tuple[int, str, str]:
    found = _PLAYERS.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found["count"]), found["policy"], found["mishap"]


def _rolled(text: str) -> tuple[int, str]:
    count, _, version = text.partition(":")
    return int(count) if count == "0" else times(count), _version(version)


FAULTS = {
    fault.name: fault
    for fault in (
        Fault(
            "wedged-seat",
            "SEAT[:NAME:vN]",
            "episodes of new requests run forever; with a policy only those in which it sits there. Repeatable.",
            _seat,
            several=True,
        ),
        Fault(
            "reset-after-post",
            "TIMES",
            "the next TIMES accepted creations are stored, then their connection is reset without an answer",
            times,
            bare=1,
        ),
        Fault(
            "shuffled-seats",
            "",
            "everybody in new requests sits one seat further than asked",
            str,
            bare=ALWAYS,
        ),
        Fault("slow-queue", "SECONDS", "new requests stay pending that long", seconds),
        Fault("closed-queue", "", "new requests stay pending until this is switched off", str, bare=ALWAYS),
        Fault(
            "reject-body",
            "422|400",
            "creations are refused with this status, whatever they ask for",
            _status,
        ),
        Fault(
            "silent-get",
            "TIMES",
            "the next TIMES GETs are accepted and never answered (for five minutes at most)",
            times,
            bare=1,
        ),
        Fault(
            "moving-scores",
            "TIMES",
            "the next TIMES readings of a round each give its places to other players: the ranking moves while it is read",
            times,
            bare=MOST_TIMES,
        ),
        Fault(
            "html",
            "TIMES",
            "answers are a web page with status 200, as from a captive portal; plain `html` for all of them",
            times,
            bare=ALWAYS,
        ),
        Fault(
            "hidden-description",
            "",
            "the API's description is forbidden, with the token too",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "not-visible",
            "SECONDS",
            "how long a new request answers 404 and is absent from lists, in place of the usual moment",
            seconds,
        ),
        Fault(
            "fail-episodes",
            "COUNT",
            "the first COUNT episodes of new requests end as failed, with a platform_error",
            times,
        ),
        Fault(
            "fail-games",
            "COUNT:NAME:vN[:TYPE]",
            "the next COUNT games in which this policy is pinned end as failed, with a platform_error or an error of that "
            "type; a player_error names the policy's seat. Repeatable.",
            _games,
            several=True,
        ),
        Fault(
            "fail-players",
            "COUNT:NAME:vN:HOW",
            "in the next COUNT games in which this policy is pinned, and which are played, its player fails: `connect`, it never "
            "does; `disconnect`, it drops out; `crash`, its process breaks and the game goes on. Repeatable.",
            _players,
            several=True,
        ),
        Fault(
            "silent-adviser",
            "NAME:vN",
            "every call of this policy's adviser fails: its telemetry tells only fallbacks. Repeatable.",
            _label,
            several=True,
        ),
        Fault(
            "rolled-version",
            "COUNT:VERSION",
            "the game rolls on in mid-run: after the next COUNT new games all are played in this version of it",
            _rolled,
        ),
        Fault(
            "hostile-names",
            "",
            "names that strangers chose and the words of errors try to harm their readers: escape sequences, markup, commands of "
            "a CI's log, 10 kB",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "ignored-seed",
            "",
            "new requests play seeds of the server's choice, whatever seed they ask for",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "untold-images",
            "",
            "images are told to nobody, their owner included, as by older servers",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "withdrawn",
            "NAME:vN",
            "this version has left its leagues and can be seated by nobody, its owner included. Repeatable.",
            _label,
            several=True,
        ),
        Fault(
            "replaced-version",
            "NAME:vN",
            "right before the next creation that seats this version its player moves on: it leaves its leagues, and a successor "
            "plays in its place. Repeatable.",
            _to_come,
            several=True,
        ),
        Fault(
            "game-version",
            "VERSION",
            "leagues have moved on to this version of their game: new requests play it",
            _version,
        ),
        Fault(
            "scoring",
            "outcome|reward",
            "new requests are scored in this way, and so was each division's latest round, which has just ended",
            _scoring,
        ),
        Fault(
            "overloaded",
            "TIMES",
            "the next TIMES calls are answered with 503, and nothing is done",
            times,
            bare=1,
        ),
        Fault(
            "server-errors",
            "TIMES[:500|502|503|504]",
            "the next TIMES calls are done, a creation too, and answered with this status of a broken server (500)",
            _broken,
        ),
        Fault(
            "rate-limited",
            "TIMES",
            "the next TIMES calls are answered with a 429 that says they were rejected before anything was done, and to come back "
            "in a second",
            times,
            bare=1,
        ),
        Fault(
            "throttled",
            "TIMES",
            "the next TIMES calls are done, a creation too, and answered with a 429 that says nothing",
            times,
            bare=1,
        ),
        Fault(
            "late-artifacts",
            "SECONDS",
            "what a game leaves behind answers 404 until that long after its end; its evidence is not sealed before",
            seconds,
        ),
        Fault(
            "retried-episodes",
            "COUNT",
            "the first COUNT episodes of new requests fail as player_never_started, and while the request lives are played again",
            times,
        ),
        Fault(
            "lost-cursors",
            "TIMES",
            "the next TIMES places in the change feed at which a reader goes on are said to have expired (410)",
            times,
            bare=1,
        ),
        Fault(
            "ignored-key",
            "",
            "idempotency keys are ignored, and the API's description does not name them",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "refused-duplicates",
            "",
            "a creation with a known idempotency key is refused with 409, whatever its body",
            str,
            bare=ALWAYS,
        ),
        Fault(
            "hidden-notes",
            "",
            "neither lists nor details tell the notes of requests",
            str,
            bare=ALWAYS,
        ),
        *ARTIFACT_FAULTS,
    )
}


def parse(spec: str) -> tuple[Fault, Any]:
    """A fault and its value, from `name` or `name=value`.

    Raises:
        FaultSpecError: there is no such fault, or not with this value.
    """
    name, equals, text = spec.strip().partition("=")
    fault = FAULTS.get(name)
    if fault is None:
        raise FaultSpecError(f"no fault is called {name!r}; there are {', '.join(FAULTS)}")
    if not equals:
        if fault.bare is None:
            raise FaultSpecError(f"{name} needs a value: {name}={fault.value}")
        return fault, fault.bare
    try:
        if not fault.value:
            raise ValueError(text)  # noqa: TRY301 - one message for every wrong value
        return fault, fault.parse(text)
    except ValueError as error:
        wanted = f"{name}={fault.value}" if fault.value else name
        raise FaultSpecError(f"{name} cannot be {text!r}; write {wanted}") from error
