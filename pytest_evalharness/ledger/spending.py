"""What a run's requests are going to cost, kept with the ledger: its processes together spend one budget.

A request's price is the server's own preview when it was created. Whoever takes a request up later, in another process or in a
later run, finds it here. Before a request is posted its price is promised as well as anybody can tell by then, so that a process
that dies in the middle of its POST leaves no gap.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.database import Run
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.ledger import claims
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

_PRICE, _RUN, _TURN = "price", "spending", "turn"
_WRITE = "INSERT OR REPLACE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, ?)"
_READ = "SELECT value_json FROM once WHERE kind = ? AND key = ?"
_LONGEST_TURN = 900.0
"""Seconds to wait for another process's POST; one that is dead does not count."""


@dataclass(frozen=True)
class Promised:
    """What a run is going to cost, as far as the server has told.

    Attributes:
        committed: credits, of all its requests together.
        rate: credits of one unit of a request's weight, by the last price that was told; None while none was.
        requests: the server's ids of its requests.
    """

    committed: float
    rate: float | None
    requests: tuple[str, ...]


class Spending:
    """The spending of all runs of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def join(self, run_id: str, blocks: Sequence[str]) -> None:
        """Count requests to a run, whoever posts them.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            told = _run(run, run_id)
            fresh = [one for one in blocks if one not in told["blocks"]]
            if fresh:
                _write(run, _RUN, run_id, {**told, "blocks": [*told["blocks"], *fresh]})

    def promised(self, run_id: str) -> Promised:
        """What a run is going to cost."""
        read = self._access.storage.read
        told = _run(read, run_id)
        prices = [one for block in told["blocks"] if (one := _value(read, _PRICE, block)) is not None]
        by_time = sorted(
            (one for one in prices if one["told"] and one["weight"]), key=lambda one: float(one["at"])
        )
        return Promised(
            sum(one["price"] for one in prices),
            by_time[-1]["price"] / by_time[-1]["weight"] if by_time else None,
            tuple(one["request"] for one in prices if one["request"] is not None),
        )

    def over(self, run_id: str) -> dict[str, Any] | None:
        """Why a run may spend nothing more, as whoever saw it first stored it; None while there is no reason."""
        why: dict[str, Any] | None = _run(self._access.storage.read, run_id)["over"]
        return why

    def promise(
        self, run_id: str, block: str, *, weight: float, price: float | None, request: str | None = None
    ) -> None:
        """Write down what a request is going to cost. What the server has told is never replaced by a guess.

        Args:
            run_id: the run.
            block: the request's block.
            weight: what its cost grows with.
            price: credits by the server's preview; None to guess it from the run's other prices.
            request: the server's id; None before it is posted.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        self.join(run_id, [block])
        guess = weight * (self.promised(run_id).rate or 0.0)
        with self._access.storage.transaction() as run:
            now = self._access.clock.now()
            before = _value(run, _PRICE, block) or {"price": guess, "told": False, "request": None, "at": now}
            row = {
                "price": before["price"] if price is None else price,
                "told": before["told"] or price is not None,
                "weight": weight,
                "request": request or before["request"],
                "at": before["at"] if price is None else now,
            }
            _write(run, _PRICE, block, row)

    def free(self, block: str) -> None:
        """Take a promise back: the request was not created.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            run("DELETE FROM once WHERE kind = ? AND key = ?", _PRICE, block)

    def end(self, run_id: str, why: dict[str, Any]) -> None:
        """Write down that a run may spend nothing more, and why; the first reason stays.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            told = _run(run, run_id)
            if told["over"] is None:
                _write(run, _RUN, run_id, {**told, "over": why})

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One POST at a time, in all processes: each knows what the one before it is going to cost.

        Raises:
            ArmStalled: another process has not come to an end with its own.
        """
        deadline = Deadline.after(self._access.clock, _LONGEST_TURN)
        with claims.turn(self._access, _TURN, "post", deadline=deadline):
            yield


def _run(rows: Run | Callable[..., list[sqlite3.Row]], run_id: str) -> dict[str, Any]:
    return _value(rows, _RUN, run_id) or {"blocks": [], "over": None}


def _value(rows: Run | Callable[..., list[sqlite3.Row]], kind: str, key: str) -> dict[str, Any] | None:
    found = rows(_READ, kind, key)
    return whole(found[0]["value_json"]) if found else None


def _write(run: Run, kind: str, key: str, value: dict[str, Any]) -> None:
    run(_WRITE, kind, key, dump(value))
