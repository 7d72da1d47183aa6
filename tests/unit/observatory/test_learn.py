"""What a client does with a server's description: it is read once, and everything else follows it."""

from __future__ import annotations

import json

import pytest

from pytest_evalharness.errors import CredentialsRejected, NotTheService, ServerUnreachable
from pytest_evalharness.observatory.dialect import Artifacts, Auth

SECRET = "usr_s3cret-t0ken"
REQUESTS = "/v2/experience-requests"
MEMBERS = "/v2/league-policy-memberships"
JOB = "33333333-3333-4333-8333-333333333333"


def get(*names, most=None):
    schema = {"type": "integer"} if most is None else {"type": "integer", "maximum": most}
    return {"get": {"parameters": [{"name": name, "in": "query", "schema": schema} for name in names]}}


def today(**more):
    return {
        "paths": {
            REQUESTS: {"post": {}, **get("limit", "cursor")},
            f"{REQUESTS}/{{id}}/cancel": {"post": {}},
            **more,
        }
    }


def june(**more):
    paths = {
        REQUESTS: {"post": {}, **get("limit", "offset")},
        "/jobs/{job_id}/artifacts/{artifact_type}": {"get": {}},
        "/jobs/{job_id}/policy-logs/{index}": {"get": {}},
        **more,
    }
    schemes = {"t": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}}
    return {"paths": paths, "components": {"securitySchemes": schemes}}


def asked(made):
    return [request.path.removeprefix("/api/observatory") for request in made.server.requests]


# ------------------------------------------------------------------------------ reading


def test_it_is_read_once_with_the_token_in_both_headers(client):
    made = client(routes={"/openapi.json": today(), "/whoami": {"subject_type": "user"}})
    assert made.dialect.name == "assumed"
    assert made.learn() is made.learn()
    assert made.dialect.name == "current"
    made.whoami()
    assert asked(made) == ["/openapi.json", "/whoami"]
    first, second = (request.headers for request in made.server.requests)
    assert (first["authorization"], first["x-auth-token"]) == (f"Bearer {SECRET}", SECRET)
    assert second["authorization"] == f"Bearer {SECRET}"
    assert "x-auth-token" not in second


