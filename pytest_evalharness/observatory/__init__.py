"""The client of the hosted league's HTTP API: credentials, dialect, models, typed calls."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pytest_evalharness.observatory.capabilities import Capabilities
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.credentials import (
        Identity,
        Token,
        credentials_path,
        load_token,
        token_from_file,
    )
    from pytest_evalharness.observatory.problems import AnswerLost, Conflict, NotSent
    from pytest_evalharness.observatory.resolve import ResolvedPolicy, resolve_policy
    from pytest_evalharness.observatory.search import FoundRequests
    from pytest_evalharness.observatory.status import Status

_HOMES = {
    "AnswerLost": "problems",
    "Conflict": "problems",
    "Capabilities": "capabilities",
    "FoundRequests": "search",
    "Identity": "credentials",
    "NotSent": "problems",
    "Observatory": "client",
    "ResolvedPolicy": "resolve",
    "Status": "status",
    "Token": "credentials",
    "credentials_path": "credentials",
    "load_token": "credentials",
    "resolve_policy": "resolve",
    "token_from_file": "credentials",
}
__all__ = [
    "AnswerLost",
    "Capabilities",
    "Conflict",
    "FoundRequests",
    "Identity",
    "NotSent",
    "Observatory",
    "ResolvedPolicy",
    "Status",
    "Token",
    "credentials_path",
    "load_token",
    "resolve_policy",
    "token_from_file",
]


def __getattr__(name: str) -> object:
    """Public names are imported when they are asked for: whoever only starts the embedded league needs no client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
