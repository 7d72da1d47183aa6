"""The leaderboard: each table's estimates, lifts, support and verdict."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.benchmark import checks, support
from pytest_evalharness.engines.benchmark.fitting import Fit
from pytest_evalharness.engines.benchmark.kept import Kept
from pytest_evalharness.engines.benchmark.report import (
    DONE,
    Baseline,
    Estimate,
    Estimates,
    Lean,
    Lift,
    Lifts,
    Report,
    Row,
)
from pytest_evalharness.engines.benchmark.sides import Sides
from pytest_evalharness.engines.benchmark.verdicts import EngineVerdict, Head, Interval, caveat, decide
from pytest_evalharness.engines.evidence.rows import UNLABELLED
from pytest_evalharness.engines.ope.calls import Floats
from pytest_evalharness.engines.ope.fqe import Evaluation
from pytest_evalharness.engines.ope.resampling import interval, simultaneous
from pytest_evalharness.engines.ope.scoring import Scores, score
from pytest_evalharness.engines.ope.tally import Cells
from pytest_evalharness.engines.ope.target import Target

LEANS = (0.1, 0.25, 0.5)
_MODELLED = ("pdwis", "dm", "dr")

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How the intervals are made.

    Attributes:
        bootstrap: resamples behind every interval.
        seed: of the resamples.
        margin: a lift within ± this, in the outcomes' units a call, is no difference; None claims no equivalence.
    """

    bootstrap: int = 200
    seed: int = 0
    margin: float | None = None