def test_a_server_that_names_the_old_header_only_gets_it(client):
    made = client(routes={"/openapi.json": june(), "/whoami": {"subject_type": "user"}})
    assert made.learn().auth is Auth.LEGACY
    made.whoami()
    headers = made.server.requests[-1].headers
    assert headers["x-auth-token"] == SECRET
    assert "authorization" not in headers
    assert SECRET not in repr(made) + made.dialect.words + json.dumps(made.dialect.to_json())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (403, "HTTP 403"), (404, "HTTP 404"), (422, "HTTP 422"), (500, "HTTP 500"), (503, "HTTP 503"),
        ("<html>", "it is none"), ("[]", "no `paths`"), ("{", "it is none"), ('{"paths": {}}', "no way to create"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_assumed_and_said(client, wire, answer, why):
    page = wire.reply({"detail": "no"}, answer) if isinstance(answer, int) else wire.reply(answer)
    made = client(routes={"/openapi.json": page, "/whoami": {"subject_type": "user"}})
    found = made.learn()
    assert found.name == "assumed"
    assert why in found.assumed
    assert why in found.words
    assert (found.auth, found.artifacts, found.cancels) == (Auth.BEARER, Artifacts.EPISODE, None)
    made.whoami()
    assert made.server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_a_redirected_description_is_assumed(client, wire):
    moved = wire.reply("", 308, [("Location", "https://elsewhere.example/docs")])
    assert "elsewhere.example" in client(routes={"/openapi.json": moved}).learn().words


def test_who_takes_no_token_at_all_is_not_assumed_about(client, wire):
    with pytest.raises(CredentialsRejected, match="token expired"):
        client(wire.reply({"detail": "token expired"}, 401)).learn()


def test_a_server_that_is_not_there(client, nobody):
    with pytest.raises(ServerUnreachable):
        client.at(f"{nobody.url}/api").learn()


# ------------------------------------------------------------------------------ cancel


def test_a_server_that_describes_no_cancel_is_not_asked_to(client):
    made = client(routes={"/openapi.json": june()})
    made.learn()
    assert made.cancel("xreq_1") is None
    assert asked(made) == ["/openapi.json"]


def test_one_that_describes_it_is(client):
    cancelled = {"id": "xreq_1", "status": "cancelled"}
    made = client(routes={"/openapi.json": today(), f"POST {REQUESTS}/xreq_1/cancel": cancelled})
    made.learn()
    assert made.cancel("xreq_1") is True


def test_idempotency_keys_are_looked_up_in_what_was_read(client):
    shape = {"properties": {"idempotency_key": {}}}
    body = {"requestBody": {"content": {"application/json": {"schema": shape}}}}
    made = client(routes={"/openapi.json": today(**{REQUESTS: {"post": body}})})
    made.learn()
    assert made.knows_idempotency_keys()
    assert asked(made) == ["/openapi.json"]


# --------------------------------------------------------------------------- artifacts


@pytest.fixture
def old(client):
    """A client of a server of June 2026."""

    def make(**routes):
        made = client(routes={"/openapi.json": june(), **routes})
        made.learn()
        return made

    return make


def test_artifacts_of_jobs(old, sample):
    row = sample.episode(job_id=JOB)
    made = old(**{
        f"{REQUESTS}/xreq_1": sample.detail(episodes=[row]),
        f"/jobs/{JOB}/artifacts/results": {"scores": [100, 0]},
        f"/jobs/{JOB}/artifacts/error_info": {"error_type": "player_error"},
    })  # fmt: skip
    made.experience_request("xreq_1")
    assert made.episode_results("ereq_1") == {"scores": [100, 0]}
    assert made.episode_error_info("ereq_1") == {"error_type": "player_error"}
    assert not [path for path in asked(made) if path.startswith("/v2/episode-requests")]


def test_a_job_that_is_not_known_yet_is_looked_up_once(old, sample):
    made = old(**{
        "/v2/episode-requests/ereq_1": sample.episode(job_id=JOB),
        f"/jobs/{JOB}/artifacts/results": {"scores": []},
    })  # fmt: skip
    assert made.episode_results("ereq_1") == made.episode_results("ereq_1") == {"scores": []}
    assert asked(made).count("/v2/episode-requests/ereq_1") == 1


def test_an_episode_that_no_job_plays_left_nothing(old, sample):
    made = old(**{"/v2/episode-requests/ereq_1": sample.episode(job_id=None)})
    assert made.episode_results("ereq_1", late_seconds=0.0) is None
    assert old().episode_results("ereq_1", late_seconds=0.0) is None


def test_a_kind_that_jobs_do_not_have_is_not_asked_for(old):
    made = old()
    assert made.player_status("ereq_1") is None
    assert asked(made) == ["/openapi.json"]


def test_what_a_seat_left_is_numbered_by_the_seat(old, sample, wire):
    made = old(**{
        "/v2/episode-requests/ereq_1": sample.episode(job_id=JOB),
        f"/jobs/{JOB}/policy-logs/5": wire.reply("line\n", content_type="text/plain"),
    })  # fmt: skip
    assert made.policy_log("ereq_1", sample.id, 5) == b"line\n"
    assert made.policy_artifact("ereq_1", sample.id, 5) is None


@pytest.mark.parametrize("path", ["results", "error_info"])
def test_a_job_that_is_closed_to_this_token_is_no_missing_artifact(old, sample, wire, path):
    closed = wire.reply({"detail": "Not a team member"}, 403)
    made = old(**{
        "/v2/episode-requests/ereq_1": sample.episode(job_id=JOB), f"/jobs/{JOB}/artifacts/{path}": closed,
    })  # fmt: skip
    call = {"results": made.episode_results, "error_info": made.episode_error_info}[path]
    with pytest.raises(CredentialsRejected, match="does not permit it"):
        call("ereq_1")


def test_a_refused_kind_is_no_reason_to_try_elsewhere(client, wire):
    """A 400 of the routes that were chosen is told; nothing is guessed from it."""
    refused = wire.reply({"detail": "Unknown artifact type"}, 400)
    made = client(routes={"/openapi.json": today(), "/v2/episode-requests/ereq_1/artifacts/results": refused})
    made.learn()
    with pytest.raises(NotTheService, match="Unknown artifact type"):
        made.episode_results("ereq_1")
    assert not [path for path in asked(made) if path.startswith("/jobs")]


# ------------------------------------------------------------------------------- lists


@pytest.fixture
def members(client, sample, wire):
    """A client of a server whose list of members is cut at some rows, as it describes it or not."""

    def make(rows, *, parameters, cut=None, header=True):
        def script(request):
            told = dict(request.query)
            start, end = int(told.get("cursor", 0)), min(int(told.get("limit", 10**6)), cut or 10**6)
            shown = [sample.member("bot", n) for n in range(start, min(rows, start + end))]
            more = header and start + end < rows
            return wire.reply(shown, headers=[("X-Next-Cursor", str(start + end))] if more else [])

        told = []
        made = client(
            routes={"/openapi.json": today(**{MEMBERS: parameters}), MEMBERS: script}, on_remark=told.append
        )
        made.learn()
        made.told = told
        return made

    return make


def test_the_described_maximum_bounds_what_is_asked_for(members):
    made = members(450, parameters=get("limit", "cursor", most=200))
    assert len(made.memberships()) == 450
    assert {dict(request.query)["limit"] for request in made.server.requests[1:]} == {"200"}
    assert made.told == []


def test_a_list_that_takes_no_limit_is_asked_for_without(members):
    made = members(30, parameters=get("league_id"), header=False)
    assert len(made.memberships()) == 30
    assert "limit" not in dict(made.server.requests[1].query)
    assert made.told == []


def test_a_full_bare_list_is_asked_for_again_with_more(members):
    """Our own limit is smaller than what the server describes: it says how far one may go."""
    made = members(1500, parameters=get("limit", most=2000), header=False)
    assert len(made.memberships()) == 1500
    assert [dict(request.query)["limit"] for request in made.server.requests[1:]] == ["1000", "2000"]
    assert made.told == []


@pytest.mark.parametrize(
    ("rows", "cut", "parameters"),
    [
        (1500, None, get("limit", most=1000)), (1000, None, get("limit", most=1000)), (1500, None, get("limit")),
        (450, 200, get("league_id")), (50, None, {}),
    ],
)  # fmt: skip
def test_a_list_that_may_have_been_cut_is_told_of(members, rows, cut, parameters):
    made = members(rows, cut=cut, parameters=parameters, header=False)
    found = len(made.memberships(league_id="league_1"))
    [told] = made.told
    assert told.startswith(
        f"asked to list the league members of league_1, the server gave {found} and may have held back"
    )


@pytest.mark.parametrize("rows", [0, 49, 51, 999])
def test_other_lengths_are_believed(members, rows):
    made = members(rows, parameters=get("limit", most=1000), header=False)
    assert len(made.memberships()) == rows
    assert made.told == []


@pytest.mark.parametrize(
    ("board", "scores"),
    [
        (None, []), ([], []), ({"entries": None}, []), ({"entries": []}, []),
        ([{"rank": 1, "player_id": "ply_1", "player_name": "A", "score": 2, "rounds_played": 3}], [("ply_1", "A", 2.0)]),
        ({"entries": [{"player": {"id": "ply_1", "name": "A"}, "mean_round_score": 110.5}]}, [("ply_1", "A", 110.5)]),
    ],
)  # fmt: skip
@pytest.mark.failure_mode(number=5)
def test_leaderboards_of_every_time(client, wire, board, scores):
    made = client(wire.reply(board))
    assert [
        (row.player_id, row.player_name, row.score) for row in made.leaderboard("div_1").entries
    ] == scores


def test_a_server_without_leaderboards(client):
    assert client(routes={}).leaderboard("div_1").entries == ()


# ----------------------------------------------------------------------------- secrets


def frames_of(problem):
    """Every local variable of a traceback, and of what led to it, as tools print them."""
    while problem is not None:
        trace = problem.__traceback__
        while trace is not None:
            if "pytest_evalharness" in trace.tb_frame.f_code.co_filename:
                yield from (repr(value) for value in trace.tb_frame.f_locals.values())
            trace = trace.tb_next
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)


@pytest.mark.parametrize("status", [401, 503])
def test_no_local_variable_shows_the_token_when_learning_fails(client, wire, status):
    made = client(wire.reset if status == 503 else wire.reply({"detail": "no"}, status))
    with pytest.raises((CredentialsRejected, ServerUnreachable)) as caught:
        made.learn()
    shown = list(frames_of(caught.value))
    assert len(shown) > 3
    assert not [text for text in shown if SECRET in text]


def test_no_local_variable_shows_the_token_on_a_server_with_the_old_header(old, wire):
    made = old(**{"/whoami": wire.reply({"detail": "no"}, 401)})
    with pytest.raises(CredentialsRejected) as caught:
        made.whoami()
    assert not [text for text in frames_of(caught.value) if SECRET in text]
    assert SECRET not in repr(vars(made._calls.transport))
