"""What declared functions say of each played game: asked once, and kept as evidence beside the games.

A function may be edited after its results were seen; what it said first is what counts, as a claim counts as it was declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NoReturn

from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.episodes.metrics import Game, ask, function_of, measure
from pytest_evalharness.episodes.results import ScoreRegime, regime_of
from pytest_evalharness.episodes.wins import Reading
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import EpisodeRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.verdict.metrics import is_function
from pytest_evalharness.verdict.words import Attribution, Metric

Values = Mapping[str, float]
"""Episode id → what the declared function says of it."""
Won = Mapping[str, bool]
"""Episode id → whether the tested side won, where the declared function says it."""
_KIND, _WON = "metric", "win"
_PATIENCE = 300.0


def values_of(
    ledger: Ledger,
    metric: str,
    seat: int,
    blocks: Iterable[Block],
    clock: Clock,
    *,
    reading: Reading | None = None,
) -> dict[str, float]:
    """What a declared metric says of every played game of some finished blocks; empty where it is no function.

    Args:
        ledger: where it is kept.
        metric: the declared metric.
        seat: the tested seat.
        blocks: the blocks.
        clock: for how long another process that asks the same is waited for.
        reading: how results are read.

    Raises:
        UsageError: the function cannot be had, or fails; nothing is kept of that block then.
        ArmStalled: another process asks it, and does not come to an end.
    """
    found: dict[str, float] = {}
    for block in blocks if is_function(metric) else ():
        told = (block.evidence or {}).get("episodes", ())
        kept = ledger.once(
            _KIND,
            _key(block.block_id, seat, metric),
            partial(_asked, metric, seat, told, reading),
            deadline=Deadline.after(clock, _PATIENCE),
        )
        found |= kept["values"]
    return found


def said_of(
    ledger: Ledger, plan: ComparisonPlan, blocks: Iterable[Block], clock: Clock
) -> tuple[dict[str, float], dict[str, bool]]:
    """What all functions that a plan declares say of some finished blocks: the metric of each game, and whether it was won.

    Args, errors: as of `values_of`.
    """
    every, declared, seat = list(blocks), plan.declaration, plan.tested_seat
    won = wins_of(ledger, plan.reading(), seat, every, clock)  # first: a metric may be told who won
    reading = plan.reading(won or None)
    return values_of(ledger, declared.metric, seat, every, clock, reading=reading), won


def wins_of(
    ledger: Ledger, reading: Reading | None, seat: int, blocks: Iterable[Block], clock: Clock
) -> dict[str, bool]:
    """Who won every played game of some finished blocks, as a declared function says; empty where none was declared.

    Args, errors: as of `values_of`.
    """
    found: dict[str, bool] = {}
    if reading is None or not is_function(reading.win):
        return found
    for block in blocks:
        told = (block.evidence or {}).get("episodes", ())
        kept = ledger.once(
            _WON,
            _key(block.block_id, seat, reading.win),
            partial(_asked_who_won, reading, seat, told),
            deadline=Deadline.after(clock, _PATIENCE),
        )
        found |= kept["values"]
    return found


def kept_values(ledger: Ledger, metric: str, seat: int, block: Block) -> dict[str, float]:
    """What was kept of a block; nothing where nobody has asked yet, or the metric is no function."""
    return _kept(ledger, _KIND, metric, seat, block)


def kept_wins(ledger: Ledger, win: str, seat: int, block: Block) -> dict[str, bool]:
    """Who was said to have won a block's games; nothing where nobody has asked yet, or no function was declared."""
    return _kept(ledger, _WON, win, seat, block)


def _kept(ledger: Ledger, kind: str, name: str, seat: int, block: Block) -> dict[str, Any]:
    if not is_function(name):
        return {}
    try:
        key = _key(block.block_id, seat, name)
        kept = ledger.once(kind, key, _not_now, deadline=Deadline.after(SystemClock(), _PATIENCE))
    except _NeverAskedError:
        return {}
    return dict(kept["values"])


class _NeverAskedError(LookupError):
    """A function that was never asked is not asked now: whoever reads what is kept runs nobody's code."""


def _not_now() -> NoReturn:
    raise _NeverAskedError


def _key(block_id: str, seat: int, metric: str) -> str:
    return f"{block_id}:{seat}:{metric}"


def _asked(
    metric: str, seat: int, told: Iterable[Mapping[str, Any]], reading: Reading | None
) -> dict[str, Any]:
    function = function_of(metric)
    played = _played(told, seat, reading)
    return {"values": {game.id: measure(metric, function, _game(game, seat)) for game in played}}


def _asked_who_won(reading: Reading, seat: int, told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {"values": who_won(reading, seat, _played(told, seat, reading))}


def who_won(reading: Reading, seat: int, games: Iterable[EpisodeRecord]) -> dict[str, bool]:
    """What the declared function says of played games now; nothing is kept.

    Raises:
        UsageError: it cannot be had, or fails.
    """
    function = function_of(reading.win, "win")
    return {game.id: ask(reading.win, function, _game(game, seat)) for game in games}


def measured_now(metric: str, seat: int, games: Iterable[EpisodeRecord]) -> dict[str, float]:
    """What a declared metric says of played games now, where it is a function; nothing is kept.

    Raises:
        UsageError: it cannot be had, or fails.
    """
    if not is_function(metric):
        return {}
    function = function_of(metric)
    played = [game for game in games if attribution(game, seat) is None]
    return {game.id: measure(metric, function, _game(game, seat)) for game in played}


def _played(told: Iterable[Mapping[str, Any]], seat: int, reading: Reading | None) -> list[EpisodeRecord]:
    """The games that were played to their end, as far as it can be told before anybody has said who won."""
    games = [EpisodeRecord.from_json(one, reading) for one in told]
    return [game for game in games if attribution(game, seat) is None]


def _game(record: EpisodeRecord, seat: int) -> Game:
    return Game(
        id=record.id,
        seat=seat,
        role=record.role(seat),
        won=bool(record.won(seat)),
        score=record.score(seat),
        seed=record.seed,
        results=dict(record.results or {}),
    )


def numbers(
    metric: str, seat: int, arms: Iterable[Iterable[EpisodeRecord]], values: Values
) -> tuple[list[tuple[float, ...]], list[EpisodeRecord]]:
    """The declared metric in each counted game of some arms, and the games that tell nothing of it.

    A game that the tested policy lost by its own failure counts as the lowest number of all games of all arms: as a loss is
    the least that a game can bring. Under the outcome rules that is 0 for a seat score.

    Args:
        metric: the declared metric, which is not the win rate.
        seat: the tested seat.
        arms: the counted games of each arm, in their order.
        values: what a function said, by episode.
    """
    listed = [list(games) for games in arms]
    every = [game for games in listed for game in games]
    read = {id(game): _number(metric, seat, game, values) for game in every}
    known = [value for value in read.values() if value is not None]
    if metric == Metric.SCORE and regime_of(game.told for game in every) is not ScoreRegime.REWARD:
        known.append(0.0)
    lowest = min(known, default=0.0)

    def value(game: EpisodeRecord) -> float:
        own = read[id(game)]
        return lowest if own is None or _charged(game, seat) else own

    untold = [game for game in every if read[id(game)] is None and not _charged(game, seat)]
    return [tuple(map(value, games)) for games in listed], untold


def _number(metric: str, seat: int, game: EpisodeRecord, values: Values) -> float | None:
    return values.get(game.id) if is_function(metric) else game.score(seat)


def _charged(game: EpisodeRecord, seat: int) -> bool:
    return attribution(game, seat) is Attribution.POLICY
