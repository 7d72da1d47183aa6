"""Which game a league plays. Crewrift's is known; that of any other league is read from its manifest, once in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.game import CREWRIFT, MAX_TICKS, Game, Roles, require_keys
from pytest_evalharness.league.manifest import Manifest
from pytest_evalharness.league.seats import NATURAL
from pytest_evalharness.settings import PAGE_LEAGUE, Origin, Settings
from pytest_evalharness.verdict import wins

if TYPE_CHECKING:
    from pytest_evalharness.observatory.client import Observatory


class GameOf(Protocol):
    """Tells the game of a league."""

    def __call__(
        self,
        league: str,
        *,
        seats: int | None = None,
        teams: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Game:
        """The game that a league plays.

        Args:
            league: its id.
            seats: how many seats there are, where the user says it.
            teams: which seats are a side, where the user says it.
            config: the settings that every game is to have; their names are checked.

        Raises:
            EvalHarnessError: the server does not tell, or what was said cannot be.
        """


class Games:
    """The games of a run's leagues. What the server says is read once.

    Args:
        connect: gives the client; it is asked for only where something must be read.
    """

    def __init__(self, connect: Callable[[], Observatory]) -> None:
        self._connect = connect
        self._told: dict[str, Manifest | None] = {}

    def of(
        self,
        league: str,
        *,
        seats: int | None = None,
        teams: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Game:
        """As of `GameOf`."""
        config = config or {}
        manifest = None if league == PAGE_LEAGUE else self._manifest(league)
        if manifest is not None:
            game = manifest.game(seats=seats, teams=teams, config=config)
            require_keys(config, game)
            return game
        game = crewrift(league, seats=seats, teams=teams)
        assert game.keys is not None
        if not set(config) <= set(game.keys):  # a later release of the game may well know it
            told = self._read(league)
            if told is None or told.keys is None:
                return game  # nobody can tell, and the service says it before it plays anything
            require_keys(config, replace(game, keys=told.keys))
        return game

    def known(
        self,
        league: str,
        *,
        seats: int | None = None,
        teams: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Game:
        """As of `GameOf`, of a league that was read already or need not be: nothing is asked.

        Raises:
            UsageError: it would have to be.
        """
        if league != PAGE_LEAGUE and league not in self._told:
            raise UsageError("nobody has asked yet which game it is", not_done="nothing was submitted")
        if self._told.get(league) is None:
            return crewrift(league, seats=seats, teams=teams)
        return self.of(league, seats=seats, teams=teams, config=config)

    def _manifest(self, league: str) -> Manifest | None:
        """What is told of the game of a league; None for Crewrift, and where nobody tells which game it is."""
        told = self._read(league)
        return None if told is None or told.name.lower() == CREWRIFT.name else told

    def _read(self, league: str) -> Manifest | None:
        if league not in self._told:
            observatory = self._connect()
            row = observatory.league(league)
            game = row.game
            if game is None or game.coworld_id is None:
                self._told[league] = None
            else:
                name = game.coworld_name or game.name or game.coworld_id
                answer = observatory.coworld(game.coworld_id)
                self._told[league] = Manifest.read(name, answer, row.settings)
        return self._told[league]


def crewrift(
    league: str,
    *,
    seats: int | None = None,
    teams: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Game:
    """The game that is known without asking; as of `GameOf`.

    Raises:
        UsageError: seats or sides were said that Crewrift does not have.
    """
    del league, config
    if seats not in (None, CREWRIFT.seats) or teams not in (None, "none"):
        said = f"seats={seats}" if seats not in (None, CREWRIFT.seats) else f"teams={teams!r}"
        raise UsageError(
            f"{said} was said, and Crewrift has {CREWRIFT.seats} seats, each for itself",
            not_done="nothing was submitted",
            next_step="leave it out, or name the league of another game with --eval-league",
        )
    return CREWRIFT


def unheard(text: str) -> None:
    """Takes what there is to notice where nobody wants to know."""


def as_asked(
    game: Game, said: Mapping[str, Any], settings: Settings, notice: Callable[[str], None] = unheard
) -> tuple[Game, int, str | None]:
    """What a plan takes from a game: with a tick limit or without, how far down the ranking, and when it is won.

    Crewrift's usual lengths and roster sizes are its own: another game plays as long as it plays unless a limit is asked for.

    Args:
        game: the game of the league.
        said: what the case and the options say: `ticks` and `win`, None where they are silent; `case_ticks` what the case alone says.
        settings: the run's settings.
        notice: told where a setting has no effect here.

    Returns:
        The game as it is asked for, `top_n`, and the definition of winning (None for Crewrift's usual one).

    Raises:
        ValueError: the case asks for a tick limit, and the game has none; or for a list of wins that its results do not have.
    """
    win = said.get("win")
    if game == CREWRIFT:
        return game, settings["top_n"], win
    if win == wins.LISTED and game.tells is not None and win not in game.tells:
        raise ValueError(
            f"the results of {printable(game.name)} have no list {win!r}, so no game of it would count "
            f"(they have {', '.join(printable(one) for one in game.tells)}): say win='highest', 'score > X' or a function"
        )
    if said.get("ticks") is None:
        game = replace(game, ticks=False)
    elif not game.ticks:
        if said.get("case_ticks") is not None:
            raise ValueError(
                f"{game.name} has no setting {MAX_TICKS}: leave ticks out, or set its own in config"
            )
        notice(
            f"{printable(game.name)} has no setting {MAX_TICKS}: the tick limit is not sent, and bounds the waiting only"
        )
    others = len(game.captains) - 1
    usual = settings.origin("top_n") is Origin.DEFAULT
    return (
        game,
        max(settings["top_n"], others) if usual else settings["top_n"],
        game.win if win is None else win,
    )


def role_in(
    game: Game, said: str | None, settings: Settings, notice: Callable[[str], None] = unheard
) -> str | None:
    """The role that is asked for in a game without forced roles.

    What stands in a file or the environment is meant for every case, and a game that has no such role plays on without it.

    Args:
        game: the game.
        said: what the case itself says, or whoever types the command; None if it is silent.
        settings: the run's settings.
        notice: told where the setting has no effect here.
    """
    if said is not None:
        return said
    role = settings["role"]
    if role is None or settings.origin("role") is Origin.DEFAULT:  # a command's usual one is Crewrift's
        return None
    if _has(game, str(role)):
        return str(role)
    notice(
        f"{printable(game.name)} has {_roles_of(game)}: {settings.place('role')} is {role}, which has no effect there"
    )
    return None


def side_of(game: Game, role: str | None, side: Any = None) -> int:
    """The first seat of the side that is tested in a game without forced roles.

    Args:
        game: the game.
        role: the role that was said; None if none was.
        side: which side, from 0; None for the first.

    Raises:
        ValueError: a role that cannot be had, or no side of this game.
    """
    if role is not None and not _has(game, role):
        raise ValueError(f"role={role!r} was said, and {game.name} has {_roles_of(game)}: leave role out")
    sides = len(game.captains)
    if side is None:
        return game.captains[0]
    if isinstance(side, bool) or not isinstance(side, int) or not 0 <= side < sides:
        raise ValueError(f"side must be a whole number from 0 to {sides - 1} in {game.name}, got {side!r}")
    return game.captains[side]


def _has(game: Game, role: str) -> bool:
    return role == NATURAL and game.roles is Roles.DEALT


def _roles_of(game: Game) -> str:
    return "no roles" if game.roles is Roles.NONE else "roles that it deals itself (role='natural')"
