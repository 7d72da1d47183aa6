"""Which search for hanging seats is the latest: a fresh one asks every question anew, and is gone on with from then on."""

from __future__ import annotations

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

_KIND = "search"
_READ = "SELECT value_json FROM once WHERE kind = ? AND key = ?"
_WRITE = "INSERT OR REPLACE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, ?)"


class Searches:
    """The searches of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def latest(self, arm: str) -> int:
        """How many searches of an arm were begun afresh."""
        rows = self._access.storage.read(_READ, _KIND, arm)
        return int(whole(rows[0]["value_json"])["fresh"]) if rows else 0

    def afresh(self, arm: str) -> int:
        """Begin another search of an arm; its number.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            rows = run(_READ, _KIND, arm)
            number = 1 + (int(whole(rows[0]["value_json"])["fresh"]) if rows else 0)
            run(_WRITE, _KIND, arm, dump({"fresh": number}))
            return number
