"""Arms and comparisons that marks cannot express, described by hand. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league import raw_roster
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.game import CREWRIFT, Roles
from pytest_evalharness.league.games import GameOf, as_asked, crewrift, unheard
from pytest_evalharness.league.plan import DEFAULT_EPISODES, DEFAULT_TICKS, ComparisonPlan, declared, names
from pytest_evalharness.league.seats import Role, layout
from pytest_evalharness.settings import Origin, Settings
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Rule

_DECLARED = (
    "claim", "rule", "alpha", "margin", "target_lift", "pairing", "looks", "spending", "metric", "secondary",
    "missing", "min_fire_rate", "win",
)  # fmt: skip
_PLAYED = ("episodes", "ticks", "opponents", "config", "natural_roles", "teams")
_FREE = (*_DECLARED, *_PLAYED, "drawn_field")
_BODY = ("target", "roster", "num_episodes", "execution_backend", "game_config_overrides", "notes")
_IMPOSTERS = {"imposterCount": 2, "autoImposterCount": False}


@dataclass(frozen=True)
class ArmRequest:
    """An arm as a case describes it: who sits in which seat; the frozen field sits everywhere else.

    Attributes:
        seats: the seats that it pins, with their labels or version ids.
        drawn: the seats for which every game draws somebody.
        said: what a whole request body said beside its roster.
        requests: the ids of requests that somebody else created, which are the arm; empty for one that is to be posted.
    """

    seats: tuple[tuple[int, str], ...]
    drawn: tuple[tuple[int, raw_roster.Draw], ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)
    requests: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        seats: Any = None,
        *,
        request: str | Sequence[str] | None = None,
        seats_of: Callable[[str | None], int] = lambda _: CREWRIFT.seats,
    ) -> ArmRequest:
        """An arm from seat → policy label, from a roster as the service takes it, or from a whole request body.

        Args:
            seats: one of those.
            request: in their place, the id of a request that somebody else created, or the ids of several.
            seats_of: how many seats the game of a league has; None for the league that is played in where nobody says another.

        Raises:
            UsageError: no seat, something that is no seat number or no label, a body that says what cannot be kept, or both.
        """
        if request is not None:
            named = (request,) if isinstance(request, str) else tuple(request)
            if seats is not None or not named or not all(isinstance(one, str) and one for one in named):
                raise _wrong(f"an arm is its seats, or request='xreq_…' (or a list of them), not {request!r}")
            return cls((), requests=named)
        if isinstance(seats, list | tuple) and seats and all(isinstance(one, Mapping) for one in seats):
            return cls._from_roster(seats, {}, seats_of)
        if isinstance(seats, Mapping) and "roster" in seats:
            return cls._from_body(seats, seats_of)
        if (
            not isinstance(seats, Mapping)
            or not seats
            or any(isinstance(seat, bool) or not isinstance(seat, int) for seat in seats)
            or not all(isinstance(label, str) and label for label in seats.values())
        ):
            raise _wrong(f"an arm is {{seat: 'NAME:vN'}} with at least one seat, not {seats!r}")
        return cls(tuple(sorted(seats.items())))

    @classmethod
    def _from_roster(
        cls, roster: Any, said: Mapping[str, Any], seats_of: Callable[[str | None], int]
    ) -> ArmRequest:
        pinned, drawn = raw_roster.read(roster, seats_of(said.get("league")))
        return cls(tuple(sorted(pinned.items())), tuple(sorted(drawn.items())), said)

    @classmethod
    def _from_body(cls, body: Mapping[str, Any], seats_of: Callable[[str | None], int]) -> ArmRequest:
        unknown = sorted(set(map(str, body)) - set(_BODY))
        if unknown:
            raise _wrong(f"an arm's body has no {unknown[0]!r}; it knows {', '.join(_BODY)}")
        if not isinstance(body["roster"], list | tuple):
            raise _wrong(f"a roster is a list of entries, not {body['roster']!r}")
        return cls._from_roster(body["roster"], _said_by(body), seats_of)


def _said_by(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a body says beside its roster, in the words of `compare`; nulls say nothing."""
    config = dict(body.get("game_config_overrides") or {})
    target = {key: value for key, value in dict(body.get("target") or {}).items() if value is not None}
    strange = sorted(set(target) - {"league_id", "division_id"})
    if strange:
        raise _wrong(f"a target is told by league_id and division_id here, not by {strange[0]}")
    said = {
        "league": target.get("league_id"),
        "division": target.get("division_id"),
        "backend": body.get("execution_backend"),
        "episodes": body.get("num_episodes"),
        "ticks": config.pop("maxTicks", None),
        "slots": config.pop("slots", None),
    }
    for key, ours in _IMPOSTERS.items():
        theirs = config.pop(key, ours)
        if theirs != ours:
            raise _wrong(f"the body sets {key} to {theirs!r}: the layout sets it, always to {ours!r}")
    return {key: value for key, value in {**said, "config": config or None}.items() if value is not None}


