"""How judges are spoken to: the OpenAI-compatible chat API and the Anthropic Messages API, both with a typed answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pytest_evalharness.engines.evidence.taggers.asking import Unusable
from pytest_evalharness.engines.evidence.taggers.models import JudgeEntry

_TOOL = "record_readings"


class Told(NamedTuple):
    """A judge's answer.

    Attributes:
        value: JSON, as its schema asked for; not checked yet.
        tokens: question and answer together.
    """

    value: Any
    tokens: int


class Speech(Protocol):
    """One way of asking.

    Attributes:
        path: below the judge's address.
    """

    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """What carries the key."""
        ...

    def body(
        self, entry: JudgeEntry, system: str, question: str, schema: Mapping[str, Any], most: int
    ) -> dict[str, Any]:
        """The request: instructions, question, the answer's JSON Schema and the most tokens it may have."""
        ...

    def answer(self, told: Any) -> Told:
        """What it said.

        Raises:
            Unusable: the answer holds no such thing.
        """
        ...


class OpenAI:
    """`/v1/chat/completions` with a JSON Schema as the answer's format; vLLM and its like have it too."""

    path = "/v1/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer token; servers of one's own often want none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(
        self, entry: JudgeEntry, system: str, question: str, schema: Mapping[str, Any], most: int
    ) -> dict[str, Any]:
        """See `Speech`."""
        return {
            "model": entry.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": most,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": _TOOL, "schema": schema, "strict": True},
            },
            **entry.body,
        }

    def answer(self, told: Any) -> Told:
        """See `Speech`."""
        try:
            text = told["choices"][0]["message"]["content"]
            usage = told.get("usage") or {}
            tokens = _tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"))
            return Told(json.loads(_unfenced(text)), tokens)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
            raise Unusable("no message with JSON in it") from None


class Anthropic:
    """`/v1/messages` with one tool that must be called: its input is the answer."""

    path = "/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The key and the API's version."""
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(
        self, entry: JudgeEntry, system: str, question: str, schema: Mapping[str, Any], most: int
    ) -> dict[str, Any]:
        """See `Speech`."""
        tool = {"name": _TOOL, "description": "Record what was read in the calls.", "input_schema": schema}
        return {
            "model": entry.model,
            "max_tokens": most,
            "system": system,
            "messages": [{"role": "user", "content": question}],
            "tools": [tool],
            "tool_choice": {"type": "tool", "name": _TOOL},
            **entry.body,
        }

    def answer(self, told: Any) -> Told:
        """See `Speech`."""
        try:
            used = next(part["input"] for part in told["content"] if part.get("type") == "tool_use")
            usage = told.get("usage") or {}
            return Told(used, _tokens(usage.get("input_tokens"), usage.get("output_tokens")))
        except (KeyError, TypeError, AttributeError, StopIteration):
            raise Unusable("no call of the tool") from None


def _tokens(*counts: Any) -> int:
    """The sum of what a server says; 0 where it says nothing that is a number."""
    return sum(count for count in counts if isinstance(count, int) and count > 0)


def _unfenced(text: str) -> str:
    """JSON without the fence that some models put around it although they were asked for none."""
    bare = text.strip()
    if bare.startswith("```"):
        bare = bare.partition("\n")[2].rpartition("```")[0]
    return bare


SPEECHES: Mapping[str, type[OpenAI | Anthropic]] = {"openai": OpenAI, "anthropic": Anthropic}
