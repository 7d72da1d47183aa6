from __future__ import annotations

import pytest

from pytest_evalharness.errors import CredentialsRejected, FieldUnavailable, NotTheService, ServerUnreachable
from pytest_evalharness.observatory import Status

REQUESTS = "/v2/experience-requests"


def test_whoami(client):
    made = client(
        routes={"/whoami": {"subject_type": "player", "subject_id": "ply_1", "scopes": None, "new": 1}}
    )
    assert made.whoami().subject_id == "ply_1"
    assert made.server.requests[0].headers["authorization"] == "Bearer usr_s3cret-t0ken"


def test_a_league_with_the_least_it_can_say(client):
    made = client(routes={"/v2/leagues/league_1": {"id": "league_1", "game": {"id": "g", "name": "n"}}})
    assert made.league("league_1").game.id == "g"


def division(number, **changes):
    return {"id": f"div_{number}", "name": "D", "level": 1, "type": "competition", "hidden": False, **changes}


def test_the_competition_division_is_the_lowest_open_one(client):
    rows = [
        division(1, type="practice", level=0),
        division(2, hidden=True, level=0),
        division(3, archived_at="2026-01-01T00:00:00Z", level=0),
        division(9, level=2),
        division(5),
        division(4, archived_at=None),
    ]
    made = client(routes={"/v2/divisions": rows})
    assert made.competition_division("league_1").id == "div_4"
    assert ("league_id", "league_1") in made.server.requests[0].query


def test_no_competition_division(client):
    with pytest.raises(FieldUnavailable, match="league_1 has no open competition division"):
        client(routes={"/v2/divisions": [division(1, type="practice")]}).competition_division("league_1")


def test_memberships(client, sample, clock):
    members = [
        sample.member("a", 1),
        sample.member("b", 2, end_time="2026-01-01T00:00:00Z"),
        sample.member("c", 3, end_time="2030-01-01T00:00:00Z"),
        sample.member("d", 4, status="retired"),
        sample.member("e", 5, player=None, league="league_1", division=None, start_time="whenever"),
    ]
    made = client(routes={"/v2/league-policy-memberships": members})
    found = made.memberships(league_id="league_1", division_id="div_1")
    assert [row.label for row in found] == ["a:v1", "c:v3", "e:v5"]
    assert [row.player_id for row in found] == ["ply_1"] * 3
    assert [row.player_name for row in found] == ["Ann", "Ann", None]
    sent = dict(made.server.requests[0].query)
    assert sent["active_only"] == "true"
    assert sent["champions_only"] == sent["mine"] == "false"
    assert sent["league_id"] == "league_1"
    assert "player_id" not in sent
    assert len(made.memberships(active_only=False)) == 5


def test_rounds(client, wire):
    def script(request):
        start = int(dict(request.query).get("cursor", 0))
        rows = [{"id": f"round_{n}", "status": "completed"} for n in range(start, start + 3)]
        return wire.reply({"entries": rows, "next_cursor": str(start + 3)})

    made = client(routes={"/v2/rounds": script})
    found = made.rounds(division_id="div_1", status="completed", limit=7)
    assert [row.id for row in found] == [f"round_{n}" for n in range(7)]
    assert len(made.server.requests) == 3
    assert all(row.status is Status.COMPLETED for row in found)


def test_a_round(client):
    result = {
        "id": "r", "rank": 1, "score": None, "player": {"id": "ply_1", "name": "Ann"},
        "policy_version": {"id": "pv", "policy": {"id": "p", "name": "a"}, "version": 1},
    }  # fmt: skip
    made = client(routes={"/v2/rounds/round_1": {"id": "round_1", "status": "weird", "results": [result]}})
    found = made.round("round_1")
    assert found.status is Status.UNKNOWN
    assert found.results[0].policy_version.label == "a:v1"
    assert found.results[0].player_id == "ply_1"


def test_policy_versions_are_matched_exactly(client):
    rows = [
        {"id": str(n), "name": name, "version": n} for n, name in enumerate(["keeper", "keeper2", "keeper"])
    ]
    made = client(routes={"/stats/policy-versions": {"entries": rows}})
    assert [row.id for row in made.policy_versions("keeper")] == ["0", "2"]
    assert [row.id for row in made.policy_versions("keeper", 2)] == ["2"]
    assert len(made.policy_versions()) == 3
    sent = [dict(request.query) for request in made.server.requests]
    assert sent[1] == {"mine": "true", "name_exact": "keeper", "version": "2", "limit": "100"}
    assert "mine" not in dict(client_query(made, mine=False))


