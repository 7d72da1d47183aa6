"""The trust report: each check passes on a sound run, and fails on the defect that it is for."""

import json

import pytest

from pytest_evalharness.clbench import submission, trust
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.orders import orders
from pytest_evalharness.clbench.poisoning import flags
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.cli import main

DB, POKER, BSM = "database_exploration", "exploitable_poker", "blind_spectrum_monitoring"
COHORT, CODE, SALES = "cohort_studies", "codebase_adaptation", "sales_prediction"


class Campaign:
    """A sound run of all six tasks; a test spoils what it is about and writes it."""

    def __init__(self, folder, files):
        self.folder, self.files = folder, files
        self.tasks = {task: self.sound(task) for task in Family.OFFICIAL.tasks}
        told = [{"task": task, "schedule": "default", "status": "ok"} for task in Family.OFFICIAL.tasks]
        self.manifest = {
            "run_name": "mine",
            "system": "ouroboros",
            "system_args": ["--runs", "5"],
            "status": "completed",
            "finished_at": "2026-08-01T10:00:00Z",
            "tasks": told,
        }

    def sound(self, task):
        domain = BY_TASK[task]
        told = [self.outcome(task, at) for at in range(domain.instances)]
        rollouts = [self.rollout(task, told, index) for index in range(5)]
        system = {"name": "ouroboros", "params": {"model": "openrouter/anthropic/claude-sonnet-4.6"}}
        return self.files.artifact(task, told, rollouts, system=system, run_mode="permute")

    def outcome(self, task, at):
        more = {"instance_id": f"{task}:{at}"}
        if task == COHORT:
            metadata = {"mean_reference_kl": 0.2, "mean_kl_divergence": 0.15, "kl_unit": "bits"}
            return self.files.outcome(None, 0.05, metadata=metadata) | more
        if task == DB:
            return self.files.outcome(None, 0.8, raw_metric_value=3.0) | more
        return self.files.outcome(None, 0.5) | more

    def rollout(self, task, told, index):
        shift = 0 if task == SALES else index
        order = list(range(shift, len(told))) + list(range(shift))
        outcomes = [dict(told[at]) for at in order]
        if task == BSM:  # its ids number positions
            outcomes = [one | {"instance_id": f"{task}:{at}"} for at, one in enumerate(outcomes)]
        turns = [
            {
                "query": {"prompt": f"instance {at}", "instance_id": one["instance_id"]},
                "response": {"metadata": {}},
            }
            for at, one in zip(order, outcomes, strict=True)
            for _ in range(2)
        ]
        return self.files.trace(outcomes, index, interactions=turns)

    def passes(self, task, index):
        return self.tasks[task]["run_traces"][index]["trace"]

    def outcomes(self, task, index):
        return self.passes(task, index)["result"]["instance_outcomes"]

    def written(self):
        self.files.publish(self.folder, self.tasks, manifest=self.manifest)
        return read_run(self.folder)

    def states(self):
        return {one.name: one for one in trust.checks(self.written())}


@pytest.fixture
def campaign(tmp_path, clbench_files):
    return Campaign(tmp_path / "mine", clbench_files)


def test_a_sound_run_passes_every_check(campaign):
    assert {name: one.state for name, one in campaign.states().items()} == dict.fromkeys(
        (
            "files", "coverage", "rollouts", "baselines", "campaign", "salvage", "schedule", "one scale", "recomputed rewards",
            "range", "rewards told", "no poisoned instance", "no null rollout", "seed orders", "prices",
        ),
        "ok",
    )  # fmt: skip


def drop_task(one):
    del one.tasks[SALES]


def cut_rollout(one):
    del one.outcomes(SALES, 2)[3:]


def block_rollout(one):
    one.passes(CODE, 1)["status"] = "completed_with_gaps"


def no_baseline(one):
    one.tasks[DB]["baseline_trace"] = None


def short_baseline(one):
    del one.tasks[DB]["baseline_trace"]["result"]["instance_outcomes"][5:]


def blocked_baseline(one):
    one.tasks[DB]["baseline_trace"]["execution"]["instances_blocked"] = 2


def failed_task(one):
    one.manifest["tasks"][3]["status"] = "failed"


