"""Replays: a file from which a match is played again, to the same result and hash.

A replay stores what went into a match, so only the game that it was recorded in can play it::

    8 bytes   b"EVHREPLY"
    u16       the format's version, 1             (little-endian)
    u32       length of the header in bytes       (little-endian)
    header    JSON: game, version, config, seed, scoring, policies, ticks, scores, results_sha256, log_sha256, digest
    rest      the game's log, a JSON object a line

`config` has every key of the game. `policies` has an entry a seat: the display name, the policy (`name:vN`), the build that
played, the token with which it joined (secret, as in the hosted game's replays), and its `mishap` if it failed.
`results_sha256` is that of results.json as canonical JSON, `log_sha256` that of the rest, `digest` that of both and of all logs
of the players. Older storage keeps replays compressed with zlib; `unpacked` takes them as they come.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Any, Final

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import MISHAPS, Hosted, Order, Played, RefusedConfigError
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.base.files import canonical_json

MAGIC: Final = b"EVHREPLY"
FORMAT: Final = 1
LARGEST: Final = 64 * 1024 * 1024
"""The most bytes that a replay may have, unpacked."""
_LENGTHS: Final = struct.Struct("<HI")
_KINDS: Final[Mapping[str, type]] = {
    "game": str,
    "version": str,
    "config": dict,
    "seed": int,
    "scoring": str,
    "policies": list,
    "ticks": int,
    "scores": list,
    "log_sha256": str,
}
_PACKED: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b")


class NotAReplayError(ValueError):
    """The bytes are no whole replay; the message says what is wrong with them."""


class AnotherVersionError(ValueError):
    """A replay of a game, or of a version of it, that this package does not play."""


@dataclass(frozen=True)
class Replay:
    """What a replay says of its match; `log` is its rest, as it is in the file."""

    game: str
    version: str
    config: Mapping[str, Any]
    seed: int
    scoring: str
    policies: Sequence[Mapping[str, Any]]
    ticks: int
    scores: Sequence[float]
    results_sha256: str
    log_sha256: str
    digest: str
    log: bytes


def write(
    order: Order, version: str, labels: Sequence[str], results: Mapping[str, Any] | None = None
) -> bytes:
    """Play a match, and write its replay. Runs in a worker process.

    Args:
        order: the match.
        version: the version of the game that it was played in.
        labels: the policy in each seat, as `name:vN`.
        results: its results.json, where it was played before: they tell how it was scored.
    """
    game = GAMES[order.game]
    order = replace(order, scoring=_scoring(game, order, results))
    played = game.play(order)
    log, told = _outcome(game, order, played)
    fails = dict(order.mishaps)
    policies = [
        {
            "name": name,
            "policy": label,
            "build": build,
            "token": f"join_{sha256(f'{order.seed}/{seat}/{label}'.encode()).hexdigest()[:24]}",
            **({"mishap": fails[seat]} if seat in fails else {}),
        }
        for seat, ((name, build), label) in enumerate(zip(order.seats, labels, strict=True))
    ]
    header = {
        "game": order.game,
        "version": version,
        "config": game.effective_config(order.overrides),
        "seed": order.seed,
        "scoring": order.scoring.value,
        "policies": policies,
        **told,
    }
    head = json.dumps(header, sort_keys=True).encode()
    return MAGIC + _LENGTHS.pack(FORMAT, len(head)) + head + log


def _scoring(game: Hosted, order: Order, results: Mapping[str, Any] | None) -> Scoring:
    """How a match was scored that came out so."""
    if results is None:
        return order.scoring
    ways = (each for each in Scoring if game.play(replace(order, scoring=each)).results == results)
    return next(ways, order.scoring)


def _outcome(game: Hosted, order: Order, played: Played) -> tuple[bytes, dict[str, Any]]:
    """The log of a match, and what a replay tells of how it came out."""
    recorded = game.record(order)
    log = recorded.game_log.encode()
    results, told = _hash_of(played.results), sha256(log).hexdigest()
    logs = [sha256(text.encode()).hexdigest() for text in recorded.seat_logs]
    return log, {
        "ticks": played.ticks,
        "scores": played.results["scores"],
        "results_sha256": results,
        "log_sha256": told,
        "digest": sha256(canonical_json([played.ticks, results, told, logs]).encode()).hexdigest(),
    }


def _hash_of(results: Mapping[str, Any]) -> str:
    return sha256(canonical_json(results).encode("utf-8", "backslashreplace")).hexdigest()


def unpacked(data: bytes) -> bytes:
    """The bytes of a replay, whether they come as they are, with zlib or with gzip.

    Raises:
        NotAReplayError: they cannot be unpacked, or are more than `LARGEST`.
    """
    if not data.startswith(_PACKED):
        return data
    packing = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either header
    try:
        out = packing.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise NotAReplayError("it is compressed, and broken") from error
    if len(out) > LARGEST:
        raise NotAReplayError(f"it unpacks to more than {LARGEST} bytes")
    if not packing.eof:
        raise NotAReplayError("it is compressed, and cut short")
    if packing.unused_data:
        raise NotAReplayError("it is compressed, and more comes behind it")
    return out


def read(data: bytes) -> Replay:
    """A replay from its unpacked bytes.

    Raises:
        NotAReplayError: they are none, or not all of one.
        AnotherVersionError: a format of another day.
    """
    start = len(MAGIC) + _LENGTHS.size
    if not data.startswith(MAGIC) or len(data) < start:
        raise NotAReplayError("it does not begin like a replay")
    version, length = _LENGTHS.unpack(data[len(MAGIC) : start])
    if version != FORMAT:
        raise AnotherVersionError(f"it is of format {version}; this package reads format {FORMAT}")
    log = data[start + length :]
    try:
        header = json.loads(data[start : start + length])
        told = {field.name: header[field.name] for field in fields(Replay) if field.name != "log"}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAReplayError("its header is broken or cut short") from error
    if not all(isinstance(told[name], kind) for name, kind in _KINDS.items()):
        raise NotAReplayError("its header is none of a replay")
    if sha256(log).hexdigest() != told["log_sha256"]:
        raise NotAReplayError("its log is not the one that its header tells of: it is cut short or changed")
    return Replay(**told, log=log)


def differences(replay: Replay) -> list[str]:
    """Play a replay's match again: what came out otherwise, in words; nothing if all is the same.

    Raises:
        AnotherVersionError: this package does not play that game, or that version of it.
        NotAReplayError: what it says cannot be played.
    """
    game = GAMES.get(replay.game)
    if game is None:
        raise AnotherVersionError(f"it is of the game {replay.game!r}, which is not played here")
    if game.version != replay.version:
        raise AnotherVersionError(
            f"it was played in {replay.game} {replay.version!r}; this package plays {game.version}, and a replay needs the same build"
        )
    try:
        order = _order(replay)
        game.effective_config(order.overrides)
        played = game.play(order)
        log, told = _outcome(game, order, played)
    except (RefusedConfigError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise NotAReplayError(f"its match cannot be played: {error}") from error
    names = {
        "ticks": "ticks",
        "scores": "scores",
        "results_sha256": "hash of results.json",
        "log_sha256": "hash of the game's log",
        "digest": "hash of the match",
    }
    pairs = [(words, getattr(replay, name), told[name]) for name, words in names.items()]
    found = [f"{words}: {then} then, {now} now" for words, then, now in pairs if then != now]
    return found if found or log == replay.log else ["the game's log"]


def _order(replay: Replay) -> Order:
    fails = [(seat, each["mishap"]) for seat, each in enumerate(replay.policies) if "mishap" in each]
    if any(how not in MISHAPS for _, how in fails):
        raise ValueError("a player failed in a way that is not known")
    return Order(
        game=replay.game,
        overrides=replay.config,
        seats=[(str(each["name"]), str(each["build"])) for each in replay.policies],
        seed=replay.seed,
        scoring=Scoring(replay.scoring),
        mishaps=fails,
    )
