"""Whatever a server answers, every call of the client ends soon: with what the answer says, or with an error of ours.

Never with an exception of a library, and never with the token in a message.
"""

import contextlib
import gzip
import inspect
import json
import random
import time
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.text import redact
from pytest_evalharness.errors import EvalHarnessError, NotTheService
from pytest_evalharness.net import Limits
from pytest_evalharness.observatory import Identity, Observatory, Token
from pytest_evalharness.observatory.episodes import EpisodeCalls
from tests.unit.net.scripted_server import (
    ScriptedServer,
    SkippingClock,
    drip,
    hang_up_after,
    reply,
    reset_after,
    silent,
)
from tests.unit.observatory.conftest import Samples

SECRET = "usr_s3cret-t0ken"
SAMPLE = Samples()
PATIENCE = 120.0
"""Seconds that a call may take, whatever happens, on a busy machine; its own limits are far shorter."""

LIST = [SAMPLE.member()]
DETAIL = SAMPLE.detail()
EREQ = f"ereq_{UUID(int=1)}"
EPISODES = {
    "of_round": (lambda c: list(c.episodes.of_round("round_1")), {"entries": [SAMPLE.episode()]}),
    "of_pool": (lambda c: list(c.episodes.of_pool("pool_1")), [SAMPLE.episode()]),
    "of_division": (lambda c: list(c.episodes.of_division("div_1")), [SAMPLE.episode()]),
    "of_version": (lambda c: list(c.episodes.of_version("pv")), {"entries": [SAMPLE.episode()]}),
    "rounds": (lambda c: list(c.episodes.rounds("div_1")), {"entries": [{"id": "round_1", "status": "completed"}]}),
    "of_request": (lambda c: c.episodes.of_request("xreq_1"), DETAIL),
    "request_status": (lambda c: c.episodes.request_status("xreq_1"), DETAIL),
    "standing": (lambda c: c.episodes.standing([EREQ]), {"entries": [{**SAMPLE.episode(), "id": EREQ}]}),
    "row": (lambda c: c.episodes.row(EREQ), SAMPLE.episode()),
    "recorded": (lambda c: c.episodes.recorded(str(UUID(int=1))), SAMPLE.episode()),
    "sealed": (lambda c: c.episodes.sealed([EREQ]), {"entries": [{"id": EREQ, "evidence_state": "sealed"}]}),
    "manifest": (
        lambda c: list(c.episodes.manifest([EREQ], ["results"])),
        {"entries": [{"episode_request_id": EREQ, "category": "results", "state": "pending"}]},
    ),
    "seats": (lambda c: c.episodes.seats(EREQ), [{"position": 0, "policy_version_id": "pv", "has_log": True}]),
    "of_job": (lambda c: c.episodes.of_job("job", "policy-logs"), ["policy_agent_0.log"]),
}  # fmt: skip
"""Those that list episodes and what they left."""
CALLS = {
    "whoami": (lambda c: c.whoami(), {"subject_type": "user", "subject_id": "usr_1"}),
    "learn": (lambda c: c.learn(), {"openapi": "3.1.0", "paths": {"/v2/experience-requests": {"post": {}}}}),
    "capabilities": (lambda c: c.capabilities(), {"openapi": "3.1.0", "paths": {"/whoami": {"get": {}}}}),
    "knows_idempotency_keys": (lambda c: c.knows_idempotency_keys(), {"openapi": "3.1.0", "paths": {}}),
    "credits": (lambda c: c.credits(), {"status": {"balance_microcredits": 1}, "recent_requests": []}),
    "league": (lambda c: c.league("league_1"), {"id": "league_1", "name": "Daily"}),
    "divisions": (lambda c: c.divisions("league_1"), [{"id": "div_1", "type": "competition", "level": 1}]),
    "competition_division": (lambda c: c.competition_division("league_1"), [{"id": "div_1", "level": 1}]),
    "memberships": (lambda c: c.memberships(league_id="league_1"), LIST),
    "rounds": (lambda c: c.rounds(division_id="div_1"), {"entries": [{"id": "round_1", "status": "completed"}]}),
    "round": (lambda c: c.round("round_1"), {"id": "round_1", "results": [{"rank": 1, "score": 0.5, "policy_version": LIST[0]["policy_version"]}]}),
    "leaderboard": (lambda c: c.leaderboard("div_1"), {"entries": [{"rank": 1, "player_id": "ply_1"}]}),
    "round_episodes": (lambda c: c.round_episodes("round_1"), {"entries": [SAMPLE.episode()], "next_cursor": "x"}),
    "policy_versions": (lambda c: c.policy_versions("keeper"), {"entries": [{"id": "1", "name": "keeper", "version": 1}]}),
    "policy_version": (lambda c: c.policy_version("pv"), {"id": "1", "container_image_id": "img_1"}),
    "container_image": (lambda c: c.container_image("img_1"), {"id": "img_1", "image_digest": "sha256:00"}),
    "create_experience_request": (lambda c: c.create_experience_request({"notes": "token"}), DETAIL),
    "experience_request": (lambda c: c.experience_request("xreq_1"), DETAIL),
    "find_experience_requests": (lambda c: c.find_experience_requests("t", 0.0), {"entries": [SAMPLE.row(notes="t")]}),
    "cancel": (lambda c: c.cancel("xreq_1"), SAMPLE.row()),
    "episode_results": (lambda c: c.episode_results("ereq_1", late_seconds=0.0), {"scores": [1.0] * 8}),
    "episode_error_info": (lambda c: c.episode_error_info("ereq_1", late_seconds=0.0), {"error_type": "oom"}),
    "player_status": (lambda c: c.player_status("ereq_1"), {"players": [{"slot": 0, "state": "exited"}]}),
    "policy_artifact": (lambda c: c.policy_artifact("ereq_1", "pv", 0), {"zip": 1}),
    "policy_log": (lambda c: c.policy_log("ereq_1", "pv", 0), {"log": "text"}),
    "coworld": (lambda c: c.coworld("cow_1"), {"id": "cow_1", "manifest": {"game": {"name": "x"}}}),
    **{f"episodes.{name}": call for name, call in EPISODES.items()},
    "feed": (
        lambda c: c.feed.page("xreq_1", cursor="c"),
        {
            "batches": [{"id": "xreq_1", "status": "running", "episode_count": 1}], "phase": "changes", "entries": [],
            "next_cursor": "d", "has_more": False, "poll_after_seconds": 1,
        },
    ),
}  # fmt: skip
"""Every call, and an answer that it may well get."""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**25), 2**63])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["", "\ud800", "\x00", "\x1b[31m", "9" * 400, "2026-13-45T99:99:99Z", SECRET, "completed"]
    )
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12
)  # fmt: skip


