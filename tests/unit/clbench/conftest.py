"""Published runs that are made up here, in the form that the benchmark writes."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalharness.clbench.domains import Family

GOLDEN = Path(__file__).parents[2] / "golden" / "clbench" / "reference_sums.json"
SHORT = {domain.short: domain.task for domain in Family.OFFICIAL.domains}


def outcome(name, reward, **more):
    return {
        "instance_id": name,
        "instance_index": 0,
        "reward": reward,
        "metadata": {},
        "cost_usd": 0.01,
    } | more


def trace(outcomes, index, **more):
    cost = sum(one.get("cost_usd") or 0.0 for one in outcomes)
    execution = {"run_index": index, "usage": {"interaction": {"cost_usd": cost}}}
    if index is None:
        execution |= {"instances_blocked": 0, "coverage_ratio": 1.0}
    return {
        "status": "completed",
        "phase": "baseline" if index is None else "run",
        "execution": execution,
        "result": {"instance_outcomes": outcomes},
    } | more


def artifact(task, baseline, rollouts, *, expected="baseline", params=None, **summary):
    """An artifact; passes are lists of outcomes, or whole traces."""
    size = len(baseline) if expected == "baseline" else expected
    params = ({} if size is None else {"expected_num_instances": size}) | (params or {})

    def whole(one, index):
        return trace(one, index) if isinstance(one, list) else one

    return {
        "kind": "viewer_artifact",
        "summary": {"task": {"name": task, "params": params}, "schedule": "default"} | summary,
        "baseline_trace": None if baseline is None else whole(baseline, None),
        "run_traces": [{"run_index": k, "trace": whole(one, k)} for k, one in enumerate(rollouts)],
    }


def publish(folder, artifacts, *, packed=True, manifest=None):
    """A run directory of artifacts by task."""
    (folder / "tasks").mkdir(parents=True)
    for task, told in artifacts.items():
        raw = json.dumps(told).encode()
        path = folder / "tasks" / (f"{task}.json.gz" if packed else f"{task}.json")
        path.write_bytes(gzip.compress(raw, 1) if packed else raw)
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def plain(rewards):
    return [outcome(f"i{at}", reward) for at, reward in enumerate(rewards)]


def regrets(values):
    return [
        outcome(f"q{at}", round(max(0.0, 1 - value / 15), 6), raw_metric_value=value)
        for at, value in enumerate(values)
    ]


def studies(pairs, *, unit=None):
    """Outcomes of (reference, agent) divergences: in bits with their difference, or without a unit as the clipped ratio."""
    found = []
    for at, (reference, agent) in enumerate(pairs):
        told = {"mean_reference_kl": reference, "mean_kl_divergence": agent}
        if unit is None:
            found.append(outcome(f"s{at}", round(max(0.0, 1 - agent / reference), 4), metadata=told))
        else:
            found.append(outcome(f"s{at}", reference - agent, metadata={**told, "kl_unit": unit}))
    return found


@pytest.fixture
def invented(tmp_path):
    """The synthetic set: two runs of three tasks whose scores were computed elsewhere. Returns their folders by name."""
    sales, db, cohort = SHORT["sales"], SHORT["db"], SHORT["cohort"]
    reference = {
        sales: artifact(sales, plain([0.2, 0.4, 0.4, 0.2]), [plain([0.5] * 4)]),
        db: artifact(db, regrets([15, 15, 3, 15]), [regrets([15, 3, 3, 0])]),
        cohort: artifact(
            cohort, studies([(0.07, 0.09), (0.10, 0.09)]), [studies([(0.07, 0.04), (0.10, 0.11)])]
        ),
    }
    rollouts = [plain([0.2, 0.6, 0.8, 0.8]), plain([0.4, 0.4, 0.6, 0.6]), plain([0.1, 0.9])]
    bits = [
        studies(pairs, unit="bits")
        for pairs in (
            [(0.10, 0.11), (0.15, 0.15)],
            [(0.10, 0.08), (0.15, 0.18)],
            [(0.10, 0.05), (0.15, 0.10)],
        )
    ]
    demo = {
        sales: artifact(sales, plain([0.1, 0.3, 0.5, 0.3]), rollouts),
        db: artifact(db, regrets([15, 15, 15, 6]), [regrets([6, 3, 15, 0]), regrets([15, 3, 3, 3])]),
        cohort: artifact(cohort, bits[0], bits[1:]),
    }
    return {
        "icl-gpt-5.4": publish(tmp_path / "icl-gpt-5.4", reference),
        "demo": publish(tmp_path / "demo", demo, packed=False),
    }


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """Six published runs rebuilt from their sums: each pass has its sum on one instance. Returns folders by name."""
    sums = json.loads(GOLDEN.read_text())
    root = tmp_path_factory.mktemp("published")
    names = sums[SHORT["bsm"]]
    return {name: publish(root / name, _rebuilt(sums, name)) for name in names}


def _rebuilt(sums, name):
    found = {}
    for task in Family.OFFICIAL.tasks:
        if task == SHORT["cohort"]:
            scales = [
                sums[f"{task}/{scale}"][name]
                for scale in ("prefix_clipped", "pr9_unit_blind", "consistent_bits")
            ]
            unit = "bits" if scales[1]["rollout_sums"] == scales[2]["rollout_sums"] else None
            passes = list(zip(scales[0]["rollout_sums"], scales[1]["rollout_sums"], strict=True))
            size = scales[0]["n_instances"]
            told = [
                _one_study(stored, gain, size, unit)
                for stored, gain in [(scales[0]["baseline_sum"], scales[1]["baseline_sum"]), *passes]
            ]
        else:
            one = sums[task][name]
            rollouts = one["rollout_sums"] or [one["reward_mean"]] * one["n_rollouts"]
            told = [
                plain([total] + [0.0] * (one["n_instances"] - 1))
                for total in [one["baseline_sum"], *rollouts]
            ]
        found[task] = artifact(task, told[0], told[1:])
    return found


def _one_study(stored, gain, size, unit):
    """A pass whose rewards sum up to `stored` and whose differences to `gain`."""
    metric = {"raw_metric_name": "kl_information_gain_bits" if unit else "kl_skill_score"}
    units = {"kl_unit": unit} if unit else {}
    first = {"mean_reference_kl": 20.0 + gain, "mean_kl_divergence": 20.0, **units}
    rest = {"mean_reference_kl": 0.1, "mean_kl_divergence": 0.1, **units}
    return [
        outcome(f"s{at}", 0.0 if at else stored, metadata=rest if at else first, **metric)
        for at in range(size)
    ]


@pytest.fixture(scope="session")
def clbench_files():
    """The makers of artifacts, for tests that need others than the two sets."""
    return SimpleNamespace(
        outcome=outcome,
        trace=trace,
        artifact=artifact,
        publish=publish,
        plain=plain,
        regrets=regrets,
        studies=studies,
        SHORT=SHORT,
    )
