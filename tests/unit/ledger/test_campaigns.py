import sqlite3
import threading
from contextlib import closing

import pytest

from pytest_evalharness.ledger.campaigns import ASKED, CampaignLost, SeenProcess
from pytest_evalharness.ledger.states import CAMPAIGN_TRANSITIONS, CampaignState, IllegalTransition

TOLD, IDENTITY = {"folder": "runs/mine"}, {"argv": ["run-all"], "revision": "aa"}


@pytest.fixture
def begun(ledger):
    ledger.campaigns.begin("mine", TOLD, IDENTITY)
    return ledger.campaigns


@pytest.fixture
def lease(begun):
    return begun.claim("mine")


def ended(lease, state=CampaignState.LOST):
    lease.end(state, None, "it died")


def test_the_first_to_write_a_campaign_down_decides(begun, clock):
    clock.time += 10
    again = begun.begin("mine", {"folder": "other"}, {"argv": []})
    assert (again.told, again.identity, again.created_at) == (TOLD, IDENTITY, 1_000.0)
    assert again.state is CampaignState.PLANNED
    assert begun.find("nobody's") is None
    assert [one.name for one in begun.every()] == ["mine"]


def test_a_start_is_written_before_it_has_a_process(begun, lease):
    start = lease.start(["clbench", "run-all"])
    assert begun.find("mine").state is CampaignState.STARTING
    assert (start.number, start.argv, start.pid, start.host) == (1, ("clbench", "run-all"), None, "here")
    lease.running(4711, "99")
    (start,) = begun.starts("mine")
    assert (start.pid, start.started, start.ended_at) == (4711, "99", None)
    ended(lease, CampaignState.INTERRUPTED)
    second = lease.start(["clbench", "run-all", "--missing-only"])
    assert second.number == 2
    first, _ = begun.starts("mine")
    assert (first.ended_at, first.exit_code) == (1_000.0, None)
    assert first.token != second.token


def test_one_supervisor_at_a_time_and_the_next_when_it_is_dead(opened, morgue, clock):
    one, other = opened(1).campaigns, opened(2).campaigns
    one.begin("mine", TOLD, IDENTITY)
    lease = one.claim("mine")
    assert other.claim("mine") is None
    assert other.supervised("mine")
    clock.time += 10_000  # silent for hours: a living supervisor is stopped or sleeps, and is not replaced
    assert other.claim("mine") is None
    morgue.dead.add(1)
    assert not other.supervised("mine")
    taken = other.claim("mine")
    for act in (lease.heartbeat, lambda: lease.start(["x"]), lambda: lease.note("alarm", {})):
        with pytest.raises(CampaignLost, match="mine is supervised by another process"):
            act()
    lease.release()  # not ours to give back any more
    assert other.find("mine").owner.pid == 2
    taken.release()
    assert other.find("mine").owner is None
    with pytest.raises(KeyError):
        other.claim("nobody's")


def test_of_many_who_ask_at_once_one_supervises(opened):
    opened().campaigns.begin("mine", TOLD, IDENTITY)
    ready, got = threading.Barrier(6), []
    ledgers = [opened(number) for number in range(1, 7)]

    def ask(ledger):
        ready.wait(60)
        got.append(ledger.campaigns.claim("mine"))

    threads = [threading.Thread(target=ask, args=(one,)) for one in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(got) == 6
    assert sum(one is not None for one in got) == 1


def test_processes_are_known_by_pid_and_start(begun, lease):
    lease.start(["x"])
    seen = SeenProcess("here", 5, "1", "clbench run a_task", "a_task")
    lease.saw([seen, SeenProcess("here", 5, "2", "another")])
    lease.saw([seen])
    assert begun.processes("mine") == [seen, SeenProcess("here", 5, "2", "another", "")]


def test_events_have_an_order_and_anybody_may_ask(begun, lease, opened):
    first = lease.note("pausing", {"task": "a"})
    asked = opened(2).campaigns.note("mine", ASKED, {"what": "continue", "task": "a"})
    assert [one.kind for one in begun.events("mine")] == ["pausing", ASKED]
    assert [one.id for one in begun.events("mine", after=first)] == [asked]
    with pytest.raises(KeyError):
        begun.note("nobody's", ASKED, {})


def test_what_was_accepted_is_kept(begun, lease):
    lease.accept({"folder": "b"}, {"revision": "bb"}, ["revision: aa, now bb"])
    assert (lease.record.told, lease.record.identity) == ({"folder": "b"}, {"revision": "bb"})
    (event,) = begun.events("mine")
    assert event.told == {"differences": ["revision: aa, now bb"], "identity": IDENTITY}


def test_a_heartbeat_without_progress_keeps_the_last(begun, lease, clock):
    lease.heartbeat({"done": 3})
    clock.time += 5
    lease.heartbeat()
    record = begun.find("mine")
    assert (record.progress, record.heartbeat_at) == ({"done": 3}, 1_005.0)


@pytest.mark.parametrize("state", list(CampaignState))
def test_only_steps_of_the_table_are_taken(state, begun, lease, ledger):
    lease.start(["x"])
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("UPDATE campaigns SET state = ?", [state])
    for want in (CampaignState.RUNNING, CampaignState.LOST):
        if want in CAMPAIGN_TRANSITIONS[state]:
            continue
        with pytest.raises(IllegalTransition, match=f"campaign mine is {state}, which cannot become {want}"):
            lease.running(1, "1") if want is CampaignState.RUNNING else ended(lease)
    assert begun.find("mine").state is state


def test_a_release_ends_a_block_of_code_whatever_happens_to_the_file(begun, ledger):
    with begun.claim("mine"):
        assert begun.supervised("mine")
    assert not begun.supervised("mine")
