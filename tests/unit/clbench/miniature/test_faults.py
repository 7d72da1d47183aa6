"""Faults strike where they are told to, and a file changes them while something runs."""

import itertools
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalharness.clbench.miniature import faults
from pytest_evalharness.clbench.miniature.faults import KNOWN, BadFault, Faults, fault
from pytest_evalharness.clbench.miniature.systems.contract import Place
from pytest_evalharness.clbench.miniature.systems.ouroboros import adapter


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("poison=mini_band_scan", {(None, 0), (0, 0), (0, 3), (1, 9)}),
        ("poison=*", {(None, 0), (0, 0), (0, 3), (1, 9)}),
        ("poison=mini_band_scan:0", {(0, 0), (0, 3)}),
        ("poison=mini_band_scan:baseline", {(None, 0)}),
        ("poison=mini_band_scan:*:3", {(0, 3)}),
        ("poison=mini_band_scan:*:3+", {(0, 3), (1, 9)}),
        ("poison=mini_band_scan:0:1-3", {(0, 3)}),
        ("poison=mini_coin_duel", set()),
    ],
)
def test_a_fault_strikes_a_pass_and_positions(text, struck):
    places = [(None, 0), (0, 0), (0, 3), (1, 9)]
    found = fault(text)
    assert {one for one in places if found.strikes("mini_band_scan", *one)} == struck


def test_a_fault_may_have_a_value():
    assert fault("outage=mini_coin_duel:0:2@1.5").value == 1.5
    assert fault("outage=mini_coin_duel").value is None


@pytest.mark.parametrize(
    "text",
    [
        "nonsense=mini_coin_duel",
        "poison=exploitable_poker",
        "poison=",
        "poison",
        "poison=mini_coin_duel:first",
        "poison=mini_coin_duel:0:few",
        "poison=mini_coin_duel:0:1:2",
        "slow=mini_coin_duel@much",
        "livelock=mini_band_scan",
        "livelock=*",
    ],
)
def test_a_fault_that_cannot_be_is_refused(text):
    with pytest.raises(BadFault):
        fault(text)


def test_the_environment_and_the_file_add_up_and_the_file_is_read_again(tmp_path):
    faults = Faults(tmp_path, "null=mini_coin_duel:0")
    assert faults.striking("null", "mini_coin_duel", 0, 0)
    assert faults.striking("stall", "mini_coin_duel", 0, 0) is None
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(["stall=mini_coin_duel"]))
    assert faults.striking("stall", "mini_coin_duel", 0, 0)
    path.write_text("[]")
    os.utime(path, ns=(1, 1))
    assert faults.striking("stall", "mini_coin_duel", 0, 0) is None
    path.unlink()
    assert faults.striking("null", "mini_coin_duel", 0, 0)


def test_an_outage_is_there_at_its_first_look_however_short_it_is(tmp_path, monkeypatch):
    """A process may stand still for longer between two lines."""
    monkeypatch.setattr(adapter, "time", SimpleNamespace(monotonic=itertools.count(step=10).__next__))
    (tmp_path / "faults.json").write_text('["outage=mini_ledger_lookup:0:2@0.1"]')
    params = {**adapter.Ouroboros.parameters, "engine": "llm"}
    system = adapter.Ouroboros(Place(tmp_path, "mini_ledger_lookup", 0), params)
    assert [system._network_down(2) for _ in range(2)] == [True, False]


def test_every_fault_says_what_it_does_and_something_asks_whether_it_strikes():
    others = [path for path in Path(faults.__file__).parent.rglob("*.py") if path.name != "faults.py"]
    asked = "".join(path.read_text() for path in others)
    assert [name for name, words in KNOWN.items() if not words or f'"{name}"' not in asked] == []
