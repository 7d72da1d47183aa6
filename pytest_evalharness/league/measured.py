"""What was measured: whether the games of a comparison say what they seem to say, one check a line. Pure.

Each check tells of both arms what was seen, candidate first. A check fails only where `trust` has a finding; what is merely not
told leaves it unknown, and what was found, counted and taken into account is noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.episodes.error_info import Blame, blame_of
from pytest_evalharness.episodes.results import ScoreRegime, regime_of
from pytest_evalharness.league import advisers
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.attribution import COMPLETED, attribution
from pytest_evalharness.league.records import LOG, STATUS, ArmRecord, EpisodeRecord
from pytest_evalharness.league.seats import NATURAL
from pytest_evalharness.verdict import wins
from pytest_evalharness.verdict.checks import Check, CheckState
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Attribution, Reason

_NAMED = 3
_WIDE = 60


@dataclass(frozen=True)
class _Told:
    """What a check found of one arm.

    Attributes:
        seen: in words.
        counts: in numbers.
        state: what it means, as far as this arm goes.
    """

    seen: str
    counts: Mapping[str, int]
    state: CheckState = CheckState.OK


_Look = Callable[[Arm, ArmRecord], _Told]


def measured(
    arms: Mapping[str, Arm],
    records: Mapping[str, ArmRecord],
    failed: Collection[Reason],
    *,
    min_fire_rate: float | None = None,
    crewrift: bool = True,
) -> tuple[Check, ...]:
    """Every check of what was measured, in a fixed order.

    Args:
        arms: the arms as they were frozen.
        records: what their episodes left.
        failed: the reasons that forbid trust.
        min_fire_rate: how often an adviser must have decided; None where nobody asked for it.
        crewrift: whether the game is Crewrift, whose results tell roles, timeouts and votes.
    """
    looks: Iterable[tuple[str, Reason | None, _Look]] = (
        ("roles", Reason.ROLES, _roles),
        ("wins", None, _wins),
        ("timeouts", None, _timeouts),
        ("crashes", None, _crashes),
        ("errors", None, _errors),
        ("game version", Reason.VERSIONS, _version),
        ("adviser", Reason.ADVISER, lambda _, record: _adviser(record, min_fire_rate)),
        ("votes", None, _votes),
    )
    found = [
        _check(name, {side: look(arms[side], records[side]) for side in SIDES}, failed=reason in failed)
        for name, reason, look in looks
        if _applies(name, arms, records, crewrift=crewrift)
    ]
    return tuple(
        replace(one, seen=one.seen + _meaning(records)) if one.name == "game version" else one
        for one in found
    )


def _applies(name: str, arms: Mapping[str, Arm], records: Mapping[str, ArmRecord], *, crewrift: bool) -> bool:
    """Whether there is anything that a check could see in this game."""
    if name == "roles":
        return all(arm.seats[arm.tested_seat].role for arm in arms.values())
    if name == "wins":
        return any(game.reading is not None for record in records.values() for game in played(record))
    if name == "timeouts":
        return crewrift or any(
            game.told.tells_timeouts for record in records.values() for game in played(record)
        )
    return crewrift or name != "votes"


def _check(name: str, told: Mapping[str, _Told], *, failed: bool) -> Check:
    states = [one.state for one in told.values()]
    worst = next((s for s in (CheckState.UNKNOWN, CheckState.NOTED) if s in states), CheckState.OK)
    both = [one.seen for one in told.values()]
    return Check(
        name,
        CheckState.FAILED if failed else worst,
        both[0] if both[0] == both[1] else " / ".join(both),
        {side: one.counts for side, one in told.items() if one.counts},
    )


def played(record: ArmRecord) -> list[EpisodeRecord]:
    """The episodes that have results."""
    return [episode for episode in record.episodes if episode.results is not None]


def _to_their_end(record: ArmRecord) -> list[EpisodeRecord]:
    """The completed games that no timeout ended."""
    return [game for game in played(record) if game.status == COMPLETED and not game.told.timed_out]


def _roles(arm: Arm, record: ArmRecord) -> _Told:
    """Nothing but results proves a role; the config tells what was asked for."""
    games = played(record)
    if arm.seats[arm.tested_seat].role == NATURAL:
        return _dealt(arm, games)
    right = sum(all(game.role(seat.position) == seat.role for seat in arm.seats) for game in games)
    told = f"{arm.seats[arm.tested_seat].role} in seat {arm.tested_seat}, all as forced in {right} of {counted(len(games), 'game')}"
    return _Told(
        told, {"games": len(games), "as_forced": right}, CheckState.OK if games else CheckState.UNKNOWN
    )


def _dealt(arm: Arm, games: Sequence[EpisodeRecord]) -> _Told:
    """What the tested seat was dealt, where no role was forced."""
    dealt = Counter(game.role(arm.tested_seat) or "no role" for game in games)
    told = ", ".join(f"{role} in {number}" for role, number in sorted(dealt.items()))
    return _Told(
        f"seat {arm.tested_seat} was dealt {told or 'nothing'} of {counted(len(games), 'game')}",
        {"games": len(games), **dict(sorted(dealt.items()))},
        CheckState.OK if games else CheckState.UNKNOWN,
    )


def _wins(arm: Arm, record: ArmRecord) -> _Told:
    """By what a game is won, and how many games nobody won alone."""
    games, seat = _to_their_end(record), arm.tested_seat
    reading = next((game.reading for game in games if game.reading is not None), None)
    if reading is None:
        return _Told("no game was played to its end", {}, CheckState.UNKNOWN)
    untold = [game for game in games if game.won(seat) is None]
    counts = {"games": len(games), "untold": len(untold)}
    told = wins.words_of(reading.win)
    if reading.win == wins.HIGHEST:
        counts["ties"] = sum(game.tied(seat) for game in games)
        told += f": {counted(counts['ties'], 'tie')} in {counted(len(games), 'game')}"
    if untold:
        told += f", not told in {len(untold)} of {counted(len(games), 'game')} ({_some(untold)})"
    return _Told(told, counts, CheckState.UNKNOWN if untold or not games else CheckState.OK)


def _timeouts(arm: Arm, record: ArmRecord) -> _Told:
    games = [game for game in played(record) if game.status == COMPLETED]
    ours = [game for game in games if not set(game.side_of(arm.tested_seat)).isdisjoint(game.told.timed_out)]
    others = [game for game in games if game.told.timed_out and game not in ours]
    untold = [game for game in games if not game.told.tells_timeouts]
    parts = []
    if ours:
        parts.append(f"{len(ours)} lost by the tested seat's own ({_some(ours)})")
    if others:
        parts.append(f"{len(others)} missing by another seat's ({_some(others)})")
    if untold or not games:
        parts.append(f"not told in {len(untold)} of {counted(len(games), 'game')}")
    state = (
        CheckState.UNKNOWN if untold or not games else CheckState.NOTED if ours or others else CheckState.OK
    )
    counts = {
        "games": len(games),
        "tested_seat": len(ours),
        "other_seats": len(others),
        "untold": len(untold),
    }
    return _Told(", ".join(parts) or f"none in {counted(len(games), 'game')}", counts, state)


def _crashes(arm: Arm, record: ArmRecord) -> _Told:
    """A completed game may hide a tested seat whose process broke on the way; one that a timeout ended hides nothing."""
    seat = arm.tested_seat
    games = _to_their_end(record)
    broke = [game for game in games if game.crashed(seat)]
    untold = [game for game in games if game.crashed(seat) is None]
    others = sum(
        any(game.crashed(other.position) for other in arm.seats if other.led_by != seat) for game in games
    )
    parts = []
    if broke:
        parts.append(f"{len(broke)} counted as lost ({_named(broke, lambda game: _end(game, seat))})")
    if untold or not games:
        parts.append(f"not told in {len(untold)} of {counted(len(games), 'game')}{_why(untold, STATUS)}")
    hints = [game for game in untold if game.last_words]
    if hints:
        parts.append(f"logs that end with an error: {_named(hints, lambda game: game.last_words)}")
    if others:
        parts.append(f"another seat's process broke in {others}")
    state = CheckState.UNKNOWN if untold or not games else CheckState.NOTED if broke else CheckState.OK
    counts = {"games": len(games), "tested_seat": len(broke), "other_seats": others, "untold": len(untold)}
    quiet = (
        [] if broke or len(untold) == len(games) else [f"none in {counted(len(games) - len(untold), 'game')}"]
    )
    return _Told(", ".join([*quiet, *parts]), counts, state)


def _end(game: EpisodeRecord, seat: int) -> str:
    """How a seat's process ended."""
    status = game.status_of_players
    ends = [] if status is None else [status.of(one) for one in game.side_of(seat) if status.crashed(one)]
    end = ends[0] if ends else None
    if end is None:
        return ""
    return " ".join(part for part in (f"exit code {end.exit_code}", end.reason or "") if part)


