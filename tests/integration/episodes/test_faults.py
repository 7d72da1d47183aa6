"""Whatever fails on the way, a download ends in a whole folder or in an index that tells what is missing and why."""

import json
import threading

import pytest

from pytest_evalharness.cli import asking_again, main
from pytest_evalharness.episodes import Category, open_folder
from pytest_evalharness.errors import ArtifactUnreadable

MIB = 1024 * 1024


def found(report, state):
    return sorted(
        one["path"] for each in report["episodes"] for one in each["artifacts"] if one["state"] == state
    )


def reason(report, path):
    return next(
        one.get("reason", "")
        for each in report["episodes"]
        for one in each["artifacts"]
        if one["path"] == path
    )


@pytest.mark.parametrize(
    "fault",
    [
        "reset-bodies=4",
        pytest.param("cut-bodies=4", marks=pytest.mark.slow),
        # All of them may meet one artifact: as many as it has tries for.
        pytest.param("html-bodies=2", marks=pytest.mark.slow),
    ],
)
def test_bodies_that_break_are_fetched_again(league, download, verified, tmp_path, fault):
    league.fault(fault)

    report = download(league, tmp_path, "--xreq", league.played)

    assert report["complete"]
    assert verified(tmp_path)
    assert not list(tmp_path.rglob("*.part*"))


def test_what_is_asked_for_again_is_said(today, run, tmp_path, monkeypatch):
    monkeypatch.setattr(asking_again, "_SILENT", 0.0)
    today.fault("server-errors=1:503")

    code, _, errors = run(today, "--xreq", today.played, "-n", "1", "--late", "0", "--out", str(tmp_path))

    assert code == 0, errors
    assert "asking again: GET " in errors
    assert "503" in errors


@pytest.mark.parametrize(
    "fault", ["expired-urls=1", "changed-artifacts=1", "wrong-sizes=1", "overlong-bodies=1", "no-ranges"]
)
def test_addresses_that_expire_and_sizes_that_lie(today, download, verified, tmp_path, fault):
    # Once each: which of the artifacts that are fetched at the same time meets a second fault is chance, and one that meets
    # both is rightly given up.
    today.fault(fault)
    today.fault("reset-bodies=1")

    report = download(today, tmp_path, "--xreq", today.played)

    assert report["complete"]
    assert verified(tmp_path)


def test_a_broken_body_is_taken_up_where_it_broke(today, download, tmp_path):
    today.fault("huge-artifacts=game_logs:3000000")
    before = today.storage()

    today.fault("reset-bodies=1")
    report = download(today, tmp_path, "--xreq", today.played, "-n", "1", "--no-replay", "--no-artifacts")

    assert report["complete"]
    assert today.storage().get("status_206", 0) > before.get("status_206", 0)
    assert (tmp_path / report["episodes"][0]["folder"] / "logs" / "game.log").stat().st_size == 3_000_000


@pytest.mark.slow
def test_a_size_that_is_always_wrong_is_told(today, download, tmp_path):
    today.fault("wrong-sizes")

    report = download(today, tmp_path, "--xreq", today.played, "-n", "1", code=1)

    assert "promised" in reason(report, "replay.raw")
    assert "results.json" in found(report, "ok")  # it came with the manifest
    assert not (tmp_path / report["episodes"][0]["folder"] / "replay.raw").exists()
    today.clear()
    assert download(today, tmp_path, "--xreq", today.played, "-n", "1")["complete"]


@pytest.mark.slow
def test_addresses_that_are_always_expired(today, download, tmp_path):
    today.fault("expired-urls=1000")

    report = download(today, tmp_path, "--xreq", today.played, "-n", "1", code=1)

    assert "403" in reason(report, "replay.raw")


def test_a_storage_on_another_host_sees_no_token(today, download, tmp_path):
    today.fault("other-host")
    before = today.storage()["requests"]

    assert download(today, tmp_path, "--xreq", today.played)["complete"]

    assert today.storage()["requests"] > before
    assert today.storage()["with_a_token"] == 0


@pytest.mark.slow
@pytest.mark.failure_mode(number=18)
def test_what_is_published_late_is_waited_for_or_pending(league, download, verified, tmp_path):
    league.fault("late-artifacts=600")
    request = league.play(2)

    early = download(league, tmp_path / "a", "--xreq", request, code=1, late=0.0)
    published = threading.Timer(1.0, league.clear)
    published.start()
    # What seats never uploaded would be waited for to the end, where the server does not tell that it never comes.
    waited = download(league, tmp_path / "b", "--xreq", request, "--no-artifacts", late=120)
    published.join()

    assert "results.json" in found(early, "pending")
    assert not found(early, "not_produced") or league.dialect == "2026-06"
    assert waited["complete"]
    assert verified(tmp_path / "b")
    assert download(league, tmp_path / "a", "--xreq", request)["complete"]
    assert verified(tmp_path / "a")