def comparison_plan(
    candidate: ArmRequest | Mapping[int, str],
    baseline: ArmRequest | Mapping[int, str],
    *,
    seat: int | None,
    words: Mapping[str, Any],
    settings: Settings,
    server: str,
    game_of: GameOf = crewrift,
    notice: Callable[[str], None] = unheard,
) -> ComparisonPlan:
    """The plan of two described arms.

    Args:
        candidate: the edited arm, described by `arm` or as the plain value that `arm` takes.
        baseline: the arm it is compared with.
        seat: the seat whose wins are compared, in a game of teams the first of its side; its role is the layout's.
        words: what else was said, each optional: what a declaration has, episodes, ticks, opponents, config, natural_roles,
            teams, drawn_field.
        settings: the run's settings.
        server: the server's identity.
        game_of: tells the game of a league.
        notice: told where a setting has no effect in this game.

    Raises:
        UsageError: a word that does not exist, a value that is wrong, or drawn seats without `drawn_field`.
        EvalHarnessError: the server does not tell which game it is.
    """
    _known(words, _FREE, "compare")
    if seat is None:
        raise _wrong("compare needs seat=N: the seat whose wins are compared")
    seats_of = seats_in(settings, game_of)
    arms = [
        one if isinstance(one, ArmRequest) else ArmRequest.of(one, seats_of=seats_of)
        for one in (candidate, baseline)
    ]
    if arms[0].said != arms[1].said and arms[0].said and arms[1].said:
        raise _wrong("the bodies of the two arms ask for different things beside their rosters")
    drawn = {f"{draw!r}" for one in arms for _, draw in one.drawn}
    if drawn and words.get("drawn_field") is not True:
        raise UsageError(
            f"{', '.join(sorted(drawn))}: every game draws other opponents, so the two arms would face different fields",
            not_done="nothing was submitted",
            next_step="name the opponents, or leave the seats to the frozen field; drawn_field=True accepts an unpaired "
            "comparison whose opponents differ",
        )
    said = {key: settings[key] for key in ("min_fire_rate", "win")} | {
        key: words[key] for key in _DECLARED if key in words
    }
    every = {**arms[0].said, **arms[1].said, **words, "seat": seat}
    return _plan(arms, every, said, settings, server, game_of=game_of, notice=notice)


def seats_in(settings: Settings, game_of: GameOf) -> Callable[[str | None], int]:
    """How many seats the game of a league has, as of `ArmRequest.of`."""
    return lambda league: game_of(league or settings["league"], seats=settings["seats"]).seats


def adopted_of(candidate: Any, baseline: Any) -> dict[str, tuple[str, ...]] | None:
    """The ids of the requests that two arms are, by side; None for arms that are to be posted.

    Raises:
        UsageError: one arm is a request of somebody else, and the other is to be posted.
    """
    found = [one.requests if isinstance(one, ArmRequest) else () for one in (candidate, baseline)]
    if not any(found):
        return None
    if not all(found):
        raise _wrong(
            "one arm is a request that exists, and the other would be posted: they were not played at one time"
        )
    return dict(zip(SIDES, found, strict=True))


def adopted_claim(words: Mapping[str, Any], settings: Settings) -> Declaration:
    """What is claimed of two requests that somebody else created.

    Args:
        words: what a case says: what a declaration has.
        settings: the run's settings.

    Raises:
        UsageError: a word that does not exist or means nothing here, or a value that is wrong.
    """
    _known(words, _DECLARED, "compare of requests that exist")
    if words.get("rule") == Rule.GROUP_SEQUENTIAL or words.get("looks") or words.get("pairing"):
        raise _wrong(
            "looks and pairs are planned before games are played, and these requests exist: judge them under another rule"
        )
    try:
        return declared({key: settings[key] for key in ("min_fire_rate", "win")} | dict(words), None)
    except (ValueError, TypeError) as problem:
        raise _wrong(str(problem)) from None


