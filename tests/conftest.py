"""How the property tests run here, and what runs inside a test must not know."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pytest_evalharness.base.text import redact

# A busy machine is no defect, and the same code is found today as it was found yesterday. `EXPLORE=1` tries other examples.
settings.register_profile(
    "repository",
    deadline=None,
    derandomize="EXPLORE" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repository")

HERE = Path(__file__).parent
# What whoever starts the tests has ignored (`&` in a script: SIGINT; nohup: SIGHUP) every child would ignore as well, and tests
# send both. A handler is not inherited: children begin as from a terminal, and a hangup still ends no tests.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
# Where CI is GitHub's, the runs that tests start would write on the page of this one.
os.environ.pop("GITHUB_ACTIONS", None)


@pytest.fixture(autouse=True)
def own_secrets():
    """What one test makes known as a secret is none in the next: it could be a word that another test looks for."""
    before = set(redact._secrets)
    yield
    redact._secrets.intersection_update(before)


def pytest_collection_modifyitems(items):
    """Each test is marked with its kind, the folder that it lies in below this one: `-m "unit or property"`."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(item.path.relative_to(HERE).parts[0])
