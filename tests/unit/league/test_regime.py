"""One meaning of a score in all games that are compared or added up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.episodes.results import ScoreRegime, SeatResults, read_results, regimes_of
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord
from pytest_evalharness.league.regime import disagreement, regime
from pytest_evalharness.verdict.words import Reason

REWARD, WIN, OUTCOME = ScoreRegime.REWARD, ScoreRegime.WIN, ScoreRegime.OUTCOME
CREW_WON = [True, True, False]
IMPOSTER_WON = [False, False, True]
NOBODY_WON = [False] * 3
_ROLES = {"imposter": [0, 0, 1], "crew": [1, 1, 0]}
names = iter(range(10**9))


def game(scores, win, **results):
    told = {"scores": scores, "win": win, **_ROLES, **results}
    return EpisodeRecord(f"ereq_{next(names)}", "completed", None, None, (), None, told)


def reward(won=CREW_WON):
    return game([107 if one else 12 for one in won], won)


def win(won=IMPOSTER_WON):
    return game([int(one) for one in won], won)


def outcome(won=IMPOSTER_WON):
    return game([(3 if seat == 2 else 1) if one else 0 for seat, one in enumerate(won)], won)


def open_one():
    """A crew's win scores 1 under both of the newer regimes."""
    return outcome(CREW_WON)


def arm(*games):
    return ArmRecord(("xreq_1",), ("completed",), ("crewrift 1",), len(games), games)


@pytest.mark.parametrize(
    ("one", "possible"),
    [
        (reward(), {REWARD}), (win(), {WIN}), (outcome(), {OUTCOME}), (open_one(), {WIN, OUTCOME}),
        (game([0, 0, 0], NOBODY_WON), {REWARD, WIN, OUTCOME}),
        # At the time limit of a short game, in the days when nobody won there: tasks done, and nothing else.
        (game([3, 1, 0], NOBODY_WON), {REWARD}), (game([1, 1, 0], NOBODY_WON), {REWARD}),
        (game([-100, 0, 0], NOBODY_WON), {REWARD}), (game([90, 101, 10], CREW_WON), {REWARD}),
        # Roles that nobody tells leave a 1 open, and a 3 not.
        (game([1, 0, 0], [True, False, False], imposter=[0] * 3, crew=[0] * 3), {WIN, OUTCOME}),
        (game([0, 0, 3], IMPOSTER_WON, imposter=[0] * 3, crew=[0] * 3), {OUTCOME}),
        # Another game's points, and scores that follow no rule that is known, say nothing.
        (game([0, 3, 0], CREW_WON), {REWARD, WIN, OUTCOME}), (game([], []), {REWARD, WIN, OUTCOME}),
    ],
)  # fmt: skip
def test_what_one_game_can_be(one, possible):
    assert regimes_of(one.told) == possible


def test_without_wins_scores_alone_tell_little():
    assert regimes_of(SeatResults({"scores": [412.0, 388.0]})) == {REWARD}
    assert regimes_of(SeatResults({"scores": [1, 0]})) == {REWARD, WIN, OUTCOME}
    assert regimes_of(SeatResults({"scores": [3, 0]})) == {REWARD, OUTCOME}


@pytest.mark.parametrize(
    ("candidate", "baseline", "found"),
    [
        ([reward()], [reward()], REWARD), ([win()], [open_one()], WIN), ([open_one()], [outcome()], OUTCOME),
        ([open_one()], [open_one()], ScoreRegime.UNDECIDED), ([], [], ScoreRegime.UNDECIDED),
        ([game([0, 0, 0], NOBODY_WON)], [reward()], REWARD),
    ],
)  # fmt: skip
def test_the_regime_of_a_comparison(candidate, baseline, found):
    records = {"candidate": arm(*candidate), "baseline": arm(*baseline)}
    assert regime(records) is found
    assert disagreement({side: record.episodes for side, record in records.items()}) is None


def test_arms_of_two_regimes():
    games = {"candidate": [reward(), reward()], "baseline": [outcome(), open_one(), reward()]}
    found = disagreement(games)
    assert found.reason is Reason.VERSIONS
    assert found.reason.forbids_trust
    assert found.detail == (
        "scores do not mean the same: candidate by reward points, baseline 1 game by 3/1/0 and 1 game by 1/0 or 3/1/0 "
        "and 1 game by reward points"
    )
    assert set(found.episodes) == {one.id for one in games["baseline"][:2]}


def test_both_arms_may_be_mixed_alike_and_are_not_believed():
    """An extension that was played after the service had changed: every arm has games of both."""
    found = disagreement({side: [reward(), reward(), outcome()] for side in ("candidate", "baseline")})
    assert found.detail == (
        "scores do not mean the same: candidate 2 games by reward points and 1 game by 3/1/0, "
        "baseline 2 games by reward points and 1 game by 3/1/0"
    )


def test_games_that_are_open_side_with_anybody_but_not_with_everybody():
    assert disagreement({"a": [open_one()], "b": [win()]}) is None
    assert disagreement({"a": [open_one()], "b": [outcome()]}) is None
    assert disagreement({"a": [open_one(), win()], "b": [outcome()]}) is not None
    assert disagreement({"a": [open_one()], "b": [reward()]}) is not None


def test_games_without_results_say_nothing():
    lost = EpisodeRecord("ereq_x", "failed", "platform_error", None, (), None, None)
    assert disagreement({"a": [lost, reward()], "b": [reward(), lost]}) is None


# --------------------------------------------------------------- games that were really played

SEATS = [
    SeatEntry(f"p{seat}", build) for seat, build in enumerate(["keeper-1", "rival-3"] + ["aurora-5"] * 6)
]


@given(st.integers(0, 10**6), st.sampled_from([60, 150, 600, 3000, 10_000]), st.booleans())
def test_real_games_are_always_possible_in_their_own_regime(seed, ticks, absent):
    config = parse_config({"maxTicks": ticks})
    seats = [SeatEntry("gone", "keeper-1", absent=absent), *SEATS[1:]]
    for scoring, own in ((Scoring.OUTCOME, OUTCOME), (Scoring.REWARD, REWARD)):
        told = SeatResults(read_results(dict(play(config, seats, seed, scoring=scoring).results)).kept)
        assert own in regimes_of(told)
        if any(told.told["win"]):
            assert (REWARD in regimes_of(told)) == (own is REWARD)
