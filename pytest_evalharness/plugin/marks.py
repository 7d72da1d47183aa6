"""The marks: what they accept, and how a marked case becomes a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import BY_KEY, Settings

if TYPE_CHECKING:
    from pytest_evalharness.league.game import Game
    from pytest_evalharness.league.games import GameOf
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.verdict.claim import Declaration

LEAGUE_AB = "league_ab"
LEAGUE_POOL = "league_pool"
ENGINE_BENCHMARK = "engine_benchmark"
CLBENCH = "clbench"
CLBENCH_AB = "clbench_ab"
CONFIGS = "configs"
UMBRELLA = "eval"
_KEYWORDS = (
    "role", "episodes", "ticks", "claim", "rule", "margin", "alpha", "target_lift",
    "pairing", "looks", "spending", "metric", "secondary", "missing", "min_fire_rate",
    "candidate_seats", "baseline_seats", "league", "division", "opponents", "top_n", "backend", "config",
    "win", "seats", "teams", "side",
)  # fmt: skip
_OF_ENGINES = ("evidence", "engines", "file", "own", "tables", "params", "bootstrap", "seed", "margin")
_OF_A_RUN = (
    "plan", "run", "checkout", "system", "name", "tasks", "rollouts", "losses", "params", "reference", "scale", "runroots",
)  # fmt: skip
_OF_TWO_RUNS = (
    "candidate", "baseline", "claim", "margin", "alpha", "target_lift", "tasks", "reference", "scale",
)  # fmt: skip
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    LEAGUE_AB: _KEYWORDS,
    LEAGUE_POOL: (CONFIGS, "effects", *_KEYWORDS),
    ENGINE_BENCHMARK: _OF_ENGINES,
    CLBENCH: _OF_A_RUN,
    CLBENCH_AB: _OF_TWO_RUNS,
}
"""Mark → its keywords. A case has one of these marks."""
DECLARED_BY_CASE = ("alpha", "pairing", "looks", "spending", "metric", "secondary", "missing", "effects")
"""Keywords of the declaration that no option fills."""
_COMMAND_LINE_WINS = {
    "episodes": "num", "ticks": "ticks", "league": "league", "division": "division",
    "opponents": "opponent", "top_n": "top_n", "backend": "backend", "seats": "seats", "teams": "teams",
}  # fmt: skip
"""Mark keyword → setting, where the command line overrides the mark. Each override is printed."""
MARK_HELP = (
    f"{LEAGUE_AB}(role='crew', episodes=30, claim='better', …): a candidate-against-baseline comparison",
    f"{LEAGUE_POOL}(configs=[{{'role': 'crew'}}, {{'role': 'imposter'}}], …): several comparisons, judged as one",
    f"{ENGINE_BENCHMARK}(evidence='calls.json', engines='all', …): decision engines, judged on logged calls",
    f"{CLBENCH}(plan='smoke', …): a run of continual-learning-bench that is made; run='DIR' reads one that is there",
    f"{CLBENCH_AB}(candidate='DIR', baseline='DIR', claim='better', …): two such runs, compared on the same instances",
    f"{UMBRELLA}: every evaluation case has it, so `-m eval` selects them",
)


def mark_of(item: pytest.Item) -> pytest.Mark | None:
    """The nearest mark that makes an item an eval case, if it has one."""
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
    nodeid: str,
    words: Mapping[str, Any],
    settings: Settings,
    server: str,
    game_of: GameOf | None = None,
) -> tuple[ComparisonPlan, list[str]]:
    """The plan of a case, and a line for each word of the mark that the command line overrode, or setting without effect.

    Args:
        nodeid: the case, for messages.
        words: the mark's keywords.
        settings: the run's settings.
        server: the server's identity (`embedded:2026`, or its URL).
        game_of: tells the game of a league; every league plays Crewrift if left out.

    Raises:
        UsageError: a value is wrong, or a name is missing.
        EvalHarnessError: the server does not tell which game it is.
    """
    from pytest_evalharness.league.game import Roles
    from pytest_evalharness.league.games import as_asked, crewrift, role_in
    from pytest_evalharness.league.plan import DEFAULT_EPISODES, DEFAULT_TICKS, ComparisonPlan, names

    overridden: list[str] = []
    get = _reader(nodeid, words, settings, overridden)
    try:
        seed = int(settings["layout_seed"])
        episodes = DEFAULT_EPISODES if get("episodes") is None else get("episodes")
        config, ticks, league = _mapping("config", words), get("ticks"), str(get("league"))
        game = (game_of or crewrift)(league, seats=get("seats"), teams=get("teams"), config=config)
        asked = {"ticks": ticks, "case_ticks": words.get("ticks"), "win": get("win")}
        game, top_n, win = as_asked(game, asked, settings, overridden.append)
        forced = game.roles is Roles.FORCED
        role = (
            _chosen("role", get("role"))
            if forced
            else role_in(game, words.get("role"), settings, overridden.append)
        )
        tested = _tested(words, seed, role, game)
        candidate, baseline = _arms(nodeid, words, settings, game.with_seat(tested.seat))
        plan = ComparisonPlan(
            server=server,
            league=league,
            division=get("division"),
            backend=_chosen("backend", get("backend")),
            layout_seed=seed,
            tested_seat=tested.seat,
            candidate=candidate,
            baseline=baseline,
            opponents=names("opponents", get("opponents") or ()),
            top_n=top_n if words.get("top_n") is None else get("top_n"),
            episodes=episodes,
            ticks=DEFAULT_TICKS if ticks is None else ticks,
            declaration=_declaration(words, get, episodes, win),
            config=config,
            aa=settings["aa"],
            natural_roles=tested.natural,
            game=game,
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
        episodes = DEFAULT_EPISODES if get("episodes") is None else get("episodes")
        return _declaration(words, get, episodes, get("win"))
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


def _chosen(keyword: str, value: Any) -> Any:
    """A word of those that a setting knows; None is left open.

    Raises:
        ValueError: it is none of them.
    """
    try:
        return None if value is None else BY_KEY[keyword].parse(str(value))
    except ValueError as problem:
        raise ValueError(f"{keyword} {problem}, got {value!r}") from None


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _mapping(keyword: str, words: Mapping[str, Any]) -> dict[Any, Any]:
    value = words.get(keyword)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{keyword} is a mapping, not {value!r}")
    return dict(value)


class Tested(NamedTuple):
    """What is tested: the seat, in a game of teams the first of its side, and whether the game deals its role."""

    seat: int
    natural: bool


def _tested(words: Mapping[str, Any], seed: int, role: str | None, game: Game) -> Tested:
    from pytest_evalharness.league.game import Roles
    from pytest_evalharness.league.games import side_of
    from pytest_evalharness.league.seats import NATURAL, layout

    named = _named(words, game)
    if game.roles is not Roles.FORCED:
        asked = side_of(game, role, words.get("side"))
        if named and words.get("side") is not None and named[0] != asked:
            raise ValueError(f"side {words['side']} has seat {asked}, and seat {named[0]} is named")
        return Tested(named[0] if named else asked, role == NATURAL)
    if words.get("side") is not None:
        raise ValueError(
            f"side is for games without forced roles: a seat of {game.name} is chosen by its role"
        )
    if role == NATURAL:
        return Tested(named[0] if named else 0, natural=True)
    roles = layout(seed).roles
    seat = named[0] if named else [str(one) for one in roles].index(role or "crew")
    if named and role and roles[seat] != role:
        raise ValueError(
            f"seat {seat} has the role {roles[seat]} in layout {seed}, the mark says role={role!r}"
        )
    return Tested(seat, natural=False)


def _named(words: Mapping[str, Any], game: Game) -> list[int]:
    """The seats that a mark names: one, or all of one side."""
    named = {seat for side in ("candidate", "baseline") for seat in _mapping(f"{side}_seats", words)}
    strange = [seat for seat in named if not isinstance(seat, int) or isinstance(seat, bool)]
    if strange:
        raise TypeError(f"seats are whole numbers, not {strange[0]!r}")
    seats = sorted(named)
    if seats and not all(0 <= seat < game.seats for seat in seats):
        wrong_one = next(seat for seat in seats if not 0 <= seat < game.seats)
        raise ValueError(f"seat {wrong_one} does not exist; seats are 0 to {game.seats - 1}")
    if len(seats) > 1 and not (game.teams and set(seats) <= set(game.with_seat(seats[0]))):
        raise ValueError(
            f"candidate_seats and baseline_seats name seats {seats}; a mark tests one {'side' if game.teams else 'seat'}, "
            "the arm and compare fixtures express other layouts"
        )
    return seats


def _arms(
    nodeid: str, words: Mapping[str, Any], settings: Settings, ours: tuple[int, ...]
) -> tuple[dict[int, str], dict[int, str]]:
    """Who sits in the tested seats, in each arm."""
    arms = {}
    for side in ("candidate", "baseline"):
        swap = {seat: name for seat, name in _mapping(f"{side}_seats", words).items() if name}
        if swap and (set(swap) != set(ours) or len(set(swap.values())) > 1):
            told = " and ".join(map(str, ours))
            raise ValueError(
                f"seats {told} are one side, which wins or loses as a whole: {side}_seats must put one policy into all of them"
            )
        name = next(iter(swap.values()), None) or settings[side]
        if not name:
            raise wrong(
                nodeid, f"no {side} policy was named", next_step=f"add --{side}=NAME:vN to the command"
            )
        arms[side] = dict.fromkeys(ours, str(name))
    return arms["candidate"], arms["baseline"]


def _declaration(words: Mapping[str, Any], get: Callable[[str], Any], episodes: Any, win: Any) -> Declaration:
    from pytest_evalharness.league.plan import declared

    said = {key: get(key) for key in ("claim", "rule", "margin", "target_lift", "min_fire_rate")}
    said |= {key: words.get(key) for key in DECLARED_BY_CASE}
    return declared({**said, "win": win}, episodes)


def wrong(nodeid: str, what: str, *, next_step: str = "") -> UsageError:
    """A usage error of a mark."""
    return UsageError(
        f"{nodeid}: {what}",
        not_done="nothing was submitted and no case ran",
        next_step=next_step or "correct the mark and run the same command again (docs/reference/marks.md)",
    )
