"""The watch over what a campaign's key may still spend, for whoever runs one: a command or a case."""

from __future__ import annotations

import os
import random

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.campaign.asking import variables
from pytest_evalharness.clbench.campaign.costs import estimate_of
from pytest_evalharness.clbench.campaign.key_truth import OPENROUTER, spendable
from pytest_evalharness.clbench.campaign.money_watch import MoneyWatch
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.preflight_keys import KEY, MANAGEMENT_KEY
from pytest_evalharness.clbench.run_folder import PublishedRun


def watch_over(
    campaign: Campaign, clock: Clock, *, key_url: str | None = None, like: PublishedRun | None = None
) -> MoneyWatch | None:
    """A watch over what the key may spend; None where the campaign spends nothing that a key pays.

    Args:
        campaign: what is run.
        clock: tells when to ask again.
        key_url: the provider's API; OpenRouter's if left out.
        like: a finished run of the same configuration, for what its tasks cost.
    """
    environment = variables(campaign.environment, os.environ)
    key = environment.get(KEY)
    if not key or campaign.checkout.embedded:
        return None
    estimate = estimate_of(campaign, like)
    prices = {} if isinstance(estimate, str) else {task: one.rollout for task, one in estimate.tasks.items()}
    return MoneyWatch(
        lambda: spendable(
            key,
            clock=clock,
            rng=random.Random(),
            management_key=environment.get(MANAGEMENT_KEY),
            base_url=key_url or OPENROUTER,
        ),
        clock,
        prices,
    )
