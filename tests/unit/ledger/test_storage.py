"""A file that is of no use says so before anything is posted."""

import sqlite3
import threading
from contextlib import closing

import pytest

from pytest_evalharness.base.database import Database, NoWalError, SchemaTooNewError
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.ledger import storage
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.ledger.schema import MIGRATIONS
from pytest_evalharness.ledger.storage import Storage


@pytest.fixture
def refusal(tmp_path):
    """The error that opening a home raises."""

    def open_it(home=tmp_path, busy=0.05):
        with pytest.raises(JournalUnavailable) as caught:
            Storage(home, 0.0, busy=busy)
        error = caught.value
        assert error.what.startswith("ledger: ")
        assert error.not_done
        assert error.next_step
        return error

    return open_it


def test_it_makes_its_folder_and_speaks_wal(tmp_path):
    home = tmp_path / "a" / "b"
    opened = Storage(home, 5.0)
    assert opened.read("PRAGMA journal_mode")[0][0] == "wal"
    assert opened.read("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    assert opened.read("SELECT written_at FROM probe")[0][0] == 5.0
    opened.close()
    again = Storage(home, 6.0)
    assert again.read("SELECT written_at FROM probe")[0][0] == 6.0
    again.close()
    again.close()


def test_a_file_where_the_folder_should_be(tmp_path, refusal):
    (tmp_path / "home").write_text("")
    assert "cannot make the folder" in refusal(tmp_path / "home").what
    assert "cannot make the folder" in refusal(tmp_path / "home" / "below").what


def test_a_folder_where_the_file_should_be(tmp_path, refusal):
    (tmp_path / "ledger.sqlite").mkdir()
    assert "cannot be opened" in refusal().what


@pytest.mark.parametrize("content", [b"not a ledger at all, " * 100, b"\x00" * 4096 + b"x"])
def test_a_file_that_is_no_ledger(tmp_path, refusal, content):
    (tmp_path / "ledger.sqlite").write_bytes(content)
    error = refusal()
    assert "is not a ledger" in error.what
    assert "aside" in error.next_step
    assert (tmp_path / "ledger.sqlite").read_bytes() == content


def test_a_damaged_file(tmp_path, refusal):
    Storage(tmp_path, 0.0).close()
    path = tmp_path / "ledger.sqlite"
    data = bytearray(path.read_bytes())
    data[100:] = b"\xa5" * (len(data) - 100)
    path.write_bytes(data)
    assert "is damaged" in refusal().what


def test_damage_found_later_is_told_too(tmp_path):
    opened = Storage(tmp_path, 0.0)
    with opened.transaction() as run:
        run("INSERT INTO runs VALUES ('r', 0, ?)", "x" * 200_000)
    opened.close()
    path = tmp_path / "ledger.sqlite"
    data = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT rootpage FROM sqlite_master WHERE name='runs'").fetchone()
    page = int(row[0])
    data[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    opened = Storage(tmp_path, 0.0)
    with pytest.raises(JournalUnavailable, match="is damaged"):
        opened.read("SELECT * FROM runs")
    with pytest.raises(JournalUnavailable, match="is damaged"), opened.transaction() as run:
        run("INSERT INTO runs VALUES ('s', 0, '')")
    opened.close()


def test_a_newer_version_wrote_it(tmp_path, refusal):
    Storage(tmp_path, 0.0).close()
    connection = sqlite3.connect(tmp_path / "ledger.sqlite")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    error = refusal()
    assert f"its schema is 99, this version knows {len(MIGRATIONS)}" in error.what
    assert "upgrade" in error.next_step


def test_somebody_holds_it_locked(tmp_path, refusal):
    Storage(tmp_path, 0.0).close()
    holder = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "stayed locked by another process for 0.05 s" in refusal().what
    holder.execute("ROLLBACK")
    holder.close()
    Storage(tmp_path, 0.0).close()


def test_a_network_file_system(tmp_path, refusal, monkeypatch):
    monkeypatch.setattr(storage, "network_kind", lambda _: "nfs4")
    error = refusal()
    assert "network file system (nfs4)" in error.what
    assert "local disk" in error.next_step
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_file_system_without_shared_memory(tmp_path, refusal, monkeypatch):
    """sqlite's own dot-file locking has none, and falls back silently."""
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: real(f"file:{path}?vfs=unix-dotfile", uri=True, **options)
    )
    assert "cannot use a write-ahead log here (sqlite fell back to 'delete')" in refusal().what
    with pytest.raises(NoWalError):
        Database(tmp_path / "x", MIGRATIONS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_FULL", "is full"),
        ("SQLITE_READONLY_DIRECTORY", "cannot be written"),
        ("SQLITE_PERM", "permission denied"),
        ("SQLITE_IOERR_SHMMAP", "share memory"),
        ("SQLITE_IOERR_LOCK", "without working locks"),
        ("SQLITE_IOERR_WRITE", "reading or writing"),
        ("SQLITE_CORRUPT_INDEX", "damaged"),
        ("SQLITE_NOLFS", "no large files (SQLITE_NOLFS)"),
        ("", "no large files (sqlite)"),
    ],
)
def test_every_trouble_has_words(tmp_path, name, words):
    opened = Storage(tmp_path, 0.0)
    error = sqlite3.OperationalError("no large files")
    if name:
        error.sqlite_errorname = name
    with pytest.raises(JournalUnavailable) as caught, opened.transaction():
        raise error
    assert words in caught.value.what
    opened.close()