@pytest.mark.failure_mode(number=18)
def test_a_watch_comes_back_for_what_is_late(league, download, verified, tmp_path):
    league.fault("late-artifacts=1")
    request = league.play(2, wait=False)

    report = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.3", "--max-attempts", "30"
    )

    assert report["complete"]
    assert verified(tmp_path)


@pytest.mark.failure_mode(number=18)
def test_a_watch_comes_back_for_why_an_episode_failed(league, download, tmp_path):
    league.fault("late-artifacts=1")
    league.fault("fail-episodes=1")
    request = league.play(1, wait=False)
    words = ("--watch", "--interval", "0.3", "--max-attempts", "1")  # what may still be late costs no attempt

    report = download(league, tmp_path, "--xreq", request, *words, late=3)

    assert "error_info.json" in found(report, "ok")
    assert report["complete"]


@pytest.mark.slow
def test_a_watch_gives_up_on_what_never_comes(league, download, tmp_path):
    league.fault("late-artifacts=600")
    request = league.play(1)

    report = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.1", "--max-attempts", "2", code=1
    )

    assert found(report, "pending")
    assert list(json.loads((tmp_path / "watch_state.json").read_text()).values()) == [2]
    again = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.1", "--max-attempts", "2", code=1
    )
    assert not again["complete"]


@pytest.mark.failure_mode(number=4)
def test_a_seat_that_is_refused_is_denied_and_not_missing(league, download, tmp_path):
    league.fault("denied-seat=0")

    report = download(league, tmp_path, "--xreq", league.played, "-n", "1")

    assert "logs/policy_agent_0.log" in found(report, "denied")
    assert "logs/policy_agent_0.log" not in found(report, "not_produced")


@pytest.mark.failure_mode(number=32)
def test_a_log_s_seat_is_the_number_in_its_name(league, download, tmp_path):
    whole = download(league, tmp_path / "a", "--xreq", league.played, "-n", "1")
    league.fault("denied-seat=0")
    fewer = download(league, tmp_path / "b", "--xreq", league.played, "-n", "1")

    (one,), (other,) = open_folder(tmp_path / "a").episodes, open_folder(tmp_path / "b").episodes
    assert one.id == other.id
    assert set(found(fewer, "ok")) < set(found(whole, "ok"))
    assert list(one.log_lines(1)) == list(other.log_lines(1)) != []


@pytest.mark.failure_mode(number=19)
def test_a_log_that_lost_its_beginning_is_told(league, download, tmp_path):
    league.fault("long-logs=12000")

    download(league, tmp_path, "--xreq", league.played, "-n", "1", "--no-replay")

    (episode,) = open_folder(tmp_path).episodes
    assert len(list(episode.log_lines(0))) == 10_000
    assert episode.log(0).beginning_lost
    assert not episode.log(None).beginning_lost


@pytest.mark.failure_mode(number=20)
@pytest.mark.parametrize("packing", ["zlib", "gzip"])
def test_a_replay_that_is_a_bomb_is_not_unpacked(league, download, tmp_path, packing):
    league.fault(f"replay-bomb={packing}")

    report = download(league, tmp_path, "--xreq", league.played, "-n", "1", "--max-unpacked-mib", "8", code=1)

    assert "unpacks to more than" in reason(report, "replay.bin")
    folder = tmp_path / report["episodes"][0]["folder"]
    assert not (folder / "replay.bin").exists()
    assert (folder / "replay.raw").stat().st_size < 64 * MIB


def test_a_body_that_is_too_large_is_not_kept(today, download, tmp_path):
    today.fault("huge-artifacts=player_logs:5000000000")

    report = download(today, tmp_path, "--xreq", today.played, "-n", "1", "--max-artifact-mib", "1", code=1)

    assert "limit of 1048576" in reason(report, "logs/policy_agent_0.log")
    assert "results.json" in found(report, "ok")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 2 * MIB


