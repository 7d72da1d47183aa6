"""What the service keeps of a log, and what it answers to those who want a part of it."""

import pytest

from pytest_evalharness.arena.wire import contents
from pytest_evalharness.arena.wire.delivery import answer_to
from pytest_evalharness.arena.wire.inventory import MOST_BYTES, MOST_LINES, kept
from pytest_evalharness.episodes.logs import read_log

LINES = [f"line {at}\n".encode() for at in range(MOST_LINES + 5)]


def test_the_last_lines_are_kept_where_lines_count():
    assert kept(b"".join(LINES), lines=MOST_LINES) == b"".join(LINES[5:])
    assert kept(b"".join(LINES), lines=None) == b"".join(LINES)
    assert kept(b"".join(LINES[:9]), lines=MOST_LINES) == b"".join(LINES[:9])


def test_a_log_that_is_cut_by_its_size_says_so_as_its_readers_expect():
    log = b"x" * (MOST_BYTES + 1)

    cut = kept(log, lines=MOST_LINES)

    assert cut[:MOST_BYTES] == log[:MOST_BYTES]
    told = read_log(cut, "a log")
    assert told.end_lost
    assert len(told.text) == MOST_BYTES
    assert kept(log[:-1], lines=MOST_LINES) == log[:-1]


@pytest.mark.parametrize("size", [1, 100, contents.PART, 3 * contents.PART + 17])
def test_endless_lines_are_the_same_bytes_however_they_are_cut(size):
    content = contents.of_lines(size, "text/plain")

    whole = content.whole()

    assert len(whole) == size
    for start, stop in ((0, size), (size // 3, size), (size // 2, size // 2 + 1), (size - 1, size)):
        assert b"".join(content.parts(start, stop)) == whole[start:stop]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, (200, 0, 10)),
        ({"if-match": "*"}, (200, 0, 10)),
        ({"if-match": '"a", "b"'}, (412, 0, 0)),
        ({"range": "bytes=0-0"}, (206, 0, 1)),
        ({"range": "bytes=3-99"}, (206, 3, 10)),
        ({"range": "bytes=-99"}, (206, 0, 10)),
        ({"range": "bytes=10-"}, (416, 0, 0)),
        ({"range": "bytes=-0"}, (416, 0, 0)),
        ({"range": "bytes=5-4"}, (200, 0, 10)),
        ({"range": "bytes=0-0", "if-range": '"other"'}, (200, 0, 10)),
    ],
)
def test_parts_are_had_as_http_says(asked, told):
    content = contents.of_bytes(b"0123456789", "text/plain")

    found = answer_to(asked, content, ranges=True)

    assert (found.status, found.first, found.last) == told


def test_a_match_is_one_of_those_named():
    content = contents.of_bytes(b"0123456789", "text/plain")
    asked = {"if-match": f'"a",{content.etag}', "range": "bytes=1-2", "if-range": content.etag}

    assert answer_to(asked, content, ranges=True).status == 206
    assert answer_to(asked, content, ranges=False).status == 200


def test_nothing_is_no_part_of_an_empty_file():
    empty = contents.of_bytes(b"", "text/plain")

    assert answer_to({}, empty, ranges=True).last == 0
    assert answer_to({"range": "bytes=0-"}, empty, ranges=True).status == 416
