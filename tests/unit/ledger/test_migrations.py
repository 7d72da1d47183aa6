"""Ledgers that earlier releases made, restored from their dumps and opened with today's code."""

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pytest_evalharness.base.database import Database
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.ledger.keys import plan_key
from pytest_evalharness.ledger.questions import question_key
from pytest_evalharness.ledger.schema import MIGRATIONS
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.ledger.storage import Storage

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger"
DUMPS = sorted(GOLDEN.glob("schema-*.sql"), key=lambda path: path.name)
OLD = pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.stem)
DONE, LOST, RUNNING = (f"evals/test_{word}.py::test_{word}" for word in ("done", "lost", "running"))


def restore(dump, home, text=str):
    """Makes the ledger that a dump is of; returns its file."""
    home.mkdir(exist_ok=True)
    path = home / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(text(dump.read_text()))
    return path


def look(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql)]


def version(path):
    return look(path, "PRAGMA user_version")[0]["user_version"]


def tables(path):
    found = look(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {row["name"]: look(path, f"SELECT * FROM {row['name']}") for row in found}


def by_case(ledger):
    kept = [Kept.read(ledger, name) for name in ledger.runs.every_comparison()]
    return {one.comparison.case_name: one for one in kept}


def test_there_is_a_ledger_of_every_earlier_schema():
    assert {int(path.stem.split("-")[1]) for path in DUMPS} == set(range(1, len(MIGRATIONS)))


@OLD
def test_an_old_ledger_is_read_whole(dump, tmp_path, opened):
    before = tables(restore(dump, tmp_path))
    assert version(tmp_path / "ledger.sqlite") == int(dump.stem.split("-")[1])
    kept = by_case(opened())
    assert version(tmp_path / "ledger.sqlite") == len(MIGRATIONS)
    assert {case: one.words for case, one in kept.items() if "test_pool" not in case} == {
        DONE: "worse",
        LOST: "not finished",
        RUNNING: "not finished",
    }
    assert [block.state for block in kept[LOST].blocks] == [BlockState.POSTING] * 2
    assert [block.state for block in kept[RUNNING].blocks] == [BlockState.RUNNING] * 2
    assert all(block.request_id for block in kept[RUNNING].blocks)
    assert kept[DONE].played
    for case, one in kept.items():
        for part in one.parts:
            for arm in part.frozen.arms.values():
                assert sum(block.episodes for block in arm.blocks) == arm.episodes, case
    after = tables(tmp_path / "ledger.sqlite")
    for name in ("runs", "blocks", "verdicts", "once", "comparison_arms"):  # nothing of these is touched
        assert after[name] == before[name]
    assert len(after["comparisons"]) == len(before["comparisons"])


@OLD
def test_the_same_question_has_the_key_that_it_would_get_today(dump, tmp_path, opened):
    restore(dump, tmp_path)
    ledger = opened()
    for one in by_case(ledger).values():
        asked = {**one.plan.to_json(), "versions": one.comparison.plan["versions"]}
        assert one.comparison.plan_key == plan_key(asked)
        assert one.comparison.plan == asked
        again = ledger.open_comparison(asked, run_id="another", case_name="another")
        assert again.id == one.comparison.id
        assert [attempt.id for attempt in ledger.attempts(asked)] == [one.comparison.id]


@pytest.mark.parametrize("name", ["schema-1-first", "schema-2-last"])
def test_keys_that_were_right_stay(name, tmp_path, opened):
    dump = GOLDEN / f"{name}.sql"
    before = look(restore(dump, tmp_path), "SELECT comparison_id, plan_key FROM comparisons")
    opened()
    assert look(tmp_path / "ledger.sqlite", "SELECT comparison_id, plan_key FROM comparisons") == before


@OLD
def test_what_was_claimed_before_cannot_be_changed_now(dump, tmp_path, opened):
    """The first schema kept no list of declarations; results that were seen under it bind all the same."""
    restore(dump, tmp_path)
    ledger = opened()
    plan = by_case(ledger)[DONE].comparison.plan
    assert ledger.questions.declare(plan, run_id="another") is None
    other = {**plan, "declaration": {**plan["declaration"], "claim": "not_worse"}}
    assert ledger.questions.declare(other, run_id="another") == plan["declaration"]


def test_two_plans_that_are_one_today_are_two_attempts_at_it(tmp_path, opened):
    path = restore(GOLDEN / "schema-2-first.sql", tmp_path)
    (row,) = look(path, f"SELECT * FROM comparisons WHERE case_name = '{DONE}'")
    other = {**json.loads(row["plan_json"]), "top_n": 20}
    later = {
        **row,
        "comparison_id": "plan-other.1",
        "plan_key": "plan-other",
        "plan_json": json.dumps(other),
        "fresh": 1,
        "created_at": row["created_at"] + 1,
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE comparisons SET fresh = 1")
        places = ", ".join("?" * len(later))
        connection.execute(
            f"INSERT INTO comparisons ({', '.join(later)}) VALUES ({places})", [*later.values()]
        )
    ledger = opened()
    first, second = ledger.attempts(ledger.comparison("plan-other.1").plan)
    assert (first.id, first.attempt, first.fresh) == (row["comparison_id"], 1, True)
    assert (second.id, second.attempt, second.fresh) == ("plan-other.1", 2, False)
    assert first.plan_key == second.plan_key == plan_key(first.plan)
    assert ledger.open_comparison(first.plan, run_id="r", case_name="c").id == second.id
    assert question_key(first.plan) == question_key(second.plan)


# ------------------------------------------------------------- all or nothing

DIES = """
import os, pathlib, signal, sys
from pytest_evalharness.base import database
from pytest_evalharness.ledger.schema import MIGRATIONS

left = [int(sys.argv[2])]
real = database.Run.__call__

def run(self, sql, *args):
    rows = real(self, sql, *args)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows

database.Run.__call__ = run
database.Database(pathlib.Path(sys.argv[1]), MIGRATIONS)
print(-left[0])
"""


def migrate(path, dies_after):
    """Opens a file in a process that is killed after so many statements; returns what it says if it is not."""
    command = [sys.executable, "-c", DIES, str(path), str(dies_after)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_migration_that_is_killed_leaves_the_old_version_whole(tmp_path, opened):
    path = restore(GOLDEN / "schema-1-first.sql", tmp_path)
    statements = int(migrate(restore(GOLDEN / "schema-1-first.sql", tmp_path / "spare"), 0).stdout)
    assert statements > 20
    before = tables(path)
    for number in (
        2,
        statements // 2,
        statements,
    ):  # the last one raises the version; only the commit is missing
        killed = migrate(path, number)
        assert killed.returncode == -9, killed.stderr
        assert version(path) == 1
        assert tables(path) == before
    assert by_case(opened())[DONE].words == "worse"
    assert version(path) == len(MIGRATIONS)


def test_a_migration_for_which_the_disk_is_too_small_leaves_the_old_version_whole(tmp_path):
    path = restore(GOLDEN / "schema-1-first.sql", tmp_path)
    before = tables(path)

    def fails(run):
        MIGRATIONS[2](run)
        run("PRAGMA max_page_count=1")  # as many as there are: not one more
        run("CREATE TABLE big AS SELECT zeroblob(100000)")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        Database(path, [*MIGRATIONS[:2], fails])
    assert version(path) == 1
    assert tables(path) == before


def test_many_who_open_an_old_ledger_at_once_bring_it_up_once(tmp_path):
    path = restore(GOLDEN / "schema-1-first.sql", tmp_path)
    taken, start, failed = [], threading.Barrier(6), []

    def counted(run):
        taken.append(1)
        MIGRATIONS[2](run)

    def work():
        start.wait(60)
        try:
            Database(path, [*MIGRATIONS[:2], counted]).close()
        except Exception as problem:  # noqa: BLE001 - told to the test's own thread
            failed.append(problem)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert taken == [1]
    assert version(path) == 3


def test_no_copy_of_the_old_ledger_is_kept(tmp_path, opened):
    """Whoever put one back would post again what was posted since."""
    restore(GOLDEN / "schema-1-first.sql", tmp_path)
    opened().close()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]


def test_a_newer_schema_is_refused_and_both_versions_are_named(tmp_path):
    path = restore(GOLDEN / "schema-2-last.sql", tmp_path, lambda text: text + "PRAGMA user_version=7;")
    before = path.read_bytes()
    with pytest.raises(JournalUnavailable) as caught:
        Storage(tmp_path, 0.0)
    assert f"its schema is 7, this version knows {len(MIGRATIONS)}" in caught.value.what
    assert "upgrade pytest-evalharness" in caught.value.next_step
    assert path.read_bytes() == before
