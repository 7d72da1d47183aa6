"""What a campaign of the miniature loses to its defects is told by class, from what it left and by its name."""

import json

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.loss_classes import Fate, LossClass, counted
from pytest_evalharness.clbench.campaign.losses import losses_of
from pytest_evalharness.cli import main
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from tests.integration.clbench.conftest import install

LOOKUP = "mini_ledger_lookup"
STRUCK = (
    "oom=@1", "outage=@2@0.1", "prose=@3", "no_shim=@4", "late_error=@5", "key_limit=@7", "transport_death=@9@5",
)  # fmt: skip


def fault(told):
    """`name=@POSITION[@VALUE]` of the only rollout."""
    name, position, *value = told.replace("=", "").split("@")
    return "@".join([f"{name}={LOOKUP}:0:{position}", *value])


@pytest.fixture(scope="module")
def miniature(tmp_path_factory):
    """One checkout for all campaigns: each has a runs root of its own."""
    return install(tmp_path_factory.mktemp("losses") / "checkout")


def campaign(miniature, name, faults, **environment):
    """Run one rollout of one task; what its engines and the adapter left."""
    words = ["run-all", "--name", name, "--system", "ouroboros", "--task", LOOKUP, "--runs", "1"]
    runs_root = miniature.root / "cl_bench_runs" / name
    done = miniature.run(
        *words,
        CLBENCH_MINIATURE_FAULTS=",".join(faults),
        OUROBOROS_BENCH_SKIP_BASELINE="1",
        OUROBOROS_BENCH_RUNS_ROOT=str(runs_root),
        OPENROUTER_API_KEY="sk-or-v1-none",
        **environment,
    )
    return done, runs_root, miniature.run_folder(name) / "logs"


@pytest.fixture(scope="module")
def struck(miniature):
    """A campaign that met seven defects, each on a question of its own."""
    done, *left = campaign(miniature, "struck", [fault(one) for one in STRUCK])
    assert done.returncode == 0, done.stderr
    return miniature, *left


def losses(miniature, name):
    """The command on the folder of a campaign."""
    runs_root = str(miniature.root / "cl_bench_runs" / name)
    return main(["clbench", "losses", str(miniature.run_folder(name)), "--runs-root", runs_root])


def test_each_defect_is_told_on_its_question(struck):
    _, runs_root, logs = struck
    told = losses_of(runs_root, logs)
    assert {(one.kind, one.fate, one.position) for one in told} == {
        (LossClass.WORKER_OOM, Fate.SURVIVED, 1),
        (LossClass.NETWORK_OUTAGE, Fate.SURVIVED, None),
        (LossClass.PROSE_FINAL, Fate.SURVIVED, 3),
        (LossClass.SHIM_UNREACHABLE, Fate.UNKNOWN, None),
        (LossClass.LATE_ERRORS, Fate.SURVIVED, 5),
        (LossClass.KEY_LIMIT, Fate.LOST, 7),
    }
    words = {one.position: one.words for one in told}
    assert words[1].endswith("it was asked again, and answered")
    assert words[7].endswith("; 3 tasks of this question")
    assert {one.task for one in told if one.position is not None} == {LOOKUP}
    assert {count.total for count in counted(told).values()} == {1}


def test_the_command_tells_them_of_a_folder(struck, capsys):
    miniature, _, _ = struck
    assert losses(miniature, "struck") == 1
    out = capsys.readouterr().out
    assert out.startswith(
        "struck (embedded miniature): 1 lost, 4 survived, 1 of which nothing tells, in 6 classes\n"
        "  read: 1 engines' folders, logs of lookup\n"
        "  worker out of memory: 1 survived\n"
        "      closed by: max_workers 3"
    )
    assert "lost: lookup, question 7: " in out
    assert "failed     retries: transport deaths: " in out
    assert "5 attempts died after they were sent" in out
    assert "incomplete engines' settings: " in out
    assert "has mode 0644" in out


class InAnHour(SystemClock):
    def now(self):
        return super().now() + 3600.0


def test_the_command_tells_them_by_name_and_as_json(struck, tmp_path, capsys):
    miniature, runs_root, _ = struck
    with Ledger.open(tmp_path, clock=InAnHour(), owner=Owner.current("tests")) as ledger:
        told = {
            "run_folder": str(miniature.run_folder("struck")), "checkout": str(miniature.root), "embedded": True,
        }  # fmt: skip
        ledger.campaigns.begin("mine", told, {"environment": {"OUROBOROS_TRANSIENT_RETRY_MAX": "3"}})
    words = ["clbench", "losses", "mine", "--home", str(tmp_path), "--json"]
    assert main([*words, "--runs-root", str(runs_root)]) == 1
    found = json.loads(capsys.readouterr().out)
    # It was begun in the ledger after all engines had fallen silent: they are another campaign's, and only the log tells.
    assert (found["name"], found["embedded"], found["engines"]) == ("mine", True, 0)
    assert {(one["class"], one["fate"]) for one in found["losses"]} == {
        ("host network outage", "survived"),
        ("prose final", "survived"),
        ("late provider errors", "survived"),
        ("given up, nothing says why", "lost"),
    }
    states = {one["name"]: one["state"] for one in found["checks"]}
    assert states.pop("engines' settings") == "ok"
    assert set(states.values()) == {"unknown"}
    assert found["not_read"] == [
        f"engines: none has a folder at {runs_root} that is as young as the campaign"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("partial_mount", LossClass.PARTIAL_MOUNT, "1 times a module was missing"),
        ("uid_clash", LossClass.FOREIGN_FILES, "PermissionError"),
    ],
)
def test_engines_that_never_became_whole(miniature, name, kind, words):
    done, runs_root, logs = campaign(miniature, name, [f"{name}={LOOKUP}"])
    assert done.returncode == 1
    told = losses_of(runs_root, logs)
    assert {one.kind for one in told} == {kind}
    assert words in told[0].words


@pytest.mark.slow
def test_a_budget_that_was_spent_and_a_pool_that_was_switched_off(miniature):
    done, runs_root, logs = campaign(miniature, "poor", [f"oom={LOOKUP}:0:6+"], OUROBOROS_TOTAL_BUDGET="0.1")
    assert done.returncode == 0
    kinds = {one.kind for one in losses_of(runs_root, logs)}
    assert LossClass.BUDGET in kinds


@pytest.mark.slow
def test_nothing_is_lost_where_nothing_struck(miniature, capsys):
    done, runs_root, logs = campaign(miniature, "whole", [])
    assert done.returncode == 0
    assert losses_of(runs_root, logs) == ()
    assert losses(miniature, "whole") == 0
    assert "nothing that is known was lost" in capsys.readouterr().out


def test_there_is_nothing_to_read(tmp_path, capsys):
    assert main(["clbench", "losses", str(tmp_path)]) == 11
    assert "EVH423" in capsys.readouterr().err
    assert main(["clbench", "losses", "nobody", "--home", str(tmp_path)]) == 4
    assert "there is no campaign 'nobody'" in capsys.readouterr().err
