import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.league.plan import tested_seat as seat_for
from pytest_evalharness.league.seats import IMPOSTERS, SEATS, Role, layout

SEEDS = st.integers(min_value=0, max_value=2**63)


def test_the_runbooks_seed_gives_the_runbooks_seats():
    assert [seat for seat, role in enumerate(layout(679961).roles) if role is Role.IMPOSTER] == [2, 3]
    assert seat_for(679961, Role.CREW) == 0
    assert seat_for(679961, Role.IMPOSTER) == 2


@given(SEEDS)
def test_every_seed_gives_two_imposters_in_eight_seats(seed):
    roles = layout(seed).roles
    assert (len(roles), roles.count(Role.IMPOSTER), roles.count(Role.CREW)) == (
        SEATS,
        IMPOSTERS,
        SEATS - IMPOSTERS,
    )
    assert layout(seed) == layout(seed)


@given(SEEDS)
def test_the_slots_are_complete_and_in_the_games_own_words(seed):
    slots = layout(seed).slots()
    assert len(slots) == 8
    assert all(list(slot) == ["role"] and type(slot["role"]) is str for slot in slots)
    assert [slot["role"] for slot in slots] == [role.value for role in layout(seed).roles]


@given(SEEDS, st.sampled_from(Role))
def test_a_role_is_tested_in_its_first_seat(seed, role):
    seat = seat_for(seed, role)
    assert layout(seed).roles[seat] is role
    assert role not in layout(seed).roles[:seat]


def test_seeds_reach_every_seat():
    seen = {
        seat for seed in range(200) for seat, role in enumerate(layout(seed).roles) if role is Role.IMPOSTER
    }
    assert seen == set(range(SEATS))


@pytest.mark.parametrize("seed", [0, 1, 679961])
def test_a_layout_does_not_depend_on_what_was_drawn_before(seed):
    import random

    random.seed(seed + 1)
    before = layout(seed)
    random.random()
    assert layout(seed) == before
