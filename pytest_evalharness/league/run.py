"""One runner for the plugin and the command line: freeze, launch, wait, judge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.errors import EvalHarnessError, JournalUnavailable
from pytest_evalharness.league.adopting import Adopter
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.entries import Entries, Entry
from pytest_evalharness.league.family import Evidence, FamilyJudge, FamilyPlan, Judged, Settled
from pytest_evalharness.league.freeze import Freezer
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.judging import Case, concluded
from pytest_evalharness.league.local_builds import BuildSources
from pytest_evalharness.league.metric_values import said_of
from pytest_evalharness.league.plan import Budgets, ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan, in_configuration
from pytest_evalharness.league.pool_result import FieldsResult, PoolResult, concluded_pool, judge_cases
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.renewing import MOST, nothing_sent
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.single_arm import ArmResult, SingleArmPlan, play
from pytest_evalharness.league.work import Work
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block, Comparison
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.resolve import ResolvedPolicy


@dataclass(frozen=True)
class RunOptions:
    """What belongs to a run rather than to a case.

    Attributes:
        account: whose token asks, as the server knows it; None where that is not known.
        builds: where to learn whether the arms are different builds, beside the server.
    """

    run_id: str
    notes: str
    fresh: bool
    queue_budget: float
    stall_grace: float | None = None
    total_budget: float | str | None = None
    queue_exceeded: str | None = None
    budget: float | None = None
    account: str | None = None
    builds: BuildSources = field(default_factory=BuildSources)


class LeagueRun:
    """All comparisons of a run in this process. Other processes on the same ledger share the work.

    Args:
        ledger: the journal.
        connect: gives the client; not called while the ledger knows everything that is asked.
        clock: tells the time, and waits.
        events: where progress is told.
        options: what belongs to the run.
        stop: set by `close`; whoever waits for the server on this run's behalf may share it.
        on_wait: called between two looks at the journal, in the thread that waits.
        family: the claims that are tested together; None if each case is judged by itself.
        on_notice: told what every reader of a report must know.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        connect: Callable[[], Observatory],
        clock: Clock,
        events: EventLog,
        options: RunOptions,
        stop: threading.Event,
        on_wait: Callable[[], None] = lambda: None,
        family: FamilyPlan | None = None,
        on_notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._on_wait = on_wait
        self._on_notice = on_notice
        self._events = events
        self._options = options
        self._freezer = Freezer(
            ledger, connect, clock, options.run_id, account=options.account, sources=options.builds,
            stop=stop, on_wait=on_wait,
        )  # fmt: skip
        self._work = Work(
            ledger=ledger,
            connect=connect,
            clock=clock,
            events=events,
            run_id=options.run_id,
            notes=options.notes,
            stop=stop,
            on_wait=on_wait,
            revalidate=self._freezer.live.revalidate,
            budgets=self.budgets,
            budget=options.budget,
            looks_deep=lambda: self._rate_asked,
        )
        self._entries = Entries(self._freezer, fresh=options.fresh)
        self._launched = False
        self.family = FamilyJudge(ledger, options.run_id, family, self._evidence, on_notice)
        noted = ledger.run_began(options.run_id)
        self._began = clock.now() if noted is None else noted

    # ------------------------------------------------------------- planning

    def add(self, case: str, plan: ComparisonPlan | PoolPlan, kept: Comparison | None = None) -> None:
        """Put a case's comparison, or its pool, on the plan; see `Entries.add`."""
        self._entries.add(case, plan, kept)

    @property
    def adopter(self) -> Adopter:
        """Takes up requests that somebody else created."""
        return self._freezer.adopter

    def policy(self, label: str, plan: ComparisonPlan) -> ResolvedPolicy:
        """One label as a version, seen from a plan's league."""
        return self._freezer.live.policy(label, plan)

    def frozen_field(self, case: str) -> Roster:
        """The frozen field of a case, the latest if there are several; freezes it if this is the first to ask.

        Raises:
            EvalHarnessError: it could not be resolved.
        """
        frozen = self._entries.prepare(case).ready()
        return (frozen, *frozen.later)[-1].roster

    def builds(self, case: str) -> Provenance:
        """What is known of a case's builds; freezes it if this is the first to ask.

        Raises:
            EvalHarnessError: it could not be resolved, or nothing proves that the builds differ.
        """
        found = self._entries.prepare(case).ready().builds
        assert found is not None  # whatever froze it, more was learnt when it was found again
        return found

    def preview(self, case: str) -> Frozen:
        """A case as it would be posted now, without writing it down.

        Raises:
            EvalHarnessError: it cannot be resolved.
        """
        return self._freezer.preview(self._entries.plan(case))

    def preview_pool(self, case: str) -> list[Frozen]:
        """Each configuration of a case's pool as it would be posted now.

        Raises:
            EvalHarnessError: one cannot be resolved.
        """
        return self._freezer.preview_pool(self._entries.asked_pool(case))

    def budgets(self, plan: ComparisonPlan) -> Budgets:
        """How long a plan's arms may take."""
        options = self._options
        return Budgets.for_plan(
            plan, queue=options.queue_budget, stall=options.stall_grace, total=options.total_budget,
            queue_exceeded=options.queue_exceeded,
        )  # fmt: skip

    # ------------------------------------------------------------ launching

    def _launch_all(self) -> None:
        """Post every arm of the plan that nobody has posted, all at once."""
        if self._launched:
            return
        prepared = {}
        for key, entry in self._entries.all():
            frozen = self._entries.prepare(key).frozen
            if frozen is not None and frozen.comparison is not None:
                prepared[entry.pool or key] = frozen.comparison.id  # a pool is one claim
        self.family.fix(prepared)
        self._launched = True
        for _, entry in self._entries.all():
            if entry.frozen is not None and self._entries.pool(entry.name) is None:
                self._work.take(entry.plan, entry.frozen, self._look(entry))

    def _look(self, entry: Entry) -> int:
        """The planned look that a comparison is on its way to, or that decided it."""
        comparison = entry.ready().comparison
        assert comparison is not None
        if not entry.plan.declaration.looks:
            return 0
        taken = [look for look in self._ledger.looks.of(comparison.id) if look.position is not None]
        last = len(entry.plan.declaration.looks) - 1
        return next((look.position or 0 for look in taken if look.decided), min(len(taken), last))

    @property
    def _rate_asked(self) -> bool:
        """Whether some case of this run says how often an adviser must decide: cases share arms, whoever drives them."""
        return any(one.plan.declaration.min_fire_rate is not None for _, one in self._entries.all())

    # -------------------------------------------------------------- waiting

    def result(self, case: str) -> ABResult | FieldsResult:
        """Wait for a case's two arms and judge them. The first case that asks posts every arm of the plan.

        Raises:
            EvalHarnessError: the comparison could not be prepared, or an arm came to nothing.
        """
        self._launch_all()
        return self._finished(self._entries.prepare(case))

    def pool_result(self, case: str) -> PoolResult:
        """Wait for all arms of a case's pool and judge them as one. The first case that asks posts every arm of the plan.

        Raises:
            EvalHarnessError: a configuration could not be prepared, or an arm came to nothing.
        """
        self._launch_all()
        return self._pooled(case, PoolResult)

    def _pooled(self, case: str, kind: type[PoolResult]) -> PoolResult:
        plan, played = self._entries.pool(case), self._played_pool(case)
        assert plan is not None
        cases = [one for one, _ in played]

        def judge(others: Sequence[float] | None = None) -> PooledJudgement:
            return judge_cases(plan, cases, others)

        alone, settle = self._handed_over(cases[0], case, judge)
        return concluded_pool(
            kind, plan, played, alone, settle, ledger=self._ledger, clock=self._clock, began=self._began
        )

    def _played_pool(self, case: str) -> list[tuple[Case, dict[str, list[Block]]]]:
        """Wait for every configuration of a pool; a failure names the one it happened in."""
        played = []
        pool = self._entries.pool(case)
        assert pool is not None
        for name, part in zip(pool.names, self._entries.parts(case), strict=True):
            entry = self._entries.prepare(part.key)
            entry.ready()
            try:
                played.append(self._played(entry))
            except EvalHarnessError as error:
                raise in_configuration(error, name) from None
        return played

    def compare(self, name: str, plan: ComparisonPlan) -> ABResult | FieldsResult:
        """Play a comparison that is on no plan, now.

        Raises:
            EvalHarnessError: as `result`.
        """
        self.add(name, plan)
        return self._finished(self._entries.prepare(name))

    def single(self, name: str, plan: SingleArmPlan) -> ArmResult:
        """Play an arm that is compared with nothing, now.

        Raises:
            EvalHarnessError: it could not be frozen, or came to nothing.
        """
        return play(
            plan,
            lambda: self._freezer.freeze_single(plan, name, fresh=self._options.fresh),
            self._work,
            self._ledger,
            clock=self._clock,
            on_wait=self._on_wait,
        )

    def _finished(self, entry: Entry) -> ABResult | FieldsResult:
        if self._entries.pool(entry.name) is not None:
            result = self._pooled(entry.name, FieldsResult)
            assert isinstance(result, FieldsResult)
            return result
        case, blocks = self._played(entry)
        alone, settle = self._handed_over(case, entry.name, case.judge)
        return concluded(
            case, alone, blocks, settle, ledger=self._ledger, clock=self._clock, began=self._began
        )

    def _handed_over(
        self, case: Case, name: str, judge: Callable[[Sequence[float] | None], Judged]
    ) -> tuple[Judged, Callable[[], Settled[Judged]]]:
        """The judgement outside of any family, and how to have it among the claims that are tested together."""
        comparison = case.frozen.comparison
        assert comparison is not None
        alone = judge(None)

        def settle() -> Settled[Judged]:
            if self.family.concerns(comparison.id):
                self._launch_all()
            settled = self.family.settle(comparison.id, name, alone, judge)
            self._record(comparison.id, settled.judgement)
            return settled

        # Whoever is handed evidence has seen it, though the others may not have ended yet.
        self._record(comparison.id, self.family.provisional(comparison.id, name, alone, judge))
        return alone, settle

    def _record(self, comparison_id: str, judgement: Judgement | PooledJudgement) -> None:
        self._ledger.record_verdict(comparison_id, self._options.run_id, judgement.to_json())

    def _evidence(self, case: str) -> Evidence:
        """Wait until a case's comparison has ended, well or badly; its judgement outside of any family, or its failure."""
        pool, entries = self._entries.pool(case), self._entries.parts(case)
        try:
            if pool is not None:
                return judge_cases(pool, [one for one, _ in self._played_pool(case)])
            return self._played(entries[0])[0].judge()
        except Exception as error:
            if not any(map(self._came_to_nothing, entries)):
                raise  # it is this process that cannot go on waiting
            return error

    def _came_to_nothing(self, entry: Entry) -> bool:
        """Whether one of a comparison's arms has failed."""
        blocks = self._work.blocks(entry.plan, entry.ready(), self._look(entry))
        return any(self._work.failure_of(side, block) is not None for side in SIDES for block in blocks[side])

    def _played(self, entry: Entry) -> tuple[Case, dict[str, list[Block]]]:
        """Wait for a comparison, look by look, until one decides it or the last is taken."""
        plan = entry.plan
        while True:
            look = self._look(entry)
            blocks = self._wait(entry, look)
            frozen = entry.ready()
            comparison = frozen.comparison
            assert comparison is not None
            unplanned = sum(one.position is None for one in self._ledger.looks.of(comparison.id))
            every = [block for side in SIDES for block in blocks[side]]
            values, won = said_of(self._ledger, plan, every, self._clock)
            case = Case.read(
                plan,
                frozen,
                blocks,
                look=look,
                unplanned_looks=unplanned,
                values=values,
                won=won,
            )
            if not plan.declaration.looks:
                return case, blocks
            if self._decided(comparison.id, case, entry.name):
                self._ledger.stop(comparison.id)
                return case, blocks

    def _wait(self, entry: Entry, look: int) -> dict[str, list[Block]]:
        """Wait for what a look reads; a field that moves on before anything is sent is chosen anew for both arms."""
        while True:
            try:
                return self._work.wait(entry.plan, entry.ready(), look)
            except JournalUnavailable:
                raise  # it cannot say what was sent, however long one waits
            except EvalHarnessError:
                if not self._renewed(entry):
                    raise

    def _renewed(self, entry: Entry) -> bool:
        """Whether a comparison was frozen anew, here or by another process; then its arms are posted on the new field."""
        comparison, plan = entry.ready().comparison, self._entries.pool(entry.pool) or entry.plan
        assert comparison is not None
        if entry.renewals >= MOST or not isinstance(plan, ComparisonPlan | PoolPlan):
            return False
        try:
            if not nothing_sent(self._ledger.progress, comparison.id, self._clock, self._on_wait):
                return False
            case = entry.pool or entry.name
            renewed = self._freezer.renew(plan, comparison.id, case, fresh=self._options.fresh)
        except EvalHarnessError as problem:
            self._on_notice(f"the field could not be chosen anew: {problem.what}")
            return False  # why the arms could not be posted is the news
        if renewed is None:
            return False
        parts = self._entries.parts(entry.pool) if entry.pool else [entry]
        for part, frozen in zip(parts, renewed.configurations, strict=True):
            part.frozen, part.renewals = frozen, part.renewals + 1
            self._work.take(part.plan, frozen, self._look(part))
        self._on_notice(renewed.notice)
        return True

    def _decided(self, comparison_id: str, case: Case, name: str) -> bool:
        """Take a planned look, and tell whether it ended the comparison."""
        last = case.look == len(case.plan.declaration.looks) - 1
        # What stops now must stand in the end, whatever the claims that are tested with it bring.
        judgement = case.judge(self.family.assumed(comparison_id, name))
        decided = last or bool(case.found()) or judgement.settled
        seen = {"decision": judgement.decision.value, "verdict": judgement.verdict.value}
        taken = self._ledger.looks.take(
            comparison_id, case.look, seen, decided=decided, run_id=self._options.run_id
        )
        self._events.append("look", case=comparison_id, look=case.look, decided=taken.decided)
        return taken.decided

    def close(self) -> None:
        """Stop this process's drivers and let go of their work, so that others take it over at once."""
        self._work.close()