def forwarded_schedule(one):
    one.manifest["system_args"] += ["--schedule", "quick_test"]


def other_schedule(one):
    one.tasks[POKER]["summary"]["schedule"] = "quick_test"


def mixed_units(one):
    for told in one.outcomes(COHORT, 4):
        told["metadata"] = told["metadata"] | {"kl_unit": "nats"}


def no_unit_anywhere(one):
    for told in one.outcomes(COHORT, 4):
        told["metadata"] = {}


def a_changed_reward(one):
    told = one.outcomes(DB, 1)
    told[7] = told[7] | {"reward": 0.95}


def a_changed_difference(one):
    told = one.outcomes(COHORT, 1)
    told[7] = told[7] | {"reward": 0.15}


def too_good(one):
    told = one.outcomes(SALES, 1)
    told[0] = told[0] | {"reward": 1.2}


def not_told(one):
    told = one.outcomes(SALES, 1)
    told[0] = told[0] | {"reward": None}


def free_and_null(one):
    told = one.outcomes(BSM, 1)
    told[4:7] = [each | {"reward": 0.1964, "cost_usd": 0.0} for each in told[4:7]]


def forfeited_answer(one):
    one.passes(POKER, 0)["interactions"][10]["response"]["metadata"] = {
        "forfeit_reason": "engine_unresponsive"
    }


def all_null(one):
    told = one.outcomes(CODE, 3)
    told[:] = [each | {"reward": 0.0} for each in told]


def one_order(one):
    one.tasks[DB]["run_traces"][2]["trace"] = one.passes(DB, 1)


def one_prompt_order(one):
    one.passes(BSM, 2)["interactions"] = one.passes(BSM, 1)["interactions"]


def not_canonical(one):
    one.outcomes(CODE, 0).reverse()


def unpriced(one):
    one.passes(SALES, 1)["execution"]["usage"]["interaction"]["unpriced_call_count"] = 3


