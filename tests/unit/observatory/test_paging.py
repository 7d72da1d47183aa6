from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.errors import NotTheService
from pytest_evalharness.observatory.paging import Pages, PagingError

PATH = "/v2/league-policy-memberships"


def server_of(rows, page, generation, *, wire=None, sample=None):
    """A fetch function over numbers 0..rows-1, as each generation of the service pages."""

    def fetch(extra):
        start = int(extra.get("cursor", extra.get("offset", 0)))
        part = list(range(rows))[start : start + page]
        following = str(start + page) if start + page < rows else None
        if generation == "cursor":
            return {"entries": part, "next_cursor": following}, {}
        if generation == "header":
            return part, {"x-next-cursor": following} if following else {}
        return {"entries": part, "total_count": rows, "limit": page, "offset": start}, {}

    return fetch


@given(st.integers(0, 60), st.integers(1, 20), st.sampled_from(["cursor", "header", "offset"]))
def test_every_generation_gives_every_row_once(rows, page, generation):
    pages = Pages(server_of(rows, page, generation), limit=100)
    assert [row for part in pages for row in part] == list(range(rows))
    assert not pages.cut


def test_a_bare_list_may_have_been_cut():
    pages = Pages(lambda _extra: ([1, 2, 3], {}), limit=3)
    assert list(pages) == [[1, 2, 3]]
    assert pages.cut
    short = Pages(lambda _extra: ([1, 2], {}), limit=3)
    assert list(short) == [[1, 2]]
    assert not short.cut


@pytest.mark.parametrize("data", [None, 3, "x", {}, {"entries": None}, {"items": []}])
def test_what_is_no_list(data):
    with pytest.raises(PagingError):
        list(Pages(lambda _extra: (data, {}), limit=3))


def test_a_cursor_that_comes_back():
    count = iter(range(10))
    with pytest.raises(PagingError, match="cursor came twice"):
        list(Pages(lambda _extra: ({"entries": [next(count)], "next_cursor": "c"}, {}), limit=3))


def test_cursors_without_end():
    count = iter(range(10**6))

    def fetch(_extra):
        number = next(count)
        return {"entries": [number], "next_cursor": f"c{number}"}, {}

    with pytest.raises(PagingError, match="more than 1000 pages"):
        list(Pages(fetch, limit=3))


def test_a_server_that_ignores_the_offset():
    with pytest.raises(PagingError, match="same page"):
        list(Pages(lambda _: ({"entries": [1], "total_count": 9, "limit": 1, "offset": 0}, {}), limit=1))


def test_an_empty_page_ends_offsets():
    assert list(
        Pages(lambda _: ({"entries": [], "total_count": 9, "limit": 1, "offset": 0}, {}), limit=1)
    ) == [[]]


def test_over_the_wire(client, wire, sample):
    def script(request):
        start = int(dict(request.query).get("cursor", 0))
        rows = [sample.member("bot", n) for n in range(start, start + 2)]
        return wire.reply(rows, headers=[("X-Next-Cursor", str(start + 2))] if start < 4 else [])

    made = client(routes={PATH: script})
    assert [row.policy_version.version for row in made.memberships()] == list(range(6))
    assert dict(made.server.requests[2].query)["cursor"] == "4"
    assert dict(made.server.requests[2].query)["active_only"] == "true"


def test_a_row_that_moves_between_pages_comes_once(client, wire, sample):
    def script(request):
        if "cursor" in dict(request.query):
            return wire.reply([sample.member("bot", 2), sample.member("bot", 3)])
        return wire.reply(
            [sample.member("bot", 1), sample.member("bot", 2)], headers=[("X-Next-Cursor", "x")]
        )

    assert [row.policy_version.version for row in client(routes={PATH: script}).memberships()] == [1, 2, 3]


def test_an_endless_list_is_not_the_service(client, wire, sample):
    def script(request):
        seen = len(made.server.requests)
        return wire.reply([sample.member("bot", seen)], headers=[("X-Next-Cursor", "again")])

    made = client(routes={PATH: script})
    with pytest.raises(NotTheService, match="no end"):
        made.memberships()
    assert len(made.server.requests) == 2
