"""Whether two arms are different builds, by everything that can be known of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import SameBuild, UnprovenBuilds
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES
from pytest_evalharness.league.local_builds import LocalBuilds, Missing
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.provenance import (
    ArmBuild,
    Conclusion,
    Provenance,
    Seen,
    Source,
    short_digest,
)

if TYPE_CHECKING:
    from pytest_evalharness.observatory.resolve import ResolvedPolicy

_ALLOW = "--eval-unproven-builds=allow"


class Pair(NamedTuple):
    """What is concluded of two versions in one seat, and what it rests on."""

    conclusion: Conclusion
    because: str
    source: Source | None


def conclude(
    plan: ComparisonPlan,
    policies: Mapping[str, ResolvedPolicy],
    local: LocalBuilds,
    *,
    allow: bool = False,
    at: float = 0.0,
) -> Provenance:
    """Everything that is known of a comparison's builds. The server is believed first, then this machine's images.

    Args:
        plan: the comparison.
        policies: label → version, for every pinned label.
        local: what was found on this machine.
        allow: whether builds that nobody proves different are compared all the same.
        at: now, in seconds since 1970.
    """
    from pytest_evalharness.league.source_tree import doubts, facts

    candidate, baseline = (plan.label(side) for side in SIDES)
    found = _arms(plan, policies, local)
    ours = policies[candidate].owned or policies[baseline].owned
    warnings = [*_contradictions(plan, found, policies, local)]
    if ours:  # nothing on this machine says anything about builds of others
        warnings += doubts(local, candidate, baseline, at)
    return Provenance(
        conclusion=found.conclusion,
        because=found.because,
        source=found.source,
        arms={side: _arm(policies[plan.label(side)], plan.label(side), local) for side in SIDES},
        files=local.files if isinstance(local.files, tuple) and _both_named(plan, local) else None,
        warnings=tuple(warnings),
        notes=tuple(facts(local)) if ours else (),
        allowed=allow and found.conclusion is Conclusion.UNPROVEN,
        at=at,
    )


def require_proof(plan: ComparisonPlan, found: Provenance, local: LocalBuilds) -> None:
    """Refuse to compare a build with itself, or builds that may be one: the runbook's authors did it once and believed it.

    Raises:
        SameBuild: both arms are one build.
        UnprovenBuilds: nobody can tell, and that was not allowed.
    """
    who = f"candidate {printable(found.candidate.label)} and baseline {printable(found.baseline.label)}"
    if found.conclusion is Conclusion.SAME and not plan.aa:
        name = found.candidate.label.partition(":")[0]
        raise SameBuild(
            f"{who} {found.because}: the edit never reached the image, so there is nothing to judge",
            not_done="nothing was submitted",
            next_step="rebuild the candidate, check that its image id changed, then "
            f"coworld upload-policy IMAGE --name {printable(name)}",
        )
    if found.conclusion is Conclusion.UNPROVEN and not found.allowed and not plan.aa:
        missing = [one for side in SIDES if isinstance(one := local.images.get(plan.label(side)), Missing)]
        looked = "".join(f"{one.next_step}; then run again. " for one in missing[:1])
        raise UnprovenBuilds(
            f"nothing proves that {who} are different builds: {found.because}",
            not_done="nothing was submitted: a comparison of a build with itself looks like any other",
            next_step=f"{looked}Name the local images that were uploaded (--eval-candidate-image IMAGE "
            f"--eval-baseline-image IMAGE), or take it on trust with {_ALLOW}",
        )


# -------------------------------------------------------------------- pairs


def _arms(plan: ComparisonPlan, policies: Mapping[str, ResolvedPolicy], local: LocalBuilds) -> Pair:
    """What is concluded of two arms: of their tested seats, and where one build sits there, of all other pinned seats."""
    ours, theirs = plan.pins(CANDIDATE), plan.pins(BASELINE)
    tested = _pair(plan.label(CANDIDATE), plan.label(BASELINE), policies, local)
    if tested.conclusion is not Conclusion.SAME:
        return tested
    if set(ours) != set(theirs):
        return Pair(Conclusion.DIFFERENT, "the arms pin different seats", Source.LAYOUT)
    others = [
        pair._replace(because=f"in seat {seat}, {pair.because}")
        for seat in sorted(ours)
        if seat != plan.tested_seat
        and (pair := _pair(ours[seat], theirs[seat], policies, local)).conclusion is not Conclusion.SAME
    ]
    by_strength = (Conclusion.DIFFERENT, Conclusion.NOT_VISIBLE, Conclusion.UNPROVEN)
    return min(others, key=lambda pair: by_strength.index(pair.conclusion), default=tested)


def _pair(candidate: str, baseline: str, policies: Mapping[str, ResolvedPolicy], local: LocalBuilds) -> Pair:
    """What is concluded of two labels that stand for a seat's versions."""
    one, other = policies[candidate], policies[baseline]
    if one.policy_version_id == other.policy_version_id:
        return Pair(
            Conclusion.SAME, f"are one and the same version ({one.policy_version_id})", Source.VERSION
        )
    by_server = _by_server(one, other)
    if by_server is not None:
        return by_server
    others = [policy.label for policy in (one, other) if not policy.owned]
    if others:
        whose = " and ".join(map(printable, others))
        return Pair(Conclusion.NOT_VISIBLE, f"{whose}, another player's", Source.VERSION)
    by_image = _by_image(candidate, baseline, local)
    if by_image is not None:
        return by_image
    return Pair(Conclusion.UNPROVEN, "; ".join(_silent(candidate, baseline, policies, local)), None)


