"""Reading the description of a server that may have none."""

from __future__ import annotations

from pytest_evalharness.net import HttpStatus, NetError, Redirected, TooLarge, Transport
from pytest_evalharness.observatory.calls import named
from pytest_evalharness.observatory.capabilities import read_capabilities
from pytest_evalharness.observatory.dialect import Dialect, assume, choose
from pytest_evalharness.observatory.problems import Translator

_UNAUTHORIZED = 401


def describe(transport: Transport, translator: Translator, not_done: str) -> Dialect:
    """The dialect that a server describes, or the one that is assumed where it describes none.

    Args:
        transport: to the server.
        translator: puts failures into words.
        not_done: what the message of a failure says about submissions.

    Raises:
        CredentialsRejected: the server does not take the token at all.
        ServerUnreachable: nobody answers.
    """
    try:
        answer = transport.get("/openapi.json")
    except NetError as problem:
        refused = isinstance(problem, HttpStatus) and problem.status != _UNAUTHORIZED
        if refused or isinstance(problem, Redirected | TooLarge):
            return assume(_why(problem))
        found = translator.reading(problem, "read the server's description", not_done)
    else:
        try:
            return choose(read_capabilities(answer.body))
        except ValueError as problem:
            return assume(f"it is none: {named(str(problem))}")
    raise found


def _why(problem: NetError) -> str:
    if isinstance(problem, HttpStatus):
        return f"HTTP {problem.status}"
    return (
        f"a redirect to {problem.location or 'nowhere'}" if isinstance(problem, Redirected) else "too large"
    )