@pytest.mark.parametrize(
    ("spoil", "check", "state", "seen"),
    [
        (drop_task, "coverage", "incomplete", "missing: sales"),
        (cut_rollout, "rollouts", "incomplete", "sales, rollout 2: it has 3 of 12 outcomes"),
        (block_rollout, "rollouts", "incomplete", "code, rollout 1: its status is completed_with_gaps"),
        (no_baseline, "baselines", "incomplete", "db: none"),
        (short_baseline, "baselines", "incomplete", "db: 5 of 40 instances"),
        (blocked_baseline, "baselines", "incomplete", "db: 2 instances blocked"),
        (failed_task, "campaign", "incomplete", "cohort_studies: failed"),
        (forwarded_schedule, "schedule", "failed", "--schedule was forwarded"),
        (other_schedule, "schedule", "failed", "poker: quick_test"),
        (mixed_units, "one scale", "failed", "rollout 4: nats"),
        (no_unit_anywhere, "one scale", "failed", "rollout 4: unknown"),
        (a_changed_reward, "recomputed rewards", "failed", "db, rollout 1: 1 rewards"),
        (a_changed_difference, "recomputed rewards", "failed", "cohort, rollout 1: 1 rewards"),
        (too_good, "range", "failed", "sales: 1.2 in rollout 1"),
        (not_told, "rewards told", "incomplete", "sales, rollout 1: 1 missing"),
        (
            free_and_null,
            "no poisoned instance",
            "failed",
            "bsm, rollout 1: of 90 instances 3 earned nothing at no cost, 3 of them in a row",
        ),
        (
            forfeited_answer,
            "no poisoned instance",
            "failed",
            "poker, rollout 0: of 120 instances 1 ended in an error or a forfeit",
        ),
        (all_null, "no null rollout", "failed", "code, rollout 3: all 19 instances"),
        (one_order, "seed orders", "failed", "db: rollouts 1, 2 met one and the same sequence"),
        (one_prompt_order, "seed orders", "failed", "bsm: rollouts 1, 2 met"),
        (not_canonical, "seed orders", "failed", "code: rollout 0 has not the baseline's order"),
        (unpriced, "prices", "incomplete", "sales, rollout 1: calls without a known price"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_check_finds_its_defect(campaign, spoil, check, state, seen):
    spoil(campaign)
    found = campaign.states()[check]
    assert found.state == state
    assert seen in found.seen
    assert found.needed
    assert found.mend


def test_a_spoilt_file_is_one_line_of_the_report(campaign):
    campaign.written()
    (campaign.folder / "tasks" / f"{SALES}.json.gz").write_bytes(b"\x1f\x8bnothing")
    found = {one.name: one for one in trust.checks(read_run(campaign.folder))}
    assert found["files"].state == "failed"
    assert "spoilt gzip" in found["files"].seen
    assert found["coverage"].seen == "missing: sales"


# ----------------------------------------------------------------- poisoning


def doubts(campaign):
    return [(one.task, one.run_index, str(one.doubt)) for one in flags(campaign.written())]


def test_a_hand_that_ends_before_ones_turn_is_no_fault(campaign):
    told = campaign.passes(POKER, 1)
    gone = told["result"]["instance_outcomes"][3:8]
    names = {one["instance_id"] for one in gone}
    for one in gone:
        one |= {"cost_usd": 0.0, "reward": 0.5}
    told["interactions"] = [one for one in told["interactions"] if one["query"]["instance_id"] not in names]
    assert doubts(campaign) == []


@pytest.mark.parametrize(("bad", "doubt"), [(2, "poisoned instances"), (3, "poisoned streak")])
def test_three_in_a_row_poison_a_rollout(campaign, bad, doubt):
    told = campaign.outcomes(POKER, 1)
    told[4 : 4 + bad] = [one | {"cost_usd": 0.0, "reward": -1.0} for one in told[4 : 4 + bad]]
    assert doubts(campaign) == [(POKER, 1, doubt)]


def test_no_cost_proves_nothing_where_nothing_is_priced(campaign):
    for told in campaign.tasks.values():
        for trace in [told["baseline_trace"], *(one["trace"] for one in told["run_traces"])]:
            trace["execution"]["usage"]["interaction"]["cost_usd"] = 0.0
            outcomes = trace["result"]["instance_outcomes"]
            outcomes[:] = [one | {"cost_usd": 0.0} for one in outcomes]
            outcomes[0] = outcomes[0] | {"reward": 0.0, "raw_metric_value": None}
    assert doubts(campaign) == []
    checks = {one.name: one.state for one in trust.checks(read_run(campaign.folder))}
    assert checks["no poisoned instance"] == "unknown"


def test_no_cost_proves_nothing_where_calls_have_no_price(campaign):
    free_and_null(campaign)
    campaign.passes(BSM, 1)["execution"]["usage"]["interaction"]["pricing_complete"] = False
    assert doubts(campaign) == []


def test_one_turn_on_everything_without_success_is_no_play(campaign):
    told = campaign.passes(CODE, 2)
    told["interactions"] = told["interactions"][::2]
    outcomes = told["result"]["instance_outcomes"]
    outcomes[:] = [one | {"reward": 0.0} for one in outcomes]
    assert doubts(campaign) == [(CODE, 2, "all null"), (CODE, 2, "one turn each")]


def test_an_empty_answer_to_every_scan_is_null(campaign):
    told = campaign.outcomes(BSM, 2)
    told[:] = [one | {"reward": 0.1964} for one in told]
    assert doubts(campaign) == [(BSM, 2, "all null")]


def test_an_answer_close_to_the_references_is_an_answer(campaign):
    for told in campaign.outcomes(COHORT, 4):
        told["metadata"] = {"mean_reference_kl": 0.2, "mean_kl_divergence": 0.200001, "kl_unit": "bits"}
        told["reward"] = -0.000001
    assert doubts(campaign) == []


def test_losses_that_a_clipped_ratio_hides_are_not_null(campaign):
    for told in campaign.outcomes(COHORT, 4):
        told["metadata"] = {"mean_reference_kl": 0.2, "mean_kl_divergence": 0.75}
        told["reward"] = 0.0
    assert doubts(campaign) == []


# ------------------------------------------------------------- orders, items


def test_a_time_series_has_one_order(campaign):
    run = campaign.written()
    assert orders(run.tasks[SALES]) is None
    assert len(set(orders(run.tasks[DB]).digests.values())) == 5


def test_positions_without_prompts_tell_no_order(campaign):
    for index in range(5):
        campaign.passes(BSM, index)["interactions"] = []
    found = campaign.states()["seed orders"]
    assert (found.state, found.seen) == ("unknown", "cannot be told for bsm")


def listed(run):
    return {one.name: one.verified for one in submission.items(run)}


def test_the_submission_list(campaign):
    run = campaign.written()
    assert listed(run) == {
        "default schedule": True,
        "all six tasks": True,
        "5 complete rollouts": True,
        "stateless baseline": True,
        "files in final_results": False,  # metadata.json is written only when everything has ended
        "system name": True,
        "description": False,
        "model": True,
        "mean gain and task scores": True,
        "implementation link": False,
        "evaluation date": True,
        "first contact": False,
    }
    (campaign.folder / "metadata.json").write_text(json.dumps({"run_name": "mine"}))
    assert listed(read_run(campaign.folder))["files in final_results"]


def test_the_submission_list_lacks_what_the_run_lacks(campaign):
    cut_rollout(campaign)
    no_baseline(campaign)
    drop_model = campaign.tasks[CODE]["summary"]["system"]["params"]
    drop_model["model"] = "gpt-5.4"
    found = listed(campaign.written())
    assert [found[name] for name in ("5 complete rollouts", "stateless baseline", "model")] == [False] * 3
    assert not found["mean gain and task scores"]


# ---------------------------------------------------------------- exit codes


def test_a_sound_run_exits_with_0(campaign):
    campaign.written()
    folder = str(campaign.folder)
    assert main(["clbench", "check", folder]) == 0
    assert main(["clbench", "score", folder, "--reference", folder]) == 0


def test_a_sound_run_with_a_key_in_a_log_is_not_to_be_handed_on(campaign, capsys):
    campaign.written()
    logs = campaign.folder / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "cohort_studies.log").write_text(
        '$ clbench run --system-params {"key": "sk-or-v1-%s"}\n' % ("0f" * 32)
    )
    assert main(["clbench", "check", str(campaign.folder)]) == 11
    out = capsys.readouterr().out
    assert "failed     secrets in results: logs/cohort_studies.log holds an OpenRouter key" in out
    assert "0f0f" not in out


def test_what_is_only_missing_exits_with_1_and_what_is_flagged_is_no_clean_score(campaign):
    all_null(campaign)
    drop_task(campaign)
    campaign.tasks[CODE]["run_traces"].pop(3)
    campaign.written()
    folder = str(campaign.folder)
    assert main(["clbench", "check", folder]) == 1
    assert main(["clbench", "score", folder, "--reference", folder]) == 1


def test_a_flagged_rollout_makes_the_report_fail_and_the_score_unclean(campaign, capsys):
    all_null(campaign)
    campaign.written()
    folder = str(campaign.folder)
    assert main(["clbench", "check", folder]) == 11
    assert main(["clbench", "score", folder, "--reference", folder]) == 1
    assert "flagged: code, rollout 3: all 19 instances" in capsys.readouterr().out


def test_artifacts_put_together_after_a_crash_are_told_apart(campaign):
    campaign.tasks[SALES]["salvage"] = {"state": "whole", "groups": ["a", "b"], "written_off": []}
    campaign.tasks[DB]["salvage"] = {
        "state": "partial",
        "groups": ["a"],
        "rollouts_expected": 5,
        "rollouts_complete": [0, 2],
        "written_off": [{"run_index": 1, "instances": 27, "expected": 40, "cost_usd": 4.1}],
    }
    told = campaign.states()["salvage"]
    assert told.state == "incomplete"
    assert told.seen == "db: partial, 2 of 5 rollouts; written off: 1 after 27 of 40 instances"


def test_an_artifact_put_together_from_whole_passes_is_as_good_as_another(campaign):
    campaign.tasks[SALES]["salvage"] = {"state": "whole", "groups": ["a", "b"], "written_off": []}
    told = campaign.states()["salvage"]
    assert (told.state, told.seen) == ("ok", "put together from whole passes: sales, of several starts")
