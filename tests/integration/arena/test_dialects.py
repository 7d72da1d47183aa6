"""The league as it spoke in the middle of June 2026, beside today's."""

import shutil

import pytest

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
LATER = "any_seat_voted_or_no_meeting", "mean_kills_per_imposter_seat", "mean_tasks_per_seat"


@pytest.fixture(scope="module")
def june(founded, tmp_path_factory, launched):
    """A league that speaks as it did then."""
    home = shutil.copytree(founded, tmp_path_factory.mktemp("june") / "home")
    return launched(home, "--dialect", "2026-06")


@pytest.fixture(scope="module")
def games(june):
    """A request of that time, played."""
    return june.play(june.body(num_episodes=4, game_config_overrides={"maxTicks": 3000}))


def paths(arena):
    return arena.get("/openapi.json")["paths"]


def test_its_description_has_the_routes_of_its_time(june, arena):
    then, now = paths(june), paths(arena)
    gone = {
        "/v2/experience-requests/{request_id}/cancel", "/v2/episode-requests/changes",
        "/v2/episode-requests/download-manifest", "/usage/me/credits", "/v2/rounds/{round_id}/episode-requests",
        "/v2/policy-versions/{version_id}/episode-requests", "/v2/episode-requests/{episode_id}/bundle",
    }  # fmt: skip
    assert gone <= set(now)
    assert not gone & set(then)
    assert "/jobs/{job_id}/artifacts/{artifact_type}" in then
    assert not any(path.startswith(("/jobs", "/v2/pools", "/episodes")) for path in now)
    bulk = [
        {each["name"] for each in told["/v2/episode-requests"]["get"]["parameters"]} for told in (then, now)
    ]
    assert {"pool_id", "round_id", "offset"} <= bulk[0]
    assert not bulk[0] & {"ids", "view", "cursor"}, "it read no episodes by their ids then"
    assert {"ids", "view", "cursor"} <= bulk[1]
    schema = june.get("/openapi.json")
    [scheme] = schema["components"]["securitySchemes"].values()
    assert scheme["name"] == "X-Auth-Token"
    assert schema["security"] == [{"token": []}]


def test_both_describe_the_participants_that_they_send(june, arena, games):
    for league, told in ((june, False), (arena, True)):
        seat = league.get("/openapi.json")["components"]["schemas"]["ParticipantShape"]
        assert ("kind" in seat["properties"]) is told
        assert ("kind" in seat["required"]) is told
    assert all("kind" not in seat for row in games["episodes"] for seat in row["participants"])
    row = june.get(f"/v2/episode-requests/{games['episodes'][0]['id']}")
    assert row == games["episodes"][0]
    assert june.get(f"/v2/experience-requests/{games['id']}/episodes") == games["episodes"]


def test_nothing_can_be_cancelled(june, games):
    answer = june.client.post(f"/v2/experience-requests/{games['id']}/cancel")
    assert answer.status_code == 404
    assert answer.json() == {"detail": "Not Found"}


@pytest.mark.parametrize("header", ["X-Auth-Token", "Authorization"])
def test_both_headers_are_taken(june, header):
    token = (june.home / "token").read_text()
    value = token if header == "X-Auth-Token" else f"Bearer {token}"
    assert june.stranger.get(june.base + "/whoami", headers={header: value}).status_code == 200
    assert june.stranger.get(june.base + "/whoami", headers={header: value + "x"}).status_code == 401


@pytest.mark.parametrize(
    "field",
    [{"assignments": []}, {"opponents": []}, {"player_selection": "x"}, {"policy_version_ids": []}, {"requester": "x"},
     {"requester_slot": 0}, {"rotate_seats": True}, {"top_n": 7}],
    ids=lambda field: next(iter(field)),
)  # fmt: skip
@pytest.mark.failure_mode(number=7)
def test_the_body_of_before_the_rework_is_refused(june, arena, field):
    for league in (june, arena):
        before = league.counters()
        answer = league.client.post("/v2/experience-requests", json={**league.body(), **field})
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"] == ["body", next(iter(field))]
        assert league.counters()["experience_requests_created"] == before["experience_requests_created"]


