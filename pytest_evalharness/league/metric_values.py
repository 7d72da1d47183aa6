"""What a declared function says of each played game: asked once, and kept as evidence beside the games.

A function may be edited after its results were seen; what it said first is what counts, as a claim counts as it was declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NoReturn

from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.episodes.metrics import Game, function_of, measure
from pytest_evalharness.episodes.results import ScoreRegime, regime_of
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.records import EpisodeRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.verdict.metrics import is_function
from pytest_evalharness.verdict.words import Attribution, Metric

Values = Mapping[str, float]
"""Episode id → what the declared function says of it."""
_KIND = "metric"
_PATIENCE = 300.0


def values_of(
    ledger: Ledger, metric: str, seat: int, blocks: Iterable[Block], clock: Clock
) -> dict[str, float]:
    """What a declared metric says of every played game of some finished blocks; empty where it is no function.

    Args:
        ledger: where it is kept.
        metric: the declared metric.
        seat: the tested seat.
        blocks: the blocks.
        clock: for how long another process that asks the same is waited for.

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
            partial(_asked, metric, seat, told),
            deadline=Deadline.after(clock, _PATIENCE),
        )
        found |= kept["values"]
    return found


def kept_values(ledger: Ledger, metric: str, seat: int, block: Block) -> dict[str, float]:
    """What was kept of a block; nothing where nobody has asked yet, or the metric is no function."""
    if not is_function(metric):
        return {}
    try:
        key = _key(block.block_id, seat, metric)
        kept = ledger.once(_KIND, key, _not_now, deadline=Deadline.after(SystemClock(), _PATIENCE))
    except _NeverAskedError:
        return {}
    return dict(kept["values"])


class _NeverAskedError(LookupError):
    """A function that was never asked is not asked now: whoever reads what is kept runs nobody's code."""


def _not_now() -> NoReturn:
    raise _NeverAskedError


def _key(block_id: str, seat: int, metric: str) -> str:
    return f"{block_id}:{seat}:{metric}"


def _asked(metric: str, seat: int, told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    function = function_of(metric)
    games = [EpisodeRecord.from_json(one) for one in told]
    played = [game for game in games if attribution(game, seat) is None]
    return {"values": {game.id: measure(metric, function, _game(game, seat)) for game in played}}


def _game(record: EpisodeRecord, seat: int) -> Game:
    return Game(
        id=record.id,
        seat=seat,
        role=record.role(seat),
        won=bool(record.told.won(seat)),
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
