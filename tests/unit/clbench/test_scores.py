"""Scores against numbers that were published or computed elsewhere."""

import json
import math
import shutil
from pathlib import Path

import pytest

from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.leaderboard import reference_of, standings
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.clbench.scales import Scale, Unit
from pytest_evalharness.clbench.scoring import score_run
from pytest_evalharness.errors import NothingComplete, ReferenceMissing, ScalesMixed

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "clbench" / "reference_sums.json").read_text())
SALES, DB, COHORT = "sales_prediction", "database_exploration", "cohort_studies"
SCALES = {"bits": "consistent_bits", "pr9": "pr9_unit_blind", "prefix": "prefix_clipped"}
REWARD = {  # of six tasks: before the fix, after it, and in bits
    "icl-claude-sonnet-4.6": (0.2231, 0.1960, 0.1772),
    "icl-gpt-5.4": (0.2006, 0.1890, 0.1828),
    "claude-code-sonnet-4.6": (0.1901, 0.1855, 0.1678),
    "mem0-gpt-5.4": (0.1505, 0.1481, 0.1402),
    "icl-claude-opus-4.7": (0.1017, 0.1832, 0.1854),
    "codex-gpt-5.4": (0.0657, 0.0575, 0.0485),
}
GAIN = {
    "icl-claude-sonnet-4.6": (0.2544, 0.2406, 0.2399),
    "icl-gpt-5.4": (0.2006, 0.1890, 0.1828),
    "claude-code-sonnet-4.6": (0.2390, 0.2414, 0.2347),
    "mem0-gpt-5.4": (0.2024, 0.2237, 0.2289),
    "icl-claude-opus-4.7": (0.1945, 0.1945, 0.1945),
    "codex-gpt-5.4": (0.1458, 0.1198, 0.1172),
}
ORDER = ("prefix", "pr9", "bits")


def scored(folders, name, scale="bits", reference="icl-gpt-5.4"):
    return score_run(read_run(folders[name]), read_run(folders[reference]), Scale(scale))


def near(value, tolerance=1.1e-6):
    return pytest.approx(value, abs=tolerance)


# --------------------------------------------------------------- published


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", REWARD)
def test_every_published_task_score(published, name, scale):
    score = scored(published, name, scale)
    assert list(score.tasks) == list(Family.OFFICIAL.tasks)
    for task, one in score.tasks.items():
        told = GOLDEN[f"{task}/{SCALES[scale]}" if task == COHORT else task][name]
        assert one.reward.mean == near(told["reward_mean"])
        assert one.baseline == near(told["baseline_sum"])
        assert one.maximum == near(told["reference_sum"])
        assert one.normalized_reward.mean == near(told["normalized_reward_mean"], 3e-6)
        assert one.normalized_gain.mean == near(told["normalized_gain_mean"], 3e-6)
        if told["reward_se"] is not None:
            assert (one.reward.se or 0.0) == near(told["reward_se"])


@pytest.mark.parametrize("name", REWARD)
def test_every_published_composite_in_three_scales(published, name):
    score = scored(published, name)
    for at, scale in enumerate(ORDER):
        reading = score.readings[Scale(scale)]
        assert reading.normalized_reward.mean == pytest.approx(REWARD[name][at], abs=6e-5)
        assert reading.normalized_gain.mean == pytest.approx(GAIN[name][at], abs=6e-5)
    assert score.normalized_reward == score.readings[Scale.BITS].normalized_reward


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("icl-claude-sonnet-4.6", 4.06),
        ("claude-code-sonnet-4.6", 7.15),
        ("mem0-gpt-5.4", 6.43),
        ("icl-claude-opus-4.7", 4.43),
    ],
)
def test_the_published_interval_is_the_z_interval_and_t_is_wider(published, name, printed):
    told = scored(published, name, "prefix").normalized_reward
    assert 100 * (told.z[1] - told.mean) == pytest.approx(printed, abs=0.006)
    assert (told.t[1] - told.mean) / (told.z[1] - told.mean) == pytest.approx(2.776445 / 1.959964, abs=1e-6)
    assert told.mean - told.z[0] == pytest.approx(told.z[1] - told.mean)