class Leaderboard:
    """The scoring half of a benchmark."""

    def __init__(
        self, sides: Sides, fits: list[Fit], how: Resampling, later: Mapping[str, Lift], kept: Kept
    ) -> None:
        self._evidence = sides.evidence
        self._sides = sides
        self._fits = fits
        self._how = how
        self._later = later
        self._kept = kept
        self._calls = sides.calls
        self._done = [one for one in fits if one.status == DONE]
        self._targets = {one.engine: Target.table(self._calls, one.policy) for one in self._done}
        self._caveat = caveat(len(self._done))

    def report(self, say: Say) -> Report:
        """Score, check and judge.

        Raises:
            EvidenceContradicted: a check inside the run does not hold.
        """
        calls = self._calls
        today, random = Target.today(calls), Target.random(calls)
        leans = {
            f"{one.engine}@{alpha}": Target.table(calls, one.policy, lean=alpha)
            for one in self._done
            for alpha in LEANS
        }
        say(f"scoring {len(self._targets)} tables on {len(calls):,} held-out calls")
        scored = self._scores({"@today": today, "@random": random, **self._targets}, leans, say)
        self._today, self._random, self._scored = scored["@today"], scored["@random"], scored
        doubts = checks.hold(calls, self._today, next(iter(self._targets.values()), None))
        together = self._together()
        rows = [
            self._row(one, together.get(one.engine)) if one.status == DONE else _without(one)
            for one in self._fits
        ]
        return Report(
            benchmark_id=self._identity(),
            info=self._info(),
            baselines={"today": self._baseline(self._today), "random": self._baseline(self._random)},
            rows=rows,
            notices=[*self._notices(), *doubts],
            caveat=self._caveat,
        )

    def _scores(
        self, targets: Mapping[str, Target], leans: Mapping[str, Target], say: Say
    ) -> dict[str, Scores]:
        """The scores of all policies; of those that were scored before, on the same resamples, what was kept."""
        how, kept = self._how, self._kept
        asked = {
            name: {
                "policy": target.told(),
                "bootstrap": how.bootstrap,
                "seed": how.seed,
                "modelled": name in targets,
            }
            for name, target in {**targets, **leans}.items()
        }
        found = {name: kept.scores(**words) for name, words in asked.items()}
        known = {name: scores for name, scores in found.items() if scores is not None}
        missing = [
            {name: one for name, one in group.items() if name not in known} for group in (targets, leans)
        ]
        if not any(missing):
            return known
        fresh = score(
            self._calls,
            missing[0],
            weighed=missing[1],
            resamples=how.bootstrap,
            seed=how.seed,
            progress=lambda done, of: say(f"resampled {done:,} of {of:,}"),
        )
        for name, scores in fresh.items():
            kept.keep_scores(scores, **asked[name])
        return known | fresh

    # --------------------------------------------------------------- rows

    def _together(self) -> dict[str, Interval | None]:
        """The lifts over today that hold for all tables at once."""
        if not self._done:
            return {}
        mine = [self._scored[one.engine] for one in self._done]
        lifts = np.array([_number(one.lift("pdwis", self._today)) for one in mine])
        draws = np.stack([one.lifts("pdwis", self._today) for one in mine])
        return dict(zip(self._targets, simultaneous(lifts, draws), strict=True))

    def _row(self, fitted: Fit, together: Interval | None) -> Row:
        scores, calls = self._scored[fitted.engine], self._calls
        today = self._lifts(scores, self._today)
        today.pdwis.simultaneous = together
        found = decide(
            calls=len(calls),
            ess=scores.ess,
            lift=today.pdwis.lift,
            interval=today.pdwis.ci,
            model_lift=today.dm.lift,
        )
        return Row(
            engine=fitted.engine,
            label=fitted.label,
            status=DONE,
            estimates=self._estimates(scores, fitted.policy),
            vs_today=today,
            vs_random=self._lifts(scores, self._random),
            verdict=EngineVerdict.of(
                found,
                line=_line(found, today, scores, len(calls)),
                caveat=self._caveat,
                equivalent=self._equivalent(scores),
            ),
            lean=[self._lean(fitted.engine, alpha) for alpha in LEANS],
            support=support.states(calls, self._targets[fitted.engine], self._evidence.vocabulary),
            more_calls=support.more_calls(len(calls), scores.ess),
            time_split=self._later.get(fitted.engine),
            policy=fitted.policy,
            diagnostics=fitted.diagnostics,
        )

    def _equivalent(self, scores: Scores) -> bool:
        if self._how.margin is None:
            return False
        inner = interval(scores.lifts("pdwis", self._today), 0.90)
        return inner is not None and -self._how.margin < inner[0] and inner[1] < self._how.margin

    def _lean(self, engine: str, alpha: float) -> Lean:
        scores = self._scored[f"{engine}@{alpha}"]
        return Lean(
            alpha=alpha,
            pdwis=scores.values["pdwis"],
            lift=_lift(scores, self._today, "pdwis"),
            ess=scores.ess,
        )

    def _lifts(self, scores: Scores, over: Scores) -> Lifts:
        return Lifts(**{name: _lift(scores, over, name) for name in _MODELLED})

    def _estimates(self, scores: Scores, policy: Mapping[str, str]) -> Estimates:
        returns, pdwis = self._calls.returns, scores.values["pdwis"]
        return Estimates(
            **{name: _estimate(scores, name) for name in (*_MODELLED, "wis", "pdis")},
            dm_fit=Estimate(estimate=self._second_opinion(policy)),
            ess=scores.ess,
            matched_calls=scores.matched,
            mean_weight=scores.mean_weight,
            guessed=scores.guessed,
            unterminated=scores.unterminated,
            model_only=scores.model_only,
            out_of_range=pdwis is not None and not returns.min() - 1e-9 <= pdwis <= returns.max() + 1e-9,
        )

    def _second_opinion(self, policy: Mapping[str, str]) -> float | None:
        """The table's value at the held-out calls' first states, in the model that the fit calls count."""
        cells = Cells.of(self._sides.fit_calls)
        once: Floats = np.ones((len(cells.calls), 1))
        fitted = Evaluation(cells, Target.table(cells.calls, policy)).fit(cells.tally(once))
        if np.isnan(fitted.dm[0]):
            return None
        values = dict(zip(cells.calls.states, fitted.v[:, 0], strict=True))
        unseen = float(fitted.tally.mean_return[0])
        firsts = self._calls.state[self._calls.first_row]
        return float(np.mean([values.get(self._calls.states[at], unseen) for at in firsts]))

    def _baseline(self, scores: Scores) -> Baseline:
        return Baseline(**{name: _estimate(scores, name) for name in _MODELLED}, ess=scores.ess)

    # --------------------------------------------------------------- about

    def _identity(self) -> str:
        """The benchmark's name follows from what was asked, so the same question has the same one."""
        asked = {
            "evidence": self._evidence.content_hash(),
            "tables": {one.engine: one.policy for one in self._done},
            "bootstrap": self._how.bootstrap,
            "seed": self._how.seed,
        }
        return "bm-" + hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:12]

    def _info(self) -> dict[str, Any]:
        told = self._evidence.document
        return {
            "evidence": self._evidence.content_hash(),
            "env": told.env,
            "kind": told.kind,
            "synthetic": told.synthetic,
            "tagger": (told.tagger or {}).get("kind"),
            "fit_calls": len(self._sides.fit.by_episode()),
            "held_out_calls": len(self._calls),
            "propensity_source": told.propensity_source,
            "gamma": self._evidence.gamma,
            "bootstrap": self._how.bootstrap,
            "seed": self._how.seed,
            "moves": self._sides.moves,
            "words": msgspec.to_builtins(told.words),
        }

    def _notices(self) -> list[str]:
        notices = []
        told = self._evidence.document
        if told.synthetic:
            notices.append(f"synthetic calls: {told.synthetic}")
        if told.kind != "real":
            notices.append(f"the evidence is {told.kind}: no customer made these calls")
        if (told.tagger or {}).get("kind") == "rule":
            notices.append(
                "read by cue phrases (the rule tagger): for seeing the pipeline work, not for deciding anything"
            )
        known = {*self._sides.moves, UNLABELLED}
        foreign = Counter(row.move for row in told.transitions if row.move not in known)
        if foreign:
            named = ", ".join(repr(printable(move)) for move in sorted(foreign)[:3])
            notices.append(f"{foreign.total():,} turns are left out: {named} is none of the world's moves")
        if self._sides.unweighable:
            notices.append(
                f"{self._sides.unweighable:,} held-out calls are left out: a move without a recorded propensity"
            )
        return notices


