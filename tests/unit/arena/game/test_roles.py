from collections import Counter
from random import Random

import pytest

from pytest_evalharness.arena.game.config import ConfigError, parse_config
from pytest_evalharness.arena.game.roles import draw_imposters


def drawn(overrides, players=8, games=300):
    return [draw_imposters(parse_config(overrides), players, Random(seed)) for seed in range(games)]


def test_more_forced_imposters_than_an_automatic_count_are_refused():
    config = parse_config({"autoImposterCount": True, "slots": [{"role": "imposter"}] * 3})
    with pytest.raises(ConfigError, match="slots: 3 forced imposters, but this match has 2"):
        draw_imposters(config, 8, Random(1))


def test_more_imposters_than_seats_left_are_refused():
    config = parse_config({"slots": [{"role": "crew"}] * 7})
    with pytest.raises(ConfigError, match="imposterCount: 2 imposters wanted, but only 1 seats"):
        draw_imposters(config, 8, Random(1))


def test_a_full_layout_is_obeyed_whatever_the_seed():
    slots = [{"role": "imposter" if seat in (2, 3) else "crew"} for seat in range(8)]
    assert set(drawn({"slots": slots})) == {frozenset({2, 3})}


def test_forced_imposters_count_towards_the_total():
    seats = drawn({"slots": [{"role": "imposter"}]})
    assert all(0 in imposters and len(imposters) == 2 for imposters in seats)
    assert len(set(seats)) == 7, "the other one is drawn from every seat without a role"


def test_a_short_array_forces_only_the_listed_seats():
    seats = drawn({"slots": [{"role": "crew"}, {}, {"role": "crew"}]})
    assert all(not imposters & {0, 2} for imposters in seats)
    assert set().union(*seats) == {1, 3, 4, 5, 6, 7}


def test_free_seats_are_drawn_evenly():
    counts = Counter(seat for imposters in drawn({}, games=2000) for seat in imposters)
    assert all(abs(counts[seat] - 500) < 100 for seat in range(8))  # 5 standard deviations
