"""How fast are the files of many episodes downloaded, and looked through again? Prints one line a figure, asserts nothing.

python benchmarks/bench_episodes.py            a quick look: 20 episodes of 8 logs of 1 MB, and a folder of 100 episodes again
python benchmarks/bench_episodes.py --full     200 episodes, and a folder of 1,000

All fetch the same signed URLs from one embedded league on the loopback: `evalharness episodes`, which also verifies and hashes
every file and makes it safe on disk; `curl --parallel` with as many connections, which does not; and the same curl followed by
`openssl dgst -sha256` of what came and a sync, which does that much of it. The league runs on the same processors, so its own
seconds are told too: what all of them together took, shared among the processors, is the least that the clock can show.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
MB = 1_000_000
CONNECTIONS = 8
HASHED = "find . -name '*.log' -print0 | xargs -0 -n 500 openssl dgst -sha256 -r > sums\nsync *.log"
"""What curl leaves undone: the digest of each file, and that all of them are safe on disk."""
MOST_EPISODES = 100
"""So many a request has at most."""
MOST_IDS = 50
"""Ids that one call of the manifest takes."""


@dataclass
class League:
    """An embedded league, a client of it, and its process."""

    ready: dict[str, Any]
    client: httpx.Client
    pid: int

    @property
    def busy(self) -> float:
        """Seconds of a processor that it has taken so far; none where the system does not tell."""
        try:
            told = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def fault(self, spec: str) -> None:
        """Let something go wrong: here, let logs be large."""
        httpx.post(
            f"{self.ready['url']}/_arena/faults", json={"spec": spec}, trust_env=False
        ).raise_for_status()

    def sound(self) -> None:
        """Let nothing go wrong any more."""
        httpx.delete(f"{self.ready['url']}/_arena/faults", trust_env=False).raise_for_status()

    def played(self, episodes: int) -> list[str]:
        """The ids of so many played episodes whose eight seats are all the user's own."""
        roster = [{"player": {"policy_ref": f"keeper:v{1 + seat % 2}"}, "slot": seat} for seat in range(8)]
        made = []
        for start in range(0, episodes, MOST_EPISODES):
            body = {
                "target": {"league_id": DAILY},
                "roster": roster,
                "num_episodes": min(MOST_EPISODES, episodes - start),
            }
            told = self.client.post("/v2/experience-requests", json=body)
            told.raise_for_status()
            made.append(told.json()["id"])
        return [each["id"] for request in made for each in self._finished(request)["episodes"]]

    def _finished(self, request_id: str) -> dict[str, Any]:
        while True:
            answer = self.client.get(f"/v2/experience-requests/{request_id}")
            if answer.status_code == httpx.codes.OK and answer.json()["status"] == "completed":
                found: dict[str, Any] = answer.json()
                return found
            time.sleep(0.2)

    def urls(self, ids: Sequence[str], *include: str) -> list[str]:
        """The signed URLs of what episodes left."""
        found: list[str] = []
        for start in range(0, len(ids), MOST_IDS):
            cursor: str | None = None
            while True:
                asked: dict[str, Any] = {
                    "ids": ids[start : start + MOST_IDS],
                    "include": include,
                    "limit": 200,
                }
                page = self.client.get(
                    "/v2/episode-requests/download-manifest",
                    params=httpx.QueryParams({**asked, **({"cursor": cursor} if cursor else {})}),
                ).json()
                found += [entry["url"] for entry in page["entries"] if entry["url"]]
                cursor = page["next_cursor"]
                if cursor is None:
                    break
        return found


