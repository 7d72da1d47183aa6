"""The sums of a task's passes, as the benchmark makes them of instances: of one rollout, and over rollouts by position. Pure.

Gains are paired by instance id, as the benchmark pairs them: of a scan, whose ids number positions, that is the position.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_evalharness.clbench.campaign.remains import Ending, PassLeft, PassState

DIGITS = 6
_COST_DIGITS = 10
_SERIES = {"cost_usd": "cost", "gain": "gain", "cost_increase": "cost_increase"}
"""Keys of an outcome that are summed up, and the word that the sums have."""


def headline(told: dict[str, Any]) -> dict[str, float | None]:
    """The four numbers that a campaign's manifest has of a task, of a summary that was made anywhere.

    Rewards and dollars are means over rollouts of their sums; the gain is the sum over positions of its means.
    """
    aggregate = told.get("aggregate") or {}
    runs = [one.get("aggregate") or {} for one in told.get("runs") or [] if isinstance(one, dict)]
    gains = _numbers(aggregate.get("mean_gain_by_index"))
    latencies = _numbers(aggregate.get("mean_latency_by_index"))
    return {
        "cumulative_gain": round(sum(gains), DIGITS) if gains else None,
        "total_reward": _mean(_numbers(one.get("total_reward") for one in runs), DIGITS),
        "mean_latency_seconds": _mean(latencies, DIGITS),
        "total_cost_usd": _mean(_numbers(one.get("total_cost") for one in runs), _COST_DIGITS),
    }


def with_gains(outcomes: list[dict[str, Any]], baseline: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outcomes with what the baseline earned and cost on the same instances."""
    earned = {str(one.get("instance_id")): one for one in baseline}
    made = []
    for one in outcomes:
        base, reward = earned.get(str(one.get("instance_id"))), one.get("reward")
        if base is None or base.get("reward") is None or reward is None:
            made.append(one)
            continue
        told = {
            "baseline_reward": round(base["reward"], DIGITS),
            "gain": round(reward - base["reward"], DIGITS),
        }
        if (cost := base.get("cost_usd")) is not None:
            told["baseline_cost"] = round(cost, DIGITS)
            if (mine := one.get("cost_usd")) is not None:
                told["cost_increase"] = round(mine - cost, DIGITS)
        made.append({**one, **told})
    return made


