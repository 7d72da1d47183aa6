"""Whether an A/B can be believed, judged before its effect is read. Pure.

Each check names the episodes and seats it stumbled over. What the counts alone show (too many missing games,
lopsided ones) is judged with the verdict itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.league import advisers, copies
from pytest_evalharness.league.arms import SIDES, Arm, Seat
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord
from pytest_evalharness.league.regime import disagreement
from pytest_evalharness.league.seats import NATURAL
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

TERMINAL = frozenset({"completed", "failed", "cancelled"})
_CAME_TO_NOTHING = frozenset({"failed", "cancelled"})
"""States of a request that need not list all its episodes: those it does not list are missing."""
_NAMED = 5
"""How many episodes or seats a finding spells out; the rest are counted."""
_PER_EPISODE = frozenset({"seed", "tokens", "players"})
"""Config keys that the service fills in for each episode."""


def findings(
    arms: Mapping[str, Arm],
    records: Mapping[str, ArmRecord],
    *,
    aa: bool = False,
    paired: bool = False,
    min_fire_rate: float | None = None,
) -> list[Finding]:
    """Everything that speaks against believing this comparison; an empty list if nothing does.

    Args:
        arms: the arms as they were frozen.
        records: what their episodes left.
        aa: whether both arms are one build by design.
        paired: whether games of the two arms belong together by their seeds.
        min_fire_rate: how often the tested policy's adviser must have decided; None where nobody asked for it.
    """
    found: list[Finding] = []
    for side in SIDES:
        found += of_arm(side, arms[side], records[side])
        if paired:
            found += _seeds(side, records[side])
        else:
            found += _one_seed(side, arms[side], records[side])
    if paired:
        found += _seed_sets(records)
    found += _versions(records)
    found += _configs(arms, records)
    found += advisers.findings(records, min_fire_rate)
    if aa:
        found += _shared(records)
    return found


def of_arm(side: str, arm: Arm, record: ArmRecord) -> list[Finding]:
    """What speaks against believing one arm, whatever it is compared with."""
    return [
        *_terminal(side, record),
        *_seats(side, arm, record),
        *_sides(side, arm, record),
        *_roles(side, arm, record),
        *_copies(side, record),
    ]


def _terminal(side: str, record: ArmRecord) -> Iterable[Finding]:
    going = [status for status in record.request_statuses if status not in TERMINAL]
    if going:
        yield Finding(Reason.NOT_TERMINAL, f"the {side} request is {printable(going[0])}", side)
    cancelled = "cancelled" in record.request_statuses  # what never started stays pending for ever then
    open_ones = [e for e in record.episodes if e.status not in TERMINAL and not cancelled]
    if open_ones:
        yield Finding(Reason.NOT_TERMINAL, f"{side}: {_some(e.id for e in open_ones)}", side, _ids(open_ones))
    if any(
        _wrong_length(asked.episodes, listed, status)
        for (asked, listed), status in zip(record.by_request(), record.request_statuses, strict=False)
    ):
        yield Finding(
            Reason.NOT_TERMINAL,
            f"{side}: {record.requested} episodes were asked for, the server lists {len(record.episodes)}",
            side,
        )


def _wrong_length(asked: int, listed: Sequence[EpisodeRecord], status: str) -> bool:
    """Whether a request lists too few episodes, or more than asked for have results.

    A failed episode that is listed beside the one that was played in its place is neither.
    """
    played = sum(bool(episode.results) for episode in listed)
    return played > asked or (len(listed) < asked and status not in _CAME_TO_NOTHING)


def _seats(side: str, arm: Arm, record: ArmRecord) -> Iterable[Finding]:
    """Every position of every played episode holds the version that was put there; duplicates by position."""
    wrong: list[tuple[EpisodeRecord, str]] = []
    for episode in record.episodes:
        if episode.results is None and not episode.participants:
            continue  # never seated; it counts as missing
        problem = seating_problem(arm, episode)
        if problem:
            wrong.append((episode, problem))
    if wrong:
        shown = "; ".join(f"{episode.id}: {problem}" for episode, problem in wrong[:_NAMED])
        more = f" and {len(wrong) - _NAMED} more episodes" if len(wrong) > _NAMED else ""
        yield Finding(
            Reason.SEATS,
            f"{side}: {len(wrong)} of {len(record.episodes)} episodes, {shown}{more}",
            side,
            _ids(episode for episode, _ in wrong),
        )


def seating_problem(arm: Arm, episode: EpisodeRecord) -> str:
    """What is wrong with an episode's seating, seat by seat; empty if nothing is."""
    positions = [seat.position for seat in episode.participants]
    if sorted(positions) != list(range(len(arm.seats))):
        return f"positions {sorted(positions)} instead of 0 to {len(arm.seats) - 1}"
    actual = {seat.position: seat for seat in episode.participants}
    labels = {seat.policy_version_id: seat.label for seat in arm.seats if seat.draw is None}
    tested_version = arm.seats[arm.tested_seat].policy_version_id
    problems = []
    for wanted in arm.seats:
        got = actual[wanted.position]
        tested = " (the tested seat)" if wanted.led_by == arm.tested_seat else ""
        if got.kind != "policy" or (got.is_filler and wanted.captain is None):
            what = "a filler" if got.is_filler else f"a {printable(got.kind)}"
            problems.append(f"seat {wanted.position}{tested} holds {what}")
        elif wanted.draw is not None:
            if got.policy_version_id in {None, tested_version}:
                who = "nobody" if got.policy_version_id is None else "the tested version too"
                problems.append(f"seat {wanted.position}, {wanted.label}, holds {who}")
        elif got.policy_version_id != wanted.policy_version_id:
            who = labels.get(got.policy_version_id or "", got.policy_version_id or "nobody")
            problems.append(
                f"seat {wanted.position}{tested} holds {printable(who)}, not {printable(wanted.label)}"
            )
    return ", ".join(problems[:_NAMED]) + (
        f" and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    )


def _sides(side: str, arm: Arm, record: ArmRecord) -> Iterable[Finding]:
    """In a game of teams the sides were those that were seated, where the results tell them.

    Seats that are dealt by another formula than the game's own are no error of anybody: a different game is played.
    """
    if all(seat.captain is None for seat in arm.seats):
        return
    seated = [seat.led_by for seat in sorted(arm.seats, key=lambda seat: seat.position)]
    wrong = [
        (episode, told)
        for episode in record.episodes
        if (told := (episode.results or {}).get("teams")) is not None
        and _partition(told) != _partition(seated)
    ]
    if wrong:
        first, told = wrong[0]
        yield Finding(
            Reason.SEATS,
            f"{side}: {counted(len(wrong), 'episode was', 'episodes were')} played by other sides than were seated, {first.id}: seats of sides "
            f"{', '.join(f'{one:g}' for one in told)}",
            side,
            _ids(episode for episode, _ in wrong),
        )


def _partition(sides: Sequence[Any]) -> list[int]:
    """Which seats are together, whatever their side is called: for each the first seat of its side."""
    return [list(sides).index(one) for one in sides]


def _roles(side: str, arm: Arm, record: ArmRecord) -> Iterable[Finding]:
    """Nothing in an episode's row proves a role; `results.json` does."""
    wrong: list[tuple[EpisodeRecord, list[int]]] = []
    for episode in record.episodes:
        if episode.results is None:
            continue
        seats = [seat.position for seat in arm.seats if not plays_its_role(seat, episode)]
        if seats:
            wrong.append((episode, seats))
    if wrong:
        shown = "; ".join(
            f"{episode.id}: seats {_some(map(str, seats))}" for episode, seats in wrong[:_NAMED]
        )
        yield Finding(
            Reason.ROLES,
            f"{side}: {counted(len(wrong), 'episode')}, {shown}",
            side,
            _ids(episode for episode, _ in wrong),
        )


def plays_its_role(seat: Seat, episode: EpisodeRecord) -> bool:
    """Whether a seat played the role that it was to play; any that the results name if none was forced, and whatever without roles."""
    role = episode.role(seat.position)
    return not seat.role or (role is not None if seat.role == NATURAL else role == seat.role)


def across(fields: Mapping[str, Mapping[str, ArmRecord]]) -> list[Finding]:
    """What keeps the outcomes of one comparison on several fields from being held against each other.

    Args:
        fields: what the games on each field left, by the field's name and by arm.
    """
    records = {f"{name}, {side}": told[side] for name, told in fields.items() for side in SIDES}
    return [*_versions(records), *_drifted(records)]


def _versions(records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """One game in one version in all arms, and one meaning of a score; a version that is not told differs from none."""
    games = {name: record.coworlds for name, record in records.items()}
    versions = {name: sorted(record.versions) or games[name] for name, record in records.items()}
    names = {game.rpartition(" ")[0] for told in games.values() for game in told}
    told_of = {version for record in records.values() for version in record.versions}
    if len(names) > 1 or len(told_of) > 1:
        told = ", ".join(f"{name} {' and '.join(map(printable, told))}" for name, told in versions.items())
        yield Finding(Reason.VERSIONS, told)
    regimes = disagreement({name: record.episodes for name, record in records.items()})
    if regimes is not None:
        yield regimes


def _drifted(records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """Settings that the server chose otherwise for some of the arms."""
    seen: dict[str, Any] = {}
    for name, record in records.items():
        for episode in record_with_config(record)[:1]:
            config = episode.config or {}
            keys = _apart(config, seen) if seen else []
            if keys:
                yield Finding(Reason.CONFIG, f"{name} differs in {_some(keys)}", "", (episode.id,))
                return
            seen = seen or dict(config)


def _apart(config: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """In which keys two effective configs differ, what the service fills in for each episode left aside."""
    keys = {*config, *other} - _PER_EPISODE
    return sorted(key for key in keys if config.get(key) != other.get(key))


def _seeds(side: str, record: ArmRecord) -> Iterable[Finding]:
    """Every game of a pair was played with the seed that its request asked for, and says so."""
    wrong: list[tuple[EpisodeRecord, str]] = []
    for asked, listed in record.by_request():
        for episode in listed:
            problem = _seed_problem(asked.seed, episode)
            if problem:
                wrong.append((episode, problem))
    if wrong:
        yield Finding(
            Reason.SEEDS,
            f"{len(wrong)} of {len(record.episodes)} episodes, "
            + _some(f"{episode.id}: {problem}" for episode, problem in wrong),
            side,
            _ids(episode for episode, _ in wrong),
        )


def _one_seed(side: str, arm: Arm, record: ArmRecord) -> Iterable[Finding]:
    """Where one seed was asked for, every game says that it had it: else copies could pass for different games."""
    asked = arm.body["game_config_overrides"].get("seed", -1)
    if not isinstance(asked, int) or asked < 0:
        return
    wrong = [one for one in record.episodes if one.results is not None and one.seed not in {asked, None}]
    if wrong:
        yield Finding(
            Reason.SEEDS,
            f"{side}: {len(wrong)} of {len(record.episodes)} episodes, "
            + _some(f"{one.id}: seed {one.seed} instead of {asked}" for one in wrong),
            side,
            _ids(wrong),
        )


def _seed_problem(asked: int | None, episode: EpisodeRecord) -> str:
    """What is wrong with an episode's seed; empty if nothing is. One that was never played needs none."""
    if asked is None:
        return "its request asked for no seed"
    if episode.seed is None:
        return "the server tells no seed" if episode.results else ""
    if episode.seed != asked:
        return f"seed {episode.seed} instead of {asked}"
    configured = (episode.config or {}).get("seed", asked)
    return "" if configured == asked else f"seed {configured} in its config instead of {asked}"


def _seed_sets(records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """The arms asked for the same seeds in the same order, each once: else a pair is no pair, or counts twice."""
    candidate, baseline = ([asked.seed for asked, _ in records[side].by_request()] for side in SIDES)
    apart = [
        place for place, pair in enumerate(zip(candidate, baseline, strict=False), 1) if len({*pair}) > 1
    ]
    if apart or len(candidate) != len(baseline):
        detail = f"the arms asked for {len(candidate)} and {len(baseline)} seeds"
        yield Finding(
            Reason.SEEDS, f"{detail}, unequal in pair {_some(map(str, apart))}" if apart else detail
        )
    if len({*candidate}) < len(candidate):
        yield Finding(Reason.SEEDS, f"{len(candidate)} pairs have only {len({*candidate})} different seeds")


def _copies(side: str, record: ArmRecord) -> Iterable[Finding]:
    """One game that is listed twice, or played twice with one content, is one observation."""
    found = copies.copies(record.episodes)
    if not found:
        return
    games = [episode for episode in record.episodes if episode.results] or record.episodes
    different = len(games) - len(copies.copies(games))
    yield Finding(
        Reason.DUPLICATES,
        f"{counted(different, 'distinct game')} of {len(games)}: copies of one game are "
        f"one observation; copies: {_some(episode.id for episode in found)}",
        side,
        _ids(found),
    )


def _shared(records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """One build meets itself in other games: the same ones twice would never differ, and so prove nothing.

    Two builds may well play the same game where their edit does not matter; that is no fault of the run.
    """
    matches = copies.shared(*(records[side].episodes for side in SIDES))
    if matches:
        yield Finding(Reason.DUPLICATES, f"both arms of an A/A run hold the same games ({matches} matches)")


def _configs(arms: Mapping[str, Arm], records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """Both arms played under one effective config, and it holds what was asked for."""
    seen: dict[str, Any] = {}
    for side in SIDES:
        wanted = arms[side].body["game_config_overrides"]
        for episode in record_with_config(records[side]):
            config = episode.config or {}
            off = sorted(key for key, value in wanted.items() if config.get(key) != value)
            drifted = _apart(config, seen) if seen else []
            if off or drifted:
                keys = ", ".join(printable(key) for key in (off or drifted)[:_NAMED])
                yield Finding(Reason.CONFIG, f"{side}: {episode.id} differs in {keys}", side, (episode.id,))
                return
            seen = seen or dict(config)


def record_with_config(record: ArmRecord) -> list[EpisodeRecord]:
    """The episodes whose effective config the server told."""
    return [episode for episode in record.episodes if episode.config]


def _ids(episodes: Iterable[EpisodeRecord]) -> tuple[str, ...]:
    return tuple(episode.id for episode in episodes)


def _some(items: Iterable[str]) -> str:
    whole = [printable(item) for item in items]
    more = f" and {len(whole) - _NAMED} more" if len(whole) > _NAMED else ""
    return ", ".join(whole[:_NAMED]) + more
