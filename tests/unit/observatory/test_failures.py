"""Everything that can go wrong comes out as an error of ours that says what was not done and what to type."""

from __future__ import annotations

import pytest

from pytest_evalharness.errors import (
    CredentialsRejected,
    EvalHarnessError,
    FieldUnavailable,
    NotTheService,
    RequestRefused,
    ServerUnreachable,
    SubmissionUnknown,
    UsageError,
)
from pytest_evalharness.net import Limits
from pytest_evalharness.observatory import AnswerLost, Conflict, NotSent

BODY = {"roster": [], "notes": "evalharness run 7f3c"}

CALLS = {
    "whoami": lambda c: c.whoami(),
    "league": lambda c: c.league("league_1"),
    "divisions": lambda c: c.divisions("league_1"),
    "competition_division": lambda c: c.competition_division("league_1"),
    "memberships": lambda c: c.memberships(league_id="league_1"),
    "rounds": lambda c: c.rounds(division_id="div_1"),
    "round": lambda c: c.round("round_1"),
    "policy_versions": lambda c: c.policy_versions("keeper"),
    "policy_version": lambda c: c.policy_version("pv"),
    "container_image": lambda c: c.container_image("img_1"),
    "experience_request": lambda c: c.experience_request("xreq_1"),
    "find_experience_requests": lambda c: c.find_experience_requests("t", 0.0),
    "cancel": lambda c: c.cancel("xreq_1"),
    "episode_results": lambda c: c.episode_results("ereq_1"),
    "episode_error_info": lambda c: c.episode_error_info("ereq_1"),
    "player_status": lambda c: c.player_status("ereq_1"),
    "credits": lambda c: c.credits(),
    "capabilities": lambda c: c.capabilities(),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


# ------------------------------------------------------------------- no answer


@every_call
def test_an_unreachable_server(client, nobody, call):
    with pytest.raises(ServerUnreachable) as caught:
        call(client.at(f"{nobody.url}/api"))
    assert f"127.0.0.1:{nobody.port}" in caught.value.what
    assert "tried 3 times for" in caught.value.what
    assert caught.value.not_done
    assert "again" in caught.value.next_step


@every_call
def test_a_silent_server(client, wire, call):
    with pytest.raises(ServerUnreachable):
        call(client(wire.silent, limits=Limits(read=0.05, tries=1, total=0.1, submit=0.1)))


@every_call
def test_a_server_with_a_cold(client, wire, call):
    with pytest.raises(ServerUnreachable, match="HTTP 503, warming up"):
        call(client(wire.reply({"detail": "warming up"}, 503)))


# ------------------------------------------------------------------ wrong answers


@every_call
def test_a_rejected_token(client, wire, call):
    with pytest.raises(CredentialsRejected) as caught:
        call(client(wire.reply({"detail": "token expired"}, 401)))
    assert "token expired" in caught.value.what
    assert "softmax set-token TOKEN --server http://127.0.0.1" in caught.value.next_step
    assert "user token" in caught.value.what


@every_call
def test_a_page_instead_of_json(client, wire, call):
    page = wire.reply("<!doctype html><title>Hello</title>", content_type="text/html")
    with pytest.raises(NotTheService) as caught:
        call(client(page))
    if call is not CALLS["capabilities"]:
        assert "text/html" in caught.value.what
    assert "--eval-server" in caught.value.next_step


@every_call
@pytest.mark.parametrize("body", ["null", "17", '"x"', "[17]", '{"entries": {}}', "{", "[[[]]]", "[null]"])
def test_json_of_another_kind(client, wire, call, body):
    objects = (CALLS["episode_results"], CALLS["episode_error_info"], CALLS["player_status"])
    if call in objects and body.startswith("{"):
        pytest.skip("any object is a result")
    with pytest.raises(NotTheService):
        call(client(wire.reply(body)))


@every_call
def test_a_redirect(client, wire, call):
    moved = wire.reply("", 308, [("Location", "https://elsewhere.example/login")])
    with pytest.raises(NotTheService, match="elsewhere"):
        call(client(moved))


@pytest.mark.parametrize("name", ["league", "memberships", "round", "experience_request"])
def test_what_is_not_permitted(client, wire, name):
    with pytest.raises(CredentialsRejected, match="does not permit it") as caught:
        CALLS[name](client(wire.reply({"detail": "not a team member"}, 403)))
    assert "softmax status" in caught.value.next_step


@pytest.mark.parametrize("status", [404, 422])
def test_a_league_that_does_not_exist(client, wire, status):
    detail = [{"loc": ["path", "league_id"], "msg": "not a league id", "type": "value_error"}]
    with pytest.raises(FieldUnavailable) as caught:
        client(wire.reply({"detail": detail}, status)).league("league_x")
    assert "league_x" in caught.value.what
    assert "path.league_id: not a league id" in caught.value.what
    assert "--eval-league" in caught.value.next_step


def test_a_request_that_is_gone(client):
    with pytest.raises(SubmissionUnknown, match="xreq_9"):
        client(routes={}).experience_request("xreq_9")


def test_an_anonymous_token_is_a_rejected_one(client):
    with pytest.raises(CredentialsRejected, match="anonymous"):
        client(routes={"/whoami": {"subject_type": "anonymous"}}).whoami()


def test_a_missing_field_is_named(client, sample):
    member = sample.member()
    del member["policy_version"]["version"]
    with pytest.raises(NotTheService, match=r"policy_version\.version: Field required"):
        client(routes={"/v2/league-policy-memberships": [member]}).memberships()


def test_many_wrong_fields_are_cut(client, sample):
    detail = sample.detail(episodes=[{}] * 50)
    with pytest.raises(NotTheService, match=r"episodes\.0\.id.*and 97 more"):
        client(routes={"/v2/experience-requests/xreq_1": detail}).experience_request("xreq_1")


def test_the_caller_says_what_was_not_done(client, wire):
    with pytest.raises(CredentialsRejected) as caught:
        client(wire.reply(None, 401)).league("league_1", not_done="xreq_7 goes on")
    assert caught.value.not_done == "xreq_7 goes on"


@pytest.mark.parametrize("bad", ["", ".", ".."])
def test_an_id_cannot_leave_its_place(client, bad):
    with pytest.raises(UsageError):
        client(routes={}).round(bad)


def test_an_id_is_quoted(client):
    made = client(routes={})
    with pytest.raises(EvalHarnessError):
        made.round("../../admin?x=1#y")
    assert made.server.requests[0].target == "/api/observatory/v2/rounds/..%2F..%2Fadmin%3Fx%3D1%23y"


@pytest.mark.parametrize(
    "root",
    ["", "embedded", "ftp://x/api", "http://", "http://me:pass-w0rd@x/api", "http://x/api?token=pass-w0rd",
     "http://x/#f", "http://[::1", "http://x:99999/api"],
)  # fmt: skip
def test_an_address_that_gets_no_token(client, root):
    with pytest.raises(UsageError) as caught:
        client.at(root)
    assert "--eval-server" in caught.value.next_step
    assert "pass-w0rd" not in str(caught.value)


# ----------------------------------------------------------------------- creates


def test_a_create_that_was_not_sent(client, nobody):
    with pytest.raises(NotSent) as caught:
        client.at(f"{nobody.url}/api").create_experience_request(BODY)
    assert isinstance(caught.value, ServerUnreachable)
    assert caught.value.not_done == "nothing was submitted"


def test_a_refused_create_shows_the_server_s_complaints(client, wire):
    detail = [
        {"loc": ["body", "roster", 2, "slot"], "msg": "slot is taken\x1b[31m", "type": "x", "input": 9},
        {"loc": ["body", "num_episodes"], "msg": "must be at most 100", "type": "y"},
    ]
    with pytest.raises(RequestRefused) as caught:
        client(wire.reply({"detail": detail}, 422)).create_experience_request(BODY)
    assert "roster.2.slot: slot is taken\ufffd[31m\n" in caught.value.what
    assert "num_episodes: must be at most 100" in caught.value.what
    assert caught.value.not_done == "nothing was submitted"


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("roster length must be 8", "HTTP 400, roster length must be 8"),
        ({"type": "locked", "message": "league is locked"}, "league is locked"),
        ({"why": "no", "code": 7}, "why: no"),
        (None, "HTTP 400"),
        ([["a"], "b"], "- a"),
    ],
)
def test_complaints_of_other_shapes(client, wire, detail, shown):
    with pytest.raises(RequestRefused) as caught:
        client(wire.reply({"detail": detail}, 400)).create_experience_request(BODY)
    assert shown in caught.value.what


