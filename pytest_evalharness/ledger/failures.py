"""Errors as rows: stored by one process, raised again by another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.errors import EvalHarnessError, by_code


def stored(error: EvalHarnessError) -> dict[str, str]:
    """An error as JSON: `code`, `what`, `not_done`, `next`. Secrets are out of it already."""
    return {"code": error.code, "what": error.what, "not_done": error.not_done, "next": error.next_step}


def rebuilt(record: Mapping[str, Any]) -> EvalHarnessError:
    """The error of a stored record; one of an unknown code comes back as `Untrustworthy`."""
    kind = by_code(str(record.get("code", "")))
    return kind(
        str(record.get("what", "")),
        not_done=str(record.get("not_done", "")),
        next_step=str(record.get("next", "")),
    )
