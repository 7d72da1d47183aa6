"""Cases on runs of CL-Bench: two runs compared, one run taken apart, and what every report says of them."""

import gzip
import json
import os
import random
import xml.etree.ElementTree as ET

import pytest

# Whatever a run in this process imports is forgotten on its end, and numpy cannot be imported twice.
import pytest_evalharness.clbench.case_runs
import pytest_evalharness.clbench.comparison_words
import pytest_evalharness.report.clbench  # noqa: F401
from pytest_evalharness.clbench.comparing import METRIC, compare
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.clbench.trust import CHECKS
from pytest_evalharness.verdict.claim import Declaration
from tests.integration.plugin.conftest import RESULTS_SCHEMA, UNUSED
from tests.unit.clbench.left import Left, error

SIZE = 6


def outcome(task, at, reward, cost=0.01):
    told = {
        "instance_id": f"{task}:{at}",
        "instance_index": at,
        "reward": reward,
        "metadata": {},
        "cost_usd": cost,
    }
    if task == "cohort_studies":
        told["metadata"] = {"mean_reference_kl": 0.1 + reward, "mean_kl_divergence": 0.1, "kl_unit": "bits"}
    return told


def trace(outcomes, index):
    execution = {
        "run_index": index,
        "usage": {"interaction": {"cost_usd": sum(o["cost_usd"] for o in outcomes)}},
    }
    asked = [
        {"query": {"prompt": f"what of {o['instance_id']}?", "instance_id": f"scan:{at}"}}
        for at, o in enumerate(outcomes)
    ]
    positional = outcomes[0]["instance_id"].partition(":")[0] in {
        t for t, d in BY_TASK.items() if d.positional
    }
    if positional:
        outcomes = [{**o, "instance_id": f"scan:{at}"} for at, o in enumerate(outcomes)]
    return {
        "status": "completed",
        "execution": execution,
        "result": {"instance_outcomes": outcomes},
        "interactions": asked if positional else [],
    }


def publish(folder, level, *, family=Family.OFFICIAL, rollouts=5, seed=0, poisoned=(), without=()):
    """A run whose rewards are `level` of each task's largest, with luck of its own in each rollout."""
    (folder / "tasks").mkdir(parents=True)
    luck = random.Random(f"{folder.name} {seed}")
    for task in family.tasks:
        if task in without:
            continue
        domain, passes = BY_TASK[task], []
        for k in range(rollouts):
            shift, order = luck.gauss(0, 0.02), list(range(SIZE))
            if k and domain.permuted:
                random.Random(f"{task} {k}").shuffle(order)
            lost = f"{domain.short}/rollout {k}" in poisoned
            passes.append(
                [
                    outcome(
                        task,
                        at,
                        0.0 if lost else round(domain.largest * (level + shift + 0.01 * at), 6),
                        0.0 if lost else 0.01,
                    )
                    for at in order
                ]
            )
        params = {"expected_num_instances": SIZE}
        told = {
            "kind": "viewer_artifact",
            "summary": {"task": {"name": task, "params": params}, "schedule": "default"},
            "baseline_trace": trace(
                [outcome(task, at, round(0.1 * domain.largest, 6)) for at in range(SIZE)], None
            ),
            "run_traces": [{"run_index": k, "trace": trace(one, k)} for k, one in enumerate(passes)],
        }
        (folder / "tasks" / f"{task}.json.gz").write_bytes(gzip.compress(json.dumps(told).encode(), 1))
    told = {
        "run_name": folder.name,
        "status": "completed",
        "tasks": [{"task": t, "status": "ok"} for t in family.tasks],
    }
    (folder / "manifest.json").write_text(json.dumps(told))
    return folder