def client_query(made, **options):
    made.policy_versions("keeper", **options)
    return made.server.requests[-1].query


@pytest.mark.parametrize("status", [403, 404])
def test_what_the_server_does_not_tell_is_none(client, wire, status):
    made = client(wire.reply({"detail": "no"}, status))
    assert made.policy_version("pv") is None
    assert made.container_image("img") is None
    assert made.credits() is None
    assert not made.capabilities().known


def test_credits(client):
    answer = {"status": {"balance_credits": 12.5}, "recent_requests": [{"experience_request_id": "xreq_1"}]}
    assert client(routes={"/usage/me/credits": answer}).credits().status.balance_credits == 12.5


# ----------------------------------------------------------------------- requests


def test_create(client, sample):
    made = client(routes={f"POST {REQUESTS}": sample.detail()})
    assert made.create_experience_request({"roster": [1]}).id == "xreq_1"
    assert made.server.requests[0].json() == {"roster": [1]}


@pytest.mark.failure_mode(number=6)
def test_a_request_of_any_generation(client, sample):
    episode = sample.episode(scores=None, participants=None, status="success")
    human = sample.episode(participants=[{"position": 3, "user_id": "usr_1", "name": "Bob"}])
    detail = sample.detail(
        episodes=[episode, human], status="canceled", error={"a": 1}, started_at="yesterday"
    )
    found = client(routes={f"{REQUESTS}/xreq_1": detail}).experience_request("xreq_1")
    assert found.status is Status.CANCELLED
    assert found.status_word == "canceled"
    assert found.error == '{"a": 1}'
    assert found.started_at is None
    assert found.episodes[0].status is Status.COMPLETED
    assert found.episodes[0].scores == found.episodes[0].participants == ()
    assert found.episodes[1].participants[0].kind == "human"


def test_participants_without_kind(client, sample):
    found = client(routes={f"{REQUESTS}/xreq_1": sample.detail()}).experience_request("xreq_1")
    seats = found.episodes[0].participants
    assert [(seat.position, seat.kind, seat.policy_version_id) for seat in seats] == [
        (0, "policy", sample.id), (1, "policy", sample.id)
    ]  # fmt: skip


def test_a_fresh_request_may_not_be_there_yet(client, wire, sample):
    made = client(wire.reply(None, 404), wire.reply(None, 404), wire.reply(sample.detail()))
    assert made.experience_request("xreq_1", fresh=True).id == "xreq_1"


def test_what_was_just_made_may_be_shown_half_a_minute_late(client, clock, sample):
    begun = clock.monotonic()

    def after(seconds, answer):
        return lambda _: answer if clock.monotonic() - begun > seconds else None

    results = "/v2/episode-requests/ereq_1/artifacts/results"
    routes = {f"{REQUESTS}/xreq_1": after(15, sample.detail()), results: after(40, {"scores": []})}
    made = client(routes=routes)
    assert made.experience_request("xreq_1", fresh=True).id == "xreq_1"
    assert made.episode_results("ereq_1") == {"scores": []}


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(200, {"id": "xreq_1", "status": "cancelled"}, True), (409, {"detail": "over"}, False),
     (404, None, None), (405, None, None), (200, {"id": "xreq_1", "status": "completed"}, False), (204, b"", True)],
)  # fmt: skip
def test_cancel(client, wire, status, body, said):
    made = client(wire.reply(body, status))
    assert made.cancel("xreq_1") is said
    assert made.server.requests[0].path.endswith("/v2/experience-requests/xreq_1/cancel")


def test_a_cancel_whose_answer_is_lost_says_so(client, wire):
    with pytest.raises(ServerUnreachable) as caught:
        client(wire.reset).cancel("xreq_1")
    assert "xreq_1 may still run" in caught.value.not_done


def test_results(client, wire):
    path = "/v2/episode-requests/ereq_1/artifacts/results"
    made = client(routes={path: {"scores": [1, 0]}})
    assert made.episode_results("ereq_1") == {"scores": [1, 0]}
    late = client(wire.reply(None, 404), wire.reply({"scores": []}))
    assert late.episode_results("ereq_1") == {"scores": []}


def test_results_that_never_come(client, clock):
    assert client(routes={}).episode_results("ereq_1", late_seconds=0.0) is None