def _without(fitted: Fit) -> Row:
    return Row(engine=fitted.engine, label=fitted.label, status=fitted.status, reason=fitted.reason)


def _estimate(scores: Scores, name: str) -> Estimate:
    return Estimate(estimate=scores.values[name], ci=scores.interval(name))


def _lift(scores: Scores, over: Scores, name: str) -> Lift:
    return Lift(lift=scores.lift(name, over), ci=interval(scores.lifts(name, over)))


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _line(found: Head, today: Lifts, scores: Scores, calls: int) -> str:
    """One sentence saying why."""
    support_ = f"{scores.ess:,.1f} effective of {calls:,} held-out calls"
    model = "no value" if today.dm.lift is None else f"{today.dm.lift:+.2f}"
    lift = today.pdwis
    if lift.lift is None:
        return f"No held-out call agrees with the table throughout; the fitted model guesses {model} a call over today."
    told = f"{lift.lift:+.2f} a call over today" + (
        f" [{lift.ci[0]:+.2f}, {lift.ci[1]:+.2f}]" if lift.ci else ""
    )
    if found is Head.CANNOT_TELL:
        return f"Only {support_}; the fitted model's guess is {model} a call over today."
    if found is Head.DISAGREE:
        return f"PDWIS says {told}, the fitted model {model}, on {support_}."
    return f"PDWIS {told}, the fitted model {model}, on {support_}."
