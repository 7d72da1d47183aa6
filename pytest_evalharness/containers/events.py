"""What happened to containers, as the engine remembers it: read once, since a moment, each event one time.

The engine keeps its last 256 events and forgets the older ones, whatever they are filtered by: a reading that gets so many may lack
the first of those that were asked for, and says so. A container that removes itself leaves nothing else behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pytest_evalharness.containers.state import Engine

REMEMBERED = 256
"""Events that an engine keeps."""
_NANO = 1_000_000_000
_SIGKILL = 9
_KILLED = 137
"""Exit code of a process that SIGKILL ended, whoever sent it."""
_TOLD = frozenset({"create", "start", "oom", "kill", "die", "stop", "destroy", "pause", "unpause", "restart"})
_NAME_AND_MORE = re.compile(r"([a-z_]+)(?::.*)?", re.DOTALL)


@dataclass(frozen=True)
class Event:
    """One event of one container.

    Attributes:
        nanoseconds: since 1970, by the engine's clock.
        container: its id.
        action: `create`, `start`, `oom`, `kill`, `die`, `stop`, `destroy`, …
        name: the container's.
        image: it was started of.
        exit_code: of a `die`, else None.
        signal: of a `kill`, else None.
    """

    nanoseconds: int
    container: str
    action: str
    name: str
    image: str
    exit_code: int | None = None
    signal: int | None = None

    @property
    def at(self) -> float:
        """Seconds since 1970."""
        return self.nanoseconds / _NANO

    @classmethod
    def told(cls, answer: Mapping[str, Any]) -> Self | None:
        """An event of the engine's; None where it is none of a container's life."""
        actor = answer.get("Actor")
        actor = actor if isinstance(actor, dict) else {}
        about = actor.get("Attributes")
        about = about if isinstance(about, dict) else {}
        action = _NAME_AND_MORE.fullmatch(str(answer.get("Action") or ""))
        when, identity = answer.get("timeNano"), actor.get("ID")
        if answer.get("Type") != "container" or action is None or action[1] not in _TOLD:
            return None
        if not isinstance(when, int) or not isinstance(identity, str):
            return None
        return cls(
            when,
            identity,
            action[1],
            str(about.get("name") or ""),
            str(about.get("image") or ""),
            _number(about.get("exitCode")) if action[1] == "die" else None,
            _number(about.get("signal")) if action[1] == "kill" else None,
        )


@dataclass(frozen=True)
class Events:
    """One reading.

    Attributes:
        events: by time, each one once.
        complete: whether everything since the asked moment is here; False where the engine may have forgotten the first.
        until: up to when they were read, in nanoseconds since 1970: where the next reading begins.
    """

    events: tuple[Event, ...]
    complete: bool
    until: int

    def then(self, later: Events) -> Events:
        """This reading and a later one, that may tell the last of these events again."""
        return Events(
            tuple(sorted({*self.events, *later.events}, key=_order)),
            self.complete and later.complete,
            max(self.until, later.until),
        )


def read_events(engine: Engine, *, since: int, until: int) -> Events:
    """Events of containers between two moments.

    Args:
        engine: an open connection.
        since: nanoseconds since 1970, included: give `Events.until` of the reading before.
        until: nanoseconds since 1970; the engine would wait for one that is still to come.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    count = 0
    found: dict[Event, None] = {}
    with engine.asking() as client:
        stream = client.events(since=_moment(since), until=_moment(until), decode=True)
        try:
            for answer in stream:
                count += 1
                if (event := Event.told(answer)) is not None:
                    found[event] = None
        finally:
            stream.close()
    return Events(tuple(sorted(found, key=_order)), count < REMEMBERED, until)


# ------------------------------------------------------------------- deaths


