"""A run's evidence in one file, from which anybody can compute every number and every verdict again, offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.blocks import blocks_of_look
from pytest_evalharness.league.fields import EXTENSIONS, Field, FieldsPlan, fields_of
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.kept_arm import KeptArm, result_of
from pytest_evalharness.league.metric_values import kept_values, kept_wins
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.pool_result import judge_cases
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.single_arm import ArmResult
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import Block, Comparison, RecordedVerdict
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.metrics import metric_of
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.wins import LISTED
from pytest_evalharness.verdict.words import Metric

KIND = "pytest-evalharness evidence"
SCHEMA = 1
_DIGEST = "sha256"
_COMPARISON = frozenset({"id", "case", "plan", "frozen", "blocks", "looks", "judged_at", "judgement"})
_SINGLE_ARM = frozenset({"id", "case", "plan", "frozen", "blocks", "numbers"})
"""What each must tell to be computed again."""


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
    arms = list(_single_arms(ledger, run_id))
    if not comparisons and not arms:
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
        **({"single_arms": arms} if arms else {}),
    }
    return {**content, _DIGEST: digest(content)}


def _exported(ledger: Ledger, comparison: Comparison, verdict: RecordedVerdict) -> dict[str, Any]:
    assert comparison.frozen is not None
    looks = ledger.looks.of(comparison.id)
    arms = {
        side: [
            _block(ledger, comparison, block)
            for block in ledger.blocks(key)
            if block.state is BlockState.FINISHED
        ]
        for side, key in comparison.arms.items()
    }
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


def _single_arms(ledger: Ledger, run_id: str) -> Iterator[dict[str, Any]]:
    """The arms that a run played to their end by themselves: what was asked, what came back, and the numbers read off it."""
    for run in ledger.runs.newest_first():
        for one in run.arms if run.id == run_id else ():
            kept = KeptArm.read(ledger, one)
            if kept.result is not None:
                yield {
                    "id": kept.comparison.id,
                    "case": kept.comparison.case_name,
                    "attempt": kept.comparison.attempt,
                    "plan": kept.comparison.plan,
                    "frozen": kept.comparison.frozen,
                    "blocks": [
                        {"request_id": block.request_id, "body": block.body, "evidence": block.evidence}
                        for block in kept.blocks
                    ],
                    "numbers": _numbers(kept.result),
                }


def _numbers(result: ArmResult) -> dict[str, Any]:
    """What is read off a single arm, and what speaks against it."""
    return {
        "evidence": result.evidence.to_json(),
        "by_role": {role: list(counts) for role, counts in result.by_role.items()},
        "found": [one.to_json() for one in result.found()],
    }


def _arm_numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a single arm, from nothing but the file."""
    result = result_of(data["plan"], data["frozen"], [block["evidence"] for block in data["blocks"]])
    if result is None:
        raise ValueError("a single arm has a request without evidence")
    return _numbers(result)


def _block(ledger: Ledger, comparison: Comparison, block: Block) -> dict[str, Any]:
    """A request: what was asked, what came back, and what a declared function said of each game."""
    told = {"request_id": block.request_id, "body": block.body, "evidence": block.evidence}
    declared, seat = comparison.plan["declaration"], comparison.plan.get("tested_seat")
    if seat is None:
        return told
    values = kept_values(ledger, metric_of(declared.get("metric", Metric.WINS)), seat, block)
    won = kept_wins(ledger, declared.get("win", LISTED), seat, block)
    return {**told, **({"values": values} if values else {}), **({"won": won} if won else {})}


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
            _require_entries(one, _COMPARISON)
            _require_our_fields(one)
            computed = _judged(one).to_json()
            where = f"{one['case']} ({one['id']})"
            found += [Difference(where, *rest) for rest in _differences("", one["judgement"], computed)]
        for one in content.get("single_arms", ()):
            _require_entries(one, _SINGLE_ARM)
            where = f"{one['case']} ({one['id']})"
            found += [
                Difference(where, *rest) for rest in _differences("", one["numbers"], _arm_numbers(one))
            ]
    except KeyError as missing:
        raise _unreadable(
            f"it does not tell {_word(missing)}: the entry was removed, or never written"
        ) from None
    except (TypeError, ValueError, AttributeError, IndexError) as problem:
        raise _unreadable(f"an entry in it is not what it must be ({printable(str(problem), 200)})") from None
    return found


def _word(missing: KeyError) -> str:
    return printable(str(missing.args[0]) if missing.args else "an entry", 120)


