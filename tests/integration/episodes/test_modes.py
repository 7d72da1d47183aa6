"""Each way to select episodes, after the fact and while they are played, in both dialects."""

import json

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.episodes import open_folder
from pytest_evalharness.errors import UsageError
from pytest_evalharness.observatory.episodes import EpisodeCalls


def states(report):
    return {one["path"]: one["state"] for episode in report["episodes"] for one in episode["artifacts"]}


def test_a_request_s_episodes(league, download, verified, tmp_path):
    report = download(league, tmp_path, "--xreq", league.played)

    assert report["complete"]
    assert len(report["episodes"]) == 3
    (episode, *_) = open_folder(tmp_path).episodes
    assert episode.entry.folder.startswith(
        episode.entry.created_at[:19].replace("-", "").replace(":", "") + "_ereq_"
    )
    assert episode.row["id"] == episode.id
    assert len(episode.results.kept["scores"]) == 8
    assert episode.replay.kind == "embedded"
    assert episode.replay.told["scores"] == episode.results.kept["scores"]
    assert len(list(episode.log_lines(0))) > 5
    assert json.loads(next(iter(episode.log_lines())))
    assert all("kind" in row for row in episode.telemetry_lines(1))
    assert (episode.path / "replay.bin").read_bytes().startswith(b"EVHREPLY")
    assert verified(tmp_path)
    assert not list(tmp_path.rglob("*.part*"))


def test_seats_of_others_are_denied_or_open_as_the_dialect_has_it(league, download, tmp_path):
    report = download(league, tmp_path, "--xreq", league.played)

    logs = {seat: states(report)[f"logs/policy_agent_{seat}.log"] for seat in range(8)}
    mine = {"logs/policy_agent_0.log": "ok"}
    assert mine.items() <= states(report).items()
    assert set(list(logs.values())[2:]) == ({"denied"} if league.dialect == "current" else {"ok"})
    (episode, *_) = report["episodes"]
    for one in episode["artifacts"]:
        held = (tmp_path / episode["folder"] / one["path"]).exists()
        assert held == (one["state"] == "ok")


def test_a_second_run_asks_for_nothing_that_is_there(league, download, tmp_path):
    download(league, tmp_path, "--xreq", league.played)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.parent != tmp_path}
    visits = league.storage()["requests"]

    report = download(league, tmp_path, "--xreq", league.played)

    assert report["complete"]
    assert {
        path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.parent != tmp_path
    } == before
    assert league.storage()["requests"] == visits


def test_what_was_lost_or_cut_on_disk_comes_again(league, download, verified, tmp_path):
    download(league, tmp_path, "--xreq", league.played)
    (one, two, three) = open_folder(tmp_path).episodes
    (one.path / "results.json").unlink()
    (two.path / "replay.bin").write_bytes(b"half")
    (three.path / "logs" / "game.log").unlink()
    assert not verified(tmp_path)

    assert download(league, tmp_path, "--xreq", league.played)["complete"]

    assert verified(tmp_path)


def test_named_episodes_and_one_that_nobody_knows(league, download, tmp_path):
    with league.client() as client:
        rows = client.experience_request(league.played).episodes
    absent = "ereq_00000000-0000-4000-8000-00000000dead"

    report = download(league, tmp_path, "--ereq", rows[0].id, "--ereq", rows[1].id, "--ereq", absent, code=1)

    assert {one["id"] for one in report["episodes"]} == {rows[0].id, rows[1].id}
    assert report["missing"] == [absent]


def test_named_episodes_that_are_complete_are_not_read_one_by_one(today, download, monkeypatch, tmp_path):
    with today.client() as client:
        named = [
            word for row in client.experience_request(today.played).episodes for word in ("--ereq", row.id)
        ]
    read, row = [], EpisodeCalls.row
    monkeypatch.setattr(EpisodeCalls, "row", lambda calls, name: read.append(name) or row(calls, name))

    first = download(today, tmp_path, *named, "--no-replay")
    assert sorted(read) == sorted(named[1::2])
    (episode, *_) = open_folder(tmp_path).episodes
    assert len(episode.row["participants"]) == 8
    read.clear()

    again = download(today, tmp_path, *named, *named[:2], "--no-replay")
    assert read == []
    assert again["episodes"] == first["episodes"]


