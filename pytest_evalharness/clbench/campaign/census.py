"""Which processes of a running campaign belong to which domain, and which have lost theirs."""

from __future__ import annotations

from collections.abc import Collection

from pytest_evalharness.clbench.campaign.process_table import Process
from pytest_evalharness.clbench.campaign.processes import Fingerprint, domains, trees
from pytest_evalharness.clbench.campaign.supervisor_journal import SupervisorJournal
from pytest_evalharness.clbench.campaign.survivors import command
from pytest_evalharness.ledger.campaigns import SeenProcess

_LONE_LOOKS = 3
"""Looks in a row that find a process without its domain before it counts as lone: pools take a moment to end."""


class Census:
    """Looks at a start's processes again and again.

    Args:
        mark: by what they are known.
        program: pid of `run-all`.
        tasks: ids of the domains.
        host: this machine, see `Owner.host`.
        journal: where new ones are written down: whoever comes later knows them even where their environment is not to be seen.
    """

    def __init__(
        self,
        mark: Fingerprint,
        program: int,
        tasks: Collection[str],
        host: str,
        journal: SupervisorJournal,
    ) -> None:
        self._mark = mark
        self._program = program
        self._tasks = tasks
        self._host = host
        self._journal = journal
        self._task_of: dict[tuple[int, str], str] = {}
        self._lone: dict[tuple[int, str], int] = {}

    def find(self) -> dict[int, Process]:
        """Those that are alive, by pid. One that was seen once is known for ever, whatever becomes of its environment."""
        known = self._mark.known | self._task_of.keys()
        return Fingerprint(self._mark.tokens, known, self._mark.spared).find()

    def look(self) -> list[Process]:
        """Write down who is new; returns those whose domain's program has died and who go on without it."""
        found = self.find()
        living = domains(found, self._tasks)
        owner = {one.key: task for task, tree in living.items() for one in tree}
        # Between fork and exec a domain's program looks like run-all: it is written down anew when it has become itself.
        new = [
            one
            for one in found.values()
            if one.key not in self._task_of or (one.key in owner and not self._task_of[one.key])
        ]
        self._task_of |= {one.key: owner.get(one.key, "") for one in new}
        if new:
            self._journal.saw(
                SeenProcess(self._host, one.pid, one.started, command(one), self._task_of[one.key])
                for one in new
            )
        attended = {one.key for one in trees(found, {self._program})}
        lone = [
            one
            for one in found.values()
            if one.key not in attended and self._task_of[one.key] and self._task_of[one.key] not in living
        ]
        self._lone = {one.key: self._lone.get(one.key, 0) + 1 for one in lone}
        return [one for one in lone if self._lone[one.key] >= _LONE_LOOKS]
