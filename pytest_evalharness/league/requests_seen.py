"""Requests that somebody else created: what each says of itself, and what two arms made of them compare. Pure.

Nobody here placed their players, so what was asked for is read off the requests themselves, before any result is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import SameBuild, Untrustworthy, UsageError
from pytest_evalharness.league.arms import CANDIDATE, SIDES, AdoptedRequest, Arm, Seat
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.game import CREWRIFT
from pytest_evalharness.league.roster import Member, Roster
from pytest_evalharness.league.seats import NATURAL
from pytest_evalharness.verdict.words import Reason

if TYPE_CHECKING:
    from pytest_evalharness.observatory.models import EpisodeRow, ExperienceRequestDetail

SEAT = "--seat N (evalharness ab), seat=N in a case"
_DEFAULT_TICKS = 10_000
_NOTHING = "nothing was judged, and nothing was posted"
_SHOWN = 5


@dataclass(frozen=True)
class Seated:
    """Who sits in a seat in every game of a request."""

    policy_version_id: str
    label: str
    player_id: str
    player_name: str


@dataclass(frozen=True)
class SeenRequest:
    """What a request says of itself.

    Attributes:
        id: the server's name for it.
        created_at: when it was created, ISO; empty where the server does not tell.
        ended: whether it had ended when it was first read.
        episodes: its games.
        seats: who sits where; None for a seat that is not one policy's in all games.
        roles: each seat's forced role, or `natural`.
        ticks: the games' limit.
        seed: the seed of all its games, where it was fixed for all of them.
    """

    id: str
    created_at: str
    ended: bool
    episodes: int
    seats: tuple[Seated | None, ...]
    roles: tuple[str, ...]
    ticks: int
    seed: int | None

    @classmethod
    def of(cls, detail: ExperienceRequestDetail, *, ended: bool) -> SeenRequest:
        """Read it off a request whose episodes tell who sits in them.

        Raises:
            Untrustworthy: no game of it was ever seated.
        """
        rows = [row for row in detail.episodes if row.participants]
        if not rows:
            raise _distrust(f"no game of {printable(detail.id)} was ever seated")
        size = 1 + max(one.position for row in rows for one in row.participants)
        configs = [row.game_config for row in rows if row.game_config]
        return cls(
            id=detail.id,
            created_at="" if detail.created_at is None else detail.created_at.isoformat(),
            ended=ended,
            episodes=len(detail.episodes),
            seats=tuple(_holder(rows, position) for position in range(size)),
            roles=_roles(configs, size),
            ticks=_ticks(configs),
            seed=_one_seed(configs),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for the journal."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SeenRequest:
        """A request as it was kept."""
        seats = tuple(None if one is None else Seated(**one) for one in data["seats"])
        return cls(**{**data, "seats": seats, "roles": tuple(data["roles"])})


def _holder(rows: Sequence[EpisodeRow], position: int) -> Seated | None:
    """Who sits in a position in every game; None for nobody in particular."""
    told = [one for row in rows for one in row.participants if one.position == position]
    versions = {one.policy_version_id if one.kind == "policy" and not one.is_filler else None for one in told}
    version = next(iter(versions)) if len(versions) == 1 and len(told) == len(rows) else None
    if version is None:
        return None
    who = told[0]
    label = version if who.policy_name is None or who.version is None else f"{who.policy_name}:v{who.version}"
    return Seated(version, label, who.player_id or "", who.player_name or "")


def _roles(configs: Sequence[Mapping[str, Any]], size: int) -> tuple[str, ...]:
    """The forced roles; a list that is shorter than the game leaves the other seats to it."""
    slots = configs[0].get("slots") if configs else None
    told = [slot.get("role") if isinstance(slot, Mapping) else None for slot in slots or ()][:size]
    return tuple(str(role) if role else NATURAL for role in [*told, *[None] * (size - len(told))])


def _ticks(configs: Sequence[Mapping[str, Any]]) -> int:
    told = configs[0].get("maxTicks") if configs else None
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else _DEFAULT_TICKS


def _one_seed(configs: Sequence[Mapping[str, Any]]) -> int | None:
    seeds = {config.get("seed") for config in configs}
    seed = next(iter(seeds)) if len(seeds) == 1 and len(configs) > 1 else None
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 else None


Sides = Mapping[str, Sequence[SeenRequest]]


def require_alike(sides: Sides) -> None:
    """Check that the requests of a side place the same players, that nobody changes seats, and that the settings are equal.

    Raises:
        Untrustworthy: they do not.
        UsageError: they are no games of Crewrift.
    """
    told = [one for side in SIDES for one in sides[side]]
    foreign = {len(one.seats) for one in told} - {CREWRIFT.seats}
    if foreign:  # first of all: the fillers of a game of teams look like seats that were drawn
        raise UsageError(
            f"these games have {min(foreign)} seats, and {CREWRIFT.name}'s have {CREWRIFT.seats}: who wins another game is not known from "
            "a request",
            not_done=_NOTHING,
            next_step="let evalharness ab --league ID post both arms: it reads the game from its league",
        )
    for side in SIDES:
        first, *others = sides[side]
        drawn = [str(seat) for one in sides[side] for seat, who in enumerate(one.seats) if who is None]
        if drawn:
            seats = ", ".join(dict.fromkeys(drawn))
            raise _distrust(
                f"{Reason.ROSTER.sentence}: seats {seats} of the {side}'s requests do not hold one policy in all games: "
                "they were drawn or dealt anew in every game"
            )
        for other in others:
            apart = [
                f"seat {seat} holds {_name(ours)} in {printable(first.id)} and {_name(theirs)} in {printable(other.id)}"
                for seat, (ours, theirs) in enumerate(zip(first.seats, other.seats, strict=True))
                if _version(ours) != _version(theirs)
            ]
            if apart:
                raise _distrust(f"the {side}'s requests do not place the same players: {_some(apart)}")
    for what, values in (
        ("roles", {one.roles for one in told}),
        ("tick limits", {one.ticks for one in told}),
    ):
        if len(values) > 1:
            raise _distrust(f"{Reason.CONFIG.sentence}: the requests force unlike {what}")
    if len({one.seed for one in told}) > 1:
        raise _distrust(f"{Reason.CONFIG.sentence}: some of the requests fix a seed that others do not")


def own_seats(sides: Sides, seat: int | None, *, aa: bool) -> tuple[int, tuple[int, ...]]:
    """The seat whose results are compared, and all seats that are the arms' own: those in which they differ.

    Args:
        sides: the requests, alike by `require_alike`.
        seat: the seat that was named; None to find it.
        aa: whether one build meets itself by design.

    Raises:
        UsageError: several seats could be meant, or the named one is none of them.
        SameBuild: the arms place the same versions everywhere.
        Untrustworthy: they differ in their opponents too.
    """
    ours, theirs = (sides[side][0].seats for side in SIDES)
    differing = tuple(
        position
        for position, (one, other) in enumerate(zip(ours, theirs, strict=True))
        if _version(one) != _version(other)
    )
    if seat is not None and not 0 <= seat < len(ours):
        raise _ask(f"there is no seat {seat}; seats are 0 to {len(ours) - 1}", ())
    if aa and not differing:
        if seat is None:
            raise _ask(
                "both requests place the same versions in every seat, and none was named",
                _listed(sides, range(len(ours))),
            )
        return seat, (seat,)
    if not differing:
        raise SameBuild(
            "both arms place the same versions in every seat, so there is no edit to judge",
            not_done=_NOTHING,
            next_step="name a request of the candidate and one of the baseline",
        )
    if seat is None and len(differing) > 1:
        raise _ask(
            f"the arms differ in {len(differing)} seats, and any of them could be meant",
            _listed(sides, differing),
        )
    tested = differing[0] if seat is None else seat
    if tested not in differing:
        raise _ask(f"seat {tested} holds {_name(ours[tested])} in both arms", _listed(sides, differing))
    pair = _version(ours[tested]), _version(theirs[tested])
    others = [at for at in differing if (_version(ours[at]), _version(theirs[at])) != pair]
    if others:
        raise _distrust(f"{Reason.ROSTER.sentence}: {_some(_listed(sides, others))}")
    return tested, differing


def pins_of(sides: Sides, own: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
    """The label in each of the arms' own seats, the candidate's first; an id where two versions have one label."""
    ids: dict[str, set[str]] = {}
    for one in (who for side in SIDES for who in sides[side][0].seats if who is not None):
        ids.setdefault(one.label, set()).add(one.policy_version_id)

    def label(who: Seated | None) -> str:
        assert who is not None
        return who.label if len(ids[who.label]) == 1 else who.policy_version_id

    candidate, baseline = ({at: label(sides[side][0].seats[at]) for at in own} for side in SIDES)
    return candidate, baseline


def versions_of(sides: Sides, pins: Mapping[str, Mapping[int, str]]) -> dict[str, str]:
    """The version id that each of the arms' own labels stands for."""
    return {label: _version(sides[side][0].seats[at]) for side in SIDES for at, label in pins[side].items()}


