"""The miniature's tasks earn, hold and order what the scorer's table of domains says of them."""

import random

import pytest

from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.miniature import registry
from pytest_evalharness.clbench.miniature.install import install
from pytest_evalharness.clbench.miniature.passes import build_task
from pytest_evalharness.clbench.miniature.policy import EMPTY_ACTIONS, NULL_ACTIONS, UNKNOWN_ACTION, Player
from pytest_evalharness.clbench.miniature.schedules import schedule
from pytest_evalharness.clbench.miniature.tasks.contract import NoInstances

TASKS = sorted(registry.TASKS)
FORFEIT = {"latency_timeout": True, "forfeit_reason": "engine_unresponsive"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return install(tmp_path_factory.mktemp("miniature") / "checkout")


@pytest.fixture
def build(root):
    return lambda name, **params: build_task(root, name, {"schedule": "default", "seed": 42, **params})


def played(task, answer):
    """Every outcome of a pass in which `answer` says each action."""
    query, outcomes = task.reset()
    found = list(outcomes)
    while query is not None:
        step = task.step(answer(query), {})
        found += step.outcomes
        query = step.query
    return found


def null_answers(query):
    return NULL_ACTIONS[query.schema]


def learner(task, seed=0):
    player = Player(random.Random(seed))
    query, outcomes = task.reset()
    found = list(outcomes)
    while query is not None:
        step = task.step(player.act(query), {})
        player.learn(query, step.observation)
        found += step.outcomes
        query = step.query
    return found


def test_the_scorer_knows_every_task_and_no_other():
    assert sorted(Family.EMBEDDED.tasks) == TASKS


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_the_size_and_range_that_the_scorer_takes_for_true(build, root, name):
    domain = BY_TASK[name]
    outcomes = learner(build(name))
    assert len(outcomes) == domain.instances == len({one.instance_id for one in outcomes})
    assert all(one.reward <= domain.largest for one in outcomes)
    assert domain.permuted == (schedule(root, name, "default").mode != "replicate")


@pytest.mark.parametrize("name", TASKS)
def test_an_answer_without_content_earns_a_null_value(build, name):
    domain = BY_TASK[name]
    asked = [one for one in played(build(name), null_answers) if not one.metadata.get("auto_resolved")]
    assert all(domain.at_null(one.reward) for one in asked)
    assert len(asked) == domain.instances - (2 if domain.auto_resolves else 0)


@pytest.mark.parametrize("name", TASKS)
def test_notes_earn_more_than_null_answers(build, name):
    learnt = sum(sum(one.reward for one in learner(build(name), seed)) for seed in range(5)) / 5
    assert learnt > sum(one.reward for one in played(build(name), null_answers))


@pytest.mark.parametrize("name", TASKS)
def test_the_order_is_another_for_each_rollout_but_not_the_stages(build, name):
    orders = []
    for index in range(4):
        task = build(name)
        task.prepare_run(index)
        assert [stage for stage, _ in task.content] == [stage for stage, _ in build(name).content]
        orders.append(tuple(task.content))
    assert orders[0] == tuple(build(name).content)
    assert len(set(orders)) == (4 if BY_TASK[name].permuted else 1)


@pytest.mark.parametrize("name", TASKS)
def test_an_instance_is_the_same_in_the_baseline_and_in_a_rollout(build, name):
    for number in range(BY_TASK[name].instances):
        alone = build(name)
        query, outcomes = alone.only(number)
        assert (query is None) == bool(outcomes)
        if query is not None:
            assert query.instance_index == 0
            whole = build(name)
            whole.position = number
            whole.begin_instance()
            assert (query.prompt, query.instance_id) == (whole.prompt(), whole.instance_id)


@pytest.mark.parametrize("name", sorted(registry.LIVELOCKS))
def test_an_unknown_action_costs_nothing_and_never_ends(build, name):
    task = build(name)
    query, _ = task.reset()
    for _ in range(100):
        step = task.step(UNKNOWN_ACTION, {})
        assert (step.outcomes, step.query.instance_id) == ((), query.instance_id)


def test_a_dead_adapter_ends_a_lookup_and_a_scan_but_no_duel(build):
    ends = {}
    for name in TASKS:
        task = build(name)
        query, _ = task.reset()
        step = task.step(EMPTY_ACTIONS[query.schema], FORFEIT)
        ends[name] = [one.reward for one in step.outcomes]
    assert ends == {
        "mini_ledger_lookup": [0.0],
        "mini_band_scan": [0.0],
        "mini_coin_duel": [],
        "mini_shop_forecast": [],
    }


def test_a_lookup_is_over_after_one_look_too_many(build):
    task = build("mini_ledger_lookup")
    task.reset()
    steps = [task.step({"text": "LOOK ash"}, {}) for _ in range(7)]
    assert [len(one.outcomes) for one in steps] == [0] * 6 + [1]
    assert steps[-1].outcomes[0].metadata == {"num_queries": 7, "num_actions": 7, "regret": 6.0}


def test_a_forecast_takes_at_most_six_steps(build):
    task = build("mini_shop_forecast")
    task.reset()
    steps = [task.step({"text": "PAST"}, {}) for _ in range(6)]
    assert [len(one.outcomes) for one in steps] == [0] * 5 + [1]
    assert steps[-1].outcomes[0].metadata["timed_out"]


def test_a_schedule_with_variants_fixes_the_number_of_instances(build):
    with pytest.raises(NoInstances, match="contradicts the schedule 'default'"):
        build("mini_ledger_lookup", num_questions=3)
