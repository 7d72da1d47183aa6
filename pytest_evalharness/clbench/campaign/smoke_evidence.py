"""What a smoke has left behind of each of its five stages: clone, image, container, bridge, typed answer. Reads only."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.artifact import Unreadable, decoded, unpacked
from pytest_evalharness.clbench.campaign.bridge_log import BridgeLog, bridge_log
from pytest_evalharness.clbench.campaign.capacity import ENGINE_NAME
from pytest_evalharness.clbench.campaign.live_shapes import LiveTrace
from pytest_evalharness.clbench.campaign.remains import PassLeft, pass_left
from pytest_evalharness.clbench.campaign.runroots import Runroot
from pytest_evalharness.containers.events import Event

_LARGEST_LOG = 1 << 26
_SHIM = Path("data/state/skills/remote_work/shim_target.txt")
_MANY = re.compile(r"\s+")


class StageName(StrEnum):
    """The links of the chain, in the order in which they are needed."""

    CLONE = "clone"
    IMAGE = "image"
    CONTAINER = "container"
    BRIDGE = "bridge"
    ANSWER = "typed answer"


class Seen(StrEnum):
    """Whether a stage was seen."""

    SEEN = "seen"
    NOT_SEEN = "not seen"
    NOT_PART = "not part"
    """The system has no such stage."""


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: which.
        seen: whether it was.
        what: was seen, or what was missed.
    """

    name: StageName
    seen: Seen
    what: str


@dataclass(frozen=True)
class Chain:
    """What of the adapter there is to be seen.

    Attributes:
        adapter: whether answers come from an engine by way of the bridge; else the system is a part of the benchmark.
        docker: whether the engine runs in a container.
        images: ids by name of the images that the plan names.
        process: why the engine is a process of no image, where it runs in no container.
    """

    adapter: bool
    docker: bool
    images: tuple[tuple[str, str], ...] = ()
    process: str = "docker is false"


@dataclass(frozen=True)
class Answers:
    """What became of the questions.

    Attributes:
        asked: how many there were to be.
        met: how many have an outcome.
        answered: how many of these the system itself answered.
        typed: how many of these by a typed answer.
        cost: dollars; None where nothing tells.
        passed: the pass itself.
    """

    asked: int
    met: int
    answered: int
    typed: int
    cost: float | None
    passed: PassLeft


def answers(
    results: Path, task: str, group: str, *, asked: int, roots: Sequence[Runroot], chain: Chain
) -> Answers:
    """What became of the questions of a smoke.

    Args:
        results: `results/<task>` of the checkout.
        task: its id.
        group: the smoke's run group.
        asked: how many questions.
        roots: what its engines left.
        chain: what there is to be seen.
    """
    passed = pass_left(results, task, group, 0, asked)
    outcomes = [str(one.get("instance_id")) for one in passed.outcomes]
    given_up = {
        str(one.get("instance_id")) for one in passed.outcomes if _forfeited(one.get("metadata"))
    } | _answered_for(passed.path)
    answered = [one for one in outcomes if one not in given_up]
    typed = len(answered)
    if chain.adapter:
        typed = min(typed, sum(one.typed for root in roots for one in root.tasks))
    return Answers(asked, len(outcomes), len(answered), typed, passed.cost, passed)


def _forfeited(told: Any) -> bool:
    return isinstance(told, dict) and any(
        told.get(key) for key in ("forfeit_reason", "llm_error", "latency_timeout")
    )


def _answered_for(path: Path | None) -> set[str]:
    """Instances in which the adapter gave the empty answer: its own word for it, or an answer that was given up."""
    if path is None:
        return set()
    try:
        turns = decoded(unpacked(path), LiveTrace).interactions or []
    except Unreadable:
        return set()
    return {
        one.query.instance_id
        for one in turns
        if one.query is not None
        and one.query.instance_id is not None
        and one.response is not None
        and one.response.forfeited
    }