@pytest.mark.parametrize("kind", [pytest.param("bomb", marks=pytest.mark.slow), "slip", "garbage"])
def test_hostile_archives_are_kept_and_never_opened(today, download, verified, tmp_path, kind):
    today.fault(f"hostile-uploads={kind}")
    out = tmp_path / "deep" / "out"

    report = download(today, out, "--xreq", today.played, "-n", "1")

    assert report["complete"]
    (episode,) = open_folder(out).episodes
    with pytest.raises(ArtifactUnreadable):
        list(episode.telemetry_lines(1))
    assert main(["episodes", "show", str(out), episode.id]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


@pytest.mark.failure_mode(number=33)
@pytest.mark.parametrize("fault", ["hostile-files", "slashed-ids", "hostile-names"])
def test_names_that_a_server_gives_are_never_paths(league, run, tmp_path, fault):
    league.fault(fault)
    out = tmp_path / "deep" / "out"

    run(league, "--xreq", league.played, "--late", "0.1", "--out", str(out))

    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    folders = [path.name for path in out.iterdir() if path.is_dir()]
    assert len(folders) == len(json.loads((out / "index.json").read_text())["episodes"]) == 3


def test_an_id_with_slashes_can_be_typed(today, run, tmp_path, capsys):
    today.fault("slashed-ids")
    out, hostile = tmp_path / "deep" / "out", "ereq_/../../../escaped"

    assert run(today, "--xreq", today.played, "-n", "2", "--late", "0.1", "--out", str(out))[0] == 0
    code, told, _ = run(today, "--ereq", hostile, "--ereq", "../../escaped", "--out", str(out))

    assert code == 1
    assert f"{hostile}: the server shows no such episode" in told
    assert "../../escaped: the server shows no such episode" in told
    assert main(["episodes", "show", str(out), hostile]) == 0
    assert "logs/game.log" in capsys.readouterr().out
    assert main(["episodes", "verify", str(out)]) == 0
    (entry,) = [each for each in open_folder(out).episodes if each.id == hostile]
    assert entry.path.parent == out
    assert sorted(path.name for path in tmp_path.rglob("*escaped*")) == []


def test_logs_whose_names_tell_no_seat_are_asked_for_by_seat(june, download, verified, tmp_path):
    june.fault("hostile-files")

    report = download(june, tmp_path, "--xreq", june.played, "-n", "1")

    assert {f"logs/policy_agent_{seat}.log" for seat in range(8)} <= set(found(report, "ok"))
    assert verified(tmp_path)


def test_a_link_in_the_folder_is_never_written_through(today, run, download, tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    report = download(today, out, "--xreq", today.played, "-n", "1")
    folder = out / report["episodes"][0]["folder"]
    for path in (folder / "logs").iterdir():
        path.unlink()
    (folder / "logs").rmdir()
    elsewhere.mkdir()
    (folder / "logs").symlink_to(elsewhere)

    code, _, errors = run(today, "--xreq", today.played, "-n", "1", "--out", str(out))

    assert code == 4
    assert "is a link" in errors
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["server-errors=3", "rate-limited=1", "overloaded=3"])
def test_a_server_that_has_a_bad_moment(league, download, verified, tmp_path, fault):
    league.fault(fault)

    report = download(league, tmp_path, "--xreq", league.played)

    assert report["complete"]
    assert verified(tmp_path)


def test_a_server_that_does_not_describe_itself_is_asked_by_its_routes(today, download, verified, tmp_path):
    today.fault("hidden-description")

    report = download(today, tmp_path, "--xreq", today.played)

    assert report["complete"]
    assert verified(tmp_path)
    assert {"results.json", "replay.bin", "logs/policy_agent_0.log", "logs/game.log"} <= set(
        found(report, "ok")
    )
    routes = {one.get("route", "") for each in report["episodes"] for one in each["artifacts"]}
    assert not any("manifest" in route for route in routes)


def test_what_a_server_of_mid_2026_has_elsewhere_is_not_called_never_produced(june, download, run, tmp_path):
    june.fault("hidden-description")
    code, _, said = run(june, "--xreq", june.played, "--late", "0", "--out", str(tmp_path))
    told = {"episodes": [one.entry.to_json() for one in open_folder(tmp_path).episodes]}

    assert code == 1
    assert "not described (HTTP 403)" in said
    assert {"results.json", "logs/policy_agent_0.log"}.isdisjoint(found(told, "not_produced"))

    june.clear()
    assert download(june, tmp_path, "--xreq", june.played)["complete"]
    assert all(one.has(Category.RESULTS) for one in open_folder(tmp_path).episodes)


def test_a_request_that_is_not_shown_yet(league, download, tmp_path):
    league.fault("not-visible=1")
    request = league.play(1, wait=False)

    report = download(
        league, tmp_path, "--xreq", request, "--watch", "--interval", "0.2", "--max-attempts", "20"
    )

    assert report["complete"]
    assert len(report["episodes"]) == 1