class Folder:
    """A user's project with published runs and no league."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.junit = pytester.path / "report.xml"

    def publish(self, name, level, **how):
        return publish(self.pytester.path / "runs" / name, level, **how)

    def cases(self, text):
        self.pytester.makepyfile(test_runs="import pytest\nfrom pytest_evalharness import Verdict\n" + text)

    def run(self, *more):
        without = [word for name in UNUSED for word in ("-p", f"no:{name}")]
        command = [*without, f"--junitxml={self.junit}", *more]
        if "-n" in more:
            return self.pytester.runpytest_subprocess(*command, timeout=300)
        return self.pytester.runpytest_inprocess(*command)

    def results(self):
        newest = max(
            self.pytester.path.glob(".evalharness/runs/*/results.json"), key=lambda p: p.stat().st_mtime_ns
        )
        told = json.loads(newest.read_text())
        RESULTS_SCHEMA.validate(told)
        return newest.parent, told

    def properties(self):
        return [
            {p.get("name"): p.get("value") for p in one.iter("property")}
            for one in ET.parse(self.junit).iter("testcase")
        ]


def suite_of(junit):
    """The properties of the JUnit file as a whole."""
    return [(p.get("name"), p.get("value")) for p in ET.parse(junit).find(".//testsuite/properties")]


@pytest.fixture
def folder(pytester, monkeypatch):
    for name in list(os.environ):
        if name.startswith("EVALHARNESS_") or name in {"PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}:
            monkeypatch.delenv(name)
    return Folder(pytester)


AB = """
@pytest.mark.clbench_ab(candidate="runs/new", baseline="runs/old"{more})
def test_the_edit(clbench_ab):
    {body}
"""


def test_an_edit_that_helps_passes_and_every_report_has_the_numbers(folder):
    folder.publish("new", 0.5)
    folder.publish("old", 0.3)
    folder.cases(AB.format(more="", body="clbench_ab.require()"))
    result = folder.run("-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*A/B CL-Bench: BETTER, normalised reward +0.*30 vs 30 rollouts of 6 tasks, instances verified*"]
    )
    place, told = folder.results()
    (case,) = told["cases"]
    (row,) = case["clbench"]
    assert (case["kind"], row["verdict"], row["decision"], told["server"]) == (
        "CL-Bench",
        "better",
        "met",
        "no league",
    )
    (properties,) = folder.properties()
    assert (properties["evalharness.kind"], properties["evalharness.verdict"]) == ("CL-Bench", "better")
    assert float(properties["evalharness.ci_low"]) == pytest.approx(row["ci"][0], rel=1e-4)
    summary = (place / "summary.md").read_text().replace("\\", "")
    for text in (summary, (place / "report.html").read_text()):
        assert "A/B CL-Bench: BETTER" in text
        assert "normalised by" in text
    assert "| better | BETTER | new | old | +0." in summary


@pytest.mark.parametrize(
    ("more", "body", "code", "said"),
    [
        ("", 'clbench_ab.require("worse")', 1, "*A/B CL-Bench: BETTER*"),
        (', claim="equivalent", margin=0.01', "clbench_ab.require()", 1, "*equivalent within 0.01 not met*"),
        ("", "pass", 11, "*nothing was judged*end the case with clbench_ab.require()*"),
        (', tasks=["db"]', "clbench_ab.require()", 10, "*INCONCLUSIVE*so few cannot give less than 0.062*"),
    ],
)
def test_what_does_not_pass(folder, more, body, code, said):
    folder.publish("new", 0.5)
    folder.publish("old", 0.3)
    folder.cases(AB.format(more=more, body=body))
    result = folder.run()
    assert result.ret == code
    folder.results()
    assert any(
        result.stdout.str().replace("\n", " ").find(part) >= 0 for part in said.strip("*").split("*")[:1]
    )


def test_comparisons_of_one_session_are_adjusted_for_one_another(folder):
    runs = {name: folder.publish(name, level) for name, level in (("new", 0.5), ("old", 0.3), ("even", 0.3))}
    p = compare(Declaration("better", metric=METRIC), read_run(runs["new"]), read_run(runs["old"])).p_gate
    two = AB.format(more=f", alpha={1.5 * p!r}", body="clbench_ab.require()")
    folder.cases(
        two + AB.format(more="", body="clbench_ab.require()").replace("new", "even").replace("edit", "other")
    )
    result = folder.run(
        "-k", "edit"
    )  # what is deselected is counted too, else a selection would be a way out
    assert result.ret == 10
    _, told = folder.results()
    (row,) = told["cases"][0]["clbench"]
    assert ([one["reason"] for one in row["reasons"]], row["family"]) == (["family"], 2)
    assert row["p_adjusted"] == pytest.approx(2 * p)
    assert told["notices"][0].startswith("family: 2 comparisons of CL-Bench runs tested together")
    (properties,) = folder.properties()
    assert properties["evalharness.family"] == "2"
    result = folder.run("-k", "edit", "--eval-multiplicity=none")
    assert result.ret == 0
    assert "each judged as if it were the only one" in result.stdout.str()


def test_an_untrustworthy_run_says_nothing_else(folder):
    folder.publish("new", 0.5, poisoned=("db/rollout 1",))
    folder.publish("old", 0.3)
    folder.cases(AB.format(more="", body="clbench_ab.require()"))
    result = folder.run("-v")
    assert result.ret == 11
    place, told = folder.results()
    (row,) = told["cases"][0]["clbench"]
    assert (row["verdict"], row["difference"], row["means"]) == ("untrustworthy", None, None)
    (properties,) = folder.properties()
    assert properties["evalharness.reason"].startswith("run_check")
    assert properties["evalharness.effect"] == ""
    for text in (
        result.stdout.str(),
        (place / "summary.md").read_text(),
        (place / "report.html").read_text(),
    ):
        assert "normalised reward +" not in text


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('clbench_ab(candidat="runs/new", baseline="runs/old")', "did you mean 'candidate'?"),
        ('clbench_ab(candidate="a", baseline="b", claim="separated")', "claim 'separated' is read off"),
        ('clbench_ab(candidate="a", baseline="b", claim="equivalent")', "needs a margin"),
        (
            'clbench_ab(candidate="a", baseline="b", tasks=["dbb"])',
            "there is no task 'dbb'; did you mean 'db'?",
        ),
        ('clbench_ab(baseline="b")', "no candidate run is named"),
        ('clbench(plan="sed")', "did you mean 'seed'?"),
        ('clbench(plan="smoke", run="x")', "a smoke is run and not read"),
        ("clbench()", "neither plan="),
        ('clbench(plan="smoke")', "no checkout was named"),
        ('clbench(run="x", losses={"code/rolout 3": "why"})', "did you mean 'code/rollout 3'?"),
        ('clbench(run="x", losses={"code/rollout 3": ""})', "losses are reasons by pass"),
        ('clbench(run="x", scale="nats")', "scale must be one of"),
        ('clbench(run="x", rollouts="5")', "rollouts must be"),
        ('clbench(run="x", rollouts=0)', "rollouts must be 1 to 100"),
        ('clbench(run="x", tasks=["db", "shop"])', "no run in common"),
    ],
)
def test_marks_that_are_wrong(folder, mark, said):
    folder.cases(f"\n@pytest.mark.{mark}\ndef test_it(request):\n    pass\n")
    result = folder.run()
    assert result.ret == 4
    assert said in result.stderr.str()


PARTS = """
pytestmark = pytest.mark.clbench(run="runs/mine"{more})

