"""How long does the HTML report take, and how large is it, for 20 comparisons of 100 episodes an arm?

Prints one line a figure, asserts nothing. The peer is `json.dumps` of the same report: what must be written anyway.

python benchmarks/bench_report.py
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable

from pytest_evalharness.report.html import embedded_json, render
from pytest_evalharness.report.model import CaseReport, Report
from pytest_evalharness.report.page import page
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge

COMPARISONS, EPISODES = 20, 100
ARMS = {"candidate": 80, "baseline": 60}


def uuid(number: int) -> str:
    """As long as the real ones, and as hard to compress."""
    text = f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def episodes(comparison: int, side: str, wins: int) -> dict[str, object]:
    rows = [
        {
            "id": f"ereq_{uuid(1000 * comparison + 2 * i + (side == 'baseline') + 1)}",
            "request": f"xreq_{uuid(comparison + 1)}", "seed": (i + 1) * 48_271 * (comparison + 7) % 2**31,
            "status": "completed", "outcome": "win" if i < wins else "loss", "score": float(i < wins), "kills": i % 4,
            "cause": "", "seated": True, "wrong": {},
        }
        for i in range(EPISODES)
    ]  # fmt: skip
    seats = [{"position": i, "label": f"rival-{i}:v1", "role": "crew"} for i in range(8)]
    return {"tested_seat": 0, "seats": seats, "rows": rows}


def case(number: int) -> CaseReport:
    arms = [
        ArmEvidence(
            f"bot:{side}", wins, EPISODES, EPISODES, wins / EPISODES, 50, 0, (f"xreq_{uuid(number + 1)}",)
        )
        for side, wins in ARMS.items()
    ]
    found = judge(Declaration("better"), *arms, (), verified=("seats",))
    result = {
        "name": "A/B crew", "headline": found.headline("A/B crew"), "lines": found.summary_lines(), "next_step": "",
        "judgement": found.to_json(), "plan": {"server": "embedded:2026"}, "attempt": 1, "earlier": [], "roster": {},
        "evidence_age_seconds": None,
        "episodes": {side: episodes(number, side, wins) for side, wins in ARMS.items()},
    }  # fmt: skip
    return CaseReport(f"evals/test_bench.py::test_{number}", "passed", "", (result,))


def best(call: Callable[[], object], rounds: int = 7) -> float:
    """Seconds of the fastest of several calls, which other processes disturb least."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return min(took)


def main() -> None:
    cases = tuple(case(number) for number in range(COMPARISONS))
    report = Report("bench", "embedded:2026", "2026-09-01T12:00:00.000Z", 0, cases, (), (), {})
    plain = report.to_json()
    dumped = best(lambda: json.dumps(plain, sort_keys=True, indent=2))
    rows = 2 * COMPARISONS * EPISODES
    text = render(report)
    told = (
        ("json.dumps of the report (the peer)", dumped),
        ("page: sentences, rows, geometry", best(lambda: page(report))),
        ("the block of rows alone", best(lambda: embedded_json(page(report).data))),
        ("render: the whole file", best(lambda: render(report))),
    )
    for name, took in told:
        print(f"{name:<40} {1e3 * took:8.1f} ms   {took / dumped:5.2f} x json.dumps")
    first = "import time; s = time.perf_counter(); import jinja2; print(time.perf_counter() - s)"
    run = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, check=True)
    print(f"{'import jinja2, once a run':<40} {1e3 * float(run.stdout):8.1f} ms")
    size, peer = len(text.encode()), len(json.dumps(plain, sort_keys=True, indent=2).encode())
    print(
        f"{'report.html':<40} {size / 1e3:8.0f} kB   {size / peer:5.2f} x results.json ({peer / 1e3:.0f} kB)"
    )
    print(f"{'bytes an episode':<40} {size / rows:8.0f} B    {rows} episodes")


if __name__ == "__main__":
    main()
