import pytest

from pytest_evalharness.errors import Untrustworthy
from pytest_evalharness.league.seating import SeatingMatrix


@pytest.fixture
def matrix(make):
    """The matrix of two arms of two games each, with some of the candidate's first game changed."""

    def of(**changes):
        arms = make.arms()
        games = {side: [make.episode(arm, i) for i in range(2)] for side, arm in arms.items()}
        first = games["candidate"][0]
        games["candidate"][0] = changes["of"](first) if changes else first
        return SeatingMatrix.of(arms, {side: make.record(arm, games[side]) for side, arm in arms.items()})

    return of


def test_no_cell_verifies_nothing():
    empty = SeatingMatrix(())
    assert not empty
    with pytest.raises(Untrustworthy, match="0 cells of 0 episodes"):
        empty.require()


@pytest.mark.parametrize(
    ("seat", "change", "told"),
    [
        (3, "id-stranger", "candidate ereq_candidate_0 seat 3: holds id-stranger"),
        (0, "id-bot:v1", "candidate ereq_candidate_0 seat 0: holds id-bot:v1"),
        (5, {"is_filler": True}, "candidate ereq_candidate_0 seat 5: holds a filler"),
        (5, {"kind": "human"}, "candidate ereq_candidate_0 seat 5: holds a human"),
    ],
)
def test_a_wrong_seat_is_one_failing_cell(matrix, make, seat, change, told):
    found = matrix(of=lambda game: make.reseated(game, {seat: change}))
    assert not found
    assert [(cell.episode, cell.seat) for cell in found.failing] == [("ereq_candidate_0", seat)]
    assert told in repr(found)
    assert "1 of 32 cells of 4 episodes are not as placed" in repr(found)
    with pytest.raises(Untrustworthy, match="1 of 32 cells"):
        found.require()


def test_a_role_that_was_not_forced_is_a_failing_cell(matrix):
    from dataclasses import replace

    def swapped(game):
        roles = {
            **game.results,
            "imposter": [1, *game.results["imposter"][1:]],
            "crew": [0, *game.results["crew"][1:]],
        }
        return replace(game, results=roles)

    [cell] = matrix(of=swapped).failing
    assert (cell.seat, cell.role, cell.problem) == (0, "imposter", "holds as imposter")


def test_who_sat_where_cell_by_cell(matrix, make):
    found = matrix(of=lambda game: make.reseated(game, {5: {"is_filler": True}}))
    cell = found.at("ereq_candidate_1", 0)
    assert (cell.policy_version_id, cell.role, cell.kind, cell.problem) == ("id-bot:v2", "crew", "policy", "")
    filler = found.at("ereq_candidate_0", 5)
    assert (filler.kind, filler.policy_version_id) == ("filler", None)
    with pytest.raises(KeyError):
        found.at("ereq_candidate_0", 8)


def test_all_as_placed(matrix):
    found = matrix()
    assert found
    found.require()
    assert repr(found) == "<seating: 32 cells of 4 episodes, all as placed>"


def test_an_episode_that_was_never_seated_has_no_cells(matrix):
    from dataclasses import replace

    found = matrix(of=lambda game: replace(game, status="failed", participants=(), results=None))
    assert found
    assert len(found.cells) == 24


def test_a_long_list_is_cut(matrix, make):
    arms = make.arms()
    games = [
        make.reseated(make.episode(arms["candidate"], i), dict.fromkeys(range(8), "id-x")) for i in range(4)
    ]
    found = SeatingMatrix.of(
        {"candidate": arms["candidate"]}, {"candidate": make.record(arms["candidate"], games)}
    )
    assert repr(found).endswith("and 12 more")
