"""A smoke's schedule is there while it runs and gone after it; its five stages are told from what it left."""

import json
import os
import subprocess
import sys

import pytest

from pytest_evalharness.clbench.campaign.bridge_log import bridge_log
from pytest_evalharness.clbench.campaign.runroots import read_runroot
from pytest_evalharness.clbench.campaign.smoke_evidence import Chain, Seen, StageName, answers, stages
from pytest_evalharness.clbench.campaign.smoke_folders import smoke_folder, tidy
from pytest_evalharness.clbench.campaign.smoke_schedule import CONTENT, remove_leftover, smoke_schedule
from pytest_evalharness.containers.events import Event
from pytest_evalharness.errors import SmokeRefused

TASK = "database_exploration"
GROUP = "2026-07-20T08-00-00.000001Z_smoke"
LIVE = Chain(adapter=True, docker=True, images=(("clbench-ouroboros:dev", "sha256:ace6"),))
HOST = Chain(adapter=True, docker=False)
INSIDE = Chain(adapter=False, docker=False)


@pytest.fixture
def schedules(tmp_path):
    folder = tmp_path / "src" / "tasks" / TASK / "schedules"
    folder.mkdir(parents=True)
    (folder / "default.json").write_text('{"id": "default"}')
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_schedule_is_there_for_the_smoke_only(tmp_path, schedules):
    with smoke_schedule(tmp_path, TASK) as laid:
        told = json.loads((schedules / "smoke.json").read_text())
        # What the benchmark refuses: another id than the file's name, a key that it does not know.
        assert told["id"] == "smoke"
        assert set(told) == {"id", "display_name", "description", "tags", "run_defaults", "stages"}
        assert [one["variant"] for one in told["stages"]] == [None]
        assert "laid down for this smoke" in laid.words
    assert names(schedules) == ["default.json"]


def test_it_goes_whatever_ends_the_smoke(tmp_path, schedules):
    with pytest.raises(KeyboardInterrupt), smoke_schedule(tmp_path, TASK):
        raise KeyboardInterrupt
    assert names(schedules) == ["default.json"]


def test_a_schedule_of_the_users_own_is_used_and_stays(tmp_path, schedules):
    mine = '{"id": "smoke", "display_name": "mine", "description": "", "stages": []}'
    (schedules / "smoke.json").write_text(mine)
    with smoke_schedule(tmp_path, TASK) as laid:
        assert laid.own
        assert "is your own" in laid.words
    assert (schedules / "smoke.json").read_text() == mine
    assert not remove_leftover(schedules)


def test_one_that_the_user_changed_is_the_users_own(tmp_path, schedules):
    with smoke_schedule(tmp_path, TASK):
        (schedules / "smoke.json").write_bytes(CONTENT.replace(b"Smoke", b"Mine"))
    assert names(schedules) == ["default.json", "smoke.json"]


def test_a_link_of_that_name_is_not_followed(tmp_path, schedules):
    elsewhere = tmp_path / "precious.json"
    elsewhere.write_bytes(CONTENT)
    (schedules / "smoke.json").symlink_to(elsewhere)
    with smoke_schedule(tmp_path, TASK) as laid:
        assert laid.own
    assert elsewhere.exists()
    assert (schedules / "smoke.json").is_symlink()


def test_a_leftover_of_a_killed_smoke_is_removed_and_told(tmp_path, schedules):
    (schedules / "smoke.json").write_bytes(CONTENT)
    (schedules / ".smoke.json.half").write_bytes(CONTENT[:40])
    (schedules / ".smoke.json.mine").write_text("something else")
    with smoke_schedule(tmp_path, TASK) as laid:
        assert (laid.own, laid.leftover) == (False, True)
        assert "an earlier smoke that was killed had left it there" in laid.words
    assert names(schedules) == [".smoke.json.mine", "default.json"]


def test_two_smokes_of_a_task_do_not_take_each_others_file_for_a_leftover(tmp_path, schedules):
    with smoke_schedule(tmp_path, TASK):
        code = (
            "import sys, pathlib\n"
            "from pytest_evalharness.clbench.campaign.smoke_schedule import smoke_schedule\n"
            "with smoke_schedule(pathlib.Path(sys.argv[1]), sys.argv[2]): pass"
        )
        command = [sys.executable, "-c", code, str(tmp_path), TASK]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "another smoke of database_exploration is under way" in other.stderr
        assert (schedules / "smoke.json").exists()