def test_why_an_episode_failed(client):
    path = "/v2/episode-requests/ereq_1/artifacts/error-info"
    told = {"error_type": "player_error", "failed_policy_index": 3}
    assert client(routes={path: told}).episode_error_info("ereq_1") == told
    assert client(routes={}).episode_error_info("ereq_1", late_seconds=0.0) is None


def test_what_became_of_the_players(client):
    path = "/v2/episode-requests/ereq_1/artifacts/player-status"
    told = {"schema_version": "1", "players": []}
    assert client(routes={path: told}).player_status("ereq_1") == told
    assert client(routes={}).player_status("ereq_1") is None


@pytest.mark.parametrize(
    ("call", "kind"), [("policy_artifact", "policy-artifact"), ("policy_log", "policy-logs")]
)
def test_what_belongs_to_a_seat_comes_as_it_is(client, wire, call, kind):
    made = client(wire.reply(b"PK\x03\x04\xff\x00"))
    assert getattr(made, call)("ereq_1", "id/../1", 3) == b"PK\x03\x04\xff\x00"
    assert made.server.requests[0].path.endswith(f"/v2/episode-requests/ereq_1/id%2F..%2F1/{kind}/3")
    assert getattr(client(routes={}), call)("ereq_1", "id", 3) is None
    with pytest.raises(CredentialsRejected, match="does not permit it"):
        getattr(client(wire.reply({"detail": "not yours"}, 403)), call)("ereq_1", "id", 3)


@pytest.mark.parametrize("body", ["[1]", "7", '"x"', "null"])
def test_results_are_an_object(client, wire, body):
    with pytest.raises(NotTheService, match="is no object"):
        client(wire.reply(body)).episode_results("ereq_1")


# ------------------------------------------------------------------- capabilities


def test_capabilities(client):
    document = {
        "info": {"title": "Obs\x1b", "version": "7"},
        "paths": {
            "/api/observatory/v2/experience-requests/{xreq_id}/cancel": {"post": {}, "parameters": []},
            "/v2/leagues": {"get": {}},
            "/v2/experience-requests": {
                "post": {
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}
                    }
                }
            },
        },
        "components": {"schemas": {"Ask": {"properties": {"idempotency_key": {}}}}},
    }
    found = client(routes={"/openapi.json": document}).capabilities()
    assert found.known
    assert found.has("POST", "/v2/experience-requests/{id}/cancel")
    assert found.has("get", "/v2/leagues")
    assert found.has("POST", "/v2/leagues") is False
    assert found.takes("POST", "/v2/experience-requests", "idempotency_key")
    assert found.takes("POST", "/v2/experience-requests", "colour") is False
    assert found.takes("POST", "/v2/experience-requests/{id}/cancel", "idempotency_key") is False
    assert len(found.digest) == 64
    assert (found.title, found.version) == ("Obs\ufffd", "7")


def test_unknown_capabilities_say_nothing(client):
    found = client(routes={}).capabilities()
    assert found.has("GET", "/v2/leagues") is None
    assert found.takes("POST", "/v2/experience-requests", "idempotency_key") is None


BODY = {"content": {"application/json": {"schema": {"properties": {"idempotency_key": {}}}}}}


@pytest.mark.parametrize(
    ("operation", "knows"),
    [
        ({"requestBody": BODY}, True),
        ({}, False),
        ({"requestBody": {"content": []}}, False),
        ({"requestBody": {"content": {"application/json": {"schema": {"$ref": 7}}}}}, False),
        (
            {"requestBody": {"content": {"application/json": {"schema": {"$ref": "elsewhere.json#/X"}}}}},
            False,
        ),
    ],
)
def test_a_server_that_does_not_say_is_not_trusted_to_know_keys(client, operation, knows):
    document = {"paths": {"/v2/experience-requests": {"post": operation}}}
    assert client(routes={"/openapi.json": document}).knows_idempotency_keys() is knows


def test_a_description_that_is_hidden_or_none_tells_of_no_keys(client, wire):
    assert client(routes={}).knows_idempotency_keys() is False
    assert client(wire.reply("<html>")).knows_idempotency_keys() is False


@pytest.mark.parametrize("body", ["[]", "{}", '{"paths": []}', "<html>", ""])
def test_a_description_that_is_none(client, wire, body):
    with pytest.raises(NotTheService):
        client(wire.reply(body)).capabilities()
