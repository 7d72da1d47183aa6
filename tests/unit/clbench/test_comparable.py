"""What forbids a comparison: a copy, lost rollouts that could turn it around, units and tasks that have nothing in common."""

import random
import shutil

import pytest

from pytest_evalharness.clbench.comparing import METRIC, compare
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.errors import FamiliesMixed, ReferenceMissing, ScalesMixed
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Decision, Reason, Verdict

DB, CODE, COHORT, POKER = (
    "database_exploration",
    "codebase_adaptation",
    "cohort_studies",
    "exploitable_poker",
)
BETTER = Declaration("better", metric=METRIC)
SIZE = 6


@pytest.fixture
def made(tmp_path, clbench_files):
    """A maker of runs of two tasks, whose rollouts earn the named levels an instance."""

    def make(name, levels, *, tasks=(DB, CODE), gone=(), planned=None, group=None, unit="bits", baseline=0.1):
        told = {}
        for task in tasks:
            noise, passes = random.Random(f"{name} {task}"), {}
            for k, level in enumerate(levels):
                order = list(range(SIZE))
                if k:
                    random.Random(f"{task} {k}").shuffle(order)
                rewards = [
                    None if level is None and not at else round((level or 0.5) + noise.gauss(0.0, 0.01), 6)
                    for at in order
                ]
                passes[k] = [
                    _outcome(clbench_files, task, at, r, unit) for at, r in zip(order, rewards, strict=True)
                ]
            base = [_outcome(clbench_files, task, at, baseline, unit) for at in range(SIZE)]
            more = {"run_count": planned or len(levels), "run_group_id": group}
            told[task] = clbench_files.artifact(task, base, list(passes.values()), **more)
            told[task]["run_traces"] = [
                one for one in told[task]["run_traces"] if (task, one["run_index"]) not in gone
            ]
        return read_run(clbench_files.publish(tmp_path / name, told))

    return make


def _outcome(files, task, at, reward, unit):
    if task != COHORT or reward is None:
        return files.outcome(f"{task}:{at}", reward)
    told = {"mean_reference_kl": 1.0 + reward, "mean_kl_divergence": 1.0}
    if unit == "bits":
        return files.outcome(f"{task}:{at}", reward, metadata={**told, "kl_unit": "bits"})
    return files.outcome(
        f"{task}:{at}", reward / (1.0 + reward), metadata=told, raw_metric_name="kl_skill_score"
    )


OLD = [0.40] * 5
WORSE = [0.45, 0.05, 0.45, 0.05, 0.45]
"""Of five rollouts two went wrong: on average worse than 0.40, and better where those two are out of sight."""


def test_a_worse_run_is_not_better_because_its_bad_rollouts_are_not_in_the_file(made):
    old = made("old", OLD)
    assert compare(BETTER, made("all", WORSE), old).verdict is not Verdict.BETTER
    gone = {(task, k) for task in (DB, CODE) for k in (1, 3)}
    found = compare(BETTER, made("left", WORSE, gone=gone), old)
    assert [one.reason for one in found.reasons] == [Reason.MISSING_OVER_LIMIT]
    assert "4 of 10 rollouts: db, rollout 1: it is not there; db, rollout 3" in found.reasons[0].detail
    last = made(
        "last", WORSE[:3], planned=5
    )  # no gap tells it, but the artifact says how many there were to be
    assert compare(BETTER, last, old).verdict is Verdict.UNTRUSTWORTHY
    assert (
        compare(BETTER, made("short", OLD[:3]), old).verdict is not Verdict.UNTRUSTWORTHY
    )  # nothing is missing


def test_a_task_that_was_begun_and_is_lost_whole_is_not_forgotten(made):
    old = made("old", OLD, tasks=(DB, CODE, POKER))
    new = made("new", [0.5] * 5, tasks=(DB, CODE, POKER), gone={(POKER, k) for k in range(5)})
    found = compare(BETTER, new, old)
    assert [one.reason for one in found.reasons] == [Reason.MISSING_OVER_LIMIT]
    assert "poker, rollout 4: it is not there" in found.reasons[0].detail


