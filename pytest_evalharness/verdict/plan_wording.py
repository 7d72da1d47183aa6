"""An outlook in words, for dry runs and for `power`. No colour here: that is the renderer's part."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_evalharness.verdict.family_power import FamilyPower
from pytest_evalharness.verdict.judgement import MOST_GAMES
from pytest_evalharness.verdict.planning import TABULATED, Outlook, Scenario
from pytest_evalharness.verdict.sequential_plan import PATHS, Needed
from pytest_evalharness.verdict.truths import target
from pytest_evalharness.verdict.words import Decision, Verdict


def power_lines(found: Outlook) -> Iterator[str]:
    """What so many games can show, how many the claim needs, and the chances of its outcomes."""
    yield from _needed(found)
    if found.declaration.rule.decides and not found.declaration.claim.needs_margin:
        yield from _detectable(found)
    for one in found.scenarios:
        yield from _lowered(found, one)
        yield _chances(one)


def aa_lines(found: Outlook) -> Iterator[str]:
    """How often an A/A run raises an alarm though nothing is wrong."""
    verdicts = found.scenarios[0].chances.verdicts
    alarm = verdicts[Verdict.BETTER] + verdicts[Verdict.WORSE]
    yield f"chances    of one build against itself, at a rate of {found.base:g}: passes {1 - alarm:.1%}, alarm {alarm:.1%}"


def family_line(found: FamilyPower) -> str:
    """What it costs to be tested together with other claims."""
    return (
        f"family     {found.claims} claims tested together (Holm): under {found.effect} {found.outcome} {found.alone:.0%} "
        f"alone, {found.among:.0%} among the others if none of them has an effect"
    )


def verdict_lines(found: Outlook) -> Iterator[str]:
    """The chance of every verdict, a line for each truth."""
    for one in found.scenarios:
        verdicts = ", ".join(f"{word.value} {chance:.1%}" for word, chance in one.chances.verdicts.items())
        yield f"verdicts   under {one.words}: {verdicts} (separated {one.chances.separated[0]:.1%})"


def _needed(found: Outlook) -> Iterator[str]:
    declared = found.declaration
    start = f"power      from a rate of {found.base:g}: "
    if not declared.rule.decides:
        yield f"{start}no number of games meets a claim under the {declared.rule} rule, which is report only"
        return
    if declared.claim.needs_margin:
        wanted = f"{declared.claim} within {declared.margin:.2f}"
        yield f"{start}{wanted} needs {_count(found, found.needed)}{_split(found)} for 80 % power when nothing changed"
        return
    lift, beside = found.detectable[found.games]
    yield (
        f"{start}{found.games} {_unit(found)} find a {found.effect} of {_told(lift)}{_beside(found, _told(beside))} "
        "with 80 % power"
    )
    other = "" if found.needed_other is None else _beside(found, _each(found, found.needed_other))
    yield f"           a {target(declared, found.base).words} needs {_count(found, found.needed)}{other}{_split(found)}"


def _detectable(found: Outlook) -> Iterator[str]:
    shown = [found.detectable[n] for n in TABULATED]
    told = ", ".join(f"{_told(lift)} with {n}" for n, (lift, _) in zip(TABULATED, shown, strict=True))
    beside = _beside(found, ", ".join(_told(other) for _, other in shown))
    yield f"           smallest {found.effect} found: {told} {_unit(found)}{beside}"


def _count(found: Outlook, needed: Needed) -> str:
    if needed.games is None:
        return "more games than there can be"
    unit = "pairs" if found.correlation is not None else "games an arm"
    where = f" in each of {found.configs} configurations" if found.configs > 1 else ""
    return f"{_each(found, needed)} {unit}{where}"


def _each(found: Outlook, needed: Needed) -> str:
    """How many in each configuration; a formula's answer is called one."""
    if needed.games is None:
        return "none"
    return f"{'' if needed.counted else 'about '}{math.ceil(needed.games / found.configs)}"


def _split(found: Outlook) -> str:
    """One request has an end; a pair is a request of its own in each arm."""
    if found.correlation is not None:
        return ""
    requests = math.ceil((found.needed.games or 0) / found.configs / MOST_GAMES)
    return f", as {requests} requests of {MOST_GAMES}" if requests > 1 else ""


def _lowered(found: Outlook, one: Scenario) -> Iterator[str]:
    """Says so where two rates are too far apart to correlate as was asked."""
    if found.correlation is not None and one.correlation is not None and one.correlation < found.correlation:
        yield (
            f"pairs      under {one.words} the two rates cannot correlate by {found.correlation:g}: "
            f"counted with {one.correlation:.2f}, the most they can"
        )


def _chances(one: Scenario) -> str:
    chances = one.chances.decisions
    line = (
        f"chances    under {one.words}: passes {chances[Decision.MET]:.0%}, fails {chances[Decision.NOT_MET]:.0%}, "
        f"cannot tell {chances[Decision.CANNOT_TELL]:.0%}"
    )
    if one.expected_games is not None:
        line += f"; {one.expected_games:.0f} games an arm on average"
    if one.standard_error is not None:
        line += f" ({_simulated(one)}; the order of games decides, so it cannot be counted out)"
    return line


def _simulated(one: Scenario) -> str:
    """How exact it is. Without a standard error, the two directions came up never or always."""
    if one.standard_error:
        return f"simulated, standard error {100 * one.standard_error:.2g}%"
    sure = max(one.chances.verdicts[word] for word in (Verdict.BETTER, Verdict.WORSE)) > 0.0
    return f"simulated: {'every time in' if sure else 'not once in'} {PATHS:,}"


def _beside(found: Outlook, told: str) -> str:
    return "" if found.other is None else f" ({found.other} rule {told})"


def _unit(found: Outlook) -> str:
    if found.correlation is not None:
        return "pairs"
    return "games" if found.configs == 1 else f"games in each of {found.configs} configurations"


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
