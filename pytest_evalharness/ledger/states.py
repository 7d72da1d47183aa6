"""The states of a block, of a campaign and of work that happens once, and every step between them that is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class BlockState(StrEnum):
    """Where one POST and what it started stand."""

    PLANNED = "planned"
    """Nothing was sent."""
    POSTING = "posting"
    """The POST is about to be sent, or was sent and its answer is not known."""
    RUNNING = "running"
    """The server has accepted it and its request id is saved here."""
    FINISHED = "finished"
    """The evidence is saved here."""
    FAILED = "failed"
    """The server refused it (no request id), or it ended without usable results (request id)."""
    CANCELLED = "cancelled"
    """It was cancelled on the server, or never posted because a planned look had decided before."""
    ABANDONED = "abandoned"
    """We stopped waiting; it may go on at the server, and a later session may poll again."""

    @property
    def final(self) -> bool:
        """Whether no step leads out of it, in any session."""
        return not TRANSITIONS[self]


_S = BlockState

TRANSITIONS: Mapping[BlockState, frozenset[BlockState]] = MappingProxyType(
    {
        _S.PLANNED: frozenset({_S.POSTING, _S.CANCELLED}),
        # running: the id is saved; failed: refused, nothing exists there; planned: provably never arrived
        _S.POSTING: frozenset({_S.RUNNING, _S.FAILED, _S.PLANNED}),
        _S.RUNNING: frozenset({_S.FINISHED, _S.FAILED, _S.CANCELLED, _S.ABANDONED}),
        _S.ABANDONED: frozenset({_S.RUNNING}),
        # only what the server refused, and only in a session that has not seen the refusal
        _S.FAILED: frozenset({_S.PLANNED}),
        _S.FINISHED: frozenset(),
        _S.CANCELLED: frozenset(),
    }
)

SETTLED: frozenset[BlockState] = frozenset({_S.FINISHED, _S.FAILED, _S.CANCELLED, _S.ABANDONED})
"""States in which nobody works on a block: whoever waits for it can stop."""


class ClaimState(StrEnum):
    """Where a piece of work that happens once stands."""

    UNCLAIMED = "unclaimed"
    """Nobody does it: it has no row."""
    PRODUCING = "producing"
    """Somebody does it, or died doing it."""
    DONE = "done"
    """Its value is saved here."""


_C = ClaimState

CLAIM_TRANSITIONS: Mapping[ClaimState, frozenset[ClaimState]] = MappingProxyType(
    {
        # done: one that was taken for dead finished after whoever took over had failed
        _C.UNCLAIMED: frozenset({_C.PRODUCING, _C.DONE}),
        # producing: taken over from the dead; unclaimed: the producer failed
        _C.PRODUCING: frozenset({_C.PRODUCING, _C.DONE, _C.UNCLAIMED}),
        _C.DONE: frozenset(),
    }
)


class CampaignState(StrEnum):
    """Where a campaign of an outside benchmark stands."""

    PLANNED = "planned"
    """It is written down; nothing was started."""
    STARTING = "starting"
    """The benchmark is about to be started, or was started and its process is not written down here."""
    RUNNING = "running"
    """Its process is written down here; while nobody holds the campaign, its supervisor has died."""
    FINISHED = "finished"
    """The benchmark ended by itself and left nothing undone."""
    INCOMPLETE = "incomplete"
    """The benchmark ended by itself, and something of it failed or is missing."""
    INTERRUPTED = "interrupted"
    """We ended it: a signal, a limit, or somebody's wish."""
    LOST = "lost"
    """It died, or its supervisor did, and whatever was left of it was ended."""

    @property
    def live(self) -> bool:
        """Whether processes of it may be at work."""
        return self in {CampaignState.STARTING, CampaignState.RUNNING}


_K = CampaignState
_ENDED = frozenset({_K.FINISHED, _K.INCOMPLETE, _K.INTERRUPTED, _K.LOST})

CAMPAIGN_TRANSITIONS: Mapping[CampaignState, frozenset[CampaignState]] = MappingProxyType(
    {
        _K.PLANNED: frozenset({_K.STARTING}),
        # planned: the program could not be started at all
        _K.STARTING: frozenset({_K.RUNNING, _K.PLANNED}) | _ENDED,
        _K.RUNNING: _ENDED,
        # each may be started again for what is missing; a finished one too, where results were put aside
        **dict.fromkeys(_ENDED, frozenset({_K.STARTING})),
    }
)


class IllegalTransition(RuntimeError):
    """A defect in this program: a step that the transition table does not have."""

    def __init__(self, what: str, have: StrEnum, want: StrEnum | str) -> None:
        super().__init__(f"{what} is {have}, which cannot become {want}")
        self.have = have
        self.want = want


class LeaseLost(RuntimeError):
    """Another process has taken the block over: stop working on it and read the journal instead."""

    def __init__(self, block_id: str) -> None:
        super().__init__(f"block {block_id} is no longer held by this lease")
        self.block_id = block_id


def check(block_id: str, have: BlockState, want: BlockState) -> None:
    """Let an allowed step of a block pass.

    Raises:
        IllegalTransition: the table does not have it.
    """
    if want not in TRANSITIONS[have]:
        raise IllegalTransition(f"block {block_id}", have, want)


def check_claim(what: str, have: ClaimState, want: ClaimState) -> None:
    """Let an allowed step of a claim pass.

    Raises:
        IllegalTransition: the table does not have it.
    """
    if want not in CLAIM_TRANSITIONS[have]:
        raise IllegalTransition(what, have, want)


def check_campaign(name: str, have: CampaignState, want: CampaignState) -> None:
    """Let an allowed step of a campaign pass.

    Raises:
        IllegalTransition: the table does not have it.
    """
    if want not in CAMPAIGN_TRANSITIONS[have]:
        raise IllegalTransition(f"campaign {name}", have, want)
