"""Ending a run's unfinished requests on purpose: what was never posted, what the server can stop, and what goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.errors import ArmFailed, EvalHarnessError
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.league.kept_arm import KeptArm
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.status import Status


class Fate(StrEnum):
    """What became of a request."""

    WITHDRAWN = "withdrawn"
    """It was never posted, and never will be."""
    CANCELLED = "cancelled"
    """The server starts no further episode of it."""
    RUNS_OUT = "cancelled, and episodes that run are played to their end"
    """The same, but some of its episodes run already, and no server stops those."""
    GOES_ON = "goes on"
    """The server cannot cancel it, or did not answer."""
    ENDED = "had ended"
    """It ended before it could be cancelled; resuming the run reads its results."""
    UNKNOWN = "unknown"
    """Its POST was sent and its answer lost: whether it exists is not known."""
    IN_USE = "in use"
    """A live process is about to post it."""
    NOT_OURS = "goes on: it was created elsewhere"
    """Whoever created it may end it; it is not ours to end."""


GOES_ON = frozenset({Fate.GOES_ON, Fate.RUNS_OUT, Fate.UNKNOWN, Fate.IN_USE, Fate.NOT_OURS})
"""After these something may still be played at the server."""


@dataclass(frozen=True)
class Ended:
    """One request and its fate.

    Attributes:
        side: which arm; of a pool, with the configuration's number.
        request_id: the server's name for it, if it has one.
        fate: what became of it.
        why: more about it, for people.
    """

    side: str
    request_id: str
    fate: Fate
    why: str = ""


def cancel(
    ledger: Ledger, observatory: Observatory, kept: Kept | KeptArm, *, session: str
) -> Iterator[Ended]:
    """Cancel what a comparison, or an arm that is compared with nothing, has not finished, each step written down.

    A comparison that shares an arm with another one loses it for both.

    Args:
        ledger: where it is kept.
        observatory: the server that plays it.
        kept: the comparison, or the arm.
        session: who asks.
    """
    for side, key in kept.comparison.arms.items():
        for block in ledger.blocks(key):
            if isinstance(kept.plan, ComparisonPlan) and kept.plan.adopted is not None:
                if block.state is not BlockState.FINISHED:
                    yield Ended(side, block.request_id or "", Fate.NOT_OURS)
                continue
            if block.state in {
                BlockState.PLANNED,
                BlockState.POSTING,
                BlockState.RUNNING,
                BlockState.ABANDONED,
            }:
                yield _cancelled(ledger, observatory, side, block, session)


def _cancelled(ledger: Ledger, observatory: Observatory, side: str, block: Block, session: str) -> Ended:
    request = block.request_id or ""
    error = ArmFailed(
        f"the {side} arm was cancelled by hand ({request or 'never posted'})",
        not_done="nothing was judged",
        next_step="run with --eval-fresh to post it again",
    )
    lease = ledger.acquire(block.block_id, session=session)
    if lease is not None:
        with lease:
            if lease.state is BlockState.PLANNED:
                lease.withdrawn(error)
                return Ended(side, "", Fate.WITHDRAWN)
            if lease.state is BlockState.POSTING:
                return Ended(side, "", Fate.UNKNOWN, f"look for {block.token} in the notes of your requests")
            if lease.state is BlockState.ABANDONED:
                lease.reopen()
            ended = _stop(observatory, side, request)
            if ended.fate in {Fate.CANCELLED, Fate.RUNS_OUT}:
                lease.cancelled(error)
            return ended
    if block.state in {BlockState.PLANNED, BlockState.POSTING}:
        return Ended(side, "", Fate.IN_USE, f"{block.owner} works on it; end that first")
    # Somebody polls it: the server is told, and the poller sees what comes of it.
    return _stop(observatory, side, request)


def _stop(observatory: Observatory, side: str, request: str) -> Ended:
    """Ask the server to stop a request."""
    try:
        stopped = observatory.cancel(request)
    except EvalHarnessError as error:
        return Ended(side, request, Fate.GOES_ON, error.what)
    if stopped is None:
        return Ended(side, request, Fate.GOES_ON, "this server cannot cancel requests")
    return _running_out(observatory, side, request) if stopped else Ended(side, request, Fate.ENDED)


def _running_out(observatory: Observatory, side: str, request: str) -> Ended:
    """A cancelled request, with what of it runs on as far as the server tells."""
    try:
        row = observatory.experience_request(request)
    except EvalHarnessError as error:
        return Ended(side, request, Fate.CANCELLED, f"what runs of it is not told: {error.what}")
    states = [str(episode.status) for episode in row.episodes]
    running = states.count(Status.RUNNING.value) if states else row.running_count
    if not running:
        return Ended(side, request, Fate.CANCELLED)
    return Ended(side, request, Fate.RUNS_OUT, f"{running} of {row.episode_count}")
