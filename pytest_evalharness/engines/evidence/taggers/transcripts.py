"""A call as a judge or a model is shown it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_evalharness.engines.evidence.calls import Utterance

_SIDES = {True: "agent", False: "customer"}


def whole(turns: Sequence[Utterance]) -> list[str]:
    """Every turn, the agent's numbered."""
    found, number = [], 0
    for one in turns:
        if one.agent:
            found.append(f"agent turn {number}: {one.text}")
            number += 1
        else:
            found.append(f"customer: {one.text}")
    return found


def customer_only(turns: Sequence[Utterance]) -> list[str]:
    """What the customer said, and where the agent's turns were without a word of them.

    States are read from this: what the agent says cannot leak into the state that it was chosen in.
    """
    found, number = [], 0
    for one in turns:
        if one.agent:
            found.append(f"(agent turn {number})")
            number += 1
        else:
            found.append(f"customer: {one.text}")
    return found


def prefixes(turns: Sequence[Utterance]) -> list[list[str]]:
    """For each agent turn the call up to and with it, as turns of `agent: …` and `customer: …`."""
    lines = [f"{_SIDES[one.agent]}: {one.text}" for one in turns]
    return [lines[: at + 1] for at, one in enumerate(turns) if one.agent]
