"""The journal's rows as frozen records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.ledger.failures import rebuilt
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.states import SETTLED, BlockState


@dataclass(frozen=True)
class ArmSpec:
    """An arm to be laid down: its key, what describes it, and one request body a block.

    Attributes:
        arm_key: see `keys.arm_key`; equal keys share their blocks.
        spec: whatever the caller wants to read again, JSON.
        bodies: the request bodies, one POST each, in order.
        kind: what sort of work this is.
        requests: the server's ids of these bodies, where somebody else has posted them; empty for what is to be posted.
    """

    arm_key: str
    spec: Mapping[str, Any]
    bodies: Sequence[Mapping[str, Any]]
    kind: str = "arm"
    requests: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.requests and len(self.requests) != len(self.bodies):
            raise ValueError(f"{len(self.bodies)} bodies cannot be {len(self.requests)} requests")


@dataclass(frozen=True)
class Arm:
    """An arm as it was laid down. Times are seconds since 1970."""

    arm_key: str
    kind: str
    spec: dict[str, Any]
    created_at: float


@dataclass(frozen=True)
class Comparison:
    """One attempt at one plan.

    Attributes:
        id: its name.
        plan_key: what was asked; attempts at the same question share it.
        attempt: 1 for the first.
        fresh: whether a user asked for a fresh attempt when this one was begun.
        run_id: the run that began it.
        case_name: the case that asked first.
        plan: what was asked.
        frozen: what was resolved for it (roster, seeds); None before that.
        created_at: seconds since 1970.
        arms: arm keys by side; empty before it is frozen.
    """

    id: str
    plan_key: str
    attempt: int
    fresh: bool
    run_id: str
    case_name: str
    plan: dict[str, Any]
    frozen: dict[str, Any] | None
    created_at: float
    arms: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """One POST and what became of it, as it was when it was read. Times are seconds since 1970.

    Attributes:
        block_id: its name.
        arm_key: the arm it belongs to.
        position: 0 for the arm's first.
        state: where it stands.
        token: the nonce for the request's notes; it never changes.
        idempotency_key: for the request; it never changes either, so that a server which knows it can
            refuse to do the work twice.
        body: what to post, without token and idempotency key.
        request_id: the server's name for it, once accepted.
        error: what went wrong, if anything did (`failures.stored`).
        progress: the poller's last word.
        evidence: the results, once finished.
        owner: who works on it, if anybody does (or died doing so).
        heartbeat_at: when the owner last said something.
        ended_session: the session that saw it fail, or that abandoned it.
        created_at: when it was laid down.
        posted_at: when a POST was last begun.
        accepted_at: when the request id was saved.
        running_at: when its first episode was first seen running.
        finished_at: when it came to an end, whichever.
    """

    block_id: str
    arm_key: str
    position: int
    state: BlockState
    token: str
    idempotency_key: str
    body: dict[str, Any]
    request_id: str | None
    error: dict[str, Any] | None
    progress: dict[str, Any] | None
    evidence: dict[str, Any] | None
    owner: Owner | None
    heartbeat_at: float | None
    ended_session: str | None
    created_at: float
    posted_at: float | None
    accepted_at: float | None
    running_at: float | None
    finished_at: float | None

    @property
    def refused(self) -> bool:
        """Whether the server refused it, so that nothing of it exists there."""
        return self.state is BlockState.FAILED and self.request_id is None

    @property
    def settled(self) -> bool:
        """Whether waiting for it is over, well or badly.

        What an earlier session abandoned and somebody has just taken up again is not settled.
        """
        return self.state in SETTLED and self.owner is None

    @property
    def lost(self) -> bool:
        """Whether no later session can bring it to an end: only another attempt helps.

        It failed at the server, was cancelled, or nobody could tell whether it exists there.
        """
        if self.state is BlockState.POSTING:
            return self.error is not None and self.owner is None
        return self.state is BlockState.CANCELLED or (self.state is BlockState.FAILED and not self.refused)

    @property
    def untouched(self) -> bool:
        """Whether nothing of it was sent and nobody is about to."""
        return self.state is BlockState.PLANNED and self.owner is None

    @property
    def unsent(self) -> bool:
        """Whether nothing of it exists at the server, and nobody is about to send it: untouched, or refused."""
        return self.untouched or (self.refused and self.owner is None)

    @property
    def failure(self) -> EvalHarnessError | None:
        """The stored error, ready to be raised; None if there is none."""
        return None if self.error is None else rebuilt(self.error)


@dataclass(frozen=True)
class RecordedVerdict:
    """What one run concluded from a comparison's evidence."""

    comparison_id: str
    run_id: str
    judgement: dict[str, Any]
    recorded_at: float


def dump(value: Any) -> str:
    """JSON for a column. ASCII, since sqlite takes no lone surrogates and strangers' names may hold them.

    Raises:
        ValueError: NaN or an infinity.
        TypeError: not made of JSON's types.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def load(text: str | None) -> dict[str, Any] | None:
    """The object in a column, or None."""
    if text is None:
        return None
    value: dict[str, Any] = json.loads(text)
    return value


def whole(text: str) -> dict[str, Any]:
    """The object in a column that is never empty."""
    value: dict[str, Any] = json.loads(text)
    return value


def as_block(row: sqlite3.Row) -> Block:
    """A row of `blocks`."""
    owner = load(row["owner_json"])
    return Block(
        block_id=row["block_id"],
        arm_key=row["arm_key"],
        position=row["position"],
        state=BlockState(row["state"]),
        token=row["token"],
        idempotency_key=row["idempotency_key"],
        body=whole(row["body_json"]),
        request_id=row["request_id"],
        error=load(row["error_json"]),
        progress=load(row["progress_json"]),
        evidence=load(row["evidence_json"]),
        owner=None if owner is None else Owner.from_json(owner),
        heartbeat_at=row["heartbeat_at"],
        ended_session=row["ended_session"],
        created_at=row["created_at"],
        posted_at=row["posted_at"],
        accepted_at=row["accepted_at"],
        running_at=row["running_at"],
        finished_at=row["finished_at"],
    )


def as_comparison(row: sqlite3.Row, arms: Mapping[str, str]) -> Comparison:
    """A row of `comparisons` and the arms that go with it."""
    return Comparison(
        id=row["comparison_id"],
        plan_key=row["plan_key"],
        attempt=row["attempt"],
        fresh=bool(row["fresh"]),
        run_id=row["run_id"],
        case_name=row["case_name"],
        plan=whole(row["plan_json"]),
        frozen=load(row["frozen_json"]),
        created_at=row["created_at"],
        arms=dict(arms),
    )
