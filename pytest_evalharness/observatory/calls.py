"""A call to the service: sent by the transport, read into a model, and failing in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError, UsageError
from pytest_evalharness.net import Answer, HttpStatus, NetError, Transport
from pytest_evalharness.net.transport import Query
from pytest_evalharness.observatory.credentials import NOTHING_SUBMITTED
from pytest_evalharness.observatory.dialect import Dialect, assume, most_rows, paging_of
from pytest_evalharness.observatory.paging import Pages, PagingError
from pytest_evalharness.observatory.problems import Translator

Model = TypeVar("Model", bound=BaseModel)
MISSING = frozenset({404})
_NO_SUCH_THING = frozenset({404, 422})
HIDDEN = frozenset({403, 404})
"""Statuses that say: this server does not tell you."""


def segment(value: str) -> str:
    """An id as one segment of a path. Ids come from servers and command lines: none may leave its place.

    Raises:
        UsageError: it cannot be a segment.
    """
    if value in {"", ".", ".."}:
        raise UsageError(f"{value!r} is no id", not_done=NOTHING_SUBMITTED)
    return quote(value, safe="")


@dataclass(frozen=True)
class Missing:
    """What it means that the server knows no such thing, or hides it from this token."""

    kind: type[EvalHarnessError]
    next_step: str


@dataclass(frozen=True)
class Asking:
    """How a call is asked and how its failure is told.

    Attributes:
        doing: continues "cannot …".
        not_done: what did not happen because of a failure, or what goes on regardless.
        params: the query.
        deadline: how long it may take with all repetitions.
        late_seconds: how long a 404 may mean "not yet".
        absent: statuses that mean None.
        missing: what a 404, or a 422 for a malformed id, means instead of a wrong server.
    """

    doing: str
    not_done: str
    params: Query = field(default_factory=dict)
    deadline: Deadline | None = None
    late_seconds: float = 0.0
    absent: frozenset[int] = frozenset()
    missing: Missing | None = None


class Calls:
    """Reads JSON into models over one transport.

    Attributes:
        dialect: which generation of the service is spoken to; assumed until it was read.
        on_remark: told what a reader of the results should know.
    """

    def __init__(
        self, transport: Transport, translator: Translator, on_remark: Callable[[str], None] = lambda _: None
    ) -> None:
        self.transport = transport
        self.translator = translator
        self.on_remark = on_remark
        self.dialect: Dialect = assume("it was not read")

    def bytes(self, path: str, ask: Asking) -> bytes | None:
        """A body as it is; None for the statuses that mean absence."""
        body: bytes | None = self._get(path, ask, ask.params, lambda answer: answer.body)
        return body

    def object(self, path: str, ask: Asking) -> dict[str, Any] | None:
        """A JSON object as it is; None for the statuses that mean absence.

        Raises:
            NotTheService: the answer is none.
            EvalHarnessError: as every call.
        """
        data = self._get(path, ask, ask.params, lambda answer: (answer.json(),))
        if data is None:
            return None
        if isinstance(data[0], dict):
            return data[0]
        raise self.translator.not_the_service(f"cannot {ask.doing}: the answer is no object", ask.not_done)

    def listed(self, path: str, ask: Asking) -> list[Any] | None:
        """A JSON list as it is, in an envelope or not; None for the statuses that mean absence. Errors as of `object`."""
        data = self._get(path, ask, ask.params, lambda answer: (answer.json(),))
        if data is None:
            return None
        rows = data[0].get("entries") if isinstance(data[0], dict) else data[0]
        if isinstance(rows, list):
            return rows
        raise self.translator.not_the_service(f"cannot {ask.doing}: the answer is no list", ask.not_done)

    def one(self, path: str, model: type[Model], ask: Asking) -> Model:
        """One object."""
        return self.read(model, self._get(path, ask, ask.params, lambda answer: answer.json()), ask)

    def maybe(self, path: str, model: type[Model], ask: Asking) -> Model | None:
        """One object; None for the statuses that mean absence."""
        data = self._get(path, ask, ask.params, lambda answer: (answer.json(),))
        return None if data is None else self.read(model, data[0], ask)

    def all(self, path: str, model: type[Model], ask: Asking, *, limit: int) -> list[Model]:
        """A list with all its pages. One that the server may have cut without saying so is remarked on."""
        pages = self.pages(path, model, ask, limit=limit)
        rows = [row for page in pages for row in page]
        if pages.cut:
            self.on_remark(
                f"asked to {ask.doing}, the server gave {len(rows)} and may have held back more: its lists can be cut there, "
                "and it offers no way to ask for the rest"
            )
        return rows

    def pages(self, path: str, model: type[Model], ask: Asking, *, limit: int) -> Rows[Model]:
        """A list page after page, whatever its generation of paging."""

        def fetch(extra: Mapping[str, str | int]) -> tuple[Any, Mapping[str, str]]:
            params = {**ask.params, **extra}
            page: tuple[Any, Mapping[str, str]] = self._get(
                path, ask, params, lambda answer: (answer.json(), answer.headers)
            )
            return page

        described = self.dialect.capabilities
        pages = Pages(fetch, limit, paging_of(described, path), most_rows(described, path))
        return Rows(self, model, ask, pages)

    def read(self, model: type[Model], data: Any, ask: Asking) -> Model:
        """Data as a model.

        Raises:
            NotTheService: it has another shape; names the field.
        """
        try:
            return model.model_validate(data)
        except ValidationError as problem:
            found = self.translator.mismatch(problem, ask.doing, ask.not_done)
        raise found

    def _get(self, path: str, ask: Asking, params: Query, read: Callable[[Answer], Any]) -> Any:
        try:
            return read(
                self.transport.get(path, params=params, deadline=ask.deadline, late_seconds=ask.late_seconds)
            )
        except NetError as problem:
            status = problem.status if isinstance(problem, HttpStatus) else None
            if status in ask.absent:
                return None
            if ask.missing is not None and status in _NO_SUCH_THING:
                found = self.translator.missing(
                    problem, ask.doing, ask.not_done, ask.missing.kind, ask.missing.next_step
                )
            else:
                found = self.translator.reading(problem, ask.doing, ask.not_done)
        raise found


class Rows(Generic[Model]):
    """A list's pages as models; rows that come twice come once.

    `cut` is True afterwards if the server may have held rows back without saying so.
    """

    def __init__(self, calls: Calls, model: type[Model], ask: Asking, pages: Pages) -> None:
        self._calls = calls
        self._model = model
        self._ask = ask
        self._pages = pages

    @property
    def cut(self) -> bool:
        """Whether the list may be longer than what came."""
        return self._pages.cut

    def __iter__(self) -> Iterator[list[Model]]:
        seen: set[Any] = set()
        try:
            for page in self._pages:
                models = [self._calls.read(self._model, row, self._ask) for row in page]
                yield [row for row in models if _is_new(row, seen)]
        except PagingError as problem:
            what = f"cannot {self._ask.doing}: {problem}"
            raise self._calls.translator.not_the_service(what, self._ask.not_done) from None


def _is_new(row: BaseModel, seen: set[Any]) -> bool:
    key = getattr(row, "id", None)
    if key is None:
        return True
    if key in seen:
        return False
    seen.add(key)
    return True


def named(value: str) -> str:
    """An id or a name in a message."""
    return printable(value, 80)
