"""A campaign from its first process to its last, and what is left when somebody in between dies. All processes are real."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign import guardian
from pytest_evalharness.clbench.campaign.process_table import TOKEN, process, processes
from pytest_evalharness.clbench.campaign.processes import domains
from pytest_evalharness.clbench.campaign.resuming import begun
from pytest_evalharness.clbench.campaign.running import run_campaign
from pytest_evalharness.clbench.campaign.watch import AlarmKind, Limits
from pytest_evalharness.cli import main
from pytest_evalharness.errors import (
    BenchmarkRefused,
    CampaignBusy,
    CampaignChanged,
    JournalUnavailable,
    StillRunning,
    UsageError,
)
from pytest_evalharness.ledger.states import CampaignState
from tests.integration.campaigns.conftest import BANDS, DUEL, LOOKUP, PATIENCE, QUICK

STALLED = f"stall={BANDS}:0:1"
"""Its rollout goes on when the fault is gone, and no sooner: whatever happens meanwhile may take its time."""


def told(lab):
    return "\n".join(lab.said)


def test_a_campaign_is_written_down_started_watched_and_ended(lab, until):
    lab.faults(STALLED)
    going = lab.begin()
    until(lambda: BANDS in {one.task for one in lab.seen()})
    lab.faults()
    outcome = going.join()
    assert going.problem is None
    assert (outcome.state, outcome.exit_code, outcome.notices) == (CampaignState.FINISHED, 0, ())
    assert lab.alive() == []
    (start,) = lab.starts()
    assert (start.exit_code, start.argv) == (0, lab.campaign().argv)
    seen = lab.seen()
    assert (seen[0].pid, seen[0].task) == (start.pid, "")
    assert {one.task for one in seen} == {"", BANDS}
    assert f"run {BANDS}" in " ".join(one.command for one in seen)
    assert lab.record().progress["done"] == 20
    assert outcome.folder.is_dir()
    assert "20 of 20 instances" in told(lab)
    assert BANDS in outcome.log.read_text()
    with pytest.raises(UsageError, match="was begun before: it is finished") as caught:
        lab.run()
    assert "--missing-only" in caught.value.next_step
    root, lab.root = lab.root, shutil.copytree(lab.root / "src", lab.home / "other" / "src").parent
    for name in ("bin", "run_benchmark.py", "VERSION"):
        (lab.root / name).symlink_to(root / name)
    for missing_only in (False, True):
        with pytest.raises(UsageError, match="is another checkout") as caught:
            lab.run(missing_only=missing_only, accept=["arguments"])
    assert caught.value.next_step.startswith(f"--checkout {root}")


def test_the_ledger_knows_how_far_it_came_though_it_ended_between_two_looks(lab):
    outcome = lab.run(rhythm=replace(QUICK, look=600.0))
    assert outcome.state is CampaignState.FINISHED
    assert lab.record().progress["done"] == 20


def test_an_end_leaves_nothing_alive_and_what_is_missing_is_run_later(lab, until, whole):
    lab.set(pace=0.2)
    lab.faults(STALLED)
    going = lab.begin()
    until(lab.playing)
    going.stop.set()
    outcome = going.join()
    assert (outcome.state, outcome.exit_code) == (CampaignState.INTERRUPTED, 2)
    assert lab.alive() == []
    (ending,) = lab.events("ending")
    assert len(ending.told["processes"]) >= 3
    assert ending.id < lab.events("ended")[0].id
    lab.faults()
    lab.set(pace="0.0")
    with pytest.raises(
        CampaignChanged, match=r'variable CLBENCH_MINIATURE_PACE was "0\.2" and is "0\.0"'
    ) as caught:
        lab.run(missing_only=True)
    assert "--accept environment" in caught.value.next_step
    outcome = lab.run(missing_only=True, accept=["environment"])
    assert (outcome.state, outcome.exit_code) == (CampaignState.FINISHED, 0)
    assert len(outcome.notices) == 1
    assert "it went on although it had changed" in outcome.notices[0]
    assert len(lab.events("accepted")[0].told["differences"]) == 1
    assert lab.run(missing_only=True).notices == outcome.notices, "it is told for ever"
    assert lab.scores() == whole(BANDS)


@pytest.mark.parametrize("victim", ["supervisor", pytest.param("both", marks=pytest.mark.slow)])
def test_a_supervisor_that_is_killed_leaves_nothing_spending(lab, until, victim, capsys):
    lab.faults(STALLED)
    command = lab.command()
    until(lab.playing)
    guardians = guardians_of(command.pid)
    assert len(guardians) == 1
    found = lab.alive()
    foreign = stranger(lab)
    try:
        lab.kill(*([command.pid, *guardians] if victim == "both" else [command.pid]))
        command.wait(PATIENCE)
        if victim == "supervisor":
            until(lab.gone)
            until(lambda: lab.events("guardian"))
        else:
            assert len(lab.alive()) >= len(found) - 1
        assert lab.record().state is CampaignState.RUNNING
        assert main(["clbench", "status", "mine", "--home", str(lab.home)]) == 1
        assert "ledger: lost" in capsys.readouterr().out
        assert lab.alive() == []
        assert lab.record().state is CampaignState.LOST
        assert bool(lab.events("ending survivors")) is (victim == "both")
        assert foreign.poll() is None, "only what is ours is ended"
    finally:
        foreign.kill()
        foreign.communicate()
    lab.faults()
    assert lab.run(missing_only=True).exit_code == 0


def guardians_of(pid):
    """The children of a supervisor that guard it."""
    table = processes(())
    return [one.pid for one in table.values() if one.parent == pid and guardian.__name__ in one.argv]


def stranger(lab):
    """Somebody else's process with the very command line of ours, in the same folder, and another campaign's token."""
    argv = [sys.executable, "-c", "import time; time.sleep(3600)", "run", BANDS, "--name", "mine"]
    return subprocess.Popen(argv, cwd=lab.root, env={**os.environ, TOKEN: "evh-anotherofsomebody"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "state"),
    [(("run-all",), CampaignState.LOST), (("run", BANDS), CampaignState.INCOMPLETE)],
    ids=["run-all", "a child"],
)
def test_whoever_is_killed_the_rest_ends_and_the_resumed_run_equals_one_without_a_crash(
    lab, until, words, state, whole
):
    campaign = lab.campaign(tasks=(BANDS, DUEL), task_parallelism=1)
    lab.faults(f"stall={second(campaign)}:0:2")
    going = lab.begin(campaign)
    until(lambda: lab.playing(second(campaign)))  # the first task is whole by then
    words = ("run", second(campaign)) if words[0] == "run" else words
    pid = until(lambda: lab.pid_of(*words))
    lab.kill(pid)
    outcome = going.join()
    assert going.problem is None
    assert outcome.state is state
    assert outcome.exit_code == 1
    assert lab.alive() == []
    lab.faults()
    outcome = lab.run(campaign, missing_only=True)
    assert (outcome.state, outcome.exit_code) == (CampaignState.FINISHED, 0)
    assert lab.scores() == whole(BANDS, DUEL)
    if state is CampaignState.LOST:
        (line,) = {line.strip() for one in lab.said for line in one.split("\n") if "now published" in line}
        assert line.endswith("1 of 1 rollouts complete, written by its own process, now published")


def second(campaign):
    """The task that is run after the other one."""
    return (
        campaign.argv[campaign.argv.index("--task") + 2] if "--task" in campaign.argv else campaign.tasks[1]
    )


@pytest.mark.slow
def test_workers_whose_program_died_do_not_go_on_beside_the_others(lab, until):
    lab.faults(STALLED, f"stall={DUEL}:0:1")
    going = lab.begin(lab.campaign(tasks=(BANDS, DUEL)))
    until(lambda: lab.playing(BANDS) and lab.playing(DUEL))
    until(lambda: known(lab, BANDS))
    lab.kill(lab.pid_of("run", BANDS))
    (event,) = until(lambda: lab.events("ending lone processes"))
    assert len(event.told["processes"]) >= 2
    until(lambda: any("SIGINT" in line or "ended" in line for line in lab.said))
    assert lab.pid_of("run", DUEL), "the other domain goes on"
    going.end()
    assert lab.alive() == []


def known(lab, task):
    """Whether the supervisor has seen every process of a domain that runs: its program, and pool workers with their tracker."""
    tree = domains({one.pid: one for one in lab.alive()}, [task]).get(task, [])
    seen = {(one.pid, one.started) for one in lab.seen() if one.task == task}
    return len(tree) >= 3 and {one.key for one in tree} <= seen


@pytest.mark.slow
@pytest.mark.parametrize("wish", ["continue", "end"])
def test_a_livelocked_domain_is_paused_alone_and_somebody_decides(lab, until, wish, capsys):
    lab.set(pace=0.02, faults=f"livelock={LOOKUP}:0:4")
    going = lab.begin(lab.campaign(tasks=(LOOKUP, BANDS)), limits=Limits(livelock_turns=30))
    until(lambda: lab.events("pausing"))
    until(lambda: "is paused" in told(lab))
    stopped = until(lambda: two_or_more(one for one in lab.alive() if one.stopped))
    assert not any("run-all" in one.argv or BANDS in one.argv for one in stopped)
    until(lambda: (lab.record().progress or {}).get("paused"))
    until(lambda: lab.pid_of("run", BANDS) is None)
    assert set(lab.record().progress["paused"]) == {LOOKUP}
    assert main(["clbench", wish, "mine", "mini_ledger", "--home", str(lab.home)]) == 4
    assert f"did you mean '{LOOKUP}'?" in capsys.readouterr().err
    assert main(["clbench", wish, "mine", LOOKUP, "--home", str(lab.home)]) == 0
    assert f"mine: {LOOKUP}: {wish}: done" in capsys.readouterr().out
    if wish == "continue":
        assert not any(one.stopped for one in lab.alive())
        assert main(["clbench", "end", "mine", "--home", str(lab.home)]) == 0
        outcome = going.join()
        assert (outcome.state, outcome.exit_code) == (CampaignState.INTERRUPTED, 2)
    else:
        outcome = going.join()
        assert (outcome.state, outcome.exit_code) == (CampaignState.INCOMPLETE, 1)
        assert outcome.notices == (f"{LOOKUP} was ended: it was asked for",)
    assert [one.kind for one in outcome.alarms] == [AlarmKind.LIVELOCK]
    assert lab.alive() == []
    assert main(["clbench", "continue", "mine", LOOKUP, "--home", str(lab.home)]) == 4
    assert "does not run" in capsys.readouterr().err


def two_or_more(some):
    found = list(some)
    return found if len(found) >= 2 else None


@pytest.mark.slow
def test_a_poisoned_rollout_is_paused_ended_after_its_time_and_put_into_quarantine(lab, whole):
    lab.set(faults=f"poison={LOOKUP}:0:3+,stall={LOOKUP}:0:9")  # it is not over before anybody looked
    rhythm = replace(QUICK, hold=1.0)
    campaign = lab.campaign(tasks=(LOOKUP,))
    outcome = lab.run(campaign, rhythm=rhythm)
    assert (outcome.state, outcome.exit_code) == (CampaignState.INCOMPLETE, 1)
    assert AlarmKind.POISONED in {one.kind for one in outcome.alarms}
    assert any("nobody decided within 1.0 s" in one for one in outcome.notices)
    assert any("rollout 0 was put into quarantine" in one for one in outcome.notices)
    assert list(outcome.folder.glob(f"quarantine/{LOOKUP}/*/*.record.json"))
    lab.monkeypatch.delenv("CLBENCH_MINIATURE_FAULTS")
    outcome = lab.run(lab.campaign(tasks=(LOOKUP,)), missing_only=True, accept=["environment"])
    assert outcome.exit_code == 0
    assert lab.scores() == whole(LOOKUP)


def test_two_who_ask_at_once_make_one_campaign(lab, until):
    lab.faults(STALLED)
    going = lab.begin()
    until(lambda: lab.record() and lab.record().state is CampaignState.RUNNING)
    for missing_only in (False, True):
        with pytest.raises(CampaignBusy, match="mine is supervised by process"):
            lab.run(missing_only=missing_only)
    going.end()
    assert len(lab.starts()) == 1


@pytest.mark.slow
def test_a_guardian_that_is_killed_is_replaced(lab, until):
    lab.faults(STALLED)
    command = lab.command()
    until(lab.playing)
    (first,) = guardians_of(command.pid)
    lab.kill(first)
    (second,) = until(lambda: [one for one in guardians_of(command.pid) if one != first])
    lab.kill(command.pid)
    command.wait(PATIENCE)
    until(lambda: lab.gone() and not process(second))
    assert [one.told["pid"] for one in lab.events("guardian lost")] == [first]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_reaches_everybody_and_the_command_says_how_to_go_on(lab, until, number):
    lab.faults(STALLED)
    command = lab.command()
    until(lab.playing)
    (guarding,) = guardians_of(command.pid)
    command.send_signal(number)
    out, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 2, err
    assert f"interrupted by {number.name}: " in err
    assert "mine: interrupted" in out
    (again,) = [line for line in out.splitlines() if "next:" in line]
    assert again.split("evalharness ")[1].startswith(f"clbench run --checkout {lab.root} --system notebook")
    assert again.endswith("--name mine --plan seed --task mini_band_scan --missing-only")
    assert lab.alive() == []
    assert not process(guarding)


@pytest.mark.slow
def test_a_terminal_that_is_gone_ends_nothing_that_was_started_with_nohup(lab, until):
    lab.faults(STALLED)
    read, write = os.pipe()
    command = lab.command(before=["sh", "-c", 'trap "" HUP; exec "$@"', "nohup"], into=write)
    os.close(write)
    until(lab.playing)
    os.close(read)  # nobody reads what it says any more
    command.send_signal(signal.SIGHUP)
    lab.faults()
    assert command.wait(PATIENCE) in {0, 141}
    assert lab.record().state is CampaignState.FINISHED


def test_a_second_signal_does_not_wait_for_the_grace(lab, until):
    """The benchmark ignores SIGINT here, as a program that tidies up for ever would, and has an hour for it."""
    stubborn(lab)
    command = lab.command(program=["-c", PATIENT])
    until(
        lambda: lab.record() and lab.record().state is CampaignState.RUNNING and (lab.root / "deaf").exists()
    )
    command.send_signal(signal.SIGINT)
    until(lambda: lab.events("ending"))
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 2, err
    assert "SIGTERM to" in err
    assert lab.alive() == []


PATIENT = """
import sys
from pytest_evalharness.clbench.campaign.processes import Graces
from pytest_evalharness.cli import main

