"""The live field: who plays in the other seats, chosen once, frozen, and checked again before a POST."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.clock import Clock, iso
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import FieldUnavailable
from pytest_evalharness.league.game import CREWRIFT, Game
from pytest_evalharness.league.plan import ComparisonPlan

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.models import Membership

RECENT_ROUNDS = 10
"""How many completed rounds count as recent when players are ranked."""


@dataclass(frozen=True)
class Member:
    """A live player's latest version.

    Attributes:
        score: the player's best score in a recent completed round; None if it played in none.
    """

    player_id: str
    player_name: str
    label: str
    policy_version_id: str
    score: float | None


@dataclass(frozen=True)
class Roster:
    """The frozen field of a run: seats in order, and how they were chosen.

    Attributes:
        own: our own players and whoever sits in the tested seat, none of whom a draw may seat; told only where somebody is drawn.
        mine: the labels of opponents who are our own, because they were named; the ranking never gives any.
    """

    opponents: tuple[Member, ...]
    league: str
    division: str
    resolved_at: str
    live_players: int
    chosen: str
    own: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for the journal."""
        told = {**asdict(self), "opponents": [asdict(member) for member in self.opponents]}
        for key in ("own", "mine"):  # an ordinary field mentions neither, as ever
            told[key] = list(told[key])
            if not told[key]:
                del told[key]
        return told

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Roster:
        """A roster as it was frozen."""
        opponents = tuple(Member(**member) for member in data["opponents"])
        return cls(
            **{
                **data,
                "opponents": opponents,
                "own": tuple(data.get("own", ())),
                "mine": tuple(data.get("mine", ())),
            }
        )

    def seat(self, position: int, tested_seat: int, game: Game = CREWRIFT) -> Member:
        """Who sits in a seat that is not of the tested side: list order over the sides that are left."""
        return self.opponents[game.place(position, tested_seat)]


def resolve_field(observatory: Observatory, plan: ComparisonPlan, clock: Clock) -> Roster:
    """Choose the field from the live memberships.

    One latest live version a player, ranked by the player's best score in a recent completed round (or the leaderboard where
    there is none), players without a score last, own players left out. Named opponents come first, in the order given.

    Raises:
        FieldUnavailable: too few live players, or a named opponent who is not live or not unique.
    """
    division = division_of(observatory, plan)
    live = observatory.memberships(league_id=plan.league, division_id=division, active_only=True)
    own = own_players(observatory, plan.league)
    scores, by = ranking(observatory, division)
    ranked = rank(live, scores, exclude=own)
    found = [find_opponent(name, live) for name in plan.opponents]
    named = [replace(member, score=scores.get(member.player_id)) for member in found]
    seated = [member.policy_version_id for member in named]
    if len(set(seated)) < len(seated):
        raise FieldUnavailable(
            "two of the named opponents are one and the same live version",
            not_done="nothing was submitted",
            next_step="name each opponent once with --eval-opponent",
        )
    taken = {member.player_id for member in named}
    rest = [member for member in ranked if member.player_id not in taken][: plan.seats_from_ranking]
    if len(rest) < plan.seats_from_ranking:
        raise FieldUnavailable(
            f"{plan.league} has {len(ranked)} live players besides your own; "
            f"{plan.seats_from_ranking} are needed to fill the other {'sides' if plan.game.teams else 'seats'}",
            not_done="nothing was submitted",
            next_step="name opponents with --eval-opponent, or choose another league or division with "
            "--eval-league and --eval-division",
        )
    chosen = by if not named else f"{len(named)} named, the rest by {by}"
    kept = tuple(sorted(own | _tested(plan, live))) if plan.draws else ()
    mine = tuple(member.label for member in named if member.player_id in own)
    return Roster(
        tuple(named + rest), plan.league, division, iso(clock.now()), len(ranked), chosen, kept, mine
    )


def _tested(plan: ComparisonPlan, live: Sequence[Membership]) -> set[str]:
    """The players of another's policy in the tested seat: a draw that seats it a second time spoils its game."""
    tested = {pins[plan.tested_seat] for pins in (plan.candidate, plan.baseline) if plan.tested_seat in pins}
    return {
        m.player_id for m in live if m.player_id and tested & {m.policy_version.id, m.policy_version.label}
    }


