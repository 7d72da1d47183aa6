"""Each fault, made to happen."""

import time
from datetime import datetime

import httpx
import pytest


def test_a_description_that_nobody_is_shown(arena):
    arena.fault("hidden-description")
    assert arena.client.get("/openapi.json").status_code == 403
    assert arena.client.get("/whoami").status_code == 200
    arena.no_faults()
    assert arena.client.get("/openapi.json").status_code == 200


def test_the_table_explains_every_fault(arena):
    known = arena.stranger.get("/_arena/faults").json()["known"]

    assert {each["name"] for each in known} == {
        "late-category",
        "denied-seat",
        "reset-bodies",
        "cut-bodies",
        "overlong-bodies",
        "html-bodies",
        "slow-bodies",
        "no-ranges",
        "expired-urls",
        "url-lifetime",
        "changed-artifacts",
        "wrong-sizes",
        "other-host",
        "hostile-files",
        "slashed-ids",
        "huge-artifacts",
        "long-logs",
        "uncollected-logs",
        "replay-bomb",
        "hostile-uploads",
        "wedged-seat",
        "reset-after-post",
        "shuffled-seats",
        "slow-queue",
        "closed-queue",
        "reject-body",
        "silent-get",
        "moving-scores",
        "html",
        "hidden-description",
        "not-visible",
        "fail-episodes",
        "fail-games",
        "fail-players",
        "silent-adviser",
        "rolled-version",
        "hostile-names",
        "ignored-seed",
        "untold-images",
        "withdrawn",
        "replaced-version",
        "game-version",
        "scoring",
        "overloaded",
        "server-errors",
        "rate-limited",
        "throttled",
        "late-artifacts",
        "retried-episodes",
        "lost-cursors",
        "ignored-key",
        "refused-duplicates",
        "hidden-notes",
    }
    assert all(each["help"] for each in known)


def test_images_can_be_told_to_nobody(arena):
    (mine,) = arena.get("/stats/policy-versions", mine="true", name_exact="keeper", version=2)["entries"]
    told = arena.get(f"/stats/policy-versions/{mine['id']}")
    image = f"/v2/container_images/{told['container_image_id']}"
    assert arena.get(image)["image_digest"].startswith("sha256:")

    arena.fault("untold-images")

    assert arena.get(f"/stats/policy-versions/{mine['id']}") == {**told, "container_image_id": None}
    assert arena.client.get(image).status_code == 404


@pytest.mark.parametrize("body", [{"spec": "nonsense"}, {"spec": ""}, {}, {"spec": "slow-queue=x"}, {"s": 1}])
def test_a_wrong_spec_is_a_422(arena, body):
    answer = arena.stranger.post("/_arena/faults", json=body)

    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], list)


def test_faults_are_listed_and_switched_off(arena):
    arena.fault("slow-queue=3")
    arena.fault("wedged-seat=1")
    arena.fault("wedged-seat=2:rival:v3")

    active = arena.stranger.get("/_arena/faults").json()["active"]

    assert active == [
        {"name": "slow-queue", "value": 3},
        {"name": "wedged-seat", "value": [1, None]},
        {"name": "wedged-seat", "value": [2, "rival:v3"]},
    ]
    left = arena.stranger.delete("/_arena/faults", params={"name": "wedged-seat"}).json()["active"]
    assert left == [{"name": "slow-queue", "value": 3}]
    assert arena.stranger.delete("/_arena/faults").json()["active"] == []
    assert arena.stranger.delete("/_arena/faults", params={"name": "x"}).status_code == 404


def _state(arena, made):
    return arena.detail(made["id"]) or {}


def test_a_wedged_seat_keeps_episodes_running(arena, wait_until):
    arena.fault("wedged-seat=3")
    made = arena.create(arena.body(num_episodes=3))
    arena.no_faults()

    wait_until(lambda: _state(arena, made).get("running_count") == 3)
    assert arena.play(arena.body())["status"] == "completed", "others go on"
    after = _state(arena, made)
    assert (after["status"], after["completed_count"]) == ("running", 0)
    assert arena.client.post(f"/v2/experience-requests/{made['id']}/cancel").json()["status"] == "cancelled"


