"""`evalharness clbench run` for a campaign of that name that was begun before: told at once, and never paid again unasked."""

import re
import shutil

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.resuming import still_to_run
from pytest_evalharness.cli import main
from pytest_evalharness.ledger.states import CampaignState
from tests.integration.campaigns.conftest import BANDS, PATIENCE


@pytest.fixture
def again(lab, capsys):
    """Type the command; no preflight is left out, so that one which began would be seen."""

    def typed(*words, name="mine"):
        argv = [
            "clbench",
            "run",
            "--checkout",
            lab.root,
            "--home",
            lab.home,
            "--system",
            "notebook",
            "--plan",
            "seed",
        ]
        argv += ["--name", name, "--task", BANDS, "--per-task-parallelism", "2", *words]
        code = main([str(word) for word in argv])
        told = capsys.readouterr()
        assert "preflight" not in told.err
        return code, told.out, told.err

    return typed


def test_a_finished_campaign_is_read_again_and_started_no_more(lab, again):
    lab.run()
    folder = lab.campaign().run_folder
    for words in ((), ("--missing-only",)):
        code, out, _ = again(*words)
        assert code == 0
        first, second = out.splitlines()[:2]
        assert first.startswith("mine: finished ")
        assert first.endswith(" ago; it is read again, and nothing was started")
        assert second == "mine: completed, 20 of 20 instances, $0.04"
        assert out.endswith(f"next:     evalharness clbench check {folder}\n")
    assert still_to_run(lab.campaign(), SystemClock()) == ()
    lab.monkeypatch.setenv("CLBENCH_SOMETHING", "else")
    assert "changed since: variable CLBENCH_SOMETHING" in again()[1]

    code, _, err = again("--param", "pages=9")
    assert code == 11
    assert "campaign mine began as something else" in err

    shutil.rmtree(folder)
    for words in ((), ("--missing-only",)):
        code, _, err = again(*words)
        assert code == 4
        assert err.startswith(f"campaign mine is finished, and its results are gone from {folder}\n")
    assert len(lab.starts()) == 1


def test_an_interrupted_campaign_says_in_its_first_line_how_it_goes_on(lab, again, until):
    lab.faults(f"stall={BANDS}:0:1")
    going = lab.begin()
    until(lab.playing)
    code, _, err = again()
    assert code == 11
    assert "campaign mine is supervised by" in err
    going.end()
    assert lab.record().state is CampaignState.INTERRUPTED
    code, _, err = again("--deadline", "5")
    assert code == 4
    first, *_, step, _code = err.splitlines()
    assert first.startswith("campaign mine is interrupted, ")
    assert first.endswith(
        " ago: the same command with --missing-only goes on with it, and pays what is missing only"
    )
    assert f"evalharness clbench run --checkout {lab.root} --system notebook" in step
    assert step.endswith(
        f"--deadline 5 --home {lab.home} --name mine --plan seed --task {BANDS} --missing-only"
    )
    code, _, err = again("--missing-only", "--param", "pages=9")
    assert code == 11
    assert "campaign mine began as something else" in err
    assert len(lab.starts()) == 1


def test_a_campaign_whose_run_all_was_killed_does_not_run_whatever_its_manifest_says(lab, until, capsys):
    lab.faults(f"stall={BANDS}:0:1")
    going = lab.begin()
    until(lab.playing)
    lab.kill(until(lambda: lab.starts()[0].pid))
    assert going.join().state is CampaignState.LOST
    assert "mine: lost, " in lab.said[-1]
    assert " left" not in lab.said[-1]
    assert main(["clbench", "status", "mine", "--home", str(lab.home)]) == 1
    told = capsys.readouterr().out
    assert told.startswith("mine: lost, ")
    assert "cut off" in told
    assert " ago" not in told
    assert re.search(r"rollout 0 \d+ lost", told)
    assert still_to_run(lab.campaign(), SystemClock()) == (BANDS,)


@pytest.mark.slow
def test_what_is_in_doubt_at_the_end_is_no_success_and_none_when_it_is_read_again(lab, again):
    """A pass that was paid and earned nothing is told, and stays."""
    lab.set(faults=f"null={BANDS}:0:*")
    command = lab.command()
    out, err = command.communicate(timeout=PATIENCE)
    assert lab.record().state is CampaignState.FINISHED
    assert command.returncode == 1, out + err
    assert "poisoned" in out
    code, out, _ = again()
    assert code == 1
    assert "ALARM poisoned: bands, rollout 0: all 10 instances earned what an empty answer earns" in out
