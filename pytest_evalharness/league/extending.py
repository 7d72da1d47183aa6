"""More games for a comparison that could not tell: on the identical set-up, or on a further field where that one is gone.

Everything is checked first, and nothing is written down unless all of it holds. The look is written down with the games.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import SetupChanged, UsageError
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.blocks import BlockSpec, seeds
from pytest_evalharness.league.fields import EXTENSIONS, Field, fields_of
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.roster import Roster, resolve_field
from pytest_evalharness.league.same_setup import NOTHING, Gone, gone, require_same_game
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.pooling import FEWEST_STRATA, require_poolable
from pytest_evalharness.verdict.words import Pairing, Verdict

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory


@dataclass(frozen=True)
class Extension:
    """What is to be laid down for one comparison.

    Attributes:
        kept: the comparison as it was when that was checked.
        told: what is kept with what was frozen.
        specs: the further arm of each side.
        words: what it is, for people.
    """

    kept: Kept
    told: Mapping[str, Any]
    specs: Mapping[str, ArmSpec]
    words: str


def looks_left(ledger: Ledger, kept: Kept) -> bool:
    """Whether results of a comparison were read as planned, and planned looks are left: those come before any extension."""
    looks = [look for look in ledger.looks.of(kept.comparison.id) if look.position is not None]
    return bool(looks) and not any(look.decided for look in looks) and not kept.played


def prepare(
    observatory: Observatory, kept: Kept, episodes: int, *, new_stratum: bool, run_id: str, clock: Clock
) -> Extension:
    """Check that a comparison can be extended, and say by what. Writes nothing.

    Args:
        observatory: the server that plays it.
        kept: the comparison.
        episodes: games an arm (or pairs) to add, at most one request's.
        new_stratum: whether to play them against the field as it is now; only where the frozen one is gone.
        run_id: the run that asks.
        clock: tells the time.

    Raises:
        UsageError: it has more to it than two arms, was not judged, or was judged and could tell; too many games; a further
            field though the frozen one is there, or for a claim that cannot be pooled.
        SetupChanged: the game, its scores, or who sat in it changed since.
        FieldUnavailable: a further field is wanted and cannot be had.
    """
    plan = _extendable(kept, episodes)
    told = kept.comparison.frozen
    assert told is not None
    require_same_game(observatory, kept, plan)
    field = fields_of(told)[-1]
    missing = gone(observatory, plan, field)
    _require_pinned(kept, missing)
    at = {"at": clock.now(), "run": run_id}
    if new_stratum:
        _require_need(kept, missing, episodes)
        _require_poolable(kept, plan, len(fields_of(told)) + 1)
        roster = resolve_field(observatory, plan, clock)
        arms = {side: field.arms[side].on_field(roster, plan.pins(side).keys(), episodes) for side in SIDES}
        return _on_a_further_field(kept, plan, arms, roster, at)
    _require_field(kept, plan, missing, episodes)
    return _on_the_same_field(kept, plan, field, episodes, at)


def lay_down(ledger: Ledger, extension: Extension, *, run_id: str) -> None:
    """Write an extension down, with the look that it is. Whoever plays the comparison next posts its games.

    Raises:
        UsageError: somebody else extended the comparison meanwhile; nothing was written down.
        JournalUnavailable: it cannot be written down; nothing is posted then.
    """
    kept = extension.kept
    number = _number(kept)
    after = ledger.extend(kept.comparison.id, number, extension.told, dict(extension.specs), run_id=run_id)
    if (after.frozen or {}).get(EXTENSIONS, [{}])[number:] != [dict(extension.told)]:
        raise UsageError(
            f"{kept.name} was extended by somebody else at the same moment",
            not_done=NOTHING,
            next_step=f"evalharness runs show {printable(kept.comparison.run_id)}",
        )


def _number(kept: Kept) -> int:
    return len((kept.comparison.frozen or {}).get(EXTENSIONS, ()))


# ------------------------------------------------------------------- checks


def _extendable(kept: Kept, episodes: int) -> ComparisonPlan:
    """The plan of a comparison that may be extended."""
    run = printable(kept.comparison.run_id)
    if not 1 <= episodes <= LARGEST_REQUEST:
        raise UsageError(
            f"--num must be 1 to {LARGEST_REQUEST}, got {episodes}",
            not_done=NOTHING,
            next_step="a comparison can be extended more than once",
        )
    if not isinstance(kept.plan, ComparisonPlan):
        raise UsageError(
            f"{kept.name} is a pool: its configurations were declared together",
            not_done=NOTHING,
            next_step="declare more configurations, or more episodes in each, and run it with --eval-fresh",
        )
    if kept.plan.adopted is not None:
        raise UsageError(
            f"{kept.name} judges requests that were created elsewhere: more games of them cannot be posted from here",
            not_done=NOTHING,
            next_step="create more requests of the same two arms, and name all of them: evalharness ab --judge-requests",
        )
    if kept.cancelled:
        raise UsageError(
            f"{kept.name} was cancelled: it cannot be brought to an end any more",
            not_done=NOTHING,
            next_step="run its case with --eval-fresh",
        )
    if kept.judgement is None:
        raise UsageError(
            f"{kept.name} is not judged yet ({kept.words})",
            not_done=NOTHING,
            next_step=f"evalharness runs resume {run}",
        )
    if kept.judgement["verdict"] != Verdict.INCONCLUSIVE:
        raise UsageError(
            f"{kept.name} is {kept.words.upper()}: only a comparison that could not tell can be extended",
            not_done=NOTHING,
            next_step="--eval-fresh plays it anew, beside the verdict it has",
        )
    return kept.plan


def _require_pinned(kept: Kept, missing: Gone) -> None:
    """Check that the arms themselves can still be seated: no other field stands in for them."""
    if missing.pinned:
        raise SetupChanged(
            f"{kept.name} cannot be extended: nobody can seat {_listed(missing.pinned)} any more: neither yours nor live",
            not_done=f"{NOTHING}: another version would be another question",
            next_step="ask that other question: run its case with versions that are there",
        )


def _require_field(kept: Kept, plan: ComparisonPlan, missing: Gone, episodes: int) -> None:
    """Check that the frozen field can still be played; if not, offer a further one where that can be judged."""
    if not missing.opponents:
        return
    run = printable(kept.comparison.run_id)
    case = shlex.quote(printable(kept.comparison.case_name))
    step = (
        f"evalharness runs extend {run} --num {episodes} --new-stratum --case {case}: both arms play against the field as it is now, and "
        "both fields are judged as two strata by the Cochran-Mantel-Haenszel test at the overlap rule's level"
    )
    try:
        require_poolable(plan.declaration, FEWEST_STRATA, looked=True)
    except ValueError as problem:
        step = f"run its case with --eval-fresh; a further field is no way here: {problem}"
    raise SetupChanged(
        f"{kept.name} cannot be extended on the identical set-up: {_listed(missing.opponents)} of its frozen field "
        f"{'is' if len(missing.opponents) == 1 else 'are'} no longer live",
        not_done=NOTHING,
        next_step=step,
    )


def _require_need(kept: Kept, missing: Gone, episodes: int) -> None:
    if not missing.opponents:
        raise UsageError(
            f"{kept.name} needs no new stratum: everybody of its frozen field is live",
            not_done=NOTHING,
            next_step=f"evalharness runs extend {printable(kept.comparison.run_id)} --num {episodes}: more games on the identical "
            "set-up tell more than games on another field",
        )


def _require_poolable(kept: Kept, plan: ComparisonPlan, strata: int) -> None:
    try:
        require_poolable(plan.declaration, strata, looked=True)
    except ValueError as problem:
        raise UsageError(
            f"{kept.name} cannot be judged on several fields: {problem}",
            not_done=NOTHING,
            next_step="run its case with --eval-fresh",
        ) from None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


# --------------------------------------------------------------- extensions


def _on_the_same_field(
    kept: Kept, plan: ComparisonPlan, field: Field, episodes: int, at: Mapping[str, Any]
) -> Extension:
    """More games on the identical set-up: the frozen arms, nothing resolved anew."""
    blocks = _blocks(plan, field.arms[SIDES[0]], episodes, f"{kept.comparison.id}/{_number(kept)}")
    arms = {side: field.arms[side].only(blocks) for side in SIDES}
    unit = "games an arm" if plan.declaration.pairing is None else "pairs"
    told = {"blocks": [asdict(block) for block in blocks], **at}
    return Extension(
        kept, told, _specs(kept, plan, field.roster, arms), f"{episodes} more {unit} on the identical set-up"
    )


def _on_a_further_field(
    kept: Kept, plan: ComparisonPlan, arms: Mapping[str, Arm], roster: Roster, at: Mapping[str, Any]
) -> Extension:
    """The same arms in their own seats, and in all others the field as it is now: a stratum of its own."""
    episodes = arms[SIDES[0]].episodes
    told = {"roster": roster.to_json(), "arms": {side: arms[side].to_json() for side in SIDES}, **at}
    words = f"{episodes} games an arm against the field of {roster.resolved_at}, a new stratum"
    return Extension(kept, told, _specs(kept, plan, roster, arms), words)


def _blocks(plan: ComparisonPlan, arm: Arm, episodes: int, source: str) -> Sequence[BlockSpec]:
    """The further requests; of pairs, each with a seed that no pair had before."""
    if plan.declaration.pairing is not Pairing.SEED:
        return [BlockSpec(episodes)]
    known = {block.seed for block in arm.blocks}
    fresh = (seed for seed in seeds(episodes + len(known), source) if seed not in known)
    return [BlockSpec(1, seed) for seed in itertools.islice(fresh, episodes)]


def _specs(kept: Kept, plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm]) -> dict[str, ArmSpec]:
    """The further arms, under keys that no other comparison has."""
    marks = {
        "server": plan.server,
        "roster": roster.to_json(),
        "extends": kept.comparison.id,
        "number": _number(kept),
    }
    specs = {}
    for side, arm in arms.items():
        bodies = arm.bodies()
        key = arm_key({**marks, "side": side, "bodies": bodies})
        specs[side] = ArmSpec(key, arm.to_json(), bodies)
    return specs
