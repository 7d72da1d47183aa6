"""What a comparison costs at a real server: told with the verdict, and bounded by a budget."""

import json
import os
import time
import urllib.request
from pathlib import Path

import jsonschema
import pytest

from pytest_evalharness.cli import main

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs/reference/results.schema.json").read_text())
)


class User:
    def __init__(self, server, folder, capfd):
        self.server = server
        self.folder = folder
        self._capfd = capfd

    def back_door(self, path, method="GET", body=None):
        request = urllib.request.Request(
            self.server.api.removesuffix("/api") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=300
        ) as answer:
            return json.loads(answer.read() or b"null")

    @property
    def posts(self):
        return self.back_door("/_arena/counters")["experience_request_posts"]

    def ab(self, *more):
        self._capfd.readouterr()
        words = ("--candidate=keeper:v2", "--baseline=keeper:v1", "--server", self.server.api, "--num=12")
        code = main(["ab", *words, *more])
        told = self._capfd.readouterr()
        return code, told.out, told.err

    def results(self):
        newest = max(
            self.folder.glob(".evalharness/runs/*/results.json"), key=lambda path: path.stat().st_mtime_ns
        )
        told = json.loads(newest.read_text())
        SCHEMA.validate(told)
        return told


@pytest.fixture(scope="module", params=["current"])
def server(request, start_league):
    return start_league(dialect=request.param)


@pytest.fixture
def user(server, tmp_path, monkeypatch, capfd):
    for name in list(os.environ):
        if name.startswith(("EVALHARNESS_", "PYTEST_ADDOPTS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(server.credentials))
    monkeypatch.chdir(tmp_path)
    made = User(server, tmp_path, capfd)
    made.back_door("/_arena/faults", "DELETE")
    deadline = time.monotonic() + 300
    while made.back_door("/_arena/health")["unfinished_requests"]:  # what an earlier test left costs too
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield made
    made.back_door("/_arena/faults", "DELETE")


def test_what_a_verdict_cost_is_told_and_reading_it_again_costs_nothing(user):
    code, out, _ = user.ab("--budget=1e6")
    assert code in {0, 1, 10}
    report = user.results()
    cost, judged = report["cost"], report["cases"][0]["results"][0]["judgement"]
    assert set(cost["requests"]) == {judged[side]["request_ids"][0] for side in ("candidate", "baseline")}
    assert cost["spent"] == pytest.approx(sum(cost["requests"].values()))
    assert cost["spent"] == cost["per_verdict"] > 0
    assert cost["balance_before"] - cost["balance_after"] == pytest.approx(cost["spent"], abs=0.01)
    assert cost["budget"] == 1e6
    assert f"cost: {cost['spent']:.4g} credits for 2 requests, {cost['spent']:.4g} a verdict (balance " in out
    assert "the budget was 1000000" in out
    run = user.folder / ".evalharness/runs" / report["run_id"]
    assert "Cost: " in (run / "summary.md").read_text()
    assert "Cost: " in (run / "report.html").read_text()
    assert "cost:" not in user.ab()[1]
    assert user.results()["cost"] is None


@pytest.mark.parametrize(
    ("budget", "told"), [(0.5, "the server expects 666.6"), (700, "would cost about 666.6")]
)
def test_a_budget_below_the_price_refuses_and_cancels_what_was_submitted(user, budget, told):
    user.back_door("/_arena/faults", "POST", {"spec": "closed-queue"})
    before = user.posts
    code, out, _ = user.ab(f"--budget={budget}", "--maxticks=9999")
    assert code == 11
    assert told in out
    assert "EVH233" in out
    assert "raise --budget" in out
    assert "was cancelled" in out, out
    assert "goes on at the server" not in out
    assert user.posts - before == 1, "the second request was refused by the price of the first"
    user.back_door("/_arena/faults", "DELETE")
    assert user.ab("--budget=1e6", "--maxticks=9999", "--fresh")[0] in {0, 1, 10}


def test_a_queue_that_does_not_move_is_left_where_the_cost_is_minded(user, unhurried):
    user.back_door("/_arena/faults", "POST", {"spec": "closed-queue"})
    code, out, _ = user.ab("--budget=1e6", "--maxticks=9998", "--queue-budget=0.5")
    assert code == 11
    assert "was cancelled before a game of it started, as --budget asks" in out


@pytest.mark.parametrize(
    ("words", "told", "states"),
    [
        (("--queue-exceeded=cancel",), "as --queue-exceeded=cancel asks", {"cancelled"}),
        (("--queue-exceeded=keep", "--budget=1e6"), "still running on the server", {"pending"}),
    ],
)
def test_what_becomes_of_a_queue_that_does_not_move_can_be_said(user, unhurried, words, told, states):
    user.back_door("/_arena/faults", "POST", {"spec": "closed-queue"})
    ticks = f"--maxticks={9990 + len(words)}"
    code, out, _ = user.ab(ticks, "--queue-budget=0.5", *words)
    assert code == 11
    assert told in out
    user.back_door("/_arena/faults", "DELETE")
    before = user.posts
    code, _, _ = user.ab(ticks)
    if states == {"cancelled"}:
        assert code == 11, "what was cancelled is not posted again without --fresh"
    else:
        assert code in {0, 1, 10}
    assert user.posts == before


@pytest.mark.slow
@pytest.mark.parametrize("server", ["2026-06"], indirect=True)
def test_a_server_that_does_not_tell_is_no_place_for_a_budget(user):
    before = user.posts
    code, out, _ = user.ab("--budget=1e6")
    assert code == 11
    assert "the server does not tell the account's credits" in out
    assert "not done: nothing was submitted" in out
    assert user.posts == before
    code, out, _ = user.ab()
    assert code in {0, 1, 10}
    assert user.results()["cost"]["spent"] is None
    assert "cost: unknown: the server does not tell" in out