def arm_plan(
    arm: ArmRequest | Mapping[int, str],
    *,
    seat: int,
    words: Mapping[str, Any],
    settings: Settings,
    server: str,
    game_of: GameOf = crewrift,
    notice: Callable[[str], None] = unheard,
) -> ComparisonPlan:
    """The setting of one described arm that is compared with nothing: a plan whose two sides are this arm.

    Args:
        arm: described by `arm`, or as the plain value that `arm` takes.
        seat: the seat whose results are read.
        words: what else was said, each optional: episodes, ticks, opponents, config, natural_roles, teams, win.
        settings: the run's settings.
        server: the server's identity.
        game_of: tells the game of a league.
        notice: told where a setting has no effect in this game.

    Raises:
        UsageError: a word that does not exist, or a value that is wrong.
    """
    _known(words, (*_PLAYED, "win"), "single_arm")
    seats_of = seats_in(settings, game_of)
    one = arm if isinstance(arm, ArmRequest) else ArmRequest.of(arm, seats_of=seats_of)
    if one.requests:
        raise _wrong(
            "single_arm posts its arm; a request that exists is read by evalharness, or judged by compare"
        )
    said = {"win": _or(settings["win"], words.get("win"))}
    return _plan(
        [one, one],
        {**one.said, **words, "seat": seat},
        said,
        settings,
        server,
        game_of=game_of,
        notice=notice,
    )


def _known(words: Mapping[str, Any], known: tuple[str, ...], fixture: str) -> None:
    unknown = sorted(set(words) - set(known))
    if unknown:
        raise _wrong(f"{fixture} has no {unknown[0]!r}; it knows {', '.join(known)}")


def _plan(
    arms: list[ArmRequest],
    words: Mapping[str, Any],
    said: Mapping[str, Any],
    settings: Settings,
    server: str,
    *,
    game_of: GameOf,
    notice: Callable[[str], None],
) -> ComparisonPlan:
    episodes = _or(DEFAULT_EPISODES, _said("episodes", "num", words, settings))
    natural = words.get("natural_roles") is True
    league, config = _said("league", "league", words, settings), _or({}, words.get("config"))
    try:
        game = game_of(
            league,
            seats=settings["seats"],
            teams=_said("teams", "teams", words, settings),
            config=config if isinstance(config, Mapping) else {},
        )
        if game.roles is Roles.FORCED:
            _check_slots(words.get("slots"), settings["layout_seed"], natural=natural)
        elif words.get("slots") is not None:
            raise _wrong(f"the body forces roles in slots, and {game.name} has none to force")
        ticks = _said("ticks", "ticks", words, settings)
        # What a command has for its default is Crewrift's length, and nobody's wish for another game.
        usual = words.get("ticks") is None and settings.origin("ticks") is Origin.DEFAULT
        asked = {"ticks": None if usual else ticks, "case_ticks": words.get("ticks"), "win": said.get("win")}
        game, top_n, win = as_asked(game, asked, settings, notice)
        return ComparisonPlan(
            server=server,
            league=league,
            division=_said("division", "division", words, settings),
            backend=_said("backend", "backend", words, settings),
            layout_seed=settings["layout_seed"],
            tested_seat=words["seat"],
            candidate=dict(arms[0].seats),
            baseline=dict(arms[1].seats),
            opponents=names("opponents", _said("opponents", "opponent", words, settings) or ()),
            top_n=top_n,
            episodes=episodes,
            ticks=_or(DEFAULT_TICKS, ticks),
            declaration=declared({**said, "win": win}, episodes),
            config=config,
            aa=settings["aa"],
            candidate_drawn=dict(arms[0].drawn),
            baseline_drawn=dict(arms[1].drawn),
            natural_roles=natural,
            game=game,
        )
    except (ValueError, TypeError) as problem:
        raise _wrong(str(problem)) from None


def _check_slots(slots: Any, seed: int, *, natural: bool) -> None:
    """A body's forced roles are the layout's, which sends all of them: a list that forces some seats is completed."""
    if slots is None:
        return
    if natural:
        raise _wrong("the body forces roles in slots, and natural_roles=True leaves them to the game")
    roles = layout(seed).roles
    if not isinstance(slots, list | tuple) or len(slots) > len(roles):
        raise _wrong(f"slots is a list of at most {len(roles)} entries, not {slots!r}")
    for seat, (slot, role) in enumerate(zip(slots, roles, strict=False)):
        if not isinstance(slot, Mapping) or set(slot) - {"role"}:
            raise _wrong(f"an entry of slots is {{'role': …}} here, not {slot!r}")
        if slot.get("role", role) != role:
            asked = [one.value for one in Role if one == slot["role"]] or [repr(slot["role"])]
            raise UsageError(
                f"slots force seat {seat} to be {asked[0]}; in layout {seed} it is {role}",
                not_done="nothing was submitted",
                next_step="--eval-layout-seed draws another layout, or test a seat that has the role",
            )


def _said(word: str, key: str, words: Mapping[str, Any], settings: Settings) -> Any:
    """The command line wins, then the case, then the environment and ini: as for marks."""
    return settings[key] if settings.commanded(key) or words.get(word) is None else words[word]


def _or(default: Any, value: Any) -> Any:
    return default if value is None else value


def _wrong(what: str) -> UsageError:
    return UsageError(
        what, not_done="nothing was submitted", next_step="correct the case and run the same command again"
    )
