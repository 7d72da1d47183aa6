"""A step of the schema: what earlier releases wrote into JSON columns, brought to the shape in which it is read today."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pytest_evalharness.base.database import Run
from pytest_evalharness.ledger.keys import digest, plan_key
from pytest_evalharness.ledger.records import dump

_SEATS_OF_OTHERS = 7
_ASKED = (
    "SELECT comparison_id, plan_key, run_id, fresh, plan_json FROM comparisons ORDER BY created_at, attempt"
)


def bring_up(run: Run) -> None:
    """Give every arm its requests, every plan the words it is asked in today, and every claim its declaration."""
    _name_requests(run)
    _ask_in_todays_words(run)
    _declare(run)


def _name_requests(run: Run) -> None:
    """The first releases posted an arm as one request and did not say so."""
    for row in run("SELECT comparison_id, frozen_json FROM comparisons WHERE frozen_json IS NOT NULL"):
        frozen = json.loads(row["frozen_json"])
        arms = [arm for part in frozen.get("strata", [frozen]) for arm in part.get("arms", {}).values()]
        if _cut(arms):
            sql = "UPDATE comparisons SET frozen_json = ? WHERE comparison_id = ?"
            run(sql, dump(frozen), row["comparison_id"])
    for row in run("SELECT arm_key, spec_json FROM arms WHERE kind = 'arm'"):
        spec = json.loads(row["spec_json"])
        if _cut([spec]):
            run("UPDATE arms SET spec_json = ? WHERE arm_key = ?", dump(spec), row["arm_key"])


def _cut(arms: list[dict[str, Any]]) -> bool:
    """Name the one request of each arm that names none; returns whether there was such an arm."""
    silent = [arm for arm in arms if "episodes" in arm and "blocks" not in arm]
    for arm in silent:
        arm["blocks"] = [{"episodes": arm["episodes"], "seed": None}]
    return bool(silent)


def _ask_in_todays_words(run: Run) -> None:
    """Rewrite plans as the same command asks them today, or it would not find what it has paid for.

    Plans once told how far down the ranking to look even where that changed nothing. Two keys may become one: attempts at
    the one are then counted in the order in which they were begun.
    """
    from pytest_evalharness.ledger.questions import (
        question_key,
    )  # here: it needs the file that this is a step of

    asked = {row["comparison_id"]: (row, _todays(json.loads(row["plan_json"]))) for row in run(_ASKED)}
    alike: dict[str, list[str]] = defaultdict(list)
    for name, (_, plan) in asked.items():
        alike[plan_key(plan)].append(name)
    for key, names in alike.items():
        rows = [asked[name][0] for name in names]
        if len({row["plan_key"] for row in rows}) > 1:
            _count_anew(run, key, rows)
        for name in names:
            plan = asked[name][1]
            sql = (
                "UPDATE comparisons SET plan_key = ?, question_key = ?, plan_json = ? WHERE comparison_id = ?"
            )
            run(sql, key, question_key(plan), dump(plan), name)


def _todays(plan: dict[str, Any]) -> dict[str, Any]:
    parts = [stratum["plan"] for stratum in plan["strata"]] if "strata" in plan else [plan]
    for part in parts:
        if "top_n" in part:
            part["top_n"] = max(1, _SEATS_OF_OTHERS - len(part["opponents"]))
    return plan


def _count_anew(run: Run, key: str, rows: list[sqlite3.Row]) -> None:
    """Number attempts that are now at one plan from 1; only the first fresh one of a run can stay one."""
    fresh: set[str] = set()
    for attempt, row in enumerate(rows, 1):
        stays = bool(row["fresh"]) and row["run_id"] not in fresh
        fresh |= {row["run_id"]} if stays else set()
        sql = "UPDATE comparisons SET plan_key = ?, attempt = ?, fresh = ? WHERE comparison_id = ?"
        # Under a key that nobody has, until all of them are numbered: no two may be alike for a moment.
        run(sql, f"{key} {attempt}", attempt, int(stays), row["comparison_id"])


def _declare(run: Run) -> None:
    """What was compared was declared before; the first releases kept no list of it."""
    for question, told, run_id, at in _declared(run):
        sql = "INSERT INTO declarations VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        run(sql, question, digest(told), dump(told), run_id, at)


def _declared(run: Run) -> Iterator[tuple[str, dict[str, Any], str, float]]:
    for row in run("SELECT question_key, plan_json, run_id, created_at FROM comparisons ORDER BY created_at"):
        told = json.loads(row["plan_json"]).get("declaration") or {}
        yield row["question_key"], told, row["run_id"], row["created_at"]
