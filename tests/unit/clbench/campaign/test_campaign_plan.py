"""A plan is what would be typed: the checkout is read, nothing of it is run, and every deviation is told."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.git import Git
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of, differences, slug_of
from pytest_evalharness.clbench.campaign.recipe import PLAIN, RUNBOOK
from pytest_evalharness.clbench.domains import Family
from pytest_evalharness.errors import NoCheckout, UsageError
from tests.unit.clbench.campaign.small_checkout import OFFICIAL, lay_down

NOTHING_ON_PATH = {"PATH": "/nowhere"}


@pytest.fixture
def root(tmp_path):
    return lay_down(tmp_path / "clb")


def opened(root, home, **environment):
    return open_checkout(str(root), home, environment=NOTHING_ON_PATH | environment)


def console_script(folder, first_lines):
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "clbench"
    script.write_text(first_lines + "\nimport sys\n")
    script.chmod(0o755)
    return script


def test_a_checkout_is_read_from_its_folders(root, tmp_path):
    checkout = opened(root, tmp_path)
    assert checkout.tasks() == tuple(sorted(OFFICIAL))
    assert checkout.systems() == ("ouroboros",)
    assert checkout.schedules("exploitable_poker") == ("default",)
    assert checkout.schedules("no_such_task") == ()
    assert checkout.schedule("exploitable_poker").rollouts == 5
    assert checkout.run_folder("mine") == root / "final_results/runs/mine"
    assert checkout.live("exploitable_poker") == root / "results/exploitable_poker/live"
    with pytest.raises(NoCheckout, match="schedule smoke of task exploitable_poker"):
        checkout.schedule("exploitable_poker", "smoke")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (shutil.rmtree, "there is no such folder"),
        (lambda root: (root / "run_benchmark.py").unlink(), "it has no run_benchmark.py"),
        (lambda root: shutil.rmtree(root / "src/tasks/"), "it has no src/tasks"),
        (lambda root: [shutil.rmtree(one) for one in (root / "src/tasks").iterdir()], "no task in it"),
    ],
)
def test_a_folder_that_is_no_checkout_is_refused(root, tmp_path, spoil, told):
    spoil(root)
    with pytest.raises(NoCheckout, match=told) as refused:
        opened(root, tmp_path)
    assert "--checkout DIR" in str(refused.value)


def git(root, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def test_revision_and_changes_are_those_of_code_and_not_of_results(root, tmp_path):
    assert (opened(root, tmp_path).revision, opened(root, tmp_path).dirty) == ("", True)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    (root / "final_results/runs/mine").mkdir(parents=True)
    (root / "final_results/runs/mine/manifest.json").write_text("{}")
    clean = opened(root, tmp_path)
    assert len(clean.revision) == 40
    assert (clean.dirty, clean.changes) == (False, "")
    (root / "src/systems/ouroboros/system.py").touch()
    changed = opened(root, tmp_path)
    assert changed.dirty
    assert "changes that are not committed" in changed.words
    (root / "src/systems/ouroboros/system.py").write_text("another edit\n")
    assert opened(root, tmp_path).changes not in {"", changed.changes}
    git(root, "add", ".")
    git(root, "commit", "-qm", "second")
    asked = Git(root, SystemClock())
    after = asked.head()
    assert (asked.holds(clean.revision, after), asked.holds(after, clean.revision)) == (True, False)


def test_a_clbench_of_another_tree_is_foreign_and_the_own_environment_comes_before_it(root, tmp_path):
    other = console_script(tmp_path / "bin", f"#!{sys.executable}")
    before = opened(root, tmp_path, PATH=str(other.parent))
    assert before.foreign == str(other)
    assert before.program[1:] == (str(root / "run_benchmark.py"),)
    own = console_script(root / ".venv/bin", "#!/bin/sh")
    found = opened(root, tmp_path, PATH=str(other.parent))
    assert found.program == (str(own),)
    assert found.foreign == str(other)
    assert found.environment({"PATH": "/x"}) == {"PATH": f"{own.parent}{os.pathsep}/x"}
    assert found.environment({"PATH": str(own.parent)}) == {}


@pytest.mark.parametrize(
    "first_lines",
    ["#!{python}", "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''"],
)
def test_an_installed_clbench_belongs_to_the_tree_that_its_interpreter_imports(root, tmp_path, first_lines):
    (root / "src/__init__.py").touch()
    venv = tmp_path / "v"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    script = console_script(venv / "bin", first_lines.format(python=venv / "bin/python"))
    assert opened(root, tmp_path, PATH=str(script.parent)).foreign == str(script)
    next(venv.glob("lib/python*/site-packages")).joinpath("it.pth").write_text(f"{root}\n")
    mine = opened(root, tmp_path, PATH=str(script.parent))
    assert (mine.program, mine.foreign) == ((str(script),), "")
    assert mine.python == str(venv / "bin/python")


def test_a_seed_is_typed_as_the_runbook_types_it(root, tmp_path):
    mine = campaign_of(
        opened(root, tmp_path), "ouroboros", PlanKind.SEED, "my run", inherited=NOTHING_ON_PATH
    )
    at = mine.argv.index("run-all")
    assert mine.argv[at : at + 9] == (
        *("run-all", "--name", "my run", "--system", "ouroboros"),
        *("--task-parallelism", "5", "--per-task-parallelism", "2"),
    )
    assert mine.argv[at + 9 :] == mine.system_args
    assert mine.system_args[:3] == ("--runs", "1", "--system-params")
    assert json.loads(mine.system_args[3]) == dict(RUNBOOK.params)
    assert mine.environment == dict(RUNBOOK.environment)
    assert (mine.slug, mine.rollouts, mine.deviations) == ("my-run", 1, ())
    assert mine.resume_argv[at + 1 : at + 4] == ("--name", "my run", "--missing-only")
    assert mine.run_folder == root / "final_results/runs/my-run"


def test_a_submission_leaves_the_number_of_rollouts_to_the_schedules(root, tmp_path):
    mine = campaign_of(opened(root, tmp_path), "ouroboros", PlanKind.SUBMISSION, "x", inherited={})
    assert "--runs" not in mine.argv
    assert mine.rollouts == 5
    assert mine.tasks == OFFICIAL


def test_a_smoke_is_three_questions_of_the_database_without_a_baseline(root, tmp_path):
    mine = campaign_of(opened(root, tmp_path), "ouroboros", PlanKind.SMOKE, "x", inherited={})
    assert mine.tasks == ("database_exploration",)
    assert (
        " ".join(mine.argv)
        .partition(" run ")[2]
        .startswith(
            "database_exploration --system ouroboros --schedule smoke --task.num-questions 3 --max-workers 1"
        )
    )
    assert mine.environment["OUROBOROS_BENCH_SKIP_BASELINE"] == "1"
    assert not mine.has_baseline
    assert replace(mine, environment={}).has_baseline


def test_a_smoke_of_several_tasks_is_refused(root, tmp_path):
    two = ["sales_prediction", "database_exploration"]
    with pytest.raises(UsageError, match="2 were named: sales_prediction, database_exploration"):
        campaign_of(opened(root, tmp_path), "icl", PlanKind.SMOKE, "x", tasks=two, inherited={})
    one = campaign_of(opened(root, tmp_path), "icl", PlanKind.SMOKE, "x", tasks=two[:1] * 2, inherited={})
    assert one.tasks == ("sales_prediction",)


def test_tasks_that_a_fork_adds_are_left_out_and_a_typo_among_tasks_is_refused(tmp_path):
    checkout = opened(lay_down(tmp_path / "fork", (*OFFICIAL, "another_task")), tmp_path)
    mine = campaign_of(checkout, "ouroboros", PlanKind.SEED, "x", inherited={})
    at = mine.argv.index("--task")
    assert mine.argv[at + 1 : at + 7] == OFFICIAL
    some = campaign_of(
        checkout, "icl", PlanKind.SEED, "x", tasks=["sales_prediction", "database_exploration"], inherited={}
    )
    assert some.tasks == ("database_exploration", "sales_prediction")
    with pytest.raises(UsageError, match="did you mean exploitable_poker"):
        campaign_of(checkout, "icl", PlanKind.SEED, "x", tasks=["exploitable_pocker"], inherited={})


def test_every_deviation_from_the_recipe_is_told_and_comes_before_it(root, tmp_path):
    inherited = {
        "OUROBOROS_TOTAL_BUDGET": "60",
        "CLBENCH_SHIM_BIND": "172.17.0.1",
        "CLBENCH_SCOPE_CREDENTIALS": "1",
        "OUROBOROS_API_KEY": "s3cret",
    }
    mine = campaign_of(
        opened(root, tmp_path),
        "ouroboros",
        PlanKind.SEED,
        "x",
        params={"max_workers": 10},
        inherited=inherited,
        per_task_parallelism=6,
    )
    assert mine.environment["OUROBOROS_TOTAL_BUDGET"] == "60"
    assert json.loads(mine.system_args[3])["max_workers"] == 10
    assert sorted(mine.deviations) == [
        "CLBENCH_SCOPE_CREDENTIALS is '1'; the recipe leaves it alone",
        "OUROBOROS_API_KEY is set to a secret; the recipe leaves it alone",
        "OUROBOROS_TOTAL_BUDGET is '60'; the recipe has '200'",
        "max_workers is 10; the recipe has 3",
        "workers a task is 6; the recipe has 2",
    ]


def test_another_system_gets_no_parameters_of_ouroboros(root, tmp_path):
    mine = campaign_of(opened(root, tmp_path), "icl", PlanKind.SEED, "x", inherited={})
    assert (mine.recipe, mine.params, mine.environment) == (PLAIN.name, {}, {})
    assert mine.system_args == ("--runs", "1")


def test_the_identity_keeps_digests_of_secrets_and_tells_what_changed(root, tmp_path):
    def planned(**variables):
        return campaign_of(
            opened(root, tmp_path),
            "ouroboros",
            PlanKind.SEED,
            "x",
            inherited=variables,
            images={"e:dev": "sha256:1"},
        )

    before = planned(OUROBOROS_API_KEY="first-secret").identity()
    assert "first-secret" not in json.dumps(before)
    assert differences(before, json.loads(json.dumps(before))) == []
    now = replace(planned(OUROBOROS_API_KEY="other-secret", OUROBOROS_MAX_ROUNDS="9"), images={}).identity()
    told = differences(before, now)
    assert len(told) == 3
    assert "OUROBOROS_API_KEY was" in told[0]
    assert told[1] == 'variable OUROBOROS_MAX_ROUNDS was not set and is "9"'
    assert told[2] == 'image e:dev was "sha256:1" and is not set'


@pytest.mark.parametrize(
    ("name", "slug"),
    [("my run!", "my-run"), ("..", ""), ("a/../b", "a-..-b"), ("-_x_-", "x"), ("v6.81", "v6.81")],
)
def test_names_become_folders_as_the_benchmark_makes_them(name, slug):
    assert slug_of(name) == slug


@pytest.mark.parametrize("name", ["///", "--force", "x" * 201, "\u00e9" * 101])
def test_a_name_that_makes_no_folder_or_is_an_option_is_refused(root, tmp_path, name):
    with pytest.raises(UsageError, match="is no name for a run"):
        campaign_of(opened(root, tmp_path), "icl", PlanKind.SEED, name, inherited={})


def test_a_checkout_without_any_of_the_tasks_is_refused(tmp_path):
    checkout = opened(lay_down(tmp_path / "other", ("another_task",)), tmp_path)
    with pytest.raises(UsageError, match="none of the official tasks"):
        campaign_of(checkout, "icl", PlanKind.SMOKE, "x", inherited={})


def test_the_miniature_is_laid_out_below_the_home_and_is_known_again_by_its_tasks(tmp_path):
    embedded = open_checkout("embedded", tmp_path)
    assert embedded.embedded
    assert embedded.root == tmp_path / "clbench/checkout"
    assert embedded.systems() == ("notebook", "ouroboros", "plain")
    assert embedded.words.startswith("the embedded miniature, version ")
    assert open_checkout(str(embedded.root), tmp_path) == embedded
    mine = campaign_of(embedded, "plain", PlanKind.SEED, "x", inherited={"PATH": "/bin"})
    assert mine.tasks == Family.EMBEDDED.tasks
    assert mine.environment == {"PATH": f"{embedded.root}/bin{os.pathsep}/bin"}
    assert campaign_of(embedded, "plain", PlanKind.SMOKE, "x", inherited={}).tasks == ("mini_ledger_lookup",)


def test_a_home_that_cannot_be_written_has_no_miniature(tmp_path):
    (tmp_path / "clbench").touch()
    with pytest.raises(NoCheckout, match="cannot be installed"):
        open_checkout("embedded", tmp_path)
