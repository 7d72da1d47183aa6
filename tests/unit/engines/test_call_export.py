"""The call export: its shapes, what is skipped and counted, and what is refused whole."""

import gzip
from collections import Counter

import pytest

from pytest_evalharness.engines.evidence.calls import ExportRow, rows
from pytest_evalharness.engines.evidence.scrubbing import CallKeys, scrub
from pytest_evalharness.errors import EvidenceUnreadable

TURNS = [
    {"role": "agent", "text": "Hello."},
    {"role": "customer", "text": "Hi."},
    {"role": "agent", "text": "Bye."},
]


def read(path):
    skipped = Counter()
    *found, digest = rows(path, skipped)
    assert digest.startswith("sha256:")
    return [row for _, row in found], skipped


# ------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    "told",
    [
        {"turns": TURNS},
        {"turns": [{"role": "Assistant", "content": "Hello."}, {"role": " USER ", "text": "Hi."}, TURNS[2]]},
        {"transcript": "Assistant: Hello.\nUser: Hi.\nAssistant: Bye."},
        {"transcript": "agent: Hello.\n\ncustomer:\n  Hi.\r\nagent: Bye.\n"},
        {"transcript": TURNS},
        {
            "turns": [
                {"role": "system", "text": "Be nice."},
                *TURNS,
                {"role": "agent", "text": "  "},
                {"role": "tool"},
            ]
        },
        {"turns": [*TURNS, {"role": "customer", "text": "said after the last kept agent turn"}]},
    ],
)
def test_every_known_shape_of_a_transcript(export, told):
    (row,), skipped = read(export([{"call_id": "C-1", "outcome": "Won", **told}]))
    assert row.has_agent
    assert row.utterances(8) == [(True, "Hello."), (False, "Hi."), (True, "Bye.")]
    assert row.utterances(1) == [(True, "Hello.")]
    assert not skipped


@pytest.mark.parametrize(
    ("told", "name", "label"),
    [
        ({"call_id": "C-1", "outcome": "Won"}, "C-1", "Won"),
        ({"id": 17, "metadata": {"label": " Won "}}, "17", "Won"),
        ({"call_id": "C-1", "id": "other", "outcome": "Won", "metadata": {"label": "Lost"}}, "C-1", "Won"),
        ({"call_id": "", "metadata": "none"}, None, ""),
        ({"metadata": {"label": 3}}, None, ""),
        ({}, None, ""),
    ],
)
def test_names_and_labels_of_both_sources(told, name, label):
    import msgspec

    row = msgspec.convert(told, ExportRow)
    assert (row.name, row.label) == (name, label)


def test_a_call_in_which_no_agent_speaks(export):
    found, _ = read(
        export([{"turns": TURNS[1:2]}, {"transcript": "User: Hi."}, {"transcript": "no speaker"}, {}])
    )
    assert [row.has_agent for row in found] == [False] * 4


# ------------------------------------------------------------------ skipped


def test_lines_that_are_no_rows_are_counted_and_the_rest_is_read(export):
    lines = [
        b'{"call_id": "C-1", "outco', b"", b"   ", b"\xff\xfe", b"[]", b'{"call_id": ["x"]}', b'{"turns": {"role": "agent"}}',
        b'{"call_id": "C-2", "outcome": "Won"}', b'{"outcome": 3}', b'{"a": 1} {"b": 2}', b"[" * 100_000,
        b'{"metadata": ' + b"[" * 100_000,
    ]  # fmt: skip
    found, skipped = read(export(lines))
    assert [row.name for row in found] == ["C-2"]
    assert skipped == {"bad_json": 4, "wrong_types": 5}


def test_half_a_last_line_without_its_end(tmp_path):
    (tmp_path / "calls.jsonl").write_bytes(b'{"call_id": "C-1"}\n{"call_id": "C-2", "outc')
    found, skipped = read(tmp_path / "calls.jsonl")
    assert [row.name for row in found] == ["C-1"]
    assert skipped == {"bad_json": 1}


def test_a_byte_order_mark_and_line_ends_of_another_system(tmp_path):
    (tmp_path / "calls.jsonl").write_bytes(b'\xef\xbb\xbf{"call_id": "C-1"}\r\n{"call_id": "C-2"}\r\n')
    found, skipped = read(tmp_path / "calls.jsonl")
    assert [row.name for row in found] == ["C-1", "C-2"]
    assert not skipped


