"""Whoever dies in the middle, the downloader or the server: the same command brings the folder to its end, whole."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.integration.episodes.conftest import ROOT, League


def command(league, out, *words):
    """The downloader in a process of its own."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COVERAGE_", "EVALHARNESS_"))
    }
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest_evalharness.cli",
            "episodes",
            *words,
            "--out",
            str(out),
            "--server",
            league.api,
        ],
        env={**environment, "SOFTMAX_CONFIG_DIR": str(league.credentials), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_a_part(out, process):
    """Wait until a download has begun with a file."""
    until = time.monotonic() + 120
    while not list(out.rglob(".*.part")) and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)


def claimed(out):
    """What the index says is there, and is not, or is only half there."""
    if not (out / "index.json").exists():
        return []
    told = json.loads((out / "index.json").read_text())
    return [
        one["path"]
        for episode in told["episodes"]
        for one in episode["artifacts"]
        if one["state"] == "ok" and (out / episode["folder"] / one["path"]).stat().st_size != one["bytes"]
    ]


@pytest.mark.slow
def test_killed_at_ten_random_moments_it_ends_whole(today, download, verified, tmp_path):
    request = today.play(30, 1500)
    today.fault("slow-bodies=300000")
    rng = random.Random(20260901)
    died = 0
    for _ in range(10):
        process = command(today, tmp_path, "--xreq", request, "-n", "30", "--late", "0.3")
        try:
            process.wait(rng.uniform(0.6, 2.2))
        except subprocess.TimeoutExpired:
            process.kill()
            died += 1
        process.communicate()
        assert claimed(tmp_path) == []  # whatever moment it was, the index tells the truth
    assert died >= 3
    today.clear()

    report = download(today, tmp_path, "--xreq", request, "-n", "30")

    assert report["complete"]
    assert len(report["episodes"]) == 30
    assert verified(tmp_path)
    assert not list(tmp_path.rglob("*.part*"))
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 30


@pytest.mark.slow
def test_a_watch_that_is_killed_goes_on(today, download, verified, tmp_path):
    request = today.play(10, 6000, wait=False)
    today.fault("slow-bodies=1000")
    process = command(today, tmp_path, "--xreq", request, "--watch", "--interval", "0.2")
    wait_for_a_part(tmp_path, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it was through"
    today.clear()

    report = download(
        today, tmp_path, "--xreq", request, "--watch", "--interval", "0.2", "--max-attempts", "20"
    )

    assert report["complete"]
    assert len(report["episodes"]) == 10
    assert verified(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_download_names_the_command_that_goes_on(today, download, verified, tmp_path, number):
    today.fault("slow-bodies=1000")
    process = command(today, tmp_path, "--xreq", today.played)
    wait_for_a_part(tmp_path, process)
    process.send_signal(number)
    out, errors = process.communicate(timeout=120)
    today.clear()

    assert process.returncode == 2, out + errors
    assert f"--xreq {today.played}" in errors
    assert "next:" in errors
    assert "Traceback" not in errors
    assert claimed(tmp_path) == []
    assert download(today, tmp_path, "--xreq", today.played)["complete"]
    assert verified(tmp_path)


@pytest.mark.slow
def test_a_server_that_is_restarted_in_the_middle(run, dialect, verified, tmp_path):
    held = socket.socket()  # while the server is gone, nobody else may come to listen there
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    port = held.getsockname()[1]
    league = League(tmp_path / "league", "--dialect", dialect, port=port).start()
    try:
        request = league.play(12)
        league.fault("slow-bodies=40000")
        out = tmp_path / "out"

        def restart():
            until = time.monotonic() + 60
            while not list(out.rglob("logs/*.log")) and time.monotonic() < until:
                time.sleep(0.02)
            league.stop()
            league.start()

        other = threading.Thread(target=restart)
        other.start()
        code, told, errors = run(
            league, "--xreq", request, "-n", "12", "--late", "0.3", "--out", str(out), "--json"
        )
        other.join()
        if code:  # what did not outlive it is told, and comes with the same command
            if told:
                assert not json.loads(told)["complete"]
            else:  # on a busy machine it may be gone for longer than anybody waits for an answer
                assert "next:" in errors
            code, told, errors = run(
                league, "--xreq", request, "-n", "12", "--late", "0.3", "--out", str(out), "--json"
            )
        assert code == 0, told + errors
        assert verified(out)
    finally:
        league.stop()
        held.close()


@pytest.mark.slow
def test_two_downloads_into_one_folder_take_turns(today, verified, tmp_path):
    with today.client() as client:
        rows = client.experience_request(today.played).episodes
    both = [
        command(today, tmp_path, "--xreq", today.played, "--late", "0.3"),
        command(today, tmp_path, "--ereq", rows[0].id, "--ereq", rows[2].id, "--late", "0.3"),
    ]

    ends = [process.communicate(timeout=300) for process in both]

    assert [process.returncode for process in both] == [0, 0], ends
    assert len(json.loads((tmp_path / "index.json").read_text())["episodes"]) == 3
    assert verified(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_told(today, run, tmp_path):
    (tmp_path / "file").write_text("")

    code, _, errors = run(today, "--xreq", today.played, "--out", str(tmp_path / "file"))

    assert code == 4
    assert "cannot be written to" in errors
