"""From the journal to a result: records, trust, verdict, and what was concluded before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES
from pytest_evalharness.league.family import Settled
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.game import CREWRIFT
from pytest_evalharness.league.history import earlier, elsewhere, pooled_attempts
from pytest_evalharness.league.measured import measured, remarkable
from pytest_evalharness.league.metric_values import Values, Won, numbers
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord, Outcome
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.trust import findings
from pytest_evalharness.league.unshared import unshared
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.counts import Pairs, Turn
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.measures import Measures
from pytest_evalharness.verdict.words import Pairing, Reason


@dataclass(frozen=True)
class Case:
    """A comparison whose requests up to some look are finished: everything that a judgement is made of.

    Attributes:
        plan: what was asked.
        frozen: who sat where.
        records: what the episodes left, by arm.
        look: which planned look this is, from 0.
        unplanned_looks: how often results were looked at out of plan.
        values: what the declared metric says of each game, where it is a function.
    """

    plan: ComparisonPlan
    frozen: Frozen
    records: Mapping[str, ArmRecord]
    look: int
    unplanned_looks: int
    values: Values = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        plan: ComparisonPlan,
        frozen: Frozen,
        blocks: Mapping[str, list[Block]],
        *,
        look: int,
        unplanned_looks: int,
        values: Values,
        won: Won | None = None,
    ) -> Case:
        """Put a case together from the finished blocks that its look reads; `won` as a declared function says, by episode."""
        records = {
            side: ArmRecord.from_blocks(
                [block.evidence or {} for block in blocks[side]],
                frozen.arms[side].blocks[: len(blocks[side])],
                plan.reading(won or None),
            )
            for side in SIDES
        }
        return cls(plan, frozen, records, look, unplanned_looks, values)

    def found(self) -> list[Finding]:
        """What speaks against believing it, the counts left aside."""
        return list(self._findings)

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        asked = self.plan.declaration.min_fire_rate
        found = findings(
            self.frozen.arms, self.records, aa=self.plan.aa, paired=self.paired, min_fire_rate=asked
        )
        return (*found, *self._measured[1])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """What was looked at, and what was seen."""
        failed = {one.reason for one in self._findings}
        asked = self.plan.declaration.min_fire_rate
        crewrift = self.plan.game == CREWRIFT
        return measured(self.frozen.arms, self.records, failed, min_fire_rate=asked, crewrift=crewrift)

    @cached_property
    def remarkable(self) -> tuple[Finding, ...]:
        """What a reader must know of the games beside a trustworthy verdict."""
        arms, records = self.frozen.arms, self.records
        return (*unshared(arms, records), *remarkable(arms, records))

    @property
    def episodes(self) -> list[EpisodeRecord]:
        """The games of both arms."""
        return [game for side in SIDES for game in self.records[side].episodes]

    @property
    def paired(self) -> bool:
        """Whether games of the two arms belong together by their seeds."""
        return self.plan.declaration.pairing is Pairing.SEED

    def judge(self, others: Sequence[float] | None = None) -> Judgement:
        """Judge it.

        Args:
            others: the p-values of the other claims that were tested together; None outside of a family.
        """
        plan, found, read = self.plan, self.found(), self._counted
        checked = ("seats", "seeds") if self.paired else ("seats",)
        return judge(
            plan.declaration,
            read.candidate,
            read.baseline,
            found,
            verified=tuple(name for name in checked if Reason(name) not in {one.reason for one in found}),
            pairs=Pairs.of(read.turns) if self.paired else None,
            measures=self._measured[0],
            turns=read.turns,
            scores=read.scores,
            look=self.look,
            unplanned_looks=self.unplanned_looks,
            others=others,
            beside=[
                *_beside(plan, read.candidate, read.baseline),
                *self.frozen.caveats(),
                *self.remarkable,
            ],
            checks=self.checks,
            aa=plan.aa,
        )

    @cached_property
    def _counted(self) -> _Counted:
        """What the records say of the tested seat; a case is judged several times, and its records are large."""
        records, seat = self.records, self.plan.tested_seat
        outcomes = [records[side].outcomes(seat) for side in (CANDIDATE, BASELINE)]
        counted = counts_of(outcomes, paired=self.paired)
        candidate, baseline = (
            records[side].evidence(self.frozen.arms[side].label, seat, counts)
            for side, counts in zip((CANDIDATE, BASELINE), counted, strict=True)
        )
        scores = [
            records[side].scores(seat, counts)
            for side, counts in zip((CANDIDATE, BASELINE), counted, strict=True)
        ]
        told = None if scores[0] is None or scores[1] is None else (scores[0], scores[1])
        # Arms that somebody else posted may have unlike numbers of games.
        together = min(map(len, outcomes)) if self.plan.adopted is not None else None
        turns = turns_of([arm[:together] for arm in outcomes])
        return _Counted(candidate, baseline, turns, told, tuple(counted))

    @cached_property
    def _measured(self) -> tuple[Measures | None, tuple[Finding, ...]]:
        """The declared metric in each counted game, where it is not the win rate; and what speaks against believing it."""
        metric, seat = self.plan.declaration.metric, self.plan.tested_seat
        if not self.plan.declaration.measured:
            return None, ()
        arms = [
            self.records[side].counted(counts)
            for side, counts in zip((CANDIDATE, BASELINE), self._counted.counted, strict=True)
        ]
        (candidate, baseline), untold = numbers(metric, seat, arms, self.values)
        told = f"{len(untold)} of {sum(map(len, arms))} games, {', '.join(printable(one.id) for one in untold[:3])}"
        found = (Finding(Reason.UNMEASURED, told, "", tuple(one.id for one in untold)),) if untold else ()
        return Measures(candidate, baseline, paired=self.paired), found


@dataclass(frozen=True)
class _Counted:
    """Both arms' numbers, and the tested seat's games side by side with its scores."""

    candidate: ArmEvidence
    baseline: ArmEvidence
    turns: tuple[Turn, ...]
    scores: tuple[list[float], list[float]] | None
    counted: tuple[list[bool], ...]


def _beside(plan: ComparisonPlan, candidate: ArmEvidence, baseline: ArmEvidence) -> list[Finding]:
    """What a reader must know beside a trustworthy verdict."""
    if not plan.one_seed:
        return []
    games = [f"{arm.distinct} distinct games of {arm.finished}" for arm in (candidate, baseline)]
    told = f"seed {plan.config['seed']}"
    if candidate.distinct is not None and baseline.distinct is not None:
        told += f"; {games[0]} against {games[1]}"
    return [Finding(Reason.ONE_SEED, told)]


def counts_of(outcomes: Sequence[Sequence[Outcome]], *, paired: bool) -> list[list[bool]]:
    """Which episodes of each arm count: those with a result, and of pairs only those that are whole."""
    present = [[outcome is not Outcome.MISSING for outcome in arm] for arm in outcomes]
    if not paired:
        return present
    whole = [all(both) for both in zip(*present, strict=True)]
    return [whole + [False] * (len(arm) - len(whole)) for arm in present]


def turns_of(outcomes: Sequence[Sequence[Outcome]]) -> tuple[Turn, ...]:
    """The arms' games side by side, in the order they were asked for; a turn without both is left out."""
    return tuple(
        (int(c is Outcome.WIN), int(b is Outcome.WIN))
        for c, b in zip(*outcomes, strict=True)
        if Outcome.MISSING not in (c, b)
    )


