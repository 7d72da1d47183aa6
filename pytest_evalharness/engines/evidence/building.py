"""Building an evidence set: export → sample → readings → document → record. What was interrupted goes on where it stopped."""

from __future__ import annotations

import fcntl
import hashlib
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock, iso
from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.engines.evidence.assembly import PAIR_RULE, Rows, completed, write_document
from pytest_evalharness.engines.evidence.collecting import UNMAPPED, Collecting, collect
from pytest_evalharness.engines.evidence.document import Document, Split
from pytest_evalharness.engines.evidence.folder import DataFolder, SetRecord
from pytest_evalharness.engines.evidence.outcomes import ENDINGS, Outcomes
from pytest_evalharness.engines.evidence.sampling import Sample, Spool
from pytest_evalharness.engines.evidence.scrubbing import CallKeys
from pytest_evalharness.engines.evidence.taggers.reading import Tagger
from pytest_evalharness.engines.evidence.taggers.rule import cues_hash
from pytest_evalharness.engines.evidence.world import World
from pytest_evalharness.errors import JournalUnavailable, NotEnoughEvidence, TaggerFailed, UsageError

MOST_CALLS = 100_000
DEFAULT_CALLS, DEFAULT_SEED, DEFAULT_TURNS = 2_000, 7, 8
_READ, _TAGGED = 0.3, 0.9
_TELL_EVERY = 64
_FEWEST_CALLS = 2
_KEPT_SECONDS = 7 * 86_400.0

OnProgress = Callable[[float, str], None]
"""Told the share that is done, 0 to 1, and what is being done."""


@dataclass(frozen=True)
class BuildPlan:
    """What is asked for.

    Attributes:
        env: the world, which is a tenant.
        export: its calls.
        world: how they are read.
        outcomes: what they are worth.
        source: "registry" or "volume", for the manifest.
        calls: to sample, 100,000 at most.
        seed: of the sample and of the split.
        max_turns: agent turns kept of a call.
    """

    env: str
    export: Path
    world: World
    outcomes: Outcomes
    source: str = "registry"
    calls: int = DEFAULT_CALLS
    seed: int = DEFAULT_SEED
    max_turns: int = DEFAULT_TURNS

    def __post_init__(self) -> None:
        if self.calls > MOST_CALLS:
            raise UsageError(
                f"a set holds {MOST_CALLS:,} calls at most, not {self.calls:,}",
                not_done="no evidence was built",
                next_step=f"ask for fewer: -n {MOST_CALLS}",
            )
        if self.calls < 1 or self.max_turns < 1:
            raise UsageError(
                f"a set of {self.calls} calls of {self.max_turns} agent turns holds nothing",
                not_done="no evidence was built",
                next_step="ask for at least one call and one turn",
            )


def build(
    plan: BuildPlan,
    tagger: Tagger,
    folder: DataFolder,
    *,
    clock: Clock,
    environ: Mapping[str, str],
    on_progress: OnProgress = lambda _share, _what: None,
) -> SetRecord:
    """Build a set and remember it.

    Args:
        plan: what is asked for.
        tagger: reads moves and states; closed by the caller.
        folder: where sets, and what is left of an interrupted build, are kept.
        clock: dates the set.
        environ: where the secret for call ids may be.
        on_progress: told how far it is.

    Raises:
        UsageError: the same set is being built at this moment.
        EvidenceUnreadable: the export cannot be read.
        NotEnoughEvidence: what is left of it is no evidence.
        JournalUnavailable: the data folder cannot be written to.
        EvalHarnessError: what the tagger raises.
    """
    try:
        record = _build(plan, tagger, folder, clock=clock, environ=environ, on_progress=on_progress)
    except BrokenPipeError:
        raise  # whoever was told of the progress has gone
    except OSError as problem:
        raise JournalUnavailable(
            f"the data folder {folder.root} cannot be used: {problem.strerror or problem}",
            not_done="no set was written",
            next_step="repair the cause, or name another folder with --data; the same command goes on",
        ) from None
    on_progress(1.0, "done")
    return record


