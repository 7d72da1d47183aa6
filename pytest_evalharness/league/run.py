"""One runner for the plugin and the command line: freeze, launch, wait, judge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ArmFailed, EvalHarnessError, FieldUnavailable
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES, Arm, build_arm
from pytest_evalharness.league.builds import require_different
from pytest_evalharness.league.drive import BlockDriver, Context
from pytest_evalharness.league.plan import Budgets, ComparisonPlan
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.roster import Roster, division_of, no_longer_live, resolve_field
from pytest_evalharness.league.trust import findings
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key, digest
from pytest_evalharness.ledger.records import ArmSpec, Block, Comparison
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import Membership
from pytest_evalharness.observatory.resolve import ResolvedPolicy, resolve_policy
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Reason

_ROSTER_SECONDS = 120.0
_FIRST_LOOK, _LAST_LOOK = 0.02, 0.5
_JOIN_SECONDS = 3.0


@dataclass(frozen=True)
class RunOptions:
    """What belongs to a run rather than to a case."""

    run_id: str
    notes: str
    fresh: bool
    queue_budget: float
    stall_grace: float | None = None
    total_budget: float | None = None


@dataclass
class Entry:
    """A case's comparison on its way."""

    name: str
    plan: ComparisonPlan
    comparison: Comparison | None = None
    arms: dict[str, Arm] = field(default_factory=dict)
    roster: Roster | None = None
    error: EvalHarnessError | None = None


@dataclass(frozen=True)
class Preview:
    """A comparison as it would be posted."""

    roster: Roster
    arms: dict[str, Arm]
    budgets: Budgets


