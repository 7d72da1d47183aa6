"""The real `coworld` client, unpatched, against our server.

`tests/conformance/install.sh` makes its virtual environment; without one these tests skip.
"""

import json
import os
from pathlib import Path

import httpx
import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.league.watch import ended

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"


def test_it_knows_who_it_is(run):
    assert "subject_type: user" in run("status", tool="softmax")


def test_it_lists_its_requests(run, request_id):
    assert "by the client" in run("xp-request", "list", "--mine")


def test_it_watches_to_the_end(run, request_id, tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    lines = run(
        "xp-request", "watch", request_id, "--jsonl", "--timeout", "300", "--checkpoint", str(checkpoint)
    ).splitlines()

    pages = [json.loads(line) for line in lines]
    assert pages[-1]["batches"][0]["status"] == "completed"
    assert len({entry["id"] for page in pages for entry in page["entries"]}) == 6
    run("xp-request", "watch", request_id, "--timeout", "300", "--checkpoint", str(checkpoint))
    run("xp-request", "watch", request_id, "--timeout", "300", "--until", "evidence", "--include", "results")


def test_it_reads_a_request(run, request_id, episode_id):
    detail = json.loads(run("xp-request", "get", request_id, "--json"))
    text = run("xp-request", "get", request_id)

    assert detail["status"] == "completed"
    assert detail["completed_count"] == len(detail["episodes"]) == 6
    assert "completed" in text


@pytest.mark.parametrize("view", ["progress", "results"])
def test_it_reads_episodes_in_bulk(run, request_id, episode_id, view):
    lines = run("xp-request", "episodes", request_id, "--view", view, "--jsonl", "--limit", "4").splitlines()

    entries = [entry for line in lines for entry in json.loads(line)["entries"]]
    assert len(entries) == 6
    assert {entry["evidence_state"] for entry in entries} == {"sealed"}


def test_it_downloads_results(run, request_id, episode_id, tmp_path):
    run("xp-request", "download", request_id, "--include", "results", "-d", str(tmp_path))

    files = list(tmp_path.rglob("results.json"))
    assert len(files) == 6
    assert all(json.loads(path.read_text())["scores"] for path in files)


def test_it_reads_an_episode(run, episode_id):
    row = json.loads(run("episodes", episode_id, "--json"))
    results = json.loads(run("episode-results", episode_id))

    assert row["participants"][0]["label"] == "keeper:v2"
    assert len(results["scores"]) == 8
    assert "keeper:v2" in run("episode-stats", episode_id)
    assert "policy_agent_0.log" in run("episode-logs", episode_id, "--list")
    assert run("episode-logs", episode_id, "--agent", "0")
    assert run("episode-logs", episode_id, "--game")
    assert episode_id[:12] in run("episodes", "--policy", "keeper:v2")


@pytest.mark.parametrize(
    "command",
    [
        ["leagues"],
        ["leagues", DAILY],
        ["divisions", "--league", DAILY],
        ["rounds", "--league", DAILY],
        ["memberships", "--league", DAILY, "--active-only"],
        ["memberships", "--mine"],
        ["submissions", "--mine"],
        ["results", DAILY],
        ["credits"],
    ],
    ids=" ".join,
)
def test_it_shows_the_league(run, command):
    assert run(*command)


def test_it_shows_a_round_and_a_division(run, arena):
    rounds = json.loads(run("rounds", "--league", DAILY, "--status", "completed", "--json"))["entries"]
    divisions = json.loads(run("divisions", "--json"))

    assert json.loads(run("rounds", rounds[0]["id"], "--json"))["results"]
    assert run("results", rounds[0]["id"])
    assert run("results", divisions[0]["id"])
    assert run("episodes", "--round", rounds[0]["id"])
    members = json.loads(run("memberships", "--league", DAILY, "--limit", "50", "--json"))
    assert members["next_cursor"]


def test_what_it_created_is_read_by_ours_to_the_end(run, ours, request_id, episode_id):
    detail = ours.experience_request(request_id)

    assert ended(detail)
    assert detail.notes == "conformance"
    assert [row.id for row in ours.find_experience_requests("conformance", 0.0)] == [request_id]
    assert episode_id in [episode.id for episode in detail.episodes]
    for episode in detail.episodes:
        told = json.loads(run("episode-results", episode.id))
        results = SeatResults(ours.episode_results(episode.id))
        assert [results.won(seat) for seat in range(8)] == told["win"]
        assert [results.score(seat) for seat in range(8)] == told["scores"]
        tested = episode.participants[0]
        assert (tested.policy_name, tested.version) == ("keeper", 2)


def test_what_ours_created_is_watched_and_read_by_it(run, ours):
    roster = [{"player": {"policy_ref": "keeper:v1"}, "slot": 0}, *[{"player": {"top_n": 9}}] * 7]
    body = {"target": {"league_id": DAILY}, "roster": roster, "num_episodes": 2, "notes": "by ours"}
    made = ours.create_experience_request({**body, "idempotency_key": "by-ours"})
    ours.experience_request(made.id, fresh=True)

    run("xp-request", "watch", made.id, "--timeout", "300")
    told = json.loads(run("xp-request", "get", made.id, "--json"))

    assert (told["status"], told["completed_count"], told["notes"]) == ("completed", 2, "by ours")
    assert {each["id"] for each in told["episodes"]} == {each.id for each in made.episodes}
    assert made.id in [
        row["id"] for row in json.loads(run("xp-request", "list", "--mine", "--json"))["entries"]
    ]


def test_it_says_what_was_refused(run):
    body = {"roster": [{"player": {"policy_ref": "nobody:v1"}}] * 8, "target": {"league_id": DAILY}}

    told = run("xp-request", "create", "-", text=json.dumps(body), code=1)

    assert "(400)" in told
    assert "policy_ref 'nobody:v1' did not match an active runnable policy" in told


def test_its_schema_is_readable_by_a_client_that_has_the_token(arena):
    token = (Path(arena["credentials"]).parent / "token").read_text()

    answer = httpx.get(
        arena["api"] + "/observatory/openapi.json",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
    )

    assert answer.json()["openapi"].startswith("3.")


# ---------------------------------------------- what it created, judged by us


@pytest.fixture(scope="module")
def created(run, ours):
    """Creates requests with the real client: one policy in seat 0, and the same seven players in the others."""
    division = ours.competition_division(DAILY).id
    live = ours.memberships(league_id=DAILY, division_id=division, active_only=True)
    rivals = list({one.player_id: one.policy_version.id for one in live if one.player_id}.values())
    roles = [
        {"role": role} for role in ["crew", "crew", "imposter", "imposter", "crew", "crew", "crew", "crew"]
    ]

    def create(policy, *, seats=None, games=6, **config):
        players = seats or [policy, *[one for one in rivals if one != policy][:7]]
        roster = [{"player": {"policy_ref": one}, "slot": at} for at, one in enumerate(players)]
        body = {
            "target": {"league_id": DAILY},
            "roster": roster,
            "num_episodes": games,
            "game_config_overrides": {
                "maxTicks": 2000, "imposterCount": 2, "autoImposterCount": False, "slots": roles, **config,
            },
        }  # fmt: skip
        made = run(
            "xp-request", "create", "-", "--title", f"by hand: {policy}", "--json", text=json.dumps(body)
        )
        return json.loads(made)["id"]

    create.rivals = rivals
    return create


@pytest.fixture
def judge(arena, tmp_path, monkeypatch, capfd):
    """`evalharness ab --judge-requests`, as somebody types it beside the real client."""
    for name in [one for one in os.environ if one.startswith("EVALHARNESS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", arena["credentials"])
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capfd.readouterr()
        code = main(["ab", "--server", arena["api"], "--judge-requests", *words])
        told = capfd.readouterr()
        return code, told.out, told.err

    return call


def posts(arena):
    """How many requests anybody has posted."""
    counters = httpx.get(arena["api"].removesuffix("/api") + "/_arena/counters", trust_env=False)
    return counters.json()["experience_request_posts"]


def test_requests_of_the_real_client_are_judged_and_nothing_is_posted(created, judge, arena, ours, tmp_path):
    requests = created("keeper:v2"), created("keeper:v1")
    before = posts(arena)

    code, out, err = judge(*requests, "--claim=not_worse", "--unproven-builds=allow")
    assert code in {0, 10}, out + err
    assert all(one in out for one in requests)
    assert "requests created elsewhere: the claim was declared after they were posted" in out
    assert "seats verified" in out
    assert "keeper:v2" in out
    assert posts(arena) == before

    [result] = json.loads(next(tmp_path.glob(".evalharness/runs/*/results.json")).read_text())["cases"][0][
        "results"
    ]
    assert result["plan"]["tested_seat"] == 0
    assert result["plan"]["adopted"]["requests"] == {"candidate": [requests[0]], "baseline": [requests[1]]}
    assert [result["judgement"][side]["finished"] for side in ("candidate", "baseline")] == [6, 6]
    row = ours.experience_request(requests[0])
    told = [SeatResults(ours.episode_results(one.id)).won(0) for one in row.episodes]
    assert result["judgement"]["candidate"]["wins"] == sum(told)

    again, out, _ = judge(*requests, "--claim=not_worse", "--unproven-builds=allow")
    assert again == code
    changed, _, err = judge(*requests, "--claim=better", "--unproven-builds=allow")
    assert changed == 11
    assert "seen under another declaration" in err + _
    assert main(["runs", "export", result_run(tmp_path), "-o", str(tmp_path / "evidence.json")]) == 0
    assert main(["runs", "verify", str(tmp_path / "evidence.json")]) == 0


def result_run(folder):
    """The first run: the last one was refused and has judged nothing."""
    found = folder.glob(".evalharness/runs/*/results.json")
    return min(found, key=lambda path: path.stat().st_mtime_ns).parent.name


def _played(run, league, refs):
    """A request that the client created and watched, as it reads it."""
    roster = [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(refs)]
    body = {"target": {"league_name": league}, "roster": roster, "num_episodes": 2}
    made = json.loads(run("xp-request", "create", "-", "--json", text=json.dumps(body)))
    run("xp-request", "watch", made["id"], "--timeout", "300")
    told = json.loads(run("xp-request", "get", made["id"], "--json"))
    assert (told["status"], told["completed_count"]) == ("completed", 2)
    return told["episodes"][0]


def test_it_plays_a_game_of_two_sides_with_a_captain_on_each(run):
    first = _played(run, "Capture the Flag Ladder", ["warden:v2", "anvil:v2"] * 2)
    results = json.loads(run("episode-results", first["id"]))

    assert [seat["label"] for seat in first["participants"]] == ["warden:v2", "anvil:v2"] * 2
    assert [seat["is_filler"] for seat in first["participants"]] == [False, False, True, True]
    assert results["scores"] == [results["captures"][side] for side in results["teams"]]


@pytest.mark.slow
def test_it_plays_a_game_of_two_seats(run):
    first = _played(run, "Paint Arena Open", ["painter:v2", "umber:v2"])
    results = json.loads(run("episode-results", first["id"]))

    assert [seat["label"] for seat in first["participants"]] == ["painter:v2", "umber:v2"]
    assert {score["score"] for score in first["scores"]} == set(results["scores"])
    assert "painter:v2" in run("episode-stats", first["id"])
    assert "connected as slot 0" in run("episode-logs", first["id"], "--agent", "0")