def arms_of(sides: Sides, tested: int) -> dict[str, Arm]:
    """The arms that the requests are, as if they had been placed by us."""
    return {side: _arm(side, sides[side], tested) for side in SIDES}


def _arm(side: str, requests: Sequence[SeenRequest], tested: int) -> Arm:
    first = requests[0]
    seats = []
    for position, (who, role) in enumerate(zip(first.seats, first.roles, strict=True)):
        assert who is not None
        seats.append(Seat(position, who.policy_version_id, who.label, role))
    return Arm(
        side,
        seats[tested].label,
        tuple(seats),
        tested,
        sum(one.episodes for one in requests),
        first.ticks,
        {"game_config_overrides": {} if first.seed is None else {"seed": first.seed}},
        tuple(BlockSpec(one.episodes) for one in requests),
        tuple(AdoptedRequest(one.id, one.created_at, one.ended) for one in requests),
    )


def roster_of(sides: Sides, own: Sequence[int], at: str) -> Roster:
    """The opponents, which are the same in both arms; `at` is when they were read."""
    others = [who for position, who in enumerate(sides[CANDIDATE][0].seats) if position not in own]
    members = [
        Member(who.player_id, who.player_name, who.label, who.policy_version_id, None)
        for who in others
        if who is not None
    ]
    return Roster(tuple(members), "", "", at, 0, "as the requests place them; nobody here chose them")


def _listed(sides: Sides, positions: Sequence[int] | range) -> list[str]:
    ours, theirs = (sides[side][0].seats for side in SIDES)
    return [f"seat {at}: {_name(ours[at])} against {_name(theirs[at])}" for at in positions]


def _version(who: Seated | None) -> str:
    return "" if who is None else who.policy_version_id


def _name(who: Seated | None) -> str:
    return "nobody in particular" if who is None else printable(who.label)


def _some(told: Sequence[str]) -> str:
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more


def _ask(what: str, seats: Sequence[str]) -> UsageError:
    return UsageError(
        "\n  ".join([what, *seats]), not_done=_NOTHING, next_step=f"name the tested seat: {SEAT}"
    )


def _distrust(what: str) -> Untrustworthy:
    return Untrustworthy(
        what,
        not_done=_NOTHING,
        next_step="create two requests that differ in the tested policy only, or let evalharness ab post them",
    )
