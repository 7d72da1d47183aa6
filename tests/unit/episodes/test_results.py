"""results.json as games really wrote it: three score regimes, odd spellings, malformed keys."""

import json

import pytest

from pytest_evalharness.episodes.results import ScoreRegime, SeatResults, read_results, regime_of
from pytest_evalharness.errors import ArtifactUnreadable

ROLES = {"imposter": [0, 0, 1, 1, 0, 0, 0, 0], "crew": [1, 1, 0, 0, 1, 1, 1, 1]}
WHOLE = {
    "names": ["candidate-bot", *(f"rival-{i}" for i in range(7))],
    "scores": [1, 1, 0, 0, 1, 1, 1, 1],
    "win": [True, True, False, False, True, True, True, True],
    "tasks": [8, 7, 0, 0, 8, 8, 6, 8],
    "kills": [0, 0, 2, 1, 0, 0, 0, 0],
    **ROLES,
    "vote_players": [2, 1, 1, 1, 2, 0, 2, 1],
    "vote_skip": [0, 1, 0, 1, 0, 1, 0, 1],
    "vote_timeout": [0, 0, 0, 0, 0, 1, 0, 0],
    "connect_timeout": [0] * 8,
    "disconnect_timeout": [0] * 8,
    "any_seat_voted_or_no_meeting": True,
    "mean_kills_per_imposter_seat": 1.5,
    "mean_tasks_per_seat": 5.6,
    "ticks": 4321,
}


def of(**changes):
    return SeatResults(read_results(json.dumps({**WHOLE, **changes}).encode()).kept)


def test_everything_but_names_and_means_is_kept():
    read = read_results(WHOLE)
    assert read.malformed == ()
    assert set(read.kept) == {
        "scores", "win", "tasks", "kills", "imposter", "crew", "vote_players", "vote_skip", "vote_timeout",
        "connect_timeout", "disconnect_timeout", "ticks",
    }  # fmt: skip
    assert "candidate-bot" not in json.dumps(read.kept)


def test_a_seat_in_words():
    results = of()
    assert (results.won(0), results.won(2)) == (True, False)
    assert (results.score(0), results.count("tasks", 1), results.count("vote_timeout", 5)) == (1.0, 7, 1)
    assert (results.role(0), results.role(3)) == ("crew", "imposter")
    assert results.imposters == {2, 3}
    assert results.timed_out == ()
    assert results.tells_timeouts


def test_the_runbooks_plural_is_the_games_singular():
    told = {key: value for key, value in WHOLE.items() if key != "vote_timeout"}
    assert read_results({**told, "vote_timeouts": [3] * 8}).kept["vote_timeout"] == [3] * 8


def test_where_both_spellings_stand_the_games_own_counts():
    assert read_results({**WHOLE, "vote_timeouts": [3] * 8}).kept["vote_timeout"] == WHOLE["vote_timeout"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scores", ["1"] * 8),
        ("scores", []),
        ("scores", [True] * 8),
        ("scores", [10**400] * 8),
        ("scores", {"0": 1}),
        ("win", [2] * 8),
        ("win", [None] * 8),
        ("tasks", [-1] * 8),
        ("tasks", [1.5] * 8),
        ("kills", [0] * 65),
        ("imposter", [2] * 8),
        ("ticks", -4),
        ("ticks", "long"),
    ],
)
def test_a_malformed_key_is_left_out_and_named_and_the_others_stay(key, value):
    read = read_results({**WHOLE, key: value})
    assert read.malformed == (key,)
    assert key not in read.kept
    assert set(read_results(WHOLE).kept) - set(read.kept) == {key}


def test_wins_as_numbers_and_roles_as_truths():
    results = of(
        win=[1, 0, 0, 0, 1, 1, 1, 1], imposter=[False, False, True, True, False, False, False, False]
    )
    assert (results.won(0), results.won(1)) == (True, False)
    assert results.imposters == {2, 3}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"{", b"\xff\xfe", b'{"scores": [NaN]}', b'{"scores": [Infinity]}', b"[" * 100_000,
     b'{"scores": [' + b"9" * 5000 + b"]}"],
)  # fmt: skip
def test_what_is_no_object_is_one_error(data):
    with pytest.raises(ArtifactUnreadable, match=r"results\.json cannot be read"):
        read_results(data)


def test_an_infinity_in_disguise_is_malformed():
    assert read_results(b'{"scores": [1e999]}').malformed == ("scores",)


def test_a_file_larger_than_the_service_publishes_is_not_parsed():
    with pytest.raises(ArtifactUnreadable, match="at most 67108864 are read"):
        read_results(b" " * (64 * 1024 * 1024 + 1))


def test_whoever_timed_out():
    assert of(connect_timeout=[0, 0, 0, 2, 0, 0, 0, 0], disconnect_timeout=[1] + [0] * 7).timed_out == (0, 3)
    assert not SeatResults({"win": [True]}).tells_timeouts
    assert SeatResults({}).timed_out == ()


def test_roles_that_are_not_told():
    assert of(imposter=[0] * 8, crew=[0] * 8).role(0) is None
    assert SeatResults({}).imposters == frozenset()


# ------------------------------------------------------------- score regimes


@pytest.mark.parametrize(
    ("scores", "win", "regime"),
    [
        ([3, 3], [True, True], ScoreRegime.OUTCOME),
        ([0, 3], [False, True], ScoreRegime.OUTCOME),
        ([0, 1], [False, True], ScoreRegime.WIN),
        ([1, 0], [True, False], ScoreRegime.UNDECIDED),
        ([0, 0], [False, False], ScoreRegime.UNDECIDED),
        ([108, -9], [True, False], ScoreRegime.REWARD),
        ([-100, 0], [False, False], ScoreRegime.REWARD),
        ([2, 0], [True, False], ScoreRegime.REWARD),
        ([0.5, 0], [True, False], ScoreRegime.REWARD),
    ],
)
@pytest.mark.failure_mode(number=13)
def test_what_a_score_means(scores, win, regime):
    """Seat 0 is crew, seat 1 the imposter."""
    game = SeatResults({"scores": scores, "win": win, "crew": [1, 0], "imposter": [0, 1]})
    assert regime_of([game]) is regime


def test_one_game_decides_for_all_of_a_version():
    dull = SeatResults({"scores": [1, 0], "win": [True, False], "crew": [1, 0], "imposter": [0, 1]})
    tells = SeatResults({"scores": [0, 3], "win": [False, True], "crew": [1, 0], "imposter": [0, 1]})
    assert regime_of([dull, tells, dull]) is ScoreRegime.OUTCOME
    assert regime_of([dull, SeatResults({"scores": [17]})]) is ScoreRegime.REWARD
    assert regime_of([dull, SeatResults({})]) is ScoreRegime.UNDECIDED
    assert regime_of([]) is ScoreRegime.UNDECIDED