def test_a_line_that_is_too_long_to_be_held(export, monkeypatch):
    monkeypatch.setattr("pytest_evalharness.engines.evidence.calls._PIECE", 64)
    monkeypatch.setattr("pytest_evalharness.engines.evidence.calls._LONGEST_LINE", 200)
    long = b'{"call_id": "' + b"x" * 1000 + b'"}'
    found, skipped = read(export([b'{"call_id": "a"}', long, b'{"call_id": "b"}', long]))
    assert [row.name for row in found] == ["a", "b"]
    assert skipped == {"too_long": 2}


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 20])
def test_lines_are_whole_wherever_pieces_end(export, monkeypatch, piece):
    monkeypatch.setattr("pytest_evalharness.engines.evidence.calls._PIECE", piece)
    found, skipped = read(export([{"call_id": str(at)} for at in range(30)]))
    assert [row.name for row in found] == [str(at) for at in range(30)]
    assert not skipped


# ------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (gzip.compress(b'{"call_id": "C-1"}\n' * 99, mtime=0)[:-9], "damaged or was cut"),
        (b"\x1f\x8b spoilt", "damaged or was cut"),
        (gzip.compress(b'{"call_id": "C-1"}\n', mtime=0) + b"tail", "damaged or was cut"),
    ],
)
def test_an_export_that_cannot_be_read_to_its_end(tmp_path, content, why):
    (tmp_path / "calls.jsonl.gz").write_bytes(content)
    with pytest.raises(EvidenceUnreadable) as refusal:
        read(tmp_path / "calls.jsonl.gz")
    assert why in refusal.value.what
    assert refusal.value.not_done == "no evidence was built"


def test_no_export(tmp_path):
    with pytest.raises(EvidenceUnreadable, match="No such file"):
        read(tmp_path / "none.jsonl.gz")


def test_the_digest_is_that_of_the_file_and_progress_reaches_its_end(export):
    import hashlib

    path = export([{"call_id": str(at)} for at in range(3000)])
    told = []
    *_, digest = rows(path, Counter(), told.append)
    assert digest == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    assert told == sorted(told)
    assert told[-1] == 1.0


# ---------------------------------------------------------------- scrubbing


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Call me on 0555 123 456, please", "Call me on [phone], please"),
        ("+966 (55) 512-3456", "+[phone]"),
        ("".join(map(chr, range(0x660, 0x66A))), "[phone]"),
        ("".join(map(chr, range(0x6F0, 0x6FA))) + " ok", "[phone] ok"),
        ("\uff10\uff15\uff15\uff15\uff11\uff12\uff13", "[phone]"),
        ("0\u200b5\u200b5\u200b5\u200b1\u200b2\u200b3", "[phone]"),
        ("my id is 123456", "my id is [phone]"),
        ("three rooms, 120 square metres, 4 floors", "three rooms, 120 square metres, 4 floors"),
        ("write to lina.k@example.com!", "write to [email]"),
        ("noor at example dot com dot sa, thanks", "[email], thanks"),
        ("a dot on the map at noon", "a dot on the map at noon"),
        ("nothing here", "nothing here"),
        ("مرحبا", "مرحبا"),
    ],
)
def test_what_leaves_a_turn(text, left):
    assert scrub(text) == left


def test_a_name_for_a_call_tells_neither_its_id_nor_another_sets_name():
    secret = b"a secret of some length"
    keys = CallKeys(secret, "acme", 7)
    name, number = keys.of("C-1")
    assert (name, number) == CallKeys(secret, "acme", 7).of("C-1")
    assert len(name) == 24
    assert 0 <= number < 2**64
    others = [
        CallKeys(secret, "acme", 8), CallKeys(secret, "acme2", 7), CallKeys(b"another secret of length", "acme", 7),
    ]  # fmt: skip
    names = {name, keys.of("C-2")[0], *(other.of("C-1")[0] for other in others)}
    assert len(names) == 5
    assert len({keys.fingerprint, *(other.fingerprint for other in others)}) == 4
