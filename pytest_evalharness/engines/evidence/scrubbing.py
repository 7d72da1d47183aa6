"""What leaves a turn before anything else sees it: phone numbers and e-mail addresses; and what stands for a call's id."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata

PHONE = "[phone]"
EMAIL = "[email]"

_SUSPECT = re.compile(r"[0-9@]")
_RUN = re.compile(r"[0-9](?:(?:[\W_]{0,6}[0-9]){6,}|[0-9]{5,})")
"""Seven digits or more with up to six signs of any kind between two of them, or six without."""
_WORD = re.compile(r"\S+")
_SPOKEN = re.compile(r"\b[\w.+-]{1,64}\s+at\s+[\w-]{1,64}(?:\s+dot\s+\w{1,64})+", re.IGNORECASE)
_ID_BYTES = 12
_PRIORITY = slice(16, 24)


def scrub(text: str) -> str:
    """The text without phone numbers and e-mail addresses.

    Digits of every script count, also circled, raised and full-width ones, and so does what transcripts put between them:
    spaces of all widths, dots, dashes, brackets, marks without width. Too much is removed rather than too little: "1 250 000"
    goes too. Names stay, and numbers that are spelt in words.
    """
    if not text.isascii():
        text = "".join(map(_plain, unicodedata.normalize("NFKC", text)))
    if _SUSPECT.search(text):
        if "@" in text:
            text = _WORD.sub(_without_address, text)
        text = _RUN.sub(PHONE, text)
    return _SPOKEN.sub(EMAIL, text) if "dot" in text.lower() else text


def _without_address(word: re.Match[str]) -> str:
    return EMAIL if "@" in word.group() else word.group()


def _plain(sign: str) -> str:
    """A digit of any script as the ASCII one."""
    if sign.isascii():
        return sign
    value = unicodedata.digit(sign, None)
    return sign if value is None else str(value)


class CallKeys:
    """Names calls without telling their ids: a plain hash of a number that counts up is undone by counting.

    Args:
        secret: of whoever builds the sets.
        tenant: whose calls they are.
        seed: of the set: the same one gives a call the same name again, and so the same side.
    """

    def __init__(self, secret: bytes, tenant: str, seed: int) -> None:
        self._key = hmac.digest(secret, f"evidence\0{tenant}\0{seed}".encode(), "sha256")

    def of(self, call_id: str) -> tuple[str, int]:
        """The call's name (24 hex digits), and a number from 0 to 2^64 - 1 that orders calls at random, independent of it."""
        digest = hmac.digest(self._key, call_id.encode("utf-8", "surrogatepass"), "sha256")
        return digest[:_ID_BYTES].hex(), int.from_bytes(digest[_PRIORITY])

    @property
    def fingerprint(self) -> str:
        """What tells two secrets apart and does not tell them."""
        return hashlib.sha256(b"fingerprint" + self._key).hexdigest()[:8]