def division_of(observatory: Observatory, plan: ComparisonPlan) -> str:
    """The division a plan plays in: the one it names, else the league's competition division."""
    return plan.division or observatory.competition_division(plan.league).id


def own_players(observatory: Observatory, league: str) -> frozenset[str]:
    """The players who belong to the account that runs the evaluation: they are no opponents."""
    mine = observatory.memberships(league_id=league, active_only=False, mine=True)
    return frozenset(m.player_id for m in mine if m.player_id)


def ranking(observatory: Observatory, division: str) -> tuple[dict[str, float], str]:
    """Each player's score for the ranking, and what it is: the leaderboard's where no recent round tells any."""
    best = best_scores(observatory, division)
    if not best:
        board = observatory.leaderboard(division).entries
        told = {row.player_id: row.score for row in board if row.score is not None}
        if told:
            return told, "leaderboard score: no recent round tells any"
    return best, "best recent round score"


def best_scores(observatory: Observatory, division: str) -> dict[str, float]:
    """Each player's best score over the recent completed rounds of a division."""
    best: dict[str, float] = {}
    for row in observatory.rounds(division_id=division, status="completed", limit=RECENT_ROUNDS):
        for result in observatory.round(row.id).results:
            player = result.player_id
            if player is not None and result.score is not None:
                best[player] = max(best.get(player, result.score), result.score)
    return best


def rank(live: Iterable[Membership], scores: Mapping[str, float], *, exclude: frozenset[str]) -> list[Member]:
    """The live players, best first. Ties and unscored players are ordered by id, so the answer is one."""
    latest: dict[str, Membership] = {}
    for membership in live:
        player = membership.player_id
        if player is None or player in exclude:
            continue
        known = latest.get(player)
        if known is None or _recency(membership) > _recency(known):
            latest[player] = membership
    members = [_member(m, scores.get(player)) for player, m in latest.items()]
    return sorted(members, key=lambda m: (m.score is None, -(m.score or 0.0), m.player_id))


def _name(membership: Membership) -> str:
    return (membership.player.name or "") if membership.player is not None else ""


def _recency(membership: Membership) -> tuple[float, int, str]:
    """Later membership first: version numbers of different policies say nothing about each other."""
    since = membership.start_time or membership.created_at
    version = membership.policy_version
    return since.timestamp() if since is not None else 0.0, version.version, version.id


def _member(membership: Membership, score: float | None) -> Member:
    version = membership.policy_version
    return Member(
        player_id=membership.player_id or "",
        player_name=_name(membership),
        label=version.label,
        policy_version_id=version.id,
        score=score,
    )


def find_opponent(name: str, live: Sequence[Membership]) -> Member:
    """The live version that a user means by a player's name, a label or a version id.

    Raises:
        FieldUnavailable: nobody live answers to it, or several versions do.
    """
    hits = {
        m.policy_version.id: m
        for m in live
        if name in (m.policy_version.id, m.policy_version.label, _name(m), m.player_id)
    }
    if len(hits) == 1:
        return _member(next(iter(hits.values())), None)
    if not hits:
        raise FieldUnavailable(
            f"opponent {printable(name)!r} is not live in this division",
            not_done="nothing was submitted",
            next_step="take a live player's name or version id; versions from old rounds cannot be seated",
        )
    labels = ", ".join(sorted(printable(m.policy_version.label) for m in hits.values()))
    raise FieldUnavailable(
        f"opponent {printable(name)!r} has {len(hits)} live versions: {labels}",
        not_done="nothing was submitted",
        next_step="name one of them: --eval-opponent NAME:vN",
    )


def no_longer_live(roster: Roster, live: Iterable[Membership]) -> list[Member]:
    """The members of a frozen roster who have gone since: checked right before a POST."""
    present = {membership.policy_version.id for membership in live}
    return [member for member in roster.opponents if member.policy_version_id not in present]
