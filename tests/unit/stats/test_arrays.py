import numpy as np
import pytest

from pytest_evalharness.stats import arrays, difference, proportions

RANDOM = np.random.default_rng(4)
GAMES = RANDOM.integers(1, 200, size=(2, 400))
WINS = (RANDOM.random((2, 400)) * (GAMES + 1)).astype(int)
TABLES = (WINS[0], GAMES[0], WINS[1], GAMES[1])
EDGES = tuple(
    np.array(column)
    for column in zip(
        *[
            (x_c, n_c, x_b, n_b)
            for n_c, n_b in ((1, 1), (5, 3), (8, 8))
            for x_c in range(n_c + 1)
            for x_b in range(n_b + 1)
        ],
        (1, 10**9, 0, 10**9),
        (500_000_000, 10**9, 499_900_000, 10**9),
        strict=True,
    )
)


@pytest.mark.parametrize("alpha", [0.05, 0.9, 1e-12, 1e-300])
@pytest.mark.parametrize("tables", [TABLES, EDGES], ids=["random", "edges"])
def test_arrays_give_what_single_tables_give(tables, alpha):
    lows, highs = arrays.wilson(tables[0], tables[1], alpha)
    for i, (x, n) in enumerate(zip(tables[0], tables[1], strict=True)):
        assert (lows[i], highs[i]) == pytest.approx(proportions.wilson(x, n, alpha), rel=1e-13)
    for name in ("newcombe", "miettinen_nurminen"):
        lows, highs = getattr(arrays, name)(*tables, alpha)
        for i, table in enumerate(zip(*tables, strict=True)):
            expected = getattr(difference, name)(*map(int, table), alpha)
            assert (lows[i], highs[i]) == pytest.approx(expected, rel=1e-9, abs=1e-11), table


@pytest.mark.parametrize("tables", [TABLES, EDGES], ids=["random", "edges"])
def test_score_tests_of_arrays(tables):
    z, p = arrays.score_z(*tables), arrays.score_p(*tables)
    for i, table in enumerate(zip(*tables, strict=True)):
        assert z[i] == pytest.approx(difference.score_z(*map(int, table)), rel=1e-12)
        assert p[i] == pytest.approx(difference.score_p(*map(int, table)), rel=1e-11)


def test_counts_are_broadcast():
    lows, _ = arrays.newcombe(np.arange(9)[:, None], 8, np.arange(9)[None, :], 8)
    assert lows.shape == (9, 9)
    assert lows[8, 2] == pytest.approx(difference.newcombe(8, 8, 2, 8)[0])
    assert arrays.wilson([0, 3], 0 + np.array([0, 3]))[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([1.0], [2]), "wins must be whole numbers"),
        (([True], [2]), "wins must be whole numbers"),
        (([1], [float("nan")]), "games must be whole numbers"),
        (([-1], [2]), "wins must not be negative"),
        (([1, 3], [2, 2]), "wins must not exceed games, got 3 of 2"),
    ],
    ids=str,
)
def test_invalid_counts_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        arrays.wilson(*counts)


def test_an_arm_without_games_is_refused():
    with pytest.raises(ValueError, match="baseline games must be at least 1"):
        arrays.miettinen_nurminen([1], [2], [0], [0])
    with pytest.raises(ValueError, match="alpha"):
        arrays.newcombe([1], [2], [0], [1], 0)