def test_an_error_of_the_operating_system_has_words(tmp_path):
    opened = Storage(tmp_path, 0.0)
    with pytest.raises(JournalUnavailable, match="Too many open files"), opened.transaction():
        raise OSError(24, "Too many open files")
    opened.close()


def test_defects_in_our_own_sql_are_not_dressed_up(tmp_path):
    opened = Storage(tmp_path, 0.0)
    with pytest.raises(sqlite3.IntegrityError), opened.transaction() as run:
        run("INSERT INTO probe VALUES (2, 0, '')")
    with pytest.raises(sqlite3.ProgrammingError):
        opened.read("SELECT ?")
    opened.close()


# ------------------------------------------------------------ the database below


def test_an_error_inside_rolls_back_and_the_connection_lives_on(tmp_path):
    database = Database(tmp_path / "d", ["CREATE TABLE t (x UNIQUE)"])
    with pytest.raises(KeyError), database.transaction() as run:
        {}[run.changed("INSERT INTO t VALUES (1)")]
    with database.transaction() as run:
        assert run.changed("INSERT INTO t VALUES (1)") == 1
    database.close()


def test_a_commit_that_fails_leaves_no_open_transaction(tmp_path):
    database = Database(
        tmp_path / "d",
        ["CREATE TABLE a (x PRIMARY KEY); CREATE TABLE b (x REFERENCES a DEFERRABLE INITIALLY DEFERRED)"],
    )
    for _ in range(2):
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"), database.transaction() as run:
            run("INSERT INTO b VALUES (1)")
    assert database.read("SELECT * FROM b") == []
    database.close()


def test_the_first_error_is_told_when_sqlite_has_rolled_back_by_itself(tmp_path):
    database = Database(tmp_path / "d", ["CREATE TABLE t (x)"])
    with pytest.raises(KeyError, match="first"), database.transaction() as run:
        {}["first", *run("ROLLBACK")]
    database.close()


def test_migrations_are_applied_once_each(tmp_path):
    first = "CREATE TABLE t (x)"
    Database(tmp_path / "d", [first]).close()
    database = Database(tmp_path / "d", [first, "ALTER TABLE t ADD COLUMN y; INSERT INTO t VALUES (1, 2)"])
    assert [tuple(row) for row in database.read("SELECT * FROM t")] == [(1, 2)]
    database.close()
    with pytest.raises(SchemaTooNewError):
        Database(tmp_path / "d", [first])


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path):
    Database(tmp_path / "d", ["CREATE TABLE t (x)"]).close()
    with pytest.raises(sqlite3.OperationalError):
        Database(tmp_path / "d", ["CREATE TABLE t (x)", "CREATE TABLE u (x); NONSENSE"])
    database = Database(tmp_path / "d", ["CREATE TABLE t (x)", "CREATE TABLE u (x)"])
    assert database.read("SELECT * FROM u") == []
    database.close()


# ------------------------------------------------------------------- threads


def test_threads_of_one_process_exclude_each_other(ledger, opened, lay):
    """Sixteen threads on two ledgers: each block is leased once, each piece of work done once."""
    blocks = [lay(f"arm-{n}").block_id for n in range(4)]
    ledgers = [ledger, opened(2)]
    start, won = threading.Barrier(16), []

    def work(number):
        mine = ledgers[number % 2]
        start.wait(60)
        for block_id in blocks:
            lease = mine.acquire(block_id)
            if lease is not None:
                lease.begin_post()
                won.append(block_id)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(won) == sorted(blocks)


def test_an_unknown_arm_spec_kind_is_kept(ledger):
    comparison = ledger.open_comparison({}, run_id="r", case_name="c")
    ledger.freeze(comparison.id, {}, {"campaign": ArmSpec("k", {}, [], kind="campaign")})
    assert ledger.arm("k").kind == "campaign"
