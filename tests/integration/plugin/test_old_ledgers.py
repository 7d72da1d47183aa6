"""The same command on a ledger that an earlier release made: read again, gone on with, and nothing posted twice."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_evalharness.base.database import Run
from pytest_evalharness.cli import main
from pytest_evalharness.league.arms import signed_body
from pytest_evalharness.ledger.documents import bring_up
from pytest_evalharness.ledger.schema import MIGRATIONS

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger"
DUMPS = sorted(path.stem for path in GOLDEN.glob("schema-*.sql"))
OLD = [
    pytest.param(name, marks=() if name in (DUMPS[0], DUMPS[-1]) else pytest.mark.slow, id=name)
    for name in DUMPS
]
CASES = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=8, ticks=10_000, claim="better")
def test_done(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", episodes=2, ticks=9001, claim="better")
def test_lost(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", episodes=2, ticks=9002, claim="better")
def test_running(ab):
    ab.require()
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def names_in(home, sql):
    with closing(sqlite3.connect(home / "ledger.sqlite")) as connection:
        return [row[0] for row in connection.execute(sql)]


@pytest.fixture
def restored(project, tmp_path):
    """Makes the home that a dump is of, as if its games had been asked for at the league of these tests."""

    def make(name):
        text = (GOLDEN / f"{name}.sql").read_text().replace('"embedded:2026"', f'"{project.league.api}"')
        project.home.mkdir()
        with closing(sqlite3.connect(project.home / "ledger.sqlite")) as connection:
            connection.executescript(text)
            if connection.execute("PRAGMA user_version").fetchone()[0] > 2:
                connection.row_factory = sqlite3.Row
                bring_up(Run(connection))  # keys name the server; older ledgers get them when they are opened
                connection.row_factory = None
            for block_id, body, token, key, request in connection.execute(
                "SELECT block_id, body_json, token, idempotency_key, request_id FROM blocks WHERE state <> 'finished'"
            ).fetchall():
                # What had been accepted is at the server, with the marks by which it is found.
                signed = signed_body(json.loads(body), notes="", token=token, idempotency_key=key)
                known = project.league.write("/v2/experience-requests", signed)["id"]
                if request is not None:
                    sql = "UPDATE blocks SET request_id = ? WHERE block_id = ?"
                    connection.execute(sql, (known, block_id))
            connection.commit()
        return project.home

    return make


@pytest.mark.parametrize("name", OLD)
def test_the_same_command_goes_on_with_an_old_ledger(project, restored, name, monkeypatch, capsys):
    home = restored(name)
    before = project.league.posts
    project.cases(CASES)
    command = [
        word for word in project.command(candidate="keeper:v3", baseline="keeper:v2") if "ticks" not in word
    ]
    result = project.pytester.runpytest_inprocess(*command, syspathinsert=True)
    told = said(result)
    assert result.ret == 1, told
    assert project.league.posts == before
    assert "WORSE, -100.0 pp [-100.0, -59.2], 0/8 vs 8/8, seats verified" in told
    assert "read again, " in told
    assert len(re.findall("found its request .*; nothing was posted again", told)) == 2
    assert len(re.findall("goes on with .*; nothing was posted again", told)) == 2
    assert "1 failed, 2 inconclusive in" in told
    assert names_in(home, "PRAGMA user_version") == [len(MIGRATIONS)]
    assert names_in(home, "SELECT DISTINCT state FROM blocks") == ["finished"]
    capsys.readouterr()
    told = read_by_commands(home, capsys)
    assert "WORSE" in told["ls"]
    assert "not finished" not in told["ls"]


def read_by_commands(home, capsys):
    """What each command that reads the ledger says about it, run by run; none of them fails."""
    told = {}
    assert main(["runs", "ls", "--home", str(home)]) == 0
    told["ls"] = capsys.readouterr().out
    for run in names_in(home, "SELECT run_id FROM verdicts"):
        for words in (["show", run], ["export", run, "-o", str(home / f"{run}.json")]):
            assert main(["runs", *words, "--home", str(home)]) == 0
            told[words[0]] = capsys.readouterr().out
    newest = names_in(home, "SELECT run_id FROM runs ORDER BY created_at DESC")[0]
    assert main(["runs", "verify", str(home / f"{newest}.json")]) == 0
    assert capsys.readouterr().out.startswith("identical: 3 verdicts")
    return told


def test_what_another_release_judged_is_shown_and_cannot_be_verified(restored, capsys):
    home = restored("schema-1-first")
    (run,) = names_in(home, "SELECT run_id FROM verdicts")
    assert main(["runs", "show", run, "--home", str(home)]) == 0
    assert "worse (written by another release)" in capsys.readouterr().out
    assert main(["runs", "export", run, "-o", str(home / "e.json"), "--home", str(home)]) == 0
    assert main(["runs", "verify", str(home / "e.json")]) == 4
    told = capsys.readouterr().err
    assert "another release judged it" in told
    assert "judges its evidence again and posts nothing" in told


def test_a_ledger_of_a_newer_release_stops_everybody(project, restored, capsys):
    home = restored("schema-2-last")
    with closing(sqlite3.connect(home / "ledger.sqlite")) as connection:
        connection.execute("PRAGMA user_version=99")
    before = project.league.posts
    result = project.judge_here()
    refused = f"was written by a newer version (its schema is 99, this version knows {len(MIGRATIONS)})"
    assert result.ret == 11
    assert refused in said(result)
    assert project.league.posts == before
    capsys.readouterr()
    assert main(["runs", "ls", "--home", str(home)]) == 11
    assert refused in capsys.readouterr().err