class Cause(StrEnum):
    """What ended a container, or a process in it."""

    OOM = "out of memory"
    """Its limit of memory: the first process was killed."""
    CHILD_OOM = "a child out of memory"
    """Its limit of memory: another process was killed, and the container lives on. Only the event tells it."""
    STOPPED = "stopped"
    """Somebody asked it to end (`docker stop`), whether it obeyed or had to be killed."""
    KILLED = "killed"
    """Somebody sent SIGKILL through the engine."""
    VANISHED = "killed from outside"
    """SIGKILL that the engine did not send: the machine's own out-of-memory killer, or a person."""
    FAILED = "failed"
    """It ended by itself, with a code that is not 0."""
    ENDED = "ended"
    """It ended by itself, with 0."""


@dataclass(frozen=True)
class Death:
    """The end of a container, or of a process in one that lives on.

    Attributes:
        cause: as far as the events tell it.
        container: its id.
        name: the container's.
        nanoseconds: when, since 1970.
        exit_code: of the container, None if it lives.
        lived: seconds since it was started; None where its start is not among the events.
    """

    cause: Cause
    container: str
    name: str
    nanoseconds: int
    exit_code: int | None
    lived: float | None = None

    @property
    def at(self) -> float:
        """Seconds since 1970."""
        return self.nanoseconds / _NANO

    @property
    def out_of_memory(self) -> bool:
        """Whether a limit of memory is proved to be the cause."""
        return self.cause in {Cause.OOM, Cause.CHILD_OOM}


def deaths(events: Iterable[Event]) -> tuple[Death, ...]:
    """Every death that events tell of, by time.

    An exit code of 137 proves no lack of memory, and its absence does not disprove one: only an `oom` event does, and there is
    none where no limit was set.
    """
    mine: dict[str, list[Event]] = {}
    for event in sorted(events, key=_order):
        mine.setdefault(event.container, []).append(event)
    found = [death for told in mine.values() for death in _deaths_of(told)]
    return tuple(sorted(found, key=lambda one: (one.nanoseconds, one.container)))


def _deaths_of(told: list[Event]) -> Iterator[Death]:
    """The deaths of one container, which can be started again."""
    life = _Life()
    for event in told:
        if event.action in {"start", "kill", "die"} and life.end is not None:
            yield from life.deaths()
            life = _Life()
        if event.action == "start":
            life.started = (
                event  # what came before stays: engines tell the end of a short life before its start
            )
        elif event.action == "oom":
            life.ooms.append(event)  # told after the end too: memory and processes have a watcher each
        elif event.action == "kill":
            life.signals.append(event.signal)
        elif event.action == "die":
            life.end = event
    yield from life.deaths()


@dataclass
class _Life:
    """From a start to an end, as far as they are told."""

    started: Event | None = None
    end: Event | None = None
    ooms: list[Event] = field(default_factory=list)
    signals: list[int | None] = field(default_factory=list)

    def deaths(self) -> Iterator[Death]:
        """Of its children, and its own."""
        end, ooms = self.end, self.ooms
        fatal = end is not None and end.exit_code == _KILLED and bool(ooms) and _SIGKILL not in self.signals
        for one in ooms[:-1] if fatal else ooms:
            yield _death(Cause.CHILD_OOM, one, self.started)
        if end is not None:
            yield _death(Cause.OOM if fatal else _cause(end.exit_code, self.signals), end, self.started)


def _cause(code: int | None, signals: list[int | None]) -> Cause:
    if any(signal != _SIGKILL for signal in signals):
        return Cause.STOPPED
    if signals:
        return Cause.KILLED
    if code == _KILLED:
        return Cause.VANISHED
    return Cause.ENDED if code == 0 else Cause.FAILED


def _death(cause: Cause, event: Event, started: Event | None) -> Death:
    lived = None if started is None else (event.nanoseconds - started.nanoseconds) / _NANO
    return Death(cause, event.container, event.name, event.nanoseconds, event.exit_code, lived)


# ------------------------------------------------------------------- values


def _order(event: Event) -> tuple[int, str, str]:
    return event.nanoseconds, event.container, event.action


def _moment(nanoseconds: int) -> str:
    """How the engine takes a moment without losing what is less than a second."""
    return f"{nanoseconds // _NANO}.{nanoseconds % _NANO:09d}"


def _number(told: object) -> int | None:
    try:
        return int(str(told))
    except ValueError:
        return None
