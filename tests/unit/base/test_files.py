import errno
import json
import math
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.base import files
from pytest_evalharness.base.files import canonical_json, readable_json, safe_component, write_atomic

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ------------------------------------------------------------------ writing


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, monkeypatch, step):
    path = tmp_path / "results.json"
    path.write_text("old")

    def full(*args):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["results.json"]


def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    path.write_text("old")

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["results.json"]


def test_a_folder_is_no_place_for_a_file(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(OSError):
        write_atomic(tmp_path / "there", "text")
    assert left_in(tmp_path) == ["there"]


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        write_atomic(tmp_path / "file" / "below", "text")


def test_folders_are_made_and_old_content_is_replaced(tmp_path):
    path = tmp_path / "runs" / "one" / "summary.md"
    write_atomic(path, "first, and longer")
    write_atomic(path, "zweite é")
    assert path.read_text() == "zweite é"
    assert left_in(path.parent) == ["summary.md"]


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_the_mode_does_not_depend_on_the_umask(tmp_path, mode):
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "file", b"\x00\xff", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert (tmp_path / "file").read_bytes() == b"\x00\xff"


def test_a_file_system_that_cannot_sync_folders_is_no_failure(tmp_path, monkeypatch):
    real = os.open

    def only_files(path, *args):
        if Path(path).is_dir():
            raise PermissionError
        return real(path, *args)

    monkeypatch.setattr(files.os, "open", only_files)
    write_atomic(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


# --------------------------------------------------------------------- JSON


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": {"b": math.nan}}])
def test_numbers_that_are_none_have_no_digest(value):
    with pytest.raises(ValueError):
        canonical_json(value)
    with pytest.raises(ValueError):
        readable_json(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", Path("/")])
def test_what_json_does_not_know_has_no_digest(value):
    with pytest.raises(TypeError):
        canonical_json(value)


@given(st.dictionaries(st.text(), JSON, max_size=5), st.randoms())
def test_the_order_of_keys_makes_no_difference(value, rng):
    shuffled = list(value.items())
    rng.shuffle(shuffled)
    assert canonical_json(dict(shuffled)) == canonical_json(value)
    assert readable_json(dict(shuffled)) == readable_json(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ünï 漢字 🤖 \ufffd", '"Ünï 漢字 🤖 \ufffd"'),
        ("\x1b[31m\x9b\x7f", '"\\u001b[31m\\u009b\\u007f"'),
        ("\u202ea\u2028b\ufeff\xad", '"\\u202ea\\u2028b\\ufeff\\u00ad"'),
        ("\ud800 \U000e0041 \ue000", '"\\ud800 \\udb40\\udc41 \\ue000"'),
        ("a\nb", '"a\\nb"'),
        ("###[error]##[x] ## [y]", '"##\\u0023[error]#\\u0023[x] ## [y]"'),
    ],
)
def test_readable_json_shows_letters_and_spells_out_what_could_steer_a_terminal(text, told):
    shown = readable_json(text)
    assert shown == f"{told}\n"
    assert json.loads(shown) == text


@given(JSON)
def test_json_comes_back_as_it_was(value):
    assert json.loads(canonical_json(value)) == value
    assert json.loads(readable_json(value)) == value


def test_the_one_spelling():
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'
    assert readable_json({"b": 1, "a": 2}) == '{\n  "a": 2,\n  "b": 1\n}\n'


# -------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "...", "../..", "/etc/passwd", "..\\..", "a/../../b", "\x00", "-\n-", ".hidden", "C:\\x",
     "\u202egpj", "~", "con\u2044text", "\ud800", "x" * 5000, "." * 500, "/" * 500],
)  # fmt: skip
def test_hostile_names_stay_in_their_folder(tmp_path, name):
    put(tmp_path, name)


@given(st.text(alphabet=st.characters(codec=None, categories=None)))
def test_no_name_leaves_its_folder(tmp_path_factory, name):
    put(tmp_path_factory.getbasetemp(), name)


def put(folder, name):
    component = safe_component(name)
    assert 0 < len(component) <= 80
    assert component.isascii()
    assert component.isprintable()
    assert not component.startswith(".")
    assert not set(component) & set("/\\:\0 *?\"'<>|$`")
    assert Path(os.path.normpath(folder / component)).parent == folder
    assert (folder / component).name == component


@given(st.text(alphabet="abcXYZ019_-.", min_size=1, max_size=80))
def test_a_harmless_name_is_kept(name):
    if name == name.strip("._"):
        assert safe_component(name) == name


def test_half_a_character_in_a_strangers_text_is_written_as_its_escape(tmp_path):
    write_atomic(tmp_path / "f.json", readable_json({"name": "a\udc80b"}))
    assert json.loads((tmp_path / "f.json").read_bytes()) == {"name": "a\udc80b"}
