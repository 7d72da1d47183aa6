"""From what a request asks for to who sits where: target, selectors, seats of each episode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.league.ids import is_bare
from pytest_evalharness.arena.league.world import Coworld, Division, League, Version, World

_LABEL = re.compile(r"(?P<name>[^:\s]+):v(?P<number>[1-9][0-9]{0,8})")


class UnresolvableError(ValueError):
    """The request is well-formed, but what it names cannot be played; the message says what."""


@dataclass(frozen=True)
class Target:
    """Where a request plays. Without a league nothing can be drawn and no idempotency key holds."""

    coworld: Coworld
    variant: str
    league: League | None
    division: Division | None


@dataclass(frozen=True)
class Pick:
    """One roster entry: a version, or a pool to draw one from; `slot` -1 takes turns over the open seats."""

    slot: int
    version: Version | None
    pool: tuple[Version, ...] = ()

    def spelled(self) -> dict[str, Any]:
        """The entry in one spelling, however it was asked for: for the digest of a request."""
        return {
            "slot": self.slot,
            "version": self.version.id if self.version else None,
            "pool": [version.id for version in self.pool],
        }


def resolve_target(world: World, body: Mapping[str, Any]) -> Target:
    """Where a request is to be played.

    Raises:
        UnresolvableError: there is no such place, it is ambiguous, or nothing can be played there.
    """
    target = body.get("target") or {}
    league = _league(world, target)
    division = _division(world, target, league)
    if division is not None and league is None:
        league = division.league
    coworld_id = target.get("coworld_id") or body.get("coworld_id")
    coworld = _coworld(world, coworld_id, league)
    variant = target.get("variant_id") or body.get("variant_id")
    if variant is None:
        variant = league.variant if league is not None else next(iter(coworld.variants), None)
    if variant is None or not coworld.variants:
        raise UnresolvableError(f"Coworld {coworld.name} has no variant that can be played here")
    if variant not in coworld.variants:
        known = ", ".join(coworld.variants)
        raise UnresolvableError(f"Coworld {coworld.name} has no variant {variant!r}; it has {known}")
    if league is not None and division is None:
        division = world.competition(league)
    return Target(coworld, variant, league, division)


def _league(world: World, target: Mapping[str, Any]) -> League | None:
    league_id, name = target.get("league_id"), target.get("league_name")
    if league_id is not None:
        league = world.league(league_id)
        if league is None:
            raise UnresolvableError(f"League {league_id} not found")
        return league
    if name is None:
        return None
    found = [league for league in world.leagues if name in {league.name, league.slug}]
    if len(found) != 1:
        raise UnresolvableError(f"League {name!r} not found")
    return found[0]


def _division(world: World, target: Mapping[str, Any], league: League | None) -> Division | None:
    division_id, name = target.get("division_id"), target.get("division_name")
    if division_id is not None:
        division = world.division(division_id)
        if division is None or (league is not None and division.league.id != league.id):
            raise UnresolvableError(f"Division {division_id} not found")
        return division
    if name is None:
        return None
    if league is None:
        raise UnresolvableError("division_name needs league_id or league_name")
    found = [each for each in world.divisions_of(league) if each.name == name and each.open]
    if len(found) != 1:
        raise UnresolvableError(f"Division {name!r} not found in {league.name}")
    return found[0]


def _coworld(world: World, coworld_id: str | None, league: League | None) -> Coworld:
    if coworld_id is None:
        if league is None:
            raise UnresolvableError("target must name a league, a division or a coworld")
        return league.coworld
    coworld = next((each for each in world.coworlds if each.id == coworld_id), None)
    if coworld is None:
        raise UnresolvableError(f"Coworld {coworld_id} not found")
    if league is not None and league.coworld.id != coworld.id:
        raise UnresolvableError(f"League {league.name} does not play coworld {coworld.name}")
    return coworld


def resolve_roster(world: World, target: Target, body: Mapping[str, Any]) -> list[Pick]:
    """The roster's entries, resolved: one a seat, pinned slots unique and in range.

    Raises:
        UnresolvableError: wrong length, bad slots, an unknown policy, an empty pool.
    """
    roster: Sequence[Mapping[str, Any]] = body["roster"]
    seats = GAMES[target.coworld.name].seats
    if len(roster) != seats:
        raise UnresolvableError(f"roster has {len(roster)} entries, but {target.variant} has {seats} seats")
    slots = [int(entry.get("slot", -1)) for entry in roster]
    _check_slots(slots, seats)
    picks = [
        _pick(world, target, entry["player"], slot, body) for entry, slot in zip(roster, slots, strict=True)
    ]
    if any(pick.version is None for pick in picks):
        _draw(picks, Random(0))  # refuses pools that cannot fill their seats
    return picks


def _check_slots(slots: Sequence[int], seats: int) -> None:
    for slot in slots:
        if not -1 <= slot < seats:
            raise UnresolvableError(f"slot {slot} is out of range: seats are 0 to {seats - 1}, -1 is any")
    pinned = [slot for slot in slots if slot >= 0]
    twice = sorted({slot for slot in pinned if pinned.count(slot) > 1})
    if twice:
        raise UnresolvableError(f"duplicate slot {', '.join(map(str, twice))} in roster")


def _pick(
    world: World, target: Target, selector: Mapping[str, Any], slot: int, body: Mapping[str, Any]
) -> Pick:
    if selector.get("policy_ref") is not None:
        return Pick(slot, _version(world, selector["policy_ref"]))
    if target.division is None:
        raise UnresolvableError("top_n and random need a league or division target")
    top_n = selector.get("top_n")
    pool = world.ranked(target.division, champions=top_n is not None)
    included, excluded = body.get("included_players"), body.get("excluded_players") or []
    pool = [
        version
        for version in pool
        if (not included or _named(version, included)) and not _named(version, excluded)
    ]
    if not pool:
        raise UnresolvableError(f"Division {target.division.name} has no champions to draw from")
    return Pick(slot, None, tuple(pool[:top_n]))


def _named(version: Version, names: Sequence[str]) -> bool:
    return version.player.id in names or version.player.name in names


def _version(world: World, ref: str) -> Version:
    if is_bare(ref):
        version = world.version_by_id.get(ref.lower())
    else:
        version = world.version_by_label.get(ref) if _LABEL.fullmatch(ref) else None
    there = version is not None and version.id not in world.withdrawn
    if version is None or not there or not (world.owned(version) or version.id in world.live_versions):
        raise UnresolvableError(f"policy_ref {ref!r} did not match an active runnable policy")
    return version


def seat_episode(picks: Sequence[Pick], index: int, rng: Random) -> tuple[Version, ...]:
    """Who sits where in one episode.

    Pinned entries sit where they were pinned; the others go round the open seats, one further each episode.
    Drawn ones are drawn anew for each episode.
    """
    guests = _draw(picks, rng)
    seats: dict[int, Version] = {}
    floating: list[Version] = []
    for pick, guest in zip(picks, guests, strict=True):
        if pick.slot >= 0:
            seats[pick.slot] = guest
        else:
            floating.append(guest)
    free = [seat for seat in range(len(picks)) if seat not in seats]
    for place, guest in enumerate(floating):
        seats[free[(place + index) % len(free)]] = guest
    return tuple(seats[seat] for seat in range(len(picks)))


def _draw(picks: Sequence[Pick], rng: Random) -> list[Version]:
    """One version an entry. Draws are weighted by rank (1, 1/2, 1/3, …) and never repeat a version.

    The smallest pools draw first: a `top_n` of 1 must not lose its only candidate to a `random`.
    """
    out: dict[int, Version] = {at: pick.version for at, pick in enumerate(picks) if pick.version is not None}
    drawn: set[str] = set()
    open_entries = [at for at in range(len(picks)) if at not in out]
    for at in sorted(open_entries, key=lambda at: (len(picks[at].pool), at)):
        left = [(rank, each) for rank, each in enumerate(picks[at].pool, start=1) if each.id not in drawn]
        if not left:
            raise UnresolvableError("the roster draws more players than the division has to offer")
        [(_, chosen)] = rng.choices(left, weights=[1 / rank for rank, _ in left])
        drawn.add(chosen.id)
        out[at] = chosen
    return [out[at] for at in range(len(picks))]
