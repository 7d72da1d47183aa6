"""How an arm is cut into requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.league.blocks import BlockSpec, block_specs, blocks_of_look, games_of_look, seeds
from pytest_evalharness.verdict.claim import Declaration

PLANNED = Declaration("better", "group_sequential", looks=[30, 60, 100])
PAIRED = Declaration("better", pairing="seed")


def test_one_request_plays_all_games():
    assert block_specs(Declaration("better"), 30, "x") == (BlockSpec(30),)


def test_a_request_between_two_looks():
    specs = block_specs(PLANNED, 100, "x")
    assert [spec.episodes for spec in specs] == [30, 30, 40]
    assert [blocks_of_look(PLANNED, look, 3) for look in range(3)] == [1, 2, 3]
    assert [games_of_look(PLANNED, look, 100) for look in range(3)] == [30, 60, 100]


def test_a_request_a_pair_each_with_a_seed_of_its_own():
    specs = block_specs(PAIRED, 30, "x")
    assert {spec.episodes for spec in specs} == {1}
    assert len({spec.seed for spec in specs}) == 30
    assert specs == block_specs(PAIRED, 30, "x")
    assert not {spec.seed for spec in specs} & {spec.seed for spec in block_specs(PAIRED, 30, "y")}
    assert blocks_of_look(PAIRED, 0, 30) == games_of_look(PAIRED, 0, 30) == 30


def test_looks_at_pairs_count_pairs():
    declared = Declaration("better", "always_valid", pairing="seed", looks=[5, 9])
    assert len(block_specs(declared, 9, "x")) == 9
    assert [blocks_of_look(declared, look, 9) for look in (0, 1)] == [5, 9]


@given(st.integers(0, 200), st.text(max_size=20))
def test_seeds_are_different_and_the_service_can_keep_them(count, source):
    drawn = seeds(count, source)
    assert len(set(drawn)) == count
    assert all(0 <= seed < 2**31 for seed in drawn)


@pytest.mark.parametrize("more", [1, 50])
def test_a_longer_row_of_seeds_begins_like_a_shorter_one(more):
    assert seeds(30 + more, "x")[:30] == seeds(30, "x")
