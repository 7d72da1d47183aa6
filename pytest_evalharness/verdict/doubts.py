"""What the numbers themselves show to be wrong with a comparison, and what a reader must know beside a sound one."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_evalharness.stats import missing
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Reason, Sensitivity, Verdict

_ASYMMETRY = 0.05
Arms = tuple[ArmEvidence, ArmEvidence]
"""The candidate and the baseline."""


def distrust(arms: Arms, sensitivity: Sensitivity) -> Iterable[Finding]:
    """What the counts show to be wrong with the run."""
    candidate, baseline = arms
    for role, arm in (("candidate", candidate), ("baseline", baseline)):
        if arm.finished == arm.charged:
            lost = f", {arm.charged} lost by its own failure" if arm.charged else ""
            yield Finding(Reason.NO_GAMES, f"0 of {arm.posted} finished{lost}", role)
        elif 10 * arm.missing > arm.posted:
            yield Finding(Reason.MISSING_OVER_LIMIT, f"{arm.missing} of {arm.posted}", role)
    if candidate.missing + baseline.missing and candidate.posted and baseline.posted:
        p = missing.asymmetry_p(candidate.missing, candidate.posted, baseline.missing, baseline.posted)
        if p < _ASYMMETRY:
            lost = f"{candidate.missing} of {candidate.posted} and {baseline.missing} of {baseline.posted}"
            yield Finding(Reason.MISSING_DIFFERS, f"{lost}, Fisher p = {p:.3g}")
    if sensitivity is Sensitivity.REVERSES:
        yield Finding(Reason.MISSING_REVERSES, f"{candidate.missing} and {baseline.missing} missing")


def alarm(standard: Standard, verdict: Verdict, arms: Arms) -> Iterable[Finding]:
    """A direction where there can be none."""
    if verdict in (Verdict.BETTER, Verdict.WORSE):
        won = " against ".join(f"{arm.wins}/{arm.finished}" for arm in arms)
        yield Finding(Reason.AA_ALARM, f"{won}, {verdict.value} by the {standard.rule} rule")


def notes(sensitivity: Sensitivity, unplanned_looks: int, *, moved: bool) -> Iterable[Finding]:
    """What a reader should know beside a trustworthy verdict.

    Args:
        sensitivity: What the missing episodes could do.
        unplanned_looks: How often results were looked at out of plan.
        moved: Whether that made the overlap rule take over.
    """
    if moved:
        times = "once" if unplanned_looks == 1 else f"{unplanned_looks} times"
        yield Finding(Reason.UNPLANNED_LOOK, times)
    if sensitivity is Sensitivity.WEAKENS:
        yield Finding(Reason.MISSING_WEAKENS)
    elif sensitivity is Sensitivity.COULD_DECIDE:
        yield Finding(Reason.MISSING_COULD_DECIDE)


def at_the_ceiling(arms: Arms, where: str = "") -> Iterable[Finding]:
    """That both arms win nearly always or nearly never, if they do; `where` names the configuration."""
    if ceiling(arms):
        yield Finding(Reason.CEILING, where)


def ceiling(arms: Arms) -> bool:
    """Whether both arms win at least 95 % of their games, or at most 5 %."""
    if not all(arm.finished for arm in arms):
        return False
    return all(20 * arm.wins >= 19 * arm.finished for arm in arms) or all(
        20 * arm.wins <= arm.finished for arm in arms
    )
