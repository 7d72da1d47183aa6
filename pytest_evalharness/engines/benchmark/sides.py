"""The two sides of an evidence set."""

from __future__ import annotations

from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.rows import Row as Turn
from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.errors import NotEnoughEvidence


class Sides:
    """The two sides of a set, as evidence and as arrays.

    Raises:
        NotEnoughEvidence: a side has no call, or no held-out call has its propensities.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.fit, self.held = evidence.part("fit"), evidence.part("held_out")
        for name, side in (("fit", self.fit), ("held-out", self.held)):
            if not side.by_episode():
                raise NotEnoughEvidence(
                    f"the {name} side has no call with a labelled turn",
                    not_done="nothing was fitted or scored",
                    next_step="build a set with more calls: evalharness engine evidence-build … -n 2000",
                )
        kept, self.unweighable = _weighable(self.held.by_episode())
        if not kept:
            raise NotEnoughEvidence(
                "no held-out call has the propensities of all its moves, so none can be weighted",
                not_done="nothing was fitted or scored",
                next_step="build the set again: evidence-build estimates the propensities that a log does not record",
            )
        self.moves = evidence.moves
        self.calls = Calls.from_rows(kept, self.moves, gamma=evidence.gamma)
        self.fit_calls = Calls.from_rows(
            self.fit.transitions(), self.moves, gamma=evidence.gamma, weighable=False
        )


def _weighable(calls: list[list[Turn]]) -> tuple[list[Turn], int]:
    """The rows of calls whose every move has a propensity, and how many calls have not."""
    whole = [call for call in calls if all(row.propensity is not None for row in call)]
    return [row for call in whole for row in call], len(calls) - len(whole)
