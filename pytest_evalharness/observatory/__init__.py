"""The client of the hosted league's HTTP API: credentials, dialect, models, typed calls."""

from __future__ import annotations

from pytest_evalharness.observatory.capabilities import Capabilities
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.credentials import (
    Identity,
    Token,
    credentials_path,
    load_token,
    token_from_file,
)
from pytest_evalharness.observatory.problems import AnswerLost, NotSent
from pytest_evalharness.observatory.resolve import ResolvedPolicy, resolve_policy
from pytest_evalharness.observatory.search import FoundRequests
from pytest_evalharness.observatory.status import Status

__all__ = [
    "AnswerLost",
    "Capabilities",
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