def test_a_task_without_schedules_is_refused(tmp_path):
    with pytest.raises(SmokeRefused, match="has no schedules"), smoke_schedule(tmp_path, "nothing"):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_checkout_that_cannot_be_written_is_refused(tmp_path, schedules):
    schedules.chmod(0o500)
    with pytest.raises(SmokeRefused, match="cannot be written"), smoke_schedule(tmp_path, TASK):
        pass


# ------------------------------------------------------------------- stages


class Left:
    """What a smoke of three questions left, in the adapter's and the benchmark's form; a test takes something away."""

    def __init__(self, root):
        self.root = root
        self.runroot = root / "engines" / "obo_dockerclbench_abcd1234"
        self.clone = self.runroot / "clone"
        (self.clone / ".git").mkdir(parents=True)
        (self.clone / "VERSION").write_text("6.71.0\n")
        self.shim = self.runroot / "data/state/skills/remote_work/shim_target.txt"
        self.shim.parent.mkdir(parents=True)
        self.shim.write_text("http://172.17.0.1:4000\n")
        results = self.runroot / "data" / "task_results"
        results.mkdir()
        for at in range(3):
            record = {"task_id": f"t-1-{at}", "status": "completed", "final_answer": '{"action": "answer"}'}
            (results / f"t-1-{at}.json").write_text(json.dumps(record))
        self.tasks = results
        self.log = "".join(
            f"[live-bridge] submitted live task t-1-{at} (scope=question, q_index={at})\n"
            f"[live-bridge] finalized item of task t-1-{at}\n"
            for at in range(3)
        )
        self.events = [
            Event(1, "c1", action, "clbench-obo-4711-40000", "clbench-ouroboros:dev")
            for action in ("create", "start")
        ]
        self.trace = {
            "status": "completed",
            "phase": "rollout",
            "task": {"name": TASK},
            "execution": {"run_group_id": GROUP, "run_index": 0, "usage": {"interaction": {"cost_usd": 3.2}}},
            "interactions": [
                {"query": {"instance_id": f"q{at}"}, "response": {"metadata": {}}} for at in range(3)
            ],
            "result": {
                "instance_outcomes": [
                    {"instance_id": f"q{at}", "reward": 0.0, "metadata": {}} for at in range(3)
                ]
            },
        }

    def seen(self, chain=LIVE):
        live = self.root / "results" / TASK / "live" / GROUP
        live.mkdir(parents=True, exist_ok=True)
        (live / "run_1.json").write_text(json.dumps(self.trace))
        roots = [read_runroot(self.runroot)] if self.runroot.exists() else []
        told = answers(self.root / "results" / TASK, TASK, GROUP, asked=3, roots=roots, chain=chain)
        found = stages(
            chain,
            roots=roots,
            started=self.events,
            owners={4711},
            log=bridge_log(self.log.encode()),
            told=told,
        )
        assert [one.name for one in found] == list(StageName)
        return told, {one.name: one for one in found}


@pytest.fixture
def left(tmp_path):
    return Left(tmp_path)


def test_a_chain_that_works_shows_all_five_stages(left):
    told, found = left.seen()
    assert {one.seen for one in found.values()} == {Seen.SEEN}
    assert (told.asked, told.met, told.answered, told.typed, told.cost) == (3, 3, 3, 3, 3.2)
    assert found[StageName.CLONE].what == "obo_dockerclbench_abcd1234/clone, version 6.71.0"
    assert found[StageName.IMAGE].what == "clbench-ouroboros:dev sha256:ace6"
    assert found[StageName.CONTAINER].what == "started: clbench-obo-4711-40000"
    assert found[StageName.BRIDGE].what == (
        "3 tasks were sent to the engine, 3 ended there, 3 answers came back"
    )
    assert found[StageName.ANSWER].what == "3 of 3 questions"


def no_clone(left):
    (left.clone / ".git").rmdir()


def foreign_container(left):
    left.events = [Event(1, "c2", "start", "clbench-obo-999-40000", "clbench-ouroboros:dev")]


def no_engine(left):
    left.events = "no container engine answers at unix:///var/run/docker.sock"


