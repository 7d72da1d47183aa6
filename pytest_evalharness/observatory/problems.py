"""Failures of the network, as errors that a user can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable, redact
from pytest_evalharness.errors import (
    CredentialsRejected,
    EvalHarnessError,
    NotTheService,
    RequestRefused,
    ServerUnreachable,
    SubmissionUnknown,
)
from pytest_evalharness.net import (
    HttpStatus,
    NetError,
    NotJson,
    Redirected,
    TooLarge,
)
from pytest_evalharness.net import (
    NotSent as NothingSent,
)
from pytest_evalharness.observatory.credentials import NOTHING_SUBMITTED, TOKEN_VARIABLE, Token

_UNAUTHORIZED = 401
_FORBIDDEN = 403
_CONFLICT = 409
_AMBIGUOUS_FROM = 500
_AMBIGUOUS = frozenset({408, 425, 429})
_SHOWN_LINES = 12
RESUME = "run the same command again: what was submitted is found again, never submitted twice"


class AnswerLost(SubmissionUnknown):
    """A create was sent and its fate is unknown: look for its notes before doing anything else.

    Attributes:
        status: the HTTP status that left it open, if there was one.
    """

    status: int | None = None


class NotSent(ServerUnreachable):
    """A create of which provably nothing reached the server."""


class Busy(ServerUnreachable):
    """The server asks for a pause.

    Attributes:
        seconds: how long.
    """

    seconds: float = 0.0


class CursorLost(NotTheService):
    """The place up to which a feed was read does not count any more: it is read from its start again."""


class Conflict(RequestRefused):
    """A create that contradicts what the server has. That may be the same request, accepted from somebody else."""


class Translator:
    """Turns what the transport raises into this package's errors.

    Args:
        root: the server's root as the user gave it.
        token: whose rejection is explained.
    """

    def __init__(self, root: str, token: Token) -> None:
        self.root = printable(redact(root))
        self._token = token

    def reading(self, problem: NetError, doing: str, not_done: str) -> EvalHarnessError:
        """The error of a call that changes nothing. `doing` continues "cannot …"."""
        if isinstance(problem, HttpStatus):
            return self._status(problem, doing, not_done)
        if isinstance(problem, Redirected):
            return NotTheService(
                f"cannot {doing}: {self.root} redirects to {problem.location or 'nowhere'}, and a token goes to its own host only",
                not_done=not_done,
                next_step="give the address that answers itself: --eval-server https://HOST/api",
            )
        if isinstance(problem, NotJson | TooLarge):
            return self.not_the_service(f"cannot {doing}: {problem}", not_done)
        return self._silent(problem, doing, not_done, ServerUnreachable)

    def submitting(self, problem: NetError, doing: str) -> EvalHarnessError:
        """The error of a create. What may have been accepted is `AnswerLost`, never a plain failure."""
        if isinstance(problem, NothingSent):
            return self._silent(problem, doing, NOTHING_SUBMITTED, NotSent)
        if isinstance(problem, HttpStatus) and not _open(problem):
            if problem.status in {_UNAUTHORIZED, _FORBIDDEN}:
                return self._status(problem, doing, NOTHING_SUBMITTED)
            return self._refused(problem, doing)
        return self.lost(
            f"{problem} ({_tried(problem)})",
            problem.status if isinstance(problem, HttpStatus | Redirected) else None,
        )

    def lost(self, why: str, status: int | None = None) -> AnswerLost:
        """A create whose fate is unknown."""
        found = AnswerLost(
            f"cannot tell whether the server accepted the experience request: {why}",
            not_done="it was sent once and may run on the server; it was not sent again",
            next_step=RESUME,
        )
        found.status = status
        return found

    def missing(
        self,
        problem: NetError,
        doing: str,
        not_done: str,
        kind: type[EvalHarnessError],
        next_step: str,
    ) -> EvalHarnessError:
        """The server knows no such thing, or hides it from this token."""
        said = _lines(problem) if isinstance(problem, HttpStatus) else str(problem)
        return kind(
            f"cannot {doing}: {self.root} knows no such thing, or hides it from you: {said}",
            not_done=not_done,
            next_step=next_step,
        )

    def not_the_service(self, what: str, not_done: str) -> NotTheService:
        """Somebody answered, but not as the league's API."""
        return NotTheService(
            what,
            not_done=not_done,
            next_step=f"check that --eval-server names the root of a league's API (…/api); it is {self.root}",
        )

    def mismatch(self, problem: ValidationError, doing: str, not_done: str) -> NotTheService:
        """An answer of another shape; names the first fields that do not fit."""
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        fields = "; ".join(f"{_where(error['loc'])}: {printable(error['msg'], 120)}" for error in errors[:3])
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""  # noqa: PLR2004
        return self.not_the_service(
            f"cannot {doing}: the answer does not have the shape of the league's API: {fields}{more}",
            not_done,
        )

    def rejected(self, doing: str, not_done: str, why: str) -> CredentialsRejected:
        """The token does not count."""
        old = f"; {self._token.remark}" if self._token.remark else ""
        return CredentialsRejected(
            f"cannot {doing}: {self.root} does not accept the token ({self._token.identity.value}, "
            f"from {printable(self._token.source)}{old}): {why}",
            not_done=not_done,
            next_step=f"softmax set-token TOKEN --server {self.root}, or set the environment variable {TOKEN_VARIABLE}",
        )

    def _silent(
        self, problem: NetError, doing: str, not_done: str, kind: type[ServerUnreachable]
    ) -> ServerUnreachable:
        return kind(
            f"cannot {doing}: {self.root} does not answer: {problem} ({_tried(problem)})",
            not_done=not_done,
            next_step=f"check the address (--eval-server) and the network, then {RESUME}",
        )

    def _status(self, problem: HttpStatus, doing: str, not_done: str) -> EvalHarnessError:
        said = _lines(problem)
        if problem.status == _UNAUTHORIZED:
            return self.rejected(doing, not_done, said)
        if problem.status == _FORBIDDEN:
            return CredentialsRejected(
                f"cannot {doing}: {self.root} does not permit it to this token "
                f"({self._token.identity.value}, from {printable(self._token.source)}): {said}",
                not_done=not_done,
                next_step=f"softmax status --server {self.root}   (shows who the token speaks for)",
            )
        if problem.status in _AMBIGUOUS or problem.status >= _AMBIGUOUS_FROM:
            return ServerUnreachable(
                f"cannot {doing}: {self.root} answers {said} ({_tried(problem)})",
                not_done=not_done,
                next_step=f"wait, then {RESUME}",
            )
        return self.not_the_service(f"cannot {doing}: {problem.request} answers {said}", not_done)

    def _refused(self, problem: HttpStatus, doing: str) -> RequestRefused:
        kind = Conflict if problem.status == _CONFLICT else RequestRefused
        return kind(
            f"cannot {doing}: the server refused it: {_lines(problem)}",
            not_done=NOTHING_SUBMITTED,
            next_step="change what the server names, and look at the plan with --eval-dry-run",
        )