def _errors(arm: Arm, record: ArmRecord) -> _Told:
    """Error types of failed episodes, and whom they are attributed to."""
    failed = [episode for episode in record.episodes if episode.status != COMPLETED]
    counted: Counter[tuple[str, str]] = Counter()
    for episode in failed:
        blame = attribution(episode, arm.tested_seat) or Attribution.UNKNOWN
        counted[episode.error_type or episode.status, _whose(episode, blame)] += 1
    told = ", ".join(
        f"{number} {printable(word, _WIDE)} ({whose})" for (word, whose), number in counted.items()
    )
    unknown = sum(attribution(episode, arm.tested_seat) in {Attribution.UNKNOWN, None} for episode in failed)
    state = CheckState.UNKNOWN if unknown else CheckState.NOTED if failed else CheckState.OK
    return _Told(told or "none", {"failed": len(failed), "unknown": unknown}, state)


def _whose(episode: EpisodeRecord, blame: Attribution) -> str:
    if blame is Attribution.POLICY:
        return "the tested policy's: lost"
    if blame is Attribution.UNKNOWN:
        return "unknown: not counted"
    kind = blame_of(episode.error_type)
    return {Blame.PLAYER: "another seat's: missing", Blame.GAME: "the game's: missing"}.get(
        kind, "infrastructure: missing"
    )


