"""A comparison that has been judged: the verdict, what became of the claim, and every number behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Interval, Pairs
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.rules import deciding
from pytest_evalharness.verdict.words import Claim, Decision, Rule, Sensitivity, Separated, Verdict

SCHEMA = 2
MOST_GAMES = 100  # one request plays no more, so a larger `required_n` means several

_DIRECTIONS = (Verdict.BETTER, Verdict.WORSE)
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class ByRule(Generic[Number]):
    """One planning number by rule; None where no number of games or no lift would do.

    Those of `score` and `overlap` are always computed, `newcombe` and `exact` where they are the declared rule.
    """

    score: Number | None = None
    overlap: Number | None = None
    newcombe: Number | None = None
    exact: Number | None = None

    def under(self, rule: Rule) -> Number | None:
        """The number that belongs to a rule; the score rule's for one that has none of its own."""
        found: Number | None = getattr(self, deciding(rule))
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "exact": self.exact,
            "newcombe": self.newcombe,
            "overlap": self.overlap,
            "score": self.score,
        }


@dataclass(frozen=True, slots=True)
class Scores:
    """The seat scores, a secondary metric: they can object to a verdict, never make one.

    Attributes:
        difference: The candidate's mean score minus the baseline's.
        ci: Its 1 - alpha interval; the difference itself where no score varies.
        p: The two-sided p-value; None where no score varies.
        test: Whose interval and test they are.
    """

    difference: float
    ci: Interval
    p: float | None
    test: str

    @property
    def objection(self) -> int:
        """+1 or -1 where the scores decide for the candidate or for the baseline, 0 where they do not."""
        if self.p is None:  # nothing varies, so nothing is tested
            return 0
        return int(self.ci[0] > 0.0) - int(self.ci[1] < 0.0)

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {"ci": list(self.ci), "difference": self.difference, "p": self.p, "test": self.test}


