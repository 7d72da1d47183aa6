"""Losses by question: the adapter asks one again, as another task of the same engine, up to three times. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_evalharness.clbench.campaign.bridge_log import Question
from pytest_evalharness.clbench.campaign.loss_classes import Fate, Loss
from pytest_evalharness.clbench.campaign.runroots import Runroot

_Asked = tuple[Path, int]
"""An engine works off one pass, in which each question has a position of its own."""


def by_question(
    losses: Iterable[Loss], roots: Iterable[Runroot], questions: Iterable[Question]
) -> Iterator[Loss]:
    """Losses of which each is of another question, as far as that can be told.

    Tasks whose engine or position nobody tells stay as they are: two of them may be one question.

    Args:
        losses: of engines' tasks.
        roots: of all engines.
        questions: that logs tell of.
    """
    folders = {task.id: root.folder for root in roots for task in root.tasks}
    places = _places(folders, questions)
    answered = {places[one.id] for one in questions if one.delivered and one.id in places}
    groups: dict[tuple[object, ...], list[Loss]] = {}
    for loss in losses:
        place = places.get(loss.question)
        key = (loss.kind, loss.question, loss.where) if place is None else (loss.kind, place)
        groups.setdefault(key, []).append(loss)
    for mine in groups.values():
        place = places.get(mine[0].question)
        yield mine[0] if place is None else _one(mine, answered=place in answered)


def _places(folders: Mapping[str, Path], questions: Iterable[Question]) -> dict[str, _Asked]:
    return {
        one.id: (folders[one.id], one.position)
        for one in questions
        if one.position is not None and one.id in folders
    }


def _one(losses: list[Loss], *, answered: bool) -> Loss:
    """The last of several losses of one question, which tells what became of it."""
    last = max(losses, key=lambda one: (one.at or 0.0, one.question))
    words = last.words if len(losses) == 1 else f"{last.words}; {len(losses)} tasks of this question"
    if last.fate is Fate.LOST and answered:
        return replace(last, fate=Fate.SURVIVED, words=f"{words}; it was asked again, and answered")
    return replace(last, words=words)
