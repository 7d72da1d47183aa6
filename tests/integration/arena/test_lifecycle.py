"""From a creation to results: states, counts, scores, seats, visibility, cancel, idempotency."""

import concurrent.futures
import time
from datetime import datetime
from functools import partial

import pytest

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
PRIME = "league_a12f5172-0907-4d04-8bcb-ca02f5360e3a"
LAYOUT = [{"role": "imposter" if seat in {2, 3} else "crew"} for seat in range(8)]
ROW = {
    "id",
    "requester_user_id",
    "requester",
    "coworld_id",
    "coworld_name",
    "coworld_version",
    "variant_id",
    "title",
    "description",
    "notes",
    "status",
    "episode_count",
    "pending_count",
    "submitted_count",
    "running_count",
    "completed_count",
    "failed_count",
    "error",
    "created_at",
    "started_at",
    "completed_at",
}


def test_a_creation_answers_with_pending_episodes_without_jobs(arena):
    made = arena.create(arena.body(notes="note", title="title"))

    assert set(made) == ROW | {"episodes", "requested", "cost_preview"}
    assert made["status"] == "pending"
    assert made["pending_count"] == made["episode_count"] == 2
    assert made["requested"] == {"title": "title", "description": None, "notes": "note", "num_episodes": 2}
    for episode in made["episodes"]:
        assert episode["status"] == "pending"
        assert episode["job_id"] is None
        assert episode["episode_id"] is None
        assert episode["scores"] == []


def test_a_request_ends_completed_with_everything_in_its_place(arena):
    overrides = {"maxTicks": 6000, "imposterCount": 2, "autoImposterCount": False, "slots": LAYOUT}
    body = arena.body(num_episodes=5, game_config_overrides=overrides, notes="evh 1")

    done = arena.play(body)

    assert set(done) == ROW | {"episodes"}
    assert done["status"] == "completed"
    assert done["notes"] == "evh 1"
    assert (done["completed_count"], done["episode_count"]) == (5, 5)
    created, started, ended = (
        datetime.fromisoformat(done[key]) for key in ("created_at", "started_at", "completed_at")
    )
    assert created.tzinfo is not None
    assert created <= started <= ended
    for episode in done["episodes"]:
        assert episode["job_id"] != episode["episode_id"]
        assert [each["position"] for each in episode["participants"]] == list(range(8))
        assert {each["kind"] for each in episode["participants"]} == {"policy"}
        labels = [f"{each['policy_name']}:v{each['version']}" for each in episode["participants"]]
        assert labels == [entry["player"]["policy_ref"] for entry in body["roster"]]
        assert episode["game_config"]["slots"] == LAYOUT
        assert episode["game_config"]["maxTicks"] == episode["max_steps"] == 6000
        results = arena.get(f"/v2/episode-requests/{episode['id']}/artifacts/results")
        assert results["imposter"] == [0, 0, 1, 1, 0, 0, 0, 0]
        for score, won, imposter in zip(results["scores"], results["win"], results["imposter"], strict=True):
            assert score == (0 if not won else 3 if imposter else 1)
        assert [each["score"] for each in episode["scores"]] == results["scores"]


def test_scores_of_a_row_are_one_a_policy_version(arena):
    done = arena.play(arena.body(["keeper:v1"] * 4 + ["rival:v3"] * 4))

    for episode in done["episodes"]:
        assert len(episode["policy_version_ids"]) == 2
        results = arena.get(f"/v2/episode-requests/{episode['id']}/artifacts/results")
        assert [each["score"] for each in episode["scores"]] == [
            sum(results["scores"][:4]) / 4,
            sum(results["scores"][4:]) / 4,
        ]


def test_the_league_decides_the_variant(arena):
    done = arena.play(arena.body(target={"league_id": PRIME}))

    assert done["variant_id"] == "crewrift-prime"
    config = done["episodes"][0]["game_config"]
    assert (config["voteTimerTicks"], config["killCooldownTicks"]) == (1200, 500)


