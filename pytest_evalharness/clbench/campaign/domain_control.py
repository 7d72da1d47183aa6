"""Single domains of a running campaign, stopped, continued and ended while the others go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pytest_evalharness.base.clock import Clock, span
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.process_table import Process
from pytest_evalharness.clbench.campaign.processes import Graces, domains, end, go_on, stop
from pytest_evalharness.clbench.campaign.supervisor_journal import SupervisorJournal


@dataclass(frozen=True)
class Paused:
    """A domain that stands still.

    Attributes:
        why: in a sentence.
        until: when it is ended if nobody decides otherwise.
    """

    why: str
    until: Deadline


class DomainControl:
    """The domains of one campaign. Whatever is done to one is written down first.

    Args:
        name: the campaign's.
        tasks: their ids.
        find: the campaign's processes that are alive.
        journal: where it is written down.
        clock: for limits and graces.
        say: told what is done, and what can be done then.
        hold: seconds after which a domain that stands still is ended.
        graces: of an end.
        haste: steps of an end to skip: somebody wants this process to end meanwhile.
    """

    def __init__(
        self,
        name: str,
        tasks: Collection[str],
        find: Callable[[], Mapping[int, Process]],
        journal: SupervisorJournal,
        *,
        clock: Clock,
        say: Callable[[str], None],
        hold: float,
        graces: Graces,
        haste: Callable[[], int] = lambda: 0,
    ) -> None:
        self._name = name
        self._tasks = tasks
        self._find = find
        self._journal = journal
        self._clock = clock
        self._say = say
        self._hold = hold
        self._graces = graces
        self._haste = haste
        self.paused: dict[str, Paused] = {}
        self.ended: dict[str, str] = {}

    def tree(self, task: str) -> list[Process]:
        """The processes of a domain, parents first; empty where it does not run."""
        return domains(self._find(), self._tasks).get(task, [])

    def pause(self, task: str, why: str) -> bool:
        """Make a domain stand still; False if it does not run, or does so already."""
        if task in self.paused or not self.tree(task):
            return False
        self._journal.note("pausing", {"task": task, "why": why})
        stopped = stop(lambda: self.tree(task))
        self.paused[task] = Paused(why, Deadline.after(self._clock, self._hold))
        name, count = printable(self._name), len(stopped)
        self._say(
            f"{task} is paused ({count} processes stand still): {why}\n"
            f"  the other domains go on; what an engine's container has begun, it ends\n"
            f"  go on:    evalharness clbench continue {name} {task}\n"
            f"  end it:   evalharness clbench end {name} {task} (by itself in {span(self._hold)})"
        )
        return True

    def proceed(self, task: str, why: str) -> bool:
        """Let a domain go on; False if it was not paused."""
        if self.paused.pop(task, None) is None:
            return False
        self._journal.note("continuing", {"task": task, "why": why})
        go_on(self.tree(task))
        self._say(f"{task} goes on: {why}")
        return True

    def finish(self, task: str, why: str) -> bool:
        """End a domain; the benchmark goes on with the others. False if it does not run."""
        if not self.tree(task):
            return False
        self._journal.note("ending", {"task": task, "why": why})
        self._say(f"{task} is ended: {why}")
        self.paused.pop(task, None)
        left = end(lambda: self.tree(task), self._clock, self._graces, haste=self._haste)
        if left:
            self._say(
                f"{len(left)} processes of {task} are beyond SIGKILL; they are looked for again at the end"
            )
        self.ended[task] = why
        return True

    def look(self) -> None:
        """End what has stood still for too long, and forget what is not there any more."""
        for task, one in list(self.paused.items()):
            if not self.tree(task):
                del self.paused[task]
            elif one.until.expired:
                self.finish(task, f"nobody decided within {span(self._hold)} after it was paused: {one.why}")
