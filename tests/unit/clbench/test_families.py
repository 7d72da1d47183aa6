"""Runs of the embedded miniature are scored by themselves and named; a run that mixes two families is none."""

import json

import pytest

from pytest_evalharness.clbench import rendering, submission, trust
from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.domains import ALL, BY_TASK, Family, families
from pytest_evalharness.clbench.leaderboard import reference_of, standings
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.errors import FamiliesMixed, ReferenceMissing

MINI = Family.EMBEDDED.tasks


def artifacts(files, tasks, reward):
    """A sound run of some tasks: another order for each rollout but in a time series."""
    found = {}
    for task in tasks:
        size = BY_TASK[task].instances
        told = [files.outcome(f"{task}:{at}", reward) for at in range(size)]
        rollouts = []
        for index in range(2):
            shift = index if BY_TASK[task].permuted else 0
            order = [*range(shift, size), *range(shift)]
            turns = [
                {"query": {"prompt": f"{at}", "instance_id": f"{task}:{at}"}, "response": {}} for at in order
            ]
            rollouts.append(files.trace([told[at] for at in order], index, interactions=turns))
        found[task] = files.artifact(task, told, rollouts, run_mode="permute")
    return found


@pytest.fixture
def published(tmp_path, clbench_files):
    def publish(name, tasks, reward=0.5):
        manifest = {
            "run_name": name,
            "status": "completed",
            "tasks": [{"task": task, "status": "ok"} for task in tasks],
        }
        return clbench_files.publish(
            tmp_path / name, artifacts(clbench_files, tasks, reward), manifest=manifest
        )

    return publish


def test_every_domain_has_a_family_and_names_of_its_own():
    assert len({one.task for one in ALL}) == len({one.short for one in ALL}) == len(ALL) == 10
    assert families([MINI[0], "nobody's"]) == {Family.EMBEDDED}
    assert Family.EMBEDDED.reference_run is None


def test_a_run_of_the_miniature_is_complete_with_its_four_tasks(published):
    run = read_run(published("mine", MINI))
    states = {one.name: one.state for one in trust.checks(run)}
    assert states == dict.fromkeys(states, State.OK)
    assert read_run(published("half", MINI[:2])).family is Family.EMBEDDED


def test_missing_tasks_are_those_of_its_family(published):
    [check] = [one for one in trust.checks(read_run(published("half", MINI[:2]))) if one.name == "coverage"]
    assert (check.state, check.seen) == (State.INCOMPLETE, "missing: bands, shop")


def test_every_report_of_it_says_so_and_nothing_of_it_can_be_submitted(published):
    run = read_run(published("mine", MINI))
    told = "\n".join(rendering.report(run.name, trust.checks(run), submission.items(run), run.family))
    assert told.startswith("mine (embedded miniature): trust report")
    assert "cannot be submitted" in told
    assert "registration:" not in told
    scores = "\n".join(rendering.scores(standings([run], run), run.name))
    assert "mine (embedded miniature): normalised reward" in scores
    assert "4 of 4 tasks" in scores
    assert "say nothing about a system elsewhere" in scores
    assert "icl-gpt-5.4" not in scores


def test_its_reference_is_any_run_of_its_own_that_is_named(published):
    plain, mine = read_run(published("plain", MINI, 0.25)), read_run(published("mine", MINI))
    published("icl-gpt-5.4", Family.OFFICIAL.tasks)
    with pytest.raises(ReferenceMissing, match="the embedded miniature has none of its own"):
        reference_of([mine], None)
    best, other = standings([plain, mine], reference_of([mine], plain.folder))
    assert (best.score.run, best.rank, other.rank) == ("mine", 1, 2)


def test_a_run_that_mixes_families_is_refused(published):
    folder = published("mixed", [*MINI[:1], *Family.OFFICIAL.tasks[:1]])
    with pytest.raises(FamiliesMixed, match="in one run"):
        read_run(folder)


def test_runs_of_different_families_do_not_stand_beside_one_another(published):
    mine, theirs = read_run(published("mine", MINI)), read_run(published("theirs", Family.OFFICIAL.tasks))
    with pytest.raises(FamiliesMixed, match=r"mine \(embedded miniature\), theirs \(official\)"):
        standings([mine, theirs], theirs)


def test_the_family_of_a_run_without_artifacts_is_told_by_its_manifest(tmp_path):
    told = {"kind": "run_all_manifest", "tasks": [{"task": MINI[0], "status": "failed"}]}
    (tmp_path / "manifest.json").write_text(json.dumps(told))
    assert read_run(tmp_path).family is Family.EMBEDDED


def test_a_round_that_was_over_before_the_turn_is_no_poison(published, clbench_files, tmp_path):
    """Free and rewarded and never asked: a fault of nobody, in the duel as in poker."""
    told = artifacts(clbench_files, MINI, 0.5)
    duel = told["mini_coin_duel"]
    for trace in (duel["baseline_trace"], *(one["trace"] for one in duel["run_traces"])):
        first = next(one for one in trace["result"]["instance_outcomes"] if one["instance_id"].endswith(":0"))
        first |= {"reward": 1.0, "cost_usd": 0.0}
        turns = trace.get("interactions") or []
        trace["interactions"] = [one for one in turns if one["query"]["instance_id"] != first["instance_id"]]
    run = read_run(clbench_files.publish(tmp_path / "duel", told))
    [check] = [one for one in trust.checks(run) if one.name == "no poisoned instance"]
    assert (check.state, check.seen) == (
        State.OK,
        "none; rounds of the duel that ended before the system's turn, by pass: 1, 1, 1",
    )