def test_lost_rollouts_that_could_turn_a_direction_around_are_not_believed(made):
    """Within the limit of 10 % and still decisive: at its worst the lost rollout makes a small lead a deficit."""
    old = made("old", OLD)
    lead = made("lead", [0.43] * 5, gone={(CODE, 2)})
    found = compare(BETTER, lead, old)
    assert [one.reason for one in found.reasons] == [Reason.MISSING_REVERSES]
    assert found.found is None
    far = compare(BETTER, made("far", [0.9] * 5, gone={(CODE, 2)}), old)
    assert far.verdict is Verdict.BETTER  # even an empty rollout in its place leaves it ahead
    backwards = compare(BETTER, old, lead, reference=old)
    assert [one.reason for one in backwards.reasons] == [Reason.MISSING_REVERSES]


def test_a_margin_is_not_kept_by_losing_the_rollouts_that_break_it(made):
    declared = Declaration("noninferior", margin=0.02, metric=METRIC)
    old = made("old", OLD)
    whole = compare(declared, made("whole", [0.40] * 5), old)
    assert whole.decision is Decision.MET
    found = compare(declared, made("less", [0.40] * 5, gone={(DB, 1)}), old)
    assert (found.decision, found.reasons[0].reason) == (Decision.UNTRUSTWORTHY, Reason.MISSING_REVERSES)


@pytest.mark.parametrize("claim", ["not_worse", "equivalent", "noninferior"])
def test_a_copied_folder_is_one_run_under_two_names(made, claim):
    old = made("old", OLD, group="2026-09-01T10-00-00.000001Z")
    shutil.copytree(old.folder, old.folder.parent / "new")
    declared = Declaration(claim, margin=None if claim == "not_worse" else 0.1, metric=METRIC)
    found = compare(declared, read_run(old.folder.parent / "new"), old)
    assert [one.reason for one in found.reasons] == [Reason.SAME_BUILD]
    assert found.decision is Decision.UNTRUSTWORTHY
    other = made("other", OLD, group="2026-09-02T10-00-00.000001Z")
    assert compare(declared, other, old).decision is Decision.MET


def test_a_hand_that_nobody_scored_is_not_better_than_one_that_was_lost(made):
    """Missing rewards sum up as 0, which in poker beats a loss."""
    old = made("old", [0.5] * 5, tasks=(POKER, DB))
    new = made("new", [0.5, None, 0.5, 0.5, 0.5], tasks=(POKER, DB))
    poker, db = (
        next(one for one in compare(BETTER, new, old).tasks if one.task == task) for task in (POKER, DB)
    )
    assert (len(db.candidate), db.left_out["candidate"]) == (
        5,
        (),
    )  # an answer that is no answer earns 0 there
    assert poker.left_out["candidate"] == ("poker, rollout 1: 1 of its instances have no reward",)


def test_units_of_two_runs_that_the_scale_does_not_bring_to_one_are_refused(made):
    new, old = (
        made(name, OLD, tasks=(COHORT,), unit=unit) for name, unit in (("new", "nats"), ("old", "bits"))
    )
    for scale in (Scale.PR9, Scale.PREFIX):
        with pytest.raises(ScalesMixed, match="the candidate: nats; the baseline: bits"):
            compare(BETTER, new, old, scale=scale)
    assert compare(BETTER, new, old).scale is Scale.BITS


def test_a_reference_that_leaves_nothing_to_earn_turns_no_direction_around(made):
    new, old = made("new", [0.2] * 5, tasks=(COHORT,)), made("old", [0.1] * 5, tasks=(COHORT,))
    with pytest.raises(ReferenceMissing, match="nothing is left to measure by"):
        compare(BETTER, new, old, reference=made("full", OLD, tasks=(COHORT,), baseline=0.17))


def test_runs_of_two_families_are_refused_by_name(made):
    new, old = made("new", OLD, tasks=("mini_ledger_lookup",)), made("old", OLD)
    with pytest.raises(FamiliesMixed, match=r"new \(embedded miniature\), old \(official\)"):
        compare(BETTER, new, old)


def test_a_seed_beyond_all_seeds_makes_no_list_without_end(made, clbench_files, tmp_path):
    trace = clbench_files.trace([clbench_files.outcome(f"{DB}:{at}", 0.4) for at in range(SIZE)], 10**12)
    told = clbench_files.artifact(DB, [clbench_files.outcome(f"{DB}:{at}", 0.1) for at in range(SIZE)], [])
    told["run_traces"] = [{"run_index": k, "trace": {**trace, "execution": {}}} for k in (0, 10**12)]
    odd = read_run(clbench_files.publish(tmp_path / "odd", {DB: told}))
    assert len(compare(BETTER, odd, made("old", OLD, tasks=(DB,))).reasons[0].detail) < 10_000
