"""Our estimators beside those of `obp` and `scope-rl`, on real logged-bandit data and on the golden logs.

Where they differ the difference is asserted too, with its reason. `tests/conformance/install.sh` makes the environment that
both libraries run in; without one these tests skip.
"""

import csv
import itertools
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pytest_evalharness.engines.evidence.rows import Row
from pytest_evalharness.engines.ope.calls import NONE, Calls
from pytest_evalharness.engines.ope.scoring import score
from pytest_evalharness.engines.ope.tally import Cells
from pytest_evalharness.engines.ope.target import Target
from tests.unit.engines.test_ope_golden import TABLES

GOLDEN = Path(__file__).parents[1] / "golden" / "engines"
pytestmark = pytest.mark.slow

# ------------------------------------------------------------------ obp: one decision a call, real clicks

POSITIONS = 3
RESAMPLES = 1000


def clicks(peers, policy):
    """The packaged sample of the Open Bandit Dataset: which item was shown in which of three places, and who clicked."""
    with (peers / "obp/dataset/obd" / policy / "men/men.csv").open() as file:
        rows = list(csv.DictReader(file))
    items = sorted({int(row["item_id"]) for row in rows})
    told = [
        Row(
            episode_id=f"c{at}",
            state=f"0:0:{row['position']}",
            move=str(items.index(int(row["item_id"]))),
            propensity=float(row["propensity_score"]),
            terminal=float(row["click"]),
            ret=float(row["click"]),
            done=True,
        )
        for at, row in enumerate(rows)
    ]
    return Calls.from_rows(told, [str(at) for at in range(len(items))])


def as_obp(calls, chosen):
    """The same log in obp's arrays; `chosen` is an item a state, None a uniform choice. The model is counted anew."""
    states, items = len(calls.states), len(calls.moves)
    q = np.empty((states, items))
    for state in range(states):
        here = calls.state == state
        for item in range(items):
            there = here & (calls.move == item)
            q[state, item] = calls.reward[there if there.any() else here].mean()
    share = np.full((states, items), 1.0 / items) if chosen is None else np.eye(items)[chosen]
    return {
        "reward": calls.reward.tolist(),
        "action": calls.move.tolist(),
        "pscore": calls.propensity.tolist(),
        "position": calls.state.tolist(),
        "shares": share.tolist(),
        "q": q.tolist(),
        "resamples": RESAMPLES,
    }


@pytest.fixture(scope="module")
def beside_obp(peers, peer_estimates):
    """Our scores and obp's of the items that were shown most, and of a uniform choice, on two logs."""
    cases, ours = [], {}
    for policy in ("bts", "random"):
        calls = clicks(peers, policy)
        shown = np.zeros((POSITIONS, len(calls.moves)))
        np.add.at(shown, (calls.state, calls.move), 1)
        most = shown.argmax(axis=1)
        table = {state: calls.moves[at] for state, at in zip(calls.states, most, strict=True)}
        targets = {"table": Target.table(calls, table), "uniform": Target.random(calls)}
        for name, scores in score(calls, targets, resamples=0).items():
            cases.append(as_obp(calls, most if name == "table" else None))
            ours[policy, name] = scores
    return {key: (ours[key], theirs) for key, theirs in zip(ours, peer_estimates("obp", cases), strict=True)}


CASES = list(itertools.product(("bts", "random"), ("table", "uniform")))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_one_decision_calls_are_worth_what_obp_says(beside_obp, case):
    ours, theirs = beside_obp[case]
    for name in ("pdwis", "pdis", "dm", "dr"):  # obp's SNIPS, IPS, DM and SNDR
        assert ours.values[name] == pytest.approx(theirs[name], rel=1e-9, abs=1e-12), name
    assert ours.values["pdwis"] > 0.0
    assert ours.ess > 100


