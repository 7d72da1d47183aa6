"""What every part of the journal works with."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.ledger.ownership import Liveness, Owner
from pytest_evalharness.ledger.records import whole
from pytest_evalharness.ledger.storage import Storage


@dataclass(frozen=True)
class Access:
    """The file, the time, who we are, who is alive, and fresh nonces."""

    storage: Storage
    clock: Clock
    owner: Owner
    alive: Liveness
    nonce: Callable[[], str]

    def held(self, row: sqlite3.Row, *, speaks: bool) -> bool:
        """Whether somebody who is alive works on what a row (of `blocks` or `once`) is about.

        Args:
            row: has `lease`, `owner_json` and `heartbeat_at`.
            speaks: whether this kind of work sends heartbeats.
        """
        if row["lease"] is None:
            return False
        # A clock that was set back must not make a living process look silent, nor count against it.
        silent = max(0.0, self.clock.now() - (row["heartbeat_at"] or 0.0))
        return self.alive(Owner.from_json(whole(row["owner_json"])), silent, speaks=speaks)