class LeagueRun:
    """All comparisons of a run in this process. Other processes on the same ledger share the work."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        observatory: Observatory,
        clock: Clock,
        events: EventLog,
        options: RunOptions,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self.ledger = ledger
        self.observatory = observatory
        self.clock = clock
        self.events = events
        self.options = options
        self.on_wait = on_wait
        self._entries: dict[str, Entry] = {}
        self._drivers: dict[str, BlockDriver] = {}
        self._stop = threading.Event()
        self._live: dict[tuple[str, str], list[Membership]] = {}
        self._divisions: dict[str, str] = {}
        self._validated: set[str] = set()
        self._launched = False
        self._lock = threading.Lock()

    # ------------------------------------------------------------- planning

    def add(self, case: str, plan: ComparisonPlan) -> None:
        """Put a case's comparison on the plan. Nothing is resolved or posted yet."""
        self._entries.setdefault(case, Entry(case, plan))

    def prepare(self, case: str) -> Entry:
        """Resolve and freeze one comparison, or find it frozen. Its error, if any, is kept for its own case."""
        entry = self._entries[case]
        if entry.comparison is None and entry.error is None:
            try:
                self._freeze(entry)
            except EvalHarnessError as error:
                entry.error = error
        return entry

    def _freeze(self, entry: Entry) -> None:
        policies = self.policies(entry.plan)
        require_different(policies[entry.plan.label(CANDIDATE)], policies[entry.plan.label(BASELINE)])
        comparison = self._open(entry, policies, fresh=self.options.fresh)
        if comparison.frozen is not None and self._never_posted(comparison):
            roster = Roster.from_json(comparison.frozen["roster"])
            if no_longer_live(roster, self._memberships(roster.league, roster.division)):
                # The field moved on before anything was sent: another attempt costs nothing and is no second look.
                comparison = self._open(entry, policies, fresh=True)
        if comparison.frozen is None:
            comparison = self._freeze_now(entry.plan, comparison, policies)
        assert comparison.frozen is not None
        entry.roster = Roster.from_json(comparison.frozen["roster"])
        entry.arms = {side: Arm.from_json(side, comparison.frozen["arms"][side]) for side in SIDES}
        entry.comparison = comparison

    def _open(self, entry: Entry, policies: Mapping[str, ResolvedPolicy], *, fresh: bool) -> Comparison:
        versions = {label: policy.policy_version_id for label, policy in sorted(policies.items())}
        asked = {**entry.plan.to_json(), "versions": versions}
        return self.ledger.open_comparison(
            asked, run_id=self.options.run_id, case_name=entry.name, fresh=fresh
        )

    def _freeze_now(
        self, plan: ComparisonPlan, comparison: Comparison, policies: Mapping[str, ResolvedPolicy]
    ) -> Comparison:
        roster = self.field(plan)
        arms = {side: build_arm(plan, side, roster, policies) for side in SIDES}
        frozen = {"roster": roster.to_json(), "arms": {side: arm.to_json() for side, arm in arms.items()}}
        specs = {}
        for side, arm in arms.items():
            # The roster tells when it was frozen: cases of one run share an arm, and no run compares its candidate
            # with a baseline that was played at another time.
            posted = {"server": plan.server, "roster": roster.to_json(), "body": dict(arm.body)}
            specs[side] = ArmSpec(arm_key(posted), arm.to_json(), [dict(arm.body)])
        return self.ledger.freeze(comparison.id, frozen, specs)

    def _never_posted(self, comparison: Comparison) -> bool:
        blocks = [block for key in comparison.arms.values() for block in self.ledger.blocks(key)]
        return all(block.state is BlockState.PLANNED and block.owner is None for block in blocks)

    def policies(self, plan: ComparisonPlan) -> dict[str, ResolvedPolicy]:
        """Every pinned label as a version: an owned policy, or a live member of the league."""
        labels = dict.fromkeys((*plan.candidate.values(), *plan.baseline.values()))
        live = self._memberships(plan.league, self._division(plan))
        return {label: resolve_policy(self.observatory, label, live=live) for label in labels}

    def policy(self, label: str, plan: ComparisonPlan) -> ResolvedPolicy:
        """One label as a version, seen from a plan's league."""
        return resolve_policy(
            self.observatory, label, live=self._memberships(plan.league, self._division(plan))
        )

    def field(self, plan: ComparisonPlan) -> Roster:
        """The frozen field of this run: resolved by whichever process comes first, read by the others."""
        question = digest(
            {
                "league": plan.league,
                "division": plan.division,
                "opponents": list(plan.opponents),
                "seats": plan.seats_from_ranking,
            }
        )
        data = self.ledger.once(
            "roster",
            f"{self.options.run_id}:{question}",
            lambda: resolve_field(self.observatory, plan, self.clock).to_json(),
            deadline=Deadline.after(self.clock, _ROSTER_SECONDS),
        )
        return Roster.from_json(data)

    def _division(self, plan: ComparisonPlan) -> str:
        if plan.division is not None:
            return plan.division
        if plan.league not in self._divisions:
            self._divisions[plan.league] = division_of(self.observatory, plan)
        return self._divisions[plan.league]

    def _memberships(self, league: str, division: str, *, again: bool = False) -> list[Membership]:
        if again or (league, division) not in self._live:
            live = self.observatory.memberships(league_id=league, division_id=division, active_only=True)
            self._live[league, division] = live
        return self._live[league, division]

    # ------------------------------------------------------------ launching

    def launch_all(self) -> None:
        """Post every arm of the plan that nobody has posted, all at once. Safe to call from every case."""
        with self._lock:
            if self._launched:
                return
            self._launched = True
        for case in self._entries:
            self.prepare(case)
        ready = [entry for entry in self._entries.values() if entry.comparison is not None]
        for entry in ready:
            self._take_work(entry)

    def _take_work(self, entry: Entry) -> None:
        assert entry.comparison is not None
        for side in SIDES:
            for block in self.ledger.blocks(entry.comparison.arms[side]):
                if block.block_id not in self._drivers and block.state is not BlockState.FINISHED:
                    self._take_block(entry, side, block)

    def _take_block(self, entry: Entry, side: str, block: Block) -> None:
        lease = self.ledger.acquire(block.block_id, session=self.options.run_id)
        if lease is None:
            return
        context = Context(
            observatory=self.observatory,
            clock=self.clock,
            events=self.events,
            notes=self.options.notes,
            stop=self._stop,
            revalidate=lambda: self._revalidate(entry),
        )
        driver = BlockDriver(context, lease, entry.arms[side], self.budgets(entry.plan))
        self._drivers[block.block_id] = driver
        driver.start()

    def _revalidate(self, entry: Entry) -> None:
        """The field once more, right before a POST: versions roll several times a day."""
        roster = entry.roster
        assert roster is not None
        with self._lock:
            if roster.resolved_at in self._validated:
                return
            gone = no_longer_live(roster, self._memberships(roster.league, roster.division, again=True))
            if not gone:
                self._validated.add(roster.resolved_at)
                return
        names = ", ".join(f"{printable(m.label)} ({printable(m.player_name)})" for m in gone)
        raise FieldUnavailable(
            f"the field changed between freezing and posting: {names} is no longer live",
            not_done="this arm was not submitted",
            next_step="run the same command again: it freezes the field as it is then",
        )

    def budgets(self, plan: ComparisonPlan) -> Budgets:
        """How long a plan's arms may take."""
        return Budgets.for_plan(
            plan,
            queue=self.options.queue_budget,
            stall=self.options.stall_grace,
            total=self.options.total_budget,
        )

    def preview(self, case: str) -> Preview:
        """Resolve a case as it would be posted now, without writing it down.

        Raises:
            EvalHarnessError: it cannot be resolved.
        """
        plan = self._entries[case].plan
        policies = self.policies(plan)
        require_different(policies[plan.label(CANDIDATE)], policies[plan.label(BASELINE)])
        roster = self.field(plan)
        arms = {side: build_arm(plan, side, roster, policies) for side in SIDES}
        return Preview(roster, arms, self.budgets(plan))

    # -------------------------------------------------------------- waiting

    def frozen_field(self, case: str) -> Roster:
        """The frozen field of a case; freezes it if this is the first to ask.

        Raises:
            EvalHarnessError: it could not be resolved.
        """
        entry = self.prepare(case)
        if entry.error is not None:
            raise entry.error
        assert entry.roster is not None
        return entry.roster

    def compare(self, name: str, plan: ComparisonPlan) -> ABResult:
        """Play a comparison that is on no plan, now.

        Raises:
            EvalHarnessError: as `result`.
        """
        self.add(name, plan)
        entry = self.prepare(name)
        if entry.comparison is not None:
            self._take_work(entry)
        return self._finished(entry)

    def result(self, case: str) -> ABResult:
        """Wait for a case's two arms and judge them.

        Raises:
            EvalHarnessError: the comparison could not be prepared, or an arm came to nothing.
        """
        self.launch_all()
        return self._finished(self.prepare(case))

    def _finished(self, entry: Entry) -> ABResult:
        if entry.error is not None:
            raise entry.error
        evidence = self._wait(entry)
        return self._judge(entry, evidence)

    def _wait(self, entry: Entry) -> dict[str, list[Block]]:
        assert entry.comparison is not None
        pause = _FIRST_LOOK
        while True:
            blocks = {side: self.ledger.blocks(entry.comparison.arms[side]) for side in SIDES}
            if all(block.state is BlockState.FINISHED for side in SIDES for block in blocks[side]):
                self.on_wait()
                return blocks
            self._raise_failures(blocks)
            self._take_work(entry)
            self.on_wait()
            self.clock.wait(pause)
            pause = min(pause * 1.5, _LAST_LOOK)

    def _raise_failures(self, blocks: Mapping[str, list[Block]]) -> None:
        """One arm's failure ends the other's wait: the comparison can no longer be had."""
        for side in SIDES:
            for block in blocks[side]:
                error = self._failure_of(side, block)
                if error is None:
                    continue
                other = next(s for s in SIDES if s != side)
                posted = [
                    b.request_id for b in blocks[other] if b.request_id and b.state is BlockState.RUNNING
                ]
                if isinstance(error, EvalHarnessError) and posted:
                    told = f"the {other} arm ({', '.join(posted)}) goes on at the server and is waited for no longer"
                    error = type(error)(
                        error.what,
                        not_done="; ".join(part for part in (error.not_done, told) if part),
                        next_step=error.next_step,
                    )
                raise error

    def _failure_of(self, side: str, block: Block) -> BaseException | None:
        driver = self._drivers.get(block.block_id)
        if driver is not None and driver.error is not None:
            return driver.error
        if block.state is BlockState.FINISHED or not block.settled:
            return None
        if driver is not None and driver.is_alive():
            return None  # a later run polls an abandoned block again; its driver is about to say so
        return block.failure or ArmFailed(
            f"the {side} arm ended as {block.state} ({block.request_id or 'never posted'})",
            not_done="nothing was judged",
            next_step="run with --eval-fresh to post it again",
        )

    # -------------------------------------------------------------- judging

    def _judge(self, entry: Entry, blocks: Mapping[str, list[Block]]) -> ABResult:
        comparison, roster, plan = entry.comparison, entry.roster, entry.plan
        assert comparison is not None
        assert roster is not None
        records = {
            side: ArmRecord.from_blocks([b.evidence or {} for b in blocks[side]], plan.episodes)
            for side in SIDES
        }
        found = findings(entry.arms, records)
        judgement = judge(
            plan.declaration,
            records[CANDIDATE].evidence(entry.arms[CANDIDATE].label, plan.tested_seat),
            records[BASELINE].evidence(entry.arms[BASELINE].label, plan.tested_seat),
            found,
            verified=() if any(f.reason is Reason.SEATS for f in found) else ("seats",),
        )
        result = ABResult(
            name=f"A/B {plan.role}",
            plan=plan,
            judgement=judgement,
            roster=roster,
            records=records,
            attempt=comparison.attempt,
            earlier=self._earlier(comparison),
            age=self._age(comparison, blocks),
        )
        self.ledger.record_verdict(comparison.id, self.options.run_id, judgement.to_json())
        return result

    def _age(self, comparison: Comparison, blocks: Mapping[str, list[Block]]) -> float | None:
        if comparison.run_id == self.options.run_id:
            return None
        ended = [block.finished_at or 0.0 for side in SIDES for block in blocks[side]]
        mine = any(block.block_id in self._drivers for side in SIDES for block in blocks[side])
        return None if mine else max(0.0, self.clock.now() - max(ended))

    def _earlier(self, comparison: Comparison) -> tuple[str, ...]:
        told = []
        for attempt in self.ledger.attempts(comparison.plan_key):
            if attempt.attempt >= comparison.attempt:
                continue
            verdicts = self.ledger.verdicts(attempt.id)
            if verdicts:
                told.append(f"{verdicts[-1].judgement['verdict']} (attempt {attempt.attempt})")
        return tuple(told)

    def close(self) -> None:
        """Stop this process's drivers and let go of their work, so that others take it over at once."""
        self._stop.set()
        deadline = Deadline.after(self.clock, _JOIN_SECONDS)
        for driver in self._drivers.values():
            driver.join(deadline.remaining)