# ----------------------------------------------------------------------------- lists


def test_envelopes_are_cut_by_offsets(june):
    whole = june.get("/v2/rounds", limit=200)
    assert set(whole) == {"entries", "total_count", "limit", "offset"}
    assert whole["total_count"] == len(whole["entries"]) > 4
    part = june.get("/v2/rounds", limit=2, offset=3)
    assert part["entries"] == whole["entries"][3:5]
    assert (part["total_count"], part["limit"], part["offset"]) == (whole["total_count"], 2, 3)
    beyond = june.get("/v2/rounds", limit=2, offset=1000)
    assert (beyond["entries"], beyond["total_count"]) == ([], whole["total_count"])
    assert june.client.get("/v2/rounds", params={"offset": -1}).status_code == 422


def test_requests_and_their_episodes_are_such_lists(june, games):
    found = june.get("/v2/experience-requests", limit=1)
    assert set(found) == {"entries", "total_count", "limit", "offset"}
    rows = june.get(f"/v2/experience-requests/{games['id']}/episode-requests", limit=3, offset=2)
    assert [row["id"] for row in rows["entries"]] == [row["id"] for row in games["episodes"][2:]]
    assert rows["total_count"] == 4


@pytest.mark.parametrize("path", ["/v2/league-policy-memberships", "/stats/policy-versions"])
def test_bare_lists_end_at_a_limit_that_nothing_tells(june, path):
    cut = june.client.get(path)
    assert len(cut.json()) == 50
    assert "x-next-cursor" not in cut.headers
    whole = june.get(path, limit=1000)
    assert len(whole) > 50
    assert whole[:50] == cut.json()


# -------------------------------------------------------------------- scores and artifacts


def test_scores_are_reward_points(june, games):
    """Win +100, kill +10, task +1, a vote that ran out of time -10."""
    assert games["status"] == "completed"
    for row in games["episodes"]:
        told = june.get(f"/jobs/{row['job_id']}/artifacts/results")
        points = [
            100 * won + 10 * kills + tasks - 10 * late
            for won, kills, tasks, late in zip(
                told["win"], told["kills"], told["tasks"], told["vote_timeout"], strict=True
            )
        ]
        assert told["scores"] == points
        assert not set(points) <= {0, 1, 3}
        assert not set(LATER) & set(told)
        by_version = {score["policy_version_id"]: score["score"] for score in row["scores"]}
        assert by_version == {
            seat["policy_version_id"]: points[seat["position"]] for seat in row["participants"]
        }


def test_no_side_wins_at_the_time_limit(june, arena):
    body = {"num_episodes": 2, "game_config_overrides": {"maxTicks": 150}}
    for league, kind, crew in ((june, "jobs", False), (arena, "episodes", True)):
        for row in league.play(league.body(**body))["episodes"]:
            path = {
                "jobs": f"/jobs/{row['job_id']}/artifacts/results",
                "episodes": f"/v2/episode-requests/{row['id']}/artifacts/results",
            }[kind]
            told = league.get(path)
            assert told["win"] == [crew and not imposter for imposter in told["imposter"]]


def test_the_route_of_episodes_knows_hardly_any_artifact(june, games):
    episode = games["episodes"][0]["id"]
    for kind in ("results", "error-info", "replay", "nonsense"):
        answer = june.client.get(f"/v2/episode-requests/{episode}/artifacts/{kind}")
        assert (answer.status_code, answer.json()) == (400, {"detail": "Unknown artifact type"})
    assert june.get(f"/v2/episode-requests/{episode}/artifacts/game-config")["maxTicks"] == 3000


