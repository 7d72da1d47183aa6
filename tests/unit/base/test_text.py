import html
import re
import sys
import threading
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_evalharness.base.text import Redactor, amount, counted, markdown, printable

ANYTHING = st.text(alphabet=st.characters(codec=None, categories=None))
STEERING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
SIGNS = "\\`*_{}[]()#+-.!|<>&~@:$"


# ---------------------------------------------------------------- printable


def test_every_character_there_is():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    for character, shown in zip(everything, printable(everything, len(everything)), strict=True):
        steers = unicodedata.category(character) in STEERING
        assert shown == ("\ufffd" if steers else character), hex(ord(character))


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "a\rb", "a\nb", "a\tb", "a\x08b", "a\x00b", "a\x7fb",
        "a\x85b", "a\u2028b", "a\u2029b", "a\u200eb", "a\u202eb", "a\u2066b", "a\u061cb", "a\u200bb", "a\u00adb",
        "a\ufeffb", "a\ud800b", "a\ue000b", "a\U000e0041b",
    ],
)  # fmt: skip
def test_nothing_steers_a_terminal(text):
    shown = printable(text)
    assert "\ufffd" in shown
    assert len(shown) == len(text)
    assert shown.encode()  # a lone surrogate could not be written
    assert not [c for c in shown if unicodedata.category(c) in STEERING]


@given(ANYTHING, st.integers(1, 60))
def test_always_one_line_never_longer_than_the_limit(text, limit):
    shown = printable(text, limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    assert not [c for c in shown if unicodedata.category(c) in STEERING]
    assert shown == printable(shown, limit)


@pytest.mark.parametrize(
    "text",
    ["::error::x", "  ::error title=a::x", "\u3000::stop-commands::x", "a ##[error]x", "##[add-mask]x"],
)
def test_nothing_steers_the_log_of_a_ci_job(text):
    """Its runner looks for `::command::` after any leading space, and for `##[command]` anywhere."""
    shown = printable(text)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert len(shown) == len(text)


@pytest.mark.parametrize(
    "text", ["::1", "evals/test_a.py::test_b", "a ::b::", "## [x]", "#[x]", "std::vec::Vec"]
)
def test_what_only_looks_a_little_like_a_command_stays(text):
    assert printable(text) == text


def test_a_cut_is_shown():
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 201) == "x" * 199 + "…"
    assert printable("abcdef", 3) == "ab…"


def test_a_giant_text_is_not_walked_through():
    assert len(printable("\x1b" * 10_000_000)) == 200


@pytest.mark.parametrize(("thing", "told"), [(None, "None"), (3, "3"), (["a"], "['a']"), ("", "")])
def test_anything_can_be_shown(thing, told):
    assert printable(thing) == told


def test_letters_of_all_scripts_stay():
    assert printable("Ünïcödé 漢字 🤖 עברית") == "Ünïcödé 漢字 🤖 עברית"


# ----------------------------------------------------------------- markdown


