"""How everything from the service is read: tolerant where nothing depends on it, strict where it is evidence."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from pytest_evalharness.base.clock import parse_iso
from pytest_evalharness.observatory.status import Status


def _instant(value: Any) -> datetime | None:
    """A time stamp, or None for what is none: no report depends on it, so none fails for it."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return datetime.fromtimestamp(parse_iso(value), UTC) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _text(value: Any) -> Any:
    """A text that people read; an object in its place is worth no failure."""
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _listed(value: Any) -> Any:
    return [] if value is None else value


NONE_IS_EMPTY = BeforeValidator(_listed)
"""Some generations say null where others send an empty list."""
Instant = Annotated[datetime | None, BeforeValidator(_instant)]
Prose = Annotated[str | None, BeforeValidator(_text)]
Word = Annotated[Status, BeforeValidator(Status.read)]


class Wire(BaseModel):
    """The base of everything read from the service."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, coerce_numbers_to_str=True)


def name_of_policy(value: Any) -> Any:
    """The same object with `name` filled from `policy.name`: memberships nest it, the list of versions does not."""
    if isinstance(value, dict) and value.get("name") is None and isinstance(value.get("policy"), dict):
        return {**value, "name": value["policy"].get("name")}
    return value


class Named(Wire):
    """A thing with an id and perhaps a name."""

    id: str
    name: str | None = None


class Ref(Named):
    """A mention of such a thing; some generations send the bare id."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        return {"id": value} if isinstance(value, str) else value
