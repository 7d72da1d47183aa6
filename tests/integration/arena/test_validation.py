"""What a creation must not be: every rule, the status it is refused with, and that nothing was stored."""

import json

import pytest

BARE = "605ff338-0a2e-4e62-aeda-559df9a9198f"


def _roster(arena, **changes):
    roster = arena.body()["roster"]
    for at, entry in changes.items():
        roster[int(at.removeprefix("at"))] = entry
    return roster


SCHEMA = {
    "unknown key": {"assignments": []},
    "old key": {"requester": "keeper:v1"},
    "no episodes": {"num_episodes": 0},
    "too many episodes": {"num_episodes": 101},
    "episodes as text": {"num_episodes": "30"},
    "episodes as bool": {"num_episodes": True},
    "bare league id": {"target": {"league_id": BARE}},
    "bare division id": {"target": {"division_id": BARE}},
    "bare coworld id": {"target": {"coworld_id": BARE}},
    "unknown target key": {"target": {"leage_id": "x"}},
    "short idempotency key": {"idempotency_key": "abcd"},
    "long notes": {"notes": "x" * 1001},
    "unknown backend": {"execution_backend": "aurora"},
    "overrides as list": {"game_config_overrides": []},
    "roster absent": {"roster": None},
    "selector with zero keys": {"roster": [{"player": {}}]},
    "selector with null": {"roster": [{"player": {"policy_ref": None}}]},
    "selector with two keys": {"roster": [{"player": {"policy_ref": "keeper:v1", "top_n": 7}}]},
    "selector with unknown key": {"roster": [{"player": {"name": "keeper"}}]},
    "top_n of zero": {"roster": [{"player": {"top_n": 0}}]},
    "top_n of 101": {"roster": [{"player": {"top_n": 101}}]},
    "random false": {"roster": [{"player": {"random": False}}]},
    "slot as text": {"roster": [{"player": {"random": True}, "slot": "0"}]},
    "roster entry with unknown key": {"roster": [{"player": {"random": True}, "seat": 1}]},
    "endless roster": {"roster": [{"player": {"random": True}}] * 65},
}


@pytest.mark.parametrize("change", SCHEMA.values(), ids=SCHEMA)
def test_a_body_against_the_schema_is_a_422_with_a_detail_list(arena, change):
    answer = arena.client.post("/v2/experience-requests", json=arena.body(**change))

    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert detail
    assert all(set(each) == {"loc", "msg", "type"} and each["loc"][0] == "body" for each in detail)


UNRESOLVABLE = {
    "unknown league": ({"target": {"league_id": f"league_{BARE[:-1]}0"}}, "not found"),
    "unknown league name": ({"target": {"league_name": "Nowhere"}}, "not found"),
    "division without league": ({"target": {"division_name": "Competition"}}, "needs league"),
    "no target": ({"target": {}}, "must name"),
    "target null": ({"target": None}, "must name"),
    "unknown variant": ({"target": {"league_name": "Crewrift Daily", "variant_id": "x"}}, "no variant"),
    "a game that is not played": ({"target": {"league_name": "Heartleaf Open"}}, "no variant"),
    "another game": ({"target": {"league_name": "Paint Arena Open"}}, "2 seats"),
    "antfarm": ({"execution_backend": "antfarm"}, "not enabled"),
    "overlay secret": ({"game_config_overlay_secret": "s"}, "overlay"),
    "unknown config key": ({"game_config_overrides": {"maxTick": 1}}, "maxTick"),
    "wrong config type": ({"game_config_overrides": {"maxTicks": "1"}}, "maxTicks"),
    "injected config key": ({"game_config_overrides": {"tokens": []}}, "tokens"),
    "bare slot strings": ({"game_config_overrides": {"slots": ["crew"]}}, "slots"),
    "unknown slot key": ({"game_config_overrides": {"slots": [{"rol": "crew"}]}}, "slots"),
    "more slots than seats": ({"game_config_overrides": {"slots": [{"role": "crew"}] * 9}}, "slots"),
    "all crew, two imposters": ({"game_config_overrides": {"slots": [{"role": "crew"}] * 8}}, "imposter"),
    "roster of four": ({"roster": [{"player": {"random": True}}] * 4}, "8 seats"),
    "roster of nine": ({"roster": [{"player": {"random": True}}] * 9}, "8 seats"),
    "empty division": (
        {
            "target": {"league_name": "Crewrift Daily", "division_name": "Champions Cup"},
            "roster": [{"player": {"top_n": 7}}] * 8,
        },
        "no champions",
    ),
    "top_n exhausted": ({"roster": [{"player": {"top_n": 1}}] * 8}, "more players than"),
    "everybody excluded": (
        {"roster": [{"player": {"top_n": 8}}] * 8, "included_players": ["nobody"]},
        "no champions",
    ),
}


