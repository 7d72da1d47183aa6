"""Calls, tokens and money of a pass, in the benchmark's form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """One call of a model; `cost_usd` is None where its price is not known."""

    model: str
    provider: str
    call_type: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """The record that traces hold."""
        return {**vars(self), "total_tokens": self.input_tokens + self.output_tokens}


def summary(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What some calls add up to, in total, by model and by kind of call."""
    told = list(events)
    models = sorted({f"{one['provider']}/{one['model']}" for one in told})
    kinds = sorted({one["call_type"] for one in told})
    by_model = {
        name: _sum(one for one in told if f"{one['provider']}/{one['model']}" == name) for name in models
    }
    by_kind = {name: _sum(one for one in told if one["call_type"] == name) for name in kinds}
    return {**_sum(told), "by_model": by_model, "by_call_type": by_kind}


def both(responded: list[dict[str, Any]], observed: list[dict[str, Any]]) -> dict[str, Any]:
    """The same of calls that answers took, of calls that observations took, and of both."""
    return {
        "respond": summary(responded),
        "observe": summary(observed),
        "interaction": summary([*responded, *observed]),
    }


def _sum(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    told = list(events)
    priced = [one["cost_usd"] for one in told if one["cost_usd"] is not None]
    return {
        "call_count": len(told),
        "priced_call_count": len(priced),
        "unpriced_call_count": len(told) - len(priced),
        "pricing_complete": len(priced) == len(told),
        "input_tokens": sum(one["input_tokens"] for one in told),
        "output_tokens": sum(one["output_tokens"] for one in told),
        "total_tokens": sum(one["total_tokens"] for one in told),
        "cost_usd": round(sum(priced), 10),
    }
