"""The games beside the hidden-role one, asked for and played over HTTP, in both dialects."""

import io
import json
import shutil
import zipfile

import jsonschema
import pytest

PAINT, FLAGS = "Paint Arena Open", "Capture the Flag Ladder"
SIDES = {"flags-parity": [0, 1, 0, 1], "flags-blocks": [0, 0, 1, 1]}


@pytest.fixture(scope="module")
def june(founded, tmp_path_factory, launched):
    home = shutil.copytree(founded, tmp_path_factory.mktemp("june") / "home")
    return launched(home, "--dialect", "2026-06")


@pytest.fixture(params=["current", "2026-06"])
def speaker(request, arena, june):
    """A league in either dialect."""
    yield june if request.param == "2026-06" else arena
    june.no_faults()


def body(league, refs, variant=None, **fields):
    target = {"league_name": league, **({"variant_id": variant} if variant else {})}
    roster = [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(refs)]
    return {"target": target, "roster": roster, "num_episodes": 4, **fields}


def league_of(arena, name):
    return next(each for each in arena.get("/v2/leagues") if each["name"] == name)


def manifest(arena, name):
    return arena.get(f"/v2/coworlds/{league_of(arena, name)['game']['coworld_id']}")["manifest"]


def results(arena, row):
    if arena.ready["dialect"] == "2026-06":
        return arena.get(f"/jobs/{row['job_id']}/artifacts/results")
    return arena.get(f"/v2/episode-requests/{row['id']}/artifacts/results")


def fillers(row):
    return [seat["is_filler"] for seat in sorted(row["participants"], key=lambda seat: seat["position"])]


@pytest.mark.parametrize(("name", "seats"), [(PAINT, 2), (FLAGS, 4), ("Crewrift Daily", 8)])
def test_a_manifest_tells_the_seats_the_keys_and_the_variants(speaker, name, seats):
    told = manifest(speaker, name)
    schema = told["game"]["config_schema"]
    for key in ("players", "tokens"):
        bounds = schema["properties"][key]
        assert (bounds["minItems"], bounds["maxItems"]) == (seats, seats)
    assert schema["additionalProperties"] is False
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(told["game"]["results_schema"])
    for variant in told["variants"]:
        assert set(variant) == {"id", "name", "description", "game_config"}
        given = {"tokens": ["x"] * seats, "players": [{"name": "x"}] * seats}
        jsonschema.validate({**variant["game_config"], **given}, schema)


def test_only_the_hidden_role_game_has_a_list_of_wins_and_each_other_says_what_a_win_is(arena):
    def properties(name):
        return set(manifest(arena, name)["game"]["results_schema"]["properties"])

    assert "win" in properties("Crewrift Daily")
    assert properties(PAINT) == {"scores", "painted_tiles", "ticks"}
    assert properties(FLAGS) == {"scores", "teams", "tags", "captures", "ticks"}
    assert "strictly higher" in manifest(arena, PAINT)["game"]["description"]
    assert "capturesToWin" in manifest(arena, FLAGS)["game"]["description"]


def test_paint_arena_is_played(speaker):
    done = speaker.play(body(PAINT, ["painter:v2", "umber:v2"], game_config_overrides={"max_ticks": 80}))
    schema = manifest(speaker, PAINT)["game"]["results_schema"]

    assert (done["status"], done["completed_count"], done["coworld_name"]) == ("completed", 4, "paintarena")
    assert done["variant_id"] == "default"
    for row in done["episodes"]:
        told = results(speaker, row)
        jsonschema.validate(told, schema)
        assert told["ticks"] == row["max_steps"] == row["game_config"]["max_ticks"] == 80
        assert row["game_config"]["width"] == 12
        assert fillers(row) == [False, False]
        names = [seat["policy_name"] for seat in row["participants"]]
        assert names == ["painter", "umber"]
        by_version = {each["policy_version_id"]: each["score"] for each in row["scores"]}
        assert [by_version[seat["policy_version_id"]] for seat in row["participants"]] == told["scores"]
    assert len({row["seed"] for row in done["episodes"]}) == 4


@pytest.mark.parametrize("variant", SIDES)
def test_capture_the_flag_is_played_by_two_captains(speaker, variant):
    captains = ("warden:v2", "anvil:v2")
    sides = SIDES[variant]
    done = speaker.play(body(FLAGS, [captains[side] for side in sides], variant))
    schema = manifest(speaker, FLAGS)["game"]["results_schema"]

    assert (done["status"], done["completed_count"], done["variant_id"]) == ("completed", 4, variant)
    for row in done["episodes"]:
        told = results(speaker, row)
        jsonschema.validate(told, schema)
        assert told["teams"] == sides
        assert told["scores"] == [told["captures"][side] for side in sides]
        assert fillers(row) == [sides.index(side) < seat for seat, side in enumerate(sides)]
        assert len(row["policy_version_ids"]) == len(row["scores"]) == 2
        assert row["game_config"]["teamLayout"] == {"flags-parity": "interleaved"}.get(variant, "blocks")


