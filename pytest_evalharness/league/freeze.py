"""From a plan to frozen arms: versions resolved, builds compared, the field chosen once and written down."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import DeclarationChanged, FieldUnavailable
from pytest_evalharness.league.arms import SIDES, Arm, build_arm
from pytest_evalharness.league.builds import require_different
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.roster import Roster, division_of, no_longer_live, resolve_field
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key, digest
from pytest_evalharness.ledger.records import ArmSpec, Comparison
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import Membership
from pytest_evalharness.observatory.resolve import ResolvedPolicy, resolve_policy

_ROSTER_SECONDS = 120.0


@dataclass(frozen=True)
class Frozen:
    """A comparison whose arms are fixed: who sits where, against whom, under which keys.

    Attributes:
        comparison: its row in the journal; None for a preview, which writes nothing down.
    """

    roster: Roster
    arms: Mapping[str, Arm]
    comparison: Comparison | None = None


class Freezer:
    """Freezes the comparisons of one run. Several processes may freeze the same one: they get the same arms."""

    def __init__(self, ledger: Ledger, observatory: Observatory, clock: Clock, run_id: str) -> None:
        self._ledger = ledger
        self._observatory = observatory
        self._clock = clock
        self._run_id = run_id
        self._live: dict[tuple[str, str], list[Membership]] = {}
        self._divisions: dict[str, str] = {}
        self._validated: set[str] = set()
        self._lock = threading.Lock()

    # ------------------------------------------------------------ comparing

    def freeze(self, plan: ComparisonPlan, case: str, *, fresh: bool) -> Frozen:
        """Freeze a comparison, or find it frozen by another process or an earlier run.

        Raises:
            EvalHarnessError: a name, a build or the field is not what it must be; nothing was submitted.
        """
        policies = self._builds(plan)
        self._declare(plan, policies, fresh=fresh)
        comparison = self._open(plan, policies, case, fresh=fresh)
        if comparison.frozen is not None and self._never_posted(comparison):
            roster = Roster.from_json(comparison.frozen["roster"])
            if no_longer_live(roster, self._memberships(roster.league, roster.division)):
                # The field moved on before anything was sent: another attempt costs nothing and is no second look.
                comparison = self._open(plan, policies, case, fresh=fresh, supersede=comparison.id)
        if comparison.frozen is None:
            comparison = self._write_down(plan, comparison, policies)
        assert comparison.frozen is not None
        arms = {side: Arm.from_json(side, comparison.frozen["arms"][side]) for side in SIDES}
        return Frozen(Roster.from_json(comparison.frozen["roster"]), arms, comparison)

    def preview(self, plan: ComparisonPlan) -> Frozen:
        """What would be frozen now; nothing is written down.

        Raises:
            EvalHarnessError: as `freeze`.
        """
        policies = self._builds(plan)
        roster = resolve_field(self._observatory, plan, self._clock)
        return Frozen(roster, {side: build_arm(plan, side, roster, policies) for side in SIDES})

    def _open(
        self,
        plan: ComparisonPlan,
        policies: Mapping[str, ResolvedPolicy],
        case: str,
        *,
        fresh: bool,
        supersede: str | None = None,
    ) -> Comparison:
        return self._ledger.open_comparison(
            _asked(plan, policies), run_id=self._run_id, case_name=case, fresh=fresh, supersede=supersede
        )

    def _declare(self, plan: ComparisonPlan, policies: Mapping[str, ResolvedPolicy], *, fresh: bool) -> None:
        """Store what is declared before anything is posted for it.

        Raises:
            DeclarationChanged: results of the same question have been seen under another declaration.
        """
        asked = _asked(plan, policies)
        if fresh:
            self._ledger.questions.declare_afresh(asked, run_id=self._run_id)
            return
        stood = self._ledger.questions.declare(asked, run_id=self._run_id)
        if stood is None:
            return
        now = plan.declaration.to_json()
        changed = sorted(key for key in {*stood, *now} if stood.get(key) != now.get(key))
        told = ", ".join(f"{key} {_word(stood.get(key))} -> {_word(now.get(key))}" for key in changed)
        raise DeclarationChanged(
            f"the declaration was changed after results of the same question were seen: {told}",
            not_done="nothing was submitted and nothing was judged: a claim chosen to fit results proves nothing",
            next_step="restore the declaration to read those results again, or run with --eval-fresh: new games are played "
            "under the new one, and it is shown beside the earlier results",
        )

    def _write_down(
        self, plan: ComparisonPlan, comparison: Comparison, policies: Mapping[str, ResolvedPolicy]
    ) -> Comparison:
        roster = self._field(plan)
        look = self._looks_before(comparison)
        arms = {side: build_arm(plan, side, roster, policies, look=look) for side in SIDES}
        frozen = {"roster": roster.to_json(), "arms": {side: arm.to_json() for side, arm in arms.items()}}
        specs = {}
        for side, arm in arms.items():
            # The roster tells when it was frozen: cases of one run share an arm, and no run compares its candidate
            # with a baseline that was played at another time.
            bodies = arm.bodies()
            posted: dict[str, Any] = {"server": plan.server, "roster": roster.to_json(), "bodies": bodies}
            if plan.aa:
                posted["aa"] = (
                    side  # the bodies may be equal, and one arm held against itself would show nothing
                )
            specs[side] = ArmSpec(arm_key(posted), arm.to_json(), bodies)
        return self._ledger.freeze(comparison.id, frozen, specs)

    def _looks_before(self, comparison: Comparison) -> int:
        """How many earlier runs asked the same question, under whatever declaration.

        Counted by run, so that the cases of one share their arms. A further look must play other games: the seeds of a
        deterministic game decide its evidence.
        """
        runs = dict.fromkeys(attempt.run_id for attempt in self._ledger.attempts(comparison.plan))
        return list(runs).index(comparison.run_id)

    def _never_posted(self, comparison: Comparison) -> bool:
        blocks = [block for key in comparison.arms.values() for block in self._ledger.blocks(key)]
        return all(block.untouched for block in blocks)

    # ------------------------------------------------------------ resolving

    def _builds(self, plan: ComparisonPlan) -> dict[str, ResolvedPolicy]:
        """The versions of a plan: different builds, unless one build is to meet itself."""
        policies = self._policies(plan)
        if not plan.aa:
            require_different(plan, policies)
        return policies

    def _policies(self, plan: ComparisonPlan) -> dict[str, ResolvedPolicy]:
        """Every pinned label as a version: an owned policy, or a live member of the league."""
        labels = dict.fromkeys((*plan.candidate.values(), *plan.baseline.values()))
        return {label: self.policy(label, plan) for label in labels}

    def policy(self, label: str, plan: ComparisonPlan) -> ResolvedPolicy:
        """One label as a version, seen from a plan's league."""
        live = self._memberships(plan.league, self._division(plan))
        return resolve_policy(self._observatory, label, live=live)

    def _field(self, plan: ComparisonPlan) -> Roster:
        """The field of this run: resolved by whichever process comes first, read by the others."""
        question = {
            "league": plan.league,
            "division": plan.division,
            "opponents": list(plan.opponents),
            "seats": plan.seats_from_ranking,
        }
        data = self._ledger.once(
            "roster",
            f"{self._run_id}:{digest(question)}",
            lambda: resolve_field(self._observatory, plan, self._clock).to_json(),
            deadline=Deadline.after(self._clock, _ROSTER_SECONDS),
        )
        return Roster.from_json(data)

    def _division(self, plan: ComparisonPlan) -> str:
        if plan.division is not None:
            return plan.division
        if plan.league not in self._divisions:
            self._divisions[plan.league] = division_of(self._observatory, plan)
        return self._divisions[plan.league]

    def _memberships(self, league: str, division: str, *, again: bool = False) -> list[Membership]:
        if again or (league, division) not in self._live:
            live = self._observatory.memberships(league_id=league, division_id=division, active_only=True)
            self._live[league, division] = live
        return self._live[league, division]

    def revalidate(self, roster: Roster) -> None:
        """Look at the field once more, right before a POST: versions roll several times a day.

        Raises:
            FieldUnavailable: somebody of the frozen field is gone.
        """
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


def _asked(plan: ComparisonPlan, policies: Mapping[str, ResolvedPolicy]) -> dict[str, Any]:
    """The plan with the versions that its labels stand for now."""
    versions = {label: policy.policy_version_id for label, policy in sorted(policies.items())}
    return {**plan.to_json(), "versions": versions}


def _word(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