def test_a_wedged_policy_wedges_where_it_sits(arena, wait_until):
    arena.fault("wedged-seat=1:rival:v3")
    with_it = arena.create(arena.body())
    without = arena.create(arena.body(["rival:v3", "keeper:v1", *arena.field(6)]))

    assert arena.finished(without["id"])["status"] == "completed"
    assert wait_until(lambda: _state(arena, with_it).get("running_count") == 2)


def test_a_reset_comes_after_the_request_was_stored(arena, wait_until):
    before = arena.counters()
    arena.fault("reset-after-post=1")
    body = arena.body(notes="lost answer")

    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        arena.client.post("/v2/experience-requests", json=body)

    counters = arena.counters()
    assert counters["experience_request_posts"] == before["experience_request_posts"] + 1
    row = wait_until(
        lambda: next(
            (r for r in arena.get("/v2/experience-requests")["entries"] if r["notes"] == "lost answer"), None
        )
    )
    assert arena.finished(row["id"])["status"] == "completed"
    assert arena.create(body)["id"] != row["id"], "the fault has struck once; the next creation is answered"


def test_a_refused_creation_is_not_reset(arena):
    arena.fault("reset-after-post=1")

    assert arena.client.post("/v2/experience-requests", json={}).status_code == 422


def test_a_lost_answer_is_found_again_by_its_key(arena):
    arena.fault("reset-after-post=2")
    body = arena.body(idempotency_key="evh-lost-1")
    before = arena.counters()["experience_requests_created"]

    for _ in range(2):
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            arena.client.post("/v2/experience-requests", json=body)
    arena.create(body)

    assert arena.counters()["experience_requests_created"] == before + 1


def test_shuffled_seats_are_where_participants_say(arena):
    arena.fault("shuffled-seats")
    body = arena.body()

    done = arena.play(body)

    asked = [entry["player"]["policy_ref"] for entry in body["roster"]]
    for episode in done["episodes"]:
        labels = [f"{each['policy_name']}:v{each['version']}" for each in episode["participants"]]
        assert sorted(labels) == sorted(asked)
        assert all(got != wanted for got, wanted in zip(labels, asked, strict=True))


def test_a_closed_queue_keeps_requests_pending_until_it_opens(arena, wait_until):
    before = arena.create(arena.body())
    arena.finished(before["id"])
    arena.fault("closed-queue")
    made, cancelled = arena.create(arena.body(num_episodes=3)), arena.create(arena.body(num_episodes=4))

    assert wait_until(lambda: arena.detail(made["id"]))["status"] == "pending"
    time.sleep(0.2)
    assert arena.detail(made["id"])["pending_count"] == 3
    assert arena.client.post(f"/v2/experience-requests/{cancelled['id']}/cancel").status_code == 200
    arena.no_faults()
    assert arena.finished(made["id"])["completed_count"] == 3
    assert arena.detail(cancelled["id"])["status"] == "cancelled"


def test_a_slow_queue_keeps_a_request_pending(arena, wait_until):
    arena.fault("slow-queue=3600")
    kept = arena.create(arena.body())
    arena.fault("slow-queue=0.8")
    done = arena.play(arena.body())

    began, ended = (datetime.fromisoformat(done[key]) for key in ("created_at", "started_at"))
    assert (ended - began).total_seconds() > 0.75
    seen = wait_until(lambda: arena.detail(kept["id"]))
    assert (seen["status"], seen["pending_count"]) == ("pending", 2)


@pytest.mark.parametrize("status", [422, 400])
def test_a_body_is_rejected_on_demand(arena, status):
    arena.fault(f"reject-body={status}")
    before = arena.counters()["experience_request_posts"]

    answer = arena.client.post("/v2/experience-requests", json=arena.body())

    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], list if status == 422 else str)
    assert arena.counters()["experience_request_posts"] == before


