"""Whether a comparison could still be played as it was: its game, what a score means there, and everybody who sat in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.results import ScoreRegime, SeatResults, read_results, regime_of
from pytest_evalharness.errors import (
    AmbiguousPolicy,
    ArtifactUnreadable,
    CredentialsRejected,
    NotTheService,
    SetupChanged,
    UnknownPolicy,
)
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.fields import Field
from pytest_evalharness.league.game import CREWRIFT
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.roster import no_longer_live

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.models import Membership

NOTHING = "nothing was written down and nothing was submitted"
_LOOKED_AT = 12
"""Games of a round that are read to learn what a score means: most of the first few tell it."""


@dataclass(frozen=True)
class Gone:
    """Who can no longer sit where they sat.

    Attributes:
        opponents: versions of the frozen field that are no longer live, with their players.
        pinned: versions of the arms themselves that are neither owned nor live any more, with their arm.
    """

    opponents: tuple[str, ...]
    pinned: tuple[str, ...]


def require_same_game(observatory: Observatory, kept: Kept, plan: ComparisonPlan) -> None:
    """Check that outcomes would still mean what they meant.

    Raises:
        SetupChanged: the league plays another version of the game, or scores it otherwise. No further field helps.
    """
    changed = [
        *_game(observatory, kept, plan),
        *(_scores(observatory, kept) if plan.game == CREWRIFT else ()),
    ]
    if changed:
        raise SetupChanged(
            f"{kept.name} cannot be extended: {'; '.join(changed)}",
            not_done=f"{NOTHING}: outcomes of before and after are not comparable, on whatever field",
            next_step="run its case with --eval-fresh: the question is asked anew of the game as it is now, and both answers are shown",
        )


def _game(observatory: Observatory, kept: Kept, plan: ComparisonPlan) -> Iterator[str]:
    """How the game differs from the one that was played."""
    asked = [block.evidence["request"] for block in kept.blocks if block.evidence is not None]
    played = {str(request["coworld_id"]): request for request in asked if request.get("coworld_id")}
    game = observatory.league(plan.league).game
    now = None if game is None else game.coworld_id
    if now is None or not played or set(played) == {now}:
        return
    then = ", ".join(
        f"{printable(one['coworld_name'])} {printable(one['coworld_version'])} ({printable(key)})"
        for key, one in sorted(played.items())
    )
    yield f"the game was {then} and is {printable(now)} now"


def _scores(observatory: Observatory, kept: Kept) -> Iterator[str]:
    """How scores differ from those of the games that were played, as far as a round that ended since then tells."""
    then = regime_of(_results_of(kept))
    since = max((block.finished_at or 0.0 for block in kept.blocks), default=0.0)
    now = _regime_since(observatory, kept, since)
    if ScoreRegime.UNDECIDED not in {then, now} and then is not now:
        yield f"scores were {then} and are {now} now"


def _results_of(kept: Kept) -> Iterator[SeatResults]:
    for block in kept.blocks:
        for episode in (block.evidence or {}).get("episodes", ()):
            if episode.get("results"):
                yield SeatResults(episode["results"])


def _regime_since(observatory: Observatory, kept: Kept, since: float) -> ScoreRegime:
    """What scores mean in the latest round of the division, if it ended after a time; undecided where that is not shown."""
    division = next((part.frozen.roster.division for part in kept.parts if part.frozen is not None), None)
    games: list[SeatResults] = []
    # Not every server shows a round's games to everybody; what was played is checked again once it is there.
    with suppress(NotTheService, CredentialsRejected, ArtifactUnreadable):
        rounds = observatory.rounds(division_id=division, status="completed", limit=1)
        ended = rounds[0].completed_at if rounds else None
        if ended is None or ended.timestamp() <= since:
            return ScoreRegime.UNDECIDED
        for row in observatory.round_episodes(rounds[0].id, limit=_LOOKED_AT):
            told = observatory.episode_results(row.id, late_seconds=0.0)
            games += [SeatResults(read_results(told).kept)] if told else []
            if (found := regime_of(games)) is not ScoreRegime.UNDECIDED:
                return found
    return ScoreRegime.UNDECIDED


# ------------------------------------------------------------------ who sat


def gone(observatory: Observatory, plan: ComparisonPlan, field: Field) -> Gone:
    """Who of a field and its arms cannot be seated any more.

    Args:
        observatory: the server.
        plan: says which seats the arms fill themselves.
        field: who sat where.
    """
    roster = field.roster
    live = observatory.memberships(league_id=roster.league, division_id=roster.division, active_only=True)
    opponents = [
        f"{printable(one.label)} ({printable(one.player_name)})" for one in no_longer_live(roster, live)
    ]
    return Gone(tuple(opponents), tuple(_unseatable(observatory, plan, field, live)))


def _unseatable(
    observatory: Observatory, plan: ComparisonPlan, field: Field, live: Sequence[Membership]
) -> Iterator[str]:
    from pytest_evalharness.observatory.resolve import resolve_policy

    for side in SIDES:
        for seat in field.arms[side].seats:
            if seat.position not in plan.pins(side):
                continue
            try:
                resolve_policy(observatory, seat.policy_version_id, live=live)
            except (UnknownPolicy, AmbiguousPolicy):
                yield f"{printable(seat.label)} (the {side})"