@pytest.mark.parametrize(("change", "words"), UNRESOLVABLE.values(), ids=UNRESOLVABLE)
def test_what_cannot_be_resolved_is_a_400_that_says_what(arena, change, words):
    answer = arena.client.post("/v2/experience-requests", json=arena.body(**change))

    assert answer.status_code == 400, answer.text
    assert words in answer.json()["detail"]


@pytest.mark.parametrize("slot", [-2, 8, 1000])
def test_a_slot_out_of_range_is_a_400(arena, slot):
    roster = _roster(arena, at0={"player": {"policy_ref": "keeper:v1"}, "slot": slot})

    answer = arena.client.post("/v2/experience-requests", json=arena.body(roster=roster))

    assert answer.status_code == 400
    assert f"slot {slot}" in answer.json()["detail"]


def test_duplicate_slots_are_a_400(arena):
    roster = _roster(arena, at0={"player": {"policy_ref": "keeper:v1"}, "slot": 3})

    answer = arena.client.post("/v2/experience-requests", json=arena.body(roster=roster))

    assert answer.status_code == 400
    assert "duplicate slot 3" in answer.json()["detail"]


@pytest.mark.parametrize(
    "ref", ["nobody:v1", "keeper", "keeper:v9", "rival:v1", "keeper:1", "keeper:v01", BARE, "\x1b[31m:v1"]
)
def test_a_policy_that_is_neither_owned_nor_live_is_a_400(arena, ref):
    roster = _roster(arena, at0={"player": {"policy_ref": ref}, "slot": 0})

    answer = arena.client.post("/v2/experience-requests", json=arena.body(roster=roster))

    assert answer.status_code == 400
    assert "did not match an active runnable policy" in answer.json()["detail"]


@pytest.mark.parametrize("key", ["llm_routing_override", "reporters"])
def test_team_features_are_a_403(arena, key):
    value = {"llm_routing_override": {}, "reporters": ["x"]}[key]

    assert arena.client.post("/v2/experience-requests", json=arena.body(**{key: value})).status_code == 403


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"nonsense",
        b'{"roster": ',
        b'{"notes": NaN}',
        b'{"num_episodes": 1e999}',
        b'{"notes": "\\ud800"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"num_episodes": 1' + b"0" * 5000 + b"}",
    ],
    ids=["empty", "list", "text", "cut", "nan", "inf", "surrogate", "no utf-8", "deep", "huge number"],
)
def test_json_that_is_none_is_a_422(arena, content):
    answer = arena.client.post(
        "/v2/experience-requests", content=content, headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 422, answer.text
    assert isinstance(answer.json()["detail"], list)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_turned_away(arena, chunked):
    content = json.dumps(arena.body(game_config_overrides={"mapPath": "x" * 300_000})).encode()

    answer = arena.client.post(
        "/v2/experience-requests",
        content=iter([content]) if chunked else content,
        headers={"Content-Type": "application/json"},
    )

    assert answer.status_code == 413


PATHS = [
    f"/v2/experience-requests/{BARE}",
    f"/v2/experience-requests/{BARE}/episodes",
    f"/v2/episode-requests/{BARE}",
    f"/v2/leagues/{BARE}",
    f"/v2/divisions/{BARE}",
    f"/v2/rounds/{BARE}",
    f"/v2/container_images/{BARE}",
    f"/v2/coworlds/{BARE}",
    f"/v2/league-policy-memberships?league_id={BARE}",
    f"/v2/rounds?division_id={BARE}",
    f"/v2/divisions?league_id={BARE}",
    f"/v2/episode-requests?ids={BARE}",
    "/v2/episode-requests",
    f"/stats/policy-versions/pv_{BARE}",
    "/v2/experience-requests?limit=0",
    "/v2/experience-requests?limit=1001",
    "/v2/experience-requests?cursor=x",
    "/v2/league-policy-memberships?cursor=!!!",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_parameter_of_the_wrong_form_is_a_422(arena, path):
    answer = arena.client.get(path)

    assert answer.status_code == 422, answer.text
    assert isinstance(answer.json()["detail"], list)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/experience-requests/xreq_{}",
        "/v2/experience-requests/xreq_{}/episodes",
        "/v2/episode-requests/ereq_{}",
        "/v2/leagues/league_{}",
        "/v2/divisions/div_{}",
        "/v2/rounds/round_{}",
        "/v2/container_images/img_{}",
        "/stats/policy-versions/{}",
        "/v2/nothing/of/the/kind",
    ],
)
def test_what_does_not_exist_is_a_404(arena, path):
    assert arena.client.get(path.format("00000000-0000-4000-8000-000000000000")).status_code == 404


def test_nothing_refused_was_stored(arena):
    before = arena.counters()
    arena.client.post("/v2/experience-requests", json=arena.body(num_episodes=0))
    arena.client.post("/v2/experience-requests", json=arena.body(["nobody:v1"] * 8))

    after = arena.counters()

    assert after["experience_request_posts"] == before["experience_request_posts"] == 0
    assert arena.get("/v2/experience-requests") == {"entries": [], "next_cursor": None}
