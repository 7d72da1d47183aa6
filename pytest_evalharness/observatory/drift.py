"""What changed in a server's description between two runs, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.observatory.capabilities import Capabilities

MOST = 8
"""So many changes are told one by one; the rest are counted."""
_WIDE = 200
_MATTERS = ("/v2/experience-requests", "/v2/episode-requests", "/jobs/")
"""Calls that a run depends on: what changes there is told first."""


def outline(described: Capabilities) -> dict[str, Any]:
    """What is kept of a description, to be compared with a later one: route → query parameters and fields of the body."""
    return {
        route: {"fields": sorted(call.fields), "query": sorted(call.query)}
        for route, call in sorted(described.calls.items())
    }


def adapted(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What this package does otherwise than in an earlier run, from both runs' `Dialect.to_json`."""
    told = [
        sentence.format(now=printable(now[key]), before=printable(before[key]))
        for key, sentence in _ADAPTED.items()
        if before[key] != now[key]
    ]
    for key, words in _CAN.items():
        if before[key] != now[key]:
            told.append(f"{words[now[key]]} now; before, {words[before[key]]}")
    return told


_ADAPTED = {
    "auth": "the token is sent as {now}, before as {before}",
    "paging": "lists are asked for by {now}, before by {before}",
    "artifacts": "results are read from {now}, before from {before}",
}
_CAN = {
    "cancels": {
        True: "requests can be cancelled",
        False: "requests cannot be cancelled",
        None: "nobody knows whether requests can be cancelled",
    },
    "participants_have_kind": {
        True: "participants tell their kind",
        False: "participants do not tell their kind",
        None: "nothing is told of participants",
    },
}


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What appeared and what vanished between two outlines, what matters to a run first; empty if nothing did.

    Two documents may differ and have one outline: in texts, or in the shapes of answers.
    """
    told = [*_routes(before, now), *_parts(before, now)]
    told.sort(key=lambda change: not any(path in change for path in _MATTERS))
    if len(told) <= MOST:
        return told
    return [*told[:MOST], f"{len(told) - MOST} more calls and parameters changed"]


def _routes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterable[str]:
    for route in sorted(before.keys() - now.keys()):
        yield f"{_named(route)} is gone"
    for route in sorted(now.keys() - before.keys()):
        yield f"{_named(route)} is new"


def _parts(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterable[str]:
    for route in sorted(before.keys() & now.keys()):
        for kind, word in (("query", "parameter"), ("fields", "field")):
            old, new = set(before[route][kind]), set(now[route][kind])
            if old - new:
                yield f"{_named(route)} no longer takes the {_listed(word, old - new)}"
            if new - old:
                yield f"{_named(route)} takes the new {_listed(word, new - old)}"


def _listed(word: str, names: Iterable[str]) -> str:
    known = [printable(name, 40) for name in sorted(names)]
    return f"{word} {known[0]}" if len(known) == 1 else f"{word}s {', '.join(known)}"


def _named(route: str) -> str:
    """A route for people: what a run uses of it, where we know that."""
    return printable(_WORDS.get(route, route), _WIDE)


_WORDS = {
    "POST /v2/experience-requests/{}/cancel": "POST /v2/experience-requests/{}/cancel (stopping a request)",
    "POST /v2/experience-requests": "POST /v2/experience-requests (submitting a request)",
    "GET /v2/experience-requests": "GET /v2/experience-requests (the list of requests)",
    "GET /v2/league-policy-memberships": "GET /v2/league-policy-memberships (the field)",
    "GET /v2/episode-requests/{}/artifacts/results": "GET /v2/episode-requests/{}/artifacts/results (results of an episode)",
    "GET /jobs/{}/artifacts/{}": "GET /jobs/{}/artifacts/{} (artifacts of a job)",
    "GET /v2/rounds": "GET /v2/rounds (rounds of the league)",
    "GET /stats/policy-versions": "GET /stats/policy-versions (the look-up of policies)",
}