@pytest.mark.parametrize("omitted", [False, True])
def test_open_entries_go_round_the_open_seats(arena, omitted):
    refs = ["keeper:v1", "rival:v3", *arena.field(6)]
    roster = [
        {"player": {"policy_ref": ref}} if omitted else {"player": {"policy_ref": ref}, "slot": -1}
        for ref in refs
    ]
    roster[0]["slot"] = 2
    made = arena.create(arena.body(roster=roster, num_episodes=3))

    open_seats = [0, 1, 3, 4, 5, 6, 7]
    for index, episode in enumerate(made["episodes"]):
        labels = [f"{each['policy_name']}:v{each['version']}" for each in episode["participants"]]
        assert labels[2] == "keeper:v1"
        for place, ref in enumerate(refs[1:]):
            assert labels[open_seats[(place + index) % 7]] == ref


def test_drawn_opponents_differ_between_episodes_and_not_within_one(arena):
    roster = [{"player": {"policy_ref": "keeper:v2"}, "slot": 0}, *[{"player": {"top_n": 10}}] * 7]
    made = arena.create(arena.body(roster=roster, num_episodes=12))

    tables = [tuple(episode["policy_version_ids"][1:]) for episode in made["episodes"]]

    assert all(len(set(table)) == 7 for table in tables)
    assert len({frozenset(table) for table in tables}) > 1


def test_a_new_request_is_hidden_for_a_moment(arena, wait_until):
    made = arena.create(arena.body())

    wait_until(lambda: arena.detail(made["id"]))

    # Who is slow to look finds it at once, and nothing can be said of a moment that has passed.
    assert time.time() - datetime.fromisoformat(made["created_at"]).timestamp() > 0.19
    assert arena.get("/v2/experience-requests", mine="true")["entries"][0]["id"] == made["id"]


def test_a_request_that_is_hidden_is_nowhere(arena):
    arena.fault("not-visible=3600")
    made = arena.create(arena.body())
    path = f"/v2/experience-requests/{made['id']}"

    assert arena.client.get(path).status_code == 404
    assert arena.client.get(path + "/episodes").status_code == 404
    assert arena.client.post(path + "/cancel").status_code == 404
    assert made["id"] not in [row["id"] for row in arena.get("/v2/experience-requests")["entries"]]
    assert arena.get("/v2/episode-requests", ids=made["id"])["unavailable_ids"] == [made["id"]]


def test_lists_are_paged_newest_first(arena):
    ids = [arena.play(arena.body(num_episodes=1))["id"] for _ in range(3)]

    first = arena.get("/v2/experience-requests", limit=2)
    second = arena.get("/v2/experience-requests", limit=2, cursor=first["next_cursor"])

    assert [row["id"] for row in [*first["entries"], *second["entries"]]][:3] == ids[::-1]


def test_episodes_can_be_read_in_every_way(arena):
    done = arena.play(arena.body())
    request = f"/v2/experience-requests/{done['id']}"

    assert arena.get(request + "/episodes") == done["episodes"]
    page = arena.get(request + "/episode-requests", limit=1)
    rest = arena.get(request + "/episode-requests", cursor=page["next_cursor"])
    assert [row["id"] for row in page["entries"] + rest["entries"]] == [row["id"] for row in done["episodes"]]
    assert rest["next_cursor"] is None
    episode = done["episodes"][0]
    path = f"/v2/episode-requests/{episode['id']}"
    assert arena.get(path) == episode
    stats = arena.get(path + "/episode-stats")
    assert len(stats["policy_stats"]) == 8
    status = arena.get(path + "/artifacts/player-status")
    assert [each["state"] for each in status["players"]] == ["exited"] * 8
    assert arena.get(path + "/artifacts/game-config") == episode["game_config"]
    assert arena.client.get(path + "/artifacts/error-info").status_code == 404
    assert arena.client.get(path + "/artifacts/nonsense").status_code == 400
    version = episode["participants"][0]["policy_version_id"]
    listed = arena.get(f"/v2/policy-versions/{version}/episode-requests")
    assert episode["id"] in [row["id"] for row in listed["entries"]]