def test_a_silent_get_is_never_answered(arena, wait_until):
    arena.fault("silent-get=1")

    with pytest.raises(httpx.ReadTimeout):
        arena.client.get("/whoami", timeout=httpx.Timeout(60, read=0.3))

    wait_until(lambda: not arena.stranger.get("/_arena/faults").json()["active"])
    assert arena.client.get("/whoami").status_code == 200


def test_a_ranking_that_moves_while_it_is_read(arena):
    page = arena.get("/v2/rounds", league_id=arena.body()["target"]["league_id"], status="completed")
    path = f"/v2/rounds/{page['entries'][0]['id']}"

    def ranking():
        return [row["player"]["id"] for row in arena.get(path)["results"]]

    still = ranking()
    assert ranking() == still
    arena.fault("moving-scores=2")
    first, second = ranking(), ranking()
    assert first == still[2:] + still[:2]
    assert second == still[1:] + still[:1]
    assert ranking() == still


def test_html_instead_of_json(arena):
    arena.fault("html")
    for answer in (arena.client.get("/whoami"), arena.client.post("/v2/experience-requests", json={})):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/html")
    arena.no_faults()
    arena.fault("html=1")

    assert arena.client.get("/whoami").text.startswith("<!doctype html>")
    assert arena.client.get("/whoami").json()["name"]


def test_the_moment_of_invisibility_can_be_chosen(arena):
    arena.fault("not-visible=0")
    made = arena.create(arena.body())
    assert arena.detail(made["id"]) is not None
    arena.fault("not-visible=3600")
    made = arena.create(arena.body())
    time.sleep(0.25)
    assert arena.detail(made["id"]) is None


def test_episodes_fail_on_demand(arena):
    arena.fault("fail-episodes=2")

    done = arena.play(arena.body(num_episodes=3))

    assert done["status"] == "completed"
    assert (done["failed_count"], done["completed_count"]) == (2, 1)
    failed = done["episodes"][0]
    assert (failed["status"], failed["error_type"]) == ("failed", "platform_error")
    assert failed["scores"] == []
    path = f"/v2/episode-requests/{failed['id']}/artifacts"
    assert arena.get(path + "/error-info")["error_type"] == "platform_error"
    assert arena.client.get(path + "/results").status_code == 404
    assert arena.client.get(path + "/logs").status_code == 404


def test_a_request_all_of_whose_episodes_fail_has_failed(arena):
    arena.fault("fail-episodes=5")

    done = arena.play(arena.body())

    assert (done["status"], done["failed_count"]) == ("failed", 2)
    assert done["error"]


def test_faults_can_be_there_from_the_start(start):
    arena = start("--fault", "not-visible=0", "--fault", "fail-episodes=1")

    done = arena.play(arena.body())

    assert done["failed_count"] == 1


def test_games_of_one_policy_fail_each_once_over_all_requests(arena):
    arena.fault("fail-games=3:keeper:v1:player_error")
    arena.fault("fail-games=1:keeper:v1")

    first, second = arena.play(arena.body()), arena.play(arena.body(num_episodes=3))
    other = arena.play(arena.body(["keeper:v2", "rival:v3", *arena.field(6)]))

    told = [
        (each["error_type"], each["failed_policy_index"])
        for each in [*first["episodes"], *second["episodes"]]
    ]
    assert told == [("player_error", 0)] * 3 + [("platform_error", None), (None, None)]
    blamed = first["episodes"][0]
    assert arena.get(f"/v2/episode-requests/{blamed['id']}/artifacts/error-info")["failed_policy_index"] == 0
    assert other["failed_count"] == 0
    assert arena.stranger.get("/_arena/faults").json()["active"] == []


@pytest.mark.parametrize(
    "spec", ["fail-games=0:a:v1", "fail-games=1:a", "fail-games=a:v1", "fail-games=1:a:v1:X"]
)
def test_games_to_fail_need_a_number_and_a_policy(arena, spec):
    assert arena.stranger.post("/_arena/faults", json={"spec": spec}).status_code == 422


