"""Rows that a run on the bridge path lacks: its own folder says so, where the official path has complete artifacts or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.artifact import Unreadable
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.loss_classes import Fate, Loss, LossClass

_STATE = "runner_state"
_NOTHING = {b"", b"null", b"{}", b"[]"}


def missing_rows(runs_root: Path, files: ChangedFiles) -> Iterator[Loss]:
    """Questions without a reward or an outcome, and those of which nothing was absorbed.

    Args:
        runs_root: of the campaign: `RUN` or `RUN/runner_state` of a run on the bridge path. Any other holds no such rows.
        files: keeps what was read.
    """
    run = runs_root.parent if runs_root.name == _STATE else runs_root
    if not (run / _STATE).is_dir():
        return
    results = run / "results.json"
    conditions = files.read(results, _conditions).value or {}
    for condition, told in conditions.items():
        indices = told.get("missing_reward_indices") if isinstance(told, dict) else None
        for index in indices if isinstance(indices, list) else ():
            words = printable(f"{condition}: the question {index} has no reward")
            yield Loss(LossClass.MISSING_ROW, Fate.LOST, words, results, question=f"{condition}/{index}")
    for path in sorted(run.glob("traces/*/*/q*/absorb.json")):
        if files.read(path, _stripped).value in _NOTHING:
            yield _row(path, Fate.UNKNOWN, "nothing was absorbed")
    for path in sorted(run.glob("traces/*/*/q*/task_outcome.json")):
        if files.read(path, _status).value == "missing_outcome":
            yield _row(path, Fate.LOST, "it has no outcome")


def _row(path: Path, fate: Fate, words: str) -> Loss:
    condition, domain, question = path.parts[-4:-1]
    return Loss(
        LossClass.MISSING_ROW, fate, printable(f"{condition}, {question}: {words}"), path, task=domain
    )


def _stripped(raw: bytes) -> bytes:
    return raw.strip()[:4]


def _status(raw: bytes) -> object:
    return _object(raw).get("ouroboros_status")


def _conditions(raw: bytes) -> dict[str, Any]:
    conditions = _object(raw).get("conditions")
    if not isinstance(conditions, dict):
        raise Unreadable("it has no conditions")
    return conditions


def _object(raw: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Unreadable(str(problem)) from None
    if not isinstance(told, dict):
        raise Unreadable("it is no JSON object")
    return told