def test_one_rollout_has_no_interval(published):
    score = scored(published, "codex-gpt-5.4")
    assert (score.normalized_reward.se, score.normalized_reward.z, score.normalized_reward.t) == (
        None,
        None,
        None,
    )
    assert score.tasks[SALES].reward.se == near(0.197924)


def test_units_are_read_from_the_data(published):
    assert scored(published, "icl-claude-opus-4.7").tasks[COHORT].units == (Unit.BITS,)
    assert scored(published, "icl-claude-sonnet-4.6").tasks[COHORT].units == (Unit.NATS,)


def test_nats_are_a_mixture_with_a_reference_reward_in_bits(published):
    score = scored(published, "icl-claude-sonnet-4.6")
    assert {scale: one.mixed for scale, one in score.readings.items()} == {
        "bits": False,
        "pr9": True,
        "prefix": True,
    }
    own = scored(published, "icl-claude-opus-4.7", reference="icl-claude-opus-4.7")
    assert not any(one.mixed for one in own.readings.values())


def test_the_null_rollout_is_flagged_kept_and_told_without(published):
    score = scored(published, "claude-code-sonnet-4.6", "pr9")
    assert [(one.task, one.run_index, one.doubt) for one in score.flags] == [
        ("codebase_adaptation", 3, "all null")
    ]
    assert score.normalized_reward.mean == pytest.approx(0.1855, abs=6e-5)
    assert score.without_flagged.mean == pytest.approx(0.2144, abs=6e-5)
    assert not score.clean


def test_seeds_have_composites_whose_mean_is_the_score(published):
    score = scored(published, "icl-claude-sonnet-4.6")
    assert sorted(score.seeds) == [0, 1, 2, 3, 4]
    assert sum(score.seeds.values()) / 5 == pytest.approx(score.normalized_reward.mean, abs=1e-12)
    first = [one.rollouts[0].normalized_reward for one in score.tasks.values()]
    assert score.seeds[0] == pytest.approx(math.fsum(first) / 6, abs=1e-12)


def test_the_ranks_in_bits(published):
    runs = [read_run(folder) for folder in published.values()]
    found = standings(runs, reference_of(runs, None))
    assert [(one.rank, one.score.run) for one in found] == [
        (1, "icl-claude-opus-4.7"),
        (2, "icl-gpt-5.4"),
        (3, "icl-claude-sonnet-4.6"),
        (4, "claude-code-sonnet-4.6"),
        (5, "mem0-gpt-5.4"),
        (6, "codex-gpt-5.4"),
    ]


def test_a_mixture_of_units_has_no_rank(published):
    runs = [read_run(folder) for folder in published.values()]
    found = standings(runs, reference_of(runs, None), Scale.PR9)
    assert found[0].score.run == "icl-claude-sonnet-4.6"  # as the leaderboard has it
    assert [one.rank for one in found] == [None] * 6
    assert "different units" in found[0].no_rank


def test_a_submission_from_the_totals_of_its_manifest(published, clbench_files, tmp_path):
    """Mean sums as a published manifest tells them, and the two composites that they give."""
    short, plain = clbench_files.SHORT, clbench_files.plain
    totals = {"bsm": 33.98578, "code": 12.125, "db": 22.22648, "poker": 113.48, "sales": 8.98468}
    told = {
        short[name]: plain([total] + [0.0] * (BY_TASK[short[name]].instances - 1))
        for name, total in totals.items()
    }
    told[COHORT] = clbench_files.studies([(10.0, 10.41576)] + [(0.1, 0.1)] * 19, unit="bits")
    tasks = {task: clbench_files.artifact(task, passed, [passed]) for task, passed in told.items()}
    run = read_run(clbench_files.publish(tmp_path / "submitted", tasks))
    reference = read_run(published["icl-gpt-5.4"])
    score = score_run(run, reference)
    assert score.normalized_reward.mean == near(0.23247, 6e-6)
    assert score.readings[Scale.PR9].normalized_reward.mean == near(0.23014, 6e-6)
    by_task = {
        task: one.normalized_reward.mean for task, one in score_run(run, reference, Scale.PR9).tasks.items()
    }
    expected = {
        "bsm": 0.20252,
        "code": 0.28010,
        "cohort": -0.09517,
        "db": 0.48433,
        "poker": -0.02002,
        "sales": 0.52905,
    }
    assert by_task == {short[name]: near(value, 6e-6) for name, value in expected.items()}


