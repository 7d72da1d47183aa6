"""A run's evidence in one file, from which anybody can compute every number and every verdict again, offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.blocks import blocks_of_look
from pytest_evalharness.league.frozen import Frozen, arms_of
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.pool_result import judge_cases
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.journal import Ledger, extended_side
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import Comparison, RecordedVerdict
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement

KIND = "pytest-evalharness evidence"
SCHEMA = 1
_DIGEST = "sha256"


@dataclass(frozen=True)
class Difference:
    """Something in a file that does not follow from its evidence.

    Attributes:
        where: the comparison, or the file.
        what: which number, by its path in the judgement.
        written: what the file says.
        computed: what its evidence gives.
    """

    where: str
    what: str
    written: Any
    computed: Any


def export(ledger: Ledger, run_id: str) -> dict[str, Any]:
    """Everything that a run judged, with the evidence it judged it by.

    Args:
        ledger: where it is kept.
        run_id: the run.

    Returns:
        Plain data; keys of every object sort by themselves when it is written. Its `sha256` is that of the rest.

    Raises:
        UsageError: the run has judged nothing.
    """
    comparisons = [_exported(ledger, one, verdict) for one, verdict in ledger.judged_in(run_id)]
    if not comparisons:
        raise UsageError(
            f"run {run_id} has judged nothing, so there is no evidence to export",
            not_done="nothing was written",
            next_step="evalharness runs ls",
        )
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "run": {"id": run_id, "info": ledger.run_info(run_id) or {}},
        "comparisons": comparisons,
    }
    return {**content, _DIGEST: digest(content)}


def _exported(ledger: Ledger, comparison: Comparison, verdict: RecordedVerdict) -> dict[str, Any]:
    assert comparison.frozen is not None
    looks = ledger.looks.of(comparison.id)
    arms = {}
    for side, key in comparison.arms.items():
        blocks = ledger.blocks(key)
        arms[side] = [
            {"request_id": block.request_id, "body": block.body, "evidence": block.evidence}
            for block in blocks
            if block.state is BlockState.FINISHED
        ]
    return {
        "id": comparison.id,
        "case": comparison.case_name,
        "attempt": comparison.attempt,
        "plan": comparison.plan,
        "frozen": comparison.frozen,
        "blocks": arms,
        "looks": [
            {"position": look.position, "decided": look.decided, "looked_at": look.looked_at}
            for look in looks
        ],
        "judged_at": verdict.recorded_at,
        "judgement": dict(verdict.judgement),
    }


def verify(content: Any) -> list[Difference]:
    """Compute every verdict of a file again.

    Args:
        content: the file's JSON.

    Returns:
        What differs; nothing if every number and every verdict follows from the evidence.

    Raises:
        UsageError: it is no such file, or one of another schema.
    """
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise _unreadable("it is no evidence file")
    if content.get("schema") != SCHEMA:
        raise _unreadable(f"its schema is {content.get('schema')!r}, this version reads {SCHEMA}")
    rest = {key: value for key, value in content.items() if key != _DIGEST}
    found = []
    try:
        if digest(rest) != content.get(_DIGEST):
            found.append(Difference("the file", _DIGEST, content.get(_DIGEST), digest(rest)))
        for one in content["comparisons"]:
            _require_our_fields(one)
            computed = _judged(one).to_json()
            where = f"{one['case']} ({one['id']})"
            found += [Difference(where, *rest) for rest in _differences("", one["judgement"], computed)]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise _unreadable(
            f"something in it is missing or malformed ({type(problem).__name__}: {problem})"
        ) from None
    return found


def _require_our_fields(data: Mapping[str, Any]) -> None:
    """Check that a judgement tells what this release tells; an older one told less.

    Raises:
        UsageError: it does not.
    """
    kind = PooledJudgement if "strata" in data["plan"] else Judgement
    untold = sorted({field.name for field in fields(kind)} - set(data["judgement"]))
    if untold:
        raise _unreadable(
            f"its judgement of {data['case']} does not tell {', '.join(untold)}: another release judged it, or it was changed",
            "the pytest command of that run judges its evidence again and posts nothing; then export the new run",
        )


def _judged(data: Mapping[str, Any]) -> Judgement | PooledJudgement:
    """The judgement of a comparison or of a pool, from nothing but the file."""
    others = data["judgement"]["others"]
    if "strata" not in data["plan"]:
        # What was added after this verdict was no part of its evidence.
        then = [one for one in data["frozen"].get("extensions", ()) if one["at"] <= data["judged_at"]]
        frozen = {**data["frozen"], "extensions": then}
        names = {side: [side, *(extended_side(side, n) for n in range(len(then)))] for side in SIDES}
        blocks = {side: [block for name in names[side] for block in data["blocks"][name]] for side in SIDES}
        plan, look = ComparisonPlan.from_json(data["plan"]), int(data["judgement"]["look"])
        return _case(data, plan, frozen, blocks, look).judge(others)
    pool = PoolPlan.from_json(data["plan"])
    cases = [
        _case(
            data,
            part,
            data["frozen"]["strata"][i],
            {side: data["blocks"][f"{side}.{i}"] for side in SIDES},
            0,
        )
        for i, part in enumerate(pool.plans)
    ]
    return judge_cases(pool, cases, others)


def _case(
    data: Mapping[str, Any],
    plan: ComparisonPlan,
    frozen: Mapping[str, Any],
    blocks: Mapping[str, Sequence[Mapping[str, Any]]],
    read: int,
) -> Case:
    """Two arms as they were judged.

    Args:
        data: the comparison that they belong to.
        plan: what was asked of them.
        frozen: who sat where.
        blocks: their requests, by side.
        read: which planned look this was, from 0.
    """
    arms = arms_of(frozen)
    needed = {side: blocks_of_look(plan.declaration, read, len(arms[side].blocks)) for side in SIDES}
    if frozen.get("extensions"):
        needed = {side: len(arms[side].blocks) for side in SIDES}
    records = {
        side: ArmRecord.from_blocks(
            [block["evidence"] for block in blocks[side][: needed[side]]],
            arms[side].blocks[: needed[side]],
        )
        for side in SIDES
    }
    looks = [look for look in data["looks"] if look["looked_at"] <= data["judged_at"]]
    unplanned = sum(look["position"] is None for look in looks)
    # What was found about the builds after this verdict was no part of it either.
    builds = [Provenance.from_json(one) for one in frozen.get(BUILDS, ()) if one["at"] <= data["judged_at"]]
    told = Frozen(Roster.from_json(frozen["roster"]), arms, builds=builds[-1] if builds else None)
    return Case(plan, told, records, read, unplanned)


def _differences(path: str, written: Any, computed: Any) -> Iterator[tuple[str, Any, Any]]:
    """Where two pieces of plain data differ, leaf by leaf."""
    if isinstance(written, dict) and isinstance(computed, dict):
        for key in sorted({*written, *computed}):
            yield from _differences(f"{path}.{key}" if path else key, written.get(key), computed.get(key))
    elif written != computed:
        yield path, written, computed


def _unreadable(why: str, next_step: str = "evalharness runs export RUN writes one that can") -> UsageError:
    return UsageError(
        f"the file cannot be verified: {why}", not_done="nothing was compared", next_step=next_step
    )