@pytest.mark.failure_mode(number=31)
def test_who_gets_a_part_is_told_that_there_was_more(league, download, tmp_path):
    assert "2 of 3 episodes" in download(league, tmp_path / "a", "--xreq", league.played, "-n", "2")["more"]
    assert download(league, tmp_path / "b", "--xreq", league.played, "-n", "3")["more"] == ""
    index = json.loads((tmp_path / "a" / "index.json").read_text())
    assert index["more"]
    assert len(index["episodes"]) == 2
    division = download(
        league, tmp_path / "c", "--division", league.division, "--no-logs", "--no-artifacts", "--no-replay"
    )
    assert len(division["episodes"]) == 10
    assert "there are more" in division["more"]


def test_a_division_and_a_round(league, download, tmp_path):
    few = ("--no-logs", "--no-artifacts", "--no-replay")

    of_division = download(league, tmp_path / "d", "--division", league.division, "-n", "4", *few)
    round_id = open_folder(tmp_path / "d").episodes[-1].row["round_id"]
    of_round = download(league, tmp_path / "r", "--round", round_id, "-n", "4", *few)

    assert len(of_round["episodes"]) == len(of_division["episodes"]) == 4
    assert states(of_round) == states(of_division) == {"results.json": "ok"}
    assert {one.row["round_id"] for one in open_folder(tmp_path / "r").episodes} == {round_id}


def test_a_policy_s_newest_episodes_across_its_versions(league, download, tmp_path):
    report = download(league, tmp_path, "--policy", "keeper", "-n", "2", "--no-logs", "--no-artifacts")

    assert len(report["episodes"]) == 2
    assert "there are more" in report["more"]
    rows = [json.loads((tmp_path / one["folder"] / "episode.json").read_text()) for one in report["episodes"]]
    assert all("keeper" in json.dumps(row) for row in rows)
    moments = [one["created_at"] for one in report["episodes"]]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--policy", "keeper", "--version", "999"], 11, "no policy keeper of version 999"),
        (["--policy", "nobody"], 11, "no policy nobody"),
        (["--round", "../../whoami"], 4, "cannot list the episodes of the round"),
    ],
)
def test_what_nobody_knows_is_told(today, run, tmp_path, words, code, said):  # noqa: PLR0917
    got, out, errors = run(today, *words, "--out", str(tmp_path))

    assert got == code
    assert said in errors
    assert "next:" in errors
    assert out == ""


def test_without_a_token_it_is_told_that_nothing_was_downloaded(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("EVALHARNESS_TOKEN", raising=False)
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(tmp_path))

    code = main(
        ["episodes", "--ereq", "ereq_1", "--server", "http://127.0.0.1:1", "--out", str(tmp_path / "out")]
    )

    errors = capsys.readouterr().err
    assert code == 11
    assert "no token for http://127.0.0.1:1" in errors
    assert "not done: nothing was downloaded" in errors
    assert "submitted" not in errors


def test_pools_are_of_mid_2026(league, run, download, tmp_path):
    if league.dialect == "current":
        code, _, errors = run(league, "--pool", "pool_1", "--out", str(tmp_path))
        assert code == 4
        assert "--round" in errors
        return
    pool = next(one for one in league.get("/v2/pools")["entries"] if one["episode_count"] > 1)

    report = download(league, tmp_path, "--pool", pool["id"], "-n", "2", "--no-logs", "--no-artifacts")

    assert len(report["episodes"]) == 2
    assert {one.row["round_id"] for one in open_folder(tmp_path).episodes} == {pool["round_id"]}


def test_only_failed_ones(league, download, tmp_path):
    assert download(league, tmp_path, "--xreq", league.played, "--failed-only")["episodes"] == []


@pytest.mark.failure_mode(number=31)
def test_a_watch_fetches_each_episode_as_it_ends(league, download, verified, tmp_path):
    request = league.play(12, 600, wait=False)

    report = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.2", "--max-attempts", "20"
    )

    assert report["complete"]
    assert len(report["episodes"]) == 12  # more than the ten that are taken otherwise
    assert report["more"] == ""
    assert verified(tmp_path)
    assert json.loads((tmp_path / "watch_state.json").read_text()) == {}


