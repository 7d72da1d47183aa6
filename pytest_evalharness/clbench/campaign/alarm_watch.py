"""What the results of a running campaign say is wrong, told once, and the domain paused where going on measures nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_evalharness.clbench.campaign.domain_control import DomainControl
from pytest_evalharness.clbench.campaign.live import LiveReader
from pytest_evalharness.clbench.campaign.snapshot import Snapshot
from pytest_evalharness.clbench.campaign.supervisor_journal import SupervisorJournal
from pytest_evalharness.clbench.campaign.watch import Alarm, AlarmKind, Limits, Watched, watch


class AlarmWatch:
    """Looks at results again and again.

    Args:
        reader: of the results.
        domains: what is done about them.
        journal: where alarms are written down.
        say: told each alarm when it comes up.
        limits: from where on something is one.
    """

    def __init__(
        self,
        reader: LiveReader,
        domains: DomainControl,
        journal: SupervisorJournal,
        say: Callable[[str], None],
        limits: Limits,
    ) -> None:
        self._reader = reader
        self._domains = domains
        self._journal = journal
        self._say = say
        self._limits = limits
        self._watched: Watched | None = None
        self._told: dict[tuple[AlarmKind, str, int | None], Alarm] = {}

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Every alarm of this start, in the order in which they came up, each as it was last."""
        return tuple(self._told.values())

    def look(self) -> Snapshot:
        """Read the results, tell what is wrong, and pause domains for it; returns what was read."""
        snapshot = self._reader.read()
        # A manifest that is not written anew yet may be the earlier start's: what it says of its end is not news.
        watched = watch(
            replace(snapshot, status="running"), self._watched, self._limits, paused=set(self._domains.paused)
        )
        self._watched = watched
        for alarm in watched.alarms:
            known = self._told.get(alarm.key)
            self._told[alarm.key] = alarm
            if known is None:
                self._journal.note("alarm", _told(alarm))
                self._say(f"ALARM {alarm.kind}: {alarm.text}")
            # Whoever let a paused domain go on has seen its alarm: only one that got worse pauses it again.
            if alarm.pause and (known is None or not known.pause):
                self._domains.pause(alarm.task, alarm.text)
        return snapshot


def _told(alarm: Alarm) -> dict[str, object]:
    return {
        "alarm": str(alarm.kind),
        "task": alarm.task,
        "run_index": alarm.run_index,
        "text": alarm.text,
        "pause": alarm.pause,
        "instances": list(alarm.instances),
    }
