"""How long does an evidence set take by the rule tagger, and how much memory?

Prints one line a figure, asserts nothing. The peer is what must be done anyway: gunzip and JSON parsing of the same file. The build
that is measured has everything: sample, scrubbing, cues, propensities, split, pairs, and the document on disk.

python benchmarks/bench_evidence.py [CALLS]
"""

import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.engines.evidence.building import BuildPlan, build
from pytest_evalharness.engines.evidence.folder import DataFolder
from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
from pytest_evalharness.engines.evidence.world import load_world, outcomes_of

AGENT = [
    "Hello, this is Noor calling from Harbour Homes, how are you doing this morning?",
    "What are you looking for exactly, and which area of the city do you prefer?",
    "The flat is located close to the park, it has three bedrooms and parking, about 120 square meters.",
    "I understand your concern, we have a payment plan with instalments over five years.",
    "To be honest many families in the building have been our customers for years.",
    "Would you like to visit on Thursday afternoon? What time suits you best?",
    "I will call you back tomorrow and send you the details, my number is +966 55 512 3456.",
    "Shall I confirm the booking then? You are booked for Thursday at four.",
    "One moment please while I look that up for you in our system.",
]
CUSTOMER = [
    "Hi, is it still available? I have seen it on the portal last week.",
    "It is too expensive for us, my budget is lower than that, honestly.",
    "I need to ask my wife and my family first, they are travelling at the moment.",
    "Call me on 0555 123 456 later, I am busy now and on the road.",
    "Sounds good, I like it, the pictures look very nice.",
    "How much is it and where is it located exactly?",
    "Can I see it tomorrow? What time would be possible for you?",
    "We need three rooms and schools close by for the children, I prefer the north side.",
    "Hmm okay, let me see what my brother says about it.",
]
FILLER = ["".join(random.Random(at).choices("abcdefghiklmnoprstuvwy", k=2 + at % 8)) for at in range(3000)]
LABELS = ["Booked Visit"] * 3 + ["Call Later"] * 3 + ["No Interest"] * 5 + ["Voicemail"]


def spoken(sentences: list[str], most: int, rng: random.Random) -> str:
    """A sentence that cues may know among words that they do not: real calls compress no better than this."""
    return f"{' '.join(rng.choices(FILLER, k=rng.randint(2, most)))}. {rng.choice(sentences)}"


def call(number: int, rng: random.Random) -> dict[str, object]:
    turns = []
    for _ in range(rng.randint(4, 12)):
        turns.append({"role": "agent", "text": spoken(AGENT, 16, rng)})
        turns.append({"role": "customer", "text": spoken(CUSTOMER, 8, rng)})
    return {
        "call_id": f"C-{number:07d}", "phone": f"+9665{rng.randrange(10**8):08d}", "agent_id": rng.randrange(40),
        "started_at": "2026-03-01T10:00:00Z", "recording": f"https://recordings.example/{rng.randrange(10**12)}.mp3",
        "outcome": rng.choice(LABELS), "turns": turns,
    }  # fmt: skip


def make_export(path: Path, calls: int) -> None:
    rng = random.Random(1)
    with gzip.open(path, "wt", compresslevel=6) as file:
        for number in range(calls):
            file.write(json.dumps(call(number, rng)) + "\n")


def bare(export: Path) -> None:
    with gzip.open(export, "rb") as file:
        for line in file:
            json.loads(line)


def built(export: Path, calls: int) -> None:
    world = load_world()
    with tempfile.TemporaryDirectory() as folder:
        plan = BuildPlan("acme", export, world, outcomes_of(world), calls=calls)
        build(plan, RuleTagger(world), DataFolder(Path(folder)), clock=SystemClock(), environ={})


def best(work: Callable[[], None], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def peak_megabytes(export: Path, calls: int) -> float:
    """Of a process that does nothing else."""
    run = subprocess.run(
        [sys.executable, __file__, "--peak", str(export), str(calls)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        built(Path(sys.argv[2]), int(sys.argv[3]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "calls.jsonl.gz"
        make_export(export, size)
        base = best(lambda: bare(export))
        print(
            f"gunzip and json.loads of {size:,} calls: {base:.2f} s ({export.stat().st_size / 1e6:.1f} MB packed)"
        )
        for calls in sorted({min(2000, size), size}):
            taken = best(lambda calls=calls: built(export, calls))
            print(
                f"a set of {calls:,} of them by the rule tagger: {taken:.2f} s, {taken / base:.2f} times that"
            )
            print(f"  peak memory of its process: {peak_megabytes(export, calls):.0f} MB")


if __name__ == "__main__":
    main()