def test_logs_are_the_owners(arena):
    episode = arena.play(arena.body())["episodes"][0]
    path = f"/v2/episode-requests/{episode['id']}"
    mine, theirs = (each["policy_version_id"] for each in episode["participants"][:2])

    assert arena.client.get(path + "/artifacts/logs").text
    assert arena.client.get(f"{path}/{mine}/policy-logs/0").text
    assert arena.client.get(f"{path}/{theirs}/policy-logs/1").status_code == 403
    assert arena.client.get(f"{path}/{mine}/policy-logs/1").status_code == 404
    assert [row["position"] for row in arena.get(path + "/policy-artifacts")] == [0]


# ------------------------------------------------------------------ cancel


def test_a_finished_request_cannot_be_cancelled(arena):
    done = arena.play(arena.body())

    assert arena.client.post(f"/v2/experience-requests/{done['id']}/cancel").status_code == 409


def test_a_cancelled_request_never_starts_what_was_pending(arena, wait_until):
    arena.fault("closed-queue")
    made = arena.create(arena.body(num_episodes=4))
    wait_until(lambda: arena.detail(made["id"]))
    path = f"/v2/experience-requests/{made['id']}/cancel"

    first, second = arena.client.post(path), arena.client.post(path)

    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert first.json()["status"] == "cancelled"
    arena.no_faults()
    arena.play(arena.body())  # the queue is open again, and what came later is over
    after = arena.detail(made["id"])
    assert after["status"] == "cancelled"
    assert {episode["status"] for episode in after["episodes"]} == {"pending"}


def _all_run_or_one_is_over(arena, made):
    now = arena.detail(made["id"])
    return now is not None and (now["running_count"] == len(made["episodes"]) or now["completed_count"])


def test_what_runs_at_a_cancel_goes_on_without_being_rolled_up(start, tmp_path, wait_until):
    for pace in (
        400,
        40,
        6,
    ):  # of fast games one may be over before all three run, or before the cancel comes
        arena = start("--pace", str(pace), home=tmp_path / str(pace))
        made = arena.create(arena.body(num_episodes=3, game_config_overrides={"maxTicks": 10_000}))
        wait_until(partial(_all_run_or_one_is_over, arena, made))
        cancelled = arena.client.post(f"/v2/experience-requests/{made['id']}/cancel").json()
        if cancelled.get("running_count") == 3:
            break

    assert cancelled["running_count"] == 3

    def all_over():
        now = arena.detail(made["id"])
        return now if {each["status"] for each in now["episodes"]} == {"completed"} else None

    after = wait_until(all_over)
    assert after["status"] == "cancelled"
    assert (after["running_count"], after["completed_count"]) == (3, 0)
    assert "cancelled_count" not in after


# -------------------------------------------------------------- idempotency


def test_the_same_key_gives_the_same_request_back(arena):
    before = arena.counters()
    body = arena.body(idempotency_key="evh-key-1")

    first, second = arena.create(body), arena.create(body)

    after = arena.counters()
    assert first["id"] == second["id"]
    assert after["experience_request_posts"] - before["experience_request_posts"] == 2
    assert after["experience_requests_created"] - before["experience_requests_created"] == 1
    assert after["idempotent_replays"] - before["idempotent_replays"] == 1


def test_many_at_once_with_one_key_make_one_request(arena):
    before = arena.counters()["experience_requests_created"]
    body = arena.body(idempotency_key="evh-key-2")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: arena.create(body)["id"], range(8)))

    assert len(set(made)) == 1
    assert arena.counters()["experience_requests_created"] == before + 1


def test_the_same_key_with_another_body_is_a_409(arena):
    arena.create(arena.body(idempotency_key="evh-key-3"))

    answer = arena.client.post(
        "/v2/experience-requests", json=arena.body(idempotency_key="evh-key-3", num_episodes=3)
    )

    assert answer.status_code == 409


@pytest.mark.failure_mode(number=2)
def test_the_key_counts_within_a_league_only(arena):
    key = "evh-key-4"
    daily = arena.create(arena.body(idempotency_key=key))
    prime = arena.create(arena.body(idempotency_key=key, target={"league_id": PRIME}))
    league_less = arena.body(idempotency_key=key, target={"coworld_id": daily["coworld_id"]})

    first, second = arena.create(league_less), arena.create(league_less)

    assert len({daily["id"], prime["id"], first["id"], second["id"]}) == 4


# ----------------------------------------------------------------- bulk, feed


