from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.base.text import redact
from pytest_evalharness.errors import NoCredentials
from pytest_evalharness.observatory import Identity, Token, credentials_path, load_token

ROOT = "http://127.0.0.1:18777/api"
NOW = 1_790_000_000.0  # 2026-09-21T14:13:20Z


class Now:
    def now(self):
        return NOW

    def monotonic(self):
        return 0.0

    def wait(self, seconds, stop=None):
        raise AssertionError("nothing here waits")


@pytest.fixture
def folder(tmp_path):
    def write(content):
        if content is not None:
            path = tmp_path / "credentials.yaml"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return {"SOFTMAX_CONFIG_DIR": str(tmp_path)}

    return write


def load(environ, root=ROOT, **more):
    return load_token(root, environ=environ, clock=Now(), **more)


def sessions(expires, active="ply_1111", token="ply_secret"):
    return (
        f"tokens:\n  {ROOT}: usr_token\n"
        f"player_sessions:\n  {ROOT}:\n    active: {active}\n    cache:\n"
        f"      ply_1111: {{token: {token}, expires_at: {expires}}}\n"
    )


# ------------------------------------------------------------------ nothing to use


def test_no_file_names_the_file_and_what_to_type(folder, tmp_path):
    with pytest.raises(NoCredentials) as caught:
        load(folder(None))
    text = str(caught.value)
    assert str(tmp_path / "credentials.yaml") in text
    assert f"softmax set-token TOKEN --server {ROOT}" in text
    assert "EVALHARNESS_TOKEN" in text
    assert "nothing was submitted" in text


@pytest.mark.parametrize(
    "content",
    [
        "tokens: [1, 2",
        "- a\n- b\n",
        "just a word",
        "tokens: none\n",
        f"tokens:\n  {ROOT}: [a]\n",
        f"tokens:\n  {ROOT}: ''\n",
        f"tokens:\n  {ROOT}: two words\n",
        f"tokens:\n  {ROOT}: tökén\n",
        f"tokens:\n  {ROOT}: 12345\n",
        b"\xff\xfe\x00tokens",
        "tokens: !!python/object/apply:os.system ['true']\n",
        "tokens: &a [*a]\n",
        f"player_sessions:\n  {ROOT}: 7\n",
        f"player_sessions:\n  {ROOT}: {{active: x, cache: 3}}\n",
        f"player_sessions:\n  {ROOT}: {{active: x, cache: {{x: 3}}}}\n",
        sessions("someday"),
        sessions("2026-09-22T00:00:00Z", token="[1]"),
        "x" * 2_000_000,
        "a: b: c",
        "\x00",
        "k: " + "[" * 700,
    ],
)
def test_a_file_that_cannot_be_used_is_named(folder, tmp_path, content):
    with pytest.raises(NoCredentials) as caught:
        load(folder(content))
    assert str(tmp_path / "credentials.yaml") in caught.value.what
    assert "set-token" in caught.value.next_step


def test_a_parser_s_complaint_does_not_quote_the_file(folder):
    with pytest.raises(NoCredentials) as caught:
        load(folder(f"tokens:\n  {ROOT}: ]usr_very_secret\n  x: [\n"))
    assert "secret" not in str(caught.value)
    assert "line 2" in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(folder, tmp_path):
    environ = folder("tokens: {}")
    (tmp_path / "credentials.yaml").chmod(0)
    with pytest.raises(NoCredentials, match="Permission denied"):
        load(environ)


def test_a_folder_in_place_of_the_file(folder, tmp_path):
    (tmp_path / "credentials.yaml").mkdir()
    with pytest.raises(NoCredentials, match="directory"):
        load(folder(None))


@pytest.mark.parametrize(
    "content", ["", "{}", "tokens:\n", "other: 1\n", "tokens: {}\nplayer_sessions: {}\n"]
)
def test_a_file_without_an_entry(folder, content):
    with pytest.raises(NoCredentials, match="has no token for"):
        load(folder(content))


def test_the_key_is_an_exact_string_and_near_ones_are_shown(folder):
    with pytest.raises(NoCredentials) as caught:
        load(folder("tokens:\n  http://localhost:18777/api: usr_token\n"))
    assert "http://localhost:18777/api" in caught.value.what
    assert "usr_token" not in str(caught.value)