def test_pass(clbench_pass):
    clbench_pass.require()

def test_invariant(clbench_invariant):
    clbench_invariant.require()
"""


def test_a_run_is_a_case_for_each_pass_and_each_invariant(folder):
    folder.publish("mine", 0.4, rollouts=2, poisoned=("code/rollout 1",), without=("exploitable_poker",))
    folder.cases(PARTS.format(more=", rollouts=2"))
    result = folder.run("-rA")
    assert result.ret == 1
    lines = result.stdout.str()
    assert "PASSED test_runs.py::test_pass[db/rollout 1]" in lines
    assert "PASSED test_runs.py::test_invariant[one scale]" in lines
    assert "FAILED test_runs.py::test_pass[code/rollout 1]" in lines
    assert "FAILED test_runs.py::test_pass[poker/baseline]" in lines
    assert "FAILED test_runs.py::test_invariant[coverage]" in lines
    assert "FAILED test_runs.py::test_invariant[no null rollout]" in lines
    _, told = folder.results()
    assert len(told["cases"]) == 6 * 3 + len(CHECKS)
    wrong = {
        case["nodeid"].partition("[")[2][:-1]: case["outcome"]
        for case in told["cases"]
        if case["outcome"] != "passed"
    }
    assert wrong["code/rollout 1"] == "untrustworthy"
    assert wrong["poker/baseline"] == wrong["poker/rollout 0"] == "failed"


def test_cases_are_listed_before_anybody_says_where_to_run(folder):
    folder.cases(PARTS.replace('run="runs/mine"{more}', 'plan="seed", tasks=["db", "sales"]'))
    result = folder.run("--collect-only", "-q")
    assert result.ret == 0
    listed = [line.partition("[")[2][:-1] for line in result.outlines if "test_pass[" in line]
    assert listed == ["db/baseline", "db/rollout 0", "sales/baseline", "sales/rollout 0"]
    assert "test_invariant[coverage]" not in result.stdout.str()  # of a choice of tasks it says nothing
    assert folder.run().ret == 4


def test_a_campaign_of_the_miniature_that_is_named_has_its_tasks(folder):
    folder.cases(PARTS.replace('run="runs/mine"{more}', 'run="mine", rollouts=1'))
    result = folder.run("--collect-only", "-q", "--eval-clbench-checkout=embedded")
    listed = [line.partition("[")[2][:-1] for line in result.outlines if "test_pass[" in line]
    assert {name.partition("/")[0] for name in listed} == {"lookup", "duel", "bands", "shop"}


def test_a_disclosed_loss_is_expected_and_told_with_its_reason(folder):
    folder.publish("mine", 0.4, rollouts=2, poisoned=("code/rollout 1",))
    losses = '{"code/rollout 1": "the provider was down", "no null rollout": "see code", "prices": "see code", "schedule": "a short one"}'
    folder.cases(PARTS.format(more=f", rollouts=2, losses={losses}"))
    result = folder.run("-rx")
    assert "XFAIL test_runs.py::test_pass[code/rollout 1] - the provider was down" in result.stdout.str()
    assert result.ret == 0
    _, told = folder.results()
    (lost,) = [case for case in told["cases"] if "code/rollout 1" in case["nodeid"]]
    assert lost["outcome"] == "disclosed"
    assert dict(suite_of(folder.junit))["evalharness.outcome.disclosed"] == "4"
    assert lost["clbench"][0]["disclosed"] == "the provider was down"


def test_a_disclosed_loss_that_is_none_fails(folder):
    folder.publish("mine", 0.4, rollouts=1)
    folder.cases(
        PARTS.format(more=', rollouts=1, losses={"db/rollout 0": "it was lost", "schedule": "a short one"}')
    )
    result = folder.run("-k", "db or schedule")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*XPASS(strict)*it was lost*"])


def test_only_the_loss_is_expected_and_no_fault_of_the_test(folder):
    folder.publish("mine", 0.4, rollouts=2, poisoned=("code/rollout 1",))
    folder.cases("""
