"""Two runs on the same instances: what is paired, what is told, and what cannot be believed."""

import json
import random
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from pytest_evalharness.clbench.compared import ComparedRuns
from pytest_evalharness.clbench.comparing import METRIC, compare
from pytest_evalharness.clbench.domains import Family
from pytest_evalharness.clbench.pairing import Pairing
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.errors import (
    ConditionNotMet,
    Inconclusive,
    ReferenceMissing,
    RunsIncomparable,
    Untrustworthy,
)
from pytest_evalharness.stats.scores import paired_t
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Verdict

DB, CODE, SALES, BSM = (
    "database_exploration",
    "codebase_adaptation",
    "sales_prediction",
    "blind_spectrum_monitoring",
)
BETTER = Declaration(Claim.BETTER, metric=METRIC)


@pytest.fixture
def made(tmp_path, clbench_files):
    """A maker of runs: every task has eight instances whose rewards lie about `level`, in an order that each seed has of its own."""

    def make(
        name,
        level,
        *,
        tasks=(DB, CODE, SALES),
        rollouts=5,
        seed=1,
        poisoned=False,
        short=(),
        ids="i",
        spread=0.05,
    ):
        told = {}
        for task in tasks:
            noise = random.Random(f"{name} {task} {seed}")
            base = [clbench_files.outcome(f"{ids}{at}", 0.1) for at in range(8)]
            passes = []
            for k in range(rollouts):
                luck = noise.gauss(0.0, spread)
                order = list(range(8))
                if k and task != SALES:
                    random.Random(f"{task} {k}").shuffle(order)
                one = [
                    clbench_files.outcome(
                        f"{ids}{at}", round(min(0.95, max(0.02, level + luck + 0.02 * at)), 6)
                    )
                    for at in order
                ]
                if poisoned and k == 1:
                    one = [{**outcome, "reward": 0.0, "cost_usd": 0.0} for outcome in one]
                passes.append(one[:5] if (task, k) in short else one)
            told[task] = clbench_files.artifact(task, base, passes)
        return read_run(clbench_files.publish(tmp_path / name, told))

    return make


def test_a_better_run_is_better_and_says_so_in_the_first_line(made):
    found = compare(BETTER, made("new", 0.6), made("old", 0.4))
    assert (found.verdict, found.decision) == (Verdict.BETTER, Decision.MET)
    result = ComparedRuns(found)
    result.require()
    assert result.headline.startswith("A/B CL-Bench: BETTER, normalised reward +0.")
    assert "new 0.6" in result.headline
    assert result.headline.endswith("15 vs 15 rollouts of 3 tasks, instances verified")
    assert found.p_exact is None  # fifteen rollouts need no permutation test to agree
    told = result.to_json()
    assert told["difference"] == pytest.approx(sum(one["difference"] for one in told["tasks"]) / 3)


def test_pairs_are_rollouts_of_one_seed_and_their_numbers_are_those_of_a_paired_t(made):
    new, old = made("new", 0.5, tasks=(DB,)), made("old", 0.4, tasks=(DB,))
    found = compare(BETTER, new, old)
    (task,) = found.tasks
    assert task.pairing is Pairing.INSTANCES
    # normalised by the old run's stateless baseline: eight instances of 0.1, of at most 8
    ours, theirs = (
        [(sum(o.reward for o in one.outcomes) - 0.8) / 7.2 for one in run.tasks[DB].rollouts]
        for run in (new, old)
    )
    assert task.candidate == pytest.approx(ours)
    by_hand = paired_t(ours, theirs)
    assert (found.found.low, found.found.high, found.found.p) == pytest.approx(
        (by_hand.low, by_hand.high, by_hand.p)
    )
    assert (task.higher, task.lower) == (8, 0)


def test_five_pairs_alone_cannot_convince_the_permutation_test_and_say_why(made):
    found = compare(BETTER, made("new", 0.6, tasks=(DB,)), made("old", 0.3, tasks=(DB,)))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert (found.p_exact, found.least_p) == (0.0625, 0.0625)
    with pytest.raises(Inconclusive, match=r"so few cannot give less than 0\.062"):
        ComparedRuns(found).require()


