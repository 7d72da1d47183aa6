"""How a request stands, by its feed or by reading it: the feed's duplicates, removals and failures, and the way back."""

import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.errors import CredentialsRejected, NotTheService, ServerUnreachable, SubmissionUnknown
from pytest_evalharness.league.watch import (
    LONGEST_WAIT,
    MOST_FAILURES,
    SLOWEST_FEED,
    SLOWEST_READING,
    DetailWatcher,
    FeedWatcher,
    ended,
    watcher,
)
from pytest_evalharness.observatory.models import ChangePage, FeedEntry
from pytest_evalharness.observatory.problems import Busy, CursorLost


def entry(number, status, revision):
    told = None if status is None else {"id": f"ereq_{number}", "status": status}
    return FeedEntry.model_validate(
        {"id": f"ereq_{number}", "revision": revision, "removed": status is None, "episode": told}
    )


def page(*entries, status="running", more=False, cursor="c", pause=0.0):
    return ChangePage.model_validate(
        {"batches": [{"id": "xreq_1", "status": status}, {"id": "xreq_2", "status": "failed"}],
         "entries": [each.model_dump() for each in entries], "next_cursor": cursor, "has_more": more,
         "poll_after_seconds": pause}
    )  # fmt: skip


class Server:
    """Answers by a script; the request itself can be read unless `detail` is an error."""

    offered = True

    def __init__(self, *pages, detail=None):
        self.pages = list(pages)
        self.detail = detail
        self.asked = []
        self.read = 0
        self.time = 0.0
        self.takes = 0.0

    def monotonic(self):
        return self.time

    @property
    def feed(self):
        return self

    def page(self, request_id, *, cursor, wait_seconds):
        assert request_id == "xreq_1"
        self.asked.append((cursor, wait_seconds))
        self.time += self.takes
        answer = self.pages.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def experience_request(self, request_id, *, fresh):
        assert (request_id, fresh) == ("xreq_1", True)
        self.read += 1
        if isinstance(self.detail, Exception):
            raise self.detail
        return self.detail


@pytest.fixture
def follow(make):
    def build(*pages, detail=None, stop=None):
        server = Server(*pages, detail=detail or make.request("running", "running", "pending"))
        told = []
        made = FeedWatcher(server, "xreq_1", clock=server, stop=stop or threading.Event(), lost=told.append)
        return SimpleNamespace(server=server, told=told, look=made.look, watch=made)

    return build


def words(standing):
    return [str(standing.status), *(str(one.status) for one in standing.episodes)]


def test_the_snapshots_pages_are_one_standing(follow):
    made = follow(
        page(entry(0, "running", 3), more=True, cursor="c1"), page(entry(1, "pending", 4), cursor="c2")
    )
    assert words(made.look(100)) == ["running", "running", "pending"]
    assert [cursor for cursor, _ in made.server.asked] == [None, "c1"]
    assert made.server.read == 0


