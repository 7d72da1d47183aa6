"""What the servers of a ledger said of themselves: noted with each run, so that a later one can tell what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

_OUTLINE = "description"
_NOTE = "INSERT OR IGNORE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, ?)"
_READ = "SELECT value_json FROM once WHERE kind = ? AND key = ?"
_INFO = "SELECT info_json FROM runs WHERE run_id = ?"
_BEFORE = """
SELECT run_id, created_at, info_json FROM runs
WHERE run_id <> ? AND created_at <= (SELECT created_at FROM runs WHERE run_id = ?)
ORDER BY created_at DESC, run_id DESC
"""
KEY = "service"
"""Under which key of a run's info it stands."""


@dataclass(frozen=True)
class Described:
    """What a server said of itself when a run began.

    Attributes:
        run_id: the run.
        at: when it began, in seconds since 1970.
        service: what was chosen for the server.
        outline: its calls, as they were described.
    """

    run_id: str
    at: float
    service: dict[str, Any]
    outline: dict[str, Any]


class Services:
    """The descriptions of the servers of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def note(self, run_id: str, service: Mapping[str, Any], outline: Mapping[str, Any]) -> None:
        """Note what a run's server says of itself. The first note stays, however many workers repeat it.

        Args:
            run_id: a run that has begun.
            service: what was chosen for it; `digest` names its description, and is empty where it showed none.
            outline: the calls that it describes; kept once for each digest.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            rows = run(_INFO, run_id)
            info = whole(rows[0]["info_json"]) if rows else None
            if info is not None and KEY not in info:
                text = dump({**info, KEY: dict(service)})
                run("UPDATE runs SET info_json = ? WHERE run_id = ?", text, run_id)
            if service["digest"]:
                run(_NOTE, _OUTLINE, service["digest"], dump(dict(outline)))

    def before(self, run_id: str, server: str) -> Described | None:
        """What a server said of itself to the last run before this one that was told; None if there was none."""
        read = self._access.storage.read
        for row in read(_BEFORE, run_id, run_id):
            info = whole(row["info_json"])
            service = info.get(KEY) or {}
            if info.get("server") != server or not service.get("digest"):
                continue
            kept = read(_READ, _OUTLINE, service["digest"])
            return Described(
                row["run_id"], row["created_at"], service, whole(kept[0]["value_json"]) if kept else {}
            )
        return None
