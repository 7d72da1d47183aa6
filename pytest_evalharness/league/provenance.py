"""What is known of the builds behind two arms: what each source showed, and the one conclusion from all of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from pytest_evalharness.base.text import printable
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES

_DIGEST_SHOWN = len("sha256:") + 12
_COMMIT_SHOWN = 12


class Conclusion(StrEnum):
    """Whether two arms are different builds.

    `DIFFERENT` is proved and `SAME` is too. `NOT_VISIBLE`: an arm is another player's, whose image nobody may see, and the
    versions' ids differ, which suffices. `UNPROVEN`: no source can tell.
    """

    DIFFERENT = "different"
    SAME = "same"
    NOT_VISIBLE = "not_visible"
    UNPROVEN = "unproven"

    @property
    def proved_different(self) -> bool:
        """Whether an edit can be judged at all."""
        return self in (Conclusion.DIFFERENT, Conclusion.NOT_VISIBLE)


class Source(StrEnum):
    """Who said something about a build."""

    LAYOUT = "layout"
    VERSION = "policy version"
    SERVER = "server"
    IMAGE = "local image"
    GIT = "git"


@dataclass(frozen=True)
class Seen:
    """What one source showed, in words. Text from outside may be in it."""

    source: Source
    text: str


@dataclass(frozen=True)
class ArmBuild:
    """What is known of the build in an arm's tested seat.

    Attributes:
        label: the policy's label.
        policy_version_id: the version.
        owned: whether it is the token's own; another player's image is private.
        digest: the image digest that the server tells.
        image: the local image that was named for it, if it could be inspected.
        commit: the full id of the commit that the image says it was built from, if the repository has it.
        evidence: everything that was looked at, source by source.
    """

    label: str
    policy_version_id: str
    owned: bool
    digest: str | None
    image: LocalImage | None
    commit: str | None
    evidence: tuple[Seen, ...]

    @property
    def image_id(self) -> str | None:
        """The local image's id."""
        return None if self.image is None else self.image.id

    @property
    def revision(self) -> str | None:
        """The commit it was built from: in full if the repository has it, else as the image says."""
        return self.commit or (None if self.image is None else self.image.revision)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The build as it was written down."""
        image = None if data["image"] is None else LocalImage.from_json(data["image"])
        evidence = tuple(Seen(Source(one["source"]), one["text"]) for one in data["evidence"])
        return cls(**{**data, "image": image, "evidence": evidence})


@dataclass(frozen=True)
class Provenance:
    """The builds of a comparison.

    Attributes:
        conclusion: whether they are different.
        because: why, in words.
        source: who proved it; None where nobody did.
        arms: each arm's build, by side.
        files: the files that differ between the two arms' commits; None where those are not known.
        warnings: what casts a doubt on what is compared, or makes it needless.
        notes: what else was found.
        allowed: whether the user took it on trust that the builds differ.
        at: when this was found, in seconds since 1970.
    """

    conclusion: Conclusion
    because: str
    source: Source | None
    arms: Mapping[str, ArmBuild]
    files: tuple[str, ...] | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    allowed: bool
    at: float

    @property
    def candidate(self) -> ArmBuild:
        """The candidate's build."""
        return self.arms[CANDIDATE]

    @property
    def baseline(self) -> ArmBuild:
        """The baseline's build."""
        return self.arms[BASELINE]

    @property
    def different(self) -> bool:
        """Whether it is proved that they differ, by whatever suffices for arms of this kind."""
        return self.conclusion.proved_different

    @property
    def unproven(self) -> bool:
        """Whether nobody can tell."""
        return self.conclusion is Conclusion.UNPROVEN

    @property
    def sentence(self) -> str:
        """The conclusion and what it rests on, harmless to print."""
        return _SENTENCES[self.conclusion].format(
            because=printable(self.because, 500), allowed=", taken on trust" if self.allowed else ""
        )

    def summary(self) -> list[str]:
        """The conclusion and what else was found, a line each, harmless to print; warnings are told apart."""
        return [self.sentence, *(printable(note, 500) for note in self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the ledger and for reports."""
        return {
            "allowed": self.allowed,
            "arms": {
                side: {**asdict(arm), "evidence": _told(arm.evidence)} for side, arm in self.arms.items()
            },
            "at": self.at,
            "because": self.because,
            "conclusion": self.conclusion.value,
            "files": None if self.files is None else list(self.files),
            "notes": list(self.notes),
            "sentence": self.sentence,
            "source": None if self.source is None else self.source.value,
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        return cls(
            conclusion=Conclusion(data["conclusion"]),
            because=data["because"],
            source=None if data["source"] is None else Source(data["source"]),
            arms={side: ArmBuild.from_json(data["arms"][side]) for side in SIDES},
            files=None if data["files"] is None else tuple(data["files"]),
            warnings=tuple(data["warnings"]),
            notes=tuple(data["notes"]),
            allowed=data["allowed"],
            at=data["at"],
        )


_SENTENCES = {
    Conclusion.DIFFERENT: "proved different: {because}",
    Conclusion.SAME: "one build: the arms {because}",
    Conclusion.NOT_VISIBLE: "different policy versions, image not visible: {because}",
    Conclusion.UNPROVEN: "not proved different{allowed}: {because}",
}


def _told(evidence: Iterable[Seen]) -> list[dict[str, str]]:
    return [{"source": seen.source.value, "text": seen.text} for seen in evidence]


def short_digest(digest: str) -> str:
    """A digest for people."""
    return printable(digest)[:_DIGEST_SHOWN]


def short_commit(commit: str) -> str:
    """A commit id for people."""
    return printable(commit)[:_COMMIT_SHOWN]


def some_files(names: Sequence[str], total: int, shown: int = 5) -> str:
    """The first files of several, and how many more there are."""
    more = total - len(names[:shown])
    told = ", ".join(printable(name) for name in names[:shown])
    return f"{told} and {more} more" if more else told
