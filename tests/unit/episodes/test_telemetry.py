"""A policy's own archive: an adviser that answered, one that did not, and archives that must not be opened."""

import io
import json
import struct
import zipfile

import pytest

from pytest_evalharness.episodes.archives import opened
from pytest_evalharness.episodes.ballots import SKIP
from pytest_evalharness.episodes.telemetry import Telemetry, read_telemetry
from pytest_evalharness.errors import ArtifactUnreadable


def trace(event, **data):
    return json.dumps({"kind": "trace", "tick": 1, "event": event, "name": event, "data": data})


DECISION = trace("domain.meeting_llm_decision", decision={"vote": "red"}, model="m")
FALLBACK = trace("domain.meeting_llm_fallback", reason="call_failed")
DISABLED = trace("domain.meeting_llm_disabled")
METRIC = json.dumps({"kind": "metric", "metric_kind": "histogram", "name": "llm_latency_ms", "value": 812.0})
OTHER = trace("domain.task_completed", task_index=6)


def packed(*lines, name="telemetry.jsonl", method=zipfile.ZIP_DEFLATED, **others):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, "".join(line + "\n" for line in lines))
        for other, content in others.items():
            archive.writestr(other, content)
    return out.getvalue()


def test_decisions_fallbacks_and_votes():
    found = read_telemetry(packed(OTHER, DECISION, METRIC, FALLBACK, DECISION, manifest="{}"))
    assert (found.decisions, found.fallbacks, found.disabled, found.malformed) == (2, 1, 0, 0)
    assert found.ballots == (0, 0)
    assert found.fire_rate == pytest.approx(2 / 3)


def test_a_decision_that_is_no_vote():
    lines = [
        trace("domain.meeting_llm_decision", decision={"vote": "skip"}),
        trace("domain.meeting_llm_decision", decision={"say": "hello"}),
        trace("domain.meeting_llm_decision", decision="red"),
        trace("domain.meeting_llm_decision"),
    ]
    found = read_telemetry(packed(*lines))
    assert (found.decisions, found.ballots) == (4, (SKIP,))


def test_an_adviser_out_of_reach_fired_never_and_one_nobody_tells_of_is_unknown():
    assert read_telemetry(packed(DISABLED)).fire_rate == 0.0
    assert read_telemetry(packed(FALLBACK, FALLBACK)).fire_rate == 0.0
    assert read_telemetry(packed(OTHER, METRIC)).fire_rate is None
    assert read_telemetry(packed("{}", name="else.txt")) == Telemetry()


def test_only_traces_count():
    metric = json.dumps({"kind": "metric", "event": "domain.meeting_llm_decision"})
    assert read_telemetry(packed(metric)) == Telemetry()


def test_it_may_lie_in_a_folder_and_the_nearest_one_counts():
    found = read_telemetry(packed(DECISION, name="run/telemetry.jsonl", **{"a/b/telemetry.jsonl": FALLBACK}))
    assert (found.decisions, found.fallbacks) == (1, 0)


def test_half_a_last_line_is_a_killed_process_and_others_are_malformed():
    def raw(content):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("telemetry.jsonl", content)
        return read_telemetry(out.getvalue())

    assert raw(f"{DECISION}\n{DECISION[:70]}") == Telemetry(decisions=1, ballots=(0,))
    assert raw(f"{DECISION[:70]}\n{DECISION}\n").malformed == 1
    assert raw('{"kind": "trace", "event": ["llm_decision"]}\n').malformed == 1
    assert raw('"llm_"\n').malformed == 1
    assert raw("[" * 50_000 + "llm_\n").malformed == 1
    assert raw('{"kind": "trace", "x": "llm_' + "y" * 1024 * 1024 + '"}\n').malformed == 1


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06", b"nonsense", b"{}", b"PK\x03\x04" + b"\0" * 100])
def test_what_is_no_zip_is_one_error(data):
    with pytest.raises(ArtifactUnreadable, match="telemetry cannot be read"):
        read_telemetry(data)


@pytest.mark.parametrize(
    "name", ["../telemetry.jsonl", "/telemetry.jsonl", "a/../../b", "C:telemetry.jsonl", "a\\b", "..", " "]
)
def test_a_name_that_would_leave_its_folder_spoils_the_whole_archive(name):
    with pytest.raises(ArtifactUnreadable, match="would leave its folder"):
        read_telemetry(packed(DECISION, **{name: "x"}))


def test_a_link_spoils_the_whole_archive():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("telemetry.jsonl")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ArtifactUnreadable, match="is a link"):
        read_telemetry(out.getvalue())


def test_an_encrypted_member_and_an_unusual_method():
    data = bytearray(packed(DECISION))
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(ArtifactUnreadable, match="is encrypted"):
        read_telemetry(bytes(data))
    with pytest.raises(ArtifactUnreadable, match="unusual method"):
        read_telemetry(packed(DECISION, method=zipfile.ZIP_LZMA))


def test_a_bomb_is_stopped_at_64_mib():
    bomb = packed("\0" * (65 * 1024 * 1024))
    assert len(bomb) < 100_000
    with pytest.raises(ArtifactUnreadable, match="unpacks to more than 67108864 bytes"):
        read_telemetry(bomb)


def test_a_bomb_that_lies_about_its_size_is_stopped_as_well():
    data = bytearray(packed("\0" * (65 * 1024 * 1024)))
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", data, data.rfind(mark) + offset, 10)
    with pytest.raises(ArtifactUnreadable):
        read_telemetry(bytes(data))


def test_a_million_members_are_never_listed():
    data = bytearray(packed(DECISION))
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<I", data, at + 12, 100_000_000)
    with pytest.raises(ArtifactUnreadable, match="table of contents"):
        read_telemetry(bytes(data))
    many = packed(DECISION, **{str(i): "" for i in range(1000)})
    with pytest.raises(ArtifactUnreadable, match="1001 members"):
        read_telemetry(many)


def test_the_64_bit_table_of_contents_is_not_followed():
    data = packed(DECISION)
    at = data.rfind(b"PK\x05\x06")
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, 0, 1)
    with pytest.raises(ArtifactUnreadable, match="table of contents"):
        read_telemetry(data[:at] + locator + data[at:])


def test_a_damaged_member_is_one_error():
    data = bytearray(packed(*[DECISION] * 50))
    data[60] ^= 0xFF
    with pytest.raises(ArtifactUnreadable):
        read_telemetry(bytes(data))


def test_an_archive_knows_its_members():
    with opened(packed(DECISION, manifest="{}"), "archive") as archive:
        assert archive.names == ("telemetry.jsonl", "manifest")
        assert archive.read("manifest") == b"{}"
        with pytest.raises(ArtifactUnreadable):
            archive.read("nothing")


def test_an_archive_larger_than_the_service_keeps_is_not_opened():
    class Huge(bytes):
        def __len__(self):
            return 200 * 1024 * 1024 + 1

    with pytest.raises(ArtifactUnreadable, match="at most 209715200 are read"):
        read_telemetry(Huge())
