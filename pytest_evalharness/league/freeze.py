"""From a plan to frozen arms: versions, builds and the field agreed on once, by all processes, and written down."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.errors import DeclarationChanged, EvalHarnessError
from pytest_evalharness.league.adopting import Adopter
from pytest_evalharness.league.arms import CANDIDATE, SIDES, Arm, build_arm
from pytest_evalharness.league.asked import asked_of, bodies_of, labels_of, specs_of, versions_of
from pytest_evalharness.league.build_check import BuildCheck
from pytest_evalharness.league.frozen import Frozen, builds_of, frozen_of, laid_down, parts_of, strata_of
from pytest_evalharness.league.live_field import LiveField
from pytest_evalharness.league.local_builds import BuildSources
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan, in_configuration, require_own_arms
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.renewing import Renewed
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.single_arm import SingleArmPlan, frozen_arm
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key, digest
from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import ArmSpec, Comparison
from pytest_evalharness.ledger.runs import SINGLE_ARM

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

_Found = TypeVar("_Found")


class Freezer:
    """Freezes the comparisons of one run. Several processes may freeze the same one: they get the same arms.

    Args:
        ledger: where they are kept.
        connect: gives the client, for what the ledger cannot tell.
        clock: tells the time.
        run_id: the run.
        account: whose token asks, as the server knows it; None where that is not known, so that nothing is answered
            from the ledger alone.
        sources: where to learn of builds beside the server; nowhere if left out.
        stop: ends every wait.
        on_wait: called between two looks, in the thread that waits.

    Attributes:
        adopter: takes up requests that somebody else created.
        live: who plays on the leagues now.
    """

    def __init__(
        self,
        ledger: Ledger,
        connect: Callable[[], Observatory],
        clock: Clock,
        run_id: str,
        *,
        account: str | None = None,
        sources: BuildSources | None = None,
        stop: threading.Event | None = None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self.adopter = Adopter(
            ledger, connect, clock, run_id, stop=stop or threading.Event(), on_wait=on_wait
        )
        self._ledger = ledger
        self._run_id = run_id
        self._account = account
        self.live = LiveField(ledger, connect, clock, run_id, account=account)
        self._check = BuildCheck(ledger, clock, run_id, sources or BuildSources())

    # ------------------------------------------------------------ comparing

    def freeze(self, plan: ComparisonPlan, case: str, *, fresh: bool) -> Frozen:
        """Freeze a comparison, or find it frozen by another process or an earlier run.

        Raises:
            EvalHarnessError: a name, a build or the field is not what it must be; nothing was submitted.
        """
        if plan.adopted is not None:
            return self.adopter.freeze(plan, case, self._check, self._proved, fresh=fresh)
        comparison = None if fresh else self._answered(plan)
        if comparison is not None:
            return frozen_of(comparison, comparison.frozen or {})
        policies = self.live.policies(plan)
        asked = asked_of(plan, versions_of(policies))
        builds = self._check.of(plan, policies, self._proved(asked))
        comparison = self._agree(asked, case, fresh=fresh)
        if comparison.frozen is None:
            comparison = self._lay(comparison, plan, policies, builds)
        comparison = self._strengthened(comparison, [builds])
        assert comparison.frozen is not None
        return frozen_of(comparison, comparison.frozen)

    def _lay(
        self,
        comparison: Comparison,
        plan: ComparisonPlan,
        policies: Mapping[str, ResolvedPolicy],
        builds: Provenance,
    ) -> Comparison:
        """Write down the field, the arms and the builds of an attempt."""
        roster, arms = self._seated(plan, policies, self._looks_before(comparison), self._left(comparison))
        frozen = laid_down(roster, arms, builds)
        return self._ledger.freeze(comparison.id, frozen, specs_of(plan, roster, arms))

    def freeze_pool(self, plan: PoolPlan, case: str, *, fresh: bool) -> list[Frozen]:
        """Freeze all configurations of a pool together: they are one row of the journal, with two arms for each.

        Returns:
            Each configuration, in order; its comparison is the pool's, with the arms of that configuration only.

        Raises:
            EvalHarnessError: as `freeze`; a UsageError if two configurations turn out to share an arm.
        """
        comparison = None if fresh else self._answered(plan)
        if comparison is not None:
            return strata_of(comparison, comparison.frozen or {})
        policies = {
            label: policy for known in self._each(plan, self.live.policies) for label, policy in known.items()
        }
        asked = asked_of(plan, versions_of(policies))
        proved = self._proved(asked)
        builds = self._each(plan, lambda part: self._check.of(part, policies, proved))
        comparison = self._agree(asked, case, fresh=fresh)
        if comparison.frozen is None:
            comparison = self._lay_pool(comparison, plan, policies, builds)
        comparison = self._strengthened(comparison, builds)
        assert comparison.frozen is not None
        return strata_of(comparison, comparison.frozen)

    def _lay_pool(
        self,
        comparison: Comparison,
        plan: PoolPlan,
        policies: Mapping[str, ResolvedPolicy],
        builds: Sequence[Provenance],
    ) -> Comparison:
        """Write down what `_lay` does, of each configuration."""
        look, left = self._looks_before(comparison), self._left(comparison)
        seated = self._each(plan, lambda part: self._seated(part, policies, look, left))
        require_own_arms(plan, [bodies_of(arms) for _, arms in seated])
        strata = [laid_down(roster, arms, one) for (roster, arms), one in zip(seated, builds, strict=True)]
        laid = {
            f"{side}.{i}": spec
            for i, (part, pair) in enumerate(zip(plan.plans, seated, strict=True))
            for side, spec in specs_of(part, *pair).items()
        }
        return self._ledger.freeze(comparison.id, {"strata": strata}, laid)

    def freeze_single(self, plan: SingleArmPlan, case: str, *, fresh: bool) -> Frozen:
        """Freeze an arm that is compared with nothing, or find it; anew where its field moved on before anything was sent.

        Raises:
            EvalHarnessError: a name or the field is not what it must be; nothing was submitted.
        """
        policies = self.live.policies(plan.setting)
        asked = {**plan.to_json(), "versions": dict(sorted(versions_of(policies).items()))}
        comparison = self._open(asked, case, fresh=fresh)
        if comparison.frozen is not None and self._ledger.progress.unsent(comparison.id):
            roster, _ = frozen_arm(comparison.frozen)
            if self.live.gone([roster], again=True):
                comparison = self._open(asked, case, fresh=fresh, supersede=comparison.id)
        if comparison.frozen is None:
            roster = self.live.roster(plan.setting, self._left(comparison))
            arm = build_arm(plan.setting, CANDIDATE, roster, policies)
            # Marked, so that no comparison shares its games: they would be read before it is judged.
            posted = {"server": plan.setting.server, "roster": roster.to_json(), "bodies": arm.bodies()}
            spec = ArmSpec(arm_key({**posted, SINGLE_ARM: True}), arm.to_json(), arm.bodies())
            told = {"roster": roster.to_json(), "arms": {CANDIDATE: arm.to_json()}}
            comparison = self._ledger.freeze(comparison.id, told, {CANDIDATE: spec})
        assert comparison.frozen is not None
        return Frozen(*frozen_arm(comparison.frozen), comparison)

    def renew(
        self, plan: ComparisonPlan | PoolPlan, comparison_id: str, case: str, *, fresh: bool
    ) -> Renewed | None:
        """Freeze a comparison anew whose field moved on before anything of it was sent, or find it frozen anew.

        Both arms get the new field, whichever process comes first: nothing of the old attempt exists at the server.

        Returns:
            Who is no longer live, and the comparison as it is now, a configuration each; None if the field stands, or
            something was sent, or a pinned name stands for another version by now.

        Raises:
            EvalHarnessError: the field cannot be filled any more, or the server cannot be asked.
        """
        old = self._ledger.comparison(comparison_id)
        if old.frozen is None or not self._ledger.progress.unsent(comparison_id):
            return None
        rosters = [Roster.from_json(part["roster"]) for part in parts_of(old)]
        gone = self.live.gone(rosters, again=True)
        latest = self._ledger.latest(old.plan)
        if latest is None or (latest.id == old.id and not gone):
            return None
        parts = [plan] if isinstance(plan, ComparisonPlan) else list(plan.plans)
        policies = {label: one for part in parts for label, one in self.live.policies(part).items()}
        if asked_of(plan, versions_of(policies)) != old.plan:
            return None
        if latest.id == old.id:
            latest = self._open(old.plan, case, fresh=fresh, supersede=old.id)
        if latest.frozen is None:
            proved = self._proved(old.plan)
            builds = [self._check.of(part, policies, proved) for part in parts]
            if isinstance(plan, ComparisonPlan):
                latest = self._lay(latest, plan, policies, builds[0])
            else:
                latest = self._lay_pool(latest, plan, policies, builds)
        assert latest.frozen is not None
        single = isinstance(plan, ComparisonPlan)
        found = [frozen_of(latest, latest.frozen)] if single else strata_of(latest, latest.frozen)
        return Renewed(tuple(dict.fromkeys(gone)), tuple(found))

    def _answered(self, plan: ComparisonPlan | PoolPlan) -> Comparison | None:
        """The finished comparison that answers a plan, where nobody need be asked which one that is.

        All its labels are full ones of the account's own policies, and were resolved before: they can stand for nothing
        else by now. Its declaration is part of what was asked, so it was stored before that comparison was posted.
        """
        if self._account is None:
            return None
        versions = self._ledger.known.versions(plan.server, self._account, labels_of(plan))
        if versions is None:
            return None
        comparison = self._ledger.latest(asked_of(plan, versions))
        if comparison is None or not self._ledger.progress.complete(comparison.id):
            return None
        parts = [plan] if isinstance(plan, ComparisonPlan) else plan.plans
        found = [builds_of(told) for told in parts_of(comparison)]
        accepted = all(self._check.accepts(part, one) for part, one in zip(parts, found, strict=True))
        return comparison if accepted else None

    def _proved(self, asked: Mapping[str, Any]) -> list[Provenance]:
        """Every proof that attempts at a question have left, the latest first."""
        found = [
            builds_of(told)
            for attempt in reversed(self._ledger.attempts(asked))
            for told in parts_of(attempt)
        ]
        return [one for one in found if one is not None and one.different]

    def _strengthened(self, comparison: Comparison, builds: Sequence[Provenance]) -> Comparison:
        """The comparison with what is known of its builds now, where less was known when it was frozen."""
        for number, (told, now) in enumerate(zip(parts_of(comparison), builds, strict=True)):
            then = builds_of(told)
            if then is None or (then.unproven and not now.unproven):
                frozen = self._ledger.proofs.add(
                    comparison.id, number, now.to_json(), known=len(told.get(BUILDS, ()))
                )
                comparison = replace(comparison, frozen=frozen)
        return comparison

    def _agree(self, asked: dict[str, Any], case: str, *, fresh: bool) -> Comparison:
        """Declare what is asked, and find or begin the attempt that answers it."""
        self._declare(asked, fresh=fresh)
        comparison = self._open(asked, case, fresh=fresh)
        if (
            comparison.frozen is not None
            and self._ledger.progress.unsent(comparison.id)
            and self._moved_on(comparison.frozen)
        ):
            # The field moved on before anything was sent: another attempt costs nothing and is no second look.
            comparison = self._open(asked, case, fresh=fresh, supersede=comparison.id)
        return comparison

    def _moved_on(self, frozen: Mapping[str, Any]) -> bool:
        """Whether somebody of a frozen field is no longer live."""
        return bool(
            self.live.gone(Roster.from_json(part["roster"]) for part in frozen.get("strata", [frozen]))
        )

    def preview(self, plan: ComparisonPlan) -> Frozen:
        """What would be frozen now; nothing is written down.

        Raises:
            EvalHarnessError: as `freeze`.
        """
        if plan.adopted is not None:
            return self.adopter.preview(plan, self._check)
        policies = self.live.policies(plan)
        builds = self._check.of(
            plan, policies, self._proved(asked_of(plan, versions_of(policies))), preview=True
        )
        roster = self.live.chosen_now(plan)
        arms = {side: build_arm(plan, side, roster, policies) for side in SIDES}
        return Frozen(roster, arms, builds=builds)

    def preview_pool(self, plan: PoolPlan) -> list[Frozen]:
        """Each configuration as it would be frozen now; nothing is written down.

        Raises:
            EvalHarnessError: as `freeze_pool`.
        """
        found = self._each(plan, self.preview)
        require_own_arms(plan, [bodies_of(one.arms) for one in found])
        return found

    @staticmethod
    def _each(plan: PoolPlan, do: Callable[[ComparisonPlan], _Found]) -> list[_Found]:
        """Do something for each configuration; a failure names the one it happened in."""
        found = []
        for name, part in plan.strata:
            try:
                found.append(do(part))
            except EvalHarnessError as error:
                raise in_configuration(error, name) from None
        return found

    def _open(
        self, asked: dict[str, Any], case: str, *, fresh: bool, supersede: str | None = None
    ) -> Comparison:
        return self._ledger.open_comparison(
            asked, run_id=self._run_id, case_name=case, fresh=fresh, supersede=supersede
        )

    def _declare(self, asked: dict[str, Any], *, fresh: bool) -> None:
        """Store what is declared before anything is posted for it.

        Raises:
            DeclarationChanged: results of the same question have been seen under another declaration.
        """
        if fresh:
            self._ledger.questions.declare_afresh(asked, run_id=self._run_id)
            return
        stood = self._ledger.questions.declare(asked, run_id=self._run_id)
        if stood is None:
            return
        now: dict[str, Any] = asked["declaration"]
        changed = sorted(key for key in {*stood, *now} if stood.get(key) != now.get(key))
        told = ", ".join(f"{key} {_word(stood.get(key))} -> {_word(now.get(key))}" for key in changed)
        raise DeclarationChanged(
            f"the declaration was changed after results of the same question were seen: {told}",
            not_done="nothing was submitted and nothing was judged: a claim chosen to fit results proves nothing",
            next_step="restore the declaration to read those results again, or run with --eval-fresh: new games are played "
            "under the new one, and it is shown beside the earlier results",
        )

    def _seated(
        self,
        plan: ComparisonPlan,
        policies: Mapping[str, ResolvedPolicy],
        look: int,
        left: AbstractSet[str],
    ) -> tuple[Roster, dict[str, Arm]]:
        roster = self.live.roster(plan, left)
        return roster, {side: build_arm(plan, side, roster, policies, look=look) for side in SIDES}

    def _looks_before(self, comparison: Comparison) -> int:
        """How many earlier runs asked the same question, under whatever declaration.

        Counted by run, so that the cases of one share their arms. A further look must play other games: the seeds of a
        deterministic game decide its evidence.
        """
        runs = dict.fromkeys(attempt.run_id for attempt in self._ledger.attempts(comparison.plan))
        return list(runs).index(comparison.run_id)

    def _left(self, comparison: Comparison) -> AbstractSet[str]:
        """Digests of the fields that earlier attempts at a plan were given, which moved on before anything was sent."""
        return {
            digest(part["roster"])
            for attempt in self._ledger.attempts(comparison.plan)
            if attempt.plan == comparison.plan
            and attempt.id != comparison.id
            and self._ledger.progress.unsent(attempt.id)
            for part in parts_of(attempt)
        }


def _word(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
