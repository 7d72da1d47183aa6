"""Which calls a server knows, and with which fields, read from its own description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.text import printable

_PARAMETER = re.compile(r"\{[^{}/]*\}")
_METHODS = frozenset({"get", "post", "put", "delete", "patch"})


@dataclass(frozen=True)
class Capabilities:
    """A server's routes, and a digest of the document that lists them.

    `known` is False when the server does not show its description; then nothing can be said.

    Attributes:
        known: whether the description could be read.
        digest: SHA-256 of the description's bytes, in hex; empty if unknown.
        title: what the description calls the service; untrusted, made printable.
        version: its version; untrusted, made printable.
        routes: `GET /v2/leagues/{}`: parameters have no names.
        fields: the fields of each route's JSON body, for those that take one.
    """

    known: bool = False
    digest: str = ""
    title: str = ""
    version: str = ""
    routes: frozenset[str] = frozenset()
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict)

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
        return any(name in self.fields.get(route, ()) for route in self._named(method, path))

    def _named(self, method: str, path: str) -> Iterator[str]:
        wanted, prefix = _PARAMETER.sub("{}", path), f"{method.upper()} "
        return (route for route in self.routes if route.startswith(prefix) and route.endswith(wanted))


def read_capabilities(document: bytes) -> Capabilities:
    """The capabilities that an OpenAPI document describes.

    Raises:
        ValueError: it is no OpenAPI document.
    """
    try:
        content = json.loads(document)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    paths = content.get("paths") if isinstance(content, dict) else None
    if not isinstance(paths, dict):
        raise ValueError("the description has no `paths`")  # noqa: TRY004 - what it is, not how it is called
    described = {
        f"{method.upper()} {_PARAMETER.sub('{}', path)}": operation
        for path, operations in paths.items()
        if isinstance(operations, dict)
        for method, operation in operations.items()
        if method in _METHODS
    }
    info = content.get("info")
    about = info if isinstance(info, dict) else {}
    return Capabilities(
        known=True,
        digest=hashlib.sha256(document).hexdigest(),
        title=printable(about.get("title", "")),
        version=printable(about.get("version", "")),
        routes=frozenset(described),
        fields={route: frozenset(_fields(content, operation)) for route, operation in described.items()},
    )


def _fields(document: Mapping[str, Any], operation: Any) -> set[str]:
    """The fields of a route's JSON body; none where the description cannot be followed."""
    shape = _at(operation, "requestBody", "content", "application/json", "schema")
    pointer = _at(shape, "$ref")
    if isinstance(pointer, str):
        shape = _at(document, *pointer.removeprefix("#/").split("/"))
    properties = _at(shape, "properties")
    return set(properties) if isinstance(properties, dict) else set()


def _at(value: Any, *keys: str) -> Any:
    """What stands under keys, one in the other; None if it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
