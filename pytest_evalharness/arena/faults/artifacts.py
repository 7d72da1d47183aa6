"""The faults of what episodes leave behind: late, cut, replaced, refused, hostile, huge."""

from __future__ import annotations

import re
from typing import Final

from pytest_evalharness.arena.faults.fault import ALWAYS, Fault, seconds, times

CATEGORIES: Final = (
    "results",
    "replay",
    "events",
    "error_info",
    "game_logs",
    "player_logs",
    "player_artifact",
)
"""The categories of the download manifest."""

_MOST_BYTES = 10**12
_SPEED = (1, 10**9)


def _size(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _MOST_BYTES:
        raise ValueError(text)
    return value


def _speed(text: str) -> int:
    value = int(text)
    if not _SPEED[0] <= value <= _SPEED[1]:
        raise ValueError(text)
    return value


def _lines(text: str) -> int:
    return times(text)


def _of_category(text: str) -> tuple[str, str]:
    category, _, rest = text.partition(":")
    if category not in CATEGORIES:
        raise ValueError(text)
    return category, rest


def _late(text: str) -> tuple[str, float]:
    category, rest = _of_category(text)
    return category, seconds(rest)


def _huge(text: str) -> tuple[str, int]:
    category, rest = _of_category(text)
    if category not in {"game_logs", "player_logs", "player_artifact", "replay"}:
        raise ValueError(text)
    return category, _size(rest)


def _one_of(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


def _word(pattern: re.Pattern[str], text: str) -> str:
    if pattern.fullmatch(text) is None:
        raise ValueError(text)
    return text


_PACKING = _one_of("zlib", "gzip")
_UPLOAD = _one_of("bomb", "slip", "garbage")


def _seat(text: str) -> int:
    return int(_word(re.compile("[0-9]|[1-5][0-9]|6[0-3]"), text))


ARTIFACT_FAULTS: Final = (
    Fault(
        "late-category",
        "CATEGORY:SECONDS",
        "what is of this category of the download manifest answers 404 until that long after its game's end. Repeatable.",
        _late,
        several=True,
    ),
    Fault(
        "denied-seat",
        "SEAT",
        "the log and the upload of this seat are refused with 403, to their owner too. Repeatable.",
        _seat,
        several=True,
    ),
    Fault(
        "reset-bodies",
        "TIMES",
        "in the middle of the next TIMES artifacts the connection is reset",
        times,
        bare=1,
    ),
    Fault(
        "cut-bodies",
        "TIMES",
        "the next TIMES artifacts end before the length that was announced",
        times,
        bare=1,
    ),
    Fault(
        "overlong-bodies",
        "TIMES",
        "the next TIMES artifacts announce a length of half of what is sent",
        times,
        bare=1,
    ),
    Fault(
        "html-bodies",
        "TIMES",
        "in place of the next TIMES artifacts a web page is sent, with status 200",
        times,
        bare=1,
    ),
    Fault(
        "slow-bodies",
        "BYTES",
        "artifacts are sent at so many bytes a second",
        _speed,
    ),
    Fault(
        "no-ranges",
        "",
        "a part of an artifact that is asked for is answered with all of it",
        str,
        bare=ALWAYS,
    ),
    Fault(
        "expired-urls",
        "TIMES",
        "the next TIMES fetches of a signed URL are refused with 403, as if it had expired",
        times,
        bare=1,
    ),
    Fault(
        "url-lifetime",
        "SECONDS",
        "signed URLs expire that long after they were made, in place of 15 minutes",
        seconds,
    ),
    Fault(
        "changed-artifacts",
        "TIMES",
        "each of the next TIMES fetches finds that its artifact was replaced just now: another ETag, another version, and of a "
        "log another text",
        times,
        bare=1,
    ),
    Fault(
        "wrong-sizes",
        "TIMES",
        "the next TIMES entries of download manifests with a size give a wrong one; plain `wrong-sizes` all of them",
        times,
        bare=ALWAYS,
    ),
    Fault(
        "other-host",
        "",
        "URLs of the storage name another host than the API's: `localhost`",
        str,
        bare=ALWAYS,
    ),
    Fault(
        "hostile-files",
        "",
        "file names in download manifests, lists of logs and bundles try to leave their folder, or to be none: `../../x`, an "
        "absolute path, a NUL, 5000 letters",
        str,
        bare=ALWAYS,
    ),
    Fault(
        "slashed-ids",
        "",
        "the first episode of every list has slashes and dots in its ids",
        str,
        bare=ALWAYS,
    ),
    Fault(
        "huge-artifacts",
        "CATEGORY:BYTES",
        "logs, uploads or replays (a category of the download manifest) are so many bytes long, and made while they are sent",
        _huge,
    ),
    Fault(
        "long-logs",
        "LINES",
        "players log so many lines before their games begin; the service keeps the last 10,000",
        _lines,
    ),
    Fault(
        "uncollected-logs",
        "",
        "in place of a player's log stands that its collector found none",
        str,
        bare=ALWAYS,
    ),
    Fault(
        "replay-bomb",
        "zlib|gzip",
        "replays are small, and unpack to four gigabytes",
        lambda text: _word(_PACKING, text),
    ),
    Fault(
        "hostile-uploads",
        "bomb|slip|garbage",
        "telemetry archives unpack to 256 MiB, have members that would leave their folder, or are no archives",
        lambda text: _word(_UPLOAD, text),
    ),
)
