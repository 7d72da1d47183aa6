"""When nothing more will come of a request, of an episode, or of an artifact; and who remembers tries."""

import json

import pytest

from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
from pytest_evalharness.episodes.index import Entry
from pytest_evalharness.episodes.references import reference
from pytest_evalharness.episodes.watch import Attempts, drained
from pytest_evalharness.observatory.models.sources import SourceRow
from pytest_evalharness.observatory.status import Status

UNDER_WAY = {Status.PENDING, Status.SUBMITTED, Status.RUNNING, Status.UNKNOWN}


def row(status, **more):
    return SourceRow.model_validate({"id": "ereq_1", "status": status.value, **more})


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("request_status", [Status.RUNNING, Status.COMPLETED, Status.CANCELLED, None])
def test_when_an_episode_is_over(status, request_status):
    found = reference(row(status), request="xreq_1", request_status=request_status)

    never_started = request_status is Status.CANCELLED and status in {Status.PENDING, Status.SUBMITTED}
    played_again = request_status is Status.RUNNING and status is Status.FAILED
    assert found.over == (never_started or (status not in UNDER_WAY and not played_again))
    assert found.status is (Status.CANCELLED if never_started else status)


@pytest.mark.parametrize(
    ("request_status", "episodes", "over"),
    [
        (Status.RUNNING, [Status.COMPLETED, Status.COMPLETED], False),
        (Status.COMPLETED, [Status.COMPLETED, Status.FAILED], True),
        (Status.COMPLETED, [Status.COMPLETED, Status.RUNNING], False),
        (Status.CANCELLED, [Status.COMPLETED, Status.PENDING], True),
        (Status.CANCELLED, [Status.SUBMITTED, Status.CANCELLED], True),
        (Status.CANCELLED, [Status.COMPLETED, Status.RUNNING], False),
        (Status.UNKNOWN, [Status.COMPLETED], False),
        (Status.FAILED, [], True),
    ],
    ids=range(8),
)
def test_when_a_request_is_drained(request_status, episodes, over):
    found = [reference(row(one), request_status=request_status) for one in episodes]

    assert drained(request_status, found) is over


def test_a_recorded_episode_of_mid_2026():
    told = {
        "id": "0c99b84f-e37f-52cc-8640-1f996fcb32f3", "created_at": "2026-06-12T10:00:00Z", "replay_url": "https://x.example/r.z",
        "policy_results": [{"position": 3, "policy": {"name": "keeper", "version": 2}}, {"position": "x"}, 7],
        "game_stats": {}, "tags": {"job_id": "11111111-2222-4333-8444-555555555555"},
    }  # fmt: skip

    found = reference(SourceRow.model_validate(told))

    assert found.recorded
    assert found.over
    assert found.status is Status.COMPLETED
    assert found.job_id == told["tags"]["job_id"]
    assert found.seats == {3: None}
    assert found.row == told


def entry(state):
    one = Outcome("results.json", Artifact(Category.RESULTS), state)
    return Entry(
        "ereq_1", "f", status="completed", over=True, asked={Category.RESULTS}, files={one.path: one}
    )


def test_tries_are_remembered_by_the_next_watch(tmp_path):
    Attempts(tmp_path, 2).count([entry(State.PENDING)])
    again = Attempts(tmp_path, 2)
    assert not again.exhausted("ereq_1")
    again.count([entry(State.FAILED)])

    third = Attempts(tmp_path, 2)
    assert third.exhausted("ereq_1")
    third.forget(["ereq_1"])
    assert not third.exhausted("ereq_1")
    third.count([entry(State.OK)])
    assert json.loads((tmp_path / "watch_state.json").read_text()) == {}


@pytest.mark.parametrize("content", ["", "[]", '{"ereq_1": "many"}', "{"], ids=range(4))
def test_a_damaged_memory_is_none(tmp_path, content):
    (tmp_path / "watch_state.json").write_text(content)

    assert not Attempts(tmp_path, 1).exhausted("ereq_1")
