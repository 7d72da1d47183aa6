import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from pytest_evalharness.arena.game.config import ConfigError, parse_config
from pytest_evalharness.arena.game.match import SeatEntry, UnknownBuildError, play

SCHEMA = {
    "names": str,
    "scores": int,
    "win": bool,
    "tasks": int,
    "kills": int,
    "imposter": int,
    "crew": int,
    "vote_players": int,
    "vote_skip": int,
    "vote_timeout": int,
    "connect_timeout": int,
    "disconnect_timeout": int,
}
SCALARS = {
    "any_seat_voted_or_no_meeting": bool,
    "mean_kills_per_imposter_seat": float,
    "mean_tasks_per_seat": float,
}

DIGEST_PROGRAM = """
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
seats = [SeatEntry(f"p{seat}", "marlin-4") for seat in range(8)]
print(*(play(parse_config({}), seats, seed).digest for seed in range(5)))
"""


def test_an_unknown_build_is_named(forced):
    seats = [SeatEntry("a", "keeper-1")] * 7 + [SeatEntry("b", "keeper-99")]
    with pytest.raises(UnknownBuildError, match="keeper-99"):
        play(forced, seats, 1)


def test_too_few_seats_are_refused(seated):
    with pytest.raises(ConfigError, match="minPlayers"):
        play(parse_config({}), seated("keeper-1")[:7], 1)


def test_the_same_arguments_give_the_same_match(forced, seated):
    first, second = (play(forced, seated("keeper-1"), 5, record=True) for _ in range(2))
    assert first == second


def test_recording_changes_nothing(forced, seated):
    plain, recorded = (play(forced, seated("keeper-1"), 5, record=record) for record in (False, True))
    assert (plain.digest, plain.results, plain.ticks) == (recorded.digest, recorded.results, recorded.ticks)
    assert not plain.inputs
    assert recorded.inputs


def test_the_digest_tells_seeds_seatings_and_configurations_apart(forced, seated, with_overrides):
    seats = seated("keeper-1")
    digests = {
        play(forced, seats, 1).digest,
        play(forced, seats, 2).digest,
        play(forced, seats[::-1], 1).digest,
        play(forced, seated("keeper-2"), 1).digest,
        play(with_overrides(gameOverTicks=1), seats, 1).digest,
    }
    assert len(digests) == 5


def test_a_seed_in_the_configuration_takes_precedence(with_overrides, seated):
    config, seats = with_overrides(seed=7), seated("keeper-1")
    assert play(config, seats, 1) == play(config, seats, 2)
    assert play(config, seats, 1).seed == 7


def test_the_hash_seed_of_the_process_does_not_matter():
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST_PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert len(digests) == 1


def test_it_runs_in_a_process_pool(forced, seated):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(play, forced, seated("keeper-1"), 3, record=True).result()
    assert there == play(forced, seated("keeper-1"), 3, record=True)


def test_a_match_survives_pickling(forced, seated):
    match = play(forced, seated("keeper-1"), 3, record=True)
    assert pickle.loads(pickle.dumps(match)) == match


@pytest.mark.parametrize("overrides", [{}, {"maxTicks": 1440}, {"maxTicks": 1}, {"imposterCount": 0}])
def test_results_have_exactly_the_keys_and_types_of_the_format(overrides, seated):
    results = play(parse_config(overrides), seated("keeper-1"), 3).results
    assert list(results) == [*SCHEMA, *SCALARS]
    for key, kind in SCHEMA.items():
        assert len(results[key]) == 8
        assert all(type(value) is kind for value in results[key]), key
    assert all(type(results[key]) is kind for key, kind in SCALARS.items())
    assert json.loads(json.dumps(results)) == results


def test_the_score_regime(forced, seated):
    scores = {tuple(play(forced, seated("keeper-1"), seed).results["scores"]) for seed in range(30)}
    assert scores == {(1, 1, 0, 0, 1, 1, 1, 1), (0, 0, 3, 3, 0, 0, 0, 0)}


@pytest.mark.parametrize("limit", [1, 100, 241, 1000, 1440, 5000])
def test_the_tick_limit_ends_a_match_for_the_crew(limit, with_overrides, seated):
    for seed in range(20):
        match = play(with_overrides(maxTicks=limit), seated("keeper-3"), seed)
        assert match.ticks <= limit
        if match.ticks == limit:
            assert match.results["win"] == [True, True, False, False, True, True, True, True]


def test_a_meeting_does_not_outlast_the_tick_limit(with_overrides, seated):
    inattentive = [SeatEntry(f"p{seat}", "sable-3") for seat in range(8)]
    for seed in range(40):
        match = play(with_overrides(maxTicks=6000), inattentive, seed, record=True)
        assert all(row.tick < 6000 for row in match.inputs)


def test_a_match_without_a_limit_ends_all_the_same(with_overrides, seated):
    assert play(with_overrides(maxTicks=0), seated("keeper-3"), 1).ending != "time limit"
    idle = with_overrides(maxTicks=0, tasksPerPlayer=0, killCooldownTicks=1_000_000)
    assert play(idle, seated("keeper-3"), 1).ending == "time limit"


def test_a_player_who_never_connects_voids_the_match(forced, seated):
    seats = [*seated("keeper-1")[:7], SeatEntry("late", "gantry-4", absent=True)]
    match = play(forced, seats, 1)
    assert match.ticks == 2880
    assert match.results["connect_timeout"] == [0] * 7 + [1]
    assert not any(match.results["win"])
    assert match.results["scores"] == [0] * 8


def test_a_player_who_drops_out_voids_the_match(forced, seated):
    seats = [SeatEntry("gone", "keeper-1", drops_at=1000), *seated("keeper-1")[1:]]
    match = play(forced, seats, 1, record=True)
    assert match.ticks == 1720
    assert match.results["disconnect_timeout"] == [1] + [0] * 7
    assert not any(match.results["win"])
    assert all(row.tick < 1000 for row in match.inputs if row.seat == 0)


def test_a_drop_after_the_end_does_not_void(forced, seated):
    seats = [SeatEntry("tested", "keeper-2", drops_at=9_990), *seated("keeper-2")[1:]]
    match = play(forced, seats, 1)
    assert any(match.results["win"])
    assert match.results["disconnect_timeout"] == [0] * 8


def test_no_imposters_leave_the_crew_to_its_tasks(seated):
    match = play(parse_config({"imposterCount": 0}), seated("keeper-1"), 1)
    assert match.ending == "all crew tasks done"
    assert match.results["tasks"] == [8] * 8
    assert match.results["mean_kills_per_imposter_seat"] == 0.0


def test_parity_at_the_start_wins_at_once(seated):
    match = play(parse_config({"imposterCount": 4}), seated("keeper-1"), 1)
    assert match.ending == "imposters reached parity"
    assert match.ticks == 240
