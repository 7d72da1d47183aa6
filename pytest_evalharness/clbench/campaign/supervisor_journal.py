"""What a supervisor writes into the ledger, also while nothing can be written: a full disk must not cost what is running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.ledger.campaigns import CampaignEvent, CampaignLease, Campaigns, SeenProcess
from pytest_evalharness.ledger.states import CampaignState

_MOST_KEPT = 1000
_AGAIN_SECONDS = 10.0
"""Between attempts: each may wait for somebody else's lock, and the supervisor has more to do."""


class SupervisorJournal:
    """Writes for one start of one campaign. What cannot be written is kept and written as soon as it can be.

    Args:
        campaigns: the ledger's.
        lease: the right to write.
        clock: for the time between attempts.
        say: told when the ledger cannot be written, and when it can be again.

    Every method raises `CampaignLost` if another process supervises the campaign by now.
    """

    def __init__(
        self, campaigns: Campaigns, lease: CampaignLease, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self._campaigns = campaigns
        self._lease = lease
        self._clock = clock
        self._say = say
        self._late: list[Callable[[], object]] = []
        self._silent: Deadline | None = None

    def note(self, kind: str, told: Mapping[str, Any]) -> None:
        """Write an event, before what it says is done."""
        self._write(lambda: self._lease.note(kind, told))

    def saw(self, some: Iterable[SeenProcess]) -> None:
        """Write down processes."""
        fixed = list(some)
        self._write(lambda: self._lease.saw(fixed))

    def running(self, pid: int, started: str) -> None:
        """Write down which process it is."""
        self._write(lambda: self._lease.running(pid, started))

    def end(self, state: CampaignState, exit_code: int | None, why: str) -> bool:
        """Write down how it ended, after all that is late; False if that cannot be written: the next start finds it lost then."""
        self._silent = self._silent and Deadline.after(self._clock, 0.0)
        self._write(lambda: self._lease.end(state, exit_code, why))
        return self._silent is None

    def heartbeat(self, progress: Mapping[str, Any]) -> None:
        """Say how far it is; what is late comes first. One that cannot be written is not made up for."""
        self._catch_up()
        if self._silent is None:
            self._attempt(lambda: self._lease.heartbeat(progress))

    def asked(self, after: int) -> list[CampaignEvent]:
        """Events behind the one of this number; none while the ledger cannot be read."""
        try:
            return self._campaigns.events(self._lease.name, after=after)
        except JournalUnavailable:
            return []

    def _write(self, act: Callable[[], object]) -> None:
        self._catch_up()
        if self._silent is not None or not self._attempt(act):
            self._late = [*self._late, act][-_MOST_KEPT:]

    def _catch_up(self) -> None:
        """Write what is late, oldest first, unless it has just failed."""
        if self._silent is None or not self._silent.expired:
            return
        while self._late:
            if not self._attempt(self._late[0]):
                return
            self._late.pop(0)
        if self._attempt(self._lease.heartbeat):
            self._silent = None
            self._say("the ledger can be written again; what happened meanwhile is in it")

    def _attempt(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except JournalUnavailable as problem:
            if self._silent is None:
                self._say(f"{problem.what}: the campaign goes on, and what happens is written down later")
            self._silent = Deadline.after(self._clock, _AGAIN_SECONDS)
            return False
        return True
