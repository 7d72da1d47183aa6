"""What a case asks for, as data: written down before anything is resolved or posted. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.episodes import metrics
from pytest_evalharness.episodes.wins import Reading
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.adopted import Adopted
from pytest_evalharness.league.game import CREWRIFT, MAX_TICKS, SEED, Game, Roles
from pytest_evalharness.league.raw_roster import Draw
from pytest_evalharness.league.seats import NATURAL, Layout, Role, layout
from pytest_evalharness.settings import LARGEST_REQUEST, PARALLEL
from pytest_evalharness.verdict import wins
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.words import Claim, Rule

DEFAULT_EPISODES = 30
DEFAULT_TICKS = 10_000
TICKS_PER_SECOND = 24

_SET_ELSEWHERE = {
    "maxTicks": "ticks=… or --eval-ticks sets it",
    "imposterCount": "the layout sets it: always two imposters",
    "autoImposterCount": "the layout sets it: always two imposters",
    "slots": "the layout sets them: --eval-layout-seed draws the roles",
    "tokens": "the service sets them for every episode",
    "players": "the arms set them: candidate, baseline and opponents, or --eval-opponent",
}
"""Game-config key → who sets it."""
_SET_BY_THE_LAYOUT = frozenset({"imposterCount", "autoImposterCount", "slots"})
"""Those of them that only a game with forced roles has."""

Pins = Mapping[int, str]
"""Seat → policy label, for the seats that an arm fills itself rather than from the field."""


@dataclass(frozen=True)
class ComparisonPlan:
    """One comparison: two arms that differ in their pinned seats, and the claim about the tested seat.

    In a game of teams that is the claim about the tested seat's side: the tested policy has all its seats, and a game is one win
    or none, however many they are.

    With `aa` the arms are one build by design: nothing but the check for that is left out, and the run must tell no
    difference.

    With `adopted` the arms are requests that somebody else created: what is asked of the games was read off them.

    Seats in `candidate_drawn` and `baseline_drawn` are filled by a draw in every game, so the arms face different fields. With
    `natural_roles` no role is forced: every game deals them.
    """

    server: str
    league: str
    division: str | None
    backend: str
    layout_seed: int
    tested_seat: int
    candidate: Pins
    baseline: Pins
    opponents: tuple[str, ...]
    top_n: int
    episodes: int
    ticks: int
    declaration: Declaration
    config: Mapping[str, Any] = field(default_factory=dict)
    aa: bool = False
    candidate_drawn: Mapping[int, Draw] = field(default_factory=dict)
    baseline_drawn: Mapping[int, Draw] = field(default_factory=dict)
    natural_roles: bool = False
    adopted: Adopted | None = None
    game: Game = CREWRIFT

    def __post_init__(self) -> None:
        whole("episodes", self.episodes, 1, LARGEST_REQUEST if self.adopted is None else None)
        whole("ticks", self.ticks, 1)
        whole("top_n", self.top_n, 1, 100)
        if self.aa and not self.declaration.rule.decides:
            raise _bad(f"an A/A run under the {self.declaration.rule} rule could never raise an alarm")
        looks = self.declaration.looks
        if looks and looks[-1] != self.episodes:
            raise _bad(f"the last look must read all {self.episodes} episodes, got looks {list(looks)}")
        self._check_config()
        self._check_seats()

    def _check_config(self) -> None:
        if not isinstance(self.config, Mapping):
            raise _bad(f"config is a mapping of game-config keys, not {self.config!r}")
        strange = [key for key in self.config if not isinstance(key, str)]
        if strange:
            raise _bad(f"config's keys are game-config keys, which are text, not {strange[0]!r}")
        if "seed" in self.config and self.declaration.pairing is not None:
            raise _bad(
                'config fixes a seed, and pairing="seed" draws one for each pair: leave one of them out'
            )
        pairs, keys = self.declaration.pairing is not None, self.game.keys
        if pairs and keys is not None and SEED not in keys:
            raise _bad(f"{self.game.name} has no setting {SEED}, and pairs share one: leave pairing out")
        for key, who in _SET_ELSEWHERE.items():
            if key in self.config and (key not in _SET_BY_THE_LAYOUT or self.game.roles is Roles.FORCED):
                raise _bad(f"config sets {key}: {who}")
        try:
            canonical_json(dict(self.config))
        except (TypeError, ValueError) as problem:
            raise _bad(f"config must be plain JSON: {problem}") from None

    def _check_seats(self) -> None:
        if isinstance(self.tested_seat, bool) or not isinstance(self.tested_seat, int):
            raise _bad(f"seat must be a whole number, got {self.tested_seat!r}")
        for side, pins in (("candidate", self.candidate), ("baseline", self.baseline)):
            if self.tested_seat not in pins:
                raise _bad(f"the {side} arm puts nobody into the tested seat {self.tested_seat}")
            wrong = [seat for seat in pins if not 0 <= seat < len(self.roles)]
            if wrong:
                raise _bad(f"the {side} arm names seat {wrong[0]}; seats are 0 to {len(self.roles) - 1}")
            self._check_sides(side, pins)
            both = sorted(set(pins) & set(self.drawn(side)))
            if both:
                raise _bad(f"the {side} arm both pins and draws seat {both[0]}")
        if self.draws and self.declaration.pairing is not None:
            raise _bad(
                "pairs have the same opponents in both arms, and drawn seats have others in every game"
            )
        others = len(self.game.captains) - 1
        if len(self.opponents) > others:
            what = "sides" if self.game.teams else "seats"
            raise _bad(f"{len(self.opponents)} opponents were named; {others} {what} are open")
        if self.natural_roles and self.game.roles is Roles.NONE:
            raise _bad(f"{self.game.name} has no roles that its results tell: leave the role out")
        if self.top_n < self.seats_from_ranking:
            raise _bad(
                f"--eval-top-n {self.top_n} leaves {self.seats_from_ranking - self.top_n} seats empty: "
                f"{self.seats_from_ranking} seats are to be filled from the ranking"
            )

    def _check_sides(self, side: str, pins: Pins) -> None:
        """In a game of teams a policy that takes a seat takes its whole side."""
        if not self.game.teams:
            return
        if self.tested_seat not in self.game.captains:
            raise _bad(f"seat {self.tested_seat} is not the first of its side: {self._one_side()}")
        if self.drawn(side):
            raise _bad(
                "seats of a game of teams are not drawn one by one: the members of a side would be strangers"
            )
        for captain in dict.fromkeys(self.game.with_seat(seat)[0] for seat in pins):
            seats = self.game.with_seat(captain)
            if len({pins.get(seat) for seat in seats}) > 1:
                told = " and ".join(map(str, seats))
                raise _bad(
                    f"seats {told} of {self.game.name} are one side, which wins or loses as a whole: the {side} arm must put one "
                    "policy into all of them"
                )

    def _one_side(self) -> str:
        seats = self.game.with_seat(self.tested_seat)
        return f"seats {' and '.join(map(str, seats))} are one, so name seat {seats[0]}"

    @property
    def layout(self) -> Layout:
        """The forced roles."""
        return layout(self.layout_seed)

    @property
    def roles(self) -> tuple[str, ...]:
        """Each seat's role; `natural` where the game deals it, empty where there is none."""
        if self.adopted is not None:
            return self.adopted.roles
        if self.natural_roles:
            return (NATURAL,) * self.game.seats
        return self.layout.roles if self.game.roles is Roles.FORCED else ("",) * self.game.seats

    @property
    def role(self) -> str:
        """The tested seat's role."""
        return self.roles[self.tested_seat]

    @property
    def subject(self) -> str:
        """What is tested, for people: the role, or in a game without roles the game."""
        return self.role or self.game.name

    def reading(self, said: Mapping[str, bool] | None = None) -> Reading | None:
        """How results are read; None for the game that the runbook is about, by its own list of wins.

        Args:
            said: what a function says of who won, by episode.
        """
        if self.game == CREWRIFT and self.declaration.win == wins.LISTED:
            return None
        sides = self.game.sides if self.adopted is None else tuple(range(len(self.adopted.roles)))
        return Reading(self.declaration.win, sides, self.game != CREWRIFT, said)

    def drawn(self, side: str) -> Mapping[int, Draw]:
        """An arm's seats for which every game draws somebody."""
        return self.candidate_drawn if side == "candidate" else self.baseline_drawn

    @property
    def draws(self) -> bool:
        """Whether somebody is drawn anew in every game."""
        return bool(self.candidate_drawn or self.baseline_drawn)

    @property
    def seats_from_ranking(self) -> int:
        """How many seats the ranking must fill; of a side of several seats one, which its player's others follow."""
        return len(self.game.captains) - 1 - len(self.opponents)

    def pins(self, side: str) -> Pins:
        """An arm's pinned seats."""
        return self.candidate if side == "candidate" else self.baseline

    def label(self, side: str) -> str:
        """The policy label in an arm's tested seat."""
        return self.pins(side)[self.tested_seat]

    def game_config(self) -> dict[str, Any]:
        """The game-config overrides that both arms send."""
        if self.game.roles is not Roles.FORCED:
            return {**self.game.pinned, **self.config, **({MAX_TICKS: self.ticks} if self.game.ticks else {})}
        slots = self.layout.slots()
        return {
            **self.config,
            "maxTicks": self.ticks,
            "imposterCount": sum(slot["role"] == Role.IMPOSTER for slot in slots),
            "autoImposterCount": False,
            **({} if self.natural_roles else {"slots": slots}),
        }

    @property
    def one_seed(self) -> bool:
        """Whether the user fixed one seed for every game."""
        seed = self.config.get("seed", -1)
        return isinstance(seed, int) and seed >= 0

    def to_json(self) -> dict[str, Any]:
        """Plain data, the source of the plan key. Free labels such as notes are not part of it."""
        # An ordinary plan does not mention what is out of the ordinary: its key is the one that ledgers already hold.
        drawn = {f"{side}_drawn": self.drawn(side) for side in ("candidate", "baseline")}
        return {
            **({"aa": True} if self.aa else {}),
            **({"natural_roles": True} if self.natural_roles else {}),
            **({"adopted": self.adopted.to_json()} if self.adopted is not None else {}),
            **({} if self.game == CREWRIFT else {"game": self.game.to_json()}),
            **{
                key: {str(s): dict(one) for s, one in sorted(seats.items())}
                for key, seats in drawn.items()
                if seats
            },
            "server": self.server,
            "league": self.league,
            "division": self.division,
            "backend": self.backend,
            "layout_seed": self.layout_seed,
            "tested_seat": self.tested_seat,
            "candidate": {str(seat): name for seat, name in sorted(self.candidate.items())},
            "baseline": {str(seat): name for seat, name in sorted(self.baseline.items())},
            "opponents": list(self.opponents),
            # How far down the ranking may be looked changes nothing where the first of it fill the seats.
            "top_n": max(1, self.seats_from_ranking),
            "episodes": self.episodes,
            "ticks": self.ticks,
            "config": dict(self.config),
            "declaration": self.declaration.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ComparisonPlan:
        """The plan that `to_json` gave; what a ledger keeps beside it (the versions) is left aside."""
        known = {one.name for one in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        return cls(
            **{
                **values,
                "candidate": {int(seat): name for seat, name in data["candidate"].items()},
                "baseline": {int(seat): name for seat, name in data["baseline"].items()},
                **{
                    key: {int(seat): draw for seat, draw in data[key].items()}
                    for key in ("candidate_drawn", "baseline_drawn")
                    if key in data
                },
                **({"game": Game.from_json(data["game"])} if "game" in data else {}),
                "opponents": tuple(data["opponents"]),
                **({"adopted": Adopted.from_json(data["adopted"])} if "adopted" in data else {}),
                "declaration": Declaration.from_json(data["declaration"]),
            }
        )


def declared(said: Mapping[str, Any], episodes: Any) -> Declaration:
    """The declaration of a case, from what it says; None is left out.

    The claim is `better` if none is named. `group_sequential` gets three looks if none are named.

    Raises:
        ValueError, TypeError: as `Declaration`.
        UsageError: a metric's function has no name, or cannot be imported.
    """
    words = {"claim": Claim.BETTER, **{key: value for key, value in said.items() if value is not None}}
    if "metric" in words:
        words["metric"] = metrics.name_of(words["metric"])
        metrics.check(words["metric"])
    if "win" in words:
        words["win"] = metrics.name_of_win(words["win"])
        metrics.check(words["win"], "win")
    if words.get("rule") == Rule.GROUP_SEQUENTIAL and "looks" not in words and isinstance(episodes, int):
        words["looks"] = usual_looks(episodes)
    return Declaration(**words)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """A whole number in its range.

    Raises:
        UsageError: it is none, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise _bad(f"{name} must be a whole number, got {value!r}")
    if value < low or (high is not None and value > high):
        raise _bad(
            f"{name} must be {low} to {high}, got {value}"
            if high
            else f"{name} must be {low} or more, got {value}"
        )
    return value


def names(name: str, value: Any) -> tuple[str, ...]:
    """A list of names.

    Raises:
        UsageError: it is something else, a single text or a set for instance, or names somebody twice.
    """
    if not isinstance(value, list | tuple):  # a set's order is another one in every process
        raise _bad(f"{name} is a list of names, not {value!r}")
    listed = tuple(str(one) for one in value)
    twice = [one for i, one in enumerate(listed) if one in listed[:i]]
    if twice:
        raise _bad(f"{name} names {twice[0]!r} twice")
    return listed


def tested_seat(seed: int, role: Role) -> int:
    """The seat in which a role is tested."""
    return layout(seed).first(role)


@dataclass(frozen=True)
class Budgets:
    """How long an arm may take. The formulas are the runbook's; the stall clock starts with the first game.

    Attributes:
        queue: seconds without any game running.
        stall: seconds from the first running game without a finished one.
        total: seconds from the first running game to the last result.
        queue_exceeded: what becomes of a request that waits longer than `queue`: `keep` it for the next run, or `cancel` it; None
            to cancel it only where a budget in credits is kept.
    """

    queue: float
    stall: float
    total: float
    queue_exceeded: str | None = None

    @classmethod
    def for_plan(
        cls,
        plan: ComparisonPlan,
        *,
        queue: float,
        stall: float | None = None,
        total: float | str | None = None,
        queue_exceeded: str | None = None,
    ) -> Budgets:
        """The budgets of a plan's arms, with what the user overrode.

        A `total` of `parallel` is the formula for games that are all played at one time, as the service plays them.
        """
        game = plan.ticks / TICKS_PER_SECOND
        if total is None or isinstance(total, str):
            total = (1 if total == PARALLEL else plan.episodes) * game * 3 + 900
        return cls(
            queue=queue,
            stall=stall if stall is not None else game * 3 + 600,
            total=total,
            queue_exceeded=queue_exceeded,
        )


def _bad(what: str) -> UsageError:
    return UsageError(
        what,
        not_done="nothing was submitted",
        next_step="correct the mark or the option and run the same command again",
    )