def test_under_five_rollouts_of_a_task_the_permutation_test_has_to_agree_too(made):
    """Fifteen in all convince the t interval; two of one task whose spread outweighs the others' do not tell that spread."""
    found = compare(BETTER, made("new", 0.6, rollouts=4), made("old", 0.4, rollouts=4))
    assert (found.verdict, found.rollouts) == (Verdict.BETTER, (12, 12))
    assert found.p_gate == max(found.found.p, found.p_exact)
    assert found.p_exact == pytest.approx(_permuted(found), abs=1e-9)


def _permuted(found):
    """By hand: every sign of every pair, and every division of what is unpaired."""
    sums = np.zeros(1)
    for task in found.tasks:
        ours, theirs = np.array(task.candidate), np.array(task.baseline)
        if task.pairing is Pairing.NONE:
            together = np.concatenate([ours, theirs])
            parts = [
                2 * together[list(chosen)].mean() - 2 * together.mean()
                for chosen in combinations(range(len(together)), len(ours))
            ]
        else:
            parts = [
                (np.array(signs) * (ours - theirs)).mean() for signs in product((1, -1), repeat=len(ours))
            ]
        sums = np.add.outer(sums, parts).ravel()
    return float((np.abs(sums) >= abs(3 * found.found.difference) - 1e-12).mean())


def test_a_time_series_and_other_seeds_are_not_paired(made):
    found = compare(BETTER, made("new", 0.6), made("old", 0.4, rollouts=4))
    assert {one.task: one.pairing for one in found.tasks} == dict.fromkeys((DB, CODE, SALES), Pairing.NONE)
    found = compare(BETTER, made("new2", 0.6), made("old2", 0.4))
    assert {one.task: one.pairing for one in found.tasks} == {
        DB: Pairing.INSTANCES,
        CODE: Pairing.INSTANCES,
        SALES: Pairing.NONE,
    }


def test_positions_are_compared_by_sums(made):
    found = compare(BETTER, made("new", 0.6, tasks=(BSM, DB)), made("old", 0.4, tasks=(BSM, DB)))
    bsm = ComparedRuns(found)["bsm"]
    assert (bsm.pairing, bsm.higher, bsm.lower) == (Pairing.SUMS, None, None)


def test_swapping_the_arms_turns_everything_around(made):
    new, old = made("new", 0.6), made("old", 0.4, rollouts=4)
    ours, theirs = (compare(BETTER, *pair, reference=old) for pair in ((new, old), (old, new)))
    assert theirs.found.difference == pytest.approx(-ours.found.difference)
    assert (theirs.found.low, theirs.found.high) == pytest.approx((-ours.found.high, -ours.found.low))
    assert (ours.verdict, theirs.verdict) == (Verdict.BETTER, Verdict.WORSE)
    assert [(one.lower, one.higher) for one in theirs.tasks] == [
        (one.higher, one.lower) for one in ours.tasks
    ]


@pytest.mark.parametrize(
    ("declared", "level", "verdict", "decision"),
    [
        ({"claim": "better"}, 0.2, Verdict.WORSE, Decision.NOT_MET),
        ({"claim": "not_worse"}, 0.42, Verdict.INCONCLUSIVE, Decision.MET),
        ({"claim": "equivalent", "margin": 0.2}, 0.40, Verdict.EQUIVALENT, Decision.MET),
        ({"claim": "noninferior", "margin": 0.2}, 0.40, Verdict.EQUIVALENT, Decision.MET),
        ({"claim": "better"}, 0.40, Verdict.INCONCLUSIVE, Decision.CANNOT_TELL),
    ],
)
def test_every_answer_that_there_is(made, declared, level, verdict, decision):
    found = compare(Declaration(**declared, metric=METRIC), made("new", level), made("old", 0.4))
    assert (found.verdict, found.decision) == (verdict, decision)
    result = ComparedRuns(found)
    if decision is Decision.NOT_MET:
        with pytest.raises(ConditionNotMet, match=r"^A/B CL-Bench: WORSE"):
            result.require()
    assert result.consumed is (decision is Decision.NOT_MET)


