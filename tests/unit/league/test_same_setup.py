"""Whether games of today could be held against those that were played: what the server tells of it, and what it keeps to itself."""

from dataclasses import asdict
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pytest_evalharness.errors import CredentialsRejected, NotTheService, SetupChanged
from pytest_evalharness.league.same_setup import require_same_game

ENDED = 1_790_000_000.0


class League:
    """As much of the client as is asked: the league's game, and its latest round."""

    def __init__(self, *, game="cow_1", ended=ENDED + 60, scores=(3, 1), problem=None):
        self.game, self.ended, self.scores, self.problem = game, ended, scores, problem

    def league(self, _):
        return SimpleNamespace(game=SimpleNamespace(coworld_id=self.game) if self.game else None)

    def rounds(self, *, division_id, status, limit):
        assert (division_id, status, limit) == ("div_1", "completed", 1)
        if self.problem is not None:
            raise self.problem
        at = None if self.ended is None else datetime.fromtimestamp(self.ended, UTC)
        return [SimpleNamespace(id="round_1", completed_at=at)]

    def round_episodes(self, round_id, *, limit):
        assert round_id == "round_1"
        return [SimpleNamespace(id=f"ereq_{i}") for i in range(limit)]

    def episode_results(self, _, *, late_seconds):
        imposter, crew = self.scores
        return {
            "scores": [imposter, 0, 0], "win": [True, False, False], "imposter": [1, 0, 0], "crew": [0, 1, 1],
        } if imposter is not None else {"scores": [0, crew, crew], "win": [False, True, True], "imposter": [1, 0, 0], "crew": [0, 1, 1]}  # fmt: skip


@pytest.fixture
def kept(make):
    """A comparison whose games were scored 3/1/0 in one version of the game."""
    plan = make.plan(tested_seat=2)
    arms = make.arms(plan)
    request = {"coworld_id": "cow_1", "coworld_name": "crewrift", "coworld_version": "1.2.0"}
    blocks = [
        SimpleNamespace(
            finished_at=ENDED,
            evidence={"request": request, "episodes": [asdict(make.episode(arm, i)) for i in range(4)]},
        )
        for arm in arms.values()
    ]
    frozen = SimpleNamespace(roster=make.roster())
    return SimpleNamespace(
        name="t.py::test", blocks=blocks, parts=[SimpleNamespace(frozen=frozen)], plan=plan
    )


@pytest.mark.parametrize(
    "league",
    [
        League(),
        League(game=None),
        League(scores=(100, 0), ended=ENDED - 60),
        League(scores=(100, 0), ended=None),
        League(scores=(None, 1)),
        League(problem=NotTheService("no such page")),
        League(problem=CredentialsRejected("not yours")),
    ],
    ids=["same", "untold", "older round", "no time", "undecided", "no route", "forbidden"],
)
def test_nothing_speaks_against_more_games(kept, league):
    require_same_game(league, kept, kept.plan)


@pytest.mark.parametrize(
    ("league", "told"),
    [
        (League(game="cow_2"), "the game was crewrift 1.2.0 (cow_1) and is cow_2 now"),
        (League(scores=(100, 0)), "scores were 3/1/0 and are reward points now"),
        (League(scores=(1, 0)), "scores were 3/1/0 and are 1/0 now"),
    ],
    ids=["game", "points", "one a win"],
)
def test_what_changed_is_told_as_it_was_and_as_it_is(kept, league, told):
    with pytest.raises(SetupChanged) as caught:
        require_same_game(league, kept, kept.plan)
    assert told in caught.value.what
    assert "outcomes of before and after are not comparable" in caught.value.not_done
    assert "--eval-fresh" in caught.value.next_step