def log_of(path: Path) -> BridgeLog:
    """What the bridge said in a smoke's log; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return bridge_log(file.read(_LARGEST_LOG))
    except OSError:
        return BridgeLog()


def stages(
    chain: Chain,
    *,
    roots: Sequence[Runroot],
    started: Sequence[Event] | str,
    owners: Collection[int],
    log: BridgeLog,
    told: Answers,
) -> tuple[Stage, ...]:
    """The five stages.

    Args:
        chain: what there is to be seen.
        roots: what the smoke's engines left, and nobody else's.
        started: what happened to containers meanwhile, or why nobody knows.
        owners: pids of the smoke's own processes: an engine's container has its owner's in its name.
        log: what the bridge said.
        told: what became of the questions.
    """
    if not chain.adapter:
        none = "the system answers inside the benchmark's own process"
        inner = (StageName.CLONE, StageName.IMAGE, StageName.CONTAINER, StageName.BRIDGE)
        return (*(Stage(name, Seen.NOT_PART, none) for name in inner), _answer(told))
    mine = (
        started
        if isinstance(started, str)
        else [one for one in started if one.action == "start" and is_engine_of(one.name, owners)]
    )
    return (
        _clone(roots),
        _image(chain, mine),
        _container(chain, mine, roots),
        _bridge(log, roots),
        _answer(told),
    )


def is_engine_of(name: str, owners: Collection[int]) -> bool:
    """Whether a container is an engine that one of these processes has started."""
    named = ENGINE_NAME.fullmatch(name)
    return named is not None and int(named[1]) in owners


def _stage(name: StageName, what: str, *, seen: bool) -> Stage:
    return Stage(name, Seen.SEEN if seen else Seen.NOT_SEEN, what)


def _clone(roots: Sequence[Runroot]) -> Stage:
    if not roots:
        return _stage(StageName.CLONE, "no engine's folder was made", seen=False)
    whole = [root.folder / "clone" for root in roots if (root.folder / "clone" / ".git").exists()]
    if not whole:
        return _stage(StageName.CLONE, f"{roots[0].folder.name} has no clone/ with a .git", seen=False)
    version = _version(whole[0])
    told = f"version {version}" if version else "without a VERSION"
    return _stage(StageName.CLONE, f"{whole[0].parent.name}/clone, {told}", seen=True)


def _version(clone: Path) -> str:
    try:
        return printable(_MANY.sub(" ", (clone / "VERSION").read_text("utf-8", "replace").strip()), 40)
    except OSError:
        return ""


def _image(chain: Chain, mine: Sequence[Event] | str) -> Stage:
    if not chain.docker:
        return Stage(StageName.IMAGE, Seen.NOT_PART, f"{chain.process}: the engine is a process, of no image")
    if isinstance(mine, str):
        return _stage(StageName.IMAGE, f"nobody knows: {mine}", seen=False)
    if not mine:
        return _stage(StageName.IMAGE, "no container of an engine was started of any image", seen=False)
    name = mine[0].image
    known = dict(chain.images).get(name, "")
    return _stage(StageName.IMAGE, printable(f"{name} {known}".strip(), 200), seen=True)


def _container(chain: Chain, mine: Sequence[Event] | str, roots: Sequence[Runroot]) -> Stage:
    if not chain.docker:
        where = f" in {roots[0].folder.name}" if roots else ""
        return Stage(StageName.CONTAINER, Seen.NOT_PART, f"{chain.process}: the engine is a process{where}")
    if isinstance(mine, str):
        return _stage(StageName.CONTAINER, f"nobody knows: {mine}", seen=False)
    names = sorted({one.name for one in mine})
    what = f"started: {', '.join(names)}" if names else "no container of an engine was started"
    return _stage(StageName.CONTAINER, printable(what, 300), seen=bool(names))


def _bridge(log: BridgeLog, roots: Sequence[Runroot]) -> Stage:
    """Questions that an engine got and whose answer came back, by the adapter's own words and the engine's own records.

    An engine that cannot reach the shim completes every question all the same, with nothing that it has looked up.
    """
    ended = sum(task.ended for root in roots for task in root.tasks)
    sent = [one for one in log.questions.values() if one.id not in log.repairs]
    back = [one for one in sent if one.delivered]
    told = [f"{len(sent)} tasks were sent to the engine, {ended} ended there, {len(back)} answers came back"]
    refused = any(root.refused for root in roots)
    if refused:
        told.append("a tool says that nobody listens at the shim")
    elif roots and not any((root.folder / _SHIM).exists() for root in roots):
        told.append("the engine was never told where the shim is")
    told += [one.lost for one in sent if one.lost][:1]
    works = bool(back) and ended > 0 and not refused
    return _stage(StageName.BRIDGE, printable("; ".join(told), 300), seen=works)


def _answer(told: Answers) -> Stage:
    words = f"{told.typed} of {told.asked} questions"
    if told.met < told.asked:
        words += f"; {told.asked - told.met} without an outcome ({told.passed.why or told.passed.state})"
    if told.answered < told.met:
        words += f"; {told.met - told.answered} given up by the adapter"
    if told.typed < told.answered:
        words += f"; {told.answered - told.typed} as prose, or without a record of the engine"
    return _stage(StageName.ANSWER, printable(words, 300), seen=told.typed >= told.asked > 0)