def _require_entries(data: Any, needed: frozenset[str]) -> None:
    """Check that a comparison, or a single arm, has all its parts.

    Raises:
        UsageError: it has not.
    """
    if not isinstance(data, dict):
        raise _unreadable("what it lists as a comparison is none")
    missing = sorted(needed - set(data))
    if missing:
        name = printable(str(data.get("case") or data.get("id") or "a comparison"), 200)
        raise _unreadable(
            f"{name} does not tell its {', '.join(missing)}: that was removed, or never written"
        )


def _require_our_fields(data: Mapping[str, Any]) -> None:
    """Check that a judgement tells what this release tells; an older one told less.

    Raises:
        UsageError: it does not.
    """
    kind = PooledJudgement if "strata" in data["judgement"] else Judgement
    untold = sorted({field.name for field in fields(kind)} - set(data["judgement"]))
    if untold:
        raise _unreadable(
            f"its judgement of {data['case']} does not tell {', '.join(untold)}: another release judged it, or it was changed",
            "the pytest command of that run judges its evidence again and posts nothing; then export the new run",
        )


def _judged(data: Mapping[str, Any]) -> Judgement | PooledJudgement:
    """The judgement of a comparison or of a pool, from nothing but the file."""
    others = data["judgement"]["others"]
    if "strata" in data["plan"]:
        pool = PoolPlan.from_json(data["plan"])
        return judge_cases(pool, list(_configurations(data, pool)), others)
    # What was added after this verdict was no part of its evidence.
    then = [one for one in data["frozen"].get(EXTENSIONS, ()) if one["at"] <= data["judged_at"]]
    fields = fields_of({**data["frozen"], EXTENSIONS: then})
    plan, told = ComparisonPlan.from_json(data["plan"]), data["frozen"]
    if len(fields) == 1:
        return _case(data, plan, fields[0], told, int(data["judgement"]["look"])).judge(others)
    several = FieldsPlan.of(plan, fields)
    decided = next((int(look["position"]) for look in data["looks"] if look["decided"]), 0)
    looks = [decided, *[0] * (len(fields) - 1)]
    cases = [
        _case(data, part, field, told, look)
        for part, field, look in zip(several.plans, fields, looks, strict=True)
    ]
    return judge_cases(several, cases, others)


def _configurations(data: Mapping[str, Any], pool: PoolPlan) -> Iterator[Case]:
    """The configurations of a pool as they were judged."""
    for i, (plan, told) in enumerate(zip(pool.plans, data["frozen"]["strata"], strict=True)):
        (field,) = fields_of(told)
        stands = replace(field, names={side: (f"{side}.{i}",) for side in SIDES})
        yield _case(data, plan, stands, told, 0)


def _case(
    data: Mapping[str, Any], plan: ComparisonPlan, field: Field, told: Mapping[str, Any], read: int
) -> Case:
    """Two arms as they were judged.

    Args:
        data: the comparison that they belong to.
        plan: what was asked of them.
        field: who sat where, and under which names their requests stand.
        told: what was frozen, for what was found about the builds.
        read: which planned look this was, from 0.
    """
    # What functions said is evidence: nobody's code is run to read somebody's file.
    asked = [block for side in field.arms for name in field.names[side] for block in data["blocks"][name]]
    won = {game: bool(said) for block in asked for game, said in block.get("won", {}).items()}
    reading = plan.reading(won or None)
    records: dict[str, ArmRecord] = {}
    values: dict[str, float] = {}
    for side, arm in field.arms.items():
        first, *more = (data["blocks"][name] for name in field.names[side])
        # Looks read the first arm only: what was added later came after the last of them.
        needed = len(arm.blocks) if more else blocks_of_look(plan.declaration, read, len(arm.blocks))
        blocks = [block for rows in (first, *more) for block in rows][:needed]
        evidence = [block["evidence"] for block in blocks]
        records[side] = ArmRecord.from_blocks(evidence, arm.blocks[:needed], reading)
        told_of = (block.get("values", {}) for block in blocks)
        values |= {episode: float(value) for one in told_of for episode, value in one.items()}
    looks = [look for look in data["looks"] if look["looked_at"] <= data["judged_at"]]
    unplanned = sum(look["position"] is None for look in looks)
    # What was found about the builds after this verdict was no part of it either.
    builds = [Provenance.from_json(one) for one in told.get(BUILDS, ()) if one["at"] <= data["judged_at"]]
    frozen = Frozen(field.roster, field.arms, builds=builds[-1] if builds else None)
    return Case(plan, frozen, records, read, unplanned, values)


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