def _build(
    plan: BuildPlan,
    tagger: Tagger,
    folder: DataFolder,
    *,
    clock: Clock,
    environ: Mapping[str, str],
    on_progress: OnProgress,
) -> SetRecord:
    keys = CallKeys(folder.key(environ), plan.env, plan.seed)
    with _own_folder(folder.root / "builds", _identity(plan, tagger, keys), clock.now()) as own:
        spool = Spool(own)
        sample = spool.sample()
        if sample is None:
            how = Collecting(plan.export, plan.calls, plan.max_turns, plan.outcomes, keys)
            sample = collect(
                how, spool, lambda share: on_progress(_READ * share, f"reading the export: {share:.0%}")
            )
        else:
            on_progress(_READ, f"going on with {len(sample.entries):,} calls that were sampled before")
        if not sample.entries:
            spool.remove()
            raise _nothing_usable(sample)
        rows = _read(plan, tagger, spool, sample, on_progress)
        try:
            _check(rows, tagger, sample)
        except NotEnoughEvidence:
            spool.remove()  # no repetition would make more of it
            raise
        on_progress(_TAGGED, "writing the set")
        told = completed(_told(plan, tagger, sample, rows, clock.now()), rows)
        record = _write(told, rows, _manifest(plan, tagger, keys, sample), folder, clock.now())
        spool.remove()
    return record


@contextmanager
def _own_folder(builds: Path, identity: str, now: float) -> Iterator[Path]:
    """The folder of one build, which nobody else may be in. It stays only where there is a sample to go on with."""
    builds.mkdir(parents=True, exist_ok=True, mode=0o700)
    own = builds / identity
    with (builds / f"{identity}.lock").open(
        "w"
    ) as lock:  # never removed: whoever waits for it must wait for the same file
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                "the same set is being built by another process at this moment",
                not_done="nothing was read",
                next_step="wait for its end, or build another set",
            ) from None
        _forget_abandoned(builds, own, now)
        try:
            yield own
        finally:
            if Spool(own).sample() is None:
                shutil.rmtree(own, ignore_errors=True)


def _forget_abandoned(builds: Path, own: Path, now: float) -> None:
    """What customers said is not kept for a build that nobody goes on with."""
    for other in builds.iterdir():
        if other != own and other.is_dir() and now - other.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)


def _identity(plan: BuildPlan, tagger: Tagger, keys: CallKeys) -> str:
    """What makes an interrupted build the same one as this."""
    export = plan.export.stat()
    told = {
        "env": plan.env, "export": [str(plan.export.absolute()), export.st_size, export.st_mtime_ns],
        "calls": plan.calls, "seed": plan.seed, "max_turns": plan.max_turns, "key": keys.fingerprint,
        "outcomes": dict(plan.outcomes.meanings), "tagger": [tagger.kind, tagger.model_id],
    }  # fmt: skip
    return hashlib.sha256(canonical_json(told).encode()).hexdigest()[:20]


def _read(plan: BuildPlan, tagger: Tagger, spool: Spool, sample: Sample, on_progress: OnProgress) -> Rows:
    rows = Rows(list(plan.world.moves), plan.outcomes.values, seed=plan.seed)
    total = len(sample.entries)
    for done, (call, readings) in enumerate(tagger.read(spool.calls(sample))):
        if done % _TELL_EVERY == 0 or tagger.kind != "rule":
            share = _READ + (_TAGGED - _READ) * done / total
            on_progress(share, f"reading moves and states: {done:,} of {total:,} calls")
        rows.add(call.name, call.meaning, readings)
    return rows


def _check(rows: Rows, tagger: Tagger, sample: Sample) -> None:
    """Refuse a set from which nothing can follow."""
    if tagger.kind != "rule" and not tagger.stats["by_model"]:
        raise TaggerFailed(
            f"the {tagger.kind} named none of {tagger.stats['turns']:,} turns: this would be a rule-tagged set under its name",
            not_done="no set was written",
            next_step="look at what it answers, or build with --tagger rule",
        )
    if rows.calls < _FEWEST_CALLS or not 0 < rows.held_out < rows.calls:
        sides = f"{rows.calls - rows.held_out} to fit and {rows.held_out} held out"
        why = (
            f"{rows.calls} calls with a usable outcome and a labelled turn make {sides}: both sides need some"
        )
        raise _not_enough(why, sample, "build from more calls, or with another --seed")
    if len(rows.worths) == 1:
        worth = next(iter(rows.worths))
        why = f"all {rows.calls:,} calls ended alike, each worth {worth:g}: no decision can be told from another"
        raise _not_enough(
            why, sample, "look at the outcome map: --outcomes outcomes.toml says what labels mean"
        )


