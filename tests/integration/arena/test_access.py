"""Who is let in, and what strangers get to see."""

import re
import socket

import pytest
import yaml


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}, {"X-Auth-Token": "wrong"}],
)
def test_without_the_token_it_is_a_401(arena, headers):
    for path in ("/whoami", "/v2/leagues", "/v2/experience-requests", "/jobs/1/artifacts/results"):
        assert arena.stranger.get(arena.base + path, headers=headers).status_code == 401
    answer = arena.stranger.post(arena.base + "/v2/experience-requests", json={}, headers=headers)
    assert answer.status_code == 401


def test_the_schema_is_forbidden_without_the_token(arena):
    assert arena.stranger.get(arena.base + "/openapi.json").status_code == 403
    assert arena.stranger.get(arena.base + "/docs").status_code == 403


def test_the_schema_describes_the_routes(arena):
    schema = arena.get("/openapi.json")

    assert "post" in schema["paths"]["/v2/experience-requests"]
    assert "/v2/experience-requests/{request_id}/cancel" in schema["paths"]
    assert not any(path.startswith(("/_arena", "/jobs")) for path in schema["paths"])


def test_the_legacy_header_is_accepted(arena):
    token = (arena.home / "token").read_text()

    answer = arena.stranger.get(arena.base + "/whoami", headers={"X-Auth-Token": token})

    assert answer.json()["subject_type"] == "user"


def test_whoami_has_every_field(arena):
    me = arena.get("/whoami")

    assert set(me) == {
        "user_email",
        "name",
        "is_softmax_team_member",
        "is_softmax_admin",
        "subject_type",
        "subject_id",
        "owner_user_id",
        "scopes",
    }


def test_the_credentials_are_for_this_server_and_private(arena):
    path = arena.home / "credentials" / "credentials.yaml"

    content = yaml.safe_load(path.read_text())

    assert content["tokens"] == {arena.ready["api"]: (arena.home / "token").read_text()}
    assert path.stat().st_mode & 0o777 == 0o600
    assert (arena.home / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["/api/observatory/whoami", "/_arena/counters", "/_arena/faults"])
def test_another_host_name_gets_nothing(arena, path):
    token = (arena.home / "token").read_text()

    headers = {"Host": "evil.example", "Authorization": f"Bearer {token}"}
    answer = arena.stranger.get(path, headers=headers)

    assert answer.status_code == 421


def test_it_listens_on_the_loopback_only(arena):
    port = int(arena.url.rpartition(":")[2])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which address would be used
            outside = probe.getsockname()[0]
    except OSError:
        pytest.skip("this machine has no other address")

    with socket.socket() as sock:
        sock.settimeout(1)
        assert sock.connect_ex((outside, port)) != 0


def test_job_routes_are_for_the_team(arena):
    for path in ("/jobs/1/artifacts/results", "/jobs/1/policy-logs", "/jobs/1/policy-logs/0"):
        assert arena.client.get(path).status_code == 403


def test_every_answer_has_a_request_id_and_no_server_path(arena):
    for path in ("/whoami", "/v2/nothing", "/v2/leagues/x"):
        answer = arena.client.get(path)
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])
        assert str(arena.home) not in answer.text


def test_images_of_others_are_private(arena):
    rival = arena.get("/stats/policy-versions", name_exact="rival", version=3)["entries"][0]

    detail = arena.get(f"/stats/policy-versions/{rival['id']}")

    assert detail["container_image_id"] is None


def test_an_alias_has_the_digest_of_the_build_it_copies(arena):
    def digest(name, version):
        [row] = arena.get("/stats/policy-versions", mine="true", name_exact=name, version=version)["entries"]
        image = arena.get(f"/stats/policy-versions/{row['id']}")["container_image_id"]
        answer = arena.get(f"/v2/container_images/{image}")
        assert answer["status"] == "ready"
        return answer["id"], answer["image_digest"]

    keeper, alias, newer = digest("keeper", 1), digest("keeper-alias", 1), digest("keeper", 2)

    assert keeper[1] == alias[1] != newer[1]
    assert keeper[0] != alias[0]


def test_mine_lists_only_what_is_owned(arena):
    mine = arena.get("/stats/policy-versions", mine="true", limit=1000)["entries"]
    everything = arena.get("/stats/policy-versions", limit=1000)["entries"]

    assert {(row["name"], row["version"]) for row in mine} == {
        ("keeper", 1),
        ("keeper", 2),
        ("keeper", 3),
        ("keeper", 4),
        ("keeper-alias", 1),
        *((name, version) for name in ("painter", "warden") for version in (1, 2, 3)),
    }
    assert len(everything) > 60
    assert arena.get("/stats/policy-versions", mine="true", name_exact="rival")["entries"] == []
    first = arena.get("/stats/policy-versions", mine="true", name_exact="keeper")["entries"][0]
    assert first["version"] == 4, "without a version the newest comes first"