def test_jobs_have_the_logs_of_all_seats(june, games):
    job = f"/jobs/{games['episodes'][0]['job_id']}"
    assert june.get(f"{job}/policy-logs") == [f"policy_agent_{seat}.log" for seat in range(8)]
    logs = [june.client.get(f"{job}/policy-logs/{seat}").text for seat in range(8)]
    assert len({*logs}) == 8
    assert all(len(text) > 100 for text in logs)
    assert june.client.get(f"{job}/policy-logs/8").status_code == 404
    assert '"key": "phase"' in june.client.get(f"{job}/artifacts/logs").text
    assert june.get(f"{job}/policy-artifact") == ["policy_artifact_0.zip"], "those of one's own policies only"
    assert june.client.get(f"{job}/policy-artifact/0").content.startswith(b"PK")
    assert june.client.get(f"{job}/policy-artifact/1").status_code == 404
    assert june.get(f"{job}/episode-stats")["policy_stats"][0]["position"] == 0


def test_what_a_job_does_not_have(june, games):
    job = f"/jobs/{games['episodes'][0]['job_id']}"
    assert june.client.get(f"{job}/artifacts/error_info").status_code == 404
    assert june.client.get(f"{job}/artifacts/error-info").status_code == 400
    for wrong in ("/jobs/00000000-0000-4000-8000-000000000000", "/jobs/" + games["episodes"][0]["id"]):
        assert june.client.get(f"{wrong}/artifacts/results").status_code in {404, 422}


def test_why_a_game_failed_is_told_of_its_job(june):
    june.fault("fail-games=1:keeper:v1:player_error")
    [failed] = [row for row in june.play(june.body())["episodes"] if row["status"] == "failed"]
    told = june.get(f"/jobs/{failed['job_id']}/artifacts/error_info")
    assert (told["error_type"], told["failed_policy_index"]) == ("player_error", 0)
    assert june.client.get(f"/jobs/{failed['job_id']}/artifacts/results").status_code == 404
    assert june.get(f"/jobs/{failed['job_id']}/policy-logs") == []


def test_rounds_were_played_for_points_too(june, arena):
    def best(league):
        rounds = league.get("/v2/rounds", limit=200, league_id=DAILY, status="completed")["entries"]
        return max(row["score"] for row in league.get(f"/v2/rounds/{rounds[0]['id']}")["results"])

    assert best(arena) <= 3 < best(june)


def test_a_leaderboard_is_an_object_or_null(june):
    boards = [
        june.get(f"/v2/divisions/{division['id']}/leaderboard") for division in june.get("/v2/divisions")
    ]
    [board] = [one for one in boards if one is not None]
    assert None in boards
    assert set(board) == {"entries"}
    assert {"rank", "player", "mean_round_score", "rounds_played"} <= set(board["entries"][0])
    assert set(board["entries"][0]["player"]) == {"id", "name"}
    means = [row["mean_round_score"] for row in board["entries"]]
    assert means == sorted(means, reverse=True)


# ----------------------------------------------------------------------- the same home


@pytest.mark.slow
def test_a_home_may_change_its_dialect(start, tmp_path):
    """What was played keeps its scores; what is still to play is scored as the server does now."""
    before = start()
    played = before.play(before.body(num_episodes=1))["episodes"][0]
    told = before.get(f"/v2/episode-requests/{played['id']}/artifacts/results")
    assert set(told["scores"]) <= {0, 1, 3}
    before.stop()
    after = start("--dialect", "2026-06", home=tmp_path / "home")
    kept = after.get(f"/jobs/{played['job_id']}/artifacts/results")
    assert kept == {key: value for key, value in told.items() if key not in LATER}
    fresh = after.play(after.body(num_episodes=1))["episodes"][0]
    points = after.get(f"/jobs/{fresh['job_id']}/artifacts/results")["scores"]
    assert max(points) >= 100
    rounds = after.get("/v2/rounds", league_id=DAILY, status="completed")["entries"]
    assert max(row["score"] for row in after.get(f"/v2/rounds/{rounds[0]['id']}")["results"]) > 3