def test_endless_complaints_are_cut(client, wire):
    with pytest.raises(RequestRefused, match="and 988 more"):
        client(wire.reply({"detail": ["x" * 500] * 1000}, 400), limits=Limits()).create_experience_request(
            BODY
        )


@pytest.mark.parametrize("status", [400, 404, 405, 409, 410, 413, 422])
def test_these_statuses_refuse(client, wire, status):
    with pytest.raises(RequestRefused) as caught:
        client(wire.reply({"detail": "no"}, status)).create_experience_request(BODY)
    assert isinstance(caught.value, Conflict) is (status == 409)


@pytest.mark.parametrize("status", [401, 403])
def test_these_reject_the_token(client, wire, status):
    with pytest.raises(CredentialsRejected) as caught:
        client(wire.reply({"detail": "no"}, status)).create_experience_request(BODY)
    assert caught.value.not_done == "nothing was submitted"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 302])
def test_these_leave_it_open(client, wire, status):
    made = client(wire.reply({"detail": "no"}, status, [("Location", "/x")]))
    with pytest.raises(AnswerLost) as caught:
        made.create_experience_request(BODY)
    assert caught.value.status == status
    assert isinstance(caught.value, SubmissionUnknown)
    assert len(made.server.requests) == 1


@pytest.mark.parametrize("fate", ["reset", "hangs up", "half", "page", "list", "no id"])
def test_an_answer_that_is_none_leaves_it_open(client, wire, sample, fate):
    whole = wire.reply(sample.detail())
    answer = {
        "reset": wire.reset,
        "hangs up": wire.hang_up_after(b""),
        "half": wire.hang_up_after(whole[:-5]),
        "page": wire.reply("<p>ok</p>", content_type="text/html"),
        "list": wire.reply([]),
        "no id": wire.reply({"status": "pending"}),
    }[fate]
    made = client(answer)
    with pytest.raises(AnswerLost) as caught:
        made.create_experience_request(BODY)
    assert len(made.server.requests) == 1
    assert "not sent again" in caught.value.not_done
    assert "never submitted twice" in caught.value.next_step


