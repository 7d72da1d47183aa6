"""Names, words and ids as somebody would choose them who wants to harm whoever reads them.

For the faults `hostile-names` and `slashed-ids`.

Names of the user's own policies stay, or nobody could ask for them. Each other name gets the same attack every time, so that
two answers never disagree about who is who.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pytest_evalharness.arena.wire.house import BASE, House

ATTACKS = (
    "\x1b[31m\x1b]0;title\x07\x9b2J\x08\x00",
    "\u202etxt.exe\u2066\u200b\ufeff",
    "::error::hacked by ",
    "\n::set-output name=verdict::met\r\n##[error]hacked by ",
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>",
    "a|b | [click](javascript:alert(1)) ![x](https://host.invalid/x.png) @someone #1 `x` **x** ",
    "]]>&lt;b&gt;\ud800\ufffe\u2028",
    "long " * 2000,
)
"""What stands before a name: to steer a terminal, a CI's log, a page, a table, a file; and 10 kB."""
_WORDS = frozenset(
    {"name", "player_name", "policy_name", "title", "description", "detail", "error", "message", "msg"}
)
_LISTS = frozenset({"names"})
_IDS = frozenset({"id", "job_id", "episode_id", "episode_request_id", "artifact_id"})


class Hostile:
    """Rewrites answers while the fault is on.

    Args:
        app: answers.
        house: knows what goes wrong, and whose names stay.
    """

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house
        self._ours = frozenset(_names_of(house))
        # In the league's own order, so that those who sit together each do something else.
        strangers = dict.fromkeys(version.player.name for version in house.world.versions)
        self._place = {name: place for place, name in enumerate(strangers)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        wanted = scope["type"] == "http" and scope["path"].startswith(BASE)
        faults = self._house.faults
        if not wanted or all(faults.value(name) is None for name in ("hostile-names", "slashed-ids")):
            await self._app(scope, receive, send)
            return
        start: Message = {}
        body = b""

        async def collect(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                told = self._rewritten(start, body)
                await send({**start, "headers": _sized(start, told)})
                await send({"type": "http.response.body", "body": told})

        await self._app(scope, receive, collect)

    def _rewritten(self, start: Message, body: bytes) -> bytes:
        kinds = [value for key, value in start["headers"] if key.lower() == b"content-type"]
        if not kinds or not kinds[0].startswith(b"application/json") or not body:
            return body
        told = json.loads(body)
        if self._house.faults.value("hostile-names") is not None:
            told = self._worse(told, "")
        if self._house.faults.value("slashed-ids") is not None:
            told = _slashed(told)
        return json.dumps(told).encode()

    def _worse(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {name: self._worse(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self._worse(one, "name" if key in _LISTS else "") for one in value]
        harmless = not isinstance(value, str) or key not in _WORDS or value in self._ours
        return value if harmless else self._attacked(value)

    def _attacked(self, name: str) -> str:
        """A name with the attack that is always its own."""
        place = self._place.get(name, zlib.crc32(name.encode()))
        return ATTACKS[place % len(ATTACKS)] + name


def _slashed(told: Any) -> Any:
    """A list of episodes, the ids of whose first would leave any folder."""
    where = next((key for key in ("entries", "episodes") if isinstance(told, dict) and key in told), None)
    rows = told if where is None else told[where]
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return told
    first = rows[0]
    if not str(first.get("id", first.get("episode_request_id"))).startswith("ereq_") and "tags" not in first:
        return told
    worse = {key: _escaping(value) if key in _IDS else value for key, value in first.items()}
    if isinstance(worse.get("tags"), dict):
        worse["tags"] = {**worse["tags"], "job_id": _escaping(worse["tags"].get("job_id"))}
    return [worse, *rows[1:]] if where is None else {**told, where: [worse, *rows[1:]]}


def _escaping(value: Any) -> Any:
    """An id with its prefix, and a path behind it."""
    if not isinstance(value, str):
        return value
    prefix, underscore, _ = value.partition("_")
    return f"{prefix}{underscore}/../../../escaped" if underscore else "/../../../escaped"


def _names_of(house: House) -> Iterator[str]:
    """What must stay as it is: the user's own names, and the game's, which requests name."""
    for version in house.world.versions:
        if house.world.owned(version):
            yield version.policy_name
            yield version.player.name
            yield f"{version.policy_name}:{version.number}"
    for coworld in house.world.coworlds:
        yield coworld.name


def _sized(start: Message, body: bytes) -> list[tuple[bytes, bytes]]:
    kept = [(key, value) for key, value in start["headers"] if key.lower() != b"content-length"]
    return [*kept, (b"content-length", str(len(body)).encode())]
