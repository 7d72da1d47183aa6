"""The trust checks of a comparison as a list: which were made, and what each found. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.verdict.checks import Check as Looked
from pytest_evalharness.verdict.checks import shown
from pytest_evalharness.verdict.words import Reason

_WIDE = 320
_CHECKS = (
    ("Builds", ("same_build",), "the arms are different builds, as far as the server tells digests"),
    ("Ended", ("not_terminal", "wedged", "failed"), "requests and episodes have ended, as many as were asked for"),
    ("Seats", ("seats",), "everybody sat where they were placed, seat by seat"),
    ("Roles", ("roles",), "the roles in the results are the ones that were forced"),
    ("Field", ("roster",), "both arms met the same opponents: the field was chosen once and frozen"),
    ("Game", ("versions",), "both arms played one version of the game"),
    ("Config", ("config",), "both arms played with the same settings, as far as the server tells them"),
    ("Seeds", ("seeds",), "the arms played the seeds they were paired by"),
    ("Copies", ("duplicates",), "no episode is a copy of another"),
    ("Gaps", ("no_games", "missing_over_limit", "missing_differs_between_arms", "missing_reverses"),
     "missing games are few, even, and could not turn the result around"),
    ("Declaration", ("declaration_changed",), "claim and rule were stored before anything was posted"),
    ("Adviser", ("adviser",), ""),
)  # fmt: skip
"""Name, the reasons that fail it, and what a pass means; without that, only a judgement itself can tell of one."""
_MEASURED = {"roles": "Roles", "game version": "Game", "adviser": "Adviser"}
"""What a judgement tells under names of its own, in the words of what was seen; the others follow by their own names."""
_STATES = {"ok": "passed", "noted": "noted", "unknown": "unknown", "failed": "failed"}
_TOLD = frozenset({"seats", "seeds"})
"""Checks whose success a judgement names itself."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: what was looked at.
        state: `passed`, `failed`, `noted` (found, counted and told), `unknown` (nobody could see it) or `left out`.
        text: what was found.
    """

    name: str
    state: str
    text: str


def checks(judged: Mapping[str, Any], builds: tuple[str, str] | None = None) -> list[Check]:
    """Every trust check in a fixed order, then every other failure.

    Args:
        judged: a judgement's plain data.
        builds: the state and the text of the check for different builds, where more is known than the judgement says.
    """
    failed: dict[str, list[str]] = {}
    for reason in judged["reasons"]:
        if forbids_trust(reason["reason"]):
            failed.setdefault(reason["reason"], []).append(finding(reason))
    known = _measured(judged) | _adopted(judged)
    if builds is not None and not judged.get("aa"):
        known["Builds"] = Check("Builds", *builds)
    told = []
    for name, reasons, passed in _CHECKS:
        found = [text for reason in reasons for text in failed.pop(reason, ())]
        told += [Check(name, "failed", text) for text in found] or _unfailed(
            name, passed, judged, known.get(name)
        )
    listed = {name for name, _, _ in _CHECKS}
    told += [check for name, check in known.items() if name not in listed]
    return told + [Check("Other", "failed", text) for texts in failed.values() for text in texts]


def _unfailed(name: str, passed: str, judged: Mapping[str, Any], known: Check | None) -> list[Check]:
    """A check that nothing speaks against: as it was seen, passed, or left out; none that was not to be made."""
    if known is not None:
        return [known]
    if name == "Builds" and judged.get("aa"):
        return [Check(name, "left out", "one build meets itself by design")]
    if name == "Roles" and judged.get("checks"):
        return []  # a judgement that looked at roles tells so: this game has none
    if not passed or (name == "Seeds" and judged["declaration"].get("pairing") is None):
        return []  # nothing was paired, or nobody looked
    if name.lower() in _TOLD and name.lower() not in judged["verified"]:
        return [Check(name, "left out", "not verified")]
    return [Check(name, "passed", passed)]


def _adopted(judged: Mapping[str, Any]) -> dict[str, Check]:
    """What is not as ever where requests were created elsewhere: nobody stored a claim before, or froze a field."""
    late = next((one for one in judged["reasons"] if one["reason"] == Reason.DECLARED_AFTER), None)
    if late is None:
        return {}
    field = "both arms met the same opponents, as their requests place them"
    return {
        "Declaration": Check("Declaration", "noted", finding(late)),
        "Field": Check("Field", "passed", field),
    }


def _measured(judged: Mapping[str, Any]) -> dict[str, Check]:
    """What a judgement says that it looked at, by the name it has here."""
    found = [Looked.from_json(one) for one in judged.get("checks", ())]
    trusted = judged["verdict"] != "untrustworthy"
    named = {
        _MEASURED.get(one.name, printable(one.name).capitalize()): one
        for one in shown(found, trusted=trusted)
    }
    return {name: Check(name, _STATES[one.state], printable(one.seen, _WIDE)) for name, one in named.items()}


def notes(judged: Mapping[str, Any]) -> list[str]:
    """The reasons that forbid no trust: what a reader should know beside the verdict."""
    return [finding(reason) for reason in judged["reasons"] if not forbids_trust(reason["reason"])]


def forbids_trust(word: str) -> bool:
    """Whether a reason makes a comparison untrustworthy; one that this release does not know does."""
    try:
        return Reason(word).forbids_trust
    except ValueError:
        return True


def finding(reason: Mapping[str, Any]) -> str:
    """A reason in plain words, with its particulars."""
    try:
        sentence = Reason(reason["reason"]).sentence
    except ValueError:
        sentence = printable(reason["reason"])
    detail = printable(reason["detail"], _WIDE) if reason["detail"] else ""
    arm = printable(reason["arm"])
    if arm and not detail.startswith(f"{arm}:"):
        detail = ": ".join(part for part in (arm, detail) if part)
    return f"{sentence} ({detail})" if detail else sentence