@st.composite
def spoilt(draw, answer):
    """An answer in which one thing is another, or missing, or comes with more."""
    answer = json.loads(json.dumps(answer))
    place, ways = answer, []
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        ways.append((place, key))
        place = place[key]
    where, key = draw(st.sampled_from(ways))
    match draw(st.sampled_from(["other", "missing", "more"])):
        case "other":
            where[key] = draw(JSON)
        case "missing":
            del where[key]
        case "more" if isinstance(where, dict):
            where[draw(st.text(max_size=8))] = draw(JSON)
        case _:
            where.append(draw(JSON))
    return answer


@st.composite
def answers(draw, good):
    """What a server that is broken, or none, sends for a whole answer."""
    whole = json.dumps(good).encode()
    status = draw(
        st.sampled_from(
            [200] * 6 + [201, 204, 206, 299, 302, 400, 404, 409, 418, 422, 429, 500, 503, 599, 999]
        )
    )
    kind = draw(
        st.sampled_from(["application/json"] * 3 + ["text/html", "", "\x80", "application/octet-stream"])
    )
    encoding = draw(
        st.sampled_from([[]] * 4 + [[("Content-Encoding", word)] for word in ("gzip", "deflate", "br", "?")])
    )
    retry = draw(
        st.sampled_from([[]] * 4 + [[("Retry-After", word)] for word in ("-1", "soon", "9" * 30, "nan")])
    )
    form = draw(st.sampled_from(["spoilt", "spoilt", "json", "cut", "page", "bytes", "deep", "zipped"]))
    if form == "spoilt":
        body = json.dumps(draw(spoilt(good))).encode()
    elif form == "json":
        body = json.dumps(draw(JSON)).encode()
    elif form == "cut":
        body = whole[: draw(st.integers(0, len(whole) - 1))]
    elif form == "page":
        body = b"<!doctype html><title>Sign in</title><h1>\x1b[2J Sign in</h1>"
    elif form == "bytes":
        body = draw(st.binary(max_size=60))
    elif form == "deep":
        body = draw(st.sampled_from([b"[", b'{"entries":['])) * 100_000
    else:
        body, encoding = gzip.compress(whole)[: draw(st.integers(0, 60))], [("Content-Encoding", "gzip")]
    return reply(body, status, [*encoding, *retry], content_type=kind)