def _nothing_usable(sample: Sample) -> NotEnoughEvidence:
    unmapped = [label for label in sample.labels if sample.meanings[label] == UNMAPPED]
    if unmapped:
        named = ", ".join(f"{label!r} ({sample.labels[label]:,})" for label in unmapped[:5])
        do = f"say what the labels mean in a file and name it with --outcomes: {named}"
    else:
        do = "look at the export: a row holds call_id, outcome and turns"
    spoken = "no_agent_turn" not in sample.skipped
    return _not_enough(
        "no call has a usable outcome" if spoken else "no call with a usable outcome has an agent's turn",
        sample,
        do,
    )


def _not_enough(why: str, sample: Sample, do: str) -> NotEnoughEvidence:
    left = ", ".join(f"{reason} {count:,}" for reason, count in sample.skipped.items())
    return NotEnoughEvidence(
        f"{why} ({sample.rows:,} rows read; left out: {left or 'none'})",
        not_done="no set was written",
        next_step=do,
    )


def _write(told: Document, rows: Rows, manifest: dict[str, Any], folder: DataFolder, now: float) -> SetRecord:
    tagger = told.tagger or {}
    named = "-".join(str(tagger[part]) for part in ("kind", "model_id") if part in tagger)
    path = folder.new_set(told.env, named, now)
    content_hash, set_id = write_document(path, told, rows, manifest)
    record = SetRecord(
        id=set_id,
        env=told.env,
        tagger=tagger,
        counts=told.counts,
        split={
            "seed": told.split.seed,
            "held_out_share": told.split.held_out_share,
            "fit_calls": told.split.fit_calls,
            "held_out_calls": told.split.held_out_calls,
        },
        created_at=told.created_at or "",
        path=path.relative_to(folder.datasets).as_posix(),
        content_hash=content_hash,
    )
    folder.record(record)
    return record


def _told(plan: BuildPlan, tagger: Tagger, sample: Sample, rows: Rows, now: float) -> Document:
    tagged: dict[str, Any] = {"kind": tagger.kind, "stats": dict(sorted(tagger.stats.items()))}
    if tagger.model_id is not None:
        tagged["model_id"] = tagger.model_id
    left_out = Counter(sample.skipped)
    left_out["no_labelled_turn"] += rows.unlabelled_calls
    left_out["not_sampled"] += sample.usable - len(sample.entries)
    return Document(
        kind="real",
        env=plan.env,
        created_at=iso(now),
        pack=plan.world.pack,
        mdp={
            "discount": 1.0,
            "horizon": plan.max_turns,
            "terminal": {ending: plan.outcomes.values[meaning] for meaning, ending in ENDINGS.items()},
            "violation_penalty": 0,
        },
        words=plan.world.words,
        split=Split(seed=plan.seed),
        tagger=tagged,
        outcome_map=dict(sorted(sample.meanings.items())),
        counts={
            "rows": sample.rows,
            "usable_calls": sample.usable,
            "calls": rows.calls,
            "turns": rows.turns,
            "unlabelled_turns": rows.unlabelled_turns,
            "labels": dict(sorted(sample.labels.items())),
            "left_out": {why: count for why, count in sorted(left_out.items()) if count},
        },
    )


def _manifest(plan: BuildPlan, tagger: Tagger, keys: CallKeys, sample: Sample) -> dict[str, Any]:
    return {
        "source": plan.source,
        "export": {"name": plan.export.name, "bytes": plan.export.stat().st_size, "hash": sample.export_hash},
        "asked": {"calls": plan.calls, "seed": plan.seed, "max_turns": plan.max_turns},
        "sample": "uniform over usable calls; in the order of the export",
        "scrubbed": ["phone numbers", "e-mail addresses", "call ids (keyed hash)", "every other column"],
        "call_key": keys.fingerprint,
        "world_hash": cues_hash(plan.world),
        "tagger": {**tagger.described(), "effort": dict(sorted(tagger.effort.items()))},
        "propensities": "share of each move in its state over all labelled rows, both sides",
        "pairs": PAIR_RULE,
        "python": platform.python_version(),
    }