def test_a_direction_has_to_stand_among_the_comparisons_that_are_tested_with_it(made):
    new, old = made("new", 0.6), made("old", 0.4)
    alone = compare(BETTER, new, old)
    assert (alone.p_gate, alone.p_adjusted, alone.family) == (alone.found.p, alone.found.p, None)
    for times, verdict in ((2.5, Verdict.BETTER), (1.5, Verdict.INCONCLUSIVE)):
        declared = Declaration(Claim.BETTER, metric=METRIC, alpha=times * alone.p_gate)
        assert compare(declared, new, old).verdict is Verdict.BETTER
        among = compare(declared, new, old, others=[1.0])
        assert (among.verdict, among.family) == (verdict, 2)
        assert among.p_adjusted == pytest.approx(2 * alone.p_gate)
        assert among.found.difference == alone.found.difference
    assert [one.reason for one in among.reasons] == [Reason.FAMILY]
    assert any("comparisons tested together" in line for line in ComparedRuns(among).lines())
    five = compare(BETTER, made("few", 0.6, tasks=(SALES,)), old, tasks=[SALES], others=[0.01])
    assert five.p_gate == max(five.found.p, five.p_exact)  # both tests have to stand


def test_one_seed_is_a_smoke_test(made):
    found = compare(BETTER, made("new", 0.9, rollouts=1), made("old", 0.1, rollouts=1))
    assert [one.reason for one in found.reasons] == [Reason.FEW_ROLLOUTS]
    assert found.found is None
    with pytest.raises(Inconclusive, match="at least two rollouts"):
        ComparedRuns(found).require()


def test_an_untrustworthy_run_says_nothing_else(made):
    found = compare(BETTER, made("new", 0.9, poisoned=True), made("old", 0.1))
    result = ComparedRuns(found)
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert {one.reason for one in found.reasons} == {Reason.RUN_CHECK}
    assert "candidate" in result.headline
    told = result.to_json()
    assert (told["difference"], told["means"], told["tasks"], found.found) == (None, None, [], None)
    assert not any("0.9" in line or "+0." in line for line in result.lines())
    with pytest.raises(Untrustworthy, match=r"evalharness clbench check"):
        result.require_trust()


def test_other_instances_are_another_question(made):
    found = compare(BETTER, made("new", 0.6, ids="x"), made("old", 0.4))
    assert found.verdict is Verdict.UNTRUSTWORTHY
    assert [one.reason for one in found.reasons] == [Reason.INSTANCES]


def test_one_system_against_itself_is_an_alarm_where_a_difference_is_told(made):
    quiet = ComparedRuns(compare(BETTER, made("new", 0.4), made("old", 0.4), aa=True))
    quiet.require("better")  # held to its own expectation only
    assert "as an A/A run should" in quiet.headline
    loud = compare(BETTER, made("new2", 0.6), made("old2", 0.4), aa=True)
    assert ([one.reason for one in loud.reasons], loud.found) == ([Reason.AA_ALARM], None)
    with pytest.raises(Untrustworthy):
        ComparedRuns(loud).require()


def test_a_run_is_not_compared_with_itself(made):
    one = made("new", 0.6)
    assert [found.reason for found in compare(BETTER, one, one).reasons] == [Reason.SAME_BUILD]


def test_lost_rollouts_are_left_out_by_name_and_too_many_of_them_end_it(made):
    short = {(DB, 2)}
    found = compare(BETTER, made("new", 0.6, short=short), made("old", 0.4))
    assert found.verdict is Verdict.BETTER  # one of fifteen
    assert found.tasks[0].left_out["candidate"] == ("db, rollout 2: it has 5 of 8 outcomes",)
    assert any("db, rollout 2" in line for line in ComparedRuns(found).lines())
    found = compare(BETTER, made("new2", 0.6, short={*short, (CODE, 1)}), made("old2", 0.4))
    assert [one.reason for one in found.reasons] == [Reason.MISSING_OVER_LIMIT]


