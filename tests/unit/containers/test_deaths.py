"""Events as engines write them, and what they prove about deaths. The sequences were seen on real engines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.containers.events import Cause, Event, Events, deaths

SECOND = 1_000_000_000


def told(*actions, container="c1", name="clbench-obo-1-2"):
    """Events a second apart; `die:137` has an exit code, `kill:9` a signal."""
    events = []
    for at, action in enumerate(actions):
        word, _, value = action.partition(":")
        code = int(value) if word == "die" else None
        signal = int(value) if word == "kill" else None
        events.append(Event(at * SECOND, container, word, name, "image", code, signal))
    return events


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        (("create", "start", "oom", "die:137"), [(Cause.OOM, 137)]),
        (("create", "start", "oom"), [(Cause.CHILD_OOM, None)]),
        (("start", "oom", "oom", "die:137"), [(Cause.CHILD_OOM, None), (Cause.OOM, 137)]),
        # The engine hears of the memory from another watcher than of the process, and on a busy machine later.
        (("create", "start", "die:137", "oom"), [(Cause.OOM, 137)]),
        (("start", "die:137", "oom", "start", "die:0"), [(Cause.OOM, 137), (Cause.ENDED, 0)]),
        (("start", "die:137", "start", "oom"), [(Cause.VANISHED, 137), (Cause.CHILD_OOM, None)]),
        (("start", "kill:9", "die:137", "oom"), [(Cause.KILLED, 137), (Cause.CHILD_OOM, None)]),
        (("start", "die:0", "kill:9", "start", "die:137"), [(Cause.ENDED, 0), (Cause.KILLED, 137)]),
        (("start", "oom", "die:0"), [(Cause.CHILD_OOM, None), (Cause.ENDED, 0)]),
        # Somebody ended what had lost a child before: the lack of memory was the child's.
        (("start", "oom", "kill:9", "die:137"), [(Cause.CHILD_OOM, None), (Cause.KILLED, 137)]),
        (("start", "kill:1", "oom", "die:137"), [(Cause.OOM, 137)]),
        (("start", "kill:9", "die:137"), [(Cause.KILLED, 137)]),
        (("start", "kill:15", "kill:9", "die:137", "stop"), [(Cause.STOPPED, 137)]),
        (("start", "kill:15", "die:143", "stop"), [(Cause.STOPPED, 143)]),
        (("start", "die:137"), [(Cause.VANISHED, 137)]),
        (("create", "start", "die:3", "destroy"), [(Cause.FAILED, 3)]),
        (("start", "die:0", "start", "oom", "die:137"), [(Cause.ENDED, 0), (Cause.OOM, 137)]),
        (("create", "start", "pause", "unpause"), []),
        (("die:1",), [(Cause.FAILED, 1)]),
    ],
)  # fmt: skip
def test_what_ended_a_container(actions, found):
    assert [(one.cause, one.exit_code) for one in deaths(told(*actions))] == found


def test_a_code_of_137_proves_no_lack_of_memory():
    assert not any(one.out_of_memory for one in deaths(told("start", "die:137")))


def test_how_long_it_lived():
    (one,) = deaths(told("start", "pause", "unpause", "die:0"))
    assert (one.lived, one.at, one.name) == (3.0, 3.0, "clbench-obo-1-2")
    (unknown,) = deaths(told("die:0"))
    assert unknown.lived is None


def answer(**words):
    actor = {"ID": "c1", "Attributes": {"name": "n", "image": "i", "exitCode": "137", "signal": "9"}}
    return {"Type": "container", "Action": "die", "Actor": actor, "timeNano": 5, **words}


def test_an_event_of_the_engines():
    assert Event.told(answer()) == Event(5, "c1", "die", "n", "i", exit_code=137)
    assert Event.told(answer(Action="kill")) == Event(5, "c1", "kill", "n", "i", signal=9)


@pytest.mark.parametrize(
    "words",
    [
        {"Type": "image"}, {"Action": "exec_start: sh -c 'x'"}, {"Action": None}, {"timeNano": None}, {"Actor": None},
        {"Actor": {"ID": 3}}, {"Action": "health_status: healthy"},
    ],
)  # fmt: skip
def test_what_is_no_event_of_a_containers_life(words):
    assert Event.told(answer(**words)) is None


def test_an_exit_code_that_is_no_number_is_none():
    event = Event.told(answer(Actor={"ID": "c1", "Attributes": {"exitCode": "x"}}))
    assert event.exit_code is None


actions = st.sampled_from(
    ["create", "start", "oom", "kill:9", "kill:15", "die:137", "die:0", "stop", "destroy"]
)
histories = st.lists(actions, max_size=12)


@given(histories, histories, st.randoms())
def test_each_death_once_in_whatever_order_and_however_often_events_are_told(one, other, random):
    events = [*told(*one), *told(*other, container="c2")]
    expected = deaths(events)
    assert sum(death.exit_code is not None for death in expected) == sum(
        event.action == "die" for event in events
    )
    assert sum(death.out_of_memory for death in expected) == sum(event.action == "oom" for event in events)
    shuffled = list(events)
    random.shuffle(shuffled)
    cut = random.randint(0, len(shuffled))
    both = Events(tuple(shuffled[:cut]), complete=True, until=1).then(
        Events(tuple(shuffled), complete=True, until=2)
    )
    assert deaths(both.events) == expected
    assert (both.complete, both.until) == (True, 2)


def test_a_reading_that_lacks_events_makes_both_incomplete():
    whole, part = Events((), complete=True, until=1), Events((), complete=False, until=2)
    assert not whole.then(part).complete
    assert not part.then(whole).complete
