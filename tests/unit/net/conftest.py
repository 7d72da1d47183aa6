from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from pytest_evalharness.net import Limits, Transport, downloads, pool


@pytest.fixture
def clock(wire: ModuleType) -> Any:
    return wire.SkippingClock()


@pytest.fixture
def standing(wire: ModuleType) -> Any:
    """A clock on which only waits take time, for `connect(…, clock=standing)`."""
    return wire.StandingClock()


@pytest.fixture(autouse=True)
def long_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are kept however long the machine takes for what comes between two requests: they are counted."""
    for module in (downloads, pool):
        monkeypatch.setattr(module, "KEPT_SECONDS", 600.0)


@pytest.fixture
def serve(wire: ModuleType) -> Iterator[Callable[..., Any]]:
    servers = []

    def start(*answers: Any, script: Any = None) -> Any:
        server = wire.ScriptedServer(*answers, script=script)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def connect(clock: Any) -> Iterator[Callable[..., Transport]]:
    """A transport to a URL, with few tries and a clock that does not wait."""
    opened: list[Transport] = []

    def make(url: str, **options: Any) -> Transport:
        given = {
            "headers": {"Authorization": "Bearer s3cret-t0ken"},
            "environ": {},
            "limits": FEW,
            "clock": clock,
            **options,
        }
        transport = Transport(url, rng=random.Random(7), **given)
        opened.append(transport)
        return transport

    yield make
    for transport in opened:
        transport.close()


# Whoever is silent on purpose is told of with limits of the test's own: here a machine that is busy must not look silent.
FEW = Limits(connect=60.0, read=60.0, total=60.0, submit=60.0, tries=4, body=4096)