Graces.__init__.__defaults__ = (3600.0, *Graces.__init__.__defaults__[1:])
sys.exit(main())
"""


def stubborn(lab):
    """A `clbench` that does not hear SIGINT."""
    script = lab.root / "bin" / "clbench"
    script.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "pathlib.Path('deaf').touch()\n"
        "time.sleep(3600)\n"
    )


def test_what_the_benchmark_does_not_take_is_told_in_its_words(lab):
    script = lab.root / "bin" / "clbench"
    script.write_text("#!/bin/sh\necho 'error: run name taken'\nexit 2\n")
    with pytest.raises(BenchmarkRefused, match="run-all did not take campaign mine: error: run name taken"):
        lab.run()
    assert lab.record().state is CampaignState.INCOMPLETE
    script.unlink()
    lab.set(pace=0)  # nothing of it exists: it may be begun as something else
    with pytest.raises(BenchmarkRefused, match=r"could not be started: .*No such file") as caught:
        lab.run()
    assert caught.value.not_done == "nothing was started and nothing was paid"
    assert lab.record().state is CampaignState.PLANNED
    assert lab.alive() == []


def test_what_somebody_typed_by_hand_is_neither_ended_nor_written_over(lab, until):
    lab.faults(STALLED)
    campaign = lab.campaign()
    by_hand = subprocess.Popen(
        campaign.argv,
        cwd=lab.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lab.playing)
        with pytest.raises(UsageError, match=r"was begun before: .*final_results/runs/mine exists"):
            lab.run(campaign)
        with pytest.raises(StillRunning, match="mine is still running: process"):
            lab.run(campaign, missing_only=True)
        assert by_hand.poll() is None
    finally:
        os.killpg(by_hand.pid, signal.SIGKILL)
        by_hand.wait()


@pytest.mark.slow
def test_a_clock_that_jumps_ends_and_alarms_nothing(lab):
    class Jumping(SystemClock):
        started = SystemClock().monotonic()

        def now(self):
            past = self.monotonic() - self.started
            return super().now() + (0.0 if past < 1.0 else 40_000.0 if past < 2.0 else -40_000.0)

    lab.set(pace=0.05)
    outcome = lab.run(clock=Jumping())
    assert (outcome.state, outcome.alarms) == (CampaignState.FINISHED, ())


@pytest.mark.slow
def test_a_ledger_that_cannot_be_written_costs_nothing_that_runs(lab, until):
    lab.faults(STALLED)
    lab.busy = 0.1  # of the supervisor only, whom nobody else must hold up before
    going = lab.begin()
    until(lab.playing)
    lab.busy = 30.0
    with closing(sqlite3.connect(lab.home / "ledger.sqlite", isolation_level=None)) as held:
        until(
            lambda: any(BANDS in told for (told,) in held.execute("SELECT told_json FROM campaign_processes"))
        )
        ((pid,),) = held.execute("SELECT pid FROM campaign_starts")
        held.execute("PRAGMA busy_timeout=60000")
        held.execute("BEGIN IMMEDIATE")
        until(lambda: "the campaign goes on, and what happens is written down later" in told(lab))
        assert process(pid)
        held.execute("ROLLBACK")
    lab.faults()
    outcome = going.join()
    assert (outcome.state, outcome.exit_code, outcome.notices) == (CampaignState.FINISHED, 0, ())
    assert lab.record().state is CampaignState.FINISHED
    assert BANDS in {one.task for one in lab.seen()}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["full_disk", "kill"])
def test_a_full_disk_or_a_dead_worker_of_one_task_costs_no_other(lab, whole, fault):
    lab.faults(f"{fault}={BANDS}:0:3")
    campaign = lab.campaign(tasks=(BANDS, DUEL))
    outcome = lab.run(campaign)
    assert (outcome.state, outcome.exit_code) == (CampaignState.INCOMPLETE, 1)
    assert lab.alive() == []
    lab.faults()
    first = lab.scores()[DUEL]
    assert lab.run(campaign, missing_only=True).exit_code == 0
    assert lab.scores()[DUEL] == first
    assert lab.scores() == whole(BANDS, DUEL)


def test_a_ledger_that_cannot_be_written_starts_nothing(lab):
    lab.busy = 0.1
    lab.ledger().close()
    with (
        closing(sqlite3.connect(lab.home / "ledger.sqlite", isolation_level=None)) as held,
        lab.ledger() as ledger,
    ):
        held.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnavailable):
            run_campaign(
                lab.campaign(), ledger, clock=SystemClock(), on_progress=lab.said.append, rhythm=QUICK
            )
        held.execute("ROLLBACK")
    assert not lab.campaign().run_folder.exists()
    assert lab.record() is None


@pytest.mark.slow
def test_folders_that_a_dying_benchmark_has_just_made_are_no_campaign(lab):
    script = lab.root / "bin" / "clbench"
    whole = script.read_text()
    script.write_text("#!/bin/sh\nmkdir -p final_results/runs/mine/logs\nkill -9 $$\n")
    assert lab.run().state is CampaignState.LOST
    script.write_text(whole)
    (lab.campaign().run_folder / "logs" / "somebody's.txt").touch()
    with pytest.raises(UsageError, match="has files and no manifest"):
        lab.run()
    (lab.campaign().run_folder / "logs" / "somebody's.txt").unlink()
    assert lab.run().state is CampaignState.FINISHED


# ------------------------------------------------- crashes between any two steps

DIES = """
import os, signal, sys
from pathlib import Path
from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign import running
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of
from pytest_evalharness.ledger.campaigns import CampaignLease
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from tests.integration.campaigns.conftest import QUICK

