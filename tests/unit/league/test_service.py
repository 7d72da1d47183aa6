"""What a run's reports say of the server's own description, and of its drift since the last run there."""

import json

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.league.service import note_service
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.observatory.capabilities import read_capabilities
from pytest_evalharness.observatory.dialect import assume, choose

SERVER = "https://league.example/api"
REQUESTS = "/v2/experience-requests"
CANCEL = {f"{REQUESTS}/{{id}}/cancel": {"post": {}}}
CURSOR, OFFSET = ([{"name": name, "in": "query"}] for name in ("cursor", "offset"))


def dialect(paths=None, *, parameters=CURSOR, **more):
    listing = {REQUESTS: {"post": {}, "get": {"parameters": parameters}}}
    document = {"paths": listing | (paths or {}), "info": {"title": "League", "version": "1"}, **more}
    return choose(read_capabilities(json.dumps(document).encode()))


@pytest.fixture
def told(tmp_path):
    """Notes a run with what its server says; returns what its readers are told."""
    runs = iter(range(1, 99))
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("test")) as ledger:

        def note(said, server=SERVER):
            run = f"run-{next(runs)}"
            ledger.start_run(run, {"server": server})
            return note_service(ledger, run, server, said)

        note.ledger = ledger
        yield note


def test_the_first_run_on_a_server_has_nothing_to_hold_it_against(told):
    assert told(dialect(CANCEL)) == []
    assert told.ledger.run_info("run-1")["service"]["dialect"] == "current"


def test_the_same_description_is_no_drift(told):
    told(dialect(CANCEL))
    assert told(dialect(CANCEL)) == []


def test_drift_is_told_in_words(told):
    told(dialect(parameters=OFFSET))
    head, *changes = told(dialect(CANCEL))
    assert head.startswith("the server's API has changed since run run-1 of 20")
    assert changes == [
        "API change: lists are asked for by cursors, before by offsets",
        "API change: requests can be cancelled now; before, requests cannot be cancelled",
        "API change: POST /v2/experience-requests/{}/cancel (stopping a request) is new",
        "API change: GET /v2/experience-requests (the list of requests) no longer takes the parameter offset",
        "API change: GET /v2/experience-requests (the list of requests) takes the new parameter cursor",
    ]
    assert told(dialect(CANCEL)) == [], "it is told once"


def test_other_words_for_the_same_calls(told):
    told(dialect(CANCEL))
    [said] = told(dialect(CANCEL, tags=[{"name": "new"}]))
    assert "in other words than in run run-1" in said


def test_another_server_is_no_drift(told):
    told(dialect())
    assert told(dialect(CANCEL), server="https://other.example/api") == []


def test_a_description_that_cannot_be_read_is_said_and_is_no_drift(told):
    told(dialect(CANCEL))
    assert told(assume("HTTP 403")) == [
        "the server's description could not be used (HTTP 403): it is taken for the service as it is documented today"
    ]
    assert told.ledger.run_info("run-2")["service"]["digest"] == ""
    [head, *_] = told(dialect())
    assert "since run run-1" in head, "the silent run between them tells nothing"