def test_bulk_reads_page_and_filter(arena):
    done = arena.play(arena.body(num_episodes=3))

    page = arena.get("/v2/episode-requests", ids=done["id"], limit=2, view="results")
    rest = arena.get("/v2/episode-requests", ids=done["id"], cursor=page["next_cursor"])

    assert [row["id"] for row in page["entries"] + rest["entries"]] == [row["id"] for row in done["episodes"]]
    assert {row["evidence_state"] for row in page["entries"]} == {"sealed"}
    assert page["entries"][0]["scores"] == done["episodes"][0]["scores"]
    assert "scores" not in rest["entries"][0]
    assert arena.get("/v2/episode-requests", ids=done["id"], status="running")["entries"] == []
    both = arena.client.get("/v2/episode-requests", params={"ids": [done["id"], done["episodes"][0]["id"]]})
    assert both.status_code == 422
    many = arena.client.get("/v2/episode-requests", params={"ids": [done["id"]] * 51})
    assert many.status_code == 422


def test_the_feed_tells_every_change_and_waits_for_the_next(arena, wait_until):
    arena.fault("closed-queue")
    made = arena.create(arena.body(num_episodes=3))
    wait_until(lambda: arena.detail(made["id"]))
    path = "/v2/episode-requests/changes"

    page = arena.get(path, ids=made["id"], limit=2)
    assert (page["phase"], page["has_more"]) == ("snapshot", True)
    states = {entry["id"]: entry["episode"]["status"] for entry in page["entries"]}
    page = arena.get(path, ids=made["id"], cursor=page["next_cursor"])
    assert (page["phase"], page["has_more"]) == ("snapshot", False)
    arena.no_faults()
    for _ in range(50):
        states |= {entry["id"]: entry["episode"]["status"] for entry in page["entries"]}
        if page["batches"][0]["status"] == "completed" and not page["has_more"]:
            break
        page = arena.get(path, ids=made["id"], cursor=page["next_cursor"], wait_seconds=5)
    assert set(states.values()) == {"completed"}
    assert len(states) == 3
    assert page["phase"] == "changes"

    began = time.monotonic()
    last = arena.get(path, ids=made["id"], cursor=page["next_cursor"], wait_seconds=30)
    assert (last["entries"], last["batches"][0]["status"]) == ([], "completed")
    assert time.monotonic() - began < 29, "nothing will come any more, so it does not wait"
    other = arena.client.get(
        path, params={"ids": made["id"], "cursor": page["next_cursor"], "view": "results"}
    )
    assert other.status_code == 409
    assert arena.client.get(path, params={"ids": made["id"], "cursor": "bm9uc2Vuc2U"}).status_code == 422
    missing = f"xreq_{'0' * 8}-0000-4000-8000-{'0' * 12}"
    assert arena.client.get(path, params={"ids": missing}).status_code == 404


def test_the_feed_of_a_cancelled_request_does_not_make_its_reader_run_hot(arena, wait_until):
    arena.fault("closed-queue")
    made = arena.create(arena.body())
    wait_until(lambda: arena.detail(made["id"]))
    arena.client.post(f"/v2/experience-requests/{made['id']}/cancel")
    path = "/v2/episode-requests/changes"
    cursor = arena.get(path, ids=made["id"])["next_cursor"]

    began = time.monotonic()
    page = arena.get(path, ids=made["id"], cursor=cursor, wait_seconds=0.5)

    assert time.monotonic() - began > 0.4
    assert (page["batches"][0]["status"], page["entries"], page["poll_after_seconds"]) == ("cancelled", [], 1)


def test_the_manifest_has_results_inline(arena):
    done = arena.play(arena.body())
    include = ["results", "error_info", "replay"]

    entries = arena.get("/v2/episode-requests/download-manifest", ids=done["id"], include=include)["entries"]

    states = {(entry["category"], entry["state"]) for entry in entries}
    assert states == {("results", "ready"), ("error_info", "not_produced"), ("replay", "ready")}
    assert all(entry["inline_json"]["scores"] for entry in entries if entry["category"] == "results")
    assert all(entry["inline_json"] is None for entry in entries if entry["category"] == "replay")