def test_a_side_of_two_policies_has_no_filler_and_one_against_itself_has_one_a_side(arena):
    mixed = arena.play(body(FLAGS, ["warden:v1", "anvil:v2", "warden:v2", "anvil:v2"], num_episodes=1))
    alone = arena.play(body(FLAGS, ["warden:v1"] * 4, num_episodes=1))

    assert fillers(mixed["episodes"][0]) == [False, False, False, True]
    assert fillers(alone["episodes"][0]) == [False, False, True, True]


def test_a_layout_can_be_asked_for_as_any_other_key(arena):
    overrides = {"teamLayout": "blocks", "capturesToWin": 1}
    done = arena.play(body(FLAGS, ["warden:v2"] * 2 + ["anvil:v2"] * 2, game_config_overrides=overrides))

    for row in done["episodes"]:
        assert fillers(row) == [False, True, False, True]
        assert max(results(arena, row)["captures"]) <= 1


WRONG = {
    "three painters": (body(PAINT, ["painter:v1", "umber:v2", "zaffre:v2"]), "2 seats"),
    "one painter": (body(PAINT, ["painter:v1"]), "2 seats"),
    "eight painters": (body(PAINT, ["painter:v1"] * 8), "2 seats"),
    "two captains": (body(FLAGS, ["warden:v1", "anvil:v2"]), "4 seats"),
    "five runners": (body(FLAGS, ["warden:v1"] * 5), "4 seats"),
    "another game's key": (
        body(PAINT, ["painter:v1", "umber:v2"], game_config_overrides={"maxTicks": 9}),
        "maxTicks: unknown game config key",
    ),
    "no such seed": (
        body(PAINT, ["painter:v1", "umber:v2"], game_config_overrides={"seed": 9}),
        "seed: unknown game config key",
    ),
    "roles": (
        body(FLAGS, ["warden:v1"] * 4, game_config_overrides={"imposterCount": 2}),
        "imposterCount: unknown game config key",
    ),
    "a key of the runner": (body(FLAGS, ["warden:v1"] * 4, game_config_overrides={"tokens": []}), "runner"),
    "no such layout": (
        body(FLAGS, ["warden:v1"] * 4, game_config_overrides={"teamLayout": "rings"}),
        "teamLayout",
    ),
    "another game's variant": (body(PAINT, ["painter:v1", "umber:v2"], "crewrift-classic"), "no variant"),
}