pytestmark = pytest.mark.clbench(run="runs/mine", rollouts=2, tasks=["code"], losses={"code/rollout 1": "the provider was down"})

def test_bare(clbench_pass):
    assert clbench_pass.state == "ok"

def test_fault(clbench_pass):
    clbench_pass.requires()
""")
    assert folder.run("-k", "bare").ret == 0
    assert folder.results()[1]["cases"][2]["outcome"] == "disclosed"
    result = folder.run("-k", "fault and 1")
    assert result.ret == 1
    result.assert_outcomes(failed=1)


def test_scores_are_read_by_claims_and_only_of_runs_that_may_be_believed(folder):
    folder.publish("icl-gpt-5.4", 0.2)
    folder.publish("mine", 0.5)
    folder.cases("""
@pytest.mark.clbench(run="runs/mine", losses={"schedule": "a short one"})
class TestScores:
    def test_above(self, clbench_scores):
        clbench_scores.require(reward_above=0.2)
    def test_below(self, clbench_scores):
        clbench_scores.require(reward_above=0.9)
    def test_number(self, clbench_scores):
        assert clbench_scores.normalized_reward.mean > 0.3
    def test_none(self, clbench_scores):
        pass
""")
    result = folder.run("-rA")
    lines = result.stdout.str()
    for test, outcome in {"above": "PASSED", "below": "FAILED", "number": "PASSED", "none": "FAILED"}.items():
        assert f"{outcome} test_runs.py::TestScores::test_{test}" in lines, lines
    assert result.ret == 1


def test_embedded_runs_are_called_so_in_every_report(folder):
    folder.publish("new", 0.5, family=Family.EMBEDDED)
    folder.publish("old", 0.3, family=Family.EMBEDDED)
    folder.cases(AB.format(more="", body="clbench_ab.require()"))
    result = folder.run("-v")
    assert result.ret == 0
    place, told = folder.results()
    assert told["cases"][0]["clbench"][0]["embedded"]
    assert [one.partition(":")[0] for one in told["notices"]] == ["the benchmark is the embedded miniature"]
    (properties,) = folder.properties()
    assert properties["evalharness.benchmark"] == "embedded miniature"
    for text in (
        result.stdout.str(),
        (place / "summary.md").read_text(),
        (place / "report.html").read_text(),
    ):
        assert "embedded miniature" in text


def test_runs_of_a_checkout_are_named_by_their_names(folder):
    for name, level in (("new", 0.5), ("old", 0.3)):
        publish(folder.pytester.path / "clb" / "final_results" / "runs" / name, level)
    named = AB.format(more="", body="clbench_ab.require()").replace("runs/", "")
    folder.cases(named)
    assert folder.run("--eval-clbench-checkout=clb").ret == 0
    assert folder.run().ret == 11


def test_names_from_outside_stay_text(folder):
    name = "mine<script>alert(1)</script>\x1b[31m|x"
    for one, level in (("new", 0.5), ("old", 0.3)):
        told = folder.publish(one, level) / "manifest.json"
        told.write_text(json.dumps({**json.loads(told.read_text()), "run_name": name + one}))
    folder.cases(AB.format(more="", body="clbench_ab.require()"))
    result = folder.run("-v")
    assert result.ret == 0
    place, _ = folder.results()
    assert "\x1b[31m" not in result.stdout.str()
    assert "<script>alert" not in (place / "report.html").read_text()
    assert "<script>alert" not in (place / "summary.md").read_text()


def test_workers_make_the_same_cases_and_the_same_reports(folder):
    folder.publish("mine", 0.4, rollouts=1)
    folder.cases(PARTS.format(more=', rollouts=1, losses={"schedule": "a short one"}'))
    result = folder.run("-n", "2")
    assert result.ret == 0
    _, told = folder.results()
    assert len(told["cases"]) == 6 * 2 + len(CHECKS)


def test_a_dry_run_says_what_would_be_judged_and_judges_nothing(folder):
    folder.publish("new", 0.5)
    folder.cases(AB.format(more="", body="clbench_ab.require()"))
    result = folder.run("--eval-dry-run")
    assert result.ret == 11
    result.stdout.fnmatch_lines(
        ["*'runs/old' is no directory and no campaign*", "dry run: 1 case planned, 1 unresolved*"]
    )
    folder.publish("old", 0.5)
    result = folder.run("--eval-dry-run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*candidate*runs/new*", "*claim*better*"])


def test_an_option_names_the_run_over_the_mark_and_says_so(folder):
    folder.publish("other", 0.4, rollouts=1)
    folder.cases(PARTS.format(more=', rollouts=1, losses={"schedule": "a short one"}'))
    result = folder.run("--eval-clbench-run=runs/other")
    assert result.ret == 0
    assert "--eval-clbench-run runs/other overrides run=runs/mine" in result.stdout.str()


def test_retries_of_the_engines_are_cases_where_their_folder_is_named(folder):
    folder.publish("mine", 0.4, rollouts=1)
    engines = Left(folder.pytester.path)
    engines.events(*(error("t", "provider_outcome_unknown", attempt=n) for n in range(1, 5)))
    folder.cases(PARTS.format(more=', rollouts=1, runroots="runs"'))
    assert folder.run("-k", "retries").ret == 11
    _, told = folder.results()
    outcomes = {case["nodeid"].partition("[")[2][:-1]: case["outcome"] for case in told["cases"]}
    assert outcomes == {
        "retries: transport deaths": "untrustworthy",
        "retries: attempts": "passed",
        "retries: free waits": "passed",
        "retries: length of waits": "passed",
    }


EMBEDDED = ("--eval-clbench-checkout=embedded", "--eval-clbench-system=notebook")
SMOKE = """
@pytest.mark.clbench(plan="smoke")
def test_smoke(clbench_run):
    assert clbench_run.typed_answers == clbench_run.questions == 3
    assert set(clbench_run.stages) == {"clone", "image", "container", "bridge", "typed answer"}
    clbench_run.require()

