"""Engines that learn by acting, run in a world whose optimum is known."""

import json

import pytest

from pytest_evalharness import decision_engine
from pytest_evalharness.engines import catalogue, worlds
from pytest_evalharness.engines.catalogue.contract import SIMULATOR_ONLY
from pytest_evalharness.engines.catalogue.running import run_in_world
from pytest_evalharness.errors import BadPolicy, TooExpensive, UsageError


@pytest.mark.parametrize("name", catalogue.IN_A_SIMULATOR)
def test_it_gets_near_the_optimum_within_its_own_calls(name):
    report = run_in_world(name, "acme-small", seed=3)
    assert report["share_of_optimum"] > 0.9
    assert report["exact"]["today"] < report["exact"]["table"] <= report["exact"]["optimum"]
    [knob] = [one for one in catalogue.get(name).declaration.params if one.name == "episodes"]
    assert report["learned_from"]["kind"] == "simulator"
    assert report["learned_from"]["calls"] == knob.default
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize("name", catalogue.IN_A_SIMULATOR)
def test_a_seed_gives_the_same_table_and_few_calls_still_a_table(name):
    one, two = (run_in_world(name, "acme-small", seed=9, params={"episodes": 30}) for _ in range(2))
    assert one == two
    assert one["learned_from"]["calls"] == 30
    assert run_in_world(name, "acme-small", seed=8, params={"episodes": 30})["policy"] != one["policy"]
    assert 0.0 <= one["measured"]["unknown_share"] < 1.0


def test_an_engine_that_reads_logs_is_fitted_on_the_worlds_own_calls():
    report = run_in_world("value-iteration", "acme-small", seed=3, episodes=2000)
    assert report["learned_from"]["kind"] == "simulated log"
    assert report["learned_from"]["calls"] == 2000
    measured = report["measured"]
    assert measured["mean_return"] == pytest.approx(
        report["exact"]["table_else_chance"], abs=4 * measured["standard_error"]
    )
    assert sum(measured["outcomes"].values()) == 2000


def test_states_that_a_table_leaves_out_are_worth_something_else_in_a_simulator():
    report = run_in_world("monte-carlo", "acme", calls=300, params={"min_visits": 8})
    assert report["diagnostics"]["left_to_today"] > 0
    assert report["measured"]["unknown_share"] > 0
    assert report["exact"]["table"] != report["exact"]["table_else_chance"]
    assert "chance" in report["completion"]


@pytest.mark.parametrize("name", ["mdp-model", "rmax"])
def test_a_world_that_is_too_big_to_be_solved_again_and_again_is_refused(name):
    with pytest.raises(TooExpensive, match=f"{name}.*acme has 176 states") as caught:
        run_in_world(name, "acme")
    assert "max_states=176" in caught.value.next_step
    report = run_in_world(name, "acme", params={"max_states": 176, "episodes": 20})
    assert report["learned_from"]["calls"] == 20


def test_an_engine_of_ones_own_may_act_too():
    @decision_engine("first-wins", learns_from="simulator")
    def fit(simulator, params):
        worth = {}
        for _ in range(400):
            state, path, earned = simulator.reset(), [], 0.0
            while state is not None:
                move = simulator.moves[int(simulator.rng.integers(len(simulator.moves)))]
                path.append((state, move))
                gained, state = simulator.step(move)
                earned += gained
            for at, chosen in path:
                worth.setdefault(at, {}).setdefault(chosen, []).append(earned)
        return {
            "policy": {at: max(moves, key=lambda m: sum(moves[m]) / len(moves[m])) for at, moves in worth.items()}
        }  # fmt: skip

    report = run_in_world(fit, worlds.named("acme-small"), seed=1)
    assert report["learned_from"]["calls"] == 400
    assert report["share_of_optimum"] > 0.3

    @decision_engine("shouts", learns_from="simulator")
    def shout(simulator, params):
        return {"policy": {simulator.reset(): "shout"}}

    with pytest.raises(BadPolicy, match="'shout'"):
        run_in_world(shout, "acme-small")


def test_they_are_simulator_only_in_a_benchmark():
    for engine in catalogue.all():
        acts = engine.name in catalogue.IN_A_SIMULATOR
        assert engine.why_not_on_a_log == (SIMULATOR_ONLY if acts else None)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"calls": 0}])
def test_no_calls_is_no_run(wrong):
    with pytest.raises(UsageError, match="at least one call"):
        run_in_world("monte-carlo", "acme-small", **wrong)
