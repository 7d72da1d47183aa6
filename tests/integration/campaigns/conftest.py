"""Campaigns of the embedded miniature, run by real processes: supervised here, in a thread, or by the command."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of
from pytest_evalharness.clbench.campaign.processes import Graces
from pytest_evalharness.clbench.campaign.running import run_campaign
from pytest_evalharness.clbench.campaign.supervising import Rhythm
from pytest_evalharness.clbench.campaign.survivors import alive
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner

PATIENCE = 180.0
QUICK = Rhythm(tick=0.05, look=0.1, told=1.0, hold=600.0, whole=3600.0, graces=Graces(1.0, 3.0, PATIENCE))
CLI = ("-m", "pytest_evalharness.cli")
BANDS, DUEL, LOOKUP = "mini_band_scan", "mini_coin_duel", "mini_ledger_lookup"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    return open_checkout("embedded", tmp_path_factory.mktemp("miniature")).root


@pytest.fixture(scope="session")
def whole(installed, tmp_path_factory):
    """What the passes of tasks earn where nobody supervises them and nothing goes wrong."""
    found = {}

    def scores(*tasks):
        if tasks not in found:
            root = shutil.copytree(installed, tmp_path_factory.mktemp("whole") / "checkout", symlinks=True)
            words = (
                "--name",
                "whole",
                "--system",
                "notebook",
                "--task",
                *tasks,
                "--per-task-parallelism",
                "2",
                "--runs",
                "1",
            )
            clear = {name: value for name, value in os.environ.items() if not name.startswith("CLBENCH_")}
            subprocess.run(
                [root / "bin" / "clbench", "run-all", *words],
                cwd=root,
                env=clear,
                check=True,
                capture_output=True,
            )
            found[tasks] = scores_of(root / "final_results" / "runs" / "whole")
        return found[tasks]

    return scores


def scores_of(folder):
    """What a run's passes earned, instance by instance."""
    return {
        task: (
            sorted((one.instance_id, one.reward) for one in artifact.baseline.outcomes),
            [
                (each.run_index, [(one.instance_id, one.reward) for one in each.outcomes])
                for each in artifact.rollouts
            ],
        )
        for task, artifact in read_run(folder).tasks.items()
    }


@pytest.fixture
def lab(installed, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("CLBENCH_")]:
        monkeypatch.delenv(name)
    found = Lab(
        shutil.copytree(installed, tmp_path / "checkout", symlinks=True), tmp_path / "home", monkeypatch
    )
    yield found
    found.close()


class Lab:
    def __init__(self, root, home, monkeypatch):
        self.root, self.home, self.monkeypatch = root, home, monkeypatch
        self.said = []
        self.commands = []
        self.stops = []
        self.busy = 30.0

    def set(self, **variables):
        for name, value in variables.items():
            self.monkeypatch.setenv(f"CLBENCH_MINIATURE_{name.upper()}", str(value))

    def faults(self, *told):
        """Defects of a checkout whose processes run already."""
        beside = self.root / "faults.json.new"
        beside.write_text(json.dumps(told))
        beside.replace(self.root / "faults.json")  # at once: who looks in between sees no half of it

    def campaign(self, name="mine", tasks=(BANDS,), system="notebook", kind=PlanKind.SEED, **more):
        return campaign_of(
            open_checkout(str(self.root), self.home),
            system,
            kind,
            name,
            tasks=tasks,
            per_task_parallelism=2,
            **more,
        )

    def ledger(self):
        return Ledger.open(self.home, clock=SystemClock(), owner=Owner.current("test"), busy=self.busy)

    def run(self, campaign=None, **more):
        told = {"clock": SystemClock(), "on_progress": self.said.append, "rhythm": QUICK, **more}
        with self.ledger() as ledger:
            return run_campaign(campaign or self.campaign(), ledger, **told)

    def begin(self, campaign=None, **more):
        """Run in a thread."""
        going = Going(self, campaign or self.campaign(), more)
        self.stops.append(going.end)
        return going

    def command(self, *words, tasks=(BANDS,), name="mine", into=subprocess.PIPE, before=(), program=CLI):
        """Start `evalharness clbench run`; what it says goes into a pipe."""
        argv = [*before, sys.executable, *program, "clbench", "run", "--home", self.home]
        argv += [
            "--checkout",
            self.root,
            "--system",
            "notebook",
            "--plan",
            "seed",
            "--name",
            name,
            "--skip-preflight",
        ]
        argv += [
            "--per-task-parallelism",
            "2",
            *(word for task in tasks for word in ("--task", task)),
            *words,
        ]
        started = subprocess.Popen([str(word) for word in argv], stdout=into, stderr=into, text=True)
        self.commands.append(started)
        return started

    def alive(self, name="mine"):
        with self.ledger() as ledger:
            return alive(ledger, name)

    def gone(self, name="mine"):
        """Whether nothing of it is alive; whoever is just becoming another program is not to be seen for a moment."""
        return not any(self.alive(name) for _ in range(3))

    def seen(self, name="mine"):
        with self.ledger() as ledger:
            return ledger.campaigns.processes(name)

    def record(self, name="mine"):
        with self.ledger() as ledger:
            return ledger.campaigns.find(name)

    def events(self, *kinds, name="mine"):
        with self.ledger() as ledger:
            found = ledger.campaigns.events(name)
        return [one for one in found if not kinds or one.kind in kinds]

    def starts(self, name="mine"):
        with self.ledger() as ledger:
            return ledger.campaigns.starts(name)

    def playing(self, task=BANDS, name="mine"):
        """Whether a rollout of a task has begun to write."""
        return any(self.root.glob(f"results/{task}/live/*/run_1.json"))

    def pid_of(self, *words):
        """The process of the campaign whose command line has these words next to each other."""
        for one in self.alive():
            pairs = [one.argv[at : at + len(words)] for at in range(len(one.argv))]
            if tuple(words) in pairs:
                return one.pid
        return None

    def kill(self, *pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def scores(self, name="mine"):
        return scores_of(self.root / "final_results" / "runs" / name)

    def close(self):
        for end in self.stops:
            end()
        for one in self.commands:
            if one.poll() is None:
                one.kill()
            one.communicate(timeout=PATIENCE)
        if self.home.exists():
            with self.ledger() as ledger:
                for record in ledger.campaigns.every():
                    for one in alive(ledger, record.name):
                        with suppress(OSError):
                            os.kill(one.pid, signal.SIGKILL)


class Going:
    def __init__(self, lab, campaign, more):
        self.stop, self.outcome, self.problem = threading.Event(), None, None
        self.thread = threading.Thread(target=self._run, args=(lab, campaign, more))
        self.thread.start()

    def _run(self, lab, campaign, more):
        try:
            self.outcome = lab.run(campaign, stop=self.stop, **more)
        except Exception as problem:  # noqa: BLE001 - told to the test's own thread
            self.problem = problem

    def end(self):
        self.stop.set()
        self.join()

    def join(self):
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.outcome


def until(what, seconds=PATIENCE):
    """Wait for other processes to come so far; returns what was found."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what}")


@pytest.fixture(name="until")
def until_fixture():
    return until
