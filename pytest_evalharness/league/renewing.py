"""A comparison whose field moved on between freezing and posting: frozen anew, for both arms, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import FieldUnavailable
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.roster import Member
from pytest_evalharness.ledger.progress import Progress

MOST = 3
"""How often a comparison is frozen anew in one run: a league that moves on faster than that is not played."""
_SENDING_SECONDS = 60.0
_LOOK_SECONDS = 0.05


class Superseded(FieldUnavailable):
    """Another attempt has taken the place of the one that is waited for."""


@dataclass(frozen=True)
class Renewed:
    """A comparison that was frozen anew before anything of it was sent.

    Attributes:
        gone: who was no longer live; empty where another process found that.
        configurations: the comparison as it is now; one for each configuration of a pool.
    """

    gone: tuple[Member, ...]
    configurations: tuple[Frozen, ...]

    @property
    def notice(self) -> str:
        """What every reader of a report must know of it."""
        who = ", ".join(f"{printable(one.label)} ({printable(one.player_name)})" for one in self.gone)
        roster = self.configurations[0].roster
        return (
            f"the field changed between freezing and posting{f': {who} is no longer live' if who else ''}; nothing had been "
            f"submitted, and both arms were given the field as it was at {printable(roster.resolved_at)}"
        )


def nothing_sent(progress: Progress, comparison_id: str, clock: Clock, on_wait: Callable[[], None]) -> bool:
    """Whether nothing of a comparison exists at the server; waits while somebody may be about to send some of it.

    Args:
        progress: how far comparisons have come.
        comparison_id: which one.
        clock: tells the time, and waits.
        on_wait: called between two looks.
    """
    deadline = Deadline.after(clock, _SENDING_SECONDS)
    while progress.sending(comparison_id) and not deadline.expired:
        on_wait()
        clock.wait(_LOOK_SECONDS)
    return progress.unsent(comparison_id)
