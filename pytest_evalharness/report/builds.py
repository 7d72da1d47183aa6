"""What a report says of the builds behind a comparison. Pure; text from outside is made harmless here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.report.rows import SIDES

_WIDE = 400
_MOST_FILES = 200


def _told(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each configuration's name with what is known of its builds; a comparison's own has none."""
    for name, one in result["strata"].items() if "strata" in result else [("", result)]:
        builds = one.get("builds")
        if builds is not None:
            yield name, builds


def sentences(result: Mapping[str, Any]) -> list[str]:
    """Whether the builds are different and who says so; of a pool each sentence once.

    Args:
        result: the plain data of a comparison or of a pool.
    """
    return list(dict.fromkeys(printable(builds["sentence"], _WIDE) for _, builds in _told(result)))


def conclusions(result: Mapping[str, Any]) -> list[str]:
    """The conclusions in a word each, of a pool each once: `different`, `not_visible`, `unproven` or `same`."""
    return list(dict.fromkeys(str(builds["conclusion"]) for _, builds in _told(result)))


def warnings(result: Mapping[str, Any]) -> list[str]:
    """What casts a doubt on the builds, each doubt once."""
    return list(
        dict.fromkeys(printable(text, _WIDE) for _, builds in _told(result) for text in builds["warnings"])
    )


def facts(result: Mapping[str, Any]) -> list[str]:
    """What else was found, the differing files included."""
    found = [printable(text, _WIDE) for _, builds in _told(result) for text in builds["notes"]]
    return list(dict.fromkeys(found))


def files(result: Mapping[str, Any]) -> list[str]:
    """The files that differ between the arms' commits; none where they are not known."""
    found = [name for _, builds in _told(result) for name in builds["files"] or ()]
    shown = [printable(name, _WIDE) for name in dict.fromkeys(found)]
    more = len(shown) - _MOST_FILES
    return [*shown[:_MOST_FILES], f"and {more} more"] if more > 0 else shown


def evidence(result: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What each source showed of each arm: side, label, source, and what it showed."""
    found = [
        (side, printable(arm["label"]), printable(seen["source"]), printable(seen["text"], _WIDE))
        for _, builds in _told(result)
        for side, arm in (
            (side, builds["arms"][side]) for side in SIDES
        )  # a file that is read again sorts them
        for seen in arm["evidence"]
    ]
    return list(dict.fromkeys(found))


def check(result: Mapping[str, Any]) -> tuple[str, str] | None:
    """The state and the text of the check for different builds; None where nothing is known of them."""
    told = [builds for _, builds in _told(result)]
    if not told:
        return None
    proved = all(builds["conclusion"] in {"different", "not_visible"} for builds in told)
    return "passed" if proved else "left out", "; ".join(sentences(result))
