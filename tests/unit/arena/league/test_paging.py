import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.arena.wire.paging import BadCursorError, page, unpack


@given(st.lists(st.text(), unique=True), st.integers(1, 10))
def test_pages_show_every_row_once_in_order(rows, limit):
    seen, cursor = [], None
    while True:
        shown, cursor = page(rows, lambda row: row, limit, cursor)
        assert len(shown) <= limit
        seen += shown
        if cursor is None:
            break

    assert seen == rows


def test_rows_that_come_in_at_the_head_do_not_shift_pages():
    _, cursor = page(["c", "b", "a"], str, 2, None)

    assert page(["e", "d", "c", "b", "a"], str, 2, cursor) == (["a"], None)


def test_a_row_that_is_no_longer_kept_still_marks_its_place():
    rows = ["a", "b", "c", "d"]
    _, cursor = page(rows, str, 2, None)

    assert page(rows, str, 2, cursor, lambda row: row != "b") == (["c", "d"], None)


@given(st.text())
def test_no_text_breaks_the_reader_of_cursors(text):
    with contextlib.suppress(BadCursorError):
        assert isinstance(unpack(text), dict)


@pytest.mark.parametrize("cursor", ["", "x", "!!!", "bnVsbA", "W10", "e30", "a" * 3000])
def test_a_cursor_of_nobody_is_refused(cursor):
    with pytest.raises(BadCursorError):
        page(["a"], str, 1, cursor)