def test_a_seed_that_was_asked_for_can_be_ignored(arena):
    fixed = arena.body(num_episodes=2, game_config_overrides={"seed": 7})
    assert [each["seed"] for each in arena.play(fixed)["episodes"]] == [7, 7]

    arena.fault("ignored-seed")
    ignored = arena.play(fixed)["episodes"]

    assert 7 not in [each["seed"] for each in ignored]
    assert ignored[0]["seed"] != ignored[1]["seed"]


def test_an_overloaded_server_does_nothing(arena):
    before = arena.counters()["experience_request_posts"]
    arena.fault("overloaded=2")

    assert arena.client.post("/v2/experience-requests", json=arena.body()).status_code == 503
    assert arena.client.get("/whoami").status_code == 503

    assert arena.client.get("/whoami").status_code == 200
    assert arena.counters()["experience_request_posts"] == before


def _names_keys(arena):
    return "idempotency_key" in arena.client.get("/openapi.json").text


def test_a_server_that_ignores_keys_makes_a_second_request_and_does_not_name_them(arena):
    body = arena.body(idempotency_key="evh-ignored-1")
    arena.fault("ignored-key")
    assert arena.create(body)["id"] != arena.create(body)["id"]
    assert not _names_keys(arena)

    arena.no_faults()
    assert arena.create(body)["id"] == arena.create(body)["id"]
    assert _names_keys(arena)


def test_a_duplicate_can_be_refused(arena):
    arena.fault("refused-duplicates")
    body = arena.body(idempotency_key="evh-refused-1")
    made = arena.create(body)
    before = arena.counters()["experience_requests_created"]

    assert arena.client.post("/v2/experience-requests", json=body).status_code == 409

    assert arena.counters()["experience_requests_created"] == before
    arena.no_faults()
    assert arena.create(body)["id"] == made["id"]


def test_notes_can_be_hidden(arena):
    arena.fault("not-visible=0")
    arena.fault("hidden-notes")
    made = arena.create(arena.body(notes="who reads this?"))

    told = [
        made,
        arena.get("/v2/experience-requests")["entries"][0],
        arena.get(f"/v2/experience-requests/{made['id']}"),
    ]

    assert [each["id"] for each in told] == [made["id"]] * 3
    assert "who reads this?" not in str(told)
    arena.no_faults()
    assert arena.detail(made["id"])["notes"] == "who reads this?"


def test_a_withdrawn_version_is_live_nowhere_and_nobody_can_seat_it(arena):
    live = arena.get("/v2/league-policy-memberships", active_only=True, limit=1000)
    arena.fault("withdrawn=gantry:v4")
    arena.fault("withdrawn=keeper:v2")

    left = arena.get("/v2/league-policy-memberships", active_only=True, limit=1000)
    gone = [row["policy_version"] for row in live if row not in left]
    assert {(one["policy"]["name"], one["version"]) for one in gone} == {("gantry", 4), ("keeper", 2)}
    everyone = arena.get("/v2/league-policy-memberships", limit=1000)
    assert {row["status"] for row in everyone if row["id"] not in {one["id"] for one in left}} >= {"retired"}
    mine = arena.get("/stats/policy-versions", mine=True, name_exact="keeper")["entries"]
    assert sorted(row["version"] for row in mine) == [1, 3, 4]
    for label in ("gantry:v4", "keeper:v2"):
        answer = arena.client.post("/v2/experience-requests", json=arena.body([label, *arena.field(7)]))
        assert answer.status_code == 400
        assert label in answer.json()["detail"]
    arena.no_faults()
    assert arena.get("/v2/league-policy-memberships", active_only=True, limit=1000) == live


