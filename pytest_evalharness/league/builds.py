"""Whether two arms are different builds, as far as the server tells."""

from __future__ import annotations

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import SameBuild
from pytest_evalharness.observatory.resolve import ResolvedPolicy


def require_different(candidate: ResolvedPolicy, baseline: ResolvedPolicy) -> None:
    """Refuse to compare a build with itself: the runbook's authors did it once and believed the result.

    Raises:
        SameBuild: one version, or two versions with one image digest.
    """
    if candidate.policy_version_id == baseline.policy_version_id:
        same = f"are one and the same version ({candidate.policy_version_id})"
    elif candidate.image_digest is not None and candidate.image_digest == baseline.image_digest:
        same = f"are the same build under two names (image {printable(candidate.image_digest)})"
    else:
        return
    raise SameBuild(
        f"candidate {printable(candidate.label)} and baseline {printable(baseline.label)} {same}: "
        "the edit never reached the image, so there is nothing to judge",
        not_done="nothing was submitted",
        next_step="rebuild the candidate, check that its image id changed, then "
        f"coworld upload-policy IMAGE --name {printable(candidate.name)}",
    )
