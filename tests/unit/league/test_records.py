import json
from dataclasses import asdict, replace

import pytest

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord, Outcome
from pytest_evalharness.verdict.claim import Declaration

ROLES = [*["crew"] * 2, *["imposter"] * 2, *["crew"] * 4]


@pytest.fixture
def arm(make):
    return make.arms()["candidate"]


@pytest.fixture
def played(make, arm):
    def play(**results):
        whole = make.episode(arm)
        return replace(whole, results={**whole.results, **results})

    return play


NOBODY = [False] * 8
ONE = [1, 0, 0, 0, 0, 0, 0, 0]
OTHER = [0, 0, 0, 2, 0, 0, 0, 0]


# ---------------------------------------------------------------- outcomes


@pytest.mark.parametrize("status", ["failed", "cancelled", "pending", "submitted", "running", "unknown", ""])
def test_only_a_completed_episode_counts(make, arm, status):
    assert make.episode(arm, status=status).outcome(0) is Outcome.MISSING


@pytest.mark.parametrize("results", [None, {}])
def test_no_results_are_missing(make, arm, results):
    assert make.episode(arm, results=results).outcome(0) is Outcome.MISSING


@pytest.mark.parametrize("wins", [None, [], [True], "true", 1, {"0": True}])
def test_results_without_the_seats_win_are_missing(played, wins):
    assert played(win=wins).outcome(1) is Outcome.MISSING


def test_a_win_and_a_loss(make, arm):
    assert make.episode(arm, win=True).outcome(0) is Outcome.WIN
    assert make.episode(arm, win=False).outcome(0) is Outcome.LOSS


@pytest.mark.parametrize("key", ["connect_timeout", "disconnect_timeout"])
def test_a_draw_by_timeout_is_the_loss_of_the_seat_that_dropped_out(played, key):
    assert played(win=NOBODY, **{key: ONE}).outcome(0) is Outcome.LOSS
    assert played(win=NOBODY, **{key: OTHER}).outcome(0) is Outcome.MISSING
    assert played(win=NOBODY, **{key: OTHER}).outcome(3) is Outcome.LOSS


def test_both_dropped_out(played):
    assert played(win=NOBODY, connect_timeout=ONE, disconnect_timeout=OTHER).outcome(0) is Outcome.LOSS


def test_everybody_lost_without_any_timeout(played):
    assert played(win=NOBODY).outcome(0) is Outcome.LOSS


def test_a_timeout_voids_a_game_whoever_is_said_to_have_won_it(played):
    crew = [role == "crew" for role in ROLES]
    assert played(win=crew, disconnect_timeout=ONE).outcome(0) is Outcome.LOSS
    assert played(win=crew, disconnect_timeout=OTHER).outcome(0) is Outcome.MISSING
    assert played(win=[not won for won in crew], disconnect_timeout=ONE).outcome(0) is Outcome.LOSS


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_missing_timeout_lists_are_no_timeouts(played, value):
    record = played(win=NOBODY, connect_timeout=value, disconnect_timeout=value)
    assert record.outcome(0) is Outcome.LOSS


# ------------------------------------------------------- counters and roles


def test_a_counter_that_is_not_there_is_zero(played):
    record = played(kills=[1, 2], tasks=None)
    assert (record.count("kills", 1), record.count("kills", 7), record.count("tasks", 0)) == (2, 0, 0)
    assert record.count("nonsense", 0) == 0


def test_a_score_that_is_not_there_is_none(played):
    assert played(scores=[0.5]).score(0) == 0.5
    assert played(scores=[0.5]).score(1) is None
    assert played(scores=None).score(0) is None


def test_roles_as_played(make, arm, played):
    assert [make.episode(arm).role(seat) for seat in range(8)] == [seat.role for seat in arm.seats]
    assert played(crew=[0] * 8, imposter=[0] * 8).role(0) is None
    assert played(crew=[1] * 8, imposter=[1] * 8).role(0) is None
    assert played(crew=None, imposter=None).role(0) is None


