"""What servers said of themselves, run by run."""

import pytest

from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.services import KEY


class HandClock:
    def __init__(self):
        self.time = 1000.0

    def now(self):
        return self.time

    monotonic = now


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def ledger(tmp_path, clock):
    with Ledger.open(tmp_path, clock=clock, owner=Owner.current("test")) as made:
        yield made


@pytest.fixture
def began(ledger, clock):
    def run(name, server="https://a.example/api", digest="d1", **service):
        clock.time += 10
        ledger.start_run(name, {"server": server, "settings": {"num": 30}})
        ledger.services.note(
            name, {"digest": digest, **service}, {f"GET /{digest}": {"query": [], "fields": []}}
        )

    return run


def test_it_stands_in_the_run_beside_what_was_noted_first(ledger, began):
    began("r1", cancels=True)
    assert ledger.run_info("r1") == {
        "server": "https://a.example/api", "settings": {"num": 30}, KEY: {"digest": "d1", "cancels": True},
    }  # fmt: skip


def test_the_first_note_of_a_run_stays(ledger, began):
    began("r1", cancels=True)
    ledger.services.note("r1", {"digest": "d2", "cancels": False}, {})
    assert ledger.run_info("r1")[KEY] == {"digest": "d1", "cancels": True}


def test_a_run_that_nobody_began_is_not_made_up(ledger):
    ledger.services.note("r9", {"digest": "d1"}, {})
    assert ledger.run_info("r9") is None


def test_the_run_before_is_the_last_one_on_the_same_server_that_was_told(ledger, began):
    began("r1", digest="d1")
    began("r2", digest="d2")
    began("elsewhere", server="https://b.example/api", digest="d3")
    began("silent", digest="")
    began("r5", digest="d5")
    found = ledger.services.before("r5", "https://a.example/api")
    assert (found.run_id, found.at, found.service) == ("r2", 1020.0, {"digest": "d2"})
    assert found.outline == {"GET /d2": {"query": [], "fields": []}}
    assert ledger.services.before("r2", "https://a.example/api").run_id == "r1"
    assert ledger.services.before("r1", "https://a.example/api") is None
    assert ledger.services.before("elsewhere", "https://b.example/api") is None


def test_a_run_that_was_noted_by_an_older_release_says_nothing(ledger, began):
    ledger.start_run("old", {"server": "https://a.example/api"})
    began("r1")
    assert ledger.services.before("r1", "https://a.example/api") is None


def test_one_description_is_kept_once(ledger, began):
    began("r1")
    began("r2")
    rows = ledger._storage.read("SELECT count(*) FROM once WHERE kind = 'description'")
    assert rows[0][0] == 1