def rendered(text):
    """What CommonMark shows of escaped text: backslashes before punctuation go, entities are read."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)).replace("\u200b", "")


def naked(text):
    """What is left for Markdown to interpret once every escaped sign is taken out."""
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", text).replace("&#8203;", "")


@given(ANYTHING)
def test_no_markup_survives(text):
    assert not set(naked(markdown(text))) & set(SIGNS)


@given(st.text(alphabet=SIGNS + "ab1 "))
def test_no_markup_survives_a_dense_mix(text):
    assert not set(naked(markdown(text))) & set(SIGNS)


@given(st.text(alphabet=st.characters(exclude_categories=sorted(STEERING)), max_size=200))
def test_the_reader_sees_the_text_itself(text):
    assume("&#8203;" not in text)
    assume("##[" not in text and not text.lstrip().startswith("::"))  # commands to a log are made harmless
    assert rendered(markdown(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "[click](https://evil.example)", "![x](y)", "<script>alert(1)</script>", "<!-- -->", "&lt;b&gt;", "a|b",
        "`code`", "**bold**", "# title", "- item", "1. item", "> quote", "~~gone~~", "\\[x](y)", "$x^2$",
        "http://evil.example", "www.evil.example", "&#60;b&#62;", "a\n\n# title", "|---|",
    ],
)  # fmt: skip
def test_well_known_markup(text):
    assert not set(naked(markdown(text))) & set(SIGNS)


@pytest.mark.parametrize("text", ["@someone", "mail a@b.com now", "see #1", "owner/repo#12", "@@team"])
def test_what_is_linked_after_the_backslash_is_gone_is_broken_up(text):
    """GitHub finds mentions, mail addresses and issue numbers in the rendered text."""
    shown = html.unescape(markdown(text).replace("\\", ""))
    assert not re.search(r"[@#]\w", shown)
    assert shown.replace("\u200b", "") == text


# ----------------------------------------------------------------- redaction


@pytest.fixture
def redact():
    return Redactor()


def test_the_longest_secret_goes_first(redact):
    for secret in ("tok_abc", "tok_abcdef", "abcd"):
        redact.hide(secret)
    assert redact("x tok_abcdef y tok_abc z abcd") == "x [redacted] y [redacted] z [redacted]"


def test_overlapping_secrets_leave_no_tail(redact):
    redact.hide("abcdef")
    redact.hide("defghi")
    assert redact("<abcdefghi>") == "<[redacted]>"
    assert redact("<defabcdef>") == "<def[redacted]>"


def test_a_secret_that_overlaps_itself(redact):
    redact.hide("abab")
    assert redact("ababab!") == "[redacted]!"
    assert redact("abababab") == "[redacted]"


def test_neighbours_are_two(redact):
    redact.hide("secret1")
    redact.hide("secret2")
    assert redact("secret1secret2") == "[redacted][redacted]"


@given(st.lists(st.text(alphabet="abc", min_size=4, max_size=8), min_size=1, max_size=4), st.data())
def test_no_known_secret_survives(secrets, data):
    redact = Redactor()
    for secret in secrets:
        redact.hide(secret)
    pieces = st.lists(st.sampled_from(secrets) | st.text(alphabet="abc", max_size=3), max_size=6)
    text = "".join(data.draw(pieces))
    assert not [secret for secret in secrets if secret in redact(text)]
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cret", "authorization: bearer s3cret", "{'Authorization': 'Bearer s3cret'}",
        "X-Auth-Token: s3cret", "x-auth-token s3cret", "{'X-Auth-Token': 's3cret'}", '{"X-Auth-Token":"s3cret"}',
        "token=s3cret", "TOKEN: s3cret", 'token: "s3cret"', '{"token": "s3cret", "a": 1}', "?a=1&token=s3cret",
        "EVALHARNESS_TOKEN=s3cret", "access_token=s3cret", "export MY_TOKEN='s3cret'",
        "https://user:s3cret@host/api", "http://s3cret@host",
    ],
)  # fmt: skip
@pytest.mark.failure_mode(number=35)
def test_what_looks_like_a_credential_is_hidden_unasked(redact, text):
    shown = redact(text)
    assert "s3cret" not in shown
    assert "[redacted]" in shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the token in its notes", "tokens are read from credentials.yaml", "max_tokens=5 and 3 tokens",
        "forbearers of old", "https://host:8765/api/@me", "a plain line", "no token was found",
        "http://127.0.0.1:1/api", "mail a@b.com",
    ],
)  # fmt: skip
def test_prose_is_left_alone(redact, text):
    assert redact(text) == text


def test_neighbouring_text_is_left(redact):
    assert redact('{"token": "s3cret", "league": "x"}') == '{"token": "[redacted]", "league": "x"}'


@pytest.mark.parametrize("secret", ["", "a", "abc", "   ", "\n\n\n\n\n", " ab "])
def test_short_secrets_are_left_alone(redact, secret):
    redact.hide(secret)
    assert redact("abc a   b\n\n\n\n\n") == "abc a   b\n\n\n\n\n"


def test_a_secret_read_with_its_line_end(redact):
    redact.hide("s3cret-t0ken\n")
    assert redact("(s3cret-t0ken)") == "([redacted])"


def test_a_redactor_never_shows_what_it_knows(redact):
    redact.hide("s3cret-t0ken")
    assert repr(redact) == "Redactor(1 secrets)"
    assert "s3cret" not in str(redact)


def test_secrets_may_come_from_many_threads(redact):
    secrets = [f"secret-{i:04}" for i in range(200)]
    threads = [
        threading.Thread(target=lambda part=secrets[i::4]: [redact.hide(s) for s in part]) for i in range(4)
    ]
    for thread in threads:
        thread.start()
        redact("while others hide theirs")
    for thread in threads:
        thread.join()
    assert redact(" ".join(secrets)) == " ".join(["[redacted]"] * 200)


def test_a_number_and_its_noun_agree():
    assert [counted(number, "tie") for number in (0, 1, 2, 1200)] == [
        "0 ties",
        "1 tie",
        "2 ties",
        "1,200 ties",
    ]
    assert counted(1, "file differs", "files differ") == "1 file differs"
    assert counted(3, "file differs", "files differ") == "3 files differ"


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [
        (0.0, 4, "0"), (12.345, 4, "12.35"), (1773.4, 4, "1773"), (9999.6, 4, "10000"), (11350.4, 4, "11350"),
        (94198.8, 6, "94198.8"), (1e6, 6, "1000000"), (-11350.4, 4, "-11350"), (0.25, 6, "0.25"),
    ],
)  # fmt: skip
def test_a_sum_has_no_exponent(value, digits, told):
    assert amount(value, digits) == told
