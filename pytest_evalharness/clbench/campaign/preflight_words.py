"""A preflight in words, a line each; what comes from outside is made harmless."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from pytest_evalharness.base.text import counted, printable, redact
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.preflight import Answered, Preflight
from pytest_evalharness.clbench.campaign.secret_values import is_secret
from pytest_evalharness.clbench.checking import Check, State

_LONG = 1000


def lines(found: Preflight) -> Iterator[str]:
    """Everything, the answer last: it is what a reader looks for at the end of a long output."""
    campaign = found.campaign
    yield f"{printable(campaign.name)}: preflight of a {campaign.kind} of {printable(campaign.system)} in {printable(campaign.checkout.words)}"
    yield from plan_lines(campaign)
    yield ""
    for one in found.checks:
        yield from _check(one)
    yield ""
    yield from _answer(found)


def plan_lines(campaign: Campaign) -> Iterator[str]:
    """What is run: the recipe, in what the plan deviates from it, and the exact command with its variables."""
    yield f"  recipe: {campaign.recipe}, {counted(campaign.rollouts, 'rollout')} of {', '.join(campaign.tasks) or 'no task'}"
    for one in campaign.deviations:
        yield f"  deviation: {one}"
    yield f"  in {printable(campaign.checkout.root, _LONG)}:"
    for name, value in sorted(campaign.environment.items()):
        yield f"    export {name}={_value(name, value)}"
    yield f"    {printable(redact(shlex.join(campaign.argv)), 4 * _LONG)}"


def _value(name: str, value: str) -> str:
    """A variable's value as it would be typed; secrets are not, and of PATH only what comes before the rest."""
    if name == "PATH":
        return f'{shlex.quote(printable(value.partition(os.pathsep)[0], _LONG))}:"$PATH"'
    return "[redacted]" if is_secret(name, value) else shlex.quote(printable(value, _LONG))


def _check(one: Check) -> Iterator[str]:
    yield f"  {one.state:<10} {one.name}: {printable(one.seen, _LONG)}"
    if one.state is not State.OK:
        yield f"             needed: {printable(one.needed, _LONG)}"
        yield f"             mend:   {printable(one.mend, _LONG)}"


def _answer(found: Preflight) -> Iterator[str]:
    if isinstance(found.estimate, str):
        yield f"cost: unknown: {printable(found.estimate)}"
    else:
        yield f"cost: ${found.estimate.dollars:,.2f} expected, by {printable(found.estimate.source)}"
    failed = [one.name for one in found.checks if one.state is State.FAILED]
    doubted = [one.name for one in found.checks if one.state not in {State.OK, State.FAILED}]
    if found.answer is Answered.NO_GO:
        yield f"NO GO: {', '.join(failed)}" + (f"; in doubt: {', '.join(doubted)}" if doubted else "")
    elif found.answer is Answered.DOUBTS:
        yield f"GO, WITH DOUBTS: {', '.join(doubted)}"
    else:
        yield f"GO: {len(found.checks)} checks are ok"
