"""Whether two arms are different builds, as far as the server tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import SameBuild
from pytest_evalharness.league.arms import BASELINE, CANDIDATE
from pytest_evalharness.league.plan import ComparisonPlan

if TYPE_CHECKING:
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

_DIGEST_SHOWN = len("sha256:") + 12


def require_different(plan: ComparisonPlan, policies: Mapping[str, ResolvedPolicy]) -> None:
    """Refuse to compare a build with itself: the runbook's authors did it once and believed the result.

    Args:
        plan: the comparison.
        policies: label → version, for every pinned label.

    Raises:
        SameBuild: every pinned seat holds one version, or versions with one image digest, in both arms.
    """
    ours, theirs = plan.pins(CANDIDATE), plan.pins(BASELINE)
    if set(ours) != set(theirs):
        return
    pairs = [(policies[ours[seat]], policies[theirs[seat]]) for seat in sorted(ours)]
    if not all(_same(candidate, baseline) for candidate, baseline in pairs):
        return
    candidate, baseline = policies[plan.label(CANDIDATE)], policies[plan.label(BASELINE)]
    if candidate.policy_version_id == baseline.policy_version_id:
        same = f"are one and the same version ({candidate.policy_version_id})"
    else:
        same = (
            f"are the same build under two names (image {printable(candidate.image_digest)[:_DIGEST_SHOWN]})"
        )
    raise SameBuild(
        f"candidate {printable(candidate.label)} and baseline {printable(baseline.label)} {same}: "
        "the edit never reached the image, so there is nothing to judge",
        not_done="nothing was submitted",
        next_step="rebuild the candidate, check that its image id changed, then "
        f"coworld upload-policy IMAGE --name {printable(candidate.name)}",
    )


def _same(candidate: ResolvedPolicy, baseline: ResolvedPolicy) -> bool:
    if candidate.policy_version_id == baseline.policy_version_id:
        return True
    return candidate.image_digest is not None and candidate.image_digest == baseline.image_digest
