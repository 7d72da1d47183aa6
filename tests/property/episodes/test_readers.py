"""Whatever bytes a stranger sends: a value, or the one error of the readers. Never anything else, and never a hang."""

import contextlib
import io
import json
import math
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.episodes.ballots import NOWHERE, accuracy, target_of
from pytest_evalharness.episodes.error_info import read_error_info
from pytest_evalharness.episodes.logs import read_log
from pytest_evalharness.episodes.player_status import PlayerStatus, read_player_status
from pytest_evalharness.episodes.results import SeatResults, read_results, regime_of
from pytest_evalharness.episodes.telemetry import read_telemetry
from pytest_evalharness.errors import ArtifactUnreadable

WORDS = st.sampled_from(
    [
        "scores", "win", "imposter", "crew", "vote_timeout", "vote_timeouts", "tasks", "connect_timeout", "ticks", "players",
        "schema_version", "slot", "state", "exit_code", "finished_at", "error_type", "failed_policy_index", "message", "kind",
        "event", "data", "decision", "vote",
    ]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(min_value=10**300, max_value=10**400), st.floats(), st.text(),
    st.sampled_from(["1", "exited", "running", "red", "trace", "domain.meeting_llm_decision", "2026-08-12T18:42:00Z"]),
)  # fmt: skip
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=5)
READERS = (read_results, read_player_status, read_error_info)


def written(value):
    return json.dumps(value).encode()


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@given(data=st.one_of(st.binary(max_size=400), JSON.map(written), OBJECTS.map(written), OBJECTS))
def test_json_readers(read, data):
    with contextlib.suppress(ArtifactUnreadable):
        assert read(data) is not None


@given(OBJECTS)
def test_kept_results_are_finite_plain_and_read_the_same_again(told):
    read = read_results(told)
    json.dumps(read.kept, allow_nan=False)
    again = read_results(json.loads(json.dumps(read.kept)))
    assert again.kept == read.kept
    assert again.malformed == ()


@given(OBJECTS, st.integers(-3, 70))
def test_reading_off_anything_that_may_stand_in_an_old_journal(told, seat):
    results = SeatResults(told)
    score = results.score(seat)
    assert score is None or math.isfinite(score)
    assert results.count("tasks", seat) >= 0
    assert results.won(seat) in {True, False, None}
    assert results.role(seat) in {"crew", "imposter", None}
    assert results.imposters is not None
    assert len(results.timed_out) == len({*results.timed_out})
    regime_of([results])


PLAYERS = st.fixed_dictionaries(
    {"slot": st.integers(-1, 9)},
    optional={
        "state": st.sampled_from(["running", "exited", "not_started", "unavailable", "odd"]) | LEAVES,
        "exit_code": st.integers(-1, 140) | LEAVES,
        "reason": LEAVES,
        "finished_at": st.datetimes().map(lambda moment: moment.isoformat() + "Z") | LEAVES,
    },
)


@given(st.lists(PLAYERS, max_size=4, unique_by=lambda player: player["slot"]), st.integers(0, 8))
def test_player_status_survives_the_journal(players, slot):
    try:
        status = read_player_status({"schema_version": "1", "players": players})
    except ArtifactUnreadable:
        return
    assert PlayerStatus.from_json(json.loads(json.dumps(status.to_json(), allow_nan=False))) == status
    assert status.crashed(slot) in {True, False, None}


@given(
    st.binary(max_size=500) | st.text(max_size=500).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_logs(data):
    log = read_log(data, "log")
    assert all(ballot >= NOWHERE for ballot in log.ballots)
    assert log.last_words.isprintable()
    assert log.complaint.isprintable()


@given(JSON)
def test_targets(word):
    assert NOWHERE <= target_of(word) < 64


@given(st.lists(st.integers(-2, 9)), st.frozensets(st.integers(0, 9)))
def test_accuracy_is_a_share(ballots, imposters):
    found = accuracy(ballots, imposters)
    assert 0 <= found.hits <= found.votes <= len(ballots)


def zipped(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        # A name ends where zipfile ends it, and no time of day is in the bytes: what is invented twice is the same twice.
        for name, content in {name.partition("\0")[0]: content for name, content in members.items()}.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


NAMES = st.text(min_size=1, max_size=8).filter(
    lambda name: name[0] != "\0"
)  # zipfile cannot write a name of nothing
LINES = st.lists(JSON.map(written) | OBJECTS.map(written) | st.binary(max_size=60), max_size=6).map(
    b"\n".join
)
ARCHIVES = st.builds(
    zipped,
    st.dictionaries(st.just("telemetry.jsonl") | NAMES, LINES, max_size=4),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
)


@settings(deadline=None)
@given(
    ARCHIVES,
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=5),
    st.integers(0, 400),
)
def test_telemetry_of_whole_and_of_spoilt_archives(data, spoils, cut):
    spoilt = bytearray(data)
    for at, byte in spoils:
        spoilt[at % len(spoilt)] = byte
    for candidate in (data, bytes(spoilt), bytes(spoilt[: len(spoilt) - cut]), bytes(spoilt[cut:])):
        try:
            found = read_telemetry(candidate)
        except ArtifactUnreadable:
            continue
        rate = found.fire_rate
        assert rate is None or 0.0 <= rate <= 1.0