def test_an_interval_of_obp_is_for_terms_that_were_normalised_once(peer_estimates):
    """Nine of ten calls are won whatever is done. How many calls agree with the table says nothing about its worth, but where the
    denominator is not drawn again that number is in the interval too: it is then sqrt((2p - p^2) / 2p(1 - p)) as wide, 2.3 times."""
    rng, told = np.random.default_rng(1), []
    for at in range(1000):
        won = float(rng.random() < 0.9)
        move = str(int(rng.integers(2)))
        told.append(
            Row(
                episode_id=f"c{at}",
                state="0:0:0",
                move=move,
                propensity=0.5,
                terminal=won,
                ret=won,
                done=True,
            )
        )
    calls = Calls.from_rows(told, ["0", "1"])
    ours = score(calls, {"it": Target.table(calls, {"0:0:0": "1"})}, resamples=RESAMPLES)["it"]
    (theirs,) = peer_estimates("obp", [as_obp(calls, np.array([1]))])
    assert ours.values["pdwis"] == pytest.approx(theirs["pdwis"], rel=1e-12)
    low, high = ours.interval("pdwis")
    by_formula = 2 * 1.96 * (ours.values["pdwis"] * (1 - ours.values["pdwis"]) / ours.ess) ** 0.5
    assert high - low == pytest.approx(by_formula, rel=0.15)
    assert (theirs["ci"][1] - theirs["ci"][0]) / (high - low) == pytest.approx(2.3, rel=0.2)


# ------------------------------------------------------------------ scope-rl: several decisions a call

GAMMAS = (1.0, 0.9)
LOGS = [(name, table, gamma) for name in "ab" for table in TABLES[name] for gamma in GAMMAS]


def golden(name, gamma):
    document = json.loads((GOLDEN / f"log_{name}_empirical.json").read_text())
    return Calls.from_rows(
        msgspec.convert(document["transitions"], list[Row]), document["moves"], gamma=gamma
    )


def as_scope_rl(calls, target, fitted):
    """The same log in scope-rl's arrays: calls are padded to one length with a certain move that earns nothing."""
    moves, cells = len(calls.moves), Cells.of(calls)
    worth = fitted.q(np.arange(len(cells)))[:, 0]
    q = np.where(cells.at == NONE, fitted.tally.guess[:, :1], worth[cells.at])
    share = np.zeros((len(calls.states), moves))
    np.add.at(share, (calls.state, calls.move), 1.0)
    share /= share.sum(axis=1, keepdims=True)
    decided = target.choice != NONE
    share[decided] = np.eye(moves)[target.choice[decided]]
    size = (len(calls), calls.horizon, moves)
    dist, value = np.zeros(size), np.zeros(size)
    dist[..., 0] = 1.0
    dist[calls.call, calls.step], value[calls.call, calls.step] = share[calls.state], q[calls.state]
    return {
        "action": calls.padded(calls.move.astype(float), 0.0).astype(int).ravel().tolist(),
        "reward": calls.padded(calls.reward, 0.0).ravel().tolist(),
        "pscore": calls.padded(calls.propensity, 1.0).ravel().tolist(),
        "evaluation_policy_action_dist": dist.reshape(-1, moves).tolist(),
        "q": value.reshape(-1, moves).tolist(),
        "steps": calls.horizon,
        "gamma": calls.gamma,
    }


@pytest.fixture(scope="module")
def beside_scope_rl(peer_estimates):
    cases, ours = [], []
    for name, table, gamma in LOGS:
        calls = golden(name, gamma)
        target = Target.table(calls, TABLES[name][table])
        scores = score(calls, {"it": target}, resamples=0)["it"]
        ours.append(scores)
        cases.append(as_scope_rl(calls, target, scores.fitted))
    return dict(zip(LOGS, zip(ours, peer_estimates("scope-rl", cases), strict=True), strict=True))


@pytest.mark.parametrize("case", LOGS, ids=lambda case: "-".join(map(str, case)))
def test_longer_calls_are_worth_what_scope_rl_says(beside_scope_rl, case):
    ours, theirs = beside_scope_rl[case]
    for name, value in ours.values.items():
        if value is None:
            continue
        assert value == pytest.approx(theirs[name], rel=1e-7, abs=1e-7), name  # it adds 1e-10 to denominators


def test_without_overlap_scope_rl_says_nothing_is_earned_and_we_say_nothing(beside_scope_rl):
    alone = [pair for pair in beside_scope_rl.values() if pair[0].ess == 0.0]
    assert alone
    for ours, theirs in alone:
        assert (ours.values["pdwis"], ours.values["wis"]) == (None, None)
        assert theirs["wis"] == 0.0  # as if every call had been lost