def _by_server(one: ResolvedPolicy, other: ResolvedPolicy) -> Pair | None:
    """By the server's image digests, if it tells both."""
    if not one.image_digest or not other.image_digest:
        return None
    if one.image_digest.lower() == other.image_digest.lower():
        same = f"are the same build under two names (image {short_digest(one.image_digest)})"
        return Pair(Conclusion.SAME, same, Source.SERVER)
    shown = f"{short_digest(one.image_digest)} and {short_digest(other.image_digest)}"
    return Pair(Conclusion.DIFFERENT, f"the server's image digests, {shown}", Source.SERVER)


def _by_image(candidate: str, baseline: str, local: LocalBuilds) -> Pair | None:
    """By the ids of the local images, if both could be inspected."""
    one, other = local.image(candidate), local.image(baseline)
    if one is None or other is None:
        return None
    if one.id == other.id:
        same = f"are the same build under two names (local image {short_digest(one.id)})"
        return Pair(Conclusion.SAME, same, Source.IMAGE)
    shown = f"{short_digest(one.id)} and {short_digest(other.id)}"
    return Pair(Conclusion.DIFFERENT, f"the ids of the local images, {shown}", Source.IMAGE)


def _silent(
    candidate: str, baseline: str, policies: Mapping[str, ResolvedPolicy], local: LocalBuilds
) -> Iterator[str]:
    """Why each source proves nothing."""
    untold = [label for label in (candidate, baseline) if not policies[label].image_digest]
    yield f"the server tells no image digest of {' and '.join(map(printable, untold))}"
    unnamed = [label for label in (candidate, baseline) if label not in local.images]
    for label in (candidate, baseline):
        one = local.images.get(label)
        if isinstance(one, Missing):
            yield one.why
    if unnamed:
        yield f"no local image was named for {' and '.join(map(printable, unnamed))}"


def _contradictions(
    plan: ComparisonPlan, found: Pair, policies: Mapping[str, ResolvedPolicy], local: LocalBuilds
) -> Iterator[str]:
    """Where two sources cannot both be right, and where an A/A run is none."""
    if plan.aa and found.conclusion is Conclusion.DIFFERENT:
        yield f"this A/A run compares two builds that are proved different: {found.because}"
    by_image = _by_image(plan.label(CANDIDATE), plan.label(BASELINE), local)
    by_server = _by_server(*(policies[plan.label(side)] for side in SIDES))
    if by_image is None or by_server is None or by_image.conclusion is by_server.conclusion:
        return
    ids = "one id" if by_image.conclusion is Conclusion.SAME else "two ids"
    digests = "two digests" if by_server.conclusion is Conclusion.DIFFERENT else "one digest"
    yield f"the local images have {ids} and the server tells {digests}: a local image is not the one that was uploaded"


# --------------------------------------------------------------------- arms


def _arm(policy: ResolvedPolicy, label: str, local: LocalBuilds) -> ArmBuild:
    commit = local.commits.get(label)
    return ArmBuild(
        label=policy.label,
        policy_version_id=policy.policy_version_id,
        owned=policy.owned,
        digest=policy.image_digest or None,
        image=local.image(label),
        commit=commit if isinstance(commit, str) else None,
        evidence=tuple(_evidence(policy, label, local)),
    )


def _evidence(policy: ResolvedPolicy, label: str, local: LocalBuilds) -> Iterator[Seen]:
    from pytest_evalharness.league.source_tree import commit_seen, image_seen

    whose = "yours" if policy.owned else "another player's"
    yield Seen(Source.VERSION, f"{policy.policy_version_id}, {whose}")
    if policy.image_digest:
        yield Seen(Source.SERVER, f"image digest {policy.image_digest}")
    else:
        yield Seen(Source.SERVER, "tells no image digest" if policy.owned else "image not visible")
    image = local.images.get(label)
    if isinstance(image, Missing):
        yield Seen(Source.IMAGE, image.why)
    elif image is not None:
        yield Seen(Source.IMAGE, image_seen(image, policy.image_digest))
        yield from commit_seen(local, label)


def _both_named(plan: ComparisonPlan, local: LocalBuilds) -> bool:
    return all(plan.label(side) in local.images for side in SIDES)
