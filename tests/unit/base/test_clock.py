import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.base.clock import SystemClock, iso, parse_iso, span

INSTANTS = st.integers(min_value=0, max_value=4_000_000_000_000).map(lambda ms: ms / 1000)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-09-01T25:00:00Z", "12"])
def test_what_is_no_instant_is_refused(text):
    with pytest.raises(ValueError):
        parse_iso(text)


def test_an_instant_without_a_zone_is_utc():
    assert parse_iso("2026-09-01T12:00:00") == parse_iso("2026-09-01T12:00:00Z")
    assert parse_iso("2026-09-01T14:00:00+02:00") == parse_iso("2026-09-01T12:00:00Z")


def test_the_epoch():
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert parse_iso("1970-01-01T00:00:01.5Z") == 1.5


@given(INSTANTS)
def test_an_instant_survives_being_written(seconds):
    assert parse_iso(iso(seconds)) == pytest.approx(seconds, abs=1e-3)


@given(INSTANTS, INSTANTS)
def test_written_instants_sort_by_time(one, other):
    if abs(one - other) > 0.002:
        assert (iso(one) < iso(other)) == (one < other)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-3, "0.0 s"), (0, "0.0 s"), (0.44, "0.4 s"), (9.94, "9.9 s"), (9.96, "10 s"), (12, "12 s"),
        (59.4, "59 s"), (59.6, "1 min"), (60, "1 min"), (425, "7 min 5 s"), (3600, "1 h"), (3601, "1 h"),
        (7800, "2 h 10 min"), (86_400, "1 d"), (86_399.6, "1 d"), (273_600, "3 d 4 h"),
    ],
)  # fmt: skip
def test_spans_for_people(seconds, told):
    assert span(seconds) == told


@given(st.floats(min_value=0, max_value=1e9))
def test_a_span_never_says_sixty_of_anything(seconds):
    told = span(seconds)
    assert told
    for amount, unit in zip(told.split()[::2], told.split()[1::2], strict=True):
        assert float(amount) < {"s": 60, "min": 60, "h": 24, "d": 1e9}[unit]


def test_the_system_clock_runs_forward():
    clock = SystemClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first
    assert clock.now() > 1_700_000_000


def test_a_wait_ends_at_once_when_told_to_stop():
    stop = threading.Event()
    stop.set()
    assert SystemClock().wait(3600, stop)


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_wait_for_nothing_takes_nothing(seconds):
    assert not SystemClock().wait(seconds)
    assert not SystemClock().wait(seconds, threading.Event())
