"""`evalharness runs ls` and the refusals of `runs look`; looking at real games is tested with the plugin."""

import json

import pytest

from pytest_evalharness.cli import main


@pytest.mark.parametrize("make", [False, True], ids=["no folder", "empty folder"])
def test_where_there_is_nothing_nothing_is_made(book, command, make):
    if make:
        book.home.mkdir()
    code, out, _ = command("runs", "ls")
    assert code == 0
    assert out.startswith("no runs: ")
    assert ("has no ledger" in out) is make
    assert command("runs", "ls", "--json")[1].strip() == "[]"
    for words in (("runs", "look", "run-1"), ("pool", "run-1", "run-2")):
        code, _, errors = command(*words)
        assert code == 4
        assert "EVALHARNESS_HOME" in errors
    assert book.home.exists() is make
    assert not make or list(book.home.iterdir()) == []


def test_an_empty_ledger_is_told(book, command):
    book._ledger().close()
    assert command("runs", "ls") == (0, f"no runs: {book.home} has an empty ledger\n", "")


def test_runs_are_listed_the_newest_first_with_their_verdicts(book, command):
    book.run("run-1", book.one("t.py::test_crew", (28, 15)), book.one("t.py::test_open", seat=2))
    book.run(
        "run-2", book.again("t.py::test_crew", "run-1"), book.many("t.py::test_pool", [(15, 25), (14, 22)])
    )
    book.run("run-3")
    code, out, _ = command("runs", "ls")
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["run-3", "run-2", "run-1"]
    assert lines[0].endswith("embedded:2026  0 comparisons")
    assert lines[1:4] == [lines[1], "  BETTER         t.py::test_crew", "  WORSE          t.py::test_pool"]
    assert lines[5:] == ["  BETTER         t.py::test_crew", "  not posted     t.py::test_open"]
    told = json.loads(command("runs", "ls", "--json")[1])
    assert [run["run"] for run in told] == ["run-3", "run-2", "run-1"]
    assert told[2]["comparisons"][0]["decision"] == "met"
    assert told[2]["comparisons"][1]["verdict"] is None


def test_the_home_may_come_from_the_environment(book, monkeypatch, capsys):
    book.run("run-1")
    monkeypatch.setenv("EVALHARNESS_HOME", str(book.home))
    assert main(["runs", "ls"]) == 0
    assert "run-1" in capsys.readouterr().out


def test_the_home_of_a_project_is_the_one_that_pytest_has_there(book, tmp_path, monkeypatch, capsys):
    book.run("run-1")
    below = tmp_path / "evals"
    below.mkdir()
    monkeypatch.chdir(below)
    (tmp_path / "pytest.ini").write_text("[pytest]\nevalharness_home = home\n")
    assert main(["runs", "ls"]) == 0
    assert "run-1" in capsys.readouterr().out
    monkeypatch.setenv("EVALHARNESS_HOME", "elsewhere")
    assert main(["runs", "ls"]) == 0
    assert f"no folder {tmp_path / 'elsewhere'}" in capsys.readouterr().out
    assert main(["runs", "ls", "--home", "../home"]) == 0  # what is typed is meant from here
    assert "run-1" in capsys.readouterr().out
    monkeypatch.setenv("EVALHARNESS_HOME", "")
    assert main(["runs", "ls"]) == 4
    errors = capsys.readouterr().err
    assert "EVALHARNESS_HOME: '' must not be empty" in errors
    assert "next:     --home DIR" in errors  # as this command has it, not --eval-home
    (tmp_path / "pytest.ini").write_text("[pytest\n")
    assert main(["runs", "ls"]) == 4
    assert "pytest.ini cannot be read" in capsys.readouterr().err


def test_what_others_wrote_steers_no_terminal(book, command):
    book.server = "embedded:\x1b[31m"
    book.run("run\x1b[2J", book.one("t.py::test[\x1b]0;title\x07]", (28, 15)))
    _, out, _ = command("runs", "ls")
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize("words", [("runs",), ("runs", "lst"), ("runs", "look"), ("pool",)])
def test_usage_errors_exit_with_4(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 4
    assert "--help" in capsys.readouterr().err


def test_a_look_at_a_run_that_does_not_exist_names_those_that_do(book, command):
    book.run("run-1")
    code, _, errors = command("runs", "look", "run-7")
    assert code == 4
    assert "there is no run 'run-7'" in errors
    assert "the latest are: run-1" in errors


def test_what_is_judged_or_not_posted_is_no_early_look(book, command):
    book.run("run-1", book.one("t.py::test_crew", (28, 15)), book.one("t.py::test_open", seat=2))
    code, out, errors = command("runs", "look", "run-1")
    assert (code, errors) == (0, "")
    assert out.splitlines() == [
        "t.py::test_crew: BETTER; nothing to look at early",
        "t.py::test_open: nothing is posted yet",
    ]
    book.run("run-2")
    assert command("runs", "look", "run-2")[1] == "this run has asked for no comparison yet\n"
