import sqlite3
import threading

import pytest

from pytest_evalharness.base.database import Database, NoWalError, SchemaTooNewError

FIRST = "CREATE TABLE arms (name TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)"
SECOND = "ALTER TABLE arms ADD COLUMN state TEXT; CREATE INDEX by_state ON arms (state);"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def opened(path):
    databases = []

    def open_it(*migrations, **options):
        database = Database(path, migrations or (FIRST,), **options)
        databases.append(database)
        return database

    yield open_it
    for database in databases:
        database.close()


def names(database):
    return [row["name"] for row in database.read("SELECT name FROM arms ORDER BY name")]


def add_and_raise(database, error):
    with database.transaction() as run:
        run("INSERT INTO arms (name) VALUES ('gone')")
        raise error


def add(database, name):
    with database.transaction() as run:
        run("INSERT INTO arms (name) VALUES (?)", name)


def version(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


# --------------------------------------------------------------- migrations


def test_a_file_of_a_newer_program_is_left_alone(opened, path):
    opened(FIRST, SECOND).close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNewError) as caught:
        opened(FIRST)
    assert (caught.value.have, caught.value.know, caught.value.path) == (2, 1, path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_a_migration_that_fails_changes_nothing(opened, path):
    add(opened(), "kept")
    with pytest.raises(sqlite3.OperationalError):
        opened(FIRST, SECOND, "CREATE TABLE more (x); NONSENSE")
    assert version(path) == 1
    again = opened(FIRST, SECOND)
    assert names(again) == ["kept"]
    assert version(path) == 2


def test_only_new_migrations_run(opened, path):
    add(opened(FIRST), "old")
    opened(FIRST)  # a second CREATE TABLE would fail
    newer = opened(FIRST, SECOND)
    assert newer.read("SELECT name, state FROM arms")[0]["state"] is None
    assert version(path) == 2


def test_no_migrations_at_all(path):
    Database(path, ()).close()
    assert version(path) == 0


def test_what_is_no_database_is_refused(opened, path):
    path.write_bytes(b"this is no database, but long enough to be read as one" * 50)
    with pytest.raises(sqlite3.DatabaseError):
        opened()


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        Database(tmp_path / "nowhere" / "ledger.sqlite", (FIRST,))


def test_where_there_is_no_write_ahead_log(tmp_path):
    with pytest.raises(NoWalError) as caught:
        Database(":memory:", (FIRST,))
    assert caught.value.mode == "memory"


# ------------------------------------------------------------- transactions


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), SystemExit()])
def test_an_exception_takes_everything_back(opened, error):
    database = opened()
    with pytest.raises(type(error)):
        add_and_raise(database, error)
    assert names(database) == []
    add(database, "next")
    assert names(database) == ["next"]


def test_a_commit_that_fails_leaves_the_connection_usable(opened):
    database = opened(
        FIRST,
        "CREATE TABLE blocks (arm TEXT REFERENCES arms (name) DEFERRABLE INITIALLY DEFERRED)",
    )
    with pytest.raises(sqlite3.IntegrityError), database.transaction() as run:
        run("INSERT INTO blocks VALUES ('nobody')")
    assert database.read("SELECT * FROM blocks") == []
    add(database, "next")
    assert names(database) == ["next"]


def test_others_see_nothing_before_the_commit(opened):
    mine, theirs = opened(), opened()
    with mine.transaction() as run:
        run("INSERT INTO arms (name) VALUES ('soon')")
        assert names(theirs) == []
    assert names(theirs) == ["soon"]


def test_a_lock_is_waited_for_no_longer_than_allowed(opened):
    mine, theirs = opened(), opened(busy=0.01)
    with (
        mine.transaction(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
        theirs.transaction(),
    ):
        pass
    add(theirs, "later")
    assert names(mine) == ["later"]


def test_changed_counts_rows(opened):
    database = opened()
    add(database, "a")
    add(database, "b")
    with database.transaction() as run:
        assert run.changed("UPDATE arms SET n = 1") == 2
        assert run.changed("UPDATE arms SET n = 2 WHERE name = ?", "nobody") == 0


def test_values_are_never_part_of_the_statement(opened):
    database = opened()
    add(database, "'; DROP TABLE arms; --")
    assert names(database) == ["'; DROP TABLE arms; --"]


# ------------------------------------------------------------------ threads


def test_threads_lose_no_update(opened):
    database = opened()
    add(database, "arm")
    failures = []

    def count():
        try:
            for _ in range(10):
                with database.transaction() as run:
                    n = run("SELECT n FROM arms")[0]["n"]
                    run("UPDATE arms SET n = ?", n + 1)
        except Exception as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert database.read("SELECT n FROM arms")[0]["n"] == 40


def test_closing_closes_what_other_threads_opened(opened):
    database = opened()
    held = []

    def use():
        held.append(database._connection())

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    database.close()
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        held[0].execute("SELECT 1")


def test_threads_that_have_ended_hold_no_file_open(opened):
    """A comparison of pairs has a thread for each of hundreds of requests."""
    database = opened()
    for number in range(20):
        thread = threading.Thread(target=database.read, args=("SELECT ?", number))
        thread.start()
        thread.join()
    alive = [thread for thread, _ in database._opened if thread.is_alive()]
    assert alive == [threading.current_thread()]
    assert len(database._opened) <= 2
    assert database.read("SELECT 1")


def test_a_closed_database_opens_again_when_it_is_used(opened):
    database = opened()
    add(database, "kept")
    database.close()
    assert names(database) == ["kept"]