@dataclass(frozen=True, slots=True)
class Measure:
    """The declared metric where it is not the win rate, in its own units.

    Attributes:
        metric: Its name, as declared.
        candidate: The candidate's mean over its counted games.
        baseline: The baseline's.
        spread_candidate: The standard deviation of the candidate's games.
        spread_baseline: That of the baseline's.
        test: Whose interval and test decide: "Welch" or "paired t".
    """

    metric: str
    candidate: float
    baseline: float
    spread_candidate: float
    spread_baseline: float
    test: str

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return dict(sorted(asdict(self).items()))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `judge` found. Frozen, picklable, and plain data through `to_json`.

    The numbers are those of the counts even when the verdict is UNTRUSTWORTHY: they are kept for the reader who
    looks for the cause, and `headline` and `summary_lines` do not show them then.

    Attributes:
        declaration: What was declared before.
        candidate: The candidate's counts.
        baseline: The baseline's counts.
        pairs: The games pair by pair, or None for independent arms.
        verdict: What the evidence says, trust included.
        decision: What becomes of the claim.
        reasons: All reasons; for an untrustworthy comparison every failed check.
        verified: Names of the checks that were made and passed, such as "seats".
        statistical_verdict: What the counts alone would say, trust left aside.
        rule: The rule that decided: the declared one, or `overlap` once results were looked at out of plan.
        look: Which planned look this was, from 0; 0 where only one was planned.
        unplanned_looks: How often results were looked at out of plan.
        bound: The z that the score statistic had to exceed at this look, under `group_sequential`; else None.
        z: The score statistic; Student's t where the metric is not the win rate.
        log_evidence: Under `always_valid`, the highest log evidence for the candidate and for the baseline, each of
            which decides at log(1 / alpha); else None.
        diff: Candidate's minus baseline's win rate, or mean of the declared metric in its units; None without games in both
            arms (two of them for a mean). `ci` and `ci_margin` are in the same units.
        ci: Interval for the difference at 1 - alpha (95 %): Newcombe's under the rule "newcombe", else the score
            interval (Miettinen-Nurminen, or Tango for pairs); under `group_sequential` at this look's bound.
        ci_margin: Score interval for the difference at 1 - 2 alpha (90 %), on which margins are judged; wider by the square
            root of 2 in z after an unplanned look.
        p: The p-value that belongs to the score interval: N-1 score test, or McNemar for pairs; that of Student's t for another
            metric.
        p_exact: Barnard's p-value where it had to agree (5 to 9 games; McNemar's mid-p for pairs) or to decide
            (the rule "exact"; McNemar's exact p for pairs), else None. The permutation test's for another metric.
        p_gate: The smallest level at which the rule (for the claim `separated`, the overlap) would tell a direction.
        p_adjusted: Holm's adjusted `p_gate` among the claims that were tested together; None outside of a family.
        family: How many claims were tested together, this one included; None outside of a family.
        others: The p-values of the other claims, sorted; None outside of a family.
        scores: The seat scores as a secondary metric, if they were declared and there are any.
        wilson_candidate: The candidate's Wilson interval.
        wilson_baseline: The baseline's Wilson interval.
        separated: Whose Wilson interval lies wholly above the other's.
        within_margin: Whether `ci_margin` lies inside the margin; None without a margin.
        noninferior: Whether `ci_margin` lies above -margin; None without a margin.
        sensitivity: What the missing episodes could do.
        worst_case: The counts' verdict if all missing episodes went against the candidate.
        best_case: The counts' verdict if all of them went for it.
        worst_claim: What would become of the claim in the worst case.
        best_claim: What would become of it in the best one.
        required_n: Games per arm for the target lift, by rule.
        required_pairs: Pairs for the target lift at the observed share of differing pairs; None without pairs.
        configs_to_pool: Requests of at most 100 games that make up `required_n` under the declared rule, or
            None when one is enough.
        detectable_lift: Smallest true lift these games find with 80 % power, by rule.
        detectable_loss: Smallest true loss they find, by rule.
        planning_rate: The baseline rate those two and `required_n` assume.
        ceiling: Both arms win at least 95 %, or at most 5 %.
        p_better: Posterior probability that the candidate is the better arm, Jeffreys priors; under the rule "bayes".
        expected_loss: What choosing the candidate, and choosing the baseline, would cost on average; likewise.
        aa: Whether both arms were one build by design.
        checks: What was looked at before the effect was read, and what was seen.
        measure: The declared metric of both arms where it is not the win rate, else None.
    """

    declaration: Declaration
    candidate: ArmEvidence
    baseline: ArmEvidence
    pairs: Pairs | None
    verdict: Verdict
    decision: Decision
    reasons: tuple[Finding, ...]
    verified: tuple[str, ...]
    statistical_verdict: Verdict
    rule: Rule
    look: int
    unplanned_looks: int
    bound: float | None
    z: float
    log_evidence: Interval | None
    diff: float | None
    ci: Interval
    ci_margin: Interval
    p: float
    p_exact: float | None
    p_gate: float
    p_adjusted: float | None
    family: int | None
    others: tuple[float, ...] | None
    scores: Scores | None
    wilson_candidate: Interval
    wilson_baseline: Interval
    separated: Separated
    within_margin: bool | None
    noninferior: bool | None
    sensitivity: Sensitivity
    worst_case: Verdict
    best_case: Verdict
    worst_claim: Decision
    best_claim: Decision
    required_n: ByRule[int]
    required_pairs: int | None
    configs_to_pool: int | None
    detectable_lift: ByRule[float]
    detectable_loss: ByRule[float]
    planning_rate: float
    ceiling: bool
    p_better: float | None = None
    expected_loss: Interval | None = None
    aa: bool = False
    checks: tuple[Check, ...] = ()
    measure: Measure | None = None

    @property
    def settled(self) -> bool:
        """Whether a planned look may end here: the claim is met or not met by what was found, and not for lack of it."""
        if self.aa:
            return self.verdict is Verdict.UNTRUSTWORTHY and self.statistical_verdict in _DIRECTIONS
        if self.decision is Decision.UNTRUSTWORTHY:
            return False  # too many missing episodes may yet be few among more
        if self.declaration.claim is Claim.NOT_WORSE and self.verdict is Verdict.INCONCLUSIVE:
            return False
        return self.decision is not Decision.CANNOT_TELL

    def headline(self, name: str) -> str:
        """The first line of every message: decision and numbers.

        Args:
            name: What was compared, such as "A/B crew".
        """
        from pytest_evalharness.verdict.wording import headline

        return headline(self, name)

    def summary_lines(self) -> list[str]:
        """The compact report, one string a line; of an untrustworthy comparison only the failed checks."""
        from pytest_evalharness.verdict.wording import summary_lines

        return summary_lines(self)

    def to_json(self) -> dict[str, Any]:
        """Only dict, list, str, int, float, bool and None, keys sorted: the same judgement, the same bytes."""
        told: dict[str, Any] = {"schema": SCHEMA}
        for name in self.__slots__:
            told[name] = plain(getattr(self, name))
        return dict(sorted(told.items()))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Judgement:
        """The judgement that `to_json` gave.

        Raises:
            ValueError: It was written by a release with another schema.
        """
        values = dict(data)
        schema = values.pop("schema", None)
        if schema != SCHEMA:
            raise ValueError(f"a judgement of schema {schema!r} cannot be read, only {SCHEMA}")
        for name in ("ci", "ci_margin", "wilson_candidate", "wilson_baseline"):
            values[name] = tuple(values[name])
        for name in ("expected_loss", "log_evidence", "others"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        told = values["scores"]
        values["scores"] = None if told is None else Scores(**{**told, "ci": tuple(told["ci"])})
        for name in ("required_n", "detectable_lift", "detectable_loss"):
            values[name] = ByRule(**values[name])
        for name in ("verdict", "statistical_verdict", "worst_case", "best_case"):
            values[name] = Verdict(values[name])
        return cls(
            **{
                **values,
                "declaration": Declaration.from_json(values["declaration"]),
                "candidate": ArmEvidence.from_json(values["candidate"]),
                "baseline": ArmEvidence.from_json(values["baseline"]),
                "decision": Decision(values["decision"]),
                "worst_claim": Decision(values["worst_claim"]),
                "best_claim": Decision(values["best_claim"]),
                "rule": Rule(values["rule"]),
                "pairs": None if values["pairs"] is None else Pairs.from_json(values["pairs"]),
                "reasons": tuple(Finding.from_json(reason) for reason in values["reasons"]),
                "verified": tuple(values["verified"]),
                "measure": None if values.get("measure") is None else Measure(**values["measure"]),
                "checks": tuple(map(Check.from_json, values.get("checks", ()))),
                "separated": Separated(values["separated"]),
                "sensitivity": Sensitivity(values["sensitivity"]),
            }
        )


def plain(value: Any) -> Any:
    """The value in exact built-in types."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value + 0.0  # -0.0 and 0.0 are one number
    return getattr(value, "value", value)
