"""Whether the key can pay the plan: which key that is, and what the provider tells of both of its bounds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import redact
from pytest_evalharness.clbench.campaign.costs import Estimate
from pytest_evalharness.clbench.campaign.key_truth import OPENROUTER, spendable
from pytest_evalharness.clbench.campaign.money import key_checks
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.checking import Check, State

__all__ = ["KEY", "MANAGEMENT_KEY", "OPENROUTER", "key_checks_of"]
KEY = "OPENROUTER_API_KEY"
MANAGEMENT_KEY = "OPENROUTER_MANAGEMENT_KEY"
_PREFIX = "openrouter/"
_LARGEST = 64 * 1024
_NAME = "key"


def key_checks_of(
    campaign: Campaign,
    estimate: Estimate | str,
    environment: Mapping[str, str],
    *,
    model: str,
    clock: Clock,
    rng: random.Random,
    url: str,
) -> tuple[Check, ...]:
    """Both bounds of the key against what the plan costs.

    Args:
        campaign: the plan.
        estimate: of its cost.
        environment: all variables of its processes.
        model: of the system, as it will be applied.
        clock: tells the time.
        rng: draws the jitter between tries.
        url: the provider's API; keys go to its host only.
    """
    needed = "a key that may spend what the plan costs"
    if campaign.checkout.embedded:
        return (Check(_NAME, State.OK, "none is needed: the miniature asks no provider", needed),)
    if not model.startswith(_PREFIX):
        seen = f"model {model or 'not named'}: its provider tells no bounds of a key here"
        return (
            Check(_NAME, State.UNKNOWN, seen, needed, "look at the provider's own page before you start"),
        )
    key = environment.get(KEY) or _from_file(campaign.checkout.root / ".env").get(KEY, "")
    if not key:
        return (Check(_NAME, State.FAILED, f"{KEY} is not set", needed, f"export {KEY}"),)
    found = spendable(
        key,
        clock=clock,
        rng=rng,
        management_key=environment.get(MANAGEMENT_KEY),
        base_url=url,
        environ=environment,
    )
    # What it costs is unknown: whether anything at all may be spent is told even so.
    return key_checks(found, 0.01 if isinstance(estimate, str) else estimate.dollars)


def _from_file(path: Path) -> dict[str, str]:
    """Variables of a `.env` file, which the benchmark loads where they are not set."""
    try:
        lines = path.read_bytes()[:_LARGEST].decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("'\"")
    if KEY in found:
        redact.hide(found[KEY])
    return found
