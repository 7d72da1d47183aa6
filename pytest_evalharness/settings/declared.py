"""Every setting: its key, how it is read, its default and its help. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_evalharness.base import values
from pytest_evalharness.settings.clbench import CLBENCH
from pytest_evalharness.settings.setting import Kind, Setting

EMBEDDED = "embedded"
NO_LEAGUE = "no league"
"""In place of a server, in the report of a run that plays on none."""
PAGE_LEAGUE = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
"""The league that the runbook names; `--eval-league` chooses another."""
LARGEST_REQUEST = 100
"""The service plays at most this many episodes a request."""
DIALECTS = ("current", "2026-06")
"""The generations of the league's API that the embedded league can speak."""
PARALLEL = "parallel"
"""A total budget in which an arm's games are taken to be played at one time."""


def _server(raw: str) -> str:
    text = values.text(raw)
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise ValueError(
            "must not hold a login: the token is read from the environment or the credential file"
        )
    if text != EMBEDDED:
        _check_address(text)
    return text


def _check_address(text: str) -> None:
    """An address that a token may be sent to. It is quoted in reports, so it must not hold anything secret."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be `embedded` or a URL such as https://HOST/api")
    if "?" in text or "#" in text:
        raise ValueError("must not have a query or a fragment: a token belongs into the credential file")


_seconds = values.real(0.0, 1e9, what="a positive number of seconds")


def _total_budget(raw: str) -> float | str:
    """Seconds, or the word for the formula without the number of episodes."""
    if raw.strip() == PARALLEL:
        return PARALLEL
    try:
        return _seconds(raw)
    except ValueError as problem:
        raise ValueError(f"{problem}, or `{PARALLEL}`") from None


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "candidate", values.text, None, "the edited policy, NAME:vN", metavar="NAME:vN", flag="--candidate"
    ),
    Setting(
        "baseline",
        values.text,
        None,
        "the policy before the edit, NAME:vN",
        metavar="NAME:vN",
        flag="--baseline",
    ),
    Setting(
        "server",
        _server,
        None,
        "`embedded`, or the root URL of a league's API (…/api)",
        metavar="embedded|URL",
    ),
    Setting(
        "evidence",
        values.text,
        None,
        "the logged calls on which decision engines are judged: a set's id, a file, vol:PATH or sim:WORLD",
        metavar="SET",
    ),
    Setting(
        "synthetic",
        values.yes,
        default=False,
        help="judge decision engines on made-up calls too: simulated episodes, generated logs",
        kind=Kind.SWITCH,
    ),
    Setting("home", values.text, ".evalharness", "the folder of the ledger and of every run", metavar="DIR"),
    Setting(
        "num",
        values.whole(1, LARGEST_REQUEST),
        None,
        "episodes an arm, over the mark's (1 to 100; 30 by default)",
        metavar="N",
    ),
    Setting(
        "ticks",
        values.whole(1),
        None,
        "the games' tick limit, over the mark's (10000 by default)",
        metavar="N",
    ),
    Setting("league", values.text, PAGE_LEAGUE, "the league whose live players are the field", metavar="ID"),
    Setting(
        "division",
        values.text,
        None,
        "the division; by default the league's first competition division",
        metavar="ID",
    ),
    Setting(
        "opponent",
        values.text,
        (),
        "an opponent for the next open seat: a live player's name or version id; repeatable",
        kind=Kind.REPEATED,
        metavar="WHO",
    ),
    Setting(
        "top_n",
        values.whole(1, 100),
        7,
        "how many of the best live players fill the other seats",
        metavar="N",
    ),
    Setting(
        "backend",
        values.choice("k8s", "antfarm"),
        "k8s",
        "where the service runs the games",
        metavar="k8s|antfarm",
    ),
    Setting("notes", values.text, "pytest-evalharness", "a label that the requests carry", metavar="TEXT"),
    Setting("layout_seed", values.whole(0), 679961, "draws which seats are the imposters'", metavar="N"),
    Setting(
        "role",
        values.choice("crew", "imposter", "natural"),
        None,
        "the tested seat's role where the mark names none; `natural` leaves all roles to the game",
        metavar="crew|imposter|natural",
        belongs_to_case=True,
    ),
    Setting(
        "seats",
        values.whole(1, 64),
        None,
        "how many seats the league's game has, where its manifest leaves it open",
        metavar="N",
    ),
    Setting(
        "teams",
        values.text,
        None,
        "which seats are a side, where nothing else tells it: parity, blocks, either with a number of sides (blocks/4), or none",
        metavar="LAYOUT",
    ),
    Setting(
        "win",
        values.text,
        None,
        "when a game is won, where the mark says nothing: win (the results' list), highest, 'score > X' or module:function",
        metavar="WIN",
        belongs_to_case=True,
    ),
    Setting(
        "claim",
        values.choice("better", "not_worse", "noninferior", "equivalent", "separated"),
        None,
        "the claim where the mark makes none",
        metavar="CLAIM",
        belongs_to_case=True,
    ),
    Setting(
        "rule",
        values.choice("score", "overlap", "newcombe", "exact", "group_sequential", "always_valid", "bayes"),
        None,
        "the deciding rule where the mark names none; `bayes` reports and never decides",
        metavar="RULE",
        belongs_to_case=True,
    ),
    Setting(
        "margin",
        values.real(0.0, 1.0, what="between 0 and 1"),
        None,
        "the margin where the mark declares none",
        metavar="M",
        belongs_to_case=True,
    ),
    Setting(
        "target_lift",
        values.real(0.0, 1.0, what="between 0 and 1"),
        0.10,
        "the lift that plans are made for, where the mark names none",
        metavar="LIFT",
        belongs_to_case=True,
    ),
    Setting(
        "min_fire_rate",
        values.share,
        None,
        "how often the tested policy's adviser must have decided in each arm, where the mark names none: 0.9 for 90 %",
        metavar="RATE",
        belongs_to_case=True,
    ),
    Setting(
        "dry_run",
        values.yes,
        default=False,
        help="print seats, roster, episodes and power; post nothing, run nothing",
        kind=Kind.SWITCH,
    ),
    Setting(
        "fresh",
        values.yes,
        default=False,
        help="start another attempt beside a finished one: a second look, and shown as such",
        kind=Kind.SWITCH,
    ),
    Setting(
        "aa",
        values.yes,
        default=False,
        help="A/A run: skip the check for different builds; no difference passes, BETTER or WORSE is an alarm",
        kind=Kind.SWITCH,
    ),
    Setting(
        "candidate_image",
        values.text,
        None,
        "the local image that --candidate was uploaded from: inspected to prove that the builds differ",
        metavar="IMAGE",
    ),
    Setting(
        "baseline_image",
        values.text,
        None,
        "the local image that --baseline was uploaded from",
        metavar="IMAGE",
    ),
    Setting(
        "unproven_builds",
        values.choice("refuse", "allow"),
        "refuse",
        "what to do where nothing proves that the builds differ: `refuse`, or `allow` and say so in every headline",
        metavar="refuse|allow",
    ),
    Setting(
        "multiplicity",
        values.choice("holm", "none"),
        "holm",
        "how p-values are adjusted for the cases that are tested together: `holm`, or `none` at all",
        metavar="holm|none",
    ),
    Setting(
        "inconclusive",
        values.choice("exit", "fail", "pass"),
        "exit",
        "what a case that cannot tell does to the exit code: `exit` 10, `fail` 1, `pass` 0",
        metavar="exit|fail|pass",
    ),
    Setting(
        "junit_properties",
        values.choice("all", "suite", "none"),
        "all",
        "our properties in the JUnit file: `all`, those of the suite (strict schemas allow no others), or `none`",
        metavar="all|suite|none",
    ),
    Setting(
        "total_budget",
        _total_budget,
        None,
        "seconds an arm may take once it runs; by default num*ticks/24*3 + 900, `parallel` drops the factor num",
        metavar="S|parallel",
    ),
    Setting(
        "stall_grace",
        _seconds,
        None,
        "seconds without a finished episode after the first one runs; by default ticks/24*3 + 600",
        metavar="S",
    ),
    Setting("queue_budget", _seconds, 7200.0, "seconds an arm may wait in the queue", metavar="S"),
    Setting(
        "queue_exceeded",
        values.choice("keep", "cancel"),
        None,
        "what becomes of a request that still waits then: `keep` it for the next run, or `cancel` it; by default it is kept, "
        "and cancelled where a budget in credits is set",
        metavar="keep|cancel",
    ),
    Setting(
        "budget",
        values.real(0.0, 1e12, what="a positive number of credits"),
        None,
        "credits the run may cost, all its workers together; refuses what would cost more, and cancels what does",
        metavar="CREDITS",
    ),
    Setting("arena_seed", values.whole(0), 2026, "the embedded league's seed", metavar="N"),
    Setting(
        "arena_pace",
        values.real(0.0, 1e6, what="a positive speed"),
        None,
        "let the embedded league's games take their time: 1 is 24 ticks a second",
        metavar="X",
    ),
    Setting(
        "arena_dialect",
        values.choice(*DIALECTS),
        DIALECTS[0],
        "which generation of the league's API the embedded one speaks",
        metavar="|".join(DIALECTS),
    ),
    Setting(
        "arena_fault",
        values.text,
        (),
        "a fault that the embedded league shows; repeatable, for tests",
        kind=Kind.REPEATED,
        metavar="FAULT",
    ),
    *CLBENCH,
)

BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in SETTINGS}
