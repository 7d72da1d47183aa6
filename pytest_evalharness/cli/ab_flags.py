"""The flags of `evalharness ab`: the runbook's own names, each of them a setting. Pure."""

from __future__ import annotations

import argparse
import re
from typing import Any, NamedTuple

from pytest_evalharness.settings import BY_KEY, Kind

DEFAULTS = {"num": 30, "ticks": 10_000, "role": "crew", "claim": "better", "notes": "eval.py"}
"""What stands where neither command line nor environment nor ini file says anything: the runbook's, but for `num`."""


class Flag(NamedTuple):
    """How a setting is spelt here, and what is said of it."""

    key: str
    help: str
    name: str = ""

    @property
    def option(self) -> str:
        """The spelling."""
        return f"--{self.name or self.key.replace('_', '-')}"


GROUPS = (
    (
        "who plays",
        (
            Flag("candidate", "the edited policy: uploaded and yours, or a live member of the league (required)"),
            Flag("baseline", "the policy before the edit, from the same tree minus the edit (required)"),
            Flag("role", "the forced role of the tested seat, by which the seat is chosen (crew), or `natural`: the game deals all roles"),
            Flag("opponent", "who sits in the next open seat: a live player's name, NAME:vN or a version id; repeatable, in seat "
                 "order. The ranking fills the rest"),
            Flag("top_n", "how many of the best live players the ranking may give (7); fewer than the seats left is a usage error"),
            Flag("league", "the league whose live players are the field (Crewrift's); its manifest tells another game's seats and sides"),
            Flag("seats", "how many seats that game has, where its manifest leaves it open"),
            Flag("teams", "which seats are a side, where nothing else tells it: parity, blocks, either with a number (blocks/4), or none"),
            Flag("division", "its division (the first competition division)"),
        ),
    ),
    (
        "how much is played",
        (
            Flag("num", "episodes an arm, 1 to 100 (30: with 8, not even 8 wins against 4 separate, and more cost hardly any time)"),
            Flag("ticks", "the games' tick limit (10000); an episode takes maxticks/24 seconds at most", "maxticks"),
            Flag("backend", "where the service runs the games (k8s)"),
            Flag("notes", "a label that the requests carry (eval.py)"),
        ),
    ),
    (
        "what is claimed, before anything is posted",
        (
            Flag("claim", "better, not_worse, noninferior, equivalent, or separated: the Wilson intervals do not overlap (better)"),
            Flag("win", "when a game is won: `win` (the results' own list), `highest`, 'score > X' or package.module:function (the game's own)"),
            Flag("rule", "what decides: score, overlap, newcombe, exact, group_sequential, always_valid or bayes (score)"),
            Flag("margin", "the difference that would not matter, such as 0.2; noninferior and equivalent need one"),
            Flag("target_lift", "the true difference worth finding, for which games are planned (0.1)"),
            Flag("min_fire_rate", "how often the tested policy's adviser must have decided: 0.9 for 90 %%"),
            Flag("aa", "an A/A run: one build meets itself, to test the harness; no difference passes"),
        ),
    ),
    (
        "where and how it runs",
        (
            Flag("server", "the root URL of a league's API (https://HOST/api), or `embedded` (required)"),
            Flag("home", "the folder of the ledger and of every run (.evalharness)"),
            Flag("dry_run", "print seats, roster, episodes and what so many games can show; post nothing"),
            Flag("fresh", "another attempt beside a finished one: a second look, and shown as such"),
            Flag("inconclusive", "the exit code where the games cannot tell: `exit` 10, `fail` 1, `pass` 0 (exit)"),
            Flag("candidate_image", "the local image that the candidate was uploaded from, to prove that the builds differ"),
            Flag("baseline_image", "the local image that the baseline was uploaded from"),
            Flag("unproven_builds", "where nothing proves that the builds differ: `refuse`, or `allow` and say so (refuse)"),
            Flag("queue_budget", "seconds an arm may wait in the queue (7200)"),
            Flag("queue_exceeded", "what becomes of a request that waits longer: `keep` it for the next run, or `cancel` it (keep; cancel with --budget)"),
            Flag("budget", "credits the run may cost, all its workers together: what would cost more is refused, what does is cancelled (no budget)"),
            Flag("stall_grace", "seconds without a finished episode once one runs (maxticks/24*3 + 600)"),
            Flag("total_budget", "seconds an arm may take once it runs (num*maxticks/24*3 + 900); `parallel` drops the factor num"),
            Flag("layout_seed", "draws which seats are the imposters' (679961)"),
        ),
    ),
    (
        "the embedded league",
        (
            Flag("arena_seed", "its seed (2026)"),
            Flag("arena_pace", "1 plays 24 ticks a second; as fast as it can by default"),
            Flag("arena_dialect", "the generation of the API that it speaks (current)"),
            Flag("arena_fault", argparse.SUPPRESS),
        ),
    ),
)  # fmt: skip
METRIC = "what decides: win_rate, seat_score, or a function of yours, package.module:function, which reads a number off a game (win_rate)"
"""`--metric` is a flag of the command alone: a case says it in its mark."""
FLAGS = tuple(flag for _, flags in GROUPS for flag in flags)
_EVERY_SPELLING = re.compile(r"--eval-[a-z-]*[a-z]")
_SPELT = {BY_KEY[flag.key].option: flag.option for flag in FLAGS}


def add(group: Any, flag: Flag) -> None:
    """A setting's flag, and its spelling as an option of pytest, which messages and reports use."""
    setting = BY_KEY[flag.key]
    how: dict[str, Any] = {"dest": flag.key, "default": None}
    if setting.kind is Kind.SWITCH:
        how["action"] = "store_true"
    else:
        how |= {"metavar": setting.metavar, "action": "append" if setting.kind is Kind.REPEATED else "store"}
    group.add_argument(flag.option, help=flag.help, **how)
    if setting.option != flag.option:
        group.add_argument(setting.option, help=argparse.SUPPRESS, **how)


def metric_of(parsed: argparse.Namespace) -> str | None:
    """The metric that was named, in the words of a mark; None for the win rate."""
    named: str | None = parsed.metric
    words = {"win_rate": "win rate", "seat_score": "seat score"}
    return None if named is None else words.get(named, named)


def spelt(text: str) -> str:
    """A message with the flags as they are typed here."""
    return _EVERY_SPELLING.sub(lambda found: _SPELT.get(found.group(), found.group()), text)


def again(parsed: argparse.Namespace) -> str:
    """The command that goes on with this run. Without `--fresh`: the attempt that it began is the latest by now."""
    from pytest_evalharness.report.github import command_line

    words = ["evalharness", "ab"]
    for pair in parsed.judge_requests or ():
        words += ["--judge-requests", *pair]
    words += [] if parsed.seat is None else ["--seat", parsed.seat]
    words += [] if parsed.metric is None else ["--metric", parsed.metric]
    for flag in FLAGS:
        given = getattr(parsed, flag.key)
        if given is None or flag.key == "fresh":
            continue
        if given is True:
            words.append(flag.option)
        else:
            words += [
                word for one in (given if isinstance(given, list) else [given]) for word in (flag.option, one)
            ]
    return command_line([*words, *(["--json"] if parsed.json else [])])
