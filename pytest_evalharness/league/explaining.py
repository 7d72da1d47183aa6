"""The success check of a run that has ended or was broken off: from its report, or from what the ledger has of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.wins import Reading
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.episodes_view import episodes_view
from pytest_evalharness.league.frozen import Frozen, keys_of
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.kept import Kept, Part
from pytest_evalharness.league.metric_values import kept_wins
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.ledger.runs import RunRecord
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.report import success
from pytest_evalharness.report.model import MANY, Report, requests_told
from pytest_evalharness.report.success import SuccessCheck

Named = list[tuple[str, SuccessCheck]]
"""Checks, each with the name of its case."""


def reported(folder: Path) -> tuple[str, Named]:
    """Where a run played and what its report says; nothing where there is no report, or one of another release.

    Args:
        folder: the run's own folder.
    """
    try:
        report = Report.from_json(json.loads((folder / "results.json").read_bytes()))
        return report.server, [
            (case.nodeid, check) for case in report.cases for check in success.of_case(case)
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "", []


def kept(ledger: Ledger, run: RunRecord) -> Named:
    """What the ledger knows of a run that was broken off, or whose comparisons another command played to their end.

    Args:
        ledger: where the run is kept.
        run: the run.
    """
    found = [Kept.read(ledger, one) for one in run.comparisons]
    return [(one.comparison.case_name, _check(ledger, one)) for one in found]


def _check(ledger: Ledger, one: Kept) -> SuccessCheck:
    if one.judgement is None:
        return success.of_failure(one.words, list(_states(ledger, one)))
    rows = {part.name: _seen(ledger, part) for part in one.parts if part.frozen is not None}
    row: dict[str, Any] = {"name": one.name, "judgement": one.judgement}
    if "strata" not in one.judgement:
        ((only, _),) = rows.values()
        return success.of_result({**only, **row})
    strata = {
        name: {**seen, "name": name, "judgement": case.judge().to_json()}
        for name, (seen, case) in rows.items()
    }
    return success.of_result({**row, "strata": strata})


def _states(ledger: Ledger, one: Kept) -> Iterator[str]:
    """Where each arm of a comparison stands that nobody has judged."""
    for part in one.parts:
        where = f"{printable(part.name)}, " if part.name else ""
        if part.frozen is None:
            yield f"{where}nothing was posted"
            continue
        for side in SIDES:
            yield f"{where}{side}: {_state([block for block, _ in _blocks(ledger, part.frozen, side)])}"


def _state(blocks: list[Block]) -> str:
    ended = sum(block.state is BlockState.FINISHED for block in blocks)
    ids = [block.request_id for block in blocks if block.request_id]
    if not ids:
        return "not posted"
    of_many = (
        f"{ended} of {len(blocks)} requests ended, " if len(blocks) >= MANY else f"{blocks[0].state.value}, "
    )
    return of_many + requests_told(ids)


def _seen(ledger: Ledger, part: Part) -> tuple[Mapping[str, Any], Case]:
    """What the games of two arms left, as a report has it."""
    frozen = part.frozen
    assert frozen is not None
    blocks = {side: _blocks(ledger, frozen, side) for side in SIDES}
    seat, win = part.plan.tested_seat, part.plan.declaration.win
    won = {
        game: said
        for played in blocks.values()
        for block, _ in played
        for game, said in kept_wins(ledger, win, seat, block).items()
    }
    reading = part.plan.reading(won or None)
    records = {side: _record(blocks[side], reading) for side in SIDES}
    row = {
        "episodes": episodes_view(frozen.arms, records),
        "builds": None if frozen.builds is None else frozen.builds.to_json(),
    }
    return row, Case(part.plan, frozen, records, 0, 0)


def _blocks(ledger: Ledger, frozen: Frozen, side: str) -> list[tuple[Block, Any]]:
    """The requests of an arm, extensions included, each with what it asked for."""
    assert frozen.comparison is not None
    blocks = [block for key in keys_of(frozen.comparison, side) for block in ledger.blocks(key)]
    return list(zip(blocks, frozen.arms[side].blocks, strict=True))


def _record(blocks: list[tuple[Block, Any]], reading: Reading | None) -> ArmRecord:
    """What an arm left; of one that a look has decided, the requests that were played."""
    played = [(block.evidence or {}, asked) for block, asked in blocks if block.state is BlockState.FINISHED]
    return ArmRecord.from_blocks(
        [evidence for evidence, _ in played], [asked for _, asked in played], reading
    )
