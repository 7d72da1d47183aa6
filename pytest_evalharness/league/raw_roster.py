"""A roster as the service takes it, read by hand: one entry a seat, each a version, a draw from the best, or any draw. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.seats import SEATS

POLICY_REF, TOP_N, RANDOM = SELECTORS = ("policy_ref", "top_n", "random")
_LARGEST_POOL = 100

Draw = Mapping[str, Any]
"""A selector that draws another player in every game: `{"top_n": 7}` or `{"random": True}`."""


def read(roster: Sequence[Any], seats: int = SEATS) -> tuple[dict[int, str], dict[int, Draw]]:
    """Who sits where, and which seats are drawn.

    An entry without a slot, or with -1, gets the first open seat, in the order of the list, and keeps it in every game: the
    service would let it wander, and no seat could be verified. Seats that no entry fills are for the frozen field.

    Args:
        roster: entries `{"player": {"policy_ref": "NAME:vN" or id} | {"top_n": N} | {"random": true}, "slot": seat}`.
        seats: how many seats the game has.

    Returns:
        Seat → label or policy version id, and seat → draw.

    Raises:
        UsageError: an entry is none of these, a slot is taken twice or does not exist, or there are too many.
    """
    entries = [_entry(one, seats) for one in roster]
    if len(entries) > seats:
        raise _wrong(f"the roster has {len(entries)} entries; there are {seats} seats")
    taken = [slot for _, slot in entries if slot >= 0]
    twice = [slot for i, slot in enumerate(taken) if slot in taken[:i]]
    if twice:
        raise _wrong(f"the roster fills seat {twice[0]} twice")
    free: Iterator[int] = (seat for seat in range(seats) if seat not in taken)
    pinned: dict[int, str] = {}
    drawn: dict[int, Draw] = {}
    for player, slot in entries:
        seat = slot if slot >= 0 else next(free)
        if POLICY_REF in player:
            pinned[seat] = player[POLICY_REF]
        else:
            drawn[seat] = player
    return pinned, drawn


def words(draw: Draw) -> str:
    """A draw in words, as a label for its seat."""
    return f"drawn from the top {draw[TOP_N]}" if TOP_N in draw else "drawn at random"


def _entry(entry: Any, seats: int) -> tuple[dict[str, Any], int]:
    if not isinstance(entry, Mapping) or not {"player"} <= set(entry) <= {"player", "slot"}:
        raise _wrong(f"a roster entry is {{'player': {{…}}, 'slot': seat}}, not {entry!r}")
    slot = entry.get("slot", -1)
    if isinstance(slot, bool) or not isinstance(slot, int) or not -1 <= slot < seats:
        raise _wrong(f"slot {slot!r} does not exist; seats are 0 to {seats - 1}, and -1 is any open one")
    return _selector(entry["player"]), slot


def _selector(player: Any) -> dict[str, Any]:
    """One of the three; the others may be there as null, as in a body that names all keys."""
    if not isinstance(player, Mapping) or set(player) - set(SELECTORS):
        raise _wrong(f"a player is one of {', '.join(SELECTORS)}, not {player!r}")
    said = {key: value for key, value in player.items() if value is not None and value is not False}
    if len(said) != 1:
        raise _wrong(f"a player is exactly one of {', '.join(SELECTORS)}, not {dict(player)!r}")
    ((key, value),) = said.items()
    if key == POLICY_REF and not (isinstance(value, str) and value):
        raise _wrong(f"policy_ref is NAME:vN or a policy version's id, not {value!r}")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if key == TOP_N and not (whole and 1 <= value <= _LARGEST_POOL):
        raise _wrong(f"top_n is a whole number from 1 to {_LARGEST_POOL}, not {value!r}")
    if key == RANDOM and value is not True:
        raise _wrong(f"random is true, not {value!r}")
    return said


def _wrong(what: str) -> UsageError:
    return UsageError(
        what, not_done="nothing was submitted", next_step="correct the case and run the same command again"
    )
