"""An arm: which version sits where, the request body that asks for it, and the key it is known by. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.blocks import BlockSpec, block_specs
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.raw_roster import Draw, words
from pytest_evalharness.league.roster import Member, Roster
from pytest_evalharness.ledger.keys import digest

if TYPE_CHECKING:
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

CANDIDATE = "candidate"
BASELINE = "baseline"
SIDES = (CANDIDATE, BASELINE)
_LONGEST_NOTES = 1000


@dataclass(frozen=True)
class Seat:
    """Who is to sit where, in which role.

    Attributes:
        policy_version_id: the version; empty where every game draws one.
        draw: the selector that draws it; None for a version that is pinned.
        captain: the first seat of its side, where that is another one: the side's policy is cloned over its seats, and the service
            may mark the clones as fillers. None for a seat that plays for itself, or leads its side.
    """

    position: int
    policy_version_id: str
    label: str
    role: str
    draw: Draw | None = None
    captain: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data. A pinned seat does not mention draws, and one that is no clone no captain, as ever."""
        return {
            key: one for key, one in asdict(self).items() if one is not None or key not in {"draw", "captain"}
        }

    @property
    def led_by(self) -> int:
        """The first seat of its side."""
        return self.position if self.captain is None else self.captain


@dataclass(frozen=True)
class AdoptedRequest:
    """A request that somebody else created.

    Attributes:
        id: the server's name for it.
        created_at: when, ISO; empty where the server does not tell.
        ended: whether it had ended when it was first read.
    """

    id: str
    created_at: str
    ended: bool

    def __str__(self) -> str:
        when = f"of {printable(self.created_at)}, " if self.created_at else ""
        return f"{printable(self.id)} ({when}{'ended' if self.ended else 'not ended'} when it was first read)"