# ------------------------------------------------------------------------- the token


def test_the_user_token(folder):
    token = load(folder(f"tokens:\n  {ROOT}: usr_token\n"), root=ROOT + "/")
    assert token.reveal() == "usr_token"
    assert token.identity is Identity.USER
    assert token.expires_at is None
    assert token.remark == ""


def test_the_environment_comes_first(folder):
    environ = {**folder(f"tokens:\n  {ROOT}: usr_token\n"), "EVALHARNESS_TOKEN": " from-env\n"}
    token = load(environ)
    assert token.reveal() == "from-env"
    assert token.identity is Identity.ENVIRONMENT
    assert token.source == "EVALHARNESS_TOKEN"


def test_an_empty_variable_counts_as_none(folder):
    environ = {**folder(f"tokens:\n  {ROOT}: usr_token\n"), "EVALHARNESS_TOKEN": "  "}
    assert load(environ).identity is Identity.USER


def test_a_variable_that_is_no_token():
    with pytest.raises(NoCredentials, match="EVALHARNESS_TOKEN cannot be used") as caught:
        load({"EVALHARNESS_TOKEN": "two w0rds-secret"})
    assert "w0rds" not in str(caught.value)


@pytest.mark.parametrize(
    "expires", ['"2026-09-22T12:00:00Z"', "2026-09-22T12:00:00Z", "2026-09-22 12:00:00", "2026-09-23", "null"]
)
def test_a_live_player_session_wins(folder, expires):
    token = load(folder(sessions(expires)))
    assert token.reveal() == "ply_secret"
    assert token.identity is Identity.PLAYER
    assert "ply_1111" in token.remark


@pytest.mark.parametrize("expires", ['"2026-09-21T14:13:20Z"', "2026-09-21T14:13:19Z", '"2020-01-01"'])
def test_an_expired_one_falls_through_and_says_so(folder, expires):
    token = load(folder(sessions(expires)))
    assert token.reveal() == "usr_token"
    assert token.identity is Identity.USER
    assert "ply_1111 expired at" in token.remark


@pytest.mark.parametrize("active", ["null", "ply_2222"])
def test_no_active_session(folder, active):
    token = load(folder(sessions('"2026-09-22T12:00:00Z"', active=active)))
    assert token.identity is Identity.USER
    assert ("ply_2222" in token.remark) == (active == "ply_2222")


@pytest.mark.failure_mode(number=28)
def test_only_an_expired_session_says_why_there_is_no_token(folder):
    content = sessions('"2026-01-01T00:00:00Z"').replace(f"  {ROOT}: usr_token\n", "  x: y\n", 1)
    with pytest.raises(NoCredentials, match="expired at"):
        load(folder(content))


def test_where_the_file_is(tmp_path):
    assert credentials_path({"HOME": "/h"}) == Path("/h/.softmax/credentials.yaml")
    assert credentials_path({}, home=tmp_path) == tmp_path / ".softmax/credentials.yaml"
    assert credentials_path({"SOFTMAX_CONFIG_DIR": "/c", "HOME": "/h"}) == Path("/c/credentials.yaml")
    assert credentials_path({"SOFTMAX_CONFIG_DIR": "~/c", "HOME": "/h"}) == Path("/h/c/credentials.yaml")
    assert credentials_path({"SOFTMAX_CONFIG_DIR": "", "HOME": "/h"}) == Path("/h/.softmax/credentials.yaml")


# ------------------------------------------------------------------------- secrecy


def test_a_token_never_shows_itself():
    token = Token("usr_abcdefgh", source="somewhere")
    for text in (str(token), repr(token), f"{token}", f"{token!r}", f"{[token]}", str(token._secret)):
        assert "abcdefgh" not in text
    assert redact("x usr_abcdefgh y") == "x [redacted] y"


def test_a_token_does_not_travel():
    token = Token("usr_abcdefgh")
    for attempt in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            attempt(token)


@given(st.text(max_size=40))
def test_a_token_fits_into_a_header_or_is_refused_unquoted(secret):
    try:
        revealed = Token(secret).reveal()
    except ValueError as problem:
        revealed = str(problem).replace("a token is one word of printable ASCII characters", "refused")
    assert revealed.encode("ascii")
    assert not any(character.isspace() for character in revealed)
