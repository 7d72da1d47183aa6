"""Functions that read a number off a game: found by their name, and their mistakes told in words."""

import math

import numpy as np
import pytest

from pytest_evalharness.episodes.metrics import Game, ask, check, function_of, measure, name_of, name_of_win
from pytest_evalharness.errors import UsageError

GAME = Game("ereq_1", 2, "imposter", won=True, score=3.0, seed=7, results={"kills": [0, 0, 4], "ticks": 900})


class Own:
    def __repr__(self):
        return "\x1b[2J"

    def __call__(self, game):
        return 1.0


def test_the_words_of_a_metric_and_names_pass():
    assert name_of("seat score") == "score"
    assert name_of("win rate") == "wins"
    assert name_of("json:dumps") == "json:dumps"


def test_a_function_is_named_so_that_it_is_found_again():
    assert name_of(math.sqrt) == "math:sqrt"
    assert function_of("math:sqrt") is math.sqrt
    assert function_of("collections.abc:Mapping.get")


@pytest.mark.parametrize("nameless", [lambda game: 1, Own(), print.__self__])
def test_what_has_no_name_is_refused(nameless):
    with pytest.raises((UsageError, ValueError)) as caught:
        name_of(nameless)
    assert "\x1b" not in str(caught.value)


def test_a_function_within_another_has_none():
    def inside(game):
        return game.score

    with pytest.raises(UsageError, match="has no name by which another process could find it"):
        name_of(inside)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module_at_all:f", "ModuleNotFoundError"),
        ("math:no_such_thing", "AttributeError"),
        ("math:pi", "it is a float"),
    ],
)
def test_what_cannot_be_had_is_told_before_anything_is_posted(name, why):
    with pytest.raises(UsageError, match=why):
        check(name)
    check("wins")


def test_what_a_function_sees():
    assert GAME.own("kills") == 4
    assert measure("m:f", lambda game: game.own("kills") + game.score, GAME) == 7.0
    assert measure("m:f", lambda game: game.won, GAME) == 1.0


@pytest.mark.parametrize(
    "said",
    [None, "4", float("nan"), float("inf"), 10**400, 10**5000, [1], 1j],
    ids=["nothing", "text", "nan", "inf", "no_float", "not_printable", "list", "complex"],
)
def test_what_is_no_finite_number_is_a_mistake_of_the_function(said):
    with pytest.raises(UsageError, match=r"which is no finite number \(episode ereq_1, seat 2\)"):
        measure("m:f", lambda _: said, GAME)


def test_a_function_that_raises_is_told_with_its_game():
    with pytest.raises(UsageError, match="the metric m:f failed with KeyError: 'luck'") as caught:
        measure("m:f", lambda game: game.own("luck"), GAME)
    assert "nothing is posted twice" in str(caught.value)


# --------------------------------------------------------------------- wins


def test_a_function_says_whether_a_game_was_won():
    assert ask("m:f", lambda game: game.own("kills") > 3, GAME) is True
    assert ask("m:f", lambda _: np.bool_(False), GAME) is False  # noqa: FBT003 - what numpy's comparisons give


@pytest.mark.parametrize("said", [None, 1, 0.0, "yes", []])
def test_what_is_neither_a_win_nor_none_is_a_mistake_of_the_function(said):
    with pytest.raises(
        UsageError, match=r"the win m:f said .*, which is neither True nor False \(episode ereq_1, seat 2\)"
    ):
        ask("m:f", lambda _: said, GAME)


def test_a_function_of_wins_that_raises_is_told_with_its_game():
    with pytest.raises(UsageError, match="the win m:f failed with KeyError: 'luck'") as caught:
        ask("m:f", lambda game: game.own("luck"), GAME)
    assert "nothing is posted twice" in str(caught.value)


def test_a_win_that_cannot_be_had_is_refused_before_anything_is_posted():
    with pytest.raises(UsageError, match="the win nowhere:f cannot be had"):
        check("nowhere:f", "win")
    with pytest.raises(UsageError, match="has no name by which another process could find it"):
        name_of_win(lambda game: game.won)
    assert name_of_win("score>3") == "score > 3.0"
