"""A smoke of the miniature: five stages from what its real processes leave, and nothing of it left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of
from pytest_evalharness.clbench.campaign.process_table import processes
from pytest_evalharness.clbench.campaign.processes import Graces
from pytest_evalharness.clbench.campaign.smoke import run_smoke
from pytest_evalharness.cli import main

PATIENCE = 180.0
TASK = "mini_ledger_lookup"
ENGINE = ("--system", "ouroboros", "--param", "docker=false", "--param", "loop=action")


@pytest.fixture
def smoke(miniature, tmp_path, monkeypatch):
    """The command's words on a fresh checkout."""
    for name in [one for one in os.environ if one.startswith(("CLBENCH_", "OUROBOROS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLBENCH_MINIATURE_MERCY", "1")

    def words(*more):
        return [
            "clbench",
            "smoke",
            "--checkout",
            str(miniature.root),
            "--home",
            str(tmp_path / "home"),
            *more,
        ]

    return words


def schedules(miniature):
    folder = miniature.root / "src" / "tasks" / TASK / "schedules"
    return sorted(path.name for path in folder.iterdir())


def test_the_adapter_shows_its_stages(smoke, miniature, capsys):
    assert main(smoke(*ENGINE, "--json")) == 0
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert {one["name"]: one["seen"] for one in data["stages"]} == {
        "clone": "seen", "image": "not part", "container": "not part", "bridge": "seen", "typed answer": "seen",
    }  # fmt: skip
    assert (data["questions"], data["typed_answers"], data["exit_code"], data["embedded"]) == (3, 3, 0, True)
    assert data["cost_usd"] > 0.0
    assert "gates nothing but the chain" in data["gates"]
    assert "was laid down for this smoke and is removed after it" in told.err
    assert "--task.num-questions 3" in told.err
    engines = Path(data["log"]).parent / "engines"
    assert not list(engines.rglob("settings.json"))
    assert len(list(engines.rglob("task_results/*.json"))) == 3
    assert schedules(miniature) == ["default.json"]


def test_a_system_that_is_not_there_is_refused_before_anything_is_started(smoke, miniature, tmp_path, capsys):
    assert main(smoke("--system", "notebok")) == 11
    told = capsys.readouterr().err
    assert "there is no system notebok in the checkout" in told
    assert "not done: nothing was started and nothing was paid" in told
    assert "next:     name another one: did you mean notebook?" in told
    assert not (tmp_path / "home" / "clbench" / "smokes").exists()
    assert schedules(miniature) == ["default.json"]


def test_the_recipe_asks_for_containers_that_the_miniature_does_not_have(smoke, capsys):
    assert main(smoke("--system", "ouroboros")) == 0
    told = capsys.readouterr().out
    assert "the chain works, 3 of 3 typed answers" in told
    assert "not part  image         the miniature has no image where docker_image names none" in told
    assert "not part  container     the miniature has no image where docker_image names none" in told


def test_a_system_of_the_benchmark_has_one_stage(smoke, miniature, capsys):
    assert main(smoke("--system", "plain")) == 0
    told = capsys.readouterr().out
    assert "smoke of plain (embedded miniature): the chain works, 3 of 3 typed answers" in told
    assert told.count("not part") == 4
    assert told.rstrip().endswith("or of what a campaign costs")
    assert schedules(miniature) == ["default.json"]


@pytest.mark.parametrize(
    ("fault", "stage", "what"),
    [
        ("oom", "typed answer", "given up by the adapter"),
        ("no_shim", "bridge", "nobody listens at the shim"),
        ("uid_clash", "typed answer", "3 without an outcome"),
    ],
)
def test_a_broken_link_is_told(smoke, capsys, fault, stage, what, monkeypatch):  # noqa: PLR0917 - fixtures
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", f"{fault}={TASK}")
    assert main(smoke(*ENGINE, "--json")) == 1
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)["stages"]}
    assert (told[stage]["seen"], what in told[stage]["what"]) == ("not seen", True), told


def test_a_benchmark_that_breaks_is_told_with_the_log(smoke, miniature, monkeypatch, capsys):
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", f"crash={TASK}")
    assert main(smoke("--system", "plain")) == 1
    told = capsys.readouterr().out
    assert "the chain does not work, 0 of 3 typed answers" in told
    assert "the benchmark ended with 1, and said last: " in told
    assert "the system went away" in told.split("said last: ")[1].splitlines()[0]
    assert schedules(miniature) == ["default.json"]


@pytest.mark.slow
def test_an_instance_that_never_ends_is_ended(miniature, tmp_path, monkeypatch):
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", f"livelock={TASK}")
    checkout = open_checkout(str(miniature.root), tmp_path / "home")
    campaign = campaign_of(checkout, "plain", PlanKind.SMOKE, "smoke")
    graces = Graces(1.0, 1.0, PATIENCE)
    found = run_smoke(campaign, tmp_path / "home", clock=SystemClock(), limit=1.5, graces=graces)
    assert (found.exit_code, found.typed_answers, found.whole) == (None, 0, False)
    assert any("it was ended after" in one for one in found.notices)
    assert benchmarks(miniature) == []
    assert schedules(miniature) == ["default.json"]


def began(words, miniature, **environment):
    """The command in a process of its own, once its benchmark is under way."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_evalharness.cli", *words],
        env={**os.environ, "CLBENCH_MINIATURE_PACE": "600", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    live = miniature.root / "results" / TASK / "live"
    until(lambda: live.exists() and any(live.iterdir()), "no pass began")
    return process


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def benchmarks(miniature):
    """Living processes of a checkout's smoke."""
    return [one.pid for one in processes(()).values() if any("_smoke" in word for word in one.argv) and
            any(str(miniature.root) in word for word in one.argv)]  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_all_of_it(smoke, miniature, number):
    process = began(smoke("--system", "plain"), miniature)
    process.send_signal(number)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert told.endswith("interrupted: nothing of this smoke goes on; the next begins anew\n")
    assert benchmarks(miniature) == []
    assert schedules(miniature) == ["default.json"]


@pytest.mark.slow
def test_a_smoke_that_is_killed_leaves_nothing_that_spends_and_the_next_one_tidies_up(
    smoke, miniature, capsys
):
    process = began(smoke(*ENGINE), miniature)
    process.kill()
    process.communicate()
    until(lambda: not benchmarks(miniature), "the benchmark goes on")
    assert schedules(miniature) == ["default.json", "smoke.json"]
    assert main(smoke(*ENGINE)) == 0
    assert "an earlier smoke that was killed had left it there" in capsys.readouterr().out
    assert schedules(miniature) == ["default.json"]
