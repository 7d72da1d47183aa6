"""Text from strangers, made harmless; secrets, taken out."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator

_MARKDOWN = re.compile(r"[\\`*_{}\[\]()#+\-.!|<>&~@:$]")
_LOG_COMMAND = re.compile(r"##(?=\[)|^\s*:(?=:.*::)")
"""How GitHub Actions finds its commands in a log: `::error::…` after any space, and `##[error]…` in mid-line."""
_LINKED_LATE = frozenset("@#")
_HEADER = re.compile(
    r"""(?ix) (?<![a-z0-9])
    (bearer\s+ | x-auth-token["']?\s*:?\s* | token["']?\s*[=:]\s*)  # a header, a variable, a JSON or YAML key
    (["']?) [^\s"',;]+"""
)
_LOGIN = re.compile(r"(?i)(?<![a-z0-9])([a-z][a-z0-9+.-]*://)[^\s/@\"']+@")
_WORTH_HIDING = 4
_HIDDEN = "[redacted]"


def printable(text: object, limit: int = 200) -> str:
    """Text from outside as one line that cannot steer a terminal or a log.

    Control, format, surrogate and private-use characters (escape sequences, line breaks, direction marks
    among them) become U+FFFD, and so does one character of what GitHub Actions would take for a command; a text
    longer than `limit` characters is cut and ends with `…`.
    """
    out = str(text)[: limit + 1]
    if not (out.isascii() and out.isprintable()):  # most is, and to look at each character takes long
        out = "".join(
            "\ufffd" if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} else c for c in out
        )
    out = _LOG_COMMAND.sub(lambda command: command.group()[:-1] + "\ufffd", out)
    return out[: limit - 1] + "…" if len(out) > limit else out


def markdown(text: object, limit: int = 200) -> str:
    """Text from outside as literal Markdown: nothing in it can be a link, a tag, a mention or a table cell."""
    return _MARKDOWN.sub(_literal, printable(text, limit))


def _literal(match: re.Match[str]) -> str:
    """A sign that stays a sign.

    Mentions, mail addresses and issue numbers are linked in the rendered text, where the backslash is gone:
    only a space of no width after the sign prevents that.
    """
    sign = match.group()
    return f"\\{sign}&#8203;" if sign in _LINKED_LATE else f"\\{sign}"


def amount(value: float, digits: int = 4) -> str:
    """A sum of credits: so many digits, and never an exponent, which nobody reads as money: `12.35`, `11350`.

    Args:
        value: how much.
        digits: how many of its digits count; a larger sum has all that stand before the point.
    """
    told = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in told else told


def counted(number: int, one: str, many: str = "") -> str:
    """How many there are, in words that agree: `1 game`, `1,200 games`.

    Args:
        number: how many.
        one: what one of them is called.
        many: what several are called; one with an s if left out.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


class Redactor:
    """Takes known secrets out of text. It is told the secrets; it also hides what looks like a header or a login."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._lock = threading.Lock()

    def hide(self, secret: str) -> None:
        """From now on this string is never printed. Very short ones are left alone: they would eat words."""
        secret = secret.strip()
        if len(secret) >= _WORTH_HIDING:
            with self._lock:
                self._secrets.add(secret)

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        with self._lock:
            secrets = tuple(self._secrets)
        text = _LOGIN.sub(rf"\1{_HIDDEN}@", _without(text, secrets))
        return _HEADER.sub(rf"\1\2{_HIDDEN}", text)

    def __repr__(self) -> str:
        """Never the secrets."""
        return f"Redactor({len(self._secrets)} secrets)"


def _without(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret covered, also where two of them overlap."""
    spans = sorted((at, at + len(secret)) for secret in secrets for at in _places(text, secret))
    out, end = [], 0
    for start, stop in spans:
        if start >= end:
            out += [text[end:start], _HIDDEN]
        end = max(end, stop)
    return "".join([*out, text[end:]])


def _places(text: str, secret: str) -> Iterator[int]:
    at = text.find(secret)
    while at >= 0:
        yield at
        at = text.find(secret, at + 1)


redact = Redactor()
"""The process's one redactor: a token read anywhere is hidden everywhere."""