def nobody_answers(left):
    """The shim is unreachable: every question completes, with nothing."""
    left.log = "".join(
        f"[live-bridge] submitted live task t-1-{at} (scope=question, q_index={at})\n" for at in range(3)
    )
    logs = left.runroot / "data" / "logs"
    logs.mkdir()
    row = {"type": "tool_call", "tool": "run_command", "result": "curl: (7) Connection refused"}
    (logs / "tools.jsonl").write_text(json.dumps(row) + "\n")


def prose(left):
    for path in left.tasks.iterdir():
        told = json.loads(path.read_text()) | {"final_answer": "", "result": "I think that it is 4."}
        path.write_text(json.dumps(told))


def forfeited(left):
    left.trace["interactions"][2]["response"]["metadata"] = {"latency_timeout": True}


def one_short(left):
    left.trace["status"] = "running"
    del left.trace["result"]["instance_outcomes"][2]


@pytest.mark.parametrize(
    ("spoil", "missed", "what"),
    [
        (no_clone, [StageName.CLONE], "has no clone/ with a .git"),
        (foreign_container, [StageName.IMAGE, StageName.CONTAINER], "no container of an engine was started"),
        (no_engine, [StageName.IMAGE, StageName.CONTAINER], "nobody knows: no container engine answers"),
        (
            nobody_answers,
            [StageName.BRIDGE],
            "0 answers came back; a tool says that nobody listens at the shim",
        ),
        (prose, [StageName.ANSWER], "0 of 3 questions; 3 as prose"),
        (forfeited, [StageName.ANSWER], "2 of 3 questions; 1 given up by the adapter"),
        (one_short, [StageName.ANSWER], "2 of 3 questions; 1 without an outcome (its status is running)"),
    ],
)
def test_a_link_that_breaks_is_not_seen(left, spoil, missed, what):
    spoil(left)
    _, found = left.seen()
    assert [name for name, one in found.items() if one.seen is Seen.NOT_SEEN] == missed
    assert what in found[missed[-1]].what


def test_an_engine_on_the_host_has_neither_image_nor_container(left):
    left.events = []
    _, found = left.seen(HOST)
    parts = {name: one.seen for name, one in found.items()}
    assert parts == {
        "clone": "seen", "image": "not part", "container": "not part", "bridge": "seen", "typed answer": "seen",
    }  # fmt: skip


def test_a_system_of_the_benchmark_has_answers_only(left):
    _, found = left.seen(INSIDE)
    assert [one.seen for one in found.values()] == ["not part"] * 4 + ["seen"]


def test_no_pass_at_all_is_no_answer(left):
    left.trace["task"] = {"name": "another"}
    told, found = left.seen(INSIDE)
    assert told.typed == 0
    assert found[StageName.ANSWER].seen is Seen.NOT_SEEN


# ------------------------------------------------------------------ folders


def engine(folder, name="obo_dockerclbench_abcd1234"):
    root = folder / name
    (root / "data" / "task_results").mkdir(parents=True)
    (root / "data" / "settings.json").write_text('{"OPENROUTER_API_KEY": "sk-or-v1-live"}')
    (root / "clone" / ".git").mkdir(parents=True)
    (root / "data" / "task_results" / "t-1.json").write_text("{}")
    return root


def there(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_live_keys_and_clones_do_not_outlive_a_smoke(tmp_path):
    with smoke_folder(tmp_path, "one", None) as folder:
        root = engine(folder.engines)
        assert tidy(folder.engines) == 1
    assert there(root) == ["data/task_results/t-1.json"]
    assert tidy(folder.engines) == 0


def test_what_a_killed_smoke_left_of_keys_goes_at_the_next_one_and_a_living_ones_stay(tmp_path):
    with smoke_folder(tmp_path, "killed", None) as folder:
        killed = engine(folder.engines)
    with smoke_folder(tmp_path, "alive", None) as folder:
        alive = engine(folder.engines)
        assert there(killed) == ["data/task_results/t-1.json"]
        with smoke_folder(tmp_path, "next", None):
            assert "data/settings.json" in there(alive)


def test_engines_are_below_the_users_root_where_one_is_named(tmp_path):
    elsewhere = tmp_path / "big disk"
    foreign = engine(elsewhere)
    with smoke_folder(tmp_path / "home", "killed", str(elsewhere)) as folder:
        killed = engine(folder.engines)
        assert folder.engines == elsewhere / "smoke-killed"
    with smoke_folder(tmp_path / "home", "next", None):
        pass
    assert there(killed) == ["data/task_results/t-1.json"]
    assert "data/settings.json" in there(foreign)
