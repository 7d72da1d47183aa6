"""From what a user calls a policy to one version that can be seated."""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_evalharness.errors import AmbiguousPolicy, EvalHarnessError, UnknownPolicy
from pytest_evalharness.observatory.calls import named
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.credentials import NOTHING_SUBMITTED
from pytest_evalharness.observatory.models import Membership, PolicyVersion

_LABEL = re.compile(r"(?P<name>.+):v(?P<version>[0-9]{1,9})")
_SHOWN = 12


@dataclass(frozen=True)
class ResolvedPolicy:
    """One version of a policy.

    Attributes:
        label: `name:vN`.
        name: the policy's name.
        version: the version's number.
        policy_version_id: the id to seat.
        image_digest: the build, if the server tells.
        owned: whether it is the token's own; else it is a live member of the league.
        player_id: whose it is, if the server tells.
        player_name: that player's name; untrusted.
    """

    label: str
    name: str
    version: int
    policy_version_id: str
    image_digest: str | None
    owned: bool
    player_id: str | None
    player_name: str | None

    def pinned_by(self, label: str) -> bool:
        """Whether a label names exactly this version, whatever is uploaded later: as `name:vN`, or by its id."""
        return label.strip() == self.label or label.strip().lower() == self.policy_version_id.lower()


def resolve_policy(client: Observatory, label: str, *, live: Sequence[Membership]) -> ResolvedPolicy:
    """The version that a label means: an owned, uploaded one, else a live member of the league.

    Args:
        client: asks the server.
        label: `name:vN`, a bare `name` that has one version only, or a policy version's id.
        live: the league's live members.

    Raises:
        UnknownPolicy: nothing owned or live has this label; says what comes near and how to upload.
        AmbiguousPolicy: a bare name with several versions; lists them.
        EvalHarnessError: the server cannot be asked; see `Observatory`.
    """
    wanted = label.strip()
    if _is_id(wanted):
        return _by_id(client, wanted.lower(), live)
    match = _LABEL.fullmatch(wanted)
    name, version = (match["name"], int(match["version"])) if match else (wanted, None)
    owned = client.policy_versions(name, version)
    candidates = owned or _matching(live, name, version)
    distinct = {found.id: found for found in candidates}
    if not distinct:
        raise _unknown(client, wanted, name, live)
    if len(distinct) > 1:
        raise _ambiguous(wanted, distinct.values())
    return _resolved(client, next(iter(distinct.values())), live, owned=bool(owned))


def seated_policy(client: Observatory, policy_version_id: str, label: str) -> ResolvedPolicy:
    """A version that sits in a request already, wherever it may be seated now.

    Args:
        client: asks the server.
        policy_version_id: its id.
        label: what the request calls it: `name:vN`, or its id.

    Raises:
        EvalHarnessError: the server cannot be asked; see `Observatory`.
    """
    match = _LABEL.fullmatch(label)
    name, version = (match["name"], int(match["version"])) if match else (label, 0)
    mine = client.policy_versions(name, version) if match else []
    found = next((one for one in mine if one.id.lower() == policy_version_id.lower()), None)
    seated = found or PolicyVersion(id=policy_version_id, name=name, version=version)
    return replace(_resolved(client, seated, [], owned=found is not None), label=label)


def _by_id(client: Observatory, policy_version_id: str, live: Sequence[Membership]) -> ResolvedPolicy:
    detail = client.policy_version(policy_version_id)
    if detail is not None and detail.name:
        for found in client.policy_versions(detail.name, detail.version):
            if found.id.lower() == policy_version_id:
                return _resolved(client, found, live, owned=True)
    for member in live:
        if member.policy_version.id.lower() == policy_version_id:
            return _resolved(client, member.policy_version, live, owned=False)
    called = f" ({named(detail.name)}:v{detail.version})" if detail is not None and detail.name else ""
    raise UnknownPolicy(
        f"the policy version {named(policy_version_id)}{called} is neither yours nor a live member of the "
        "league: an id from an old round cannot be seated any more",
        not_done=NOTHING_SUBMITTED,
        next_step="name a live version, or yours as NAME:vN",
    )


def _matching(live: Sequence[Membership], name: str, version: int | None) -> list[PolicyVersion]:
    return [
        member.policy_version
        for member in live
        if member.policy_version.name == name and version in {None, member.policy_version.version}
    ]


def _resolved(
    client: Observatory, found: PolicyVersion, live: Sequence[Membership], *, owned: bool
) -> ResolvedPolicy:
    detail = client.policy_version(found.id)
    image_id = detail.container_image_id if detail else None
    image = client.container_image(image_id) if image_id else None
    member = next((row for row in live if row.policy_version.id == found.id), None)
    player_id = found.player_id or (member.player_id if member else None)
    return ResolvedPolicy(
        label=found.label,
        name=found.name,
        version=found.version,
        policy_version_id=found.id,
        image_digest=image.image_digest if image else None,
        owned=owned,
        player_id=player_id or (detail.player_id if detail else None),
        player_name=member.player.name if member and member.player else None,
    )


def _ambiguous(wanted: str, candidates: Iterable[PolicyVersion]) -> AmbiguousPolicy:
    found = sorted(candidates, key=lambda version: version.version)
    same_label = len({version.label for version in found}) < len(found)
    shown = [
        f"{named(version.label)} ({named(version.id)})" if same_label else f"v{version.version}"
        for version in found
    ]
    newest = found[-1]
    return AmbiguousPolicy(
        f"{named(wanted)} has {len(found)} versions: {_some(shown)}",
        not_done=NOTHING_SUBMITTED,
        next_step=f"name one of them, for instance {named(newest.id if same_label else newest.label)}",
    )


def _unknown(client: Observatory, wanted: str, name: str, live: Sequence[Membership]) -> UnknownPolicy:
    lines = [f"{named(wanted)} is no owned, uploaded policy and no live member of the league"]
    try:
        versions = client.policy_versions(name)
        others = [] if versions else client.policy_versions()
    except EvalHarnessError:
        versions, others = [], []  # the help is worth less than the answer
    versions = versions or _matching(live, name, None)
    instead = ""
    if versions:
        instead = "name one of them, or upload it: "
        numbers = sorted({version.version for version in versions})
        lines.append(f"{named(name)} has {_some([f'v{number}' for number in numbers])}")
    else:
        known = [*others, *(member.policy_version for member in live)]
        near = _near(wanted, name, known)
        if near:
            instead = "correct the name, or upload it: "
            lines.append(f"did you mean {' or '.join(named(word) for word in near)}?")
    base = re.sub(r":.*", "", name) or "NAME"
    return UnknownPolicy(
        "\n  ".join(lines),
        not_done=NOTHING_SUBMITTED,
        next_step=f"{instead}coworld upload-policy IMAGE --name {named(base)}",
    )


def _near(wanted: str, name: str, known: Sequence[PolicyVersion]) -> list[str]:
    labels = list(dict.fromkeys(version.label for version in known))
    by_label = difflib.get_close_matches(wanted, labels, 3)
    if by_label:
        return by_label
    return difflib.get_close_matches(name, list(dict.fromkeys(version.name for version in known)), 3)


def _some(words: Sequence[str]) -> str:
    if len(words) <= _SHOWN:
        return ", ".join(words)
    return f"{', '.join(words[:2])}, …, {', '.join(words[-_SHOWN + 3 :])}"


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
