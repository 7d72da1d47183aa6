"""Campaigns of an outside benchmark: what was asked, each time its program was started, its processes, and what happened.

A campaign has one supervisor at a time, whoever holds its lease. A supervisor that lives is never replaced, not even one that is
stopped: two of them would end each other's processes. What it does is written down before it is done.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Self

from pytest_evalharness.base.database import Run
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import dump, load, whole
from pytest_evalharness.ledger.states import CampaignState, check_campaign

_ROW = "SELECT * FROM campaigns WHERE name = ?"
_FREE = {"lease": None, "owner_json": None, "heartbeat_at": None}
ASKED = "asked"
"""The kind of the event by which another process asks the supervisor for something."""


@dataclass(frozen=True)
class CampaignRecord:
    """A campaign as it was when it was read. Times are seconds since 1970.

    Attributes:
        name: what its user calls it.
        state: where it stands.
        told: what was asked for and where its files are.
        identity: what a resumption must share with it.
        progress: its supervisor's last word; None before the first.
        owner: its supervisor, if it has one (or had one that died).
        heartbeat_at: when that last said something.
        created_at: when it was written down.
    """

    name: str
    state: CampaignState
    told: dict[str, Any]
    identity: dict[str, Any]
    progress: dict[str, Any] | None
    owner: Owner | None
    heartbeat_at: float | None
    created_at: float


@dataclass(frozen=True)
class Start:
    """One time that the benchmark's program was started, or was about to be.

    Attributes:
        number: 1 for the first.
        token: what all processes of this start carry in their environment, and no others.
        argv: its command.
        host: where, see `Owner.host`; pids mean something there only.
        pid: its process; None if that was not written down.
        started: that process's start time, see `Owner.started`.
        began_at: when it was written down.
        ended_at: when its end was seen; None before that.
        exit_code: with what it ended, negative for a signal; None if nobody knows.
    """

    number: int
    token: str
    argv: tuple[str, ...]
    host: str
    pid: int | None
    started: str | None
    began_at: float
    ended_at: float | None
    exit_code: int | None


@dataclass(frozen=True)
class SeenProcess:
    """A process that belonged to a start when it was seen.

    Attributes:
        host: where, see `Owner.host`.
        pid: its id there.
        started: its start time; with the pid it names one process.
        command: its command line, without secrets.
        task: the domain it worked on; empty if none alone.
    """

    host: str
    pid: int
    started: str
    command: str
    task: str = ""


@dataclass(frozen=True)
class CampaignEvent:
    """Something that happened, or was about to: events are written before they are acted on."""

    id: int
    kind: str
    told: dict[str, Any]
    at: float


class CampaignLost(RuntimeError):
    """Another process supervises the campaign now: do nothing more to it."""


class Campaigns:
    """The campaigns of one ledger. Every method raises `JournalUnavailable` when the file cannot be read or written."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(self, name: str, told: Mapping[str, Any], identity: Mapping[str, Any]) -> CampaignRecord:
        """Write a campaign down; one of that name stays as it is. Nothing is started by that."""
        with self._access.storage.transaction() as run:
            run(
                "INSERT INTO campaigns (name, state, told_json, identity_json, created_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                name,
                CampaignState.PLANNED,
                dump(dict(told)),
                dump(dict(identity)),
                self._access.clock.now(),
            )
            return _campaign(run(_ROW, name)[0])

    def find(self, name: str) -> CampaignRecord | None:
        """The campaign of a name; None if there is none."""
        rows = self._access.storage.read(_ROW, name)
        return _campaign(rows[0]) if rows else None

    def every(self) -> list[CampaignRecord]:
        """All campaigns, oldest first."""
        return [
            _campaign(row)
            for row in self._access.storage.read("SELECT * FROM campaigns ORDER BY created_at, name")
        ]

    def supervised(self, name: str) -> bool:
        """Whether a process that is alive supervises it."""
        rows = self._access.storage.read(_ROW, name)
        return bool(rows) and self._access.held(rows[0], speaks=False)

    def claim(self, name: str) -> CampaignLease | None:
        """The right to supervise a campaign; None if a living process has it.

        Raises:
            KeyError: there is no such campaign.
        """
        with self._access.storage.transaction() as run:
            rows = run(_ROW, name)
            if not rows:
                raise KeyError(name)
            if self._access.held(rows[0], speaks=False):
                return None
            lease = self._access.nonce()
            owner = dump(self._access.owner.as_json())
            _change(
                run, name, {"lease": lease, "owner_json": owner, "heartbeat_at": self._access.clock.now()}
            )
            return CampaignLease(self._access, name, lease)

    def starts(self, name: str) -> list[Start]:
        """Each time that its program was started, oldest first."""
        sql = "SELECT * FROM campaign_starts WHERE name = ? ORDER BY number"
        return [_start(row) for row in self._access.storage.read(sql, name)]

    def processes(self, name: str) -> list[SeenProcess]:
        """Every process that was seen to belong to it, in the order in which they were seen."""
        sql = "SELECT * FROM campaign_processes WHERE name = ? ORDER BY seen_at, rowid"
        return [
            SeenProcess(row["host"], row["pid"], row["started"], **whole(row["told_json"]))
            for row in self._access.storage.read(sql, name)
        ]

    def note(self, name: str, kind: str, told: Mapping[str, Any]) -> int:
        """Append an event, from whichever process; returns its number.

        Raises:
            KeyError: there is no such campaign.
        """
        with self._access.storage.transaction() as run:
            if not run(_ROW, name):
                raise KeyError(name)
            return _note(run, name, kind, told, self._access.clock.now())

    def events(self, name: str, *, after: int = 0) -> list[CampaignEvent]:
        """What happened, oldest first.

        Args:
            name: the campaign.
            after: only events behind the one of this number.
        """
        sql = "SELECT * FROM campaign_events WHERE name = ? AND event_id > ? ORDER BY event_id"
        return [
            CampaignEvent(row["event_id"], row["kind"], whole(row["told_json"]), row["at"])
            for row in self._access.storage.read(sql, name, after)
        ]


