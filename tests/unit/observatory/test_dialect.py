"""Which generation a server is, from descriptions written by hand: whole ones, odd ones, and garbage."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.observatory.capabilities import Capabilities, read_capabilities
from pytest_evalharness.observatory.dialect import (
    Artifacts,
    Auth,
    assume,
    choose,
    most_rows,
    paging_of,
)
from pytest_evalharness.observatory.drift import MOST, changes, outline
from pytest_evalharness.observatory.paging import Paging

REQUESTS = "/v2/experience-requests"
CANCEL = {f"{REQUESTS}/{{xreq}}/cancel": {"post": {}}}
JOBS = {"/jobs/{job_id}/artifacts/{artifact_type}": {"get": {}}}
BY_KIND = "/v2/episode-requests/{ereq}/artifacts/{kind}"


def query(*names, most=None):
    schema = {"type": "integer"} if most is None else {"type": "integer", "maximum": most}
    return {"parameters": [{"name": name, "in": "query", "schema": schema} for name in names]}


def described(paths=None, *, listing=("limit", "cursor"), **more):
    """The description of a server with the least that makes it one of ours."""
    base = {REQUESTS: {"post": {}, "get": query(*listing)}}
    return read_capabilities(json.dumps({"paths": base | (paths or {}), **more}).encode())


def kinds(*words):
    """A route of artifacts by kind; without words it does not list any."""
    schema = {"type": "string", **({"enum": list(words)} if words else {})}
    ends = [{"name": "ereq", "in": "path"}, {"name": "kind", "in": "path", "schema": schema}]
    return {BY_KIND: {"get": {"parameters": ends}}}


def test_today():
    found = choose(described({**CANCEL, "/v2/episode-requests/{id}/artifacts/results": {"get": {}}}))
    assert (found.name, found.auth, found.paging) == ("current", Auth.BEARER, Paging.CURSOR)
    assert (found.artifacts, found.cancels, found.assumed) == (Artifacts.EPISODE, True, "")


def test_june_2026():
    schemes = {"t": {"type": "apiKey", "in": "header", "name": "x-auth-token"}}
    found = choose(
        described(
            {**JOBS, **kinds()},
            listing=("limit", "offset"),
            components={"securitySchemes": schemes},
            security=[{"t": []}],
        )
    )
    assert (found.name, found.auth, found.paging) == ("2026-06", Auth.LEGACY, Paging.OFFSET)
    assert (found.artifacts, found.cancels) == (Artifacts.JOB, False)


@pytest.mark.parametrize(
    ("paths", "listing"),
    [(CANCEL, ("limit", "offset")), (JOBS, ("limit", "cursor")), ({}, ("limit", "cursor")), (CANCEL, ())],
)
def test_in_between(paths, listing):
    assert choose(described(paths, listing=listing)).name == "mixed"


# ---------------------------------------------------------------------------- artifacts


@pytest.mark.parametrize(
    ("paths", "chosen"),
    [
        ({}, Artifacts.EPISODE),
        (JOBS, Artifacts.JOB),
        ({**JOBS, **kinds()}, Artifacts.JOB),
        ({**JOBS, **kinds(), **CANCEL}, Artifacts.EPISODE),
        ({**JOBS, **kinds(), "/v2/episode-requests/download-manifest": {"get": {}}}, Artifacts.EPISODE),
        ({**JOBS, **kinds("logs", "spec")}, Artifacts.JOB),
        ({**JOBS, **kinds("logs", "spec"), **CANCEL}, Artifacts.JOB),
        ({**JOBS, **kinds("logs", "results")}, Artifacts.EPISODE),
        ({**JOBS, "/v2/episode-requests/{id}/artifacts/results": {"get": {}}}, Artifacts.EPISODE),
        ({"/jobs/{id}/artifacts/logs": {"get": {}}, **kinds("logs")}, Artifacts.EPISODE),
        ({"/jobs/{id}/artifacts/results": {"post": {}}}, Artifacts.EPISODE),
        ({"/api/observatory/jobs/{id}/artifacts/results": {"get": {}}}, Artifacts.JOB),
    ],
)
def test_where_results_are_read(paths, chosen):
    assert choose(described(paths)).artifacts is chosen


# -------------------------------------------------------------------------------- auth

BEARER = {"type": "http", "scheme": "Bearer"}
LEGACY = {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}


@pytest.mark.parametrize(
    ("schemes", "asked", "auth"),
    [
        ({}, None, Auth.BEARER),
        ({"b": BEARER}, None, Auth.BEARER),
        ({"l": LEGACY}, None, Auth.LEGACY),
        ({"b": BEARER, "l": LEGACY}, None, Auth.BEARER),
        ({"b": BEARER, "l": LEGACY}, [{"l": []}], Auth.LEGACY),
        ({"b": BEARER, "l": LEGACY}, [{"l": []}, {"b": []}], Auth.BEARER),
        ({"l": LEGACY, "o": {"type": "oauth2"}}, None, Auth.BEARER),
        ({"l": LEGACY, "h": {"type": "apiKey", "in": "header", "name": "Authorization"}}, None, Auth.BEARER),
        ({"q": {"type": "apiKey", "in": "query", "name": "X-Auth-Token"}}, None, Auth.BEARER),
        ({"x": {"type": "apiKey", "in": "header", "name": "X-Other"}}, None, Auth.BEARER),
        ({"l": LEGACY}, [{"nobody": []}], Auth.LEGACY),
        ({"l": 3, "m": None}, "nonsense", Auth.BEARER),
    ],
)
def test_the_header_for_the_token(schemes, asked, auth):
    words = {} if asked is None else {"security": asked}
    assert choose(described(components={"securitySchemes": schemes}, **words)).auth is auth


def test_a_header_that_single_calls_ask_for():
    schemes = {"b": BEARER, "l": LEGACY}
    operations = {"/v2/leagues": {"get": {"security": [{"l": []}]}, "parameters": []}}
    assert choose(described(operations, components={"securitySchemes": schemes})).auth is Auth.LEGACY


# ------------------------------------------------------------------------------- lists


def test_how_lists_are_asked_for():
    found = described(
        {
            "/v2/a": {"get": query("limit", "cursor", most=200)},
            "/v2/b": {"get": query("offset", "limit")},
            "/v2/c": {"get": query("limit", most=50)},
            "/v2/d": {"get": query("league_id")},
        }
    )
    told = {
        path: (paging_of(found, path), most_rows(found, path))
        for path in ("/v2/a", "/v2/b", "/v2/c", "/v2/d")
    }
    assert told == {
        "/v2/a": (Paging.CURSOR, 200), "/v2/b": (Paging.OFFSET, None), "/v2/c": (Paging.LIMIT, 50),
        "/v2/d": (Paging.WHOLE, None),
    }  # fmt: skip
    assert (paging_of(found, "/v2/x"), most_rows(found, "/v2/x")) == (Paging.UNKNOWN, None)
    assert paging_of(Capabilities(), "/v2/a") is Paging.UNKNOWN


def test_parameters_behind_references_and_alternatives():
    limit = {"$ref": "#/components/parameters/Limit"}
    maybe = {"name": "cursor", "in": "query", "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    found = described(
        {"/v2/a": {"parameters": [limit], "get": {"parameters": [maybe]}}},
        components={
            "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"$ref": "#/components/schemas/N"}}},
            "schemas": {"N": {"anyOf": [{"type": "integer", "maximum": 30}, {"type": "null"}]}},
        },
    )  # fmt: skip
    assert (paging_of(found, "/v2/a"), most_rows(found, "/v2/a")) == (Paging.CURSOR, 30)


def test_a_description_that_goes_round_in_circles():
    loop = {"$ref": "#/components/schemas/A"}
    found = described(
        {
            "/v2/a": {
                "get": {"parameters": [{"name": "limit", "in": "query", "schema": loop}], "requestBody": loop}
            }
        },
        components={"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": loop}},
    )
    assert most_rows(found, "/v2/a") is None
    assert found.takes("GET", "/v2/a", "x") is False


@pytest.mark.parametrize(
    ("participant", "told"),
    [
        ({"properties": {"position": {}, "kind": {}}}, True),
        ({"properties": {"position": {}}}, False),
        ({"oneOf": [{"$ref": "#/components/schemas/P"}, {"properties": {"kind": {}}}]}, True),
        ({"oneOf": [{"$ref": "#/components/schemas/P"}, {"properties": {"user_id": {}}}]}, False),
        ({}, None),
        ("nonsense", None),
    ],
)
def test_whether_participants_tell_their_kind(participant, told):
    shapes = {
        "P": {"properties": {"kind": {}}},
        "Episode": {"properties": {"participants": {"type": "array", "items": participant}}},
        "Other": {"properties": {"position": {}}},
    }
    assert described(components={"schemas": shapes}).tells_kind is told


# ----------------------------------------------------------------------------- garbage


@pytest.mark.parametrize(
    "document",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"paths": []}', b'{"paths": 3}', b"\xff\xfe", b"[" * 100_000],
    ids=range(9),
)
def test_what_is_no_description(document):
    with pytest.raises(ValueError, match=r".+"):
        read_capabilities(document)


def test_a_description_of_something_else():
    found = choose(read_capabilities(b'{"paths": {"/pets": {"get": {}}}, "info": {"title": "Pets"}}'))
    assert found.name == "assumed"
    assert "no way to create an experience request" in found.words
    assert found.to_json()["digest"]
    assert (found.auth, found.artifacts, found.cancels) == (Auth.BEARER, Artifacts.EPISODE, None)


def test_an_assumed_dialect_says_why_and_what():
    found = assume("HTTP 403\x1b[31m")
    assert found.words == (
        "not described (HTTP 403\ufffd[31m); assumed: Bearer, whatever comes, artifacts of episodes, cancel unknown"
    )
    told = found.to_json()
    assert (told["dialect"], told["digest"], told["cancels"]) == ("assumed", "", None)
    assert json.loads(json.dumps(told)) == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["paths", "get", "post", REQUESTS, BY_KIND, "parameters", "name", "in", "schema", "query", "path", "limit",
             "maximum", "enum", "anyOf", "$ref", "components", "schemas", "securitySchemes", "security", "type",
             "requestBody", "content", "application/json", "properties", "participants", "items", "info", "title"]
        ) | st.text(max_size=4),
        inner,
        max_size=5,
    ),
    max_leaves=30,
)  # fmt: skip


@given(JSON, JSON, JSON)
def test_no_garbage_breaks_the_choice(paths, components, rest):
    """Whatever a document holds: it is refused as none, or something is chosen that can be written down."""
    document = {**(rest if isinstance(rest, dict) else {}), "paths": paths, "components": components}
    try:
        found = choose(read_capabilities(json.dumps(document).encode()))
    except ValueError:
        assert not isinstance(paths, dict)
        return
    assert all(part.isprintable() for part in found.words)
    json.dumps(found.to_json(), allow_nan=False)
    assert changes(outline(found.capabilities), outline(found.capabilities)) == []


# ------------------------------------------------------------------------------- drift


def test_drift_in_words():
    before = outline(described({**JOBS, "/v2/pets": {"get": query("sort")}}, listing=("limit", "offset")))
    now = outline(described({**CANCEL, "/v2/pets": {"get": {}}}, listing=("limit", "cursor")))
    assert changes(before, now) == [
        "GET /jobs/{}/artifacts/{} (artifacts of a job) is gone",
        "POST /v2/experience-requests/{}/cancel (stopping a request) is new",
        "GET /v2/experience-requests (the list of requests) no longer takes the parameter offset",
        "GET /v2/experience-requests (the list of requests) takes the new parameter cursor",
        "GET /v2/pets no longer takes the parameter sort",
    ]
    assert changes(now, now) == []


def test_fields_of_a_body_drift_too():
    def with_fields(*names):
        shape = {"properties": {name: {} for name in names}}
        body = {"requestBody": {"content": {"application/json": {"schema": shape}}}}
        return outline(described({REQUESTS: {"post": body}}))

    assert changes(with_fields("roster", "notes"), with_fields("roster", "title", "state")) == [
        "POST /v2/experience-requests (submitting a request) no longer takes the field notes",
        "POST /v2/experience-requests (submitting a request) takes the new fields state, title",
    ]


def test_much_drift_is_counted_and_what_a_run_needs_comes_first():
    before = outline(described({f"/v2/a{number}": {"get": {}} for number in range(20)}))
    told = changes(before, outline(described(CANCEL)))
    assert len(told) == MOST + 1
    assert told[0].startswith("POST /v2/experience-requests/{}/cancel")
    assert told[-1] == "13 more calls and parameters changed"


def test_hostile_names_in_a_description_are_harmless():
    now = outline(described({"/v2/\x1b[31m": {"get": query("\u202ex")}}))
    told = changes(outline(described()), now)
    assert told == ["GET /v2/\ufffd[31m is new"]
    assert all(line.isprintable() for line in told)