def concluded(
    case: Case,
    alone: Judgement,
    blocks: Mapping[str, list[Block]],
    settle: Callable[[], Settled[Judgement]],
    *,
    ledger: Ledger,
    clock: Clock,
    began: float,
) -> ABResult:
    """Put together what the test case gets.

    Args:
        case: what was judged.
        alone: its judgement outside of any family.
        blocks: the finished blocks of each arm.
        settle: judges it among the claims that are tested together, once all of them have ended.
        ledger: where verdicts are kept.
        clock: tells how old the evidence is.
        began: when the run that judges began; evidence that was complete before was brought by an earlier one.
    """
    comparison = case.frozen.comparison
    assert comparison is not None
    ended = max(block.finished_at or 0.0 for side in SIDES for block in blocks[side])
    return ABResult(
        name=f"{'A/A' if case.plan.aa else 'A/B'} {printable(case.plan.subject)}",
        plan=case.plan,
        alone=alone,
        roster=case.frozen.roster,
        records=case.records,
        arms=case.frozen.arms,
        builds=case.frozen.builds,
        attempt=comparison.attempt,
        earlier=earlier(ledger, comparison),
        elsewhere=elsewhere(ledger, comparison),
        pooled=pooled_attempts(ledger, comparison, alone),
        age=max(0.0, clock.now() - ended) if ended < began else None,
        settle=settle,
    )