def test_the_higher_revision_counts_in_whatever_order_it_comes_and_what_is_removed_is_gone(follow):
    made = follow(
        page(entry(0, "completed", 9), entry(0, "running", 3), entry(1, "running", 4)),
        page(entry(1, None, 6), entry(1, "running", 5), entry(0, "running", 8)),
    )
    made.look(0)
    assert words(made.look(0)) == ["running", "completed"]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["running", "completed", None])), max_size=12),
    st.randoms(use_true_random=False),
)
def test_any_order_and_repetition_of_changes_is_the_last_state(changes, shuffled):
    entries = [entry(number, status, revision) for revision, (number, status) in enumerate(changes)]
    expected = {f"ereq_{number}": status for number, status in changes if status is not None}
    for number, status in changes:  # the last word on each
        expected[f"ereq_{number}"] = status
    sent = [*entries, *shuffled.sample(entries, len(entries) // 2)]
    shuffled.shuffle(sent)
    server = Server(page(*sent[: len(sent) // 2]), page(*sent[len(sent) // 2 :]))
    made = FeedWatcher(server, "xreq_1", clock=server, stop=threading.Event(), lost=lambda _: None)
    made.look(0)
    standing = made.look(0)
    assert {one.id: str(one.status) for one in standing.episodes} == {
        name: status for name, status in expected.items() if status is not None
    }


def test_the_wait_is_bounded_by_who_waits_and_by_the_heartbeat(follow):
    made = follow(page(), page(), page())
    for patience in (1e6, 3.0, 0.0):
        made.look(patience)
    assert [wait for _, wait in made.server.asked] == [LONGEST_WAIT, 3.0, 0.0]


def test_when_the_feed_says_that_all_has_ended_the_request_is_read(follow, make):
    detail = make.request("completed", "completed", "failed")
    made = follow(page(entry(0, "completed", 1), entry(1, "failed", 2), status="completed"), detail=detail)
    assert made.look(0) is detail


def test_a_failed_game_of_a_request_that_lives_is_no_end(follow):
    made = follow(page(entry(0, "failed", 1), entry(1, "completed", 2), status="running"))
    assert not ended(made.look(0))
    assert made.server.read == 0


@pytest.mark.parametrize("why", [CursorLost("410"), CursorLost("409"), CursorLost("404")])
def test_a_lost_cursor_begins_a_new_snapshot(follow, why):
    made = follow(
        page(entry(0, "running", 50), cursor="c1"), why, page(entry(1, "running", 2), cursor="d1"), page()
    )
    made.look(0)
    assert words(made.look(0)) == ["running", "running", "pending"], "read from the request itself meanwhile"
    assert words(made.look(0)) == ["running", "running"], "nothing of before the snapshot is left"
    made.look(0)
    assert [cursor for cursor, _ in made.server.asked] == [None, "c1", None, "d1"]
    assert made.told == []


def test_a_server_error_keeps_the_place(follow):
    made = follow(page(cursor="c1"), ServerUnreachable("503"), page())
    for _ in range(3):
        made.look(0)
    assert [cursor for cursor, _ in made.server.asked] == [None, "c1", "c1"]


@pytest.mark.parametrize("problem", [ServerUnreachable("HTTP 500"), CursorLost("HTTP 410")])
def test_a_feed_that_fails_again_and_again_is_left_for_the_request_itself(follow, problem):
    made = follow(*[problem] * MOST_FAILURES)
    for _ in range(MOST_FAILURES + 2):
        assert words(made.look(0)) == ["running", "running", "pending"]
    assert made.told == [problem.what]
    assert made.watch.slowest == SLOWEST_READING


def test_failures_with_good_pages_between_them_are_no_reason_to_leave_it(follow):
    made = follow(*[ServerUnreachable("503"), page()] * MOST_FAILURES)
    for _ in range(2 * MOST_FAILURES):
        made.look(0)
    assert made.told == []


@pytest.mark.parametrize("problem", [NotTheService("another shape"), CredentialsRejected("HTTP 403")])
def test_what_is_no_feed_is_left_at_once(follow, problem):
    made = follow(problem)
    made.look(0)
    assert made.told == [problem.what]


@pytest.mark.parametrize("detail", [ServerUnreachable("down"), SubmissionUnknown("not shown yet")])
def test_what_hits_the_request_too_is_not_the_feeds_fault(follow, make, detail):
    made = follow(*[CursorLost("404")] * 9, page(entry(0, "running", 1)), detail=detail)
    for _ in range(9):
        with pytest.raises(type(detail)):
            made.look(0)
    assert words(made.look(0)) == ["running", "running"]
    assert made.told == []


def test_a_pause_that_the_server_asks_for_is_the_pollers_to_take(follow):
    busy = Busy("429")
    busy.seconds = 30.0
    made = follow(*[busy] * 5)
    for _ in range(5):
        with pytest.raises(Busy):
            made.look(0)
    assert (made.server.read, made.told) == (0, [])


def test_a_failure_after_the_stop_is_no_news(follow):
    stop = threading.Event()
    made = follow(page(), ServerUnreachable("the wait was ended"), stop=stop)
    made.look(0)
    stop.set()
    assert made.look(0) is None
    assert made.server.read == 0


def test_a_feed_without_end_is_none(follow):
    made = follow(*[page(entry(0, "running", 1), more=True)] * 60)
    made.look(0)
    assert "does not end" in made.told[0]


@pytest.mark.parametrize(("takes", "slowest"), [(LONGEST_WAIT, SLOWEST_FEED), (0.0, SLOWEST_READING)])
def test_a_feed_that_does_not_wait_is_asked_as_seldom_as_the_request(follow, takes, slowest):
    made = follow(page(entry(0, "running", 1)), page())
    made.look(100)
    assert made.watch.slowest == SLOWEST_FEED
    made.server.takes = takes
    made.look(100)
    assert made.watch.slowest == slowest


@pytest.mark.parametrize(("offers", "kind"), [(True, FeedWatcher), (False, DetailWatcher)])
@pytest.mark.failure_mode(number=38)
def test_the_feed_is_followed_where_it_is_offered(offers, kind):
    server = SimpleNamespace(feed=SimpleNamespace(offered=offers))
    made = watcher(server, "xreq_1", clock=server, stop=threading.Event(), lost=lambda _: None)
    assert isinstance(made, kind)