@dataclass(frozen=True)
class Arm:
    """One side of a comparison, ready to be posted; or one that is judged by requests of somebody else.

    Attributes:
        side: `candidate` or `baseline`.
        label: who sits in the tested seat.
        seats: who sits where.
        tested_seat: the seat whose wins are counted.
        episodes: games in all its requests together.
        ticks: each game's limit.
        body: what every request says, as one request for all games.
        blocks: the requests it is really cut into.
        adopted: the same requests, where somebody else created them; empty for an arm of ours.
    """

    side: str
    label: str
    seats: tuple[Seat, ...]
    tested_seat: int
    episodes: int
    ticks: int
    body: Mapping[str, Any]
    blocks: tuple[BlockSpec, ...]
    adopted: tuple[AdoptedRequest, ...] = ()

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of its requests, in order."""
        return [self._body(block) for block in self.blocks]

    def _body(self, block: BlockSpec) -> dict[str, Any]:
        body = {**self.body, "num_episodes": block.episodes}
        if block.seed is None:
            return body
        return {**body, "game_config_overrides": {**body["game_config_overrides"], "seed": block.seed}}

    def to_json(self) -> dict[str, Any]:
        """Plain data for the journal and for the arm key."""
        told = {"adopted": [asdict(one) for one in self.adopted]} if self.adopted else {}
        return {
            **told,
            "label": self.label,
            "seats": [seat.to_json() for seat in self.seats],
            "tested_seat": self.tested_seat,
            "episodes": self.episodes,
            "ticks": self.ticks,
            "body": dict(self.body),
            "blocks": [asdict(block) for block in self.blocks],
        }

    def extended(self, blocks: Sequence[BlockSpec]) -> Arm:
        """The same arm with more requests."""
        more = sum(block.episodes for block in blocks)
        return replace(self, episodes=self.episodes + more, blocks=(*self.blocks, *blocks))

    def only(self, blocks: Sequence[BlockSpec]) -> Arm:
        """The same arm with other requests in place of its own."""
        return replace(self, episodes=sum(block.episodes for block in blocks), blocks=tuple(blocks))

    def on_field(self, roster: Roster, pinned: Collection[int], episodes: int) -> Arm:
        """The same arm against another field: the pinned seats stay, the field's players take the others.

        Args:
            roster: the new field.
            pinned: the seats that the arm fills itself.
            episodes: games, in one request.
        """
        others = [one for one in dict.fromkeys(seat.led_by for seat in self.seats) if one != self.tested_seat]
        seats = tuple(
            seat
            if seat.position in pinned or seat.draw is not None
            else _seated(seat, roster.opponents[others.index(seat.led_by)])
            for seat in self.seats
        )
        body = {
            **self.body,
            "target": {**self.body["target"], "division_id": roster.division},
            "roster": _placed(seats),
            "num_episodes": episodes,
        }
        return replace(self, seats=seats, episodes=episodes, body=body, blocks=(BlockSpec(episodes),))

    @classmethod
    def from_json(cls, side: str, data: Mapping[str, Any]) -> Arm:
        """An arm as it was frozen."""
        return cls(
            side,
            data["label"],
            tuple(Seat(**seat) for seat in data["seats"]),
            data["tested_seat"],
            data["episodes"],
            data["ticks"],
            data["body"],
            tuple(BlockSpec(**block) for block in data["blocks"]),
            tuple(AdoptedRequest(**one) for one in data.get("adopted", ())),
        )


def build_arm(
    plan: ComparisonPlan, side: str, roster: Roster, policies: Mapping[str, ResolvedPolicy], *, look: int = 0
) -> Arm:
    """Seat an arm: its own pins first, the frozen field everywhere else.

    Args:
        plan: the comparison.
        side: `candidate` or `baseline`.
        roster: the field, the same object for both arms.
        policies: label → version, for every pinned label.
        look: how often the same question was asked before; seeds are drawn from the field and from this.
    """
    pins, drawn, roles = plan.pins(side), plan.drawn(side), plan.roles
    seats = []
    for position in range(plan.game.seats):
        role = str(roles[position])
        if position in drawn:
            seats.append(Seat(position, "", words(drawn[position]), role, dict(drawn[position])))
            continue
        if position in pins:
            version, label = policies[pins[position]].policy_version_id, policies[pins[position]].label
        else:
            member = roster.seat(position, plan.tested_seat, plan.game)
            version, label = member.policy_version_id, member.label
        captain = plan.game.with_seat(position)[0]
        seats.append(Seat(position, version, label, role, captain=captain if captain != position else None))
    body = {
        "target": {"league_id": plan.league, "division_id": roster.division},
        "roster": _placed(seats),
        "num_episodes": plan.episodes,
        "execution_backend": plan.backend,
        "game_config_overrides": plan.game_config(),
    }
    if drawn:
        body["excluded_players"] = list(roster.own)  # a draw could seat our own champion
    return Arm(
        side,
        seats[plan.tested_seat].label,
        tuple(seats),
        plan.tested_seat,
        plan.episodes,
        plan.ticks,
        body,
        block_specs(plan.declaration, plan.episodes, _seed_source(roster, look)),
    )


def _seated(seat: Seat, member: Member) -> Seat:
    return replace(seat, policy_version_id=member.policy_version_id, label=member.label)


def _placed(seats: Sequence[Seat]) -> list[dict[str, Any]]:
    return [
        {
            "player": {"policy_ref": s.policy_version_id} if s.draw is None else dict(s.draw),
            "slot": s.position,
        }
        for s in seats
    ]


def _seed_source(roster: Roster, look: int) -> str:
    """What seeds are drawn from: who the field is and which look this is, not when it was resolved.

    So the same question in a fresh home plays the same games where a server's games follow from their seeds.
    """
    return digest({"field": [member.policy_version_id for member in roster.opponents], "look": look})


def signed_body(body: Mapping[str, Any], *, notes: str, token: str, idempotency_key: str) -> dict[str, Any]:
    """A body with the two marks by which a request is found again if its answer gets lost."""
    marked = f"{token} {notes}"[:_LONGEST_NOTES]
    return {**body, "notes": marked, "idempotency_key": idempotency_key}
