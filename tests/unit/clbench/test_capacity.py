"""How many containers a plan holds, and whether they fit: the table of the reference, and what a small machine is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.clbench.campaign import capacity
from pytest_evalharness.clbench.campaign.capacity import Containers, Family, Load, TaskLoad, load_of
from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.domains import CODEBASE, COHORT, DATABASE, POKER, SALES, SPECTRUM

SIX = (DATABASE, POKER, SPECTRUM, COHORT, CODEBASE, SALES)
GB = capacity.GB


@pytest.mark.parametrize(
    ("load", "engines", "memory"),
    [
        (load_of(SIX, 1, task_parallelism=5, per_task=2, workers=3), 10, 3.5),
        (load_of(SIX, 5, task_parallelism=6, per_task=6, workers=3), 36, 12.6),
        (load_of(SIX, 5, task_parallelism=4, per_task=12, workers=10), 48, 38.4),
    ],
    ids=["seed", "submission", "defaults"],
)
def test_the_table_of_the_reference(load, engines, memory):
    assert capacity.most_containers(load).engines == engines
    assert capacity.memory_of(Containers(engines), load.workers) == pytest.approx(memory * GB)


def test_defaults_are_the_benchmarks():
    assert capacity.most_containers(load_of(SIX, 5)).engines == 48


def test_baseline_instances_share_the_pool_with_rollouts():
    one = load_of([POKER], 1, per_task=2)
    assert capacity.most_containers(one).engines == 2
    assert capacity.most_containers(load_of([POKER], 1, baseline=False, per_task=2)).engines == 1
    assert capacity.most_containers(load_of([POKER], 1, per_task=1)).engines == 1


def test_workspaces_and_evaluations_are_counted_too():
    load = load_of([CODEBASE, SALES, POKER], {CODEBASE: 1, SALES: 1, POKER: 5}, per_task=2)
    assert capacity.most_containers(load) == Containers(6, 4, 2)
    # The heaviest tasks may be those that run at once.
    assert capacity.most_containers(load_of(SIX, 1, task_parallelism=1, per_task=2)) == Containers(2, 2, 2)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("clbench-obo-4711-40123", Family.ENGINE),
        ("my-clbench-obo-4711-40123", None),
        ("clbench-obo-x-40123", None),
        ("minisweagent-0a1b2c3d", Family.WORKSPACE),
        ("minisweagent-0a1b2c3d4", None),
        ("clbench-generic-0a1b2c3d", Family.EVALUATION),
        ("postgres", None),
    ],
)
def test_families_by_name(name, kind):
    assert capacity.family(name) is kind


def test_containers_that_run_already_are_counted():
    names = ["clbench-obo-1-2", "clbench-obo-1-3", "minisweagent-0a1b2c3d", "db"]
    assert capacity.running(names) == Containers(2, 1, 0)
    assert capacity.running([]).words == "no containers"


def test_a_plan_that_fits():
    check = capacity.memory_check(load_of(SIX, 1, task_parallelism=5, per_task=2, workers=3), 16_000_000_000)
    assert (check.state, check.mend) == (State.OK, "")
    assert check.seen.startswith(
        "16.0 GB of memory; at most 10 engines, 4 workspaces, 2 evaluations at once, 0.35 GB an engine"
    )
    assert check.needed == "at most 0.8 of the memory: 12.8 GB"


def test_a_plan_that_does_not_fit_is_told_what_does():
    load = load_of(SIX, 5, task_parallelism=4, per_task=12, workers=10)
    check = capacity.memory_check(load, 16_000_000_000)
    assert check.state is State.FAILED
    assert check.mend.startswith(
        "--task-parallelism 4 --per-task-parallelism 3 fit; or give the machine 52.5 GB"
    )
    assert capacity.memory_check(load_of(SIX, 5, per_task=3), 16_000_000_000).state is State.OK
    assert capacity.memory_check(load_of(SIX, 5, per_task=4), 16_000_000_000).state is State.FAILED


def test_where_only_smaller_engines_fit():
    check = capacity.memory_check(load_of([POKER], 1, task_parallelism=1, workers=10), 700_000_000)
    assert check.mend.startswith("max_workers 3 and --task-parallelism 1 --per-task-parallelism 1 fit")


def test_where_nothing_fits():
    check = capacity.memory_check(load_of([POKER], 1, workers=3), 100_000_000)
    assert check.mend.startswith("not even one container fits")


def test_an_engine_that_tells_no_memory_proves_nothing():
    check = capacity.memory_check(load_of([POKER], 1, workers=3), 0)
    assert (check.state, check.needed) == (State.UNKNOWN, "at most 0.8 of the memory")


def test_what_runs_already_takes_room():
    load = load_of([POKER], 1, per_task=2, workers=3)
    assert capacity.memory_check(load, 1_000_000_000).state is State.OK
    check = capacity.memory_check(load, 1_000_000_000, already=Containers(1))
    assert check.state is State.FAILED
    assert "with 1 engines that run already" in check.seen
    assert check.mend.startswith("--task-parallelism 4 --per-task-parallelism 1 fit")


def test_disk():
    seed = load_of(SIX, 1)
    assert capacity.disk_needed(seed, traces=False) == pytest.approx((301 + 6) * 44e6)
    assert capacity.disk_needed(seed, clones=False) == capacity.TRACES
    assert capacity.disk_check("/runs", 15_000_000_000, capacity.disk_needed(seed)).state is State.OK
    check = capacity.disk_check("/runs", 4_508_000_000, capacity.disk_needed(seed))
    assert check.state is State.FAILED
    assert (check.seen, check.needed) == ("4.5 GB free at /runs", "14.5 GB until clones are removed")
    assert check.mend.startswith("free 10.0 GB, or put it elsewhere")


loads = st.builds(
    lambda tasks, at_once, slots, workers: Load(tuple(tasks), at_once, slots, workers),
    st.lists(
        st.builds(TaskLoad, st.sampled_from(SIX), st.integers(0, 5), st.integers(0, 120)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 8),
    st.integers(1, 14),
    st.integers(1, 12),
)


@given(loads, st.floats(1e8, 1e11))
def test_what_is_said_to_fit_fits(load, memory):
    found = capacity.fitting(load, memory)
    taken = capacity.memory_of(capacity.most_containers(load), load.workers)
    if taken <= capacity.SHARE * memory:
        assert found == load
    elif found is not None:
        assert capacity.memory_check(found, int(memory) + 1).state is State.OK
        assert (found.per_task, found.task_parallelism) <= (load.per_task, load.task_parallelism)


@given(loads)
def test_no_more_engines_than_slots_and_work(load):
    most = capacity.most_containers(load)
    assert most.engines <= min(load.task_parallelism, len(load.tasks)) * load.per_task
    assert most.engines <= sum(one.rollouts + one.baseline for one in load.tasks)
    assert most.evaluations <= most.workspaces <= most.engines
