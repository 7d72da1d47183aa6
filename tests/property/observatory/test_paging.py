"""The client's reading of long lists against the embedded league's ways of cutting them: two readings of one contract.

Nothing is lost and nothing comes twice, or the list is said to be cut.
"""

import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.arena.wire.listing import Asked, CursorEnvelope, CursorList, CutList, OffsetEnvelope
from pytest_evalharness.observatory.paging import Pages, Paging

KINDS = {
    Paging.CURSOR: (CursorEnvelope(), CursorList()),
    Paging.OFFSET: (OffsetEnvelope(),),
    Paging.LIMIT: (CutList(),),
}


class Server:
    """A list that is cut in one of the ways; rows may come in at its head between two pages."""

    def __init__(self, listing, rows, *, usual, most, arrivals=()):
        self.listing, self.rows, self.usual, self.most = listing, list(rows), usual, most
        self.arrivals = list(arrivals)
        self.asked = []

    def fetch(self, extra):
        self.asked.append(dict(extra))
        limit = int(extra.get("limit", self.usual))
        assert 1 <= limit <= self.most, "the server would have answered 422"
        asked = Asked(limit, extra.get("cursor"), int(extra.get("offset", 0)))
        answer = self.listing.answer(self.rows, str, asked, lambda row: row)
        if self.arrivals:
            self.rows[:0] = [self.arrivals.pop()]
        return json.loads(answer.body), {key.lower(): value for key, value in answer.headers.items()}


def read(pages):
    """All rows, each once, as the client's models take them."""
    return list(dict.fromkeys(row for page in pages for row in page))


@st.composite
def worlds(draw, *kinds, arrivals=0):
    """A server, and a reader who knows from its description how it cuts and how far one may ask."""
    paging = draw(st.sampled_from(kinds or tuple(KINDS)))
    listing = draw(st.sampled_from(KINDS[paging]))
    count, most = draw(st.integers(0, 70)), draw(st.integers(1, 40))
    fresh = draw(st.integers(0, arrivals)) if arrivals else 0
    server = Server(
        listing,
        range(count),
        usual=min(most, draw(st.integers(1, 40))),
        most=most,
        arrivals=range(1000, 1000 + fresh),
    )
    return server, Pages(server.fetch, draw(st.integers(1, 60)), paging, most), list(range(count))


@given(worlds(Paging.CURSOR, Paging.OFFSET))
def test_pages_give_every_row_once(world):
    _, pages, rows = world
    assert [row for page in pages for row in page] == rows
    assert not pages.cut


@given(worlds(Paging.CURSOR, Paging.OFFSET, arrivals=6))
def test_rows_that_come_in_meanwhile_push_none_out(world):
    _, pages, rows = world
    found = read(pages)
    assert [row for row in found if row < 1000] == rows
    assert not pages.cut


@given(worlds(Paging.LIMIT))
def test_a_bare_list_is_whole_or_said_to_be_cut(world):
    server, pages, rows = world
    found = read(pages)
    assert found == rows[: len(found)]
    assert pages.cut == (len(rows) >= server.most)  # exactly at the limit nobody can tell
    assert pages.cut or found == rows
    assert len(server.asked) <= 2


@given(worlds(Paging.LIMIT, arrivals=2))
def test_a_bare_list_that_grows_while_it_is_read_twice_loses_nothing(world):
    _, pages, rows = world
    found = read(pages)
    assert pages.cut or [row for row in found if row < 1000] == rows


@given(
    st.integers(0, 1200), st.sampled_from([50, 100, 1000]), st.sampled_from([Paging.WHOLE, Paging.UNKNOWN])
)
def test_a_limit_that_nobody_described_is_suspected_where_lists_are_cut(count, silent, paging):
    """The server ignores what it is asked for, and cuts where it likes."""
    rows = list(range(count))[:silent]
    pages = Pages(lambda _: (rows, {}), 1000, paging)
    assert read(pages) == rows
    if count > silent:
        assert pages.cut


@given(worlds(Paging.CURSOR, Paging.OFFSET), st.sampled_from([Paging.UNKNOWN, Paging.LIMIT]))
def test_what_comes_counts_more_than_what_was_described(world, described):
    """A reader who was told nothing, or something else, still follows the answers."""
    server, known, rows = world
    pages = Pages(server.fetch, min(known.limit, server.most), described)
    assert read(pages) == rows


@given(st.integers(2, 40), st.integers(1, 9))
def test_a_list_that_shrinks_between_offsets_is_said_to_be_cut(count, size):
    server = Server(OffsetEnvelope(), range(count), usual=size, most=size)

    def fetch(extra):
        page = server.fetch(extra)
        del server.rows[0]
        return page

    pages = Pages(fetch, size, Paging.OFFSET, size)
    found = read(pages)
    assert len(found) < count or count <= size or pages.cut
    assert pages.cut or count <= size


@given(st.integers(1, 60), st.integers(1, 9))
def test_bare_lists_with_offsets(count, size):
    """Nobody has seen such a server; the description would tell how to read it."""

    def fetch(extra):
        start = int(extra.get("offset", 0))
        return list(range(count))[start : start + int(extra["limit"])], {}

    pages = Pages(fetch, size, Paging.OFFSET)
    assert [row for page in pages for row in page] == list(range(count))
    assert not pages.cut
