"""Call exports, and sets built from them."""

import gzip
import json
import random

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.engines.evidence.building import BuildPlan, build
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.folder import DataFolder
from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
from pytest_evalharness.engines.evidence.world import load_world, outcomes_of

AGENT = {
    "greet": "Hello, this is Noor.",
    "ask_need": "What are you looking for?",
    "handle_objection": "I understand your concern.",
    "propose_viewing": "Would you like to visit?",
}
CUSTOMER = [
    "Hi, is it still available?",
    "It is too expensive.",
    "I must ask my wife.",
    "Can I see it tomorrow?",
]
KEY = {"EVALHARNESS_EVIDENCE_KEY": "a long secret of tests"}
LABELS = ["Booked Visit", "Call Later", "No Interest"]


def call(number, rng):
    said = []
    for _ in range(rng.randint(2, 5)):
        said.append({"role": "agent", "text": rng.choice(list(AGENT.values()))})
        said.append({"role": "customer", "text": rng.choice(CUSTOMER)})
    return {"call_id": f"C-{number}", "outcome": LABELS[number % 3], "phone": "+966555123456", "turns": said}


@pytest.fixture(scope="session")
def calls():
    """So many made-up calls, the same ones every time."""

    def make(count, seed=1):
        rng = random.Random(seed)
        return [call(number, rng) for number in range(count)]

    return make


@pytest.fixture
def export(tmp_path):
    """Writes rows, or lines as they are, as an export."""

    def write(rows, name="calls.jsonl.gz"):
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        raw = b"".join(line + b"\n" for line in lines)
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    return DataFolder(tmp_path / "data")


@pytest.fixture
def build_set(export, folder):
    """Builds a set of rows and gives the record and the evidence."""

    def run(
        rows, *, tagger=None, world=None, overrides=None, on_progress=lambda *_: None, environ=KEY, **plan
    ):
        world = world or load_world()
        path = rows if hasattr(rows, "suffix") else export(rows)
        plan = BuildPlan("acme", path, world, outcomes_of(world, overrides), **plan)
        record = build(
            plan, tagger or RuleTagger(world), folder,
            clock=SystemClock(), environ=environ, on_progress=on_progress,
        )  # fmt: skip
        return record, Evidence.load(folder.datasets / record.path)

    return run
