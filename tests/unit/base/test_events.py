import json
import subprocess
import sys

import pytest

from pytest_evalharness.base import events
from pytest_evalharness.base.events import EventLog, EventReader

WRITE = """
import sys
from pathlib import Path
from pytest_evalharness.base.events import EventLog
log = EventLog(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    log.append("arm", who=sys.argv[2], number=number, filling="x" * 1000)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


def numbers(reader):
    return [event["n"] for event in reader.new()]


def test_no_folder_and_no_disk_are_no_crash(tmp_path, path, monkeypatch):
    EventLog(tmp_path / "nowhere" / "events.jsonl").append("arm")

    def full(handle, data):
        raise OSError("disk full")

    monkeypatch.setattr(events.os, "write", full)
    EventLog(path).append("arm")
    assert list(EventReader(path).new()) == []


def test_no_file_yet_means_no_events(path):
    reader = EventReader(path)
    assert list(reader.new()) == []
    EventLog(path).append("arm", n=1)
    assert numbers(reader) == [1]


def test_a_file_that_cannot_be_read_means_no_events(tmp_path, path, monkeypatch):
    path.write_text("a file, no folder")
    assert list(EventReader(path / "events.jsonl").new()) == []
    assert list(EventReader(tmp_path).new()) == []

    def forbidden(*_):
        raise PermissionError("not yours")

    monkeypatch.setattr(events.Path, "open", forbidden)
    assert list(EventReader(path).new()) == []


def test_a_reader_goes_on_where_it_stopped(path):
    log, reader = EventLog(path), EventReader(path)
    log.append("arm", n=1)
    log.append("arm", n=2)
    assert numbers(reader) == [1, 2]
    assert numbers(reader) == []
    log.append("arm", n=3)
    assert numbers(reader) == [3]
    assert numbers(EventReader(path)) == [1, 2, 3]


def test_a_reader_that_is_left_early_loses_nothing(path):
    log, reader = EventLog(path), EventReader(path)
    for n in range(3):
        log.append("arm", n=n)
    assert next(reader.new())["n"] == 0
    assert numbers(reader) == [1, 2]


def test_half_a_line_waits_for_its_other_half(path):
    reader = EventReader(path)
    line = b'{"kind": "arm", "n": 1}\n'
    for end in range(1, len(line)):
        path.write_bytes(line[:end])
        assert list(reader.new()) == []
    path.write_bytes(line)
    assert numbers(reader) == [1]


@pytest.mark.parametrize(
    "torn", [b'{"kind": "ar', b"\xff\xfe", b"", b"null", b"[1, 2]", b'"text"', b"{}{}", b"NaN"]
)
def test_a_torn_line_is_skipped_and_the_next_one_read(path, torn):
    path.write_bytes(torn + b"\n")
    reader = EventReader(path)
    EventLog(path).append("arm", n=1)
    assert numbers(reader) == [1]


def test_a_giant_event_comes_back_whole(path):
    log, reader = EventLog(path), EventReader(path)
    log.append("arm", n=1, text="é\n" * 500_000)
    log.append("arm", n=2)
    first, second = reader.new()
    assert first["text"] == "é\n" * 500_000
    assert second["n"] == 2


def test_a_line_is_ascii_and_one_line(path):
    EventLog(path).append("arm", text="a\nb\u2028c\x1b é 🤖", b=1, a=2)
    data = path.read_bytes()
    assert data.isascii()
    assert data.count(b"\n") == 1
    assert list(json.loads(data)) == ["a", "b", "kind", "text"]


def test_processes_append_at_the_same_time(path):
    each, writers = 300, 3
    running = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(path), str(who), str(each)])
        for who in range(writers)
    ]
    reader, seen = EventReader(path), []
    while any(process.poll() is None for process in running):
        seen += reader.new()
    seen += reader.new()
    assert [process.returncode for process in running] == [0] * writers
    for who in range(writers):
        assert [event["number"] for event in seen if event["who"] == str(who)] == list(range(each))
    assert len(seen) == each * writers