# ---------------------------------------------------------------- invented


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (SALES, (2.2, 0.2, 1.2, 0.357143, 0.357143)),
        (DB, (2.4, 0.0, 0.6, 0.5, 0.529412)),
        (COHORT, (0.045, 0.055, -0.01, 0.175388, 0.164472)),
    ],
)
def test_the_invented_tasks(invented, task, told):
    reward, se, baseline, normalized, gain = told
    one = scored(invented, "demo").tasks[task]
    assert one.reward.mean == near(reward)
    assert one.reward.se == near(se)
    assert one.baseline == near(baseline)
    assert one.normalized_reward.mean == near(normalized)
    assert one.normalized_gain.mean == near(gain)


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        ("prefix", (-0.245094, 0.245094, 1.464323, 0.4286, 0.1)),
        ("pr9", (0.164472, 0.164472, 0.089712, 0.02, -0.01)),
        ("bits", (0.175388, 0.162323, 0.127736, 0.028854, -0.014427)),
    ],
)
def test_the_invented_cohort_in_three_scales(invented, scale, told):
    demo, se, reference, total, base = told
    own = scored(invented, "demo").readings[Scale(scale)].cohort
    assert own.normalized_reward.mean == near(demo)
    assert own.normalized_reward.se == near(se)
    assert own.normalized_gain.mean == near(0.164472)
    other = scored(invented, "icl-gpt-5.4", scale).tasks[COHORT]
    assert other.normalized_reward.mean == near(reference)
    assert other.reward.mean == near(total)
    assert other.baseline == near(base)


@pytest.mark.parametrize(
    ("scale", "demo", "reference"),
    [("prefix", 0.204016, 0.770846), ("pr9", 0.340538, 0.312642), ("bits", 0.344177, 0.325317)],
)
def test_the_winner_of_the_invented_set_flips_with_the_scale(invented, scale, demo, reference):
    runs = [read_run(folder) for folder in invented.values()]
    found = standings(runs, reference_of(runs, None), Scale(scale))
    by_name = {one.score.run: one.score.normalized_reward.mean for one in found}
    assert by_name == {"demo": near(demo), "icl-gpt-5.4": near(reference)}
    assert [one.rank for one in found] == [None, None]  # three of six tasks
    assert "takes all 6 tasks" in found[0].no_rank
    assert scored(invented, "demo", scale).normalized_gain.mean == near(0.350342)


def test_the_short_rollout_is_excluded_and_named(invented):
    one = scored(invented, "demo").tasks[SALES]
    assert [rollout.run_index for rollout in one.rollouts] == [0, 1]
    assert [(told.run_index, told.why) for told in one.excluded] == [(2, "it has 2 of 4 outcomes")]


def test_costs_are_of_one_pass_and_of_everything(invented):
    score = scored(invented, "demo")
    assert score.cost_per_pass == near(0.04 + 0.04 + 0.02)
    assert score.cost_all == near(0.14 + 0.12 + 0.06)


def test_bits_are_the_same_score_in_whatever_unit_they_were_stored(invented, clbench_files):
    before = {name: scored(invented, name) for name in invented}
    ln2 = math.log(2.0)
    pairs = [[(0.10, 0.11), (0.15, 0.15)], [(0.10, 0.08), (0.15, 0.18)], [(0.10, 0.05), (0.15, 0.10)]]
    nats = [clbench_files.studies([(a * ln2, b * ln2) for a, b in one], unit=None) for one in pairs]
    path = invented["demo"] / "tasks" / f"{COHORT}.json"
    path.write_text(json.dumps(clbench_files.artifact(COHORT, nats[0], nats[1:])))
    after = scored(invented, "demo")
    assert after.tasks[COHORT].units == (Unit.NATS,)
    assert after.normalized_reward.mean == near(before["demo"].normalized_reward.mean, 1e-12)
    assert after.normalized_gain.mean == near(before["demo"].normalized_gain.mean, 1e-12)
    assert after.readings[Scale.PR9].normalized_reward.mean != near(0.340538)