# ----------------------------------------------------------------- evidence


def test_the_numbers_are_those_of_the_tested_seat(make, arm):
    games = [make.episode(arm, i, win=i < 3) for i in range(4)]
    for i, game in enumerate(games):
        game.results["kills"] = [i, 100, 100, 100, 100, 100, 100, 100]
        game.results["vote_timeout"] = [2, 0, 0, 0, 0, 0, 0, 9]
    evidence = make.record(arm, games).evidence("bot:v2", 0)
    assert (evidence.wins, evidence.finished, evidence.requested, evidence.missing) == (3, 4, 4, 0)
    assert (evidence.kills, evidence.vote_timeouts, evidence.mean_score) == (6, 8, 0.75)
    assert (evidence.label, evidence.request_ids) == ("bot:v2", ("xreq_candidate",))


def test_missing_games_bring_no_numbers(make, arm):
    games = [make.episode(arm, 0), make.episode(arm, 1, status="failed"), make.episode(arm, 2, results=None)]
    evidence = make.record(arm, games).evidence("bot:v2", 0)
    assert (evidence.wins, evidence.finished, evidence.missing, evidence.kills) == (1, 1, 3, 1)


def test_an_arm_without_a_game(make, arm):
    games = [make.episode(arm, i, status="failed", results=None) for i in range(4)]
    evidence = make.record(arm, games).evidence("bot:v2", 0)
    assert (evidence.finished, evidence.missing, evidence.mean_score, evidence.rate) == (0, 4, None, None)


def test_a_server_that_lists_more_episodes_than_were_asked_for(make, arm):
    record = make.record(arm, [make.episode(arm, i) for i in range(5)])
    assert record.requested == 4
    assert record.evidence("bot:v2", 0).finished == 4  # the trust check says that it cannot be believed


# ------------------------------------------------------------ in its place


@pytest.fixture
def paired(make):
    return make.arms(make.plan(declaration=Declaration("better", pairing="seed")))["candidate"]


def ids(record):
    return [None if game is None else game.id for game in record.games]


def test_a_request_without_an_episode_is_a_missing_game_in_its_place(make, paired):
    games = make.paired_games(paired)
    games[1] = []
    record = make.paired_record(paired, games)
    assert ids(record) == ["ereq_candidate_0", None, "ereq_candidate_2", "ereq_candidate_3"]
    assert record.outcomes(0) == [Outcome.WIN, Outcome.MISSING, Outcome.WIN, Outcome.WIN]
    evidence = record.evidence("bot:v2", 0)
    assert (evidence.finished, evidence.missing, evidence.unknown) == (3, 1, 1)


@pytest.mark.parametrize("first", [True, False])
def test_a_game_that_is_listed_twice_moves_none_of_those_after_it(make, paired, first):
    games = make.paired_games(paired)
    lost = replace(games[1][0], id="ereq_lost", status="failed", results=None)
    games[1] = [lost, *games[1]] if first else [*games[1], lost]
    record = make.paired_record(paired, games)
    assert ids(record) == [f"ereq_candidate_{i}" for i in range(4)]
    assert record.evidence("bot:v2", 0).finished == 4


def test_a_request_for_many_games_that_lists_too_few(make, arm):
    record = make.record(arm, [make.episode(arm, i) for i in range(3)])
    assert ids(record) == ["ereq_candidate_0", "ereq_candidate_1", "ereq_candidate_2", None]


def test_blocks_without_what_they_asked_for_are_a_mistake_of_ours(make, arm):
    with pytest.raises(ValueError, match="zip"):
        ArmRecord.from_blocks([journalled(make, arm, 0)], ONE_EACH)


# ------------------------------------------------------------- who is to blame