def readable(detail: Any) -> list[str]:
    """A server's `detail` as printable lines: `roster.2.slot: Input should be …` for a list of complaints."""
    if isinstance(detail, Mapping):
        message = detail.get("msg") or detail.get("message") or detail.get("detail")
        where = detail.get("loc")
        if message is not None:
            place = _where(where) + ": " if isinstance(where, list | tuple) and where else ""
            return [place + printable(redact(str(message)), 300)]
        return [
            f"{printable(key, 60)}: {printable(redact(str(value)), 200)}" for key, value in detail.items()
        ]
    if isinstance(detail, str) or not isinstance(detail, Sequence):
        return [printable(redact(str(detail)), 400)]
    return [line for part in detail for line in readable(part)]


def _lines(problem: HttpStatus) -> str:
    lines = readable(problem.detail)
    shown = lines[:_SHOWN_LINES]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"(and {len(lines) - _SHOWN_LINES} more)")
    head = f"HTTP {problem.status}"
    if problem.request_id:
        head += f" (request {problem.request_id})"
    if len(shown) == 1:
        return f"{head}, {shown[0]}"
    return "\n    - ".join([head, *shown])


def _where(loc: Sequence[Any]) -> str:
    parts = [str(part) for part in loc if part != "body"]
    return printable(".".join(parts) or "(the whole answer)", 120)


def _open(problem: HttpStatus) -> bool:
    """Whether a status leaves open if the server acted: a gateway's error, a limit that names no outcome."""
    if problem.refused_before_execution:
        return False
    return problem.status in _AMBIGUOUS or problem.status >= _AMBIGUOUS_FROM


def _tried(problem: NetError) -> str:
    times = "once" if problem.attempts == 1 else f"{problem.attempts} times"
    return f"tried {times} for {span(problem.seconds)}"
