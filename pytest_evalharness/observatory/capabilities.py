"""Which calls a server knows, and with which parameters and fields, read from its own description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_evalharness.base.text import printable
from pytest_evalharness.observatory.openapi import Call, Description, at

_PARAMETER = re.compile(r"\{[^{}/]*\}")
_METHODS = frozenset({"get", "post", "put", "delete", "patch"})


@dataclass(frozen=True)
class Capabilities:
    """A server's calls, and a digest of the document that lists them.

    `known` is False when the server does not show its description; then nothing can be said.

    Attributes:
        known: whether the description could be read.
        digest: SHA-256 of the description's bytes, in hex; empty if unknown.
        title: what the description calls the service; untrusted, made printable.
        version: its version; untrusted, made printable.
        calls: by route, `GET /v2/leagues/{}`: parameters of paths have no names.
        schemes: the security schemes that its calls name: `bearer`, or a header's name in lower case.
        tells_kind: whether participants say of what kind they are; None if it describes none.
    """

    known: bool = False
    digest: str = ""
    title: str = ""
    version: str = ""
    calls: Mapping[str, Call] = field(default_factory=dict)
    schemes: frozenset[str] = frozenset()
    tells_kind: bool | None = None

    @property
    def routes(self) -> frozenset[str]:
        """The routes of all calls."""
        return frozenset(self.calls)

    def has(self, method: str, path: str) -> bool | None:
        """Whether a route exists, under whatever prefix; None if nobody knows.

        Args:
            method: `GET`, `POST`, ….
            path: as in this package's calls, parameters in braces: `/v2/leagues/{id}`.
        """
        return any(self._named(method, path)) if self.known else None

    def takes(self, method: str, path: str, name: str) -> bool | None:
        """Whether a route's JSON body may have a field; None if nobody knows. Arguments as `has`, and the field's name."""
        if not self.known:
            return None
        return any(name in call.fields for call in self._named(method, path))

    def call(self, method: str, path: str) -> Call | None:
        """What is said of a route; None if nobody knows, or it does not exist. Arguments as `has`."""
        return next(self._named(method, path), None)

    def _named(self, method: str, path: str) -> Iterator[Call]:
        wanted, prefix = _PARAMETER.sub("{}", path), f"{method.upper()} "
        return (
            call for route, call in self.calls.items() if route.startswith(prefix) and route.endswith(wanted)
        )


def read_capabilities(document: bytes) -> Capabilities:
    """The capabilities that an OpenAPI document describes.

    Raises:
        ValueError: it is no OpenAPI document.
    """
    try:
        content = json.loads(document)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    paths = at(content, "paths")
    if not isinstance(paths, dict):
        raise ValueError("the description has no `paths`")  # noqa: TRY004 - what it is, not how it is called
    reader = Description(content)
    info = at(content, "info")
    about = info if isinstance(info, dict) else {}
    return Capabilities(
        known=True,
        digest=hashlib.sha256(document).hexdigest(),
        title=printable(about.get("title", "")),
        version=printable(about.get("version", "")),
        calls={
            f"{method.upper()} {_PARAMETER.sub('{}', path)}": reader.call(path, operations, operation)
            for path, operations in paths.items()
            if isinstance(operations, dict)
            for method, operation in operations.items()
            if method in _METHODS
        },
        schemes=reader.schemes(),
        tells_kind=reader.tells_kind(),
    )
