"""Text from strangers, made harmless; secrets, taken out."""

from __future__ import annotations

import re
import threading
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~@:])")
_BEARER = re.compile(r"(?i)\b(bearer|x-auth-token:?|token[=:])\s*[^\s\"',;]+")
_WORTH_HIDING = 4
_HIDDEN = "[redacted]"


def printable(text: object, limit: int = 200) -> str:
    """Text from outside as one line that cannot steer a terminal or a log.

    Control, format, surrogate and private-use characters (escape sequences, line breaks, direction marks
    among them) become U+FFFD; a text longer than `limit` characters is cut and ends with `…`.
    """
    raw = str(text)
    out = "".join(
        "\ufffd" if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} else c
        for c in raw[: limit + 1]
    )
    return out[: limit - 1] + "…" if len(out) > limit else out


def markdown(text: object, limit: int = 200) -> str:
    """Text from outside as literal Markdown: nothing in it can be a link, a tag, a mention or a table cell."""
    return _MARKDOWN.sub(r"\\\1", printable(text, limit))


class Redactor:
    """Takes known secrets out of text. It is told the secrets; it also hides what looks like a header."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._lock = threading.Lock()

    def hide(self, secret: str) -> None:
        """From now on this string is never printed. Very short ones are left alone: they would eat words."""
        if len(secret) >= _WORTH_HIDING:
            with self._lock:
                self._secrets.add(secret)

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        with self._lock:
            secrets = sorted(self._secrets, key=len, reverse=True)
        for secret in secrets:
            text = text.replace(secret, _HIDDEN)
        return _BEARER.sub(lambda match: f"{match.group(1)} {_HIDDEN}", text)

    def __repr__(self) -> str:
        """Never the secrets."""
        return f"Redactor({len(self._secrets)} secrets)"


redact = Redactor()
"""The process's one redactor: a token read anywhere is hidden everywhere."""