def test_tasks_of_one_run_only_are_named_and_a_task_that_was_asked_for_must_be_there(made):
    new, old = made("new", 0.6, tasks=(DB, CODE, SALES)), made("old", 0.4, tasks=(DB, CODE))
    found = compare(BETTER, new, old)
    assert found.only == ((SALES, "candidate"),)
    assert [one.task for one in compare(BETTER, new, old, tasks=[CODE]).tasks] == [CODE]
    with pytest.raises(RunsIncomparable, match=f"the baseline has no whole rollout of {SALES}"):
        compare(BETTER, new, old, tasks=[SALES])


def test_a_reference_without_that_task_normalises_nothing(made):
    with pytest.raises(ReferenceMissing, match="no stateless baseline of 8 instances"):
        compare(BETTER, made("new", 0.6), made("old", 0.4), reference=made("other", 0.3, tasks=(DB,)))


# --------------------------------------------------------------- published

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "clbench" / "reference_sums.json").read_text())
COHORT = "cohort_studies"


def rebuilt(clbench_files, folder, name):
    """A published run from its sums, each spread evenly over its instances, in an order that each seed has of its own."""
    found = {}
    for task in Family.OFFICIAL.tasks:
        told = GOLDEN[f"{task}/consistent_bits" if task == COHORT else task][name]
        size, passes = told["n_instances"], []
        for k, total in enumerate([told["baseline_sum"], *told["rollout_sums"]]):
            order = list(range(size))
            if k > 1 and task != SALES:
                random.Random(f"{task} {k}").shuffle(order)
            kept = {"kl_unit": "bits", "mean_kl_divergence": 1.0, "mean_reference_kl": 1.0 + total / size}
            more = {"metadata": kept} if task == COHORT else {}
            passes.append([clbench_files.outcome(f"{task}:{at}", total / size, **more) for at in order])
        found[task] = clbench_files.artifact(task, passes[0], passes[1:])
    return read_run(clbench_files.publish(folder / name, found))


def test_two_published_runs_differ_by_the_difference_of_their_published_composites(tmp_path, clbench_files):
    sonnet, opus = (
        rebuilt(clbench_files, tmp_path, name) for name in ("icl-claude-sonnet-4.6", "icl-claude-opus-4.7")
    )
    sums = {
        task: GOLDEN[f"{task}/consistent_bits" if task == COHORT else task] for task in Family.OFFICIAL.tasks
    }
    reference = replace(opus, tasks={
        task: replace(artifact, baseline=_summing(artifact.baseline, sums[task]["icl-gpt-5.4"]["baseline_sum"]))
        for task, artifact in opus.tasks.items()
    })  # fmt: skip
    found = compare(BETTER, sonnet, opus, reference=reference)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.means == pytest.approx((0.1772, 0.1854), abs=6e-5)
    assert found.found.difference == pytest.approx(0.1772 - 0.1854, abs=1.1e-4)
    variance, weights = 0.0, []
    for task, told in sums.items():
        span = told["icl-gpt-5.4"]["reference_sum"] - told["icl-gpt-5.4"]["baseline_sum"]
        ours, theirs = (np.array(told[run.name]["rollout_sums"]) / span for run in (sonnet, opus))
        if task == SALES:
            parts = [(arm.var(ddof=1) / 5, 4) for arm in (ours, theirs)]
        else:
            parts = [((ours - theirs).var(ddof=1) / 5, 4)]
        variance += sum(part for part, _ in parts)
        weights += parts
    assert found.found.standard_error == pytest.approx(np.sqrt(variance) / 6, rel=1e-6)
    assert found.found.df == pytest.approx(variance**2 / sum(part**2 / df for part, df in weights), rel=1e-6)


def _summing(baseline, total):
    """A baseline with another sum, spread evenly."""
    size = len(baseline.outcomes)
    told = []
    for one in baseline.outcomes:
        metadata = one.metadata
        if metadata is not None and metadata.kl_unit:
            metadata = structs.replace(metadata, mean_reference_kl=1.0 + total / size)
        told.append(structs.replace(one, reward=total / size, metadata=metadata))
    return replace(baseline, outcomes=tuple(told))
