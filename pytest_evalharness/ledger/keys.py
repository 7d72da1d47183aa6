"""Names of things: what was asked, what was posted, and the nonce that finds a request again."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_evalharness.base.files import canonical_json

_NONCE_BYTES = 10


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON, 64 hex digits. Equal JSON, equal digest; key order never matters.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not made of JSON's types.
    """
    # Lone surrogates can come out of somebody's JSON; they have no UTF-8, but must not stop a digest.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def plan_key(plan: Mapping[str, Any]) -> str:
    """The key of what a user asked: server, league, versions, layout, claim, rule, n, ticks, overrides.

    Raises:
        ValueError, TypeError: as `digest`.
    """
    return "plan-" + digest(dict(plan))[:32]


def arm_key(posted: Mapping[str, Any]) -> str:
    """The key of what is posted for one arm: the frozen roster, the seeds and the bodies included.

    Raises:
        ValueError, TypeError: as `digest`.
    """
    return "arm-" + digest(dict(posted))[:32]


def new_token(entropy: Callable[[int], bytes] = os.urandom) -> str:
    """A short nonce that nobody guesses and no two blocks share: `evh-` and 16 letters or digits.

    Args:
        entropy: returns that many random bytes.
    """
    return "evh-" + base64.b32encode(entropy(_NONCE_BYTES)).decode("ascii").lower()


def new_run_id() -> str:
    """A run's name: it sorts by time and is unique on a machine."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
