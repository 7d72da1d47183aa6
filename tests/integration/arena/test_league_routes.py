"""The league as it can be read: memberships, rounds, divisions, and a name that wants to be printed."""

import pytest

from pytest_evalharness.arena.game.cast import CAST, Tier

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
PRIME = "league_a12f5172-0907-4d04-8bcb-ca02f5360e3a"


def _members(arena, **params):
    rows, cursor = [], None
    while True:
        answer = arena.client.get(
            "/v2/league-policy-memberships", params={**params, **({"cursor": cursor} if cursor else {})}
        )
        rows += answer.json()
        cursor = answer.headers.get("X-Next-Cursor")
        if cursor is None:
            return rows


def _competition(arena):
    divisions = arena.get("/v2/divisions", league_id=DAILY)
    open_ones = [
        each
        for each in divisions
        if each["type"] == "competition" and not each["hidden"] and each["archived_at"] is None
    ]
    return sorted(open_ones, key=lambda each: (each["level"], each["id"]))


def test_the_leagues_of_the_page_are_there_among_others(arena):
    leagues = arena.get("/v2/leagues")

    assert {DAILY, PRIME} < {each["id"] for each in leagues}
    assert arena.get(f"/v2/leagues/{DAILY}") == next(each for each in leagues if each["id"] == DAILY)
    assert all("forum_markdown_url" in each and "wiki_markdown_url" in each for each in leagues)


def test_there_are_traps_among_the_divisions(arena):
    first, empty = _competition(arena)

    assert first["name"] == "Competition"
    assert _members(arena, division_id=empty["id"]) == []
    assert arena.get(f"/v2/divisions/{empty['id']}/leaderboard") is None
    assert arena.get(f"/v2/divisions/{first['id']}/leaderboard") is None
    assert arena.get(f"/v2/divisions/{first['id']}") == first
    ladder = arena.get(f"/v2/leagues/{DAILY}/division-ladder")
    assert {row["name"]: row["member_count"] > 0 for row in ladder} == {
        "Qualifiers": True,
        "Competition": True,
        "Champions Cup": False,
    }


def test_some_league_has_a_leaderboard(arena):
    [division] = arena.get("/v2/divisions", league_id=PRIME)

    board = arena.get(f"/v2/divisions/{division['id']}/leaderboard")

    assert [row["rank"] for row in board] == list(range(1, len(board) + 1))
    assert [row["score"] for row in board] == sorted((row["score"] for row in board), reverse=True)


def test_many_players_have_several_live_versions_and_retired_ones(arena):
    division = _competition(arena)[0]
    rows = _members(arena, league_id=DAILY, division_id=division["id"])
    active = _members(arena, league_id=DAILY, division_id=division["id"], active_only="true")
    champions = _members(arena, division_id=division["id"], champions_only="true", active_only="true")

    live: dict[str, int] = {}
    for row in active:
        assert row["status"] == "competing"
        assert row["end_time"] is None
        live[row["player"]["id"]] = live.get(row["player"]["id"], 0) + 1
    assert sum(count > 1 for count in live.values()) >= 20
    assert {row["status"] for row in rows} == {"competing", "retired"}
    assert all(row["end_time"] for row in rows if row["status"] == "retired")
    assert {row["substatus"] for row in active} == {"champion", "experiment"}
    assert len(champions) == len(live)
    assert len({row["player"]["id"] for row in champions}) == len(champions)
    labels = {
        f"{row['policy_version']['policy']['name']}:v{row['policy_version']['version']}" for row in active
    }
    assert {"rival:v3", "keeper:v1"} <= labels


def test_memberships_are_paged_by_header(arena):
    answer = arena.client.get("/v2/league-policy-memberships", params={"limit": 7})

    assert len(answer.json()) == 7
    assert answer.headers["X-Next-Cursor"]
    ids = [row["id"] for row in _members(arena, limit=7)]
    assert len(ids) == len(set(ids)) > 60
    player = answer.json()[-1]["player"]["id"]
    assert {row["player"]["id"] for row in _members(arena, player_id=player)} == {player}
    mine = _members(arena, mine="true", active_only="true")
    assert {row["player"]["name"] for row in mine if row["league"]["id"] in {DAILY, PRIME}} == {"keeper"}
    assert {row["player"]["name"] for row in mine} == {"keeper", "painter", "warden"}


