"""What the arms of a comparison did not share although it is no fault: opponents that were drawn, roles that were dealt. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord, Outcome
from pytest_evalharness.league.seats import NATURAL
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

NEVER_QUIET = frozenset({Reason.DRAWN_FIELD, Reason.NATURAL_ROLES, Reason.DECLARED_AFTER})
"""What is told beside a claim that is met, too."""


def unshared(arms: Mapping[str, Arm], records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """What a reader must know beside a trustworthy verdict.

    Args:
        arms: the arms as they were frozen.
        records: what their episodes left.
    """
    if any(seat.draw is not None for arm in arms.values() for seat in arm.seats):
        yield Finding(
            Reason.DRAWN_FIELD, "; ".join(f"{side} met {_met(arms[side], records[side])}" for side in SIDES)
        )
    if any(arms[side].seats[arms[side].tested_seat].role == NATURAL for side in SIDES):
        told = (f"{side} won {_split(arms[side].tested_seat, records[side])}" for side in SIDES)
        yield Finding(Reason.NATURAL_ROLES, "; ".join(told))


def drawn(arm: Arm, record: ArmRecord) -> Counter[str]:
    """In how many seats of an arm's games each version was drawn."""
    seats = {seat.position for seat in arm.seats if seat.draw is not None}
    return Counter(
        one.policy_version_id
        for game in record.episodes
        for one in game.participants
        if one.position in seats and one.policy_version_id is not None
    )


def by_role(record: ArmRecord, seat: int) -> dict[str, tuple[int, int]]:
    """A seat's games that count, by the role it really played: wins and games. A game that tells no role is left out.

    Args:
        record: what an arm's episodes left.
        seat: the seat.
    """
    counted: dict[str, list[EpisodeRecord]] = {}
    for game in record.games:
        role = None if game is None else game.role(seat)
        if game is not None and role is not None and game.outcome(seat) is not Outcome.MISSING:
            counted.setdefault(role, []).append(game)
    return {
        role: (sum(game.outcome(seat) is Outcome.WIN for game in games), len(games))
        for role, games in sorted(counted.items())
    }


def _met(arm: Arm, record: ArmRecord) -> str:
    seats = [seat.position for seat in arm.seats if seat.draw is not None]
    if not seats:
        return "the frozen field only"
    return f"{len(drawn(arm, record))} versions in seats {', '.join(map(str, seats))}"


def _split(seat: int, record: ArmRecord) -> str:
    found = by_role(record, seat)
    return (
        ", ".join(f"{wins}/{games} as {role}" for role, (wins, games) in found.items())
        or "no game that tells a role"
    )
