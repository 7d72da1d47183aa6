"""A look at games that are still being played: agreed to, written down first, and paid for with the rule."""

import io
import json
import sqlite3
import sys
import time

import pytest

from pytest_evalharness.cli import main

POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"role": "crew"}, {"opponents": ["gantry:v4"]}], claim="better", episodes=30)
def test_pool(pool):
    pool.require()
"""

NOTHING_YET = (
    "candidate keeper:v2 won 0 of 0 finished games (30 asked for), "
    "baseline keeper:v1 won 0 of 0 finished games (30 asked for): the overlap rule cannot tell yet"
)


def looks(project):
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        return [
            json.loads(seen) for (seen,) in file.execute("SELECT seen_json FROM looks WHERE position IS NULL")
        ]


@pytest.fixture
def left(project, unhurried):
    """Begin a run whose games wait in the queue until the league is healed, and leave it; returns its id."""

    def leave(source=None):
        if source is not None:
            project.cases(source)
        project.league.fault("closed-queue")
        assert project.judge_here("--eval-queue-budget=0.3").ret == 11
        return max(path.name for path in project.home.glob("runs/*"))

    return leave


@pytest.fixture
def look(project, capsys):
    """Look at a run from the command line."""

    def at(run, *more):
        capsys.readouterr()
        code = main(["runs", "look", run, "--home", str(project.home), *more])
        told = capsys.readouterr()
        return code, told.out, told.err

    return at


def test_nobody_there_to_agree_is_a_usage_error_and_nothing_is_written_down(project, left, look):
    run, posted = left(), project.league.posts
    code, out, errors = look(run)
    assert code == 4
    assert "its score rule keeps its promise for one look only" in errors
    assert "judged by the overlap rule for good" in errors
    assert "--yes" in errors
    assert out == ""
    assert looks(project) == []
    assert project.league.posts == posted


@pytest.mark.parametrize(
    ("answer", "code", "taken"), [("y\n", 0, 1), ("n\n", 1, 0), ("\n", 1, 0), ("", 1, 0)]
)
def test_on_a_terminal_one_is_asked(request, monkeypatch, answer, code, taken):
    project, left, look = map(request.getfixturevalue, ("project", "left", "look"))
    run = left()
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    found, out, errors = look(run)
    assert found == code
    assert "Look all the same? [y/N]" in errors
    assert len(looks(project)) == taken
    assert ("look written down" in out) is bool(taken)


def test_a_server_that_does_not_answer_shows_and_records_nothing(project, left, look):
    run = left()
    project.league.fault("html")
    code, out, errors = look(run, "--yes")
    assert code == 11
    assert "EVH204" in errors
    assert out == ""
    assert looks(project) == []


def test_after_a_look_the_overlap_rule_decides_for_good_and_a_fresh_attempt_is_a_new_record(
    project, left, look
):
    run = left()
    code, out, _ = look(run, "--yes")
    assert code == 0
    assert out.splitlines() == [
        "test_evals.py::test_crew: look written down; the overlap rule will decide",
        f"  {NOTHING_YET}",
    ]
    project.league.heal()
    code, out, errors = look(run)  # it is moved already: nothing is left to agree to
    assert (code, errors) == (0, "")
    assert len(looks(project)) == 2

    result = project.judge_here("-v")
    assert project.posted == 2
    result.stdout.fnmatch_lines(["*so the overlap rule decides for good (2 times)*"])
    (found,) = project.results()["cases"][0]["results"]
    assert (found["judgement"]["rule"], found["judgement"]["unplanned_looks"]) == ("overlap", 2)
    assert found["judgement"]["declaration"]["rule"] == "score"

    code, out, errors = look(run)
    assert (code, errors) == (0, "")
    assert out == "test_evals.py::test_crew: BETTER; nothing to look at early\n"
    assert len(looks(project)) == 2

    project.judge_here("--eval-fresh")
    (found,) = project.results()["cases"][0]["results"]
    assert (found["attempt"], found["judgement"]["rule"], found["judgement"]["unplanned_looks"]) == (
        2,
        "score",
        0,
    )
    assert found["earlier"] == ["better (attempt 1)"]


def test_finished_games_are_counted_and_the_overlap_rule_says_how_they_stand(project, left, look):
    run = left()
    project.league.heal()
    for name in requests(project):
        wait_for(project, name)
    _, out, _ = look(run, "--yes")
    (seen,) = looks(project)
    (part,) = seen["parts"]
    assert part["candidate"]["finished"] == part["baseline"]["finished"] == 30
    assert f"candidate keeper:v2 won {part['candidate']['wins']} of 30 finished games" in out
    project.judge_here()
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["candidate"]["wins"] == part["candidate"]["wins"]
    assert found["judgement"]["separated"] == part["separated"]


def requests(project):
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        return [name for (name,) in file.execute("SELECT request_id FROM blocks")]


def wait_for(project, name):
    deadline = time.monotonic() + 120
    while project.league.read(f"/v2/experience-requests/{name}")["status"] != "completed":
        assert time.monotonic() < deadline, f"{name} did not end"
        time.sleep(0.02)


@pytest.mark.parametrize("rule", ["overlap", "always_valid"])
def test_a_rule_that_stands_any_look_is_looked_at_freely(project, left, look, rule):
    run = left(f"""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=30, claim="better", rule="{rule}")
        def test_crew(ab):
            ab.require()
    """)
    code, out, errors = look(run)
    assert (code, errors) == (0, "")
    assert f"look written down; the {rule} rule will decide" in out
    assert len(looks(project)) == 1
    project.league.heal()
    project.judge_here()
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["rule"] == rule
    assert all(reason["reason"] != "unplanned_look" for reason in found["judgement"]["reasons"])


def test_a_pool_that_was_looked_at_must_reach_the_level_of_the_overlap_rule(project, left, look):
    run = left(POOL)
    code, out, _ = look(run, "--yes")
    assert code == 0
    assert "  crew: candidate keeper:v2 won 0 of 0" in out
    assert "  opponents gantry:v4: candidate keeper:v2 won 0 of 0" in out
    project.league.heal()
    result = project.judge_here("-v")
    result.stdout.fnmatch_lines(
        ["*CMH *at the overlap rule's level*", "*the overlap rule decides for good (once)*"]
    )
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["rule"] == "overlap"
    assert project.posted == 4


def test_an_embedded_league_is_started_again_on_its_state(project, look, monkeypatch, capsys):
    project.cases(POOL.replace('league_pool(configs=[{"role": "crew"}, {"opponents": ["gantry:v4"]}], ', "league_ab(")
                  .replace("pool", "ab"))  # fmt: skip
    result = project.judge("--eval-arena-fault=slow-queue=600", "--eval-queue-budget=0.3", server="embedded")
    assert result.ret == 11
    (run,) = (path.name for path in project.home.glob("runs/*"))
    monkeypatch.setenv("EVALHARNESS_TOKEN", "tok_for_a_hosted_league")  # must not be sent to it
    code, out, errors = look(run, "--yes")
    assert code == 0, errors
    assert "won 0 of 0 finished games" in out or "finished games" in out
    notice = "note: the field is the embedded league (seed 2026): real games, invented players\n"
    assert out.endswith(notice)
    assert len(looks(project)) == 1
    assert main(["runs", "resume", run, "--home", str(project.home)]) == 11  # its games still queue
    assert notice in capsys.readouterr().out


@pytest.mark.parametrize("metric", ["seat score", "mymetrics:kills"])
def test_a_look_shows_the_declared_metric_and_not_wins(project, left, look, monkeypatch, metric):
    project.pytester.makepyfile(mymetrics='def kills(game):\n    return game.own("kills")\n')
    monkeypatch.syspath_prepend(project.pytester.path)
    run = left(
        f"""
        import pytest

        @pytest.mark.league_ab(role="crew", claim="better", metric="{metric}")
        def test_metric(ab):
            ab.require("better", "worse", "equivalent", "inconclusive")
        """
    )
    project.league.heal()
    for name in requests(project):
        wait_for(project, name)
    _, out, _ = look(run, "--yes")
    (part,) = looks(project)[0]["parts"]
    assert part["metric"] == {"seat score": "score"}.get(metric, metric)
    shown = metric.rpartition(":")[2]
    assert (
        f"candidate keeper:v2 has {part['candidate']['mean']:.3g} mean {shown} in 30 finished games (30 asked for)"
        in out
    )
    assert " won " not in out
    project.judge_here()
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["measure"]["candidate"] == pytest.approx(part["candidate"]["mean"])
