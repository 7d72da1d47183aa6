"""What among variables is a secret, and the digest by which it is compared without being kept. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

_NAMES = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|JWT|AUTH)(?:_|$)")
_VALUES = re.compile(r"(?:sk-(?:or-v1-|ant-)?|hf_|gh[pousr]_|github_pat_)[A-Za-z0-9_-]{8,}")

_SHORTEST = 8


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, by its name or by the look of its value."""
    return _NAMES.search(name.upper()) is not None or _VALUES.search(value) is not None


def compared(name: str, value: str) -> str:
    """A value as a record may keep it: itself, or the digest of a secret."""
    if not is_secret(name, value):
        return value
    return "sha256:" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def secrets_in(params: Mapping[str, Any]) -> list[str]:
    """Names of parameters that hold a secret, however deep; a number of tokens is none, whatever it is called."""
    return [name for name, value in params.items() if _holds(name, value)]


def _holds(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(secrets_in(value))
    if isinstance(value, list):
        return any(_holds(name, one) for one in value)
    return isinstance(value, str) and len(value) >= _SHORTEST and is_secret(name, value)
