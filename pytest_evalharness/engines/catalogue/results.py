"""What came back from an engine or stands in a file: a decision table, or a sentence why it is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.errors import BadPolicy, UsageError

Result = dict[str, Any]
"""policy `{state: move}`, value `{state: float}`, diagnostics and artifact, in plain values."""

_COLONS = 2


def checked(told: Any, moves: Sequence[str], name: str) -> Result:
    """What an engine returned, in plain values.

    Moves are checked against the world's; states are not, because an engine that plans may know more than a log.

    Args:
        told: whatever the engine returned.
        moves: the world's; none are checked where it lists none.
        name: the engine's.

    Raises:
        BadPolicy: no `policy` key, an empty policy, a key that is no state, a move that the world does not have, or a value
            that is no number.
    """
    if not isinstance(told, Mapping) or "policy" not in told:
        raise _bad(f"{name} returned no 'policy' key: it must return a dict with one, not {_shape(told)}")
    policy = told["policy"]
    if not isinstance(policy, Mapping) or not policy:
        raise _bad(f"{name} returned an empty policy")
    known = frozenset(moves)
    for state, move in policy.items():
        if not isinstance(state, str) or state.count(":") != _COLONS:
            raise _bad(f"{name}: the policy's key {state!r} is no state, which reads stage:trust:objection")
        if not isinstance(move, str) or (known and move not in known):
            raise _bad(
                f"{name}: the policy decides {move!r} in {state!r}, which is none of the world's moves"
            )
    return {
        "policy": {str(state): str(move) for state, move in policy.items()},
        "value": _values(told.get("value") or {}, name),
        "diagnostics": plain(dict(told.get("diagnostics") or {})),
        "artifact": plain(dict(told.get("artifact") or {})),
    }


def load_table(path: str | Path) -> Result:
    """A decision table from a JSON file: `{state: move}`, or a fit result, whose `policy` is taken.

    Raises:
        UsageError: a file that cannot be read.
        BadPolicy: JSON that is no table. Its moves are checked by `checked` when the evidence is known.
    """
    file = Path(path)
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError(
            f"the table {file} cannot be read: {problem.strerror or problem}",
            not_done="nothing was fitted or scored",
            next_step='give a JSON file of {"stage:trust:objection": "move"}',
        ) from None
    except ValueError as problem:
        raise _bad(f"{file} is no JSON: {problem}") from None
    return checked(as_result(told), (), str(file))


def as_result(told: Any) -> Any:
    """A bare table as the result that an engine would return; anything else as it is."""
    if isinstance(told, Mapping) and told and "policy" not in told:
        return {"policy": told}
    return {"policy": {}} if told == {} else told


def plain(value: Any) -> Any:
    """Plain values only, so that a result is read without the libraries that made it; numbers that are none become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | str | int | float):
        return _plain_scalar(value)
    for way in ("tolist", "item"):  # arrays and scalars of numpy and its like
        told = getattr(value, way, None)
        if callable(told):
            return plain(told())
    return str(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)  # a subclass would need the library that defined it
    return value if value is None or isinstance(value, bool) else int(value)


def _values(told: Any, name: str) -> dict[str, float]:
    try:
        values = {str(state): float(value) for state, value in dict(told).items()}
    except (TypeError, ValueError) as problem:
        raise _bad(f"{name} returned values that are no numbers by state: {problem}") from None
    return {state: value for state, value in values.items() if math.isfinite(value)}


def _shape(told: Any) -> str:
    return f"a dict of {sorted(map(str, told))[:5]}" if isinstance(told, Mapping) else type(told).__name__


def _bad(what: str) -> BadPolicy:
    return BadPolicy(
        what, not_done="the table was not scored", next_step="correct the engine or the table, and run again"
    )