@st.composite
def deliveries(draw, good):
    """An answer, and how it comes: whole, cut off, followed by a reset, or as no HTTP at all."""
    whole = draw(answers(good))
    end = draw(st.integers(0, min(len(whole), 400)))
    way = draw(st.sampled_from(["whole"] * 6 + ["hangs up", "reset", "no http"]))
    if way == "whole":
        return whole
    if way == "no http":
        return hang_up_after(draw(st.binary(max_size=80)) + b"\r\n\r\n")
    return hang_up_after(whole[:end]) if way == "hangs up" else reset_after(whole[:end])


class Server(ScriptedServer):
    """Answers everything alike, with whatever is to be answered now."""

    def __init__(self):
        self.now = b""
        super().__init__(script=lambda _: self.now)


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def forgotten_secrets():
    before = set(redact._secrets)
    yield
    redact._secrets.intersection_update(before)


@contextlib.contextmanager
def client(server, **limits):
    token = Token(SECRET, identity=Identity.USER, source="a test")
    given_limits = Limits(**{"connect": 1.0, "read": 1.0, "total": 3.0, "submit": 3.0, "tries": 2, **limits})
    with Observatory(
        f"{server.url}/api",
        token,
        clock=SkippingClock(),
        rng=random.Random(3),
        environ={},
        limits=given_limits,
    ) as made:
        yield made


def outcome(server, call, **limits):
    """What a call came to: its value, or an error of ours. Everything else is a failure of the test."""
    started = time.monotonic()
    with client(server, **limits) as made:
        try:
            found = call(made)
        except EvalHarnessError as problem:
            found = problem
    assert time.monotonic() - started < PATIENCE
    if isinstance(found, EvalHarnessError):
        told = str(found) + repr(found)
        told.encode()  # nothing that a terminal or a file could not take
        assert SECRET not in told
        assert "\x1b" not in told
        assert found.not_done or found.next_step
    return found


def test_no_call_is_left_out():
    own = {name for name, _ in inspect.getmembers(Observatory) if not name.startswith("_")}
    assert own - {"close", "dialect", "episodes"} == {name for name in CALLS if "." not in name}
    inner = {name for name, _ in inspect.getmembers(EpisodeCalls) if not name.startswith("_")}
    told_by_the_description = {"dialect", "has_manifest", "of_jobs", "filters_by", "streams"}
    assert inner - told_by_the_description == set(EPISODES)


@pytest.mark.failure_mode(number=6)
@pytest.mark.parametrize("name", CALLS)
def test_garbage_of_every_kind(server, name):
    call, good = CALLS[name]

    @settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(deliveries(good))
    def tried(delivery):
        server.now = delivery
        outcome(server, call)

    tried()


@pytest.mark.parametrize("name", CALLS)
def test_a_good_answer_is_near_what_is_spoilt(server, name):
    """Otherwise garbage would never come further than the door."""
    call, good = CALLS[name]
    server.now = reply(good)
    found = outcome(server, call)
    assert not isinstance(found, NotTheService), found


@pytest.mark.failure_mode(number=38)
@pytest.mark.parametrize("name", ["memberships", "create_experience_request"])
@pytest.mark.parametrize("unit", [b"[", b'[{"id":"a"},', b" "], ids=["nested", "rows", "blanks"])
def test_fifty_megabytes(server, name, unit):
    call, _ = CALLS[name]
    server.now = reply(unit * (50 * 1024 * 1024 // len(unit)))
    assert isinstance(outcome(server, call, read=10.0, total=12.0, submit=12.0), EvalHarnessError)


@pytest.mark.parametrize("name", ["whoami", "memberships", "create_experience_request", "policy_artifact"])
@pytest.mark.parametrize(
    "way",
    [silent, drip(reply({"a": 1}), 0.05), drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 30_000, 0.01)],
    ids=["silent", "a body", "a header"],
)
def test_who_never_gets_to_the_point_is_left(server, name, way):
    call, _ = CALLS[name]
    server.now = way
    found = outcome(server, call, read=0.2, total=0.4, submit=0.4)
    assert isinstance(found, EvalHarnessError)
    assert not isinstance(found, NotTheService)
