"""What `obp` or `scope-rl` make of arrays on standard input; their own Python runs this, not ours.

Usage: peer_estimates.py obp|scope-rl < cases.json

The packages import torch, gym and d3rlpy as a whole, and use them nowhere in the estimators that are asked for here but in
annotations and `isinstance`. Empty modules stand in for those; the arithmetic is the libraries' own.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np


def stand_in(name, *classes):
    module = ModuleType(name)
    for one in classes:
        setattr(module, one, type(one, (), {}))
    sys.modules[name] = module


def bare(package):
    """A package whose `__init__`, which imports everything, does not run."""
    *_, last = package.split(".")
    above = package.rpartition(".")[0]
    folder = (
        Path(importlib.util.find_spec(package).origin).parent if not above else sys.modules[above].__path__[0]
    )
    module = ModuleType(package)
    module.__path__ = [str(folder if not above else Path(folder) / last)]
    sys.modules[package] = module


def obp(case):
    from obp.ope import estimators as by

    log = {name: np.array(case[name]) for name in ("reward", "action", "pscore", "position")}
    wide = [
        np.array(case[name]).T for name in ("shares", "q")
    ]  # an item by a position, the same in every round
    log["action_dist"], q = (np.broadcast_to(one, (len(log["action"]), *one.shape)) for one in wide)
    model = {"estimated_rewards_by_reg_model": q}
    drawn = {"alpha": 0.05, "n_bootstrap_samples": case["resamples"], "random_state": 0}
    weighted = by.SelfNormalizedInverseProbabilityWeighting()
    ends = weighted.estimate_interval(**log, **drawn)
    return {
        "pdwis": weighted.estimate_policy_value(**log),
        "pdis": by.InverseProbabilityWeighting().estimate_policy_value(**log),
        "dm": by.DirectMethod().estimate_policy_value(**log, **model),
        "dr": by.SelfNormalizedDoublyRobust().estimate_policy_value(**log, **model),
        "ci": [value for name, value in ends.items() if "CI" in name],
    }


def scope_rl(case):
    by = importlib.import_module("scope_rl.ope.discrete.basic_estimators")
    log = {
        name: np.array(case[name]) for name in ("action", "reward", "pscore", "evaluation_policy_action_dist")
    }
    log |= {"step_per_trajectory": case["steps"], "gamma": case["gamma"]}
    log["state_action_value_prediction"] = np.array(case["q"])
    asked = {
        "pdwis": by.SelfNormalizedPDIS,
        "pdis": by.PerDecisionImportanceSampling,
        "wis": by.SelfNormalizedTIS,
        "dm": by.DirectMethod,
        "dr": by.SelfNormalizedDR,
    }
    return {name: float(kind().estimate_policy_value(**log)) for name, kind in asked.items()}


stand_in("torch", "Tensor")
stand_in("gym", "Env")
stand_in("d3rlpy")
stand_in("d3rlpy.preprocessing", "ActionScaler")
for package in ("obp", "obp.ope", "scope_rl", "scope_rl.ope", "scope_rl.ope.discrete"):
    bare(package)
estimate = {"obp": obp, "scope-rl": scope_rl}[sys.argv[1]]
json.dump([estimate(case) for case in json.load(sys.stdin)], sys.stdout, default=float)
