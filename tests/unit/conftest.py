"""A server that answers as it is told to, for the tests of whatever speaks to one."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.unit.net import scripted_server


@pytest.fixture(scope="session")
def wire() -> ModuleType:
    """The scripted server's module."""
    return scripted_server


@pytest.fixture
def nobody(wire: ModuleType) -> Iterator[Any]:
    """An address that refuses connections."""
    made = wire.Nobody()
    yield made
    made.close()
