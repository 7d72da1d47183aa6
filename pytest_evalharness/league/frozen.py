"""A comparison whose arms are fixed, as the ledger keeps it: who sits where, in which builds, under which keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.fields import fields_of
from pytest_evalharness.league.provenance import Conclusion, Provenance
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.journal import extended_side
from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import Comparison
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

_STRATA = "strata"


@dataclass(frozen=True)
class Frozen:
    """A comparison whose arms are fixed: who sits where, against whom, under which keys.

    Attributes:
        comparison: its row in the journal; None for a preview, which writes nothing down.
        builds: what was found last about its builds; None where an older release froze it.
        later: the fields that were added after the first one could no longer be played, in order.
    """

    roster: Roster
    arms: Mapping[str, Arm]
    comparison: Comparison | None = None
    builds: Provenance | None = None
    later: tuple[Frozen, ...] = ()

    def caveats(self, name: str = "") -> list[Finding]:
        """What a reader must know of the builds and the claim beside a trustworthy verdict; `name` is the configuration's."""
        mine = [Finding(Reason.OWN_OPPONENT, ", ".join(self.roster.mine))] if self.roster.mine else []
        return [*self._claimed_late(), *mine, *self._builds_caveat(name)]

    def _claimed_late(self) -> list[Finding]:
        found = [one for arm in self.arms.values() for one in arm.adopted]
        told = f"{', '.join(map(str, found))}; declared from {self.roster.resolved_at} on"
        return [Finding(Reason.DECLARED_AFTER, told)] if found else []

    def _builds_caveat(self, name: str) -> list[Finding]:
        if self.builds is None or not (
            self.builds.unproven or self.builds.conclusion is Conclusion.NOT_VISIBLE
        ):
            return []
        reason = Reason.BUILDS_UNPROVEN if self.builds.unproven else Reason.IMAGE_NOT_VISIBLE
        return [Finding(reason, ", ".join(part for part in (name, self.builds.because) if part))]


def frozen_of(comparison: Comparison, told: Mapping[str, Any]) -> Frozen:
    """What was frozen for two arms, on each field that they were played on."""
    builds = builds_of(told)
    first, *later = (
        Frozen(one.roster, one.arms, replace(comparison, arms=one.arms_in(comparison.arms)), builds)
        for one in fields_of(told)
    )
    return replace(first, later=tuple(later))


def laid_down(roster: Roster, arms: Mapping[str, Arm], builds: Provenance) -> dict[str, Any]:
    """What is frozen for two arms."""
    return {
        "roster": roster.to_json(),
        "arms": {side: arm.to_json() for side, arm in arms.items()},
        BUILDS: [builds.to_json()],
    }


def parts_of(comparison: Comparison) -> list[dict[str, Any]]:
    """What is frozen for each configuration of a pool, or for the only two arms; nothing before it is."""
    told = comparison.frozen
    if told is None:
        return []
    parts: list[dict[str, Any]] = told.get(_STRATA, [told])
    return parts


def builds_of(told: Mapping[str, Any]) -> Provenance | None:
    """What was found last about two arms' builds; None if nothing was."""
    found = told.get(BUILDS)
    return Provenance.from_json(found[-1]) if found else None


def keys_of(comparison: Comparison, side: str) -> list[str]:
    """The keys of a side's arm and of its extensions, in order."""
    keys = [comparison.arms[side]]
    while (more := extended_side(side, len(keys) - 1)) in comparison.arms:
        keys.append(comparison.arms[more])
    return keys


def strata_of(comparison: Comparison, told: Mapping[str, Any]) -> list[Frozen]:
    """What was frozen for each configuration of a pool, in order."""
    return [
        frozen_of(replace(comparison, arms={side: comparison.arms[f"{side}.{i}"] for side in SIDES}), stratum)
        for i, stratum in enumerate(told[_STRATA])
    ]
