"""From records to a judgement: pairs stay pairs, and what must be said beside a verdict."""

from dataclasses import replace

import pytest

from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.judging import Case, counts_of, turns_of
from pytest_evalharness.league.records import Outcome
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Reason

WIN, LOSS, MISSING = Outcome.WIN, Outcome.LOSS, Outcome.MISSING


@pytest.fixture
def pairs(make):
    """Judges 12 pairs: the candidate wins all, the baseline the even ones; `spoil(side, games)` changes what is listed."""
    plan = make.plan(episodes=12, declaration=Declaration("better", pairing="seed", secondary=[]))
    arms = make.arms(plan)

    def judge(spoil=lambda side, games: games):
        records = {}
        for side in SIDES:
            games = make.paired_games(arms[side])
            for i, (game,) in enumerate(games):
                lost = side == "baseline" and i % 2
                games[i] = [replace(game, results=make.episode(arms[side], win=not lost).results)]
            records[side] = make.paired_record(arms[side], spoil(side, games), STATUSES)
        return Case(plan, Frozen(make.roster(), arms), records, 0, 0).judge()

    return judge


STATUSES = {3: "failed"}


def test_whole_pairs(pairs):
    judged = pairs()
    assert (judged.pairs.both, judged.pairs.only_c, judged.pairs.only_b, judged.pairs.neither) == (6, 6, 0, 0)
    assert judged.verified == ("seats", "seeds")
    assert (judged.candidate.distinct, judged.baseline.distinct) == (12, 12)


def test_a_request_without_its_game_drops_its_own_pair_and_moves_no_other(pairs):
    def spoil(side, games):
        if side == "candidate":
            games[3] = []
        return games

    judged = pairs(spoil)
    assert (judged.pairs.both, judged.pairs.only_c, judged.pairs.only_b, judged.pairs.neither) == (6, 5, 0, 0)
    assert (judged.candidate.missing, judged.candidate.unknown, judged.baseline.unpaired) == (1, 1, 1)
    assert judged.verdict != "untrustworthy"


def test_a_game_that_was_played_again_moves_no_other_pair(pairs):
    def spoil(side, games):
        if side == "baseline":
            games[0] = [replace(games[0][0], id="ereq_first", status="failed", results=None), *games[0]]
        return games

    judged = pairs(spoil)
    assert (judged.pairs.both, judged.pairs.only_c) == (6, 6)
    assert judged.verdict != "untrustworthy"


def test_counts_and_turns_hold_by_place():
    outcomes = [[WIN, MISSING, LOSS], [LOSS, WIN, MISSING]]
    assert counts_of(outcomes, paired=False) == [[True, False, True], [True, True, False]]
    assert counts_of(outcomes, paired=True) == [[True, False, False]] * 2
    assert turns_of(outcomes) == ((1, 0),)


def test_arms_of_different_length_are_a_mistake_of_ours():
    with pytest.raises(ValueError, match="zip"):
        turns_of([[WIN], [WIN, LOSS]])


def test_games_that_differ_under_one_seed_are_noted_as_one_cluster(make):
    plan = make.plan(episodes=12, config={"seed": 7})
    arms = make.arms(plan)
    records = {}
    for side in SIDES:
        games = [
            make.episode(arms[side], i, seed=7, win=side == "candidate" or i % 4 == 0) for i in range(12)
        ]
        games = [
            replace(
                game,
                config=arms[side].body["game_config_overrides"],
                results={**game.results, "ticks": 4_000 + i},
            )
            for i, game in enumerate(games)
        ]
        records[side] = make.record(arms[side], games)
    judged = Case(plan, Frozen(make.roster(), arms), records, 0, 0).judge()
    assert judged.verdict == "better"
    (note,) = [reason for reason in judged.reasons if reason.reason is Reason.ONE_SEED]
    assert note.detail == "seed 7; 12 distinct games of 12 against 12 distinct games of 12"


def test_copies_under_one_seed_are_not_judged(make):
    plan = make.plan(episodes=12, config={"seed": 7})
    arms = make.arms(plan)
    records = {
        side: make.record(arms[side], [make.episode(arms[side], i, seed=7) for i in range(12)])
        for side in SIDES
    }
    judged = Case(plan, Frozen(make.roster(), arms), records, 0, 0).judge()
    assert judged.verdict == "untrustworthy"
    assert "1 distinct game of 12: copies of one game are one observation" in judged.headline("A/B crew")
