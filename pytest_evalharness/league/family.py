"""The claims of a session that are tested together: fixed before anything is posted, judged when all of them have ended.

What a comparison brings to the others is one p-value: its gate's, or 1 where there is no evidence that anyone should
believe. Holm's adjustment does the rest (`verdict.gate.adjusted_p`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.ledger.families import Family, Member, Method, Standing
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.words import Verdict

_WIDEST_NOTE = 240
Judged = TypeVar("Judged", Judgement, PooledJudgement)
Evidence = Judgement | PooledJudgement | Exception
"""A member's own judgement, outside of any family; or what its arms failed with."""


@dataclass(frozen=True)
class FamilyPlan:
    """The claims that a run collected.

    Attributes:
        members: every claim, the deselected ones included.
        method: how p-values are adjusted.
        incomplete: whether only what failed last time was collected, so that the rest must be looked up.
        collected_under: the paths that narrowed the collection, for people; empty if none did.
    """

    members: tuple[Member, ...]
    method: Method = Method.HOLM
    incomplete: bool = False
    collected_under: str = ""


@dataclass(frozen=True)
class Counted:
    """What one member brings to the others.

    Attributes:
        cases: the cases that make the claim.
        p: its p-value.
        why: why that is 1 whatever was played; empty where it was measured.
    """

    cases: tuple[str, ...]
    p: float
    why: str = ""