@contextmanager
def league(home: Path) -> Iterator[League]:
    """A league that ends with the block."""
    command = [sys.executable, "-m", "pytest_evalharness.arena", "--home", str(home), "--exit-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        token = (home / "token").read_text()
        with httpx.Client(
            base_url=f"{ready['api']}/observatory",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=60,
        ) as client:
            yield League(ready, client, process.pid)


@dataclass(frozen=True)
class Ran:
    """A finished process: seconds, those of a processor among them, its highest memory in MB, and the server's seconds."""

    seconds: float
    busy: float
    peak: float
    served: float = 0.0

    @property
    def told(self) -> str:
        """How long it took."""
        served = f", the server {self.served:.2f} s" if self.served else ""
        return f"{self.seconds:.2f} s ({self.busy:.2f} s busy{served})"


def ran(words: Sequence[str], environment: dict[str, str], server: League) -> Ran:
    """Run a process to its end."""
    began, before = time.perf_counter(), server.busy
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{words[0]} ended with {process.returncode}")
    busy = usage.ru_utime + usage.ru_stime
    return Ran(time.perf_counter() - began, busy, usage.ru_maxrss / 1024, server.busy - before)


def ours(ids: Sequence[str], out: Path, server: League, *words: str) -> Ran:
    """`evalharness episodes` on some episodes."""
    command = [sys.executable, "-m", "pytest_evalharness.cli", "episodes", "--out", str(out)]
    command += ["--server", server.ready["api"], *words]
    command += [word for each in ids for word in ("--ereq", each)]
    known = {"SOFTMAX_CONFIG_DIR": server.ready["credentials"], "NO_PROXY": "127.0.0.1"}
    return ran(command, {**os.environ, **known}, server)


def curl(urls: Sequence[str], out: Path, server: League, *, then: str = "") -> Ran:
    """`curl --parallel` on their files, and then some commands of a shell in their folder."""
    out.mkdir(parents=True)
    config = out / "curl.conf"
    config.write_text("".join(f'url = "{url}"\noutput = "{out}/{at}.log"\n' for at, url in enumerate(urls)))
    command = f"curl --silent --fail --parallel --parallel-max {CONNECTIONS} --config '{config}'"
    words = ["sh", "-e", "-c", f"{command}\ncd '{out}'\n{then}"]
    return ran(words, {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}, server)


def said(what: str, figure: str) -> None:
    """One line."""
    print(f"{what:<66} {figure}", flush=True)


def large_logs(server: League, folder: Path, episodes: int, size: int, rounds: int) -> None:
    """Logs of one size, eight an episode, against curl; the better of some rounds, in turn."""
    server.fault(f"huge-artifacts=player_logs:{size}")
    ids = server.played(episodes)
    urls = server.urls(ids, "player_logs", "game_logs")
    out, logs_only = folder / "out", ("--no-replay", "--no-results", "--no-artifacts")
    runs = (
        lambda: curl(urls, out, server),
        lambda: curl(urls, out, server, then=HASHED),
        lambda: ours(ids, out, server, "--concurrency", str(CONNECTIONS), *logs_only),
    )
    sides: tuple[list[Ran], ...] = ([], [], [])
    for _ in range(rounds):
        for side, run in zip(sides, runs, strict=True):
            side.append(run())
            shutil.rmtree(out)
    server.sound()
    bare, hashed, best = (min(side, key=lambda each: each.seconds) for side in sides)
    what = f"{episodes} episodes of 8 logs of {size / MB:g} MB"
    said(f"{what}, evalharness episodes", f"{best.told}, {episodes * 8 * size / MB / best.seconds:.0f} MB/s")
    said(f"  curl --parallel on the same {len(urls)} files", bare.told)
    said("  as a multiple of curl", f"{best.seconds / bare.seconds:.2f}x ({best.busy / bare.busy:.2f}x busy)")
    said("  curl --parallel, then openssl dgst -sha256 and sync", hashed.told)
    said(
        "  as a multiple of both",
        f"{best.seconds / hashed.seconds:.2f}x ({best.busy / hashed.busy:.2f}x busy)",
    )
    said("  highest memory of evalharness episodes", f"{max(each.peak for each in sides[2]):.0f} MB")


def again(server: League, folder: Path, episodes: int) -> None:
    """A complete folder, and the same command again."""
    server.played(episodes)
    words = ("--policy", "keeper", "-n", str(episodes))
    first = ours((), folder / "whole", server, *words)
    reruns = [ours((), folder / "whole", server, *words) for _ in range(3)]
    files = sum(path.is_file() for path in (folder / "whole").rglob("*"))
    said(f"everything of {episodes} episodes, {files} files", first.told)
    said(
        "  the same command again, over the complete folder", min(reruns, key=lambda each: each.seconds).told
    )
    said("  highest memory of the first and of the second", f"{first.peak:.0f} and {reruns[0].peak:.0f} MB")


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--full", action="store_true", help="200 episodes of large logs, 1,000 to look through again"
    )
    parser.add_argument("--size", type=int, default=MB, help="bytes of a log (1000000)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each side downloads (2)")
    given = parser.parse_args()
    large, small = (200, 1000) if given.full else (20, 100)
    said("processors, and processes that want one now", f"{os.cpu_count()}, {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with league(folder / "home") as server:
            large_logs(server, folder, large, given.size, given.rounds)
            again(server, folder, small)


if __name__ == "__main__":
    main()
