"""Whatever is asked of any described route, the server answers as its description says, and never breaks."""

import collections
import json
import shutil
from urllib.parse import quote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
TEXT = st.text(max_size=12) | st.sampled_from(
    ["", "0", "-1", "9" * 30, "null", "true", "nan", "../..", "%00", "a" * 300]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module", params=["current", pytest.param("2026-06", marks=pytest.mark.slow)])
def described(request, founded, launched, tmp_path_factory):
    """A server, its description, and ids that are there."""
    home = shutil.copytree(founded, tmp_path_factory.mktemp("described") / "home")
    arena = launched(home, "--dialect", request.param)
    return arena, arena.get("/openapi.json"), _known(arena)


def _known(arena):
    """For the names of parameters, values that mean something here."""
    made = arena.play(arena.body(num_episodes=2))
    episode = arena.detail(made["id"])["episodes"][0]
    rounds = arena.get("/v2/rounds", league_id=DAILY)["entries"]
    versions = [each["policy_version_id"] for each in episode["participants"]]

    def of_june(path):
        """Ids of what there was in June only."""
        return [each["id"] for each in arena.client.get(path, params={"limit": 2}).json().get("entries", ())]

    pools = {"pool_id": found} if (found := of_june("/v2/pools")) else {}
    return {
        **pools, "recorded_id": [episode["episode_id"], *of_june("/episodes")], "agent": ["0", "7"],
        "request_id": [made["id"]], "episode_id": [episode["id"]], "job_id": [str(episode.get("job_id"))],
        "ids": [made["id"], episode["id"]], "version_id": versions, "policy_version_id": versions,
        "round_id": [each["id"] for each in rounds[:3]], "league_id": [DAILY], "coworld_id": [made["coworld_id"]],
        "division_id": [each["id"] for each in arena.get("/v2/divisions", league_id=DAILY)],
        "position": ["0", "7", "8"], "index": ["0", "7", "8"], "artifact_type": ["results", "error_info", "logs", "replay"],
        "include": ["results", "error_info", "replay"], "view": ["progress", "results"], "limit": ["1", "2", "50"],
        "offset": ["0", "1", "9"], "mine": ["true", "false"], "active_only": ["true", "false"], "version": ["2"],
        "name_exact": ["keeper"], "status": ["completed"], "source": ["experience_request"],
    }  # fmt: skip


def _routes(description):
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            yield method.upper(), path, told


def _keeps_waiting(seconds):
    try:
        return 0 < float(seconds) <= 60
    except ValueError:
        return False


@st.composite
def questions(draw, routes, known):
    """A route, and what is asked of it: much of it known, some of it anything."""
    method, path, told = draw(st.sampled_from(routes))
    query = []
    for parameter in told.get("parameters", ()):
        name = parameter["name"]
        if not parameter.get("required") and draw(st.booleans()):
            continue
        value = draw(st.sampled_from(known[name]) if name in known and draw(st.integers(0, 3)) else TEXT)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe="") or "-")
        elif name == "wait_seconds" and _keeps_waiting(value):
            query.append((name, "0.01"))  # to be kept waiting is described, and takes long
        else:
            query.append((name, value))
    return method, path, query, told


def _checked(answer, told, description):
    assert answer.status_code < 500, answer.text
    kind = answer.headers.get("content-type", "")
    if answer.status_code >= 400:
        detail = answer.json()["detail"]
        assert isinstance(detail, list if answer.status_code == 422 else str)
    elif kind == "application/json":
        schema = told["responses"]["200"]["content"]["application/json"]["schema"]
        whole = {"components": description["components"], "allOf": [schema]}
        jsonschema.Draft202012Validator(whole).validate(answer.json())


def test_every_question_is_answered_as_described(described):
    arena, description, known = described
    routes = [route for route in _routes(description) if route[0] == "GET" or "{request_id}" in route[1]]
    assert len(routes) > 30
    successes = set()

    @settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
    @given(questions(routes, known))
    def tried(question):
        method, path, query, told = question
        answer = arena.client.request(method, path, params=query)
        _checked(answer, told, description)
        if answer.status_code == 200:
            successes.add((method, told["operationId"]))

    tried()
    assert len(successes) > len(routes) / 2, "most of what was asked was refused at the door"


def test_every_body_is_taken_or_refused_as_described(described):
    arena, description, _ = described
    told = description["paths"]["/v2/experience-requests"]["post"]
    good = arena.body(num_episodes=1, notes="n", idempotency_key="described-1", title="t")
    answered = collections.Counter()

    @settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def tried(data):
        body = json.loads(json.dumps(good))
        place = data.draw(
            st.sampled_from([body, body["target"], body["roster"][0], body["roster"][0]["player"]])
        )
        key = data.draw(st.sampled_from(sorted(place)) | TEXT)
        if data.draw(st.booleans()):  # half of them ask for no more than what a client may ask for
            place, key = body, data.draw(st.sampled_from(["notes", "title", "idempotency_key"]))
            place[key] = data.draw(st.text("abc é\N{SNOWMAN}", min_size=8, max_size=40))
        else:
            place[key] = data.draw(JSON)
        answer = arena.client.post("/v2/experience-requests", json=body)
        answered[answer.status_code] += 1
        _checked(answer, told, description)

    tried()
    assert answered[422] > 5
    assert answered[200] > 5, answered