@pytest.mark.clbench(plan="smoke")
def test_nothing(clbench_run):
    pass
"""


def test_a_smoke_runs_once_for_its_cases_and_says_what_it_does_not_prove(folder):
    folder.cases(SMOKE)
    assert folder.run("--eval-dry-run", *EMBEDDED).ret == 0
    assert not (folder.pytester.path / ".evalharness" / "clbench").exists()  # nothing was laid out or started
    result = folder.run("-v", *EMBEDDED)
    assert result.ret == 11  # the second case looked at nothing
    result.assert_outcomes(passed=1, failed=1)
    assert len(list((folder.pytester.path / ".evalharness" / "clbench" / "smokes").iterdir())) == 1
    place, told = folder.results()
    row = told["cases"][0]["clbench"][0]
    assert (row["kind"], row["questions"], row["typed_answers"], row["embedded"]) == ("smoke", 3, 3, True)
    properties, _ = folder.properties()
    assert (
        properties["evalharness.claim"]
        == "a smoke gates nothing but the chain: it says nothing of how good the system is"
    )
    for text in (
        result.stdout.str(),
        (place / "summary.md").read_text(),
        (place / "report.html").read_text(),
    ):
        assert "gates nothing but the chain" in text


def test_a_smoke_of_a_system_that_is_not_there_or_breaks_is_no_pass(folder, monkeypatch):
    folder.cases(SMOKE.partition('@pytest.mark.clbench(plan="smoke")\ndef test_nothing')[0])
    result = folder.run("--eval-clbench-checkout=embedded", "--eval-clbench-system=nobody")
    assert result.ret == 11
    result.stdout.fnmatch_lines(
        ["*there is no system nobody in the checkout", "*not done: nothing was started and nothing was paid"]
    )
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", "crash=mini_ledger_lookup")
    result = folder.run("--eval-clbench-checkout=embedded", "--eval-clbench-system=plain")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*0 of 3 answers typed, not seen: typed answer*"])
    result = folder.run("--eval-clbench-checkout=nowhere", "--eval-clbench-system=nobody")
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*nowhere is no checkout of the benchmark*"])


@pytest.mark.slow
def test_a_campaign_runs_once_for_all_workers_and_is_read_by_later_runs_and_by_name(folder):
    folder.cases("""
