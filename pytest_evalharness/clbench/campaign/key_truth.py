"""Asking a provider what a key may still spend: two questions, each answered or not. Nothing is raised."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import redact
from pytest_evalharness.clbench.campaign.money import (
    BALANCE,
    KEY,
    Bound,
    Known,
    Spendable,
    balance_bound,
    key_bound,
)

if TYPE_CHECKING:
    from pytest_evalharness.net import Transport

OPENROUTER = "https://openrouter.ai/api/v1"
SECONDS = 20.0
"""How long each of the two questions may take."""
_NOT_ACCEPTED = (401, 403)
_NO_CREDITS = (*_NOT_ACCEPTED, 500)


def spendable(
    key: str,
    *,
    clock: Clock,
    rng: random.Random,
    management_key: str | None = None,
    base_url: str = OPENROUTER,
    environ: Mapping[str, str] | None = None,
) -> Spendable:
    """What a key may still spend, as the provider tells it now.

    Args:
        key: the inference key; from now on no message of this process prints it.
        clock: tells the time, and waits between tries.
        rng: draws the jitter between tries.
        management_key: asked for the account's credits with this one, which the provider wants for them; the key itself is
            tried where there is none, as older accounts allow it.
        base_url: the provider's API; keys go to its host only.
        environ: where proxies are looked up; the process's environment by default.
    """
    from pytest_evalharness.net import Limits, Transport

    def asked(name: str, path: str, with_key: str, bound: Callable[[object], Bound]) -> Bound:
        cleaned = with_key.strip()
        redact.hide(cleaned)
        if not cleaned or not cleaned.isascii() or not cleaned.isprintable():
            return Bound.unknown(
                name, "the key is no line of printable ASCII" if cleaned else "there is no key"
            )
        headers = {"Authorization": f"Bearer {cleaned}"}
        limits = Limits(total=SECONDS, tries=3)
        try:
            transport = Transport(
                base_url, headers=headers, clock=clock, rng=rng, limits=limits, environ=environ
            )
        except ValueError as problem:
            return Bound.unknown(name, str(problem))
        with transport:
            return _told(transport, name, path, bound)

    return Spendable(
        asked(KEY, "/key", key, lambda answer: key_bound(answer, clock.now())),
        asked(BALANCE, "/credits", management_key or key, balance_bound),
    )


def _told(transport: Transport, name: str, path: str, bound: Callable[[object], Bound]) -> Bound:
    from pytest_evalharness.net import HttpStatus, NetError

    try:
        return bound(transport.get_json(path))
    except HttpStatus as problem:
        if name == KEY and problem.status in _NOT_ACCEPTED:
            # Every call of the campaign would fail like this one.
            return Bound(name, Known.DOLLARS, 0.0, f"the key is not accepted: {problem.text}")
        if name == BALANCE and problem.status in _NO_CREDITS:
            return Bound.unknown(name, f"credits are told to management keys only: {problem.text}")
        return Bound.unknown(name, str(problem))
    except NetError as problem:
        return Bound.unknown(name, str(problem))
