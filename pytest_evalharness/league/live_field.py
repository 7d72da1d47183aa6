"""Who plays on a league now: names as versions, the field of a run, and whether a frozen one still stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import FieldUnavailable
from pytest_evalharness.league.asked import labels_of, versions_of
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.roster import Member, Roster, division_of, no_longer_live, resolve_field
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import digest

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.models import Membership
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

_ROSTER_SECONDS = 120.0


class LiveField:
    """The live players of the leagues of one run, each division read once. All processes of the run get one field.

    Args:
        ledger: where the field of a run is agreed on.
        connect: gives the client.
        clock: tells the time.
        run_id: the run.
        account: whose token asks, as the server knows it; None where that is not known.
    """

    def __init__(
        self,
        ledger: Ledger,
        connect: Callable[[], Observatory],
        clock: Clock,
        run_id: str,
        *,
        account: str | None,
    ) -> None:
        self._ledger = ledger
        self._connect = connect
        self._clock = clock
        self._run_id = run_id
        self._account = account
        self._live: dict[tuple[str, str], list[Membership]] = {}
        self._divisions: dict[str, str] = {}
        self._validated: set[Roster] = set()
        self._lock = threading.Lock()

    def policies(self, plan: ComparisonPlan) -> dict[str, ResolvedPolicy]:
        """Every pinned label as a version: an owned policy, or a live member of the league.

        Raises:
            EvalHarnessError: there is none of that name, or the server cannot be asked.
        """
        policies = {label: self.policy(label, plan) for label in labels_of(plan)}
        if self._account is not None:
            lasting = {label: one for label, one in policies.items() if one.owned and one.pinned_by(label)}
            self._ledger.known.note_versions(plan.server, self._account, versions_of(lasting))
        return policies

    def policy(self, label: str, plan: ComparisonPlan) -> ResolvedPolicy:
        """One label as a version, seen from a plan's league. Errors as of `policies`."""
        from pytest_evalharness.observatory.resolve import resolve_policy

        live = self._memberships(plan.league, self._division(plan))
        return resolve_policy(self._connect(), label, live=live)

    def chosen_now(self, plan: ComparisonPlan) -> Roster:
        """The field as it would be chosen now, for nobody but who asks. Errors as of `roster`."""
        return resolve_field(self._connect(), plan, self._clock)

    def roster(self, plan: ComparisonPlan, left: AbstractSet[str]) -> Roster:
        """The field of this run: resolved by whichever process comes first, read by the others.

        Args:
            plan: what is asked.
            left: digests of fields that may not be given again; the one that takes the place of such a field is one field
                too, for every case of the run.

        Raises:
            FieldUnavailable: it cannot be filled.
            EvalHarnessError: the server cannot be asked.
        """
        question = {
            "league": plan.league,
            "division": plan.division,
            "opponents": list(plan.opponents),
            "seats": plan.seats_from_ranking,
            **({"drawn": True} if plan.draws else {}),
        }
        key = f"{self._run_id}:{digest(question)}"
        data = self._resolved(plan, key)
        while (old := digest(data)) in left:
            data = self._resolved(plan, f"{key}:{old}")
        return Roster.from_json(data)

    def gone(self, rosters: Iterable[Roster], *, again: bool = False) -> list[Member]:
        """Who of frozen fields is no longer live.

        Args:
            rosters: the fields.
            again: whether the server is asked once more.

        Raises:
            EvalHarnessError: it cannot be asked.
        """
        with self._lock:
            return [member for roster in rosters for member in self._gone(roster, again=again)]

    def revalidate(self, roster: Roster, *, begun: bool = False) -> None:
        """Look at the field once more, right before a POST: versions roll several times a day.

        Args:
            roster: the frozen field.
            begun: whether something of the comparison was posted already, so that no other field can take its place.

        Raises:
            FieldUnavailable: somebody of the frozen field is gone.
        """
        with self._lock:
            if roster in self._validated:
                return
            gone = self._gone(roster, again=True)
            if not gone:
                self._validated.add(roster)
                return
        names = ", ".join(f"{printable(m.label)} ({printable(m.player_name)})" for m in gone)
        raise FieldUnavailable(
            f"the field changed between freezing and posting: {names} is no longer live",
            not_done="this arm was not submitted",
            next_step="--eval-fresh asks the question anew of the field as it is now; what was posted stays in the ledger"
            if begun
            else "run the same command again: it freezes the field as it is then",
        )

    def _gone(self, roster: Roster, *, again: bool) -> list[Member]:
        return no_longer_live(roster, self._memberships(roster.league, roster.division, again=again))

    def _resolved(self, plan: ComparisonPlan, key: str) -> dict[str, Any]:
        return self._ledger.once(
            "roster",
            key,
            lambda: self.chosen_now(plan).to_json(),
            deadline=Deadline.after(self._clock, _ROSTER_SECONDS),
        )

    def _division(self, plan: ComparisonPlan) -> str:
        if plan.division is not None:
            return plan.division
        if plan.league not in self._divisions:
            self._divisions[plan.league] = division_of(self._connect(), plan)
        return self._divisions[plan.league]

    def _memberships(self, league: str, division: str, *, again: bool = False) -> list[Membership]:
        if again or (league, division) not in self._live:
            live = self._connect().memberships(league_id=league, division_id=division, active_only=True)
            self._live[league, division] = live
        return self._live[league, division]
