"""The start of a campaign's program: marked, so that all that comes of it is found again, and apart from its terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.process_table import TOKEN
from pytest_evalharness.ledger.campaigns import Start


def launch(campaign: Campaign, start: Start, log: Path) -> subprocess.Popen[bytes]:
    """Start the program in a process group of its own: a terminal's Ctrl-C is for its supervisor, who hands it on.

    Args:
        campaign: whose program it is.
        start: its command, and the token that all its processes carry.
        log: what it says is appended to it.

    Raises:
        OSError: it could not be started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            start.argv,
            cwd=campaign.checkout.root,
            env={**os.environ, **campaign.environment, TOKEN: start.token},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
