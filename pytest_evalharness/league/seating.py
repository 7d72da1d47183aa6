"""The seating of a run's games, cell by cell: episode by seat, who sat there in which role. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import Untrustworthy
from pytest_evalharness.league.arms import Arm
from pytest_evalharness.league.episodes_view import wrong_seats
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord

_LISTED = 20
FILLER, POLICY = "filler", "policy"


@dataclass(frozen=True)
class Cell:
    """One seat of one episode.

    Attributes:
        side: which arm the episode belongs to.
        episode: its id.
        seat: the position.
        policy_version_id: who sat there; None for nobody, and for whoever is no policy. In a game of teams the fillers of a side are: its
            policy is cloned over its seats.
        role: the role that the results tell; None where they tell none.
        kind: `policy`, `filler`, `human`, or the service's own word; `nobody` where no participant is told.
        problem: what is not as it was placed, empty if nothing is.
    """

    side: str
    episode: str
    seat: int
    policy_version_id: str | None
    role: str | None
    kind: str
    problem: str = ""

    def __str__(self) -> str:
        told = f": {self.problem}" if self.problem else ""
        return f"{self.side} {printable(self.episode)} seat {self.seat}{told}"


@dataclass(frozen=True)
class SeatingMatrix:
    """Every seat of every episode that was seated. `assert matrix` lists the cells that are not as they were placed.

    It is false where a cell fails, and where there is no cell at all: nothing was verified then. An episode that was never seated
    has no cells; it is missing, and not misplaced.
    """

    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, arms: Mapping[str, Arm], records: Mapping[str, ArmRecord]) -> SeatingMatrix:
        """The matrix of a comparison, or of a single arm.

        Args:
            arms: who was placed where, by side.
            records: what the episodes left, by side.
        """
        return cls(
            tuple(
                cell
                for side, arm in arms.items()
                for episode in records[side].episodes
                for cell in _row(side, arm, episode)
            )
        )

    @property
    def failing(self) -> tuple[Cell, ...]:
        """The cells that are not as they were placed."""
        return tuple(cell for cell in self.cells if cell.problem)

    def at(self, episode: str, seat: int) -> Cell:
        """One cell.

        Raises:
            KeyError: there is no such episode, or it was never seated, or it has no such seat.
        """
        for cell in self.cells:
            if (cell.episode, cell.seat) == (episode, seat):
                return cell
        raise KeyError((episode, seat))

    def require(self) -> None:
        """Pass if every seat of every seated episode is as it was placed.

        Raises:
            Untrustworthy: a cell is not; names the first of them.
        """
        if not self:
            raise Untrustworthy(
                repr(self), not_done="nothing was judged", next_step="run again with --eval-fresh"
            )

    def __bool__(self) -> bool:
        return bool(self.cells) and not self.failing

    def __repr__(self) -> str:
        episodes = len({cell.episode for cell in self.cells})
        failing = self.failing
        if not failing:
            return f"<seating: {len(self.cells)} cells of {episodes} episodes, all as placed>"
        more = [f"and {len(failing) - _LISTED} more"] if len(failing) > _LISTED else []
        head = f"{len(failing)} of {len(self.cells)} cells of {episodes} episodes are not as placed"
        return "\n  ".join([head, *map(str, failing[:_LISTED]), *more])


def _row(side: str, arm: Arm, episode: EpisodeRecord) -> Iterator[Cell]:
    if episode.results is None and not episode.participants:
        return
    wrong = wrong_seats(arm, episode)
    seated = {one.position: one for one in episode.participants}
    clones = {one.position for one in arm.seats if one.captain is not None}
    for seat in sorted({*seated, *(one.position for one in arm.seats)}):
        who = seated.get(seat)
        kind = "nobody" if who is None else FILLER if who.is_filler else who.kind
        yield Cell(
            side,
            episode.id,
            seat,
            who.policy_version_id if who is not None and (kind == POLICY or seat in clones) else None,
            episode.role(seat),
            kind,
            f"holds {wrong[str(seat)]}" if str(seat) in wrong else "",
        )