def test_a_league_that_moved_on_plays_the_new_version_of_its_game(arena):
    before = arena.play(arena.body())
    arena.fault("game-version=0.7.0")
    league = arena.get("/v2/leagues")[0]

    after = arena.play(arena.body())
    assert after["coworld_version"] == "0.7.0"
    assert after["coworld_id"] == league["game"]["coworld_id"] != before["coworld_id"]
    assert arena.get(f"/v2/coworlds/{after['coworld_id']}")["version"] == "0.7.0"
    assert arena.detail(before["id"])["coworld_version"] == before["coworld_version"] != "0.7.0"


def test_another_way_of_scoring_begins_with_the_latest_round(arena):
    def scores(episodes):
        return [
            score
            for row in episodes
            for score in arena.get(f"/v2/episode-requests/{row['id']}/artifacts/results")["scores"]
        ]

    def rounds():
        played = arena.get("/v2/rounds", status="completed")["entries"]
        same = [row for row in played if row["division"]["id"] == played[0]["division"]["id"]]
        return [arena.get(f"/v2/rounds/{row['id']}/episode-requests")["entries"] for row in same[:2]]

    latest, earlier = rounds()
    assert set(scores(latest[:5])) <= {0, 1, 3}
    arena.fault("scoring=reward")
    assert max(scores(latest[:5])) > 3
    assert set(scores(earlier[:5])) <= {0, 1, 3}
    assert max(scores(arena.play(arena.body())["episodes"])) > 3


def test_hostile_names_are_the_same_in_every_answer_and_leave_ours_alone(arena):
    league = arena.get("/v2/leagues")[0]
    before = arena.get("/v2/league-policy-memberships", league_id=league["id"], limit=1000)

    arena.fault("hostile-names")

    after = arena.get("/v2/league-policy-memberships", league_id=league["id"], limit=1000)
    told = {row["player"]["id"]: row["player"]["name"] for row in after}
    for old, new in zip(before, after, strict=True):
        mine = old["player"]["name"] == "keeper"
        assert (new["player"]["name"] == old["player"]["name"]) is mine
        assert new["player"]["name"].endswith(old["player"]["name"])
        assert (new["policy_version"]["policy"]["name"] == old["policy_version"]["policy"]["name"]) is mine
        assert new["policy_version"]["id"] == old["policy_version"]["id"]
        assert told[new["player"]["id"]] == new["player"]["name"]
    text = "".join(told.values())
    for attack in (
        "\x1b[31m",
        "\u202e",
        "::error::",
        "\n::set-output",
        "<script>",
        "a|b",
        "\ud800",
        "long " * 1000,
    ):
        assert attack in text
    refused = arena.client.post("/v2/experience-requests", json={})
    assert refused.status_code == 422
    assert all(entry["msg"].endswith("Field required") for entry in refused.json()["detail"])
    assert any(entry["msg"] != "Field required" for entry in refused.json()["detail"])


def test_a_version_that_is_replaced_when_it_is_to_be_seated(arena):
    live = arena.get("/v2/league-policy-memberships", active_only=True, limit=1000)
    arena.fault("replaced-version=gantry:v4")
    assert arena.get("/v2/league-policy-memberships", active_only=True, limit=1000) == live

    others = [label for label in arena.field(8) if label != "gantry:v4"][:6]
    arena.create(arena.body(["keeper:v1", "rival:v3", *others]))
    assert arena.get("/v2/league-policy-memberships", active_only=True, limit=1000) == live
    refused = arena.client.post(
        "/v2/experience-requests", json=arena.body(["keeper:v1", "gantry:v4", *others])
    )
    assert refused.status_code == 400
    assert "gantry:v4" in refused.json()["detail"]

    now = arena.get("/v2/league-policy-memberships", active_only=True, limit=1000)
    assert len(now) == len(live)
    [came] = [row for row in now if row["id"] not in {one["id"] for one in live}]
    [left] = [row for row in live if row["id"] not in {one["id"] for one in now}]
    assert (left["policy_version"]["version"], came["policy_version"]["version"]) == (4, 5)
    assert came["player"] == left["player"]
    detail = arena.get(f"/stats/policy-versions/{came['policy_version']['id']}")
    assert (detail["name"], detail["version"]) == ("gantry", 5)
    arena.create(arena.body(["keeper:v1", "gantry:v5", *others]))
    arena.no_faults()
    assert arena.get("/v2/league-policy-memberships", active_only=True, limit=1000) == live