def test_rounds_have_scores_from_games_that_can_be_read(arena):
    page = arena.get("/v2/rounds", league_id=DAILY, status="completed", limit=2)
    round_ = arena.get(f"/v2/rounds/{page['entries'][0]['id']}")

    assert page["next_cursor"]
    assert {each["status"] for each in arena.get("/v2/rounds", league_id=DAILY)["entries"]} == {
        "completed",
        "failed",
        "running",
    }
    assert [each["rank"] for each in round_["results"]] == list(range(1, len(round_["results"]) + 1))
    totals: dict[str, list[float]] = {}
    cursor = None
    while True:
        params = {"limit": 100, **({"cursor": cursor} if cursor else {})}
        games = arena.get(f"/v2/rounds/{round_['id']}/episode-requests", **params)
        for row in games["entries"]:
            episode = arena.get(f"/v2/episode-requests/{row['id']}")
            assert episode["round_id"] == round_["id"]
            for each in episode["scores"]:
                totals.setdefault(each["policy_version_id"], []).append(each["score"])
        cursor = games["next_cursor"]
        if cursor is None:
            break
    for each in round_["results"]:
        scores = totals[each["policy_version"]["id"]]
        assert each["score"] == pytest.approx(sum(scores) / len(scores))
        assert each["result_metadata"]["episodes"] == len(scores)


def test_early_rounds_name_versions_that_can_no_longer_be_seated(arena):
    rounds = arena.get("/v2/rounds", league_id=DAILY, status="completed", limit=200)["entries"]
    first = arena.get(f"/v2/rounds/{min(rounds, key=lambda each: each['round_number'])['id']}")
    live = {row["policy_version"]["id"] for row in _members(arena, active_only="true")}

    stale = [each for each in first["results"] if each["policy_version"]["id"] not in live]

    assert stale
    body = arena.body()
    body["roster"][1]["player"] = {"policy_ref": stale[0]["policy_version"]["id"]}
    assert arena.client.post("/v2/experience-requests", json=body).status_code == 400


def test_the_weakest_player_has_a_name_that_steers_terminals_and_pages(arena):
    names = {row["player"]["name"] for row in _members(arena, league_id=DAILY)}

    [hostile] = [name for name in names if "\x1b" in name]

    assert "<img" in hostile
    assert "](" in hostile
    assert "|" in hostile


def test_the_manifest_of_the_game(arena):
    league = arena.get(f"/v2/leagues/{DAILY}")

    coworld = arena.get(f"/v2/coworlds/{league['game']['coworld_id']}")

    schema = coworld["manifest"]["game"]["config_schema"]
    assert schema["properties"]["players"]["minItems"] == 8
    assert schema["additionalProperties"] is False
    assert "win" in coworld["manifest"]["game"]["results_schema"]["properties"]
    assert {each["id"] for each in coworld["manifest"]["variants"]} == {"crewrift-classic", "crewrift-prime"}
    assert arena.get("/v2/coworlds/crewrift/feed-posts/check") == {
        "human_name": None,
        "rounds": [],
        "sensei_due": None,
    }


def test_credits_are_spent(arena):
    before = arena.get("/usage/me/credits")["status"]["spent_this_period_credits"]
    done = arena.play(arena.body())

    after = arena.get("/usage/me/credits")

    assert after["status"]["spent_this_period_credits"] > before
    assert after["recent_requests"][0]["experience_request_id"] == done["id"]


def test_the_field_of_the_default_seed_is_the_strong_seven_of_the_cast(arena):
    """The rates that the docs state were measured in this field."""
    best: dict[str, float] = {}
    for row in arena.get("/v2/rounds", league_id=DAILY, status="completed", limit=200)["entries"]:
        for each in arena.get(f"/v2/rounds/{row['id']}")["results"]:
            name = each["policy_version"]["policy"]["name"]
            best[name] = max(best.get(name, 0.0), each["score"])
    best.pop("keeper")

    ranking = sorted(best, key=lambda name: -best[name])

    assert set(ranking[:7]) == {player.name for player in CAST if player.tier is Tier.STRONG}