def sums(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Of one pass."""
    rewards = [float(one.get("reward") or 0.0) for one in outcomes]
    told: dict[str, Any] = {
        "instances_completed": len(outcomes),
        "total_reward": round(sum(rewards), DIGITS),
        "mean_reward": _mean(rewards, DIGITS) or 0.0,
        "reward_by_index": [round(one, DIGITS) for one in rewards],
    }
    for key, name in _SERIES.items():
        series = [one.get(key) for one in outcomes]
        if numbers := _numbers(series):
            told[f"total_{name}"] = round(sum(numbers), DIGITS)
            told[f"mean_{name}"] = _mean(numbers, DIGITS)
            told[f"{name}_by_index"] = [None if one is None else round(one, DIGITS) for one in series]
    if "total_gain" in told:
        matched = sum(one.get("gain") is not None for one in outcomes)
        told["gain_instances_matched"] = matched
        told["gain_coverage_ratio"] = round(matched / len(outcomes), DIGITS)
    if (metric := _metric(outcomes)) is not None:
        told["raw_metric_name"] = metric
        told["raw_metric_by_index"] = [round(float(one["raw_metric_value"]), DIGITS) for one in outcomes]
    return told


def _metric(outcomes: list[dict[str, Any]]) -> str | None:
    """The raw metric of every instance; None where they have none, or several."""
    names = {one.get("raw_metric_name") for one in outcomes}
    told = len(_numbers(one.get("raw_metric_value") for one in outcomes)) == len(outcomes)
    name = next(iter(names)) if len(names) == 1 else None
    return name if isinstance(name, str) and told else None


def aggregate(baseline: list[dict[str, Any]], rollouts: Sequence[PassLeft]) -> dict[str, Any]:
    """Means by position over rollouts that completed: one that was blocked met other instances at a position."""
    whole = [one for one in rollouts if one.state is PassState.WHOLE]
    paired = [with_gains(one.outcomes, baseline) for one in whole]
    endings = [one.trace.result for one in whole if one.trace is not None and one.trace.result is not None]
    gains = _by_position(paired, "gain")
    running = _running_mean(gains)
    told: dict[str, Any] = {
        "baseline_reward_by_index": [round(float(one.get("reward") or 0.0), DIGITS) for one in baseline],
        "baseline_cost_by_index": _rounded(one.get("cost_usd") for one in baseline),
        "mean_reward_by_index": _by_position(paired, "reward"),
        "mean_gain_by_index": gains,
        "cumulative_mean_gain_by_index": running,
        "final_cumulative_mean_gain": next((one for one in reversed(running) if one is not None), 0.0),
        "mean_cost_by_index": _by_position(paired, "cost_usd"),
        "mean_cost_increase_by_index": _by_position(paired, "cost_increase"),
        "mean_latency_by_index": _by_position(paired, "latency_seconds"),
        "runs_total": len(rollouts),
        "runs_completed": len(whole),
        "runs_blocked": sum(one.state is PassState.BLOCKED for one in rollouts),
        **_scores(endings),
    }
    metrics = {_metric(one) for one in paired}
    if paired and len(metrics) == 1 and (name := next(iter(metrics))) is not None:
        told["raw_metric_name"] = name
        told["mean_raw_metric_by_index"] = _by_position(paired, "raw_metric_value")
    return told


def _scores(endings: Sequence[Ending]) -> dict[str, Any]:
    """Spreads over rollouts of what they say of themselves."""
    told: dict[str, Any] = {}
    if spread := _spread(one.score for one in endings):
        told["score"] = spread
    held = [one.metrics or {} for one in endings]
    keys = sorted({key for one in held for key in one})
    # A number in one rollout and something else in another is no number.
    numeric = [key for key in keys if all(_numbers([one[key]]) for one in held if key in one)]
    if numeric:
        told["metrics"] = {key: _spread(one.get(key) for one in held) for key in numeric}
    performance = [one.eval_metrics or {} for one in endings]
    told["eval_metrics"] = {
        "optimal_performance": _spread(one.get("optimal_performance") for one in performance),
        "actual_performance": _spread(one.get("actual_performance") for one in performance),
        "cumulative_loss": _spread(sum(_numbers(one.get("loss_curve"))) for one in performance),
    }
    return told


def _spread(values: Iterable[Any]) -> dict[str, float]:
    told = _numbers(values)
    if not told:
        return {}
    deviation = statistics.stdev(told) if len(told) > 1 else 0.0
    return {"mean": statistics.fmean(told), "std": deviation, "min": min(told), "max": max(told)}


def _by_position(passes: list[list[dict[str, Any]]], key: str) -> list[float | None]:
    length = max(map(len, passes), default=0)
    columns = [_numbers(one[at].get(key) for one in passes if at < len(one)) for at in range(length)]
    return [_mean(one, DIGITS) for one in columns] if any(columns) else []


def _running_mean(values: list[float | None]) -> list[float | None]:
    """The mean of the values up to each position."""
    so_far = (values[: at + 1] for at in range(len(values)))
    return [_mean([one for one in part if one is not None], DIGITS) for part in so_far]


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    told = [None if one is None else round(one, DIGITS) for one in values]
    return told if any(one is not None for one in told) else []


def _numbers(values: Iterable[Any] | None) -> list[float]:
    return [float(one) for one in values or () if isinstance(one, int | float) and not isinstance(one, bool)]


def _mean(values: list[float], digits: int) -> float | None:
    return round(sum(values) / len(values), digits) if values else None
