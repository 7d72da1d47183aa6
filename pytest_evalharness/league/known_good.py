"""Policies that have finished games on a server, as the ledger knows them: who can take a seat that is suspected to hang. Pure reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_evalharness.league.arms import SIDES, Seat
from pytest_evalharness.league.attribution import COMPLETED
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block


@dataclass(frozen=True)
class Policy:
    """A policy version and its label."""

    policy_version_id: str
    label: str


@dataclass(frozen=True)
class Proven:
    """Who finished a game.

    Attributes:
        policies: the versions that did, those of the last games first, our own before the field's.
        seated: (seat, version id): who did, in which seat.
    """

    policies: tuple[Policy, ...]
    seated: frozenset[tuple[int, str]]


def proven(ledger: Ledger, server: str) -> Proven:
    """Everybody who has finished a game of this ledger on a server."""
    ours: dict[str, Policy] = {}
    theirs: dict[str, Policy] = {}
    seated: set[tuple[int, str]] = set()
    for name in reversed(ledger.runs.every_comparison()):
        kept = Kept.read(ledger, name)
        if kept.comparison.plan.get("server", server) != server:
            continue
        for seats, tested, blocks in _arms(ledger, kept):
            played = {one for block in blocks for one in _finished(block)}
            seated |= played
            for seat in seats:
                if (seat.position, seat.policy_version_id) in played:
                    policy = Policy(seat.policy_version_id, seat.label)
                    (ours if seat.position == tested else theirs).setdefault(seat.policy_version_id, policy)
    return Proven(tuple({**ours, **theirs}.values()), frozenset(seated))


def _arms(ledger: Ledger, kept: Kept) -> Iterator[tuple[tuple[Seat, ...], int, list[Block]]]:
    for part in kept.parts:
        if part.frozen is None:
            continue
        for side in SIDES:
            arm = part.frozen.arms[side]
            yield (
                arm.seats,
                arm.tested_seat,
                [block for key in part.keys(side) for block in ledger.blocks(key)],
            )


def _finished(block: Block) -> Iterator[tuple[int, str]]:
    """Who sat where in a request's games that were played to their end."""
    for episode in (block.evidence or {}).get("episodes", ()):
        if episode["status"] == COMPLETED:
            yield from (
                (one["position"], one["policy_version_id"])
                for one in episode["participants"]
                if one["policy_version_id"] is not None
            )
