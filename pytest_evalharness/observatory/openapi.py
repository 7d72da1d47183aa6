"""Reads OpenAPI documents of strangers: what cannot be followed in one says nothing, and is no failure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

BEARER = "bearer"
"""The security scheme of tokens in the header `Authorization`."""
_NAMES = re.compile(r"\{([^{}/]*)\}")
_DEEPEST = 8
"""So many references lead to a shape at most: some documents go round in circles."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a call, in its path or its query.

    Attributes:
        most: the largest number it takes, if the description tells one.
        words: the values it can have, if the description lists them; else empty.
    """

    most: int | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Call:
    """What a description says of one route.

    Attributes:
        query: the parameters of its query.
        path: those of its path, in the path's order.
        fields: the fields of its JSON body; none where it takes no body, or the description cannot be followed.
    """

    query: Mapping[str, Parameter] = field(default_factory=dict)
    path: tuple[Parameter, ...] = ()
    fields: frozenset[str] = frozenset()


class Description:
    """A parsed document."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def call(self, path: str, item: Mapping[str, Any], operation: Any) -> Call:
        """One route: its path, what stands there for all methods, and the operation itself."""
        told: dict[tuple[str, str], Parameter] = {}
        for source in (item, operation):
            for each in _rows(at(source, "parameters")):
                parameter = self._resolved(each)
                name, place = at(parameter, "name"), at(parameter, "in")
                if isinstance(name, str) and isinstance(place, str):
                    told[place, name] = self._parameter(at(parameter, "schema"))
        body = self._resolved(at(operation, "requestBody"))
        shape = self._resolved(at(body, "content", "application/json", "schema"))
        properties = at(shape, "properties")
        return Call(
            query={name: parameter for (place, name), parameter in told.items() if place == "query"},
            path=tuple(told.get(("path", name), Parameter()) for name in _NAMES.findall(path)),
            fields=frozenset(properties) if isinstance(properties, dict) else frozenset(),
        )

    def _parameter(self, schema: Any) -> Parameter:
        shapes = list(self._variants(schema))
        numbers = [most for shape in shapes if _is_number(most := at(shape, "maximum"))]
        words = [word for shape in shapes for word in _words(shape) if isinstance(word, str)]
        return Parameter(int(min(numbers)) if numbers else None, frozenset(words))

    def schemes(self) -> frozenset[str]:
        """The security schemes that calls name (all that are described if none does): `bearer`, or a header in lower case."""
        described = at(self._content, "components", "securitySchemes")
        known = described if isinstance(described, dict) else {}
        operations = [
            operation
            for item in _values(at(self._content, "paths"))
            for operation in _values(item)
            if isinstance(operation, dict)
        ]
        asked = {
            name
            for source in (self._content, *operations)
            for requirement in _rows(at(source, "security"))
            if isinstance(requirement, dict)
            for name in requirement
        }
        chosen = [known[name] for name in known if name in asked] or list(known.values())
        return frozenset(scheme for each in chosen if (scheme := _scheme(self._resolved(each))))

    def tells_kind(self) -> bool | None:
        """Whether every participant that is described has a `kind`; None if none is described."""
        seats = [
            seat
            for shape in _values(at(self._content, "components", "schemas"))
            for seat in self._variants(at(shape, "properties", "participants", "items"))
            if isinstance(at(seat, "properties"), dict)
        ]
        return all("kind" in at(seat, "properties") for seat in seats) if seats else None

    def _variants(self, schema: Any) -> Iterator[Any]:
        """The shapes that a schema may mean."""
        shape = self._resolved(schema)
        inner = [*_rows(at(shape, "anyOf")), *_rows(at(shape, "oneOf"))]
        if inner:
            yield from (self._resolved(each) for each in inner)
        elif shape is not None:
            yield shape

    def _resolved(self, value: Any) -> Any:
        """What a value stands for, if it is a reference into this document."""
        for _ in range(_DEEPEST):
            pointer = at(value, "$ref")
            if not isinstance(pointer, str):
                return value
            value = at(self._content, *pointer.removeprefix("#/").split("/"))
        return None


def at(value: Any, *keys: str) -> Any:
    """What stands under keys, one in the other; None if it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _words(shape: Any) -> list[Any]:
    constant = at(shape, "const")
    return _rows(at(shape, "enum")) if constant is None else [constant]


def _scheme(told: Any) -> str:
    """A security scheme's name; empty for what no token of ours can serve."""
    kind = at(told, "type")
    if kind in {"oauth2", "openIdConnect"} or (kind == "http" and str(at(told, "scheme")).lower() == BEARER):
        return BEARER
    if kind != "apiKey" or at(told, "in") != "header":
        return ""
    name = str(at(told, "name")).lower()
    return BEARER if name == "authorization" else name
