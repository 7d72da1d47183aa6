"""JSON as Python's own writer makes it, which also writes NaN and infinities: no number that anybody earned. Pure.

The benchmark is written in Python and reads them again. A paid result that holds one somewhere is no torn file.
"""

from __future__ import annotations

import re

import msgspec

_NO_NUMBERS = (b"NaN", b"Infinity")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)


def standard(raw: bytes) -> bytes:
    """The same with null in the place of what is no number, as other readers take it."""
    if not any(word in raw for word in _NO_NUMBERS):
        return raw
    return _TOKEN.sub(lambda found: found[0] if found[0].startswith(b'"') else b"null", raw)


def compact(raw: bytes) -> bytes:
    """The same without blanks, where it is JSON by the standard; else as it is, which the benchmark reads.

    Raises:
        msgspec.DecodeError: it is no JSON at all.
    """
    try:
        return msgspec.json.format(raw, indent=-1)
    except msgspec.DecodeError:
        msgspec.json.format(standard(raw), indent=-1)
        return raw
