from __future__ import annotations

import pytest

from pytest_evalharness.base.clock import iso, parse_iso

REQUESTS = "/v2/experience-requests"
SINCE = parse_iso("2026-09-21T14:00:00Z")


def at(seconds):
    return iso(SINCE + seconds)


def routes(rows, details=None):
    found = {f"GET {REQUESTS}": {"entries": rows, "next_cursor": None}}
    found.update({f"{REQUESTS}/{key}": value for key, value in (details or {}).items()})
    return found


@pytest.mark.parametrize(
    "where",
    [{"notes": "run tok-7f3c arm"}, {"requested": {"notes": "tok-7f3c"}}, {"title": "tok-7f3c"}],
)
@pytest.mark.failure_mode(number=2)
def test_found_in_the_list(client, sample, where):
    made = client(routes=routes([sample.row(1, notes="other"), sample.row(2, **where)]))
    found = made.find_experience_requests("tok-7f3c", SINCE)
    assert [row.id for row in found] == ["xreq_2"]
    assert found.conclusive
    assert len(found) == 1
    assert found[0].id == "xreq_2"
    assert dict(made.server.requests[0].query)["mine"] == "true"
    assert len(made.server.requests) == 1


@pytest.mark.parametrize("placeholder", [{}, {"notes": None}, {"requested": {"title": "x"}}])
def test_found_in_the_detail(client, sample, placeholder):
    details = {
        "xreq_1": sample.detail(1, notes=None),
        "xreq_2": sample.detail(2, requested={"notes": "tok-7f3c"}),
    }
    rows = [sample.row(n, **placeholder) for n in (1, 2)]
    found = client(routes=routes(rows, details)).find_experience_requests("tok-7f3c", SINCE)
    assert [row.id for row in found] == ["xreq_2"]


def test_two_that_carry_it_are_both_found(client, sample):
    rows = [sample.row(n, notes="tok-7f3c") for n in (1, 2)]
    assert len(client(routes=routes(rows)).find_experience_requests("tok-7f3c")) == 2


def test_none_and_that_is_certain(client, sample):
    details = {"xreq_2": sample.detail(2, notes=None)}
    rows = [sample.row(1, notes="other"), sample.row(2, notes=None)]
    found = client(routes=routes(rows, details)).find_experience_requests("tok-7f3c", SINCE)
    assert list(found) == []
    assert not found
    assert found.conclusive


def test_none_but_notes_are_not_told(client, sample):
    details = {"xreq_1": sample.detail(1)}
    found = client(routes=routes([sample.row(1), sample.row(2)], details)).find_experience_requests(
        "t", SINCE
    )
    assert not found
    assert not found.conclusive
    assert found.unreadable == ("xreq_1", "xreq_2")


def test_none_but_the_list_may_have_been_cut(client, sample):
    rows = [sample.row(n, notes="other") for n in range(100)]
    found = client(routes={REQUESTS: rows}).find_experience_requests("tok-7f3c", SINCE)
    assert not found.conclusive
    assert found.cut


def test_older_requests_are_not_looked_into(client, sample):
    made = client(
        routes=routes([sample.row(1, created_at=at(-7200)), sample.row(2, created_at=at(-300), notes="x")])
    )
    assert made.find_experience_requests("tok-7f3c", SINCE).conclusive
    assert len(made.server.requests) == 1


def test_a_history_newest_first_is_not_read_to_its_end(client, wire, sample):
    def script(request):
        start = int(dict(request.query).get("cursor", 0))
        rows = [sample.row(n, created_at=at(-3600.0 * n), notes="x") for n in range(start, start + 2)]
        return wire.reply({"entries": rows, "next_cursor": str(start + 2)})

    made = client(routes={f"GET {REQUESTS}": script})
    assert made.find_experience_requests("tok-7f3c", SINCE).conclusive
    assert len(made.server.requests) == 2


def test_a_history_oldest_first_is(client, wire, sample):
    def script(request):
        start = int(dict(request.query).get("cursor", 0))
        rows = [
            sample.row(n, created_at=at(-3600.0 * (9 - n)), notes="tok" if n == 9 else "x")
            for n in range(start, start + 2)
        ]
        return wire.reply({"entries": rows, "next_cursor": str(start + 2) if start < 8 else None})

    assert [
        row.id for row in client(routes={f"GET {REQUESTS}": script}).find_experience_requests("tok", SINCE)
    ] == ["xreq_9"]