def test_a_limit_that_outlasts_the_patience_is_a_refusal(client, wire):
    rejected = wire.reply(
        {"detail": {"type": "api_rate_limit_exceeded", "retry_after_seconds": 600}},
        429,
        [("X-RateLimit-Outcome", "rejected"), ("Retry-After", "600")],
    )
    with pytest.raises(RequestRefused, match="api_rate_limit_exceeded"):
        client(rejected).create_experience_request(BODY)


# ----------------------------------------------------------------------- secrets


@every_call
@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_an_echoed_token_is_not_shown(client, wire, call, status):
    made = client(
        wire.reply({"detail": [{"loc": ["usr_s3cret-t0ken"], "msg": "Bearer usr_s3cret-t0ken"}]}, status,
                   [("X-Request-Id", "usr_s3cret-t0ken")])
    )  # fmt: skip
    try:
        call(made)
    except EvalHarnessError as problem:
        assert "s3cret" not in str(problem) + repr(problem)  # noqa: PT017
    assert "s3cret" not in repr(made)


def test_hostile_text_reaches_no_terminal(client, wire):
    hostile = "\x1b]8;;http://evil\x07click\x1b]8;;\x07\r\n\u202eevil"
    made = client(wire.reply({"detail": hostile}, 400))
    with pytest.raises(RequestRefused) as caught:
        made.create_experience_request(BODY)
    assert all(line.isprintable() for line in str(caught.value).splitlines())