class CampaignLease:
    """The right to supervise one campaign, from `Campaigns.claim`. Use it in a `with` statement.

    Every method but `release` raises `CampaignLost` if another process has it by now, and `JournalUnavailable` if it cannot be
    written down.
    """

    def __init__(self, access: Access, name: str, lease: str) -> None:
        self._access = access
        self._lease = lease
        self.name = name

    @property
    def record(self) -> CampaignRecord:
        """The campaign as it is now."""
        return _campaign(self._access.storage.read(_ROW, self.name)[0])

    def accept(self, told: Mapping[str, Any], identity: Mapping[str, Any], differences: list[str]) -> None:
        """Let the campaign go on as something else than it began as; what differs is kept for ever as an event."""
        with self._access.storage.transaction() as run:
            before = self._held(run)
            changed = {"told_json": dump(dict(told)), "identity_json": dump(dict(identity))}
            _change(run, self.name, changed)
            what = {"differences": differences, "identity": whole(before["identity_json"])}
            _note(run, self.name, "accepted", what, self._access.clock.now())

    def start(self, argv: Iterable[str]) -> Start:
        """Write down that the program is about to be started. Start it only after this returns."""
        with self._access.storage.transaction() as run:
            self._step(run, CampaignState.STARTING)
            sql = "SELECT COALESCE(MAX(number), 0) + 1 AS next FROM campaign_starts WHERE name = ?"
            number = run(sql, self.name)[0]["next"]
            run(
                "INSERT INTO campaign_starts (name, number, token, argv_json, host, began_at) VALUES (?, ?, ?, ?, ?, ?)",
                self.name,
                number,
                self._access.nonce(),
                dump(list(argv)),
                self._access.owner.host,
                self._access.clock.now(),
            )
            return _latest_start(run, self.name)

    def running(self, pid: int, started: str) -> None:
        """Write down which process it is."""
        with self._access.storage.transaction() as run:
            self._step(run, CampaignState.RUNNING)
            sql = "UPDATE campaign_starts SET pid = ?, started = ? WHERE name = ? AND number = ?"
            run(sql, pid, started, self.name, _latest_start(run, self.name).number)

    def saw(self, processes: Iterable[SeenProcess]) -> None:
        """Write down processes of the latest start, so that whoever comes later knows them without their environment.

        What was told of one before is replaced.
        """
        with self._access.storage.transaction() as run:
            self._held(run)
            number = _latest_start(run, self.name).number
            for one in processes:
                told = {key: value for key, value in asdict(one).items() if key in {"command", "task"}}
                run(
                    "INSERT INTO campaign_processes VALUES (?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET told_json = excluded.told_json",
                    *(self.name, number, one.host, one.pid, one.started, dump(told)),
                    self._access.clock.now(),
                )

    def heartbeat(self, progress: Mapping[str, Any] | None = None) -> None:
        """Say that the supervisor is at work, and how far the campaign is."""
        columns = {} if progress is None else {"progress_json": dump(dict(progress))}
        with self._access.storage.transaction() as run:
            self._held(run)
            _change(run, self.name, {**columns, "heartbeat_at": self._access.clock.now()})

    def note(self, kind: str, told: Mapping[str, Any]) -> int:
        """Append an event: what is about to be done, before it is; returns its number."""
        with self._access.storage.transaction() as run:
            self._held(run)
            return _note(run, self.name, kind, told, self._access.clock.now())

    def end(self, state: CampaignState, exit_code: int | None, why: str) -> None:
        """Write down how the latest start ended. All its processes have ended by now.

        Args:
            state: where the campaign stands then.
            exit_code: of the program; None if nobody knows.
            why: in words.
        """
        with self._access.storage.transaction() as run:
            self._step(run, state)
            at = self._access.clock.now()
            run(
                "UPDATE campaign_starts SET ended_at = ?, exit_code = ? WHERE name = ? AND number = ?",
                *(at, exit_code, self.name, _latest_start(run, self.name).number),
            )
            _note(run, self.name, "ended", {"state": str(state), "exit_code": exit_code, "why": why}, at)

    def release(self) -> None:
        """Let another process supervise it. Never raises: a lease that stays ends with its process."""
        with suppress(JournalUnavailable), self._access.storage.transaction() as run:
            if run(_ROW + " AND lease = ?", self.name, self._lease):
                _change(run, self.name, _FREE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _held(self, run: Run) -> sqlite3.Row:
        rows = run(_ROW + " AND lease = ?", self.name, self._lease)
        if not rows:
            raise CampaignLost(f"campaign {self.name} is supervised by another process now")
        return rows[0]

    def _step(self, run: Run, want: CampaignState) -> None:
        check_campaign(self.name, CampaignState(self._held(run)["state"]), want)
        _change(run, self.name, {"state": want, "heartbeat_at": self._access.clock.now()})


def _change(run: Run, name: str, columns: Mapping[str, Any]) -> None:
    assignments = ", ".join(f"{column} = ?" for column in columns)
    run(f"UPDATE campaigns SET {assignments} WHERE name = ?", *columns.values(), name)  # noqa: S608


def _note(run: Run, name: str, kind: str, told: Mapping[str, Any], at: float) -> int:
    run(
        "INSERT INTO campaign_events (name, kind, told_json, at) VALUES (?, ?, ?, ?)",
        *(name, kind, dump(dict(told)), at),
    )
    return int(run("SELECT last_insert_rowid() AS id")[0]["id"])


def _campaign(row: sqlite3.Row) -> CampaignRecord:
    owner = load(row["owner_json"])
    return CampaignRecord(
        name=row["name"],
        state=CampaignState(row["state"]),
        told=whole(row["told_json"]),
        identity=whole(row["identity_json"]),
        progress=load(row["progress_json"]),
        owner=None if owner is None else Owner.from_json(owner),
        heartbeat_at=row["heartbeat_at"],
        created_at=row["created_at"],
    )


def _start(row: sqlite3.Row) -> Start:
    return Start(
        number=row["number"],
        token=row["token"],
        argv=tuple(whole(row["argv_json"])),
        host=row["host"],
        pid=row["pid"],
        started=row["started"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        exit_code=row["exit_code"],
    )


def _latest_start(run: Run, name: str) -> Start:
    return _start(run("SELECT * FROM campaign_starts WHERE name = ? ORDER BY number DESC LIMIT 1", name)[0])
