"""Copies of one game are one observation, whatever ids they have."""

from dataclasses import replace

import pytest

from pytest_evalharness.league.copies import copies, distinct, shared


@pytest.fixture
def arm(make):
    return make.arms()["candidate"]


@pytest.fixture
def games(make, arm):
    """Games with these seeds, alike in everything else but their ids."""

    def play(*seeds, **changes):
        return [make.episode(arm, id=f"ereq_{i}", seed=seed, **changes) for i, seed in enumerate(seeds)]

    return play


@pytest.mark.parametrize(
    ("seeds", "different"),
    [
        ([7] * 30, 1),
        ([7, 7, 8, 8], 2),
        ([1, 2, 3], 3),  # two short games may end alike
        ([None] * 4, 1),
        ([7, None], 1),
        ([None, 7], 1),
        ([], 0),
    ],
)
def test_games_that_are_alike_in_content(games, seeds, different):
    assert distinct(games(*seeds)) == different
    assert len(copies(games(*seeds))) == len(seeds) - different


def test_games_of_one_seed_that_went_differently_are_different_games(make, arm):
    told = [make.episode(arm, i, seed=7, win=i % 2 == 0) for i in range(2)]
    told.append(replace(told[0], id="ereq_2", results={**told[0].results, "ticks": 4_000}))
    told.append(replace(told[0], id="ereq_3", results={**told[0].results, "ticks": 4_001}))
    assert distinct(told) == 4


def test_other_seats_are_another_game(make, arm):
    game = make.episode(arm, seed=7)
    other = replace(make.reseated(game, {1: "id-rival-2", 2: "id-rival-1"}), id="ereq_other")
    assert distinct([game, other]) == 2


def test_an_id_that_is_listed_twice_is_one_game_whatever_its_content(make, arm):
    game = make.episode(arm)
    assert copies([game, replace(game, results=None, seed=9)]) == [replace(game, results=None, seed=9)]


def test_without_a_seed_results_must_say_more_than_who_won(games):
    poor = {"scores": [1.0] * 8, "win": [True] * 8}
    assert distinct(games(None, None, results=poor)) is None
    assert copies(games(None, None, results=poor)) == []
    assert distinct(games(7, 7, results=poor)) == 1


def test_without_a_seed_games_that_nobody_played_are_alike_by_themselves(make, arm, games):
    drawn = {**make.episode(arm).results, "win": [False] * 8, "connect_timeout": [0, 1, 0, 0, 0, 0, 0, 0]}
    assert copies(games(None, None, results=drawn)) == []


def test_what_was_not_played_is_no_game(games):
    assert distinct(games(7, 8, status="failed", results=None)) == 0


def test_results_that_hold_no_number(games):
    assert distinct(games(7, 7, results={"scores": [float("nan")], "win": [True]})) == 1


def test_games_that_both_arms_hold(make):
    arms = make.arms()
    first, second = ([make.episode(arms[side], i) for i in range(3)] for side in ("candidate", "baseline"))
    assert shared(first, second) == 3  # whoever sat in the tested seat
    assert shared(first, [replace(game, seed=game.seed + 10) for game in second]) == 0
    assert shared(first, [replace(game, seed=None) for game in second]) == 0
    assert shared(first[:1], [replace(first[0], seed=None)]) == 1
