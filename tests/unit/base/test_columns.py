import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.base.columns import columns, fitted, wrapped
from pytest_evalharness.base.text import printable

TEXT = st.text(alphabet="ab1 :é漢🤖e\u0301_", max_size=80).map(printable)


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("é…", 2), ("漢字", 4), ("🤖", 2), ("e\u0301", 1), ("\uff57", 2)]
)
def test_how_wide_a_text_is(text, width):
    assert columns(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字漢", 5, "漢字…"), ("漢字", 3, "漢…"), ("漢字", 2, "…"), ("ab", 1, "…"),
        ("ab", 0, ""), ("", 5, ""),
    ],
)  # fmt: skip
def test_a_cut_is_shown(text, width, shown):
    assert fitted(text, width) == shown


@given(TEXT, st.integers(0, 40))
def test_what_is_fitted_fits(text, width):
    assert columns(fitted(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "width", "pieces"),
    [
        ("one two three", 20, ["one two three"]),
        ("one two three", 9, ["one two", "  three"]),
        (
            "PASSED        A/B crew: BETTER, seats verified", 32,
            ["PASSED        A/B crew: BETTER,", "              seats verified"],
        ),
        ("note: one two three", 14, ["note: one two", "      three"]),
        ("  played         : look 1 of 1; unpaired", 42, ["  played         : look 1 of 1; unpaired"]),
        ("  played         : look 1 of 1; unpaired", 38, ["  played         : look 1 of 1;", "                   unpaired"]),
        ("  1 ok      seats verified", 20, ["  1 ok      seats", "  verified"]),
        ("    1 ok      seats verified", 28, ["    1 ok      seats verified"]),
        ("a xreq_0123456789", 10, ["a", "xreq_0123456789"]),
        ("a xreq_012345", 12, ["a", " xreq_012345"]),
        ("", 10, [""]),
        ("漢字 漢字", 8, ["漢字", "  漢字"]),
    ],
)  # fmt: skip
def test_lines_are_broken_at_blanks(text, width, pieces):
    assert list(wrapped(text, width)) == pieces


@given(TEXT, st.integers(10, 60))
def test_no_word_is_lost_broken_or_out_of_place(text, width):
    pieces = list(wrapped(text, width))
    assert [word for piece in pieces for word in piece.split()] == text.split()
    for piece in pieces:
        assert columns(piece) <= width or len(piece.split()) == 1
