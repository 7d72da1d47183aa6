"""What a server answers once and for all, noted so that finished work can be found again without asking it.

An owned version under its full label (`name:vN`) is such an answer: a server numbers versions and never gives a number
away twice. A bare name is none, nor is somebody else's version, which may leave its league. Nor is anything noted for
another account: the same label is another policy there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.records import dump, whole

_ACCOUNT, _VERSION = "account", "version"
_NOTE = "INSERT OR REPLACE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, ?)"
_READ = "SELECT value_json FROM once WHERE kind = ? AND key = ?"


class Known:
    """The lasting answers of the servers of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def note_account(self, server: str, who: Mapping[str, Any]) -> None:
        """Note who plays on a server that has one account only, such as the embedded league.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            run(_NOTE, _ACCOUNT, server, dump(dict(who)))

    def account(self, server: str) -> dict[str, Any] | None:
        """Who plays on a server, as it was noted; None if it was not."""
        rows = self._access.storage.read(_READ, _ACCOUNT, server)
        return whole(rows[0]["value_json"]) if rows else None

    def note_versions(self, server: str, account: str, versions: Mapping[str, str]) -> None:
        """Note the ids that full labels of an account's own policies stand for.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        if self.versions(server, account, versions) == dict(versions):
            return  # nearly always: then nothing waits for a lock
        with self._access.storage.transaction() as run:
            for label, version in versions.items():
                run(_NOTE, _VERSION, _key(server, account, label), dump({"id": version}))

    def versions(self, server: str, account: str, labels: Iterable[str]) -> dict[str, str] | None:
        """The ids that labels stand for; None unless all of them were noted."""
        found: dict[str, str] = {}
        for label in labels:
            rows = self._access.storage.read(_READ, _VERSION, _key(server, account, label))
            if not rows:
                return None
            found[label] = whole(rows[0]["value_json"])["id"]
        return found


def _key(server: str, account: str, label: str) -> str:
    return digest({"account": account, "label": label, "server": server})
