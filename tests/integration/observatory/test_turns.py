"""Runs that share a home share its league too: one after the other."""

import shutil
import threading
import time

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.observatory.embedded import EmbeddedServer, await_health, serving


@pytest.mark.parametrize("worker", [False, True], ids=["serial", "worker"])
def test_runs_of_one_home_take_turns(tmp_path, founded_league, unmeasured, worker):
    first = EmbeddedServer(tmp_path, seed=2026)
    second = EmbeddedServer(tmp_path, seed=2026, on_wait=lambda: threading.Thread(target=first.stop).start())
    shutil.copytree(founded_league(), first.home)
    try:
        with unmeasured():
            first.start()
            if worker:
                second.start_when_needed()
                await_health(second.api, SystemClock(), home=second.home)
            else:
                second.start()
        # Its answer may come before the thread that started it has taken the note away.
        until = time.monotonic() + 60
        while (second.home / "waiting.txt").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert not (second.home / "waiting.txt").exists()
        while (found := serving(second.home, SystemClock())) is None and time.monotonic() < until:
            pass  # each look has seconds only, which a busy machine may need longer
        assert found == second.api
    finally:
        second.stop()
        first.stop()
