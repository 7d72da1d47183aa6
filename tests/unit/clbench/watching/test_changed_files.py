"""Files that are rewritten while they are read: what is whole is kept, what did not change is not read again."""

import json
import os

import pytest

from pytest_evalharness.clbench.artifact import Unreadable
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles

LONG_AGO = 1_700_000_000.0


def parsed(raw):
    try:
        return json.loads(raw)
    except ValueError as problem:
        raise Unreadable(str(problem)) from None


@pytest.fixture
def files():
    return ChangedFiles(lambda: LONG_AGO + 3600.0)


def store(path, text, *, at=LONG_AGO):
    path.write_text(text)
    os.utime(path, (at, at))


def test_a_file_that_did_not_change_is_not_read_again(files, tmp_path):
    store(tmp_path / "a", "[1]")
    assert [files.read(tmp_path / "a", parsed).value for _ in range(3)] == [[1]] * 3
    assert (files.readings, files.bytes_read) == (1, 3)


@pytest.mark.parametrize("how", ["later", "longer", "another file at the same time and of the same size"])
def test_whatever_tells_another_content_has_it_read(files, tmp_path, how):
    path = tmp_path / "a"
    store(path, "[1]")
    files.read(path, parsed)
    if how == "later":
        store(path, "[2]", at=LONG_AGO + 1)
    elif how == "longer":
        store(path, "[2, 2]")
    else:
        store(tmp_path / "b", "[2]")
        (tmp_path / "b").replace(path)
    assert files.read(path, parsed).value[0] == 2


def test_a_file_that_was_written_a_moment_ago_is_read_again_for_its_stamp_may_not_tell_the_next_change(
    tmp_path,
):
    files = ChangedFiles(lambda: LONG_AGO + 0.001)
    store(tmp_path / "a", "[1]")
    files.read(tmp_path / "a", parsed)
    inode = (tmp_path / "a").stat().st_ino
    with (tmp_path / "a").open("r+") as same:  # in its place, of the same size, within the kernel's tick
        same.write("[2]")
    os.utime(tmp_path / "a", (LONG_AGO, LONG_AGO))
    assert (tmp_path / "a").stat().st_ino == inode
    assert files.read(tmp_path / "a", parsed).value == [2]


def test_a_torn_file_leaves_what_was_read_before_and_says_why(files, tmp_path):
    path = tmp_path / "a"
    store(path, "[1, 2]")
    files.read(path, parsed)
    store(path, "[1, 2, 3", at=LONG_AGO + 5)
    torn = files.read(path, parsed)
    assert torn.value == [1, 2]
    assert torn.problem
    assert torn.changed == LONG_AGO + 5
    readings = files.readings
    assert files.read(path, parsed) == torn
    assert files.readings == readings, "a damaged file is read again only when it changes"
    store(path, "[1, 2, 3]", at=LONG_AGO + 6)
    assert files.read(path, parsed).value == [1, 2, 3]
    assert files.read(path, parsed).problem is None


def test_a_change_that_comes_while_a_file_is_parsed_is_seen_by_the_next_look(tmp_path):
    path, contents = tmp_path / "a", iter(["[2]", "[33]"])
    store(path, "[1]")

    def meanwhile(raw):
        if (text := next(contents, None)) is not None:
            store(path, text, at=LONG_AGO + len(text))
        return parsed(raw)

    held = ChangedFiles(lambda: LONG_AGO + 3600.0)
    assert held.read(path, meanwhile).value == [1]
    assert held.read(path, meanwhile).value == [2]
    assert held.read(path, meanwhile).value == [33]


def test_a_file_that_was_replaced_while_it_was_read_is_the_whole_old_one(files, tmp_path, monkeypatch):
    path, real = tmp_path / "a", os.fdopen
    store(path, "[1]")

    def replaced(handle, mode):
        store(tmp_path / "new", "[1, 2]")
        (tmp_path / "new").replace(path)
        return real(handle, mode)

    monkeypatch.setattr(os, "fdopen", replaced)
    assert files.read(path, parsed).value == [1]
    monkeypatch.undo()
    assert files.read(path, parsed).value == [1, 2]


def test_a_file_that_is_not_there_yet_is_no_problem_and_one_that_is_gone_is(files, tmp_path):
    path = tmp_path / "a"
    assert files.read(path, parsed) == files.read(path, parsed)
    assert files.read(path, parsed).problem is None
    store(path, "[1]")
    files.read(path, parsed)
    path.unlink()
    gone = files.read(path, parsed)
    assert (gone.value, gone.problem, gone.changed) == ([1], "it is gone", None)


def test_a_pipe_or_a_folder_in_the_place_of_a_file_holds_nobody_up(files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert files.read(tmp_path / "pipe", parsed).problem == "it is no ordinary file"
    assert files.read(tmp_path / "folder", parsed).problem
