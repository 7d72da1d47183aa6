"""More games for a comparison that could not tell, on the identical set-up. The look at it is written down first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import FieldUnavailable, UsageError
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.blocks import BlockSpec, seeds
from pytest_evalharness.league.frozen import arms_of
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.roster import Roster, no_longer_live
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.words import Pairing, Verdict

_NOTHING = "nothing was written down and nothing was submitted"


def extend(
    ledger: Ledger, observatory: Observatory, kept: Kept, episodes: int, *, run_id: str, now: float
) -> None:
    """Lay down more games of a comparison; whoever plays it next posts them.

    Args:
        ledger: where it is kept.
        observatory: the server that plays it.
        kept: the comparison.
        episodes: games an arm (or pairs) to add, at most one request's.
        run_id: the run that asks.
        now: seconds since 1970.

    Raises:
        UsageError: it has more to it than two arms, was not judged, or was judged and could tell; too many games.
        FieldUnavailable: the set-up is no longer what it was: the field, or the game.
    """
    plan = _extendable(kept, episodes)
    told = kept.comparison.frozen
    assert told is not None
    _same_game(observatory, kept, plan)
    _same_field(observatory, Roster.from_json(told["roster"]), kept)
    arms, number = arms_of(told), len(told.get("extensions", ()))
    blocks = _blocks(plan, arms[SIDES[0]], episodes, f"{kept.comparison.id}/{number}")
    marks = {"server": plan.server, "roster": told["roster"], "extends": kept.comparison.id, "number": number}
    specs = {side: _spec(arms[side].only(blocks), marks) for side in SIDES}
    extension = {"blocks": [asdict(block) for block in blocks], "at": now, "run": run_id}
    ledger.extend(kept.comparison.id, number, extension, specs, run_id=run_id)


def _extendable(kept: Kept, episodes: int) -> ComparisonPlan:
    """The plan of a comparison that may be extended."""
    if not 1 <= episodes <= LARGEST_REQUEST:
        raise UsageError(
            f"--num must be 1 to {LARGEST_REQUEST}, got {episodes}",
            not_done=_NOTHING,
            next_step="a comparison can be extended more than once",
        )
    if not isinstance(kept.plan, ComparisonPlan):
        raise UsageError(
            f"{kept.name} is a pool: its configurations were declared together",
            not_done=_NOTHING,
            next_step="declare more configurations, or more episodes in each, and run it with --eval-fresh",
        )
    if not kept.played and kept.judgement is None:
        raise UsageError(
            f"{kept.name} is not finished ({kept.words})",
            not_done=_NOTHING,
            next_step=f"evalharness runs resume {printable(kept.comparison.run_id)}",
        )
    if kept.judgement is None or kept.judgement["verdict"] != Verdict.INCONCLUSIVE:
        raise UsageError(
            f"{kept.name} is {kept.words.upper()}: only a comparison that could not tell can be extended",
            not_done=_NOTHING,
            next_step="--eval-fresh plays it anew, beside the verdict it has",
        )
    return kept.plan


def _same_game(observatory: Observatory, kept: Kept, plan: ComparisonPlan) -> None:
    """Check that the league plays the game it played then."""
    played = {
        str(block.evidence["request"].get("coworld_id"))
        for block in kept.blocks
        if block.evidence is not None
    }
    game = observatory.league(plan.league).game
    now = None if game is None else game.coworld_id
    if now is not None and played and played != {now}:
        raise _moved(
            kept, f"the game was {', '.join(map(printable, sorted(played)))} and is {printable(now)} now"
        )


def _same_field(observatory: Observatory, roster: Roster, kept: Kept) -> None:
    live = observatory.memberships(league_id=roster.league, division_id=roster.division, active_only=True)
    gone = no_longer_live(roster, live)
    if gone:
        raise _moved(kept, f"{', '.join(printable(one.label) for one in gone)} is no longer live")


def _moved(kept: Kept, what: str) -> FieldUnavailable:
    run = printable(kept.comparison.run_id)
    return FieldUnavailable(
        f"{kept.name} cannot be extended on the identical set-up: {what}",
        not_done=_NOTHING,
        next_step=f"run its case with --eval-fresh, then pool both: evalharness pool {run} NEW-RUN",
    )


def _blocks(plan: ComparisonPlan, arm: Arm, episodes: int, source: str) -> Sequence[BlockSpec]:
    """The further requests; of pairs, each with a seed that no pair had before."""
    if plan.declaration.pairing is not Pairing.SEED:
        return [BlockSpec(episodes)]
    known = {block.seed for block in arm.blocks}
    fresh = (seed for seed in seeds(episodes + len(known), source) if seed not in known)
    return [BlockSpec(1, seed) for seed in itertools.islice(fresh, episodes)]


def _spec(further: Arm, marks: dict[str, Any]) -> ArmSpec:
    bodies = further.bodies()
    return ArmSpec(arm_key({**marks, "side": further.side, "bodies": bodies}), further.to_json(), bodies)