def test_a_broken_server_has_done_what_it_was_asked(arena):
    before = arena.counters()["experience_requests_created"]
    arena.fault("server-errors=2:502")

    assert arena.client.post("/v2/experience-requests", json=arena.body()).status_code == 502
    assert arena.client.get("/whoami").status_code == 502

    assert arena.client.get("/whoami").status_code == 200
    assert arena.counters()["experience_requests_created"] == before + 1


def test_of_two_kinds_of_429_one_says_that_nothing_was_done(arena):
    before = arena.counters()["experience_requests_created"]
    arena.fault("rate-limited")
    refused = arena.client.post("/v2/experience-requests", json=arena.body())
    assert (refused.status_code, refused.headers["x-ratelimit-outcome"]) == (429, "rejected")
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["detail"]["type"] == "api_rate_limit_exceeded"
    assert arena.counters()["experience_requests_created"] == before

    arena.fault("throttled")
    silent = arena.client.post("/v2/experience-requests", json=arena.body())
    assert silent.status_code == 429
    assert not {"x-ratelimit-outcome", "retry-after"} & set(silent.headers)
    assert arena.counters()["experience_requests_created"] == before + 1


def test_what_a_game_leaves_can_come_late(arena):
    arena.fault("late-artifacts=3600")
    made = arena.play(arena.body())
    episode = made["episodes"][0]["id"]
    artifact = f"/v2/episode-requests/{episode}/artifacts/results"

    def bulk():
        return {one["evidence_state"] for one in arena.get("/v2/episode-requests", ids=made["id"])["entries"]}

    assert made["status"] == "completed"
    assert arena.client.get(artifact).status_code == 404
    assert arena.client.get(f"/v2/episode-requests/{episode}/artifacts/logs").status_code == 404
    assert bulk() == {"pending"}
    manifest = "/v2/episode-requests/download-manifest"
    assert {one["state"] for one in arena.get(manifest, ids=made["id"], include="results")["entries"]} == {
        "pending"
    }

    arena.no_faults()

    assert len(arena.get(artifact)["scores"]) == 8
    assert bulk() == {"sealed"}


def test_an_episode_that_fails_is_played_again_while_its_request_lives(arena):
    feed = "/v2/episode-requests/changes"
    arena.fault("retried-episodes=1")
    arena.fault("not-visible=0")

    # It can be read as failed for half a second: the feed tells of it whoever has asked before it began to play.
    for pending in (0.5, 2, 8, 32):
        arena.fault(f"slow-queue={pending}")
        made = arena.create(arena.body(num_episodes=1))
        cursor = arena.get(feed, ids=made["id"])["next_cursor"]
        news = arena.get(feed, ids=made["id"], cursor=cursor, wait_seconds=30, view="progress")
        [failed] = [each["episode"] for each in news["entries"]] or [{"status": "pending"}]
        if failed["status"] == "failed":
            break

    assert (failed["status"], failed["error_type"]) == ("failed", "player_never_started")
    assert news["batches"][0]["status"] == "running"

    ended = arena.finished(made["id"])
    assert (ended["status"], ended["completed_count"], ended["failed_count"]) == ("completed", 1, 0)
    assert ended["episodes"][0]["error_type"] is None


def test_a_place_in_the_feed_can_expire(arena):
    made = arena.play(arena.body())
    feed = "/v2/episode-requests/changes"
    arena.fault("lost-cursors")

    first = arena.get(feed, ids=made["id"])
    assert len(first["entries"]) == 2
    lost = arena.client.get(feed, params={"ids": made["id"], "cursor": first["next_cursor"]})
    assert lost.status_code == 410
    assert arena.get(feed, ids=made["id"], cursor=first["next_cursor"])["entries"] == []