def test_a_failure_of_the_tested_policy_is_its_loss_and_counted_as_charged(make, arm):
    blamed = {"status": "failed", "results": None, "error_type": "player_error", "failed_seat": 0}
    games = [make.episode(arm, 0), make.episode(arm, 1, **blamed), make.episode(arm, 2, win=False)]
    evidence = make.record(arm, games, requested=3).evidence("bot:v2", 0)
    assert (evidence.wins, evidence.finished, evidence.missing, evidence.charged) == (1, 3, 0, 1)


def test_a_dropout_of_the_tested_seat_is_charged_too(make, arm, played):
    record = make.record(arm, [played(win=NOBODY, disconnect_timeout=ONE)], requested=1)
    assert record.evidence("bot:v2", 0).charged == 1


def test_missing_games_tell_how_many_nobody_explains(make, arm):
    lost = {"status": "failed", "results": None}
    games = [
        make.episode(arm, 0, **lost, error_type="platform_error"),
        make.episode(arm, 1, **lost, error_type="gremlins"),
        make.episode(arm, 2, **lost, error_type="player_error"),
        make.episode(arm, 3),
    ]
    evidence = make.record(arm, games).evidence("bot:v2", 0)
    assert (evidence.missing, evidence.unknown, evidence.charged) == (3, 2, 0)


def test_a_charged_game_without_its_partner_is_not_counted(make, arm):
    blamed = {"status": "failed", "results": None, "error_type": "player_error", "failed_seat": 0}
    record = make.record(arm, [make.episode(arm, 0, **blamed), make.episode(arm, 1)], requested=2)
    evidence = record.evidence("bot:v2", 0, [False, True])
    assert (evidence.charged, evidence.unpaired, evidence.missing) == (0, 1, 0)


def test_distinct_games_are_counted(make, arm):
    games = [make.episode(arm, i, seed=min(i, 2)) for i in range(4)]
    assert make.record(arm, games).evidence("bot:v2", 0).distinct == 3


# ------------------------------------------------------------- the journal


ONE_EACH = (BlockSpec(1), BlockSpec(1))


def journalled(make, arm, number, status="completed", version="1.2.0"):
    return {
        "request": {
            "id": f"xreq_{number}",
            "status": status,
            "coworld_name": "crewrift",
            "coworld_version": version,
        },
        "episodes": [asdict(make.episode(arm, number))],
    }


def test_an_episode_comes_back_from_the_journal_as_it_was(make, arm):
    episode = make.episode(arm)
    assert EpisodeRecord.from_json(json.loads(canonical_json(asdict(episode)))) == episode


def test_blocks_are_put_together_in_order(make, arm):
    record = ArmRecord.from_blocks([journalled(make, arm, 1), journalled(make, arm, 0)], ONE_EACH)
    assert record.request_ids == ("xreq_1", "xreq_0")
    assert [episode.id for episode in record.episodes] == ["ereq_candidate_1", "ereq_candidate_0"]
    assert (record.request_statuses, record.coworlds, record.requested) == (
        ("completed", "completed"),
        ("crewrift 1.2.0",),
        2,
    )


def test_blocks_that_disagree_show_it(make, arm):
    blocks = [journalled(make, arm, 0), journalled(make, arm, 1, status="failed", version="1.3.0")]
    record = ArmRecord.from_blocks(blocks, ONE_EACH)
    assert record.request_statuses == ("completed", "failed")
    assert "crewrift 1.2.0" in record.coworlds
    assert "crewrift 1.3.0" in record.coworlds


@pytest.mark.parametrize("junk", [None, "2", -1, float("nan"), float("inf"), [1], {}])
def test_entries_that_are_no_counts_are_none_of_ours(make, junk):
    arm = make.arms()["candidate"]
    results = {"win": [True] * 8, "kills": [junk] * 8, "scores": [junk] * 8}
    episode = make.episode(arm, results=results)
    assert episode.count("kills", 0) == 0
    assert episode.score(0) is None or junk == -1
    record = make.record(arm, [episode])
    assert record.evidence("bot:v1", 0).wins == 1
