"""The check for different builds, with all its sources: the server, this machine, and what the ledger has kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.builds import conclude, require_proof
from pytest_evalharness.league.known_builds import KnownBuilds
from pytest_evalharness.league.local_builds import BuildSources, LocalBuilds, look
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import digest

if TYPE_CHECKING:
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

_WAIT_SECONDS = 120.0


class BuildCheck:
    """Finds out whether arms are different builds, and refuses them where nobody can tell.

    Args:
        ledger: what was found before.
        clock: tells the time, and when the engine and git have had enough of it.
        run_id: the run; all its processes see this machine as the first of them saw it.
        sources: where to look beside the server.
    """

    def __init__(self, ledger: Ledger, clock: Clock, run_id: str, sources: BuildSources) -> None:
        self._ledger = ledger
        self._clock = clock
        self._run_id = run_id
        self._sources = sources
        self._known = KnownBuilds(ledger, run_id)
        self._local: LocalBuilds | None = None

    def of(
        self,
        plan: ComparisonPlan,
        policies: Mapping[str, ResolvedPolicy],
        kept: Iterable[Provenance] = (),
        *,
        preview: bool = False,
    ) -> Provenance:
        """What is known of a comparison's builds now, or was proved earlier.

        Args:
            plan: the comparison.
            policies: label → version, for every pinned label.
            kept: what was found earlier about any builds: a version never changes, so a proof stays one.
            preview: whether nothing may be written down.

        Raises:
            SameBuild: both arms are one build.
            UnprovenBuilds: nobody can tell, and that was not allowed.
        """
        local = self._machine(preview=preview)
        found = conclude(plan, policies, local, allow=self._sources.allow, at=self._clock.now())
        if found.unproven and not _one_version(found):  # else it is about another seat, which no record names
            found = next((one for one in kept if one.different and _same_versions(one, found)), found)
        require_proof(plan, found, local)
        if plan.aa:
            return found
        return replace(
            found,
            warnings=tuple(
                dict.fromkeys(
                    [*found.warnings, *self._known.unchanged(plan, found), *self._known.judged(plan, found)]
                )
            ),
        )

    def accepts(self, plan: ComparisonPlan, found: Provenance | None) -> bool:
        """Whether what was found when a comparison was posted is enough to read its results now."""
        if found is None:
            return False
        return found.different or plan.aa or (self._sources.allow and not self._sources.images)

    def _machine(self, *, preview: bool) -> LocalBuilds:
        """This machine's images and repository, looked at once in a run."""
        if self._local is None:
            if preview or not (self._sources.images or self._sources.folder):
                self._local = look(self._sources, self._clock)
            else:
                self._local = LocalBuilds.from_json(
                    self._ledger.once(
                        "builds",
                        f"{self._run_id}:{digest(dict(self._sources.images))}",
                        lambda: look(self._sources, self._clock).to_json(),
                        deadline=Deadline.after(self._clock, _WAIT_SECONDS),
                    )
                )
        return self._local


def _one_version(found: Provenance) -> bool:
    """Whether one version sits in the tested seat of both arms."""
    return found.candidate.policy_version_id == found.baseline.policy_version_id


def _same_versions(one: Provenance, other: Provenance) -> bool:
    return all(one.arms[side].policy_version_id == other.arms[side].policy_version_id for side in SIDES)
