"""Which calls a server knows, read from its own description."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

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
    """

    known: bool = False
    digest: str = ""
    title: str = ""
    version: str = ""
    routes: frozenset[str] = frozenset()

    def has(self, method: str, path: str) -> bool | None:
        """Whether a route exists, under whatever prefix; None if nobody knows.

        Args:
            method: `GET`, `POST`, ….
            path: as in this package's calls, parameters in braces: `/v2/leagues/{id}`.
        """
        if not self.known:
            return None
        wanted = _PARAMETER.sub("{}", path)
        prefix = f"{method.upper()} "
        return any(route.startswith(prefix) and route.endswith(wanted) for route in self.routes)


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
    routes = frozenset(
        f"{method.upper()} {_PARAMETER.sub('{}', path)}"
        for path, operations in paths.items()
        if isinstance(operations, dict)
        for method in operations
        if method in _METHODS
    )
    info = content.get("info")
    about = info if isinstance(info, dict) else {}
    return Capabilities(
        known=True,
        digest=hashlib.sha256(document).hexdigest(),
        title=printable(about.get("title", "")),
        version=printable(about.get("version", "")),
        routes=routes,
    )