pytestmark = pytest.mark.clbench(plan="seed", name="mine")

def test_pass(clbench_pass):
    clbench_pass.require()

def test_invariant(clbench_invariant):
    clbench_invariant.require()

def test_whole(clbench_run):
    clbench_run.require()
""")
    result = folder.run("-n", "2", *EMBEDDED)
    assert result.ret == 0
    result.assert_outcomes(passed=4 * 2 + len(CHECKS) + 1)
    logs = folder.pytester.path / ".evalharness" / "clbench" / "logs" / "mine"
    assert len(list(logs.iterdir())) == 1
    assert folder.run("-k", "whole", *EMBEDDED).ret == 0
    assert len(list(logs.iterdir())) == 1  # read again, not paid again
    again, miniature = folder.results()[1]["notices"]
    assert again.startswith("campaign mine: it was finished ")
    assert again.endswith(" ago: nothing was run")
    assert miniature.startswith("the benchmark is the embedded miniature")
    folder.cases(
        AB.format(more="", body="clbench_ab.require()")
        .replace("runs/new", "mine")
        .replace("runs/old", "other")
    )
    result = folder.run()
    assert result.ret == 11
    assert "'other' is no directory and no campaign" in result.stdout.str()


@pytest.mark.slow
def test_two_campaigns_of_the_miniature_are_compared_by_name(folder):
    folder.cases("""
@pytest.mark.clbench(plan="submission", name="learns", system="notebook", tasks=["lookup", "shop"])
def test_learns(clbench_run):
    clbench_run.require()

@pytest.mark.clbench(plan="submission", name="forgets", system="plain", tasks=["lookup", "shop"])
def test_forgets(clbench_run):
    clbench_run.require()

@pytest.mark.clbench_ab(candidate="learns", baseline="forgets", claim="better")
def test_memory_helps(clbench_ab):
    clbench_ab.require()
    assert clbench_ab["lookup"].pairing == "by instance"
""")
    result = folder.run("-v", "--eval-clbench-checkout=embedded")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*A/B CL-Bench: BETTER, *10 vs 10 rollouts of 2 tasks, instances verified, embedded miniature*"]
    )
    _, told = folder.results()
    (row,) = told["cases"][2]["clbench"]
    (campaigns,) = [check for check in row["checks"] if check["name"] == "campaigns"]
    assert 'system was "plain" and is "notebook"' in campaigns["seen"]
