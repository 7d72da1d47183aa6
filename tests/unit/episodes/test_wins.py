"""Who won: one win or none for a side, by whichever definition was declared."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.episodes.results import SeatResults, read_results
from pytest_evalharness.episodes.wins import Reading

ALONE, PARITY, BLOCKS = (0, 1), (0, 1, 0, 1), (0, 0, 1, 1)


def won(win, sides, results, seat=0, said=None):
    return Reading(win, sides, own_scale=True, said=said).won("ereq_1", SeatResults(results), seat)


@pytest.mark.parametrize(
    ("scores", "found"),
    [([412.0, 388.0], True), ([388.0, 412.0], False), ([400.0, 400.0], False), ([0.0, -1.0], True)],
)
def test_the_strictly_highest_score_wins_and_a_tie_is_no_win(scores, found):
    assert won("highest", ALONE, {"scores": scores}) is found


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=16))
def test_at_most_one_side_has_the_highest_score(scores):
    sides = tuple(range(len(scores)))
    winners = [seat for seat in sides if won("highest", sides, {"scores": scores}, seat)]
    top = [seat for seat in sides if scores[seat] == max(scores)]
    assert winners == (top if len(top) == 1 else [])
    tied = [
        seat for seat in sides if Reading("highest", sides, own_scale=True).tied(SeatResults({"scores": scores}), seat)
    ]  # fmt: skip
    assert tied == (top if len(top) > 1 else [])


@pytest.mark.parametrize(
    ("sides", "found"), [(PARITY, [True, False, True, False]), (BLOCKS, [False, False, True, True])]
)
def test_a_side_of_several_seats_has_their_mean_score(sides, found):
    results = {"scores": [3.0, 0.0, 1.0, 3.0]}
    assert [won("highest", sides, results, seat) for seat in range(4)] == found


def test_every_seat_of_a_side_tells_the_same():
    for scores, sides in itertools.product(itertools.product([0.0, 1.0, 2.0], repeat=4), (PARITY, BLOCKS)):
        told = {
            side: {won("highest", sides, {"scores": list(scores)}, s) for s in range(4) if sides[s] == side}
            for side in sides
        }
        assert all(len(one) == 1 for one in told.values())


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([True, False, True, False], True),
        ([False, True, False, True], False),
        ([False] * 4, False),
        ([True, False, False, True], None),  # one side cannot both win and lose
        ([True, False], None),
    ],
)
def test_a_list_of_wins_must_say_the_same_of_all_seats_of_a_side(listed, found):
    assert won("win", PARITY, {"scores": [0.0] * 4, "win": listed}) is found


def test_a_threshold_is_compared_with_the_sides_mean():
    results = {"scores": [500.0, 0.0, 301.0, 0.0]}
    assert won("score > 400.0", PARITY, results, 0) is True
    assert won("score > 400.5", PARITY, results, 2) is False


@pytest.mark.parametrize("win", ["highest", "score > 1.0", "win"])
@pytest.mark.parametrize("results", [{}, {"scores": [1.0]}, {"scores": ["much", 1.0]}])
def test_what_is_not_told_is_no_loss(win, results):
    assert won(win, ALONE, results, seat=1 if results.get("scores") == [1.0] else 0) is None


def test_an_opponent_without_a_score_leaves_the_highest_open():
    assert won("highest", ALONE, {"scores": [1.0]}, 0) is None


def test_a_function_decides_once_it_was_asked():
    results = {"scores": [1.0, 2.0]}
    assert won("m:f", ALONE, results) is False, "not asked yet: only whether it was played can be told"
    assert won("m:f", ALONE, results, said={"ereq_1": True}) is True
    assert won("m:f", ALONE, results, said={"ereq_2": True}) is None


# ------------------------------------------------------- other games' results


def test_the_lists_of_another_game_are_kept():
    read = read_results({
        "names": ["\x1b[2J", "b"], "scores": [412, 388.0], "painted_tiles": [412, 388], "alive": [True, False],
        "ticks": 900, "roles": ["painter", "painter"], "comments": ["x", "y"], "short": [1], "seed": 7,
    })  # fmt: skip
    assert dict(read.kept) == {
        "scores": [412.0, 388.0],
        "painted_tiles": [412.0, 388.0],
        "alive": [True, False],
        "ticks": 900,
        "roles": ["painter", "painter"],
    }
    assert read.malformed == ()
    assert SeatResults(read.kept).role(1) == "painter"


def test_scores_on_a_scale_of_their_own_have_no_regime():
    crewrift, own = SeatResults({"scores": [412.0]}), SeatResults({"scores": [412.0]}, own_scale=True)
    assert len(crewrift.regimes) == 1
    assert len(own.regimes) == 3
