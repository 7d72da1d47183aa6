"""Finished comparisons of the ledger as one pool: all of two builds, or none. Nothing is played or posted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.errors import ConditionNotMet, Inconclusive, Untrustworthy, UsageError
from pytest_evalharness.league.kept import Builds, Kept, Part
from pytest_evalharness.league.regime import disagreement
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.runs import RunRecord
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.pooling import FEWEST_STRATA, judge_pool
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Claim, Decision, Effects, Reason, Rule, Verdict

_RECENT = 5
_EXITS = {
    Decision.MET: 0,
    Decision.NOT_MET: ConditionNotMet.exit_code,
    Decision.CANNOT_TELL: Inconclusive.exit_code,
    Decision.UNTRUSTWORTHY: Untrustworthy.exit_code,
}
_READ_ONLY = "nothing was pooled; the ledger is as it was"


@dataclass(frozen=True)
class Question:
    """What is asked of the pool.

    Attributes:
        claim: the claim; None for the one that all comparisons declared, or `better` where they declared several.
        margin: its margin, if it needs one.
        effects: what the configurations are to each other.
    """

    claim: str | None = None
    margin: float | None = None
    effects: Effects = Effects.FIXED


@dataclass(frozen=True)
class Evidence:
    """One pair of arms, with every comparison that was made of it.

    Attributes:
        stratum: its name and counts.
        findings: why it cannot be believed, if it cannot.
        of: the comparisons.
        arm_keys: the two arms.
    """

    stratum: Stratum
    findings: tuple[Finding, ...]
    of: tuple[Kept, ...]
    arm_keys: tuple[str, ...]


@dataclass(frozen=True)
class RunsPool:
    """What several runs found together.

    Attributes:
        builds: who is compared with whom.
        judgement: the verdict about all of them.
        evidence: the configurations, in the order in which they were asked for.
        complete: the runs that make the pool complete, the named ones first; only the named ones if nothing is left out.
        left_out: whether something is.
    """

    builds: Builds
    judgement: PooledJudgement
    evidence: tuple[Evidence, ...]
    complete: tuple[str, ...]
    left_out: bool = False

    @property
    def headline(self) -> str:
        """The decision and the numbers in one line."""
        return self.judgement.headline(f"A/B pool of {self.builds}")

    @property
    def servers(self) -> tuple[str, ...]:
        """Where the games were played."""
        played = (part.plan.server for one in self.evidence for kept in one.of for part in kept.parts)
        return tuple(dict.fromkeys(played))

    @property
    def exit_code(self) -> int:
        """0 if the claim is met, 1 if it is not, 10 if nobody can tell, 11 if there is nothing to believe."""
        return _EXITS[self.judgement.decision]

    def to_json(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "builds": dict(zip(("candidate", "baseline"), self.builds.versions, strict=True)),
            "complete": list(self.complete),
            "headline": self.headline,
            "judgement": self.judgement.to_json(),
            "labels": list(self.builds.labels),
            "left_out": self.left_out,
            "servers": list(self.servers),
            "lines": self.judgement.summary_lines(),
            "strata": [
                {"comparisons": [kept.comparison.id for kept in one.of], "name": one.stratum.name}
                for one in self.evidence
            ],
        }


def named_runs(ledger: Ledger, names: Sequence[str]) -> list[RunRecord]:
    """The runs of these names.

    Raises:
        UsageError: there is none of a name; the message lists the latest ones.
    """
    known = {run.id: run for run in ledger.runs.newest_first()}
    missing = [name for name in names if name not in known]
    if missing:
        recent = ", ".join(map(printable, list(known)[:_RECENT])) or "none at all"
        raise UsageError(
            f"there is no run {printable(missing[0])!r} in {ledger.path}; the latest are: {recent}",
            not_done="nothing was done",
            next_step="evalharness runs ls shows all of them",
        )
    return [known[name] for name in dict.fromkeys(names)]


def pool_runs(
    ledger: Ledger,
    names: Sequence[str],
    asked: Question,
    *,
    candidate: str | None = None,
    baseline: str | None = None,
) -> RunsPool:
    """Pool the finished comparisons of two builds over several runs.

    Args:
        ledger: where they are kept.
        names: the runs.
        asked: the claim about all of them.
        candidate: the label or version of the candidate, where the runs compare several.
        baseline: the same of the baseline.

    Raises:
        UsageError: there is no such run, no one pair of builds, too few configurations, or an arm that two of them share.
    """
    runs = named_runs(ledger, names)
    everything = [Kept.read(ledger, one) for one in ledger.runs.every_comparison()]
    judging = [kept for kept in everything if not kept.plan.aa and not _superseded(kept, everything)]
    inside = {one for run in runs for one in run.comparisons}
    here = [(kept, part) for kept in judging for part in kept.parts if kept.comparison.id in inside]
    builds = _one_pair([part for _, part in here], candidate, baseline)
    members = [(kept, part) for kept, part in here if part.builds.versions == builds.versions]
    evidence = tuple(_evidence(members))
    others = _left_out(judging, builds, evidence)
    complete = _complete(ledger, runs, others)
    if len(evidence) < FEWEST_STRATA:
        raise _too_few(builds, evidence, complete, others)
    declared = _declared(asked, evidence)
    try:
        judgement = judge_pool(
            declared,
            [one.stratum for one in evidence],
            trust=[*_distrust(declared, evidence), *_regimes(evidence), *_incomplete(others)],
            beside=[Finding(Reason.EXPLORATORY), *_caveats(members)],
            unplanned_looks=max(_looks(ledger, kept) for kept, _ in members),
        )
    except ValueError as problem:
        raise UsageError(str(problem), not_done=_READ_ONLY, next_step="evalharness pool --help") from None
    return RunsPool(builds, judgement, evidence, complete, bool(others))


def _caveats(members: Iterable[tuple[Kept, Part]]) -> Iterator[Finding]:
    """What the comparisons themselves say of their builds."""
    for kept, part in members:
        if part.frozen is not None:
            yield from part.frozen.caveats(kept.name)


def _superseded(kept: Kept, everything: Iterable[Kept]) -> bool:
    """Whether another attempt took the place of one that was never posted."""
    mine = kept.comparison
    return kept.never_posted and any(
        one.comparison.plan_key == mine.plan_key and one.comparison.attempt > mine.attempt
        for one in everything
    )


def _one_pair(here: Sequence[Part], candidate: str | None, baseline: str | None) -> Builds:
    """The one pair of builds that is meant.

    Raises:
        UsageError: there is none, or there are several.
    """
    wanted = (candidate, baseline)
    pairs = {part.builds.versions: part.builds for part in here}
    fitting = [
        pair
        for pair in pairs.values()
        if all(
            who is None or who in (label, version)
            for who, label, version in zip(wanted, pair.labels, pair.versions, strict=True)
        )
    ]
    if len(fitting) == 1:
        return fitting[0]
    told = "; ".join(map(str, pairs.values())) or "none that judges an edit"
    what = (
        "several pairs of builds are compared in these runs"
        if fitting
        else "no such builds are compared in these runs"
    )
    raise UsageError(
        f"{what}: {told}",
        not_done=_READ_ONLY,
        next_step="name one pair: evalharness pool RUN RUN … --candidate NAME:vN --baseline NAME:vN",
    )


def _evidence(members: Sequence[tuple[Kept, Part]]) -> Iterable[Evidence]:
    """One configuration for each distinct pair of arms.

    Raises:
        UsageError: two of them share an arm.
    """
    found: dict[tuple[str, ...], list[tuple[Kept, Part]]] = {}
    for kept, part in members:
        found.setdefault(part.arm_keys or (kept.comparison.id, part.name), []).append((kept, part))
    owner: dict[str, str] = {}
    names: set[str] = set()
    for keys, made in found.items():
        name = _unused(_name(*made[0]), made[0][0].comparison.run_id, names)
        for key in (*keys, *_adopted(made[0][1])):
            if key in owner:
                raise UsageError(
                    f"{name} and {owner[key]} share an arm: its games would be counted twice",
                    not_done=_READ_ONLY,
                    next_step="name runs that do not share it",
                )
            owner[key] = name
        yield _read(name, made)


def _adopted(part: Part) -> Iterator[str]:
    """The requests of arms that somebody else created: several arms may be made of one."""
    for arm in part.frozen.arms.values() if part.frozen is not None else ():
        yield from (one.id for one in arm.adopted)


def _name(kept: Kept, part: Part) -> str:
    return f"{kept.name} [{printable(part.name)}]" if part.name else kept.name


def _unused(name: str, run_id: str, names: set[str]) -> str:
    """The name, with what tells it from an equal one."""
    told, number = name, 1
    while told in names:
        told = (
            f"{name} (run {printable(run_id)})"
            if number == 1
            else f"{name} (run {printable(run_id)}, {number})"
        )
        number += 1
    names.add(told)
    return told


def _read(name: str, made: Sequence[tuple[Kept, Part]]) -> Evidence:
    """What is known of a pair of arms, from the latest of the comparisons that judged it."""
    kept, keys = tuple(one for one, _ in made), made[0][1].arm_keys
    judged = [(one, part) for one, part in made if one.judgement is not None]
    if not judged:
        plan = made[0][1].plan
        nothing = [ArmEvidence(plan.label(side), 0, 0, plan.episodes) for side in ("candidate", "baseline")]
        state = Finding(Reason.NOT_TERMINAL, f"{name}, {kept[0].words}")
        return Evidence(Stratum(name, *nothing), (state,), kept, keys)
    one, part = judged[-1]
    assert one.judgement is not None
    counted = _counts(one.judgement, part.name)
    arms = (ArmEvidence.from_json(counted[side]) for side in ("candidate", "baseline"))
    return Evidence(Stratum(name, *arms), tuple(_doubts(name, one.judgement)), kept, keys)


def _counts(judgement: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """The counts of one configuration in what was concluded from its comparison."""
    strata: Sequence[Mapping[str, Any]] = judgement.get("strata", ())
    return next((stratum for stratum in strata if stratum["name"] == part), judgement)


def _doubts(name: str, judgement: Mapping[str, Any]) -> Iterable[Finding]:
    if judgement["verdict"] != Verdict.UNTRUSTWORTHY:
        return
    for told in judgement["reasons"]:
        finding = Finding.from_json(told)
        yield replace(finding, detail=f"{name}, {finding.detail}" if finding.detail else name)


def _left_out(judging: Sequence[Kept], builds: Builds, evidence: Sequence[Evidence]) -> list[Kept]:
    """Judged comparisons of the same builds whose arms are not in the pool."""
    pooled = {one.arm_keys for one in evidence}
    return [
        kept
        for kept in judging
        if kept.judgement is not None
        and any(
            part.builds.versions == builds.versions and part.arm_keys not in pooled for part in kept.parts
        )
    ]


def _complete(ledger: Ledger, runs: Sequence[RunRecord], others: Sequence[Kept]) -> tuple[str, ...]:
    """The runs that have everything: the named ones, and the earliest of each that was left out."""
    needed = [run.id for run in runs]
    for kept in others:
        having = [
            run.id for run in reversed(ledger.runs.newest_first()) if kept.comparison.id in run.comparisons
        ]
        if not set(having) & set(needed):
            needed += having[:1]
    return tuple(needed)


def _too_few(
    builds: Builds, evidence: Sequence[Evidence], complete: Sequence[str], others: Sequence[Kept]
) -> UsageError:
    more = f"; {counted(len(others), 'more is', 'more are')} in runs that were not named" if others else ""
    return UsageError(
        f"a pool takes at least {FEWEST_STRATA} configurations, and these runs have {len(evidence)} of {builds}{more}",
        not_done=_READ_ONLY,
        next_step=f"evalharness pool {' '.join(map(printable, complete))}"
        if others
        else "play another configuration (another role, opponent or map), then pool both runs",
    )


def _declared(asked: Question, evidence: Sequence[Evidence]) -> Declaration:
    """The claim about all of them.

    Raises:
        UsageError: it is none, or cannot be pooled.
    """
    declared = [kept.declaration for one in evidence for kept in one.of]
    counted = sorted({one.win for one in declared})
    if len(counted) > 1:
        raise UsageError(
            f"these runs count different games as won: {' and '.join(map(printable, counted))}",
            not_done=_READ_ONLY,
            next_step="pool runs that declared one and the same win",
        )
    claims = {(one.claim, one.margin) for one in declared}
    claim, margin = asked.claim, asked.margin
    if claim is None:
        claim, own = claims.pop() if len(claims) == 1 else (Claim.BETTER, None)
        margin = own if margin is None else margin
    try:
        return Declaration(
            Claim(claim),
            alpha=min(one.alpha for one in declared),
            margin=margin,
            target_lift=declared[0].target_lift,
            secondary=(),
            effects=asked.effects,
            win=counted[0],
        )
    except ValueError as problem:
        raise UsageError(str(problem), not_done=_READ_ONLY, next_step="evalharness pool --help") from None


def _distrust(declared: Declaration, evidence: Sequence[Evidence]) -> Iterable[Finding]:
    """What speaks against each configuration, and whether it was declared for what is asked now."""
    for one in evidence:
        yield from one.findings
        own = [kept.declaration for kept in one.of]
        if any(
            (each.claim, each.margin, each.rule) == (declared.claim, declared.margin, Rule.SCORE)
            for each in own
        ):
            continue
        said = " and ".join(dict.fromkeys(f"{_claim(each)} by the {each.rule} rule" for each in own))
        yield Finding(
            Reason.DECLARATION_CHANGED,
            f"{one.stratum.name} declared {said}, the pool is asked for {_claim(declared)} by the score rule",
        )


def _regimes(evidence: Sequence[Evidence]) -> Iterable[Finding]:
    """Whether a score means the same in all games; those of a declared pool stand together."""
    found = disagreement(
        {one.stratum.name: [game for kept in one.of for game in kept.episodes] for one in evidence}
    )
    if found is not None:
        yield found


def _claim(declared: Declaration) -> str:
    return (
        declared.claim.value if declared.margin is None else f"{declared.claim} within {declared.margin:.2f}"
    )


def _incomplete(others: Sequence[Kept]) -> Iterable[Finding]:
    if others:
        told = ", ".join(f"{kept.name} of run {printable(kept.comparison.run_id)}" for kept in others)
        yield Finding(Reason.LEFT_OUT, told)


def _looks(ledger: Ledger, kept: Kept) -> int:
    return sum(look.position is None for look in ledger.looks.of(kept.comparison.id))
