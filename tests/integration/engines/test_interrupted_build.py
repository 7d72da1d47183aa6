"""A build whose process is ended in the middle of its questions, and the same command after it; and a large export's memory."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

AGENT = ["Hello, this is Noor.", "What are you looking for?", "Would you like to visit?"]
CUSTOMER = ["Is it still available?", "It is too expensive, call 0555 123 456.", "Can I see it?"]
LABELS = ["Booked Visit", "Call Later", "No Interest"]
ENVIRONMENT = {**os.environ, "EVALHARNESS_EVIDENCE_KEY": "a long secret of tests"}


def write_export(path, count, turns, variants=None):
    """So many calls, of so many different texts."""
    rng = random.Random(1)
    said = [
        json.dumps(
            [
                {"role": role, "text": f"Call {number}: {rng.choice(texts)}"}
                for _ in range(turns)
                for role, texts in (("agent", AGENT), ("customer", CUSTOMER))
            ]
        )
        for number in range(variants or count)
    ]
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(count):
            told = f'"call_id": "C-{number}", "outcome": "{LABELS[number % 3]}", "turns": {said[number % len(said)]}'
            file.write(f"{{{told}}}\n")
    return path


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_ended_goes_on_and_asks_nothing_twice(tmp_path, wire, serve, openai, end):
    answered, stuck, lock = [], threading.Semaphore(0), threading.Lock()
    free = threading.Event()

    def answer(request):
        with lock:
            if len(answered) < 10 or free.is_set():
                answered.append(request.body)
                return openai(request)
        stuck.release()
        return wire.silent

    server = serve(answer)
    (tmp_path / "models.toml").write_text(
        f'[judge]\nendpoint = "{server.url}"\nmodel = "m"\nbatch = 2\nparallel = 3\n'
    )
    command = [
        sys.executable, "-m", "pytest_evalharness.cli", "engine", "evidence-build", "acme", "--tagger", "judge",
        "--from", write_export(tmp_path / "calls.jsonl.gz", 30, 2), "--models", "models.toml", "--data", "data", "--json",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as first:
        for _ in range(3):
            # Each of the three has kept its earlier answers when it asks again.
            assert stuck.acquire(timeout=120)
        first.send_signal(end)
        _, said = first.communicate(timeout=120)
    assert first.returncode == (2 if end == signal.SIGINT else -end)
    if end == signal.SIGINT:
        assert "the same command goes on" in said
        assert "Traceback" not in said
    assert not list((tmp_path / "data" / "datasets").rglob("*.json"))

    free.set()
    again = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=True
    )
    assert "going on with 30 calls that were sampled before" in again.stderr
    assert json.loads(again.stdout)["tagger"]["stats"]["by_model"] == 60
    assert len(answered) == 30  # fifteen lumps, two questions
    assert len(set(answered)) == 30
    assert not [one for one in (tmp_path / "data" / "builds").iterdir() if one.is_dir()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_memory_stays_flat_on_a_large_export(tmp_path):
    """A set of all calls of a file of 100,000, the most that there can be: below 300 MB resident."""
    export = write_export(tmp_path / "calls.jsonl.gz", 100_000, 8, variants=500)
    measured = (
        "import sys\nfrom pytest_evalharness.cli import main\ncode = main(sys.argv[1:])\n"
        "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
        "print(peak[0].split()[1], file=sys.stderr)\nsys.exit(code)"
    )  # not ru_maxrss, which begins with the size of whoever started the process
    arguments = [
        "engine",
        "evidence-build",
        "acme",
        "--path",
        export.name,
        "-n",
        "100000",
        "--data",
        "data",
        "--json",
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "call-logs").mkdir()
    export.rename(tmp_path / "data" / "call-logs" / export.name)
    done = subprocess.run(
        [sys.executable, "-c", measured, *arguments],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=1200, check=True,
    )  # fmt: skip
    record = json.loads(done.stdout)
    assert (record["counts"]["calls"], record["counts"]["turns"]) == (100_000, 800_000)
    kilobytes = int(done.stderr.splitlines()[-1])
    assert kilobytes < 300 * 1024
    assert Path(tmp_path / "data" / "datasets" / record["path"]).stat().st_size > 100e6
