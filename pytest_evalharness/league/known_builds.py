"""Where the ledger has met a build before: an edit that never reached its image, a revert that is exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.provenance import ArmBuild, Provenance
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.verdict.words import Verdict

_Identity = tuple[str, str]


@dataclass(frozen=True)
class Met:
    """Two builds that an earlier run compared.

    Attributes:
        comparison: the comparison's id.
        run: the run that began it.
        builds: what was found about them.
    """

    comparison: str
    run: str
    builds: Provenance


class KnownBuilds:
    """The builds of one ledger, as other runs than this one met them. Read once, when they are first needed."""

    def __init__(self, ledger: Ledger, run_id: str) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._met: list[Met] | None = None

    def unchanged(self, plan: ComparisonPlan, found: Provenance) -> Iterator[str]:
        """That the candidate's build was met under another label before, if it was."""
        mine = found.candidate
        for met in self._all():
            for side, arm in met.builds.arms.items():
                if arm.policy_version_id != mine.policy_version_id and _one_build(plan.server, mine, arm):
                    yield (
                        f"the candidate's build is that of {printable(arm.label)}, the {side} of run {printable(met.run)}: after an "
                        "intended change this means that it never reached the image; after a revert, that the revert is exact"
                    )
                    return

    def judged(self, plan: ComparisonPlan, found: Provenance) -> Iterator[str]:
        """That these very builds were compared under other labels and judged, if they were."""
        for met in self._all():
            pairs = [(found.arms[side], met.builds.arms[side]) for side in SIDES]
            if all(one.policy_version_id == other.policy_version_id for one, other in pairs):
                continue  # the same question is read again, and other questions about it are told elsewhere
            if not all(_is(plan.server, one, other) for one, other in pairs):
                continue
            told = self._verdict(plan, met)
            if told:
                yield told
                return

    def _verdict(self, plan: ComparisonPlan, met: Met) -> str:
        """What became of an earlier comparison that was played as this one would be; empty if it tells nothing."""
        verdicts = self._ledger.verdicts(met.comparison)
        asked = self._ledger.comparison(met.comparison).plan
        if "strata" in asked or not verdicts or verdicts[-1].judgement["verdict"] == Verdict.UNTRUSTWORTHY:
            return ""
        as_now = plan.to_json()
        if any(asked.get(key) != as_now.get(key) for key in _PLAYED_ALIKE):
            return ""
        labels = " against ".join(printable(met.builds.arms[side].label) for side in SIDES)
        run, verdict = printable(met.run), verdicts[-1].judgement["verdict"]
        open_ = verdict == Verdict.INCONCLUSIVE
        do = f"evalharness runs extend {run} adds games to those" if open_ else "no need to re-run"
        return (
            f"equals the builds judged in run {run} ({labels}: {verdict}, {asked['episodes']} episodes): {do}"
        )

    def _all(self) -> list[Met]:
        if self._met is None:
            self._met = [
                Met(comparison, run, Provenance.from_json(found))
                for comparison, run, found in self._ledger.proofs.of_other_runs(self._run_id)
            ]
        return self._met


_PLAYED_ALIKE = ("server", "league", "backend", "layout_seed", "tested_seat", "ticks", "config", "aa", "game")
"""What two comparisons of the same builds have in common if one makes the other needless; the field is each day's own."""


def _identities(server: str, arm: ArmBuild) -> set[_Identity]:
    """What names a build wherever it appears. Digests are compared within one server: a registry packs images its own way."""
    found = set()
    if arm.digest:
        found.add((server, arm.digest.lower()))
    if arm.image is not None:
        found.add(("", arm.image.id))
    return found


def _one_build(server: str, one: ArmBuild, other: ArmBuild) -> bool:
    return bool(_identities(server, one) & _identities(server, other))


def _is(server: str, one: ArmBuild, other: ArmBuild) -> bool:
    return one.policy_version_id == other.policy_version_id or _one_build(server, one, other)
