"""A tagger by the name that a user types: rule, judge or model:ID."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.engines.evidence.taggers.reading import Tagger
from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
from pytest_evalharness.engines.evidence.world import World
from pytest_evalharness.errors import UsageError

_KINDS = ("rule", "judge", "model:ID")


def require_known(name: str) -> tuple[str, str]:
    """The kind and the model's id of a name.

    Raises:
        UsageError: it is no tagger's.
    """
    kind, colon, model_id = name.partition(":")
    if (kind in ("rule", "judge") and not colon) or (kind == "model" and model_id):
        return kind, model_id
    close = difflib.get_close_matches(kind, ("rule", "judge", "model"), 1)
    meant = f"; did you mean {close[0]}{':ID' if close[0] == 'model' else ''}?" if close else ""
    raise UsageError(
        f"there is no tagger {name!r}: it is {', '.join(_KINDS[:-1])} or {_KINDS[-1]}{meant}",
        not_done="no evidence was built",
        next_step="evalharness engine evidence-build --help",
    )


def make_tagger(
    name: str,
    world: World,
    *,
    models: Path,
    cache: Path,
    environ: Mapping[str, str],
    clock: Clock,
    budget: int | None = None,
) -> Tagger:
    """A tagger.

    Args:
        name: rule, judge or model:ID.
        world: what calls are read as.
        models: the file that says where judge and models are.
        cache: the file of answers.
        environ: where keys are.
        clock: tells the time and waits between tries.
        budget: tokens that the judge may cost, in place of what the file says.

    Raises:
        UsageError: the name, or what the file says of it, is of no use.
        NoCredentials: there is no key where one is needed.
        TaggerFailed: it cannot be reached or started.
    """
    kind, model_id = require_known(name)
    if kind != "judge" and budget is not None:
        raise UsageError(
            f"--budget is what a judge may cost; the tagger is {name}",
            not_done="no evidence was built",
            next_step="leave --budget out, or add --tagger judge",
        )
    if kind == "rule":
        return RuleTagger(world)
    from pytest_evalharness.engines.evidence.taggers.models import judge_entry, model_entry

    if kind == "judge":
        from pytest_evalharness.engines.evidence.taggers.judge import JudgeTagger

        return JudgeTagger(
            judge_entry(models), world, cache=cache, environ=environ, clock=clock, budget=budget
        )
    from pytest_evalharness.engines.evidence.taggers.systemone import ModelTagger

    return ModelTagger(
        model_id, model_entry(models, model_id), world, cache=cache, environ=environ, clock=clock
    )
