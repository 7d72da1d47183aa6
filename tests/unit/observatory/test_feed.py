"""A page of the change feed: what is asked, what comes back, and what its failures mean."""

import threading
import time

import pytest

from pytest_evalharness.errors import NotTheService, ServerUnreachable
from pytest_evalharness.net import Limits
from pytest_evalharness.observatory import Status
from pytest_evalharness.observatory.problems import Busy, CursorLost

PATH = "/v2/episode-requests/changes"


def page(*entries, status="running", **changes):
    return {
        "batches": [{"id": "xreq_1", "status": status, "episode_count": 2}], "phase": "changes", "entries": list(entries),
        "next_cursor": "c2", "has_more": False, "poll_after_seconds": 2, "expires_at": "2026-09-01T13:00:00Z", **changes,
    }  # fmt: skip


def entry(number, status, revision=1, **changes):
    name = f"ereq_{number}"
    told = {"id": name, "experience_request_id": "xreq_1", "created_at": "2026-09-01T12:00:00Z", "status": status,
            "error_type": None, "evidence_state": "pending"}  # fmt: skip
    return {"id": name, "experience_request_id": "xreq_1", "revision": revision, "removed": False, "episode": told, **changes}  # fmt: skip


def test_a_page_is_read_with_its_cursor_and_its_wait(client):
    league = client(routes={PATH: page(entry(1, "success"), entry(2, "running", removed=True, episode=None))})
    told = league.feed.page("xreq_1", cursor="c1", wait_seconds=7.5)
    assert [row.status for row in told.batches] == [Status.RUNNING]
    assert told.entries[0].episode.status is Status.COMPLETED
    assert told.entries[1].removed
    assert told.entries[1].episode is None
    assert (told.next_cursor, told.poll_after_seconds) == ("c2", 2.0)
    asked = dict(league.server.requests[0].query)
    assert asked == {"ids": "xreq_1", "view": "progress", "cursor": "c1", "wait_seconds": "7.5"}


def test_a_snapshot_is_not_waited_for(client):
    league = client(routes={PATH: page(phase="snapshot")})
    league.feed.page("xreq_1", wait_seconds=7.5)
    assert dict(league.server.requests[0].query) == {"ids": "xreq_1", "view": "progress"}


@pytest.mark.parametrize("status", [404, 409, 410])
def test_a_cursor_that_does_not_count_any_more(client, wire, status):
    league = client(wire.reply({"detail": "cursor expired"}, status))
    with pytest.raises(CursorLost, match="cursor expired"):
        league.feed.page("xreq_1", cursor="c1")


@pytest.mark.parametrize("rejected", [True, False])
@pytest.mark.parametrize(("after", "seconds"), [("17", 17.0), (None, 5.0), ("soon", 5.0)])
def test_every_429_is_a_pause_that_the_caller_takes(client, wire, *, rejected, after, seconds):
    headers = [("X-RateLimit-Outcome", "rejected")] if rejected else []
    headers += [("Retry-After", after)] if after else []
    league = client(wire.reply({"detail": "slow down"}, 429, headers))
    with pytest.raises(Busy) as caught:
        league.feed.page("xreq_1", cursor="c1")
    assert caught.value.seconds == seconds
    assert len(league.server.requests) == 1, "whoever watches shows that it lives between two tries"


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_error_is_told_at_once(client, wire, status):
    league = client(wire.reply({"detail": "oops"}, status))
    with pytest.raises(ServerUnreachable):
        league.feed.page("xreq_1")
    assert len(league.server.requests) == 1


@pytest.mark.parametrize("answer", [page(next_cursor=None), page(entries=[{"id": "ereq_1"}]), [], "no JSON"])
def test_another_shape_is_no_feed(client, wire, answer):
    league = client(routes={PATH: answer} if answer != "no JSON" else {PATH: wire.reply("<html>")})
    with pytest.raises(NotTheService):
        league.feed.page("xreq_1")


def test_an_answer_that_is_held_back_is_waited_for_beyond_the_usual_limit(client, wire):
    def held(connection, _request):
        time.sleep(0.4)  # longer than the client's limit for other reads
        connection.sendall(wire.reply(page()))

    league = client(held, limits=Limits(read=0.15))
    assert league.feed.page("xreq_1", cursor="c1", wait_seconds=60).next_cursor == "c2"


def test_a_stop_ends_a_long_poll(client):
    """Who interrupts a run must not wait until the server has news."""
    stop, there, over = threading.Event(), threading.Event(), threading.Event()

    def held(_connection, _request):
        there.set()
        over.wait(300)

    league = client(held, stop=stop)

    def interrupt():
        there.wait(60)
        stop.set()

    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(ServerUnreachable):
        league.feed.page("xreq_1", cursor="c1", wait_seconds=200)
    over.set()
    assert time.monotonic() - began < 100


@pytest.mark.parametrize(
    ("document", "offered"),
    [
        ({"/v2/episode-requests/changes": {"get": {}}}, True),
        ({"/v2/episode-requests": {"get": {}}}, False),
        (None, False),
    ],
)
def test_a_feed_is_used_where_the_server_says_that_it_has_one(client, document, offered):
    paths = {"/v2/experience-requests": {"post": {}}, **(document or {})}
    routes = {} if document is None else {"/openapi.json": {"openapi": "3.1.0", "info": {}, "paths": paths}}
    league = client(routes=routes)
    league.learn()
    assert league.feed.offered is offered
