"""The data folder: exports, sets with and without a record, names that cannot leave it, and the key of call ids."""

import gzip
import os

import pytest

from pytest_evalharness.engines.evidence.folder import SetRecord
from pytest_evalharness.errors import EvidenceUnreadable, NotEnoughEvidence, UsageError


def put(folder, name, content="{}", when=None):
    path = folder.datasets / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    if when is not None:
        os.utime(path, (when, when))
    return path


# -------------------------------------------------------------------- exports


def test_an_export_is_registered_compressed(folder, export):
    plain = export([{"call_id": "1"}], "calls.jsonl")
    assert folder.register("acme", plain) is False
    assert gzip.decompress(folder.registry("acme").read_bytes()) == plain.read_bytes()
    before = folder.registry("acme").stat()  # but for when it was read last
    assert (
        folder.register("acme", plain) is False
    )  # the same again is no other one: an interrupted build can go on
    after = folder.registry("acme").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_size,
    )
    packed = export([{"call_id": "2"}], "more.jsonl.gz")
    assert folder.register("acme", packed) is True
    assert folder.registry("acme").read_bytes() == packed.read_bytes()
    assert folder.register("acme", folder.registry("acme")) is False
    assert folder.registry("acme").read_bytes() == packed.read_bytes()
    assert folder.registry("acme").stat().st_mode & 0o077 == 0  # it holds what was said, and phone numbers
    assert [path.name for path in folder.registry("acme").parent.iterdir()] == ["acme.jsonl.gz"]


def test_an_export_that_is_not_there_cannot_be_registered(folder, tmp_path):
    with pytest.raises(EvidenceUnreadable, match="cannot be registered: No such file"):
        folder.register("acme", tmp_path / "none")
    with pytest.raises(EvidenceUnreadable, match="Is a directory"):
        folder.register("acme", tmp_path)
    assert not folder.registry("acme").exists()


SPOILT = {
    "cut": lambda raw: raw[:-9],
    "empty": lambda _: b"",
    "nothing packed": lambda _: gzip.compress(b""),
    "no gzip": lambda _: b"\x1f\x8bx",
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_export_does_not_take_the_place_of_a_good_one(folder, export, how):
    folder.register("acme", export([{"call_id": "1"}]))
    good = folder.registry("acme").read_bytes()
    bad = export([{"call_id": "2"}], "bad.jsonl.gz")
    bad.write_bytes(SPOILT[how](bad.read_bytes()))
    with pytest.raises(EvidenceUnreadable, match=r"bad\.jsonl\.gz is no call export that can be read"):
        folder.register("acme", bad)
    assert folder.registry("acme").read_bytes() == good
    assert len(list(folder.registry("acme").parent.iterdir())) == 1


def test_where_exports_are_found(folder):
    with pytest.raises(NotEnoughEvidence, match="the registry holds no calls of acme"):
        folder.export("acme", "registry")
    with pytest.raises(NotEnoughEvidence, match="the volume holds no calls of acme"):
        folder.export("acme", "volume")
    usual = folder.root / "call-logs" / "acme" / "acme_calls.jsonl.gz"
    usual.parent.mkdir(parents=True)
    usual.touch()
    assert folder.export("acme", "volume") == usual
    assert folder.export("other", "volume", "acme/acme_calls.jsonl.gz") == usual


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x", "a\0", "-x", "x" * 65, "ä"])
def test_a_worlds_name_is_a_folders(folder, name):
    for use in (
        folder.registry,
        lambda one: folder.export(one, "volume"),
        lambda one: folder.new_set(one, "rule", 0),
    ):
        with pytest.raises(UsageError, match="no world's name"):
            use(name)


# ----------------------------------------------------------------------- sets


def test_sets_are_listed_newest_first_with_files_that_have_no_record(folder):
    assert folder.sets() == []
    put(folder, "rl/acme/evidence-rule-a.json")
    put(folder, "rl/acme/evidence-rule-b.json", when=1_700_000_000)
    put(folder, "rl/other/evidence-judge-c.json", when=1_900_000_000)
    put(folder, "rl/acme/notes.json")
    folder.record(
        SetRecord(
            id="es-a", env="acme", path="rl/acme/evidence-rule-a.json", created_at="2026-01-01T00:00:00Z"
        )
    )
    folder.record(SetRecord(id="es-gone", env="acme", path="rl/acme/evidence-rule-gone.json"))
    (folder.root / "evidence-sets" / "es-spoilt.json").write_text("{")
    found = folder.sets()
    assert [(one.id, one.env, one.on_volume_only) for one in found] == [
        ("vol:rl/other/evidence-judge-c.json", "other", True),
        ("es-a", "acme", False),
        ("vol:rl/acme/evidence-rule-b.json", "acme", True),
    ]
    assert [one.id for one in folder.sets("other")] == [found[0].id]
    for one in found:
        assert folder.locate(one.id) == folder.datasets / one.path


def test_sets_of_one_second_have_names_of_their_own(folder):
    first = folder.new_set("acme", "model-lev/3:x", 1_700_000_000.4)
    assert first.name == "evidence-model-lev_3_x-20231114T221320Z.json"
    assert first.parent == folder.datasets / "rl" / "acme"
    put(folder, "rl/acme/" + first.name)
    assert folder.new_set("acme", "model-lev/3:x", 1_700_000_000.9).name == first.stem + "-2.json"


@pytest.mark.parametrize(
    "name", ["../evidence.key", "rl/../../x", "/etc/passwd", "", "link/x.json", "rl/acme/\0.json"]
)
def test_a_volumes_name_cannot_leave_it(folder, tmp_path, name):
    (tmp_path / "x.json").write_text("{}")
    for place in (folder.datasets, folder.root / "call-logs"):
        place.mkdir(parents=True)
        (place / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="does not stay below"):
        folder.locate(f"vol:{name}")
    with pytest.raises(UsageError, match="does not stay below"):
        folder.export("acme", "volume", name or "..")


def test_a_set_that_is_not_there(folder, tmp_path):
    for name in ("es-1", "vol:rl/acme/none.json", str(tmp_path / "none.json"), str(tmp_path)):
        with pytest.raises(EvidenceUnreadable, match="there is no evidence set"):
            folder.locate(name)
    path = tmp_path / "mine.json"
    path.write_text("{}")
    assert folder.locate(str(path)) == path


# ------------------------------------------------------------------------ key


def test_the_folder_keeps_its_key(folder):
    key = folder.key({})
    assert len(key) == 64
    assert folder.key({}) == key
    assert (folder.root / "evidence.key").stat().st_mode & 0o077 == 0
    assert folder.key({"EVALHARNESS_EVIDENCE_KEY": "one for all machines"}) == b"one for all machines"
    with pytest.raises(UsageError, match="shorter than 16 characters") as refusal:
        folder.key({"EVALHARNESS_EVIDENCE_KEY": "too-short"})
    assert "too-short" not in str(refusal.value)
    assert sorted(path.name for path in folder.root.iterdir()) == ["evidence.key"]
