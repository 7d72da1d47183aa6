"""Worlds with a known truth: their values against plain loops, and their calls against their values."""

from itertools import pairwise

import numpy as np
import pytest

from pytest_evalharness.engines import worlds
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.worlds.customers import OUTCOMES
from pytest_evalharness.engines.worlds.playing import Simulator, play, simulate
from pytest_evalharness.engines.worlds.world import World
from pytest_evalharness.errors import UsageError

SMALL = worlds.named("acme-small")
whole = pytest.mark.parametrize("world", [worlds.named(name) for name in worlds.NAMES], ids=worlds.NAMES)


def backwards(world, decides):
    """Values from the last stage back, in loops; `decides` turns a state's values by move into its value."""
    goes, ends, pays = world.goes.tolist(), world.ends.tolist(), world.pays.tolist()
    value = [0.0] * len(world.states)
    for at in sorted(range(len(value)), key=lambda at: -int(world.states[at].split(":")[0])):
        by_move = [
            world.gamma * sum(p * pay for p, pay in zip(ended, pays, strict=True))
            + world.gamma * sum(p * later for p, later in zip(led, value, strict=True) if p)
            for ended, led in zip(ends[at], goes[at], strict=True)
        ]
        value[at] = decides(at, by_move)
    return sum(float(world.start[at]) * value[at] for at in range(len(value)))


@whole
def test_exact_values_are_those_of_backward_induction(world):
    def mixed(policy):
        return lambda at, values: float(policy[at] @ np.array(values))

    truth = world.truth
    assert truth["today"] == pytest.approx(backwards(world, mixed(world.today)), rel=1e-12)
    assert truth["random"] == pytest.approx(backwards(world, mixed(world.uniform)), rel=1e-12)
    assert truth["optimum"] == pytest.approx(backwards(world, lambda _, values: max(values)), rel=1e-12)
    assert truth["worst"] == pytest.approx(backwards(world, lambda _, values: min(values)), rel=1e-12)


def test_a_discount_reaches_every_turn_and_the_outcome():
    told = {
        name: getattr(SMALL, name)
        for name in ("states", "moves", "outcomes", "start", "today", "ends", "goes")
    }
    late = World(name="late", **told, gamma=0.9)
    assert late.truth["optimum"] == pytest.approx(backwards(late, lambda _, values: max(values)), rel=1e-12)
    played = play(late, late.today, 40_000, np.random.default_rng(0))
    first = played.returns[played.step == 0]
    assert first.mean() == pytest.approx(late.truth["today"], abs=4 * first.std() / 200)
    turns = (played.step[played.last] + 1).astype(float)
    assert first == pytest.approx(0.9**turns * played.terminal[played.last])


@whole
def test_the_world_is_one_to_measure_engines_in(world):
    truth = world.truth
    assert truth["worst"] + 5 < truth["random"] < truth["today"] < truth["optimum"] - 10
    assert world.today.min() > 0.03
    assert dict(world.outcomes) == OUTCOMES == {"viewing_booked": 100.0, "follow_up": 40.0, "dropped": 0.0}


def test_the_shipped_worlds_have_their_sizes():
    assert (len(SMALL.states), len(SMALL.moves)) == (24, 4)
    full = worlds.named("acme")
    assert (len(full.states), len(full.moves)) == (176, 8)
    with pytest.raises(UsageError, match="did you mean 'acme-small'"):
        worlds.named("acme-smal")


def test_no_table_is_better_than_the_best_or_worse_than_the_worst():
    rng = np.random.default_rng(5)
    for _ in range(50):
        table = dict(zip(SMALL.states, rng.choice(SMALL.moves, len(SMALL.states)).tolist(), strict=True))
        assert SMALL.truth["worst"] <= SMALL.worth_of(table) <= SMALL.truth["optimum"]
    assert SMALL.worth_of(SMALL.best) == SMALL.truth["optimum"]
    assert SMALL.worth_of({}) == SMALL.truth["today"]
    kept = [SMALL.worth_of(SMALL.best, turns=turns) for turns in range(5)]
    assert kept[0] == pytest.approx(SMALL.truth["today"])
    assert kept[4] == pytest.approx(SMALL.truth["optimum"])
    assert kept == sorted(kept)
    assert SMALL.worth_of({}, "uniform") == SMALL.truth["random"]


@whole
@pytest.mark.parametrize("who", ["today", "best"])
def test_played_calls_earn_what_dynamic_programming_says(world, who):
    policy = world.today if who == "today" else world.policy(world.best)
    played = play(world, policy, 40_000, np.random.default_rng(1))
    first = played.returns[played.step == 0]
    assert first.mean() == pytest.approx(world.worth(policy), abs=4 * first.std() / 200)
    lengths = played.step[played.last] + 1
    assert set(lengths.tolist()) == {1, 2, 3, 4}
    assert len(played.last) == played.size


def test_evidence_of_a_world_is_what_was_played():
    evidence = simulate(SMALL, 300, 7)
    again = Evidence.from_dict(evidence.to_dict())
    assert again.content_hash() == evidence.content_hash() == simulate(SMALL, 300, 7).content_hash()
    assert simulate(SMALL, 300, 8).content_hash() != evidence.content_hash()
    assert evidence.document.synthetic
    assert evidence.kind == "simulated"
    assert evidence.document.propensity_source == "logged"
    played = play(SMALL, SMALL.today, 300, np.random.default_rng(7))
    direct, read = played.calls(), Calls.from_rows(evidence.transitions(), evidence.moves)
    assert read.returns == pytest.approx(direct.returns)
    assert read.propensity == pytest.approx(direct.propensity)
    assert [row.ret for row in evidence.transitions()] == pytest.approx(played.returns.tolist())
    assert all(call[-1].done and call[-1].next_state is None for call in evidence.by_episode())
    assert all(
        row.next_state == after.state for call in evidence.by_episode() for row, after in pairwise(call)
    )
    for row in evidence.transitions():
        at = SMALL.states.index(row.state)
        assert row.propensity == SMALL.today[at, SMALL.moves.index(row.move)]


def test_chance_plays_every_move_as_often():
    evidence = simulate(SMALL, 50, 1, policy=SMALL.uniform)
    assert {row.propensity for row in evidence.transitions()} == {0.25}


def test_one_call_at_a_time_is_the_same_world():
    simulator = Simulator(SMALL, 3)
    total, calls = 0.0, 8000
    for _ in range(calls):
        state = simulator.reset()
        while state is not None:
            earned, state = simulator.step(SMALL.best[state])
            total += earned
    assert simulator.calls == calls
    assert calls < simulator.turns < 4 * calls
    assert total / calls == pytest.approx(SMALL.truth["optimum"], abs=4 * 48 / calls**0.5)
    with pytest.raises(ValueError, match="reset"):
        simulator.step("greet")
    simulator.reset()
    with pytest.raises(ValueError, match="'shout'"):
        simulator.step("shout")


def test_chances_that_do_not_add_up_are_refused():
    told = {name: getattr(SMALL, name) for name in ("states", "moves", "outcomes", "start", "today", "ends")}
    with pytest.raises(ValueError, match="add up"):
        World(name="broken", **told, goes=SMALL.goes * 0.5)


def test_counted_propensities_are_the_shares_of_the_moves():
    played = play(SMALL, SMALL.today, 500, np.random.default_rng(2))
    counted = played.calls(empirical=True).propensity
    for at in np.unique(played.state):
        here = played.state == at
        for move in np.unique(played.move[here]):
            both = here & (played.move == move)
            assert counted[both] == pytest.approx(both.sum() / here.sum())
