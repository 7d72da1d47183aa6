"""`evalharness clbench status`: what it prints, how it follows, and its exit codes."""

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.beside import Supervision, _budget
from pytest_evalharness.clbench.campaign.loss_classes import Count, LossClass
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import as_json, lines, summary
from pytest_evalharness.clbench.campaign.watch import watch
from pytest_evalharness.clbench.domains import DATABASE, POKER, SALES
from pytest_evalharness.cli import build_parser, clbench_screens, clbench_status, main
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.states import CampaignState

RUNNING = "mine: running, 4 of 16 instances, $0.04 of about $0.16"
IN_NAME = "mine: running in name only, 4 of 16 instances, $0.04"
"""By the machine's clock it was written long ago, and no process of it is alive."""


def standing(campaign, **more):
    snapshot = campaign.reader().read()
    return Standing(snapshot, watch(snapshot).alarms, **more)


def told(standing):
    return "\n".join(lines(standing))


@pytest.fixture
def busy(campaign, made):
    """A campaign with one task that goes well; written long ago by the machine's clock."""
    campaign.task(SALES, rollouts=3)
    for k in (None, 0):
        campaign.write(SALES, k, [made.outcome(0), made.outcome(1)], execution={"instances_total": 4})
    return campaign


def test_a_domain_that_failed_says_what_its_log_says_last(busy, made, capsys):
    busy.manifest["tasks"][0]["status"] = "failed"
    ended(busy, "completed_with_failures")
    log = busy.folder / "logs" / f"{SALES}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("$ clbench run\nTraceback\nConnectionError: it \x1b[31mwent away\n")
    busy.write(SALES, 1, [made.outcome(0)], status="blocked", execution={"instances_total": 4})
    assert main(["clbench", "status", str(busy.folder)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "  failed: sales: ConnectionError: it \ufffd[31mwent away" in said
    assert "  short: sales, rollout 1: 1 of 4 instances" in said


def ended(campaign, status="completed"):
    campaign.manifest["status"] = status
    campaign.store(campaign.folder / "manifest.json", campaign.manifest)


def followed(campaign, script, *options, screen=None):
    """Follow a campaign whose next state each wait brings about. Returns the exit code."""
    steps = iter(script)

    def wait(seconds, stop=None):
        campaign.clock.forward(seconds)
        next(steps)()
        return False

    campaign.clock.wait = wait
    parsed = build_parser().parse_args(["clbench", "status", str(campaign.folder), "--follow", *options])
    return clbench_status.run_status(parsed, clock=campaign.clock)


def test_a_table_tells_each_domain_and_each_pass(busy):
    busy.clock.forward(60.0)
    assert told(standing(busy)).splitlines() == [
        f"{RUNNING}, about 7 min left",
        "  task        state       instances  per hour  $/instance       cost  projected         left",
        "  sales       running          4/16      80.0      0.0100     0.0400       0.16        7 min",
        "    baseline 2 (1 min ago); rollout 0 2 (1 min ago); rollout 1 -; rollout 2 -",
    ]


def test_what_is_wrong_follows(busy, made):
    busy.task(DATABASE, status="failed", rollouts=1, baseline=False)
    busy.write(DATABASE, 0, [made.outcome(0), *(made.outcome(k, 0.0, 0.0) for k in range(1, 4))])
    supervised = Supervision(
        "ledger: running", paused={SALES: "livelock"}, ended={DATABASE: "nobody decided"}
    )
    losses = {LossClass.PROSE_FINAL: Count(lost=2, survived=1)}
    text = told(standing(busy, supervision=supervised, losses=losses, money=0.01))
    assert "  ledger: running" in text
    assert "  sales       paused" in text
    assert "  ALARM poisoned: db, rollout 0: 3 instances in a row" in text
    assert f"  paused: {SALES}: livelock" in text
    assert f"  ended: {DATABASE}: nobody decided" in text
    assert "  prose final: 2 lost, 1 survived; closed by: " in text
    assert "  money: $0.01 for about $0.12: $0.11 are missing" in text
    first, second, third = text.splitlines()[-3:]
    assert first == f"    {SALES}, rollout 1: 0 of 4 instances, $0.00 spent, ending it saves about $0.04"
    assert "rollout 2" in second
    assert "rollout 0: 2 of 4" in third


def test_a_domain_that_has_not_begun_is_not_counted_unless_something_tells_its_price(busy):
    busy.task(POKER, status="pending")
    known = summary(standing(busy, prices={POKER: 100.0}))
    assert summary(standing(busy)) == (
        "mine: running, 4 of 376 instances, $0.04 of about $0.16 (1 domain not counted), about 6 min left (1 domain not counted)"
    )
    assert known.endswith("$0.04 of about $300.16, about 6 min left (1 domain not counted)")


def test_what_it_costs_elsewhere_is_expected_of_what_has_not_begun(busy, capsys):
    busy.manifest["system"] = "ouroboros"
    busy.task(POKER, status="pending")
    main(["clbench", "status", str(busy.folder), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["unpriced"] == []
    assert told["tasks"][1]["dollars"]["projected"] == pytest.approx(3 * 117.0)


def test_enough_money_lists_nothing(busy):
    assert "missing" not in told(standing(busy, money=100.0))


def test_files_that_cannot_be_read_are_named_but_not_without_end(busy):
    for k in range(8):
        busy.task(f"task-{k}", rollouts=1, baseline=False)
        busy.store(busy.live(f"task-{k}") / "run_1.json", b"{")
    found = [line for line in told(standing(busy)).splitlines() if line.startswith("  cannot be read: ")]
    assert len(found) == 6
    assert found[0].startswith("  cannot be read: task-0, rollout 0: ")
    assert found[-1] == "  cannot be read: 3 files more"
    assert standing(busy).troubled


def test_the_miniature_is_named(campaign):
    campaign.task("mini_coin_duel", status="pending")
    assert "embedded miniature" in told(standing(campaign, embedded=True))


def test_hostile_text_is_harmless_in_lines_and_whole_in_json(campaign, made):
    evil = "evil\x1b[2J\n::error::x\u202e"
    campaign.manifest["run_name"] = evil
    campaign.task(evil, rollouts=1)
    campaign.write(evil, 0, [], open_turns=[{"query": {"instance_id": evil}}] * 150)
    one = standing(
        campaign, supervision=Supervision(evil, paused={evil: evil}, ended={evil: evil}), money=0.0
    )
    for line in [*lines(one), summary(one)]:
        assert line.isprintable()
    assert as_json(one)["name"] == evil


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_folder_is_looked_at_once(busy, capsys, options):
    assert main(["clbench", "status", str(busy.folder), *options]) == 1, (
        "by the machine's clock it has stalled"
    )
    out = capsys.readouterr().out
    if options:
        assert [one["kind"] for one in json.loads(out)["alarms"]] == ["stall"]
        assert json.loads(out)["orphaned"] is True
        assert json.loads(out)["tasks"][0]["passes"][1]["last"][-1] == {
            "instance_id": "i1",
            "reward": 0.5,
            "cost_usd": 0.01,
        }
    else:
        assert out.startswith(IN_NAME)
        assert "  processes: none of it is alive on this machine; salvage tells what is left\n" in out
        assert "ALARM stall: sales, rollout 0" in out


def test_what_is_complete_is_nothing_to_look_at(busy, made, capsys):
    busy.task(SALES, status="ok", rollouts=1, baseline=False)
    busy.write(SALES, 0, [made.outcome(k) for k in range(4)], status="completed")
    ended(busy)
    assert main(["clbench", "status", str(busy.folder)]) == 0
    assert capsys.readouterr().out.startswith("mine: completed, 4 of 4 instances, $0.04\n")


def test_a_campaign_of_which_a_process_is_alive_runs_however_long_it_is_silent(busy, capsys):
    # Whoever has just been started has no command line yet for a moment: it says when it is there.
    words = ["-c", "import time; print(flush=True); time.sleep(600)", "run-all", "--name", "mine"]
    with subprocess.Popen([sys.executable, *words], cwd=busy.root, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            assert main(["clbench", "status", str(busy.folder)]) == 1
        finally:
            process.kill()
    assert capsys.readouterr().out.startswith(RUNNING)


def test_a_campaign_is_found_by_its_name_in_the_checkout(busy, capsys, monkeypatch):
    monkeypatch.chdir(busy.root)
    assert main(["clbench", "status", "mine"]) == 1
    monkeypatch.chdir("/")
    assert main(["clbench", "status", "mine", "--checkout", str(busy.root)]) == 1
    assert capsys.readouterr().out.count(IN_NAME) == 2


def test_what_is_no_campaign_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["clbench", "status", "nothing"]) == 4
    assert "there is no campaign 'nothing'" in capsys.readouterr().err
    for odd in ("x" * 5000, "../..", "a\x1b[2Jb", ""):
        assert main(["clbench", "status", odd]) in {4, 11}
        assert "\x1b" not in capsys.readouterr().err
    assert main(["clbench", "status", str(tmp_path)]) == 11
    assert "neither manifest.json nor tasks/" in capsys.readouterr().err
    for wrong in (["--interval", "0"], ["--budget", "much"], ["--money", "-1"]):
        with pytest.raises(SystemExit) as left:
            main(["clbench", "status", "x", *wrong])
        assert left.value.code == 4


def test_following_tells_what_changes_line_by_line_and_ends_with_the_campaign(busy, made, capsys):
    def more():
        busy.write(SALES, 0, [made.outcome(k) for k in range(3)])

    def wrong():
        busy.write(SALES, 0, [made.outcome(k) for k in range(3)], open_turns=[made.turn(3)] * 150)

    def still():
        """Nothing new, and more of it to wait for."""

    code = followed(busy, [*[still] * 4, more, wrong, still, lambda: ended(busy)], "--interval", "3")
    out = capsys.readouterr().out.splitlines()
    assert code == 1, "rollouts did not come to their end"
    assert out[0].startswith(RUNNING)
    assert out[1].startswith("mine: running, 5 of 16"), (
        "at most one line in ten seconds, and none without news"
    )
    assert out[2].startswith("mine: running, 5 of 16")
    assert out[2].endswith("1 alarm")
    assert out[3].startswith("  ALARM livelock"), "an alarm does not wait"
    assert out[4].startswith("mine: completed")
    assert out[6].startswith("  sales       cut off ")
    assert out[7] == "    baseline 2 lost; rollout 0 3 lost; rollout 1 never begun; rollout 2 never begun"
    assert sum("ALARM" in line for line in out) == 1, "and is told once"


def test_following_in_json_is_a_line_for_every_change(busy, made, capsys):
    def more():
        busy.write(SALES, 0, [made.outcome(k) for k in range(3)])

    followed(busy, [more, lambda: ended(busy)], "--json")
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["instances"]["done"] for one in found] == [4, 5, 5]
    assert [one["status"] for one in found] == ["running", "running", "completed"]


def test_following_is_interrupted_without_harm(busy, capsys):
    def ctrl_c():
        raise KeyboardInterrupt

    assert followed(busy, [ctrl_c]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith(RUNNING)
    assert "left alone" in captured.err


def test_a_terminal_is_drawn_over_and_never_wraps_nor_scrolls(busy, made):
    stream = io.StringIO()
    screen = clbench_screens.Terminal(stream, busy.clock, lambda: os.terminal_size((40, 4)))
    screen.show(standing(busy), last=False)
    first = stream.getvalue()
    assert first.startswith("\x1b[J")
    drawn = first.removeprefix("\x1b[J").splitlines()
    assert len(drawn) == 3
    assert all(len(line) < 40 for line in drawn)
    assert "lines more" in drawn[-1]
    screen.show(standing(busy), last=True)
    second = stream.getvalue()[len(first) :]
    assert second.startswith("\x1b[3F\x1b[J")
    screen.end()
    assert stream.getvalue() == first + second + "\n", "the prompt begins on a line of its own"
    assert len(second.splitlines()) == 4, "the last look is whole"


class Tty(io.StringIO):
    def isatty(self):
        return True


def test_how_a_supervised_campaign_stands_is_drawn_over_how_it_stood_and_nothing_else_is(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Tty()
    say = clbench_screens.Narration(stream, "mine: ", lambda: os.terminal_size((40, 24)))
    say("run-all is process 7")
    say("mine: running, 1 of 92 instances")
    say("mine: running, 2 of 92 instances, and much more of it")
    say("ALARM stalled: shop")
    say("mine: running, 3 of 92 instances")
    drawn = stream.getvalue()
    assert drawn.count("\x1b[1F\x1b[J") == 1
    assert "1 of 92 instances\n\x1b[1F\x1b[Jmine: running, 2 of 92" in drawn
    assert "ALARM stalled: shop\nmine: running, 3 of 92" in drawn
    assert all(
        len(line.removeprefix("\x1b[1F\x1b[J")) < 40 for line in drawn.splitlines() if "running" in line
    )


def test_where_nothing_can_be_drawn_over_every_line_stands():
    stream = io.StringIO()
    say = clbench_screens.Narration(stream, "mine: ")
    say("mine: running, 1 of 92 instances")
    say("mine: running, 2 of 92 instances")
    assert not say.in_place
    assert stream.getvalue() == "mine: running, 1 of 92 instances\nmine: running, 2 of 92 instances\n"


@pytest.mark.parametrize(
    ("tty", "term", "kind"),
    [(True, "xterm", "Terminal"), (True, "dumb", "Screen"), (False, "xterm", "Screen")],
)
def test_only_a_terminal_is_drawn_over(monkeypatch, clock, tty, term, kind):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    monkeypatch.setenv("TERM", term)
    assert type(clbench_screens.screen_for(clock)).__name__ == kind


def test_the_budget_is_that_of_the_campaign_unless_it_is_named(busy, capsys, made):
    busy.task(POKER, rollouts=1, baseline=False, expected=100)
    busy.write(POKER, 0, [made.outcome(k) for k in range(10)], cost=10.0)
    main(["clbench", "status", str(busy.folder), "--budget", "60"])
    assert "ALARM truncation: poker, rollout 0" in capsys.readouterr().out
    main(["clbench", "status", str(busy.folder)])
    assert "truncation" not in capsys.readouterr().out


def test_a_long_silence_is_told_now_and_then(busy, capsys):
    followed(busy, [*[lambda: None] * 30, lambda: ended(busy)], "--interval", "30")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mine: running")]
    assert len(lines) == 1 + 3, "at once, and every five minutes of the fifteen"


@pytest.fixture
def known(busy, tmp_path):
    """The campaign in a ledger, as its supervisor began it. Returns the home, and what changes the campaign's record."""
    home = tmp_path / "home"
    told = {"checkout": str(busy.root), "run_folder": str(busy.folder)}
    identity = {
        "environment": {
            "OUROBOROS_TOTAL_BUDGET": "0.03",
            "OUROBOROS_BENCH_RUNS_ROOT": str(tmp_path / "engines"),
        }
    }

    @contextmanager
    def supervisor():
        with Ledger.open(home, clock=SystemClock(), owner=Owner.current("test")) as ledger:
            ledger.campaigns.begin("my name", told, identity)
            with ledger.campaigns.claim("my name") as lease:
                if lease.record.state is CampaignState.PLANNED:
                    lease.start(["clbench"])
                    lease.running(os.getpid(), "now")
                yield lease

    return home, supervisor


def test_a_campaign_of_the_ledger_is_found_by_its_name_with_what_its_supervisor_did(known, capsys):
    home, supervisor = known
    with supervisor() as lease:
        lease.heartbeat({"paused": {SALES: "livelock\x1b[2J"}, "ended": {POKER: "nobody decided"}})
        assert main(["clbench", "status", "my name", "--home", str(home)]) == 1
        out = capsys.readouterr().out
    assert out.startswith(RUNNING)
    assert "  ledger: running\n" in out
    assert "  sales       paused " in out
    assert f"  paused: {SALES}: livelock\ufffd[2J\n" in out
    assert f"  ended: {POKER}: nobody decided\n" in out
    assert "ALARM stall" not in out, "it stands still on purpose"


def test_a_campaign_of_the_ledger_is_known_by_its_folder_too_and_before_it_has_one(known, busy, capsys):
    home, supervisor = known
    with supervisor():
        main(["clbench", "status", str(busy.folder), "--home", str(home)])
        assert "  ledger: running\n" in capsys.readouterr().out
        busy.folder.rename(busy.folder.with_name("gone"))
        assert main(["clbench", "status", "my name", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "mine: not begun, nothing is written yet\n  ledger: running\n"


def test_a_campaign_whose_supervisor_died_is_lost_and_ends_the_following(known, capsys):
    home, supervisor = known
    with supervisor():
        pass
    assert main(["clbench", "status", "my name", "--home", str(home), "--follow"]) == 1
    assert "  ledger: lost\n" in capsys.readouterr().out


def test_a_campaign_that_was_ended_is_over_whatever_its_manifest_says(known, capsys):
    home, supervisor = known
    with supervisor() as lease:
        lease.heartbeat({"paused": {SALES: "livelock"}})
        lease.end(CampaignState.INTERRUPTED, -15, "asked for")
    main(["clbench", "status", "my name", "--home", str(home), "--follow"])
    out = capsys.readouterr().out
    assert "  ledger: interrupted\n" in out
    assert "paused" not in out


def test_the_budget_that_a_campaign_was_started_with_tells_truncation(known, busy, made, capsys):
    home, supervisor = known
    busy.write(SALES, 0, [made.outcome(k) for k in range(3)], cost=0.028)
    with supervisor():
        main(["clbench", "status", "my name", "--home", str(home)])
    assert "of a budget of $0.03 a rollout: it is as good as cut [pause]" in capsys.readouterr().out


@pytest.mark.parametrize("told", ["much", "", "-3", "0", None])
def test_a_budget_that_is_no_number_tells_nothing(told):
    assert _budget(told) is None


def test_a_name_that_is_nearly_right_is_suggested(known, capsys):
    home, supervisor = known
    with supervisor():
        assert main(["clbench", "status", "my-name", "--home", str(home)]) == 4
    assert "did you mean 'my name'?" in capsys.readouterr().err


def test_what_engines_lost_is_counted_with_what_closes_it(known, busy, tmp_path, capsys):
    home, supervisor = known
    busy.manifest["system"] = "ouroboros"
    busy.store(busy.folder / "manifest.json", busy.manifest)
    results = tmp_path / "engines" / "obo_dockerclbench_abcd1234" / "data" / "task_results"
    dead = {"task_id": "t-1", "status": "failed", "reason_code": "worker_crash_signal", "crash_signal": 9}
    with supervisor():
        results.mkdir(parents=True)
        (results / "t-1.json").write_text(json.dumps(dead))
        main(["clbench", "status", "my name", "--home", str(home)])
        text = capsys.readouterr().out
        main(["clbench", "status", "my name", "--home", str(home), "--json"])
        data = json.loads(capsys.readouterr().out)
    assert "  worker out of memory: 1 lost; closed by: max_workers 3" in text
    assert data["losses"] == {"worker out of memory": {"lost": 1, "survived": 0, "unknown": 0}}
