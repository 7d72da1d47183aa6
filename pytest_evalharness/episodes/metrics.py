"""Metrics of one's own: a number that a named function reads off each played game."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.untrusted import number
from pytest_evalharness.errors import UsageError
from pytest_evalharness.verdict.metrics import is_function, metric_of

_NOTHING_DONE = "nothing was judged; the games that were played are kept"
_SHOWN = 60


@dataclass(frozen=True)
class Game:
    """A played game, as the function of a metric sees it.

    Attributes:
        id: the episode's id.
        seat: the tested seat.
        role: its role, `crew` or `imposter`; None where the results name none.
        won: whether it won.
        score: its seat score; None where the results hold none.
        seed: the game's seed, where it is told.
        results: the well-formed lists of `results.json`, an entry a seat (`tasks`, `kills`, `vote_timeout`, …), and `ticks`.
    """

    id: str
    seat: int
    role: str | None
    won: bool
    score: float | None
    seed: int | None
    results: Mapping[str, Any]

    def own(self, key: str) -> Any:
        """The tested seat's entry in one of the lists.

        Raises:
            KeyError: the results have no such list.
        """
        return self.results[key][self.seat]


Function = Callable[[Game], float]


def name_of(metric: Any) -> str:
    """A metric as it is declared; of a function the name by which every process finds it again.

    Args:
        metric: a metric's words, a function's name, or the function itself.

    Raises:
        ValueError: it is none of these.
        UsageError: the function has no name of its own at the top of a module.
    """
    if not callable(metric) or isinstance(metric, str):
        return metric_of(metric)
    module, name = getattr(metric, "__module__", None), getattr(metric, "__qualname__", "")
    try:
        named = metric_of(f"{module}:{name}")
        found = function_of(named)
    except (ValueError, UsageError):
        found = None
    if found is not metric:
        raise UsageError(
            f"the metric {printable(name or repr(metric))} has no name by which another process could find it",
            not_done="nothing was submitted",
            next_step="define the function at the top of a module, or name it: metric='package.module:function'",
        )
    return named


def function_of(name: str) -> Function:
    """The function of a name, `package.module:function`.

    Raises:
        UsageError: it cannot be imported, or is no function.
    """
    module, _, path = name.partition(":")
    try:
        found = sys.modules.get(module) or importlib.import_module(module)
        function: Any = reduce(getattr, path.split("."), found)
    except Exception as problem:  # noqa: BLE001 - whatever importing somebody's module brings about
        why = f"{type(problem).__name__}: {problem}"
    else:
        if callable(function):
            return function  # type: ignore[no-any-return]
        why = f"it is a {type(function).__name__}"
    raise UsageError(
        f"the metric {printable(name)} cannot be had: {printable(why)}",
        not_done=_NOTHING_DONE,
        next_step="run where it can be imported (the project's root folder on the path), and name it package.module:function",
    )


def check(metric: str) -> None:
    """See that a declared metric can be had, before anything is posted.

    Raises:
        UsageError: it is a function that cannot be.
    """
    if is_function(metric):
        function_of(metric)


def measure(name: str, function: Function, game: Game) -> float:
    """What a function says of a game.

    Raises:
        UsageError: it fails, or says something that is no finite number.
    """
    try:
        said = function(game)
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"
        raise _failed(name, game, f"failed with {why}") from problem
    value = number(int(said) if isinstance(said, bool) else said)
    if value is None:
        raise _failed(name, game, f"said {_shown(said)}, which is no finite number")
    return value


def _shown(said: Any) -> str:
    try:
        return printable(repr(said), _SHOWN)
    except Exception:  # noqa: BLE001 - somebody's own class, or a whole number too long to be written out
        return f"a {type(said).__name__}"


def _failed(name: str, game: Game, how: str) -> UsageError:
    return UsageError(
        f"the metric {printable(name)} {printable(how)} (episode {printable(game.id)}, seat {game.seat})",
        not_done=_NOTHING_DONE,
        next_step="correct the function and run the same command again: nothing is posted twice",
    )