# ---------------------------------------------------------------- refusals


def test_no_run_is_normalised_by_its_own_baseline(invented):
    shutil.rmtree(invented["icl-gpt-5.4"])
    with pytest.raises(ReferenceMissing) as caught:
        reference_of([read_run(invented["demo"])], None)
    assert "--reference" in caught.value.next_step


def test_the_reference_is_found_beside_the_run(invented):
    assert reference_of([read_run(invented["demo"])], None).name == "icl-gpt-5.4"


def test_a_task_without_reference_is_refused(invented):
    (invented["icl-gpt-5.4"] / "tasks" / f"{DB}.json.gz").unlink()
    with pytest.raises(ReferenceMissing, match="no baseline of database_exploration"):
        scored(invented, "demo")


def test_another_number_of_instances_is_refused(invented, clbench_files):
    path = invented["demo"] / "tasks" / f"{SALES}.json"
    plain = clbench_files.plain
    path.write_text(json.dumps(clbench_files.artifact(SALES, plain([0.1] * 3), [plain([0.2] * 3)])))
    with pytest.raises(
        ReferenceMissing, match="4 baseline instances of sales_prediction, and rollouts of demo have 3"
    ):
        scored(invented, "demo")


@pytest.mark.parametrize("where", ["demo", "icl-gpt-5.4"])
def test_rewards_of_no_known_unit_are_refused_in_bits_only(invented, clbench_files, where):
    plain = clbench_files.plain
    tasks = invented[where] / "tasks"
    for path in tasks.glob(f"{COHORT}*"):
        path.unlink()
    (tasks / f"{COHORT}.json").write_text(
        json.dumps(clbench_files.artifact(COHORT, plain([0.1, 0.2]), [plain([0.3, 0.4])]))
    )
    with pytest.raises(ScalesMixed, match=where) as caught:
        scored(invented, "demo")
    assert "--scale pr9" in caught.value.next_step
    assert scored(invented, "demo", "pr9").readings[Scale.PR9].mixed


def test_nothing_complete_is_no_score(tmp_path, clbench_files, invented):
    folder = clbench_files.publish(
        tmp_path / "cut",
        {SALES: clbench_files.artifact(SALES, clbench_files.plain([0.1] * 4), [clbench_files.plain([0.2])])},
    )
    with pytest.raises(NothingComplete, match="cut has no complete rollout"):
        score_run(read_run(folder), read_run(invented["icl-gpt-5.4"]))


def test_a_task_that_cannot_be_normalised_leaves_no_complete_score(published, clbench_files, tmp_path):
    """A reference that earns the largest reward on every instance leaves nothing to earn."""
    folder = tmp_path / "perfect"
    shutil.copytree(published["icl-gpt-5.4"], folder)
    told = clbench_files.artifact(SALES, clbench_files.plain([1.0] * 12), [])
    (folder / "tasks" / f"{SALES}.json.gz").write_bytes(json.dumps(told).encode())
    score = score_run(read_run(published["mem0-gpt-5.4"]), read_run(folder))
    assert score.tasks[SALES].normalized_reward is None
    assert (score.normalized_reward.tasks, score.complete) == (5, False)
    assert score.normalized_gain.tasks == 6


def test_a_short_own_baseline_costs_the_gain_and_not_the_reward(invented, clbench_files):
    path = invented["demo"] / "tasks" / f"{SALES}.json"
    plain = clbench_files.plain
    told = clbench_files.artifact(SALES, plain([0.1] * 3), [plain([0.2, 0.6, 0.8, 0.8])], expected=4)
    path.write_text(json.dumps(told))
    one = scored(invented, "demo").tasks[SALES]
    assert (one.gain, one.normalized_gain, one.baseline) == (None, None, None)
    assert one.normalized_reward.mean == near((2.4 - 1.2) / (4 - 1.2))
