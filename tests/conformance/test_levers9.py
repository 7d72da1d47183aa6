"""The real `levers9` SDK, unpatched, reads a set that we built.

`tests/conformance/install.sh` makes its virtual environment; without one these tests skip.
"""

import gzip
import json
import random
import subprocess

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.engines.evidence.building import BuildPlan, build
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.folder import DataFolder
from pytest_evalharness.engines.evidence.scrubbing import CallKeys
from pytest_evalharness.engines.evidence.splitting import side
from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
from pytest_evalharness.engines.evidence.world import load_world, outcomes_of

SECRET = "a long secret of tests"
AGENT = [
    "Hello, this is Noor.",
    "What are you looking for?",
    "I understand your concern.",
    "Would you like to visit?",
    "Mhm.",
]
CUSTOMER = [
    "Is it still available?",
    "It is too expensive.",
    "I must ask my wife.",
    "Can I see it tomorrow?",
    "Hm.",
]
ASK = """
import json, sys
from levers9.decision import Evidence, decision_engine

evidence = Evidence.load(sys.argv[1])
bare = dict(evidence.to_dict())
bare["transitions"] = [{key: value for key, value in row.items() if key != "split"} for row in bare["transitions"]]


@decision_engine(name="most-won", learns_from="episodes")
def most_won(evidence, params):
    best = {}
    for row in evidence.transitions():
        won = best.setdefault(row.state, {}).setdefault(row.move, [])
        won.append(row.ret)
    return {"policy": {s: max(m, key=lambda a: sum(m[a]) / len(m[a])) for s, m in best.items()}}


def told(evidence):
    pairs = evidence.pairs()
    return {
        "summary": evidence.summary(), "kind": evidence.kind, "gamma": evidence.gamma, "states": evidence.states,
        "pairs": pairs, "named": [(evidence.states[s], evidence.moves[a], evidence.moves[b]) for s, a, b in pairs],
        "calls": {rows[0].episode_id: [[r.t, r.state, r.move, r.terminal, r.done, r.ret, r.propensity, r.next_state]
                                       for r in rows] for rows in evidence.by_episode()},
        "words": [evidence.vocabulary.move(move) for move in evidence.moves],
    }

parts = {name: told(evidence.part(name)) for name in ("fit", "held_out")}
hashed = {name: sorted({r.episode_id for r in Evidence.from_dict(bare).part(name, seed=7).transitions()}) for name in parts}
print(json.dumps({"whole": told(evidence), **parts, "hashed": hashed,
                  "policy": most_won.run(evidence.part("fit"))["policy"]}))
"""


def call(number, rng):
    """Customers of held-out calls say something that no other does, so that states exist which a part drops."""
    rare = side(CallKeys(SECRET.encode(), "acme", 7).of(str(number))[0], seed=7) == "held_out"
    said = [{"role": "customer", "text": "I am driving."}] if rare else []
    for _ in range(rng.randint(1, 6)):
        said.append({"role": "agent", "text": rng.choice(AGENT)})
        said.append({"role": "customer", "text": rng.choice(CUSTOMER)})
    return {
        "call_id": number,
        "outcome": rng.choice(["Booked Visit", "Call Later", "No Interest"]),
        "turns": said,
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A set with turns that nobody could label, and states that only held-out calls have."""
    home = tmp_path_factory.mktemp("evidence")
    rng = random.Random(5)
    export = home / "calls.jsonl.gz"
    export.write_bytes(
        gzip.compress("\n".join(json.dumps(call(number, rng)) for number in range(60)).encode())
    )
    world = load_world()
    world.otherwise = "unknown"
    folder = DataFolder(home / "data")
    record = build(
        BuildPlan("acme", export, world, outcomes_of(world)), RuleTagger(world), folder,
        clock=SystemClock(), environ={"EVALHARNESS_EVIDENCE_KEY": SECRET},
    )  # fmt: skip
    return folder.datasets / record.path


@pytest.fixture(scope="module")
def read(sdk, built):
    done = subprocess.run([sdk, "-c", ASK, built], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", ["whole", "fit", "held_out"])
def test_the_sdk_sees_what_we_see(read, built, part):
    ours = Evidence.load(built)
    if part != "whole":
        ours = ours.part(part)
    theirs = read[part]
    assert (theirs["kind"], theirs["gamma"]) == ("real", 1.0)
    same = ("pack", "episodes", "transitions", "unlabelled", "states", "moves", "simulator", "kind", "tagger")
    more = ("propensity", "propensity_source", "fit_calls", "held_out_calls")
    summary = ours.summary()
    assert {key: theirs["summary"][key] for key in same + more} == {key: summary[key] for key in same + more}
    assert theirs["summary"]["unlabelled"] > 0
    calls = {
        rows[0].episode_id: [[r.t, r.state, r.move, r.terminal, r.done, r.ret, r.propensity, r.next_state] for r in rows]
        for rows in ours.by_episode()
    }  # fmt: skip
    assert theirs["calls"] == calls
    assert all(rows[-1][4] for rows in calls.values())
    assert theirs["words"] == [ours.vocabulary.move(move) for move in ours.moves]


def test_pairs_are_right_in_the_sdk_after_it_has_dropped_states(read, built):
    ours = Evidence.load(built)
    named = [list(pair) for pair in ours.document.named_pairs]
    assert len(named) > 10
    assert read["whole"]["named"] == named
    assert len(read["fit"]["states"]) < len(read["whole"]["states"])  # else nothing was put to the test
    assert read["fit"]["named"] == named


def test_the_sdk_splits_as_we_do(read, built):
    calls = {row.episode_id for row in Evidence.load(built).transitions()}
    for part in ("fit", "held_out"):
        assert read["hashed"][part] == sorted(one for one in calls if side(one, seed=7) == part)
        assert set(read["hashed"][part]) == read[part]["calls"].keys()


def test_an_engine_of_the_sdk_learns_from_it(read):
    assert read["policy"].keys() <= set(read["fit"]["states"])
    assert len(read["policy"]) > 3
