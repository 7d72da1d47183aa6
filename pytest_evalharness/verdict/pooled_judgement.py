"""A pool that has been judged: one verdict for several configurations, and every number behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Interval
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judgement import ByRule, plain
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Decision, Rule, Sensitivity, Verdict

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Pooled:
    """One way of pooling.

    Attributes:
        difference: The pooled difference in win rate.
        ci: Its 1 - alpha interval.
        p: Its two-sided p-value.
    """

    difference: float
    ci: Interval
    p: float

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {"ci": list(self.ci), "difference": self.difference, "p": self.p}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Pooled | None:
        """What `to_json` gave; None stays None."""
        return None if data is None else cls(**{**data, "ci": tuple(data["ci"])})


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """How much the configurations disagree.

    Attributes:
        q: Cochran's Q.
        p: Its p-value, where the effect is the same everywhere.
        i_squared: The share of Q that chance does not explain, in [0, 1).
    """

    q: float
    p: float
    i_squared: float

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {"i_squared": self.i_squared, "p": self.p, "q": self.q}


@dataclass(frozen=True, slots=True)
class PooledJudgement:
    """What `judge_pool` found. Frozen, picklable, and plain data through `to_json`.

    The numbers are those of the counts even when the verdict is UNTRUSTWORTHY, as those of a `Judgement` are.

    Attributes:
        declaration: What was declared before.
        strata: The configurations, in the order in which they were declared.
        verdict: What the evidence says, trust included.
        decision: What becomes of the claim.
        reasons: All reasons; for an untrustworthy pool every failed check, the configuration named.
        verified: Names of the checks that were made and passed, such as "seats".
        statistical_verdict: What the counts alone would say, trust left aside.
        rule: `score`, or `overlap` once results were looked at out of plan: its level is asked of the pooled test then.
        unplanned_looks: How often results were looked at out of plan.
        diff: The pooled difference that decides, or None without games.
        ci: Its interval at 1 - alpha; at the overlap rule's level after an unplanned look.
        ci_margin: The same at 1 - 2 alpha, on which margins are judged.
        p: The p-value of the test that decides.
        p_exact: The exact conditional test's p-value where it had to agree (5 to 9 games in an arm in all), else None.
        p_gate: The smallest level at which the pool would tell a direction.
        p_adjusted: Holm's adjusted `p_gate` among the claims that were tested together; None outside of a family.
        others: The p-values of the other claims, sorted; None outside of a family.
        family: How many claims were tested together, this one included; None outside of a family.
        fixed: Mantel and Haenszel's difference, Yan and Su's interval, the Cochran-Mantel-Haenszel p-value.
        random: The mean effect and its interval and p-value after Hartung, Knapp, Sidik and Jonkman; from four
            configurations on.
        heterogeneity: How much the configurations disagree; None without games in two of them.
        within_margin: Whether `ci_margin` lies inside the margin; None without a margin.
        noninferior: Whether `ci_margin` lies above -margin; None without a margin.
        sensitivity: What the missing episodes could do.
        worst_case: The counts' verdict if all missing episodes went against the candidate.
        best_case: The counts' verdict if all of them went for it.
        worst_claim: What would become of the claim in the worst case.
        best_claim: What would become of it in the best one.
        required_n: Games per arm, in all configurations together, for the target lift, by rule.
        detectable_lift: Smallest true lift that all these games find with 80 % power, by rule.
        detectable_loss: Smallest true loss they find, by rule.
        planning_rate: The baseline rate those assume, the same in every configuration.
        ceiling: In every configuration both arms win at least 95 %, or at most 5 %.
        aa: Whether both arms were one build by design.
        checks: What was looked at before the effect was read, in every configuration, and what was seen.
    """

    declaration: Declaration
    strata: tuple[Stratum, ...]
    verdict: Verdict
    decision: Decision
    reasons: tuple[Finding, ...]
    verified: tuple[str, ...]
    statistical_verdict: Verdict
    rule: Rule
    unplanned_looks: int
    diff: float | None
    ci: Interval
    ci_margin: Interval
    p: float
    p_exact: float | None
    p_gate: float
    p_adjusted: float | None
    others: tuple[float, ...] | None
    family: int | None
    fixed: Pooled | None
    random: Pooled | None
    heterogeneity: Heterogeneity | None
    within_margin: bool | None
    noninferior: bool | None
    sensitivity: Sensitivity
    worst_case: Verdict
    best_case: Verdict
    worst_claim: Decision
    best_claim: Decision
    required_n: ByRule[int]
    detectable_lift: ByRule[float]
    detectable_loss: ByRule[float]
    planning_rate: float
    ceiling: bool
    aa: bool = False
    checks: tuple[Check, ...] = ()

    @property
    def candidate(self) -> ArmEvidence:
        """What all candidate arms brought back, for counting games and missing ones; no rate is read off it."""
        return total([stratum.candidate for stratum in self.strata])

    @property
    def baseline(self) -> ArmEvidence:
        """The same of all baseline arms."""
        return total([stratum.baseline for stratum in self.strata])

    def headline(self, name: str) -> str:
        """The first line of every message: decision and numbers.

        Args:
            name: What was compared, such as "A/B pool".
        """
        from pytest_evalharness.verdict.pooled_wording import headline

        return headline(self, name)

    def summary_lines(self) -> list[str]:
        """The compact report, one string a line; of an untrustworthy pool only the failed checks."""
        from pytest_evalharness.verdict.pooled_wording import summary_lines

        return summary_lines(self)

    def to_json(self) -> dict[str, Any]:
        """Only dict, list, str, int, float, bool and None, keys sorted.

        `candidate` and `baseline` are there as in every judgement, for whoever counts games.
        """
        told: dict[str, Any] = {
            "schema": SCHEMA,
            "candidate": plain(self.candidate),
            "baseline": plain(self.baseline),
        }
        for name in self.__slots__:
            told[name] = plain(getattr(self, name))
        return dict(sorted(told.items()))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PooledJudgement:
        """The judgement that `to_json` gave.

        Raises:
            ValueError: It was written by a release with another schema.
        """
        values = {name: value for name, value in data.items() if name not in {"candidate", "baseline"}}
        schema = values.pop("schema", None)
        if schema != SCHEMA:
            raise ValueError(f"a pooled judgement of schema {schema!r} cannot be read, only {SCHEMA}")
        for name in ("ci", "ci_margin"):
            values[name] = tuple(values[name])
        if values["others"] is not None:
            values["others"] = tuple(values["others"])
        for name in ("required_n", "detectable_lift", "detectable_loss"):
            values[name] = ByRule(**values[name])
        for name in ("verdict", "statistical_verdict", "worst_case", "best_case"):
            values[name] = Verdict(values[name])
        disagree = values["heterogeneity"]
        return cls(
            **{
                **values,
                "declaration": Declaration.from_json(values["declaration"]),
                "strata": tuple(Stratum.from_json(one) for one in values["strata"]),
                "decision": Decision(values["decision"]),
                "worst_claim": Decision(values["worst_claim"]),
                "best_claim": Decision(values["best_claim"]),
                "reasons": tuple(Finding.from_json(reason) for reason in values["reasons"]),
                "verified": tuple(values["verified"]),
                "checks": tuple(map(Check.from_json, values.get("checks", ()))),
                "rule": Rule(values["rule"]),
                "fixed": Pooled.from_json(values["fixed"]),
                "random": Pooled.from_json(values["random"]),
                "heterogeneity": None if disagree is None else Heterogeneity(**disagree),
                "sensitivity": Sensitivity(values["sensitivity"]),
            }
        )


def total(arms: list[ArmEvidence]) -> ArmEvidence:
    """All games of several arms. Means that would weigh unlike configurations together are left out."""
    counts = ("wins", "finished", "unpaired", "charged", "unknown")
    return ArmEvidence(
        label=", ".join(dict.fromkeys(arm.label for arm in arms)),
        requested=sum(arm.posted for arm in arms),
        request_ids=tuple(request for arm in arms for request in arm.request_ids),
        **{name: sum(getattr(arm, name) for arm in arms) for name in counts},
    )
