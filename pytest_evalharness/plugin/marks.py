"""The marks: what they accept, and how a marked case becomes a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import BY_KEY, Settings

if TYPE_CHECKING:
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.verdict.claim import Declaration

LEAGUE_AB = "league_ab"
LEAGUE_POOL = "league_pool"
CONFIGS = "configs"
UMBRELLA = "eval"
_KEYWORDS = (
    "role", "episodes", "ticks", "claim", "rule", "margin", "alpha", "target_lift",
    "pairing", "looks", "spending", "metric", "secondary", "missing", "min_fire_rate",
    "candidate_seats", "baseline_seats", "league", "division", "opponents", "top_n", "backend", "config",
)  # fmt: skip
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    LEAGUE_AB: _KEYWORDS,
    LEAGUE_POOL: (CONFIGS, "effects", *_KEYWORDS),
}
"""Mark → its keywords. A case has one of these marks."""
DECLARED_BY_CASE = ("alpha", "pairing", "looks", "spending", "metric", "secondary", "missing", "effects")
"""Keywords of the declaration that no option fills."""
_COMMAND_LINE_WINS = {
    "episodes": "num", "ticks": "ticks", "league": "league", "division": "division",
    "opponents": "opponent", "top_n": "top_n", "backend": "backend",
}  # fmt: skip
"""Mark keyword → setting, where the command line overrides the mark. Each override is printed."""
MARK_HELP = (
    f"{LEAGUE_AB}(role='crew', episodes=30, claim='better', …): a candidate-against-baseline comparison",
    f"{LEAGUE_POOL}(configs=[{{'role': 'crew'}}, {{'role': 'imposter'}}], …): several comparisons, judged as one",
    f"{UMBRELLA}: every evaluation case has it, so `-m eval` selects them",
)


def mark_of(item: pytest.Item) -> pytest.Mark | None:
    """The nearest league mark of an item, if it has one."""
    return next((mark for mark in item.iter_markers() if mark.name in KEYWORDS), None)


def require_one_kind(item: pytest.Item) -> None:
    """Check that a case makes one claim.

    Raises:
        UsageError: it has marks of several kinds.
    """
    kinds = sorted({mark.name for mark in item.iter_markers()} & set(KEYWORDS))
    if len(kinds) > 1:
        raise wrong(item.nodeid, f"a case makes one claim, and this one is marked {' and '.join(kinds)}")


def validate(mark: pytest.Mark, nodeid: str) -> None:
    """Check a mark's own words, with suggestions for typos.

    Raises:
        UsageError: a positional argument, or a keyword that does not exist.
    """
    known = KEYWORDS[mark.name]
    if mark.args:
        raise wrong(nodeid, f"{mark.name} takes keywords only, not {mark.args[0]!r}")
    for keyword in mark.kwargs:
        if keyword not in known:
            raise wrong(nodeid, f"{mark.name} has no keyword {keyword!r}{suggestion(keyword, known)}")


def suggestion(word: str, known: Sequence[str]) -> str:
    """What was probably meant, or everything that may be said."""
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; it knows {', '.join(known)}"


def plan_of(
    nodeid: str, words: Mapping[str, Any], settings: Settings, server: str
) -> tuple[ComparisonPlan, list[str]]:
    """The plan of a case, and a line for each word of the mark that the command line overrode.

    Args:
        nodeid: the case, for messages.
        words: the mark's keywords.
        settings: the run's settings.
        server: the server's identity (`embedded:2026`, or its URL).

    Raises:
        UsageError: a value is wrong, or a name is missing.
    """
    from pytest_evalharness.league.plan import DEFAULT_EPISODES, DEFAULT_TICKS, ComparisonPlan, names

    overridden: list[str] = []
    get = _reader(nodeid, words, settings, overridden)
    try:
        seed = int(settings["layout_seed"])
        episodes = DEFAULT_EPISODES if get("episodes") is None else get("episodes")
        seat, candidate, baseline = _seats(nodeid, words, settings, seed, get("role"))
        plan = ComparisonPlan(
            server=server,
            league=str(get("league")),
            division=get("division"),
            backend=BY_KEY["backend"].parse(str(get("backend"))),
            layout_seed=seed,
            tested_seat=seat,
            candidate=candidate,
            baseline=baseline,
            opponents=names("opponents", get("opponents") or ()),
            top_n=get("top_n"),
            episodes=episodes,
            ticks=DEFAULT_TICKS if get("ticks") is None else get("ticks"),
            declaration=_declaration(words, get, episodes),
            config=_mapping("config", words),
            aa=settings["aa"],
        )
    except (ValueError, TypeError) as problem:
        raise wrong(nodeid, str(problem)) from None
    except UsageError as problem:
        if problem.what.startswith(nodeid):
            raise
        raise wrong(nodeid, problem.what, next_step=problem.next_step) from None
    return plan, overridden


def declaration_of(nodeid: str, words: Mapping[str, Any], settings: Settings) -> Declaration:
    """What a case declares, whoever is to play; arguments as for `plan_of`.

    Raises:
        UsageError: a value is wrong.
    """
    from pytest_evalharness.league.plan import DEFAULT_EPISODES

    get = _reader(nodeid, words, settings, [])
    try:
        return _declaration(words, get, DEFAULT_EPISODES if get("episodes") is None else get("episodes"))
    except (ValueError, TypeError) as problem:
        raise wrong(nodeid, str(problem)) from None


def _reader(
    nodeid: str, words: Mapping[str, Any], settings: Settings, overridden: list[str]
) -> Callable[[str], Any]:
    said = {keyword: value for keyword, value in words.items() if value is not None}  # None is "left out"

    def get(keyword: str) -> Any:
        key = _COMMAND_LINE_WINS.get(keyword, keyword)
        if keyword not in said:
            return settings[key]
        if BY_KEY[key].belongs_to_case or not settings.commanded(key):
            return said[keyword]
        ours, theirs = settings[key], said[keyword]
        if ours != (tuple(theirs) if isinstance(theirs, list) else theirs):
            line = f"{BY_KEY[key].option} {_shown(ours)} overrides {keyword}={_shown(theirs)} of {nodeid}"
            if line not in overridden:
                overridden.append(line)
        return ours

    return get


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _mapping(keyword: str, words: Mapping[str, Any]) -> dict[Any, Any]:
    value = words.get(keyword)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{keyword} is a mapping, not {value!r}")
    return dict(value)


def _seats(
    nodeid: str, words: Mapping[str, Any], settings: Settings, seed: int, role: str | None
) -> tuple[int, dict[int, str], dict[int, str]]:
    from pytest_evalharness.league.seats import Role, layout

    swaps = {side: _mapping(f"{side}_seats", words) for side in ("candidate", "baseline")}
    seats = {seat for swap in swaps.values() for seat in swap}
    strange = [seat for seat in seats if not isinstance(seat, int) or isinstance(seat, bool)]
    if strange:
        raise TypeError(f"seats are whole numbers, not {strange[0]!r}")
    named = sorted(seats)
    if len(named) > 1:
        raise ValueError(
            f"candidate_seats and baseline_seats name seats {named}; a mark tests one seat, "
            "the arm and compare fixtures express other layouts"
        )
    roles = layout(seed).roles
    if named and not 0 <= named[0] < len(roles):
        raise ValueError(f"seat {named[0]} does not exist; seats are 0 to {len(roles) - 1}")
    seat = named[0] if named else roles.index(Role(role or "crew"))
    if named and role and roles[seat] != role:
        raise ValueError(f"seat {seat} is a {roles[seat]} seat in layout {seed}, the mark says role={role!r}")
    arms = {}
    for side, swap in swaps.items():
        name = swap.get(seat) or settings[side]
        if not name:
            raise wrong(
                nodeid, f"no {side} policy was named", next_step=f"add --{side}=NAME:vN to the command"
            )
        arms[side] = {seat: str(name)}
    return seat, arms["candidate"], arms["baseline"]


def _declaration(words: Mapping[str, Any], get: Callable[[str], Any], episodes: Any) -> Declaration:
    from pytest_evalharness.league.plan import declared

    said = {key: get(key) for key in ("claim", "rule", "margin", "target_lift", "min_fire_rate")}
    said |= {key: words.get(key) for key in DECLARED_BY_CASE}
    return declared(said, episodes)


def wrong(nodeid: str, what: str, *, next_step: str = "") -> UsageError:
    """A usage error of a mark."""
    return UsageError(
        f"{nodeid}: {what}",
        not_done="nothing was submitted and no case ran",
        next_step=next_step or "correct the mark and run the same command again (docs/reference/marks.md)",
    )
