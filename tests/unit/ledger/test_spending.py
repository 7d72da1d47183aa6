"""What a run's requests are going to cost, shared by its processes."""

import threading

import pytest

from pytest_evalharness.errors import ArmStalled


def test_what_one_process_was_told_another_one_knows(opened):
    one, other = opened(pid=1), opened(pid=2)
    one.spending.join("run", ["a", "b"])
    one.spending.promise("run", "a", weight=10.0, price=6.0, request="xreq_a")
    seen = other.spending.promised("run")
    assert (seen.committed, seen.rate, seen.requests) == (6.0, 0.6, ("xreq_a",))
    assert other.spending.promised("another run").committed == 0.0


def test_what_is_about_to_be_posted_is_promised_by_the_last_rate_and_the_servers_word_replaces_it(ledger):
    spending = ledger.spending
    spending.promise("run", "a", weight=10.0, price=None)
    assert spending.promised("run").committed == 0.0, "nothing tells a price yet"
    spending.promise("run", "a", weight=10.0, price=5.0, request="xreq_a")
    spending.promise("run", "b", weight=20.0, price=None)
    assert spending.promised("run").committed == 15.0
    spending.promise("run", "b", weight=20.0, price=8.0, request="xreq_b")
    spending.promise("run", "b", weight=20.0, price=None, request="xreq_b")
    seen = spending.promised("run")
    assert (seen.committed, seen.rate, seen.requests) == (13.0, 0.4, ("xreq_a", "xreq_b"))
    spending.free("b")
    assert spending.promised("run").committed == 5.0


def test_who_takes_a_request_up_takes_its_price_up(opened):
    opened(pid=1).spending.promise("monday", "a", weight=1.0, price=6.0, request="xreq_a")
    later = opened(pid=2).spending
    later.join("tuesday", ["a", "b"])
    later.join("tuesday", ["b"])
    assert later.promised("tuesday").committed == 6.0


def test_the_first_reason_to_stop_stays_and_everybody_hears_it(opened):
    one, other = opened(pid=1).spending, opened(pid=2).spending
    assert other.over("run") is None
    one.end("run", {"what": "first"})
    other.end("run", {"what": "second"})
    assert other.over("run") == one.over("run") == {"what": "first"}


def test_one_posts_at_a_time_and_the_dead_do_not_count(opened, morgue, clock):
    one, other = opened(pid=1).spending, opened(pid=2).spending
    with one.turn(), pytest.raises(ArmStalled, match="turn"), other.turn():
        pass
    with other.turn():
        pass
    dying = one.turn()
    dying.__enter__()
    morgue.dead.add(1)
    before = clock.time
    with other.turn():
        assert clock.time == before, "nobody waits for the dead"


def test_threads_take_turns_too(ledger, clock, monkeypatch):
    inside, waits, out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def wait(_seconds, _stop=None):
        waits.set()
        out.wait(60)

    def second():
        inside.wait(60)
        with ledger.spending.turn():
            seen.append("second")

    monkeypatch.setattr(clock, "wait", wait)
    thread = threading.Thread(target=second)
    thread.start()
    try:
        with ledger.spending.turn():
            inside.set()
            assert waits.wait(60), "nobody waits for the first one's end"
            seen.append("first")
    finally:
        out.set()
        thread.join(60)
    assert seen == ["first", "second"]