def _version(_: Arm, record: ArmRecord) -> _Told:
    """Which version of the game was played, by the requests and by each row that tells it."""
    told = sorted(record.versions)
    if not told:
        return _Told("not told", {}, CheckState.UNKNOWN)
    return _Told(" and ".join(printable(one, _WIDE) for one in told), {})


def _meaning(records: Mapping[str, ArmRecord]) -> str:
    """What a score means in both arms' games; an arm that could be of several regimes is of the other's."""
    found = {side: regime_of(game.told for game in played(records[side])) for side in SIDES}
    known = list(dict.fromkeys(one.value for one in found.values() if one is not ScoreRegime.UNDECIDED))
    return f", scores by {' / by '.join(known)}" if known else ""


def _adviser(record: ArmRecord, least: float | None) -> _Told:
    found = advisers.of(record)
    seen = found.words if least is None else f"{found.words}, {100 * least:g} % asked for"
    counts = {
        "looked_into": found.looked_into, "told": found.told, "decisions": found.decisions, "fallbacks": found.fallbacks,
        "out_of_reach": found.out_of_reach,
    }  # fmt: skip
    if found.rate is None:
        return _Told(seen, counts, CheckState.UNKNOWN)
    return _Told(seen, counts, CheckState.OK if found.decisions else CheckState.NOTED)


def _votes(arm: Arm, record: ArmRecord) -> _Told:
    found = advisers.votes_of(record)
    if arm.seats[arm.tested_seat].role == NATURAL:
        return _Told("the tested seat is an imposter in some games, whose votes aim at crew", {})
    if arm.seats[arm.tested_seat].role == "imposter":
        return _Told("the tested seat is an imposter, whose votes aim at crew", {})
    counts = {"games": found.games, "votes": found.votes, "hits": found.hits}
    if not found.games:
        return _Told("not told in any game", counts, CheckState.UNKNOWN)
    if not found.votes:
        return _Told(f"none at a player in {counted(found.games, 'game')}", counts)
    share = 100 * found.hits / found.votes
    return _Told(
        f"{found.hits} of {found.votes} at an imposter ({share:.0f} %), in {counted(found.games, 'game')}",
        counts,
    )


def remarkable(arms: Mapping[str, Arm], records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """What a reader must know beside a trustworthy verdict: crashes that were counted, and an adviser that was silent."""
    for side in SIDES:
        games = _to_their_end(records[side])
        broke = [game for game in games if game.crashed(arms[side].tested_seat)]
        if broke:
            yield Finding(
                Reason.CRASHES,
                f"{len(broke)} of {counted(len(games), 'game')}, {_some(broke)}",
                side,
                tuple(game.id for game in broke),
            )
    yield from advisers.silent(records)


def _why(games: Sequence[EpisodeRecord], kind: str) -> str:
    """Why an artifact was not read, in the commonest words."""
    told = Counter(game.untold.get(kind, "") for game in games)
    words = [printable(word, _WIDE) for word, _ in told.most_common(2) if word]
    complaints = sum(game.untold.get(LOG, "").startswith("collector") for game in games)
    if complaints:
        words.append(f"{complaints} logs are a collector's complaint")
    return f" ({', '.join(words)})" if words else ""


def _some(games: Sequence[EpisodeRecord]) -> str:
    return _named(games, lambda _: "")


def _named(games: Sequence[EpisodeRecord], words: Callable[[EpisodeRecord], str]) -> str:
    """The first few episodes, each with a word about it; the rest counted."""
    shown = [
        ": ".join(part for part in (printable(game.id, _WIDE), printable(words(game), 2 * _WIDE)) if part)
        for game in games[:_NAMED]
    ]
    more = f" and {len(games) - _NAMED} more" if len(games) > _NAMED else ""
    return ", ".join(shown) + more
