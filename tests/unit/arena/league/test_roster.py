import random

import pytest

from pytest_evalharness.arena.league.founding import DAILY
from pytest_evalharness.arena.league.roster import (
    Pick,
    UnresolvableError,
    resolve_roster,
    resolve_target,
    seat_episode,
)

REFS = ["keeper:v1", "rival:v3", *(f"player{n:02}:v4" for n in range(6))]


def _body(roster=None, **fields):
    roster = roster or [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(REFS)]
    return {"target": {"league_id": DAILY}, "roster": roster, **fields}


def _picks(world, body):
    return resolve_roster(world, resolve_target(world, body), body)


@pytest.mark.parametrize("length", [0, 4, 7, 9])
def test_a_roster_of_the_wrong_length_is_refused(world, length):
    with pytest.raises(UnresolvableError, match=f"roster has {length} entries"):
        _picks(world, {**_body(), "roster": [{"player": {"random": True}}] * length})


@pytest.mark.parametrize("ref", ["player00:v1", "player00", "nobody:v1", "", "keeper:v5", "keeper:v0"])
def test_a_version_that_is_neither_owned_nor_live_is_refused(world, ref):
    roster = _body()["roster"]
    roster[3] = {"player": {"policy_ref": ref}, "slot": 3}

    with pytest.raises(UnresolvableError, match="did not match an active runnable policy"):
        _picks(world, _body(roster))


def test_a_label_and_its_uuid_are_the_same(world):
    version = world.version_by_label["keeper:v3"]
    roster = _body()["roster"]
    roster[0] = {"player": {"policy_ref": version.id.upper()}, "slot": 0}

    assert _picks(world, _body(roster))[0].version is version


def test_pools_are_ranked_and_shaped(world):
    roster = [{"player": {"top_n": 9}}] * 4 + [{"player": {"random": True}}] * 4
    ranking = world.ranked(world.competition(world.league(DAILY)), champions=True)

    picks = _picks(world, _body(roster))

    assert list(picks[0].pool) == ranking[:9]
    assert len(picks[7].pool) > len(ranking), "random draws from experiments too"
    names = [version.player.name for version in ranking[:2]]
    excluded = _picks(world, _body(roster, excluded_players=names))
    assert list(excluded[0].pool) == ranking[2:11]
    everybody = [version.player.id for version in ranking[:8]]
    included = _picks(world, _body([{"player": {"top_n": 100}}] * 8, included_players=everybody))
    assert list(included[0].pool) == ranking[:8]


def test_a_pool_that_cannot_fill_its_seats_is_refused(world):
    roster = [{"player": {"top_n": 7}}] * 8

    with pytest.raises(UnresolvableError, match="more players than the division has"):
        _picks(world, _body(roster))


def test_draws_never_repeat_and_the_smallest_pool_goes_first(world):
    roster = [{"player": {"random": True}}] * 5 + [{"player": {"top_n": n}} for n in (3, 2, 1)]
    picks = _picks(world, _body(roster))
    rng = random.Random(1)

    for index in range(200):
        seats = seat_episode(picks, 0, rng)
        assert len({version.id for version in seats}) == 8, index


def test_better_ranks_are_drawn_more_often(world):
    picks = _picks(world, _body([{"player": {"policy_ref": "keeper:v1"}}] * 7 + [{"player": {"top_n": 10}}]))
    rng = random.Random(2)
    ranks = [picks[7].pool.index(seat_episode(picks, 0, rng)[7]) for _ in range(3000)]

    counts = [ranks.count(rank) for rank in range(10)]

    # Weights 1, 1/2, 1/3, …: the first is drawn with probability 1/2.93.
    assert counts[0] == pytest.approx(3000 / 2.929, rel=0.1)
    assert counts[0] > counts[1] > counts[4] > counts[9] > 0


def test_open_entries_shift_by_one_an_episode_and_pinned_ones_stay(world):
    versions = [world.version_by_label[ref] for ref in REFS]
    picks = [Pick(5, versions[0]), *(Pick(-1, version) for version in versions[1:])]

    for index in range(9):
        seats = seat_episode(picks, index, random.Random(0))
        assert seats[5] is versions[0]
        free = [seat for seat in range(8) if seat != 5]
        for place, version in enumerate(versions[1:]):
            assert seats[free[(place + index) % 7]] is version
