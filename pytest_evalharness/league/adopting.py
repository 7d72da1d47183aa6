"""Requests that somebody else created, taken up: read off the server once, made a plan, and frozen as arms that nobody posts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.clock import Clock, iso, span
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ArmStalled, DeclarationChanged, SubmissionUnknown, UsageError
from pytest_evalharness.league.adopted import Adopted
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES, Arm
from pytest_evalharness.league.asked import asked_of
from pytest_evalharness.league.build_check import BuildCheck
from pytest_evalharness.league.frozen import Frozen, frozen_of, laid_down
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.requests_seen import (
    SeenRequest,
    arms_of,
    own_seats,
    pins_of,
    require_alike,
    roster_of,
    versions_of,
)
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.verdict.claim import Declaration

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.models import ExperienceRequestDetail
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

KIND = "adopted"
"""Under which the ledger keeps what a request said of itself when it was first read."""
_NOTHING = "nothing was judged, and nothing was posted"
_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_LATE = 5.0
"""Seconds for which a request that the server does not show may only have been created a moment ago."""
_GRACE = 60.0
"""Seconds beyond its own patience for which another process of the run may read a request."""


class Adopter:
    """Takes up requests that somebody else created. It posts nothing, and cancels nothing.

    Args:
        ledger: where what they say of themselves is kept, and their arms.
        connect: gives the client.
        clock: tells the time, and waits.
        run_id: the run.
        stop: ends every wait.
        on_wait: called between two looks, in the thread that waits.
    """

    def __init__(
        self,
        ledger: Ledger,
        connect: Callable[[], Observatory],
        clock: Clock,
        run_id: str,
        *,
        stop: threading.Event,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._connect = connect
        self._clock = clock
        self._run_id = run_id
        self._stop = stop
        self._on_wait = on_wait

    # ------------------------------------------------------------- planning

    def plan(
        self,
        requests: Mapping[str, Sequence[str]],
        declaration: Declaration,
        *,
        server: str,
        seat: int | None = None,
        aa: bool = False,
        patience: float,
    ) -> ComparisonPlan:
        """What the requests of two arms ask, with the claim that is made about them now.

        Args:
            requests: the ids, by side.
            declaration: the claim and its rule, of `layouts.adopted_claim`.
            server: the server's identity.
            seat: the tested seat; None to find it.
            aa: whether one build meets itself by design.
            patience: seconds to wait until a request tells who sits in it.

        Raises:
            UsageError: no such request, one of this ledger's own, one twice, or several seats that could be meant.
            Untrustworthy: the arms differ in more than what is tested, or are one build.
            ArmStalled: a request did not tell who sits in it in time.
        """
        self._check(requests)
        sides = {side: self._seen(server, requests[side], patience) for side in SIDES}
        require_alike(sides)
        tested, own = own_seats(sides, seat, aa=aa)
        candidate, baseline = pins_of(sides, own)
        first = sides[CANDIDATE][0]
        return ComparisonPlan(
            server=server,
            league="",
            division=None,
            backend="",
            layout_seed=0,
            tested_seat=tested,
            candidate=candidate,
            baseline=baseline,
            opponents=(),
            top_n=max(1, len(first.seats) - 1),
            episodes=min(sum(one.episodes for one in told) for told in sides.values()),
            ticks=first.ticks,
            declaration=declaration,
            config={} if first.seed is None else {"seed": first.seed},
            aa=aa,
            adopted=Adopted({side: tuple(requests[side]) for side in SIDES}, first.roles),
        )

    def _check(self, requests: Mapping[str, Sequence[str]]) -> None:
        every = [one for side in SIDES for one in requests[side]]
        twice = [one for at, one in enumerate(every) if one in every[:at]]
        if twice:
            raise _usage(f"{printable(twice[0])} is named twice", "name each request once")
        for one in every:
            run = self._ledger.runs.posted(one)
            if run is not None:
                raise _usage(
                    f"{printable(one)} was posted from this ledger, under a claim of its own"
                    + (f" (run {printable(run)})" if run else ""),
                    f"evalharness runs show {printable(run)}" if run else "evalharness runs ls",
                )

    def _seen(self, server: str, requests: Sequence[str], patience: float) -> list[SeenRequest]:
        """What each request said of itself when it was first read, by whichever process came first."""
        return [
            SeenRequest.from_json(
                self._ledger.once(
                    KIND,
                    f"{server} {one}",
                    lambda one=one: self._read(one, patience).to_json(),  # type: ignore[misc]
                    deadline=Deadline.after(self._clock, patience + _GRACE),
                )
            )
            for one in requests
        ]

    def _read(self, request_id: str, patience: float) -> SeenRequest:
        """A request as soon as it tells who sits in all of its games, and how they are set up."""
        # Here: it brings the client, which a run that only reads needs not.
        from pytest_evalharness.league.watch import ended

        deadline, pause = Deadline.after(self._clock, patience), _PAUSE
        late = Deadline.after(self._clock, _LATE)
        while True:
            try:
                detail = self._connect().experience_request(request_id)
            except SubmissionUnknown as unknown:
                if late.expired:
                    raise _usage(
                        f"the server shows no request {printable(request_id)}", unknown.next_step
                    ) from None
            else:
                over = ended(detail)
                if over or _tells(detail):
                    return SeenRequest.of(detail, ended=over)
            if deadline.expired or self._stop.is_set():
                raise ArmStalled(
                    f"{printable(request_id)} does not tell within {span(patience)} who sits in its games",
                    not_done=_NOTHING,
                    next_step="run the same command again to go on waiting (--eval-queue-budget gives it longer)",
                )
            self._on_wait()
            self._clock.wait(pause, self._stop)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def sides(self, plan: ComparisonPlan) -> dict[str, list[SeenRequest]]:
        """The requests of a plan, as they were when they were first read."""
        assert plan.adopted is not None
        return {side: self._seen(plan.server, plan.adopted.requests[side], 0.0) for side in SIDES}

    # ------------------------------------------------------------- freezing

    def policies(self, plan: ComparisonPlan) -> dict[str, ResolvedPolicy]:
        """The versions in the arms' own seats, by label."""
        from pytest_evalharness.observatory.resolve import seated_policy

        pins = {CANDIDATE: plan.candidate, BASELINE: plan.baseline}
        told = versions_of(self.sides(plan), pins)
        return {label: seated_policy(self._connect(), version, label) for label, version in told.items()}

    def freeze(
        self,
        plan: ComparisonPlan,
        case: str,
        check: BuildCheck,
        proved: Callable[[Mapping[str, Any]], list[Provenance]],
        *,
        fresh: bool,
    ) -> Frozen:
        """Lay the requests down as arms, or find them; whoever waits for them posts nothing.

        Args:
            plan: of `plan`.
            case: which case asks.
            check: tells whether the arms are different builds.
            proved: what was proved of them earlier.
            fresh: whether another attempt was asked for.

        Raises:
            UsageError: a fresh attempt was asked for, which would have to be posted.
            SameBuild, UnprovenBuilds: see `BuildCheck`.
            DeclarationChanged: their results have been seen under another declaration.
        """
        if fresh:
            raise _usage(
                "requests that were created elsewhere cannot be played afresh from here",
                "leave --eval-fresh out, or create other requests",
            )
        sides = self.sides(plan)
        pins = {CANDIDATE: plan.candidate, BASELINE: plan.baseline}
        asked = asked_of(plan, versions_of(sides, pins))
        builds = check.of(plan, self.policies(plan), proved(asked))
        if self._ledger.questions.declare(asked, run_id=self._run_id) is not None:
            raise DeclarationChanged(
                "the results of these requests have been seen under another declaration",
                not_done="nothing was judged: a claim chosen to fit results proves nothing",
                next_step="restore that declaration to read them again, or create other requests for another claim",
            )
        comparison = self._ledger.open_comparison(asked, run_id=self._run_id, case_name=case)
        if comparison.frozen is None:
            arms = arms_of(sides, plan.tested_seat)
            roster = roster_of(sides, tuple(plan.candidate), iso(self._clock.now()))
            specs = {side: _spec(plan, arm) for side, arm in arms.items()}
            comparison = self._ledger.freeze(comparison.id, laid_down(roster, arms, builds), specs)
        assert comparison.frozen is not None
        return frozen_of(comparison, comparison.frozen)

    def preview(self, plan: ComparisonPlan, check: BuildCheck) -> Frozen:
        """What would be frozen; nothing of the comparison is written down."""
        sides = self.sides(plan)
        builds = check.of(plan, self.policies(plan), preview=True)
        roster = roster_of(sides, tuple(plan.candidate), iso(self._clock.now()))
        return Frozen(roster, arms_of(sides, plan.tested_seat), builds=builds)


def _spec(plan: ComparisonPlan, arm: Arm) -> ArmSpec:
    """An arm under a key that nothing posted has; what was read of its games depends on the tested seat."""
    ids = [one.id for one in arm.adopted]
    key = arm_key({"server": plan.server, KIND: ids, "seat": arm.tested_seat})
    return ArmSpec(key, arm.to_json(), arm.bodies(), requests=ids)


def _tells(detail: ExperienceRequestDetail) -> bool:
    """Whether all games tell who sits in them, and one how it is set up."""
    rows = detail.episodes
    return bool(rows) and all(row.participants for row in rows) and any(row.game_config for row in rows)


def _usage(what: str, next_step: str) -> UsageError:
    return UsageError(what, not_done=_NOTHING, next_step=next_step)
