"""`evalharness power`: what a number of games can show, before anything is played."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import setting, whole
from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import BY_KEY
from pytest_evalharness.verdict.words import Claim, Rule

if TYPE_CHECKING:
    from pytest_evalharness.verdict.planning import Outlook

_MOST = 2000
_MOST_SLOWLY = 500
_SLOW = ("exact", "group_sequential", "always_valid")
"""Games an arm, all configurations together, that are counted out; fewer for Barnard's test and for pairs."""


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    power = commands.add_parser(
        "power",
        help="how many games does an answer take, and what can so many show?",
        description="Games needed for 80 % power, the smallest lift that 8, 30 and 100 games find, and the chance of each "
        "outcome under no effect and under the target lift. Counted out exactly; always_valid without pairs is simulated, "
        "and what takes too many games to count comes from a formula. Nothing is played or posted.",
    )
    power.add_argument(
        "--base", type=float, default=0.5, metavar="P", help="the baseline's win rate (%(default)s)"
    )
    power.add_argument(
        "--lift",
        type=float,
        default=BY_KEY["target_lift"].default,
        help="the true lift worth finding (%(default)s)",
    )
    power.add_argument(
        "--n", type=whole(1), default=30, metavar="N", help="games an arm, or pairs (%(default)s)"
    )
    power.add_argument(
        "--rule", type=setting("rule"), default="score", help="the deciding rule (%(default)s)"
    )
    power.add_argument(
        "--looks",
        type=whole(1),
        nargs="+",
        metavar="N",
        help="games an arm at which results are read, the last one --n (for group_sequential: 30 %%, 60 %% and all)",
    )
    power.add_argument("--alpha", type=float, default=0.05, help="two-sided error level (%(default)s)")
    power.add_argument("--claim", type=setting("claim"), default="better", help="the claim (%(default)s)")
    power.add_argument("--margin", type=float, help="the difference that would not matter")
    power.add_argument(
        "--paired-correlation",
        type=float,
        metavar="PHI",
        help="plan pairs of games with one seed, whose results correlate that much (0 to below 1)",
    )
    power.add_argument(
        "--configs",
        type=whole(1),
        default=1,
        metavar="K",
        help="pool K configurations of N games (%(default)s)",
    )
    power.add_argument(
        "--ticks", type=whole(1), metavar="T", help="the games' tick limit, to tell how long they take"
    )
    power.add_argument("--json", action="store_true", help="print JSON")
    power.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the outlook.

    Raises:
        UsageError: a value is wrong.
    """
    from pytest_evalharness.league.plan import TICKS_PER_SECOND
    from pytest_evalharness.league.plan import declared as declaration_of
    from pytest_evalharness.league.preview import play_line
    from pytest_evalharness.verdict.plan_wording import power_lines, verdict_lines
    from pytest_evalharness.verdict.planning import outlook
    from pytest_evalharness.verdict.truths import require_possible

    _require_poolable(parsed)
    slow = parsed.rule in _SLOW or parsed.paired_correlation is not None
    most = _MOST_SLOWLY if slow else _MOST
    if parsed.n * parsed.configs > most:
        raise _wrong(
            f"--n times --configs is {parsed.n * parsed.configs}; at most {most} are counted out here"
        )
    try:
        words = {"claim": parsed.claim, "rule": parsed.rule, "looks": parsed.looks, "margin": parsed.margin}
        declared = declaration_of({**words, "alpha": parsed.alpha, "target_lift": parsed.lift}, parsed.n)
        if declared.looks and declared.looks[-1] != parsed.n:
            raise _wrong(f"the last of --looks must be --n {parsed.n}, got {declared.looks[-1]}")
        require_possible(declared, parsed.base)
        found = outlook(
            declared,
            base=parsed.base,
            games=parsed.n,
            configs=parsed.configs,
            correlation=parsed.paired_correlation,
        )
    except ValueError as problem:
        raise _wrong(str(problem)) from None
    _require_findable(found)
    if parsed.json:
        seconds = None if parsed.ticks is None else parsed.ticks / TICKS_PER_SECOND
        print(json.dumps({**found.to_json(), "wall_clock_seconds": seconds}, indent=2, sort_keys=True))
        return 0
    margin = f" within {declared.margin:.2f}" if declared.margin is not None else ""
    print(f"claim      {declared.claim}{margin}, by the {declared.rule} rule at alpha {declared.alpha:g}")
    for line in (*power_lines(found), *verdict_lines(found)):
        print(line)
    if parsed.ticks is not None:
        print(play_line(parsed.ticks))
    return 0


def _require_poolable(parsed: argparse.Namespace) -> None:
    """A plan is made only for what a pool can declare."""
    if parsed.configs == 1:
        return
    problems = {
        f"--rule {parsed.rule}": parsed.rule != Rule.SCORE,
        "--paired-correlation": parsed.paired_correlation is not None,
        f"--claim {parsed.claim}": parsed.claim == Claim.SEPARATED,
    }
    for option, refused in problems.items():
        if refused:
            raise _wrong(
                f"{option} does not go with --configs {parsed.configs}: a pool is judged by the "
                "Cochran-Mantel-Haenszel test: only the score rule, independent arms, and no claim separated"
            )


def _require_findable(found: Outlook) -> None:
    from pytest_evalharness.verdict.sequential_plan import TOO_MANY

    declared = found.declaration
    if found.needed.games is not None or not declared.rule.decides:
        return
    if declared.claim.needs_margin:
        effect = f"a margin of {declared.margin:g} is too small to be shown"
    else:
        effect = f"a {found.effect} of {declared.target_lift:g} is too small to be found"
    raise _wrong(f"{effect}: it would take more than {TOO_MANY:,} games an arm")


def _wrong(what: str) -> UsageError:
    return UsageError(what, not_done="nothing was computed", next_step="evalharness power --help")