@dataclass(frozen=True)
class Together:
    """The family that a comparison was judged in.

    Attributes:
        family: as it was fixed.
        this_run: whether the run that judges is the one that fixed it.
        now: how many claims the run that judges tests together.
        others: what the other members brought; empty where nothing is adjusted.
    """

    family: Family
    this_run: bool
    now: int
    others: tuple[Counted, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports. What each other member brought stands in its own report; a square of them helps nobody."""
        return {
            "counted_as_1": dict(sorted(Counter(one.why for one in self.others if one.why).items())),
            "id": self.family.id,
            "run": self.family.run_id,
            "this_run": self.this_run,
            "method": self.family.method.value,
            "now": self.now,
            "tested": len(self.family.tested),
        }


@dataclass(frozen=True)
class Settled(Generic[Judged]):
    """A judgement that no other case can change any more.

    Attributes:
        judgement: the verdict, adjusted for the family.
        together: the family; None outside of any.
    """

    judgement: Judged
    together: Together | None = None


def standing_of(declaration: Declaration) -> Standing:
    """What a claim is to its family. Claims about a margin are guards, as a rule that never decides has no p-value."""
    if declaration.claim.needs_margin:
        return Standing.GUARD
    return Standing.MEMBER if declaration.rule.decides else Standing.REPORT_ONLY


class FamilyJudge:
    """Finds the family of each comparison, and what its other members bring.

    Args:
        ledger: where families are kept.
        run_id: this run.
        plan: the claims that this run collected; None if its cases are not tested together.
        evidence: waits until a case's comparison has ended, well or badly, and tells what came of it.
        notice: told what every reader of a report must know.
    """

    def __init__(
        self,
        ledger: Ledger,
        run_id: str,
        plan: FamilyPlan | None,
        evidence: Callable[[str], Evidence],
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._plan = plan
        self._evidence = evidence
        self._notice = notice
        self._here: dict[str, str] = {}
        self._counted: dict[tuple[str, Member], Counted] = {}

    # --------------------------------------------------------------- fixing

    def planned(self) -> tuple[Member, ...]:
        """The members as they would be fixed now."""
        if self._plan is None:
            return ()
        members = self._plan.members
        if not self._plan.incomplete:
            return members
        known = self._wider()
        collected = {case for member in members for case in member.cases}
        missing = () if known is None else known.members
        return members + tuple(
            replace(member, selected=False, comparison=None)
            for member in missing
            if collected.isdisjoint(member.cases)
        )

    def size(self) -> int:
        """How many claims would be tested together if the run began now; 1 where nothing is adjusted."""
        if self._plan is None or self._plan.method is Method.NONE:
            return 1
        return sum(member.standing is Standing.MEMBER for member in self.planned())

    def notes(self) -> list[str]:
        """What would be told of the family if it were fixed now."""
        if self._plan is None:
            return []
        family = Family("", self._run_id, self._plan.method, self.planned(), 0.0)
        return list(self._notes(family, self._plan))

    def fix(self, prepared: Mapping[str, str]) -> None:
        """Fix this run's family and put its comparisons into it. Call it before anything is posted.

        Args:
            prepared: the id under which the evidence of each case is kept, for the cases that could be prepared.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        self._here = dict(prepared)
        if self._plan is None:
            return
        members = tuple(
            replace(member, comparison=next((prepared[one] for one in member.cases if one in prepared), None))
            for member in self.planned()
        )
        family = self._ledger.families.fix(self._run_id, members, self._plan.method)
        self._ledger.families.join(
            family.id, [prepared[one] for one in sorted(family.cases) if one in prepared]
        )
        for note in self._notes(family, self._plan):
            self._notice(note)
        elsewhere = {
            one.comparison
            for one in family.tested
            if one.comparison is not None and self._is_of_another(one.comparison, family)
        }
        if elsewhere:
            self._notice(
                f"{counted(len(elsewhere), 'claim')} of these {'was' if len(elsewhere) == 1 else 'were'} posted in another family, "
                f"and {'stays' if len(elsewhere) == 1 else 'stay'} judged in that one"
            )

    def _is_of_another(self, comparison_id: str, family: Family) -> bool:
        """Whether a comparison stays in another family, and that makes a difference: alone it is judged as ever."""
        found = self._ledger.families.of_comparison(comparison_id)
        if found is None or found.id == family.id:
            return found is None
        if (found.tested, found.method) == (family.tested, family.method):
            return False  # the same command again: the same claims on the same evidence, whichever run fixed them
        return max(len(found.tested), len(family.tested)) > 1

    def _wider(self) -> Family | None:
        """The latest family of another run that has everything this run collected."""
        assert self._plan is not None
        cases = [case for member in self._plan.members for case in member.cases]
        return self._ledger.families.latest_with(cases, besides=self._run_id) if cases else None

    def _notes(self, family: Family, plan: FamilyPlan) -> Iterator[str]:
        """Which claims are tested together, who is left out, and whether a wider selection would have had more."""
        tested = len(family.tested)
        yield from _how(family, tested)
        left_out = [_name(member) for member in family.tested if not member.selected]
        yield from _listed("deselected: not posted, p = 1 in the family: ", left_out)
        guards = [_name(member) for member in family.members if member.standing is Standing.GUARD]
        if tested > 1 or left_out:
            yield from _listed("guards outside of the family, each must hold by itself: ", guards)
        if guards and tested + len(guards) > 1 and family.method is Method.HOLM:
            yield (
                f"a direction that a guard finds stands among {tested + len(guards)} claims, the family's and the guards'; its "
                "margin stands by itself"
            )
        wider = None if plan.incomplete else self._wider()
        if wider is not None and len(wider.tested) > tested:
            yield (
                f"a narrower path is a narrower family: this run collected {counted(tested, 'claim')}, "
                f"run {wider.run_id} tested {len(wider.tested)} together"
            )
        elif plan.collected_under:
            yield (
                f"the family is what was collected under {plan.collected_under} ({counted(tested, 'claim')}): "
                "a narrower path is a narrower family"
            )

    # -------------------------------------------------------------- judging

    def concerns(self, comparison_id: str) -> bool:
        """Whether a comparison is in any family."""
        return self._ledger.families.of_comparison(comparison_id) is not None

    def assumed(self, comparison_id: str, case: str) -> list[float] | None:
        """The others' p-values as bad as they can be, for what must stand whatever they turn out to be.

        Returns:
            Ones; None if the claim is adjusted for nobody.
        """
        family = self._ledger.families.of_comparison(comparison_id)
        others = None if family is None else _others(family, comparison_id, case)
        return None if others is None else [1.0] * len(others)

    def provisional(
        self, comparison_id: str, case: str, alone: Judged, judge: Callable[[Sequence[float]], Judged]
    ) -> Judged:
        """What stands of a comparison whatever the others bring; arguments as for `settle`."""
        others = self.assumed(comparison_id, case)
        return alone if others is None or alone.verdict is Verdict.UNTRUSTWORTHY else judge(others)

    def settle(
        self, comparison_id: str, case: str, alone: Judged, judge: Callable[[Sequence[float]], Judged]
    ) -> Settled[Judged]:
        """Judge a comparison among the claims that it was posted with. Waits until each of them has ended.

        What cannot be believed stays so whatever the others say, and waits for nobody.

        Args:
            comparison_id: under which id its evidence is kept.
            case: the case that asks.
            alone: its judgement outside of any family.
            judge: judges it again, given the p-values of the others.
        """
        family = self._ledger.families.of_comparison(comparison_id)
        if family is None:
            return Settled(alone)
        own = family.member(comparison_id, case)
        if own is not None and own.standing is Standing.GUARD:
            return Settled(_guarded(family, own, alone, judge))
        if own is not None and own.standing is not Standing.MEMBER:
            return Settled(alone)
        together = Together(family, family.run_id == self._run_id, self.size())
        others = _others(family, comparison_id, case)
        if others is None or alone.verdict is Verdict.UNTRUSTWORTHY:
            return Settled(alone, together)
        counted = tuple(self._count(family, member) for member in others)
        return Settled(judge([one.p for one in counted]), replace(together, others=counted))

    def _count(self, family: Family, member: Member) -> Counted:
        """What a member brings; told once where that is not what was measured."""
        known = self._counted.get((family.id, member))
        if known is None:
            p, why = self._p_of(family, member)
            known = self._counted[family.id, member] = Counted(member.cases, p, why)
            if why and member.selected:
                self._notice(f"{_name(member)} counts as p = 1 in the family: {why}")
        return known

    def _p_of(self, family: Family, member: Member) -> tuple[float, str]:
        if not member.selected:
            return 1.0, "deselected"
        case = self._case_here(family, member)
        if case is not None:
            found = self._evidence(case)
            if isinstance(found, Exception):
                return 1.0, f"it came to nothing: {printable(str(found).partition(chr(10))[0], 120)}"
            return _gate(found.verdict, found.p_gate)
        if member.comparison is None:
            return 1.0, "it could not be prepared"
        told = self._ledger.verdicts(member.comparison)
        if not told:
            return 1.0, "it was never judged"
        last = told[-1].judgement
        return _gate(last["verdict"], float(last["p_gate"]))

    def _case_here(self, family: Family, member: Member) -> str | None:
        """The case of this session that plays a member's comparison, or another attempt in its place."""
        for case, comparison_id in self._here.items():
            if comparison_id == member.comparison:
                return case
        for case in member.cases:
            comparison_id = self._here.get(case, "")
            own = self._ledger.families.of_comparison(comparison_id) if comparison_id else None
            if own is not None and own.id == family.id:
                return case
        return None


def _guarded(
    family: Family, own: Member, alone: Judged, judge: Callable[[Sequence[float]], Judged]
) -> Judged:
    """A guard's judgement: its margin is judged by itself, and a direction must stand beside every other claim.

    Else a guard with a margin that nothing could miss would be a way to have a direction without the family.
    """
    claims = [
        one for one in family.members if one.standing in {Standing.MEMBER, Standing.GUARD} and one is not own
    ]
    if not claims or family.method is Method.NONE or alone.verdict is Verdict.UNTRUSTWORTHY:
        return alone
    return judge([1.0] * len(claims))


def _others(family: Family, comparison_id: str, case: str) -> list[Member] | None:
    """The other members of a family; None for a claim that is not adjusted for them."""
    own = family.member(comparison_id, case)
    adjusted = own is None or own.standing is Standing.MEMBER
    if family.method is Method.NONE or not adjusted:
        return None
    return [member for member in family.tested if member is not own]


def _gate(verdict: str, p: float) -> tuple[float, str]:
    return (1.0, "it is untrustworthy") if verdict == Verdict.UNTRUSTWORTHY else (p, "")


def _how(family: Family, tested: int) -> Iterator[str]:
    if family.method is Method.HOLM and tested > 1:
        yield f"family: {tested} claims are tested together, p-values adjusted by Holm (--eval-multiplicity)"
    elif tested > 1:
        yield f"--eval-multiplicity none: {tested} claims, each judged as if it were the only one; some may stand by chance"


def _name(member: Member) -> str:
    """The first of its cases, for people."""
    more = len(member.cases) - 1
    return printable(member.cases[0], 120) + (f" and {more} more of the same" if more else "")


def _listed(start: str, names: Sequence[str]) -> Iterator[str]:
    """Names in as many notes as it takes: every one of them must be read."""
    told: list[str] = []
    for name in names:
        if told and len(start) + sum(len(one) + 2 for one in told) + len(name) > _WIDEST_NOTE:
            yield start + ", ".join(told)
            told = []
        told.append(name)
    if told:
        yield start + ", ".join(told)
