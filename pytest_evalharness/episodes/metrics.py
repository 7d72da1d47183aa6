"""Metrics and wins of one's own: what a named function reads off each played game."""

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
from pytest_evalharness.verdict.wins import win_of

_NOTHING_DONE = "nothing was judged; the games that were played are kept"
_SHOWN = 60


@dataclass(frozen=True)
class Game:
    """A played game, as the function of a metric sees it.

    Attributes:
        id: the episode's id.
        seat: the tested seat.
        role: its role, `crew` or `imposter`; None where the results name none.
        won: whether it won. A function that says who wins is told what the game's own list says, and False where there is none.
        score: its seat score, of a side of several seats their mean; None where the results hold none.
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
_METRIC, _WIN = "metric", "win"


def name_of(metric: Any) -> str:
    """A metric as it is declared; of a function the name by which every process finds it again.

    Args:
        metric: a metric's words, a function's name, or the function itself.

    Raises:
        ValueError: it is none of these.
        UsageError: the function has no name of its own at the top of a module.
    """
    return _named(metric, _METRIC) if _is_code(metric) else metric_of(metric)


def name_of_win(win: Any) -> str:
    """A definition of winning as it is declared; of a function the name by which every process finds it again.

    Args:
        win: its words, a function's name, or the function itself, which is true of a win and false of everything else.

    Raises:
        ValueError: it is none of these.
        UsageError: the function has no name of its own at the top of a module.
    """
    return _named(win, _WIN) if _is_code(win) else win_of(win)


def _is_code(value: Any) -> bool:
    return callable(value) and not isinstance(value, str)


def _named(code: Any, word: str) -> str:
    module, name = getattr(code, "__module__", None), getattr(code, "__qualname__", "")
    try:
        named = metric_of(f"{module}:{name}")
        found = function_of(named, word)
    except (ValueError, UsageError):
        found = None
    if found is not code:
        raise UsageError(
            f"the {word} {printable(name or repr(code))} has no name by which another process could find it",
            not_done="nothing was submitted",
            next_step=f"define the function at the top of a module, or name it: {word}='package.module:function'",
        )
    return named


def function_of(name: str, word: str = _METRIC) -> Function:
    """The function of a name, `package.module:function`.

    Args:
        name: the name.
        word: what it is for, in messages.

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
        f"the {word} {printable(name)} cannot be had: {printable(why)}",
        not_done=_NOTHING_DONE,
        next_step="run where it can be imported (the project's root folder on the path), and name it package.module:function",
    )


def check(declared: str, word: str = _METRIC) -> None:
    """See that a declared metric or win can be had, before anything is posted.

    Raises:
        UsageError: it is a function that cannot be.
    """
    if is_function(declared):
        function_of(declared, word)


def ask(name: str, function: Callable[[Game], Any], game: Game) -> bool:
    """Whether a function says that a game was won: True is a win, False is none.

    Raises:
        UsageError: it fails, or says something else.
    """
    try:
        said = function(game)
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"
        raise _failed(name, game, f"failed with {why}", _WIN) from problem
    if not isinstance(said, bool) and type(said).__name__ not in {
        "bool_",
        "bool",
    }:  # numpy has one of its own
        raise _failed(name, game, f"said {_shown(said)}, which is neither True nor False", _WIN)
    return bool(said)


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


def _failed(name: str, game: Game, how: str, word: str = _METRIC) -> UsageError:
    return UsageError(
        f"the {word} {printable(name)} {printable(how)} (episode {printable(game.id)}, seat {game.seat})",
        not_done=_NOTHING_DONE,
        next_step="correct the function and run the same command again: nothing is posted twice",
    )