@pytest.mark.slow
def test_what_is_not_over_is_pending_and_comes_later(league, download, verified, tmp_path):
    league.fault("closed-queue")
    request = league.play(2, 3000, wait=False)

    early = download(league, tmp_path, "--xreq", request, code=1)
    league.clear()
    late = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.2", "--max-attempts", "20"
    )

    assert "pending" in {one["state"] for each in early["episodes"] for one in each["artifacts"]}
    assert late["complete"]
    assert verified(tmp_path)


@pytest.mark.slow
def test_categories_that_are_left_out_can_be_had_later(league, download, tmp_path):
    few = download(league, tmp_path, "--xreq", league.played, "--no-replay", "--no-logs", "--no-artifacts")
    assert set(states(few)) == {"results.json"}

    whole = download(league, tmp_path, "--xreq", league.played)

    assert {"replay.bin", "replay.raw", "logs/game.log", "results.json"} <= set(states(whole))


def test_the_names_of_the_page(league, download, tmp_path):
    report = download(league, tmp_path, "--xreq", league.played, "-n", "1", "--seed-names")

    assert {"replay.json", "replay.json.z"} <= set(states(report))
    (episode,) = open_folder(tmp_path).episodes
    assert episode.replay.kind == "embedded"
    if league.dialect == "2026-06":
        assert (episode.path / "replay.json.z").read_bytes()[:1] == b"x"


def test_recorded_league_episodes_by_their_ids(league, download, tmp_path):
    with league.client() as client:
        rows = client.experience_request(league.played).episodes
    policy = download(league, tmp_path / "p", "--policy", "keeper", "-n", "1", "--no-logs")["episodes"][0][
        "id"
    ]
    uuid = policy.removeprefix("ereq_") if league.dialect == "2026-06" else rows[0].episode_id

    report = download(league, tmp_path / "e", "--episode", uuid)

    (episode,) = report["episodes"]
    assert episode["status"] == "completed"
    assert states(report)["results.json"] == "ok"


def test_a_recorded_episode_that_nobody_shows(league, run, tmp_path):
    absent = "00000000-0000-4000-8000-00000000dead"

    code, told, _ = run(league, "--episode", absent, "--out", str(tmp_path))

    assert code == 1
    assert f"{absent}: the server shows no such episode" in told
    assert "next:" in told


def test_show_and_its_parts(league, run, download, tmp_path, capsys):
    report = download(league, tmp_path, "--xreq", league.played)

    assert main(["episodes", "show", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert all(one["folder"] in listed for one in report["episodes"])
    assert main(["episodes", "show", str(tmp_path), report["episodes"][0]["folder"]]) == 0
    told = capsys.readouterr().out
    assert "replay: crewrift" in told
    assert "log of seat 0" in told
    assert "telemetry of seat 1" in told
    with pytest.raises(UsageError, match="several episodes"):
        open_folder(tmp_path).episode("_ereq_")


def test_a_failed_episode_can_be_complete(league, download, verified, tmp_path):
    league.fault("fail-episodes=1")
    request = league.play(2)

    report = download(league, tmp_path, "--xreq", request)
    failed = download(
        league, tmp_path / "failed", "--xreq", request, "--failed-only", "--watch", "--interval", "0.1"
    )

    assert report["complete"]
    assert verified(tmp_path)
    (one,) = failed["episodes"]
    assert (one["status"], one["error_type"]) == ("failed", one["error_type"] or "?")
    (episode,) = open_folder(tmp_path / "failed").episodes
    assert episode.error.message
    assert episode.results is None
    assert download(league, tmp_path, "--xreq", request)["complete"]


def test_a_cancelled_request_is_drained_though_its_episodes_stay_pending(today, download, tmp_path):
    today.fault("slow-queue=600")
    request = today.play(4, wait=False)
    with today.client() as client:
        client.experience_request(request, fresh=True)  # what was just made may not be there yet
        assert client.cancel(request)

    report = download(today, tmp_path, "--xreq", request, "--watch", "--interval", "0.1")

    assert report["complete"]
    assert {one["status"] for one in report["episodes"]} == {"cancelled"}
    assert {one["state"] for each in report["episodes"] for one in each["artifacts"]} == {"not_produced"}


def test_a_watch_of_a_part(league, download, tmp_path):
    report = download(league, tmp_path, "--xreq", league.played, "--watch", "--interval", "0.1", "-n", "2")

    assert len(report["episodes"]) == 2