@pytest.mark.parametrize(("wrong", "words"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_the_game_is_refused(speaker, wrong, words):
    before = speaker.counters()["experience_requests_created"]
    answer = speaker.client.post("/v2/experience-requests", json=wrong)
    assert (answer.status_code, words in answer.json()["detail"]) == (400, True), answer.text
    assert speaker.counters()["experience_requests_created"] == before


def test_slots_go_as_far_as_the_seats(arena):
    wrong = body(PAINT, ["painter:v1", "umber:v2"])
    wrong["roster"][1]["slot"] = 2
    answer = arena.client.post("/v2/experience-requests", json=wrong)
    assert (answer.status_code, "seats are 0 to 1" in answer.json()["detail"]) == (400, True)


def test_opponents_are_drawn_from_the_games_own_league(arena):
    drawn = body(PAINT, ["painter:v2"], num_episodes=10)
    drawn["roster"].append({"player": {"top_n": 4}})
    names = {row["participants"][1]["policy_name"] for row in arena.play(drawn)["episodes"]}
    field = {
        row["policy_version"]["policy"]["name"]
        for row in arena.get("/v2/league-policy-memberships", league_id=league_of(arena, PAINT)["id"])
    }
    assert 1 < len(names) <= 4
    assert names <= field == {"painter", "umber", "vermilion", "wisteria", "xanthic", "yarrow", "zaffre"}


@pytest.mark.parametrize(("name", "own"), [(PAINT, "painter"), (FLAGS, "warden")])
def test_a_league_has_champions_and_rounds_in_which_all_played_equally_often(speaker, name, own):
    league = league_of(speaker, name)["id"]
    members = speaker.get("/v2/league-policy-memberships", league_id=league, active_only="true", limit=1000)
    champions = [row for row in members if row["is_champion"]]
    assert len(champions) == 7
    assert {row["player"]["name"] for row in champions} == {row["player"]["name"] for row in members}
    [mine] = [row for row in members if row["player"]["name"] == own]
    assert mine["policy_version"]["version"] == 1
    rounds = speaker.get("/v2/rounds", league_id=league, status="completed")["entries"]
    latest = speaker.get(f"/v2/rounds/{rounds[0]['id']}")
    assert len({row["result_metadata"]["episodes"] for row in latest["results"]}) == 1
    games = rounds[0]["round_config"]["num_episodes"]
    assert sum(row["result_metadata"]["episodes"] for row in latest["results"]) == 2 * games
    owned = speaker.get("/stats/policy-versions", mine="true", name_exact=own)
    rows = owned if isinstance(owned, list) else owned["entries"]
    assert {row["version"] for row in rows} == {1, 2, 3}


def test_games_of_rounds_are_told_with_their_sides(arena):
    league = league_of(arena, FLAGS)["id"]
    round_ = arena.get("/v2/rounds", league_id=league, status="completed")["entries"][0]
    [first] = arena.get(f"/v2/rounds/{round_['id']}/episode-requests", limit=1)["entries"]
    row = arena.get(f"/v2/episode-requests/{first['id']}")
    assert fillers(row) == [False, False, True, True]
    assert row["game_config"]["teamLayout"] == "interleaved"
    assert results(arena, row)["teams"] == [0, 1, 0, 1]
    assert arena.client.get(f"/v2/episode-requests/{row['id']}/artifacts/logs").text.startswith('{"tick"')


@pytest.mark.parametrize(
    ("league", "refs", "metric"),
    [(PAINT, ["painter:v1", "umber:v2"], "painted_tiles"), (FLAGS, ["warden:v1", "anvil:v2"] * 2, "tags")],
)
def test_what_an_episode_leaves(arena, league, refs, metric):
    row = arena.play(body(league, refs, num_episodes=1))["episodes"][0]
    base = f"/v2/episode-requests/{row['id']}"
    version = row["participants"][0]["policy_version_id"]

    assert json.loads(arena.client.get(f"{base}/artifacts/logs").text.splitlines()[0])["tick"] >= 0
    assert arena.get(f"{base}/artifacts/game-config") == row["game_config"]
    status = arena.get(f"{base}/artifacts/player-status")
    assert [each["state"] for each in status["players"]] == ["exited"] * len(refs)
    assert "connected as slot 0" in arena.client.get(f"{base}/{version}/policy-logs/0").text
    upload = arena.client.get(f"{base}/{version}/policy-artifact/0").content
    with zipfile.ZipFile(io.BytesIO(upload)) as archive:
        assert "telemetry.jsonl" in archive.namelist()
    stats = arena.get(f"{base}/episode-stats")
    told = results(arena, row)
    assert [seat["avg_metrics"][metric] for seat in stats["policy_stats"]] == told[metric]
    assert [seat["avg_reward"] for seat in stats["policy_stats"]] == told["scores"]
    assert stats["steps"] == told["ticks"]


def test_a_player_that_never_connects_stands_still_in_a_game_that_is_played(arena):
    arena.fault("fail-players=1:painter:v1:connect")
    row = arena.play(body(PAINT, ["painter:v1", "umber:v2"], num_episodes=1))["episodes"][0]
    status = arena.get(f"/v2/episode-requests/{row['id']}/artifacts/player-status")

    assert row["status"] == "completed"
    assert [each["state"] for each in status["players"]] == ["not_started", "exited"]
    assert results(arena, row)["painted_tiles"][0] <= 1


def test_another_way_of_scoring_is_the_hidden_role_games_alone(arena):
    league = league_of(arena, PAINT)["id"]
    round_ = arena.get("/v2/rounds", league_id=league, status="completed")["entries"][0]["id"]
    before = arena.get(f"/v2/rounds/{round_}/episode-requests")["entries"][0]["id"]
    scores = arena.get(f"/v2/episode-requests/{before}")["scores"]
    arena.fault("scoring=reward")
    assert arena.get(f"/v2/episode-requests/{before}")["scores"] == scores
    row = arena.play(body(PAINT, ["painter:v1", "umber:v2"], num_episodes=1))["episodes"][0]
    assert results(arena, row)["scores"] == results(arena, row)["painted_tiles"]


def test_the_better_version_wins_more(arena):
    def wins(label):
        rows = arena.play(body(PAINT, [label, "vermilion:v2"], num_episodes=60))["episodes"]
        told = [results(arena, row)["scores"] for row in rows]
        return sum(mine > theirs for mine, theirs in told)

    assert wins("painter:v2") - wins("painter:v1") > 10