root, home, where = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
kind, _, step = where.partition(" ")
place = {"guardian": (running.Guardian, "of"), "program": (running, "launch")}
owner, name = place.get(step) or (CampaignLease, step)
real = getattr(owner, name)

def dies(*args, **more):
    if kind == "after":
        real(*args, **more)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, dies)
campaign = campaign_of(open_checkout(str(root), home), "notebook", PlanKind.SEED, "mine", tasks=["mini_band_scan"], per_task_parallelism=2)
with Ledger.open(home, clock=SystemClock(), owner=Owner.current("dies")) as ledger:
    running.run_campaign(campaign, ledger, clock=SystemClock(), on_progress=print, rhythm=QUICK)
"""
STEPS = [
    "before start",
    "after start",
    "after guardian",
    "after program",
    "after running",
    "after saw",
    "before end",
    "after end",
]


@pytest.mark.slow
@pytest.mark.parametrize("where", STEPS)
def test_a_supervisor_may_die_between_any_two_steps(lab, until, where, whole):
    command = subprocess.run(
        [sys.executable, "-c", DIES, str(lab.root), str(lab.home), where],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert command.returncode == -signal.SIGKILL, command.stderr
    until(lab.gone)
    log = lab.home / "clbench" / "logs" / "mine" / "run-all-1.log"
    assert log.exists() is (STEPS.index(where) >= STEPS.index("after program"))
    went_on = begun(lab.campaign())
    assert went_on or where not in {"before end", "after end"}
    outcome = lab.run(missing_only=went_on)
    assert (outcome.state, outcome.exit_code) == (CampaignState.FINISHED, 0)
    assert len(lab.starts()) == (1 if where == "before start" else 2)
    assert lab.scores() == whole(BANDS)
