"""What the pages say of the embedded league's other games is what the games are, and their rates are played again."""

import re

import pytest

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order

PAGE, RATES = "docs/reference/arena.md", "docs/explanation/true-rates.md"
GAME = {"painter": "paintarena", "warden": "capture-the-flag"}


@pytest.mark.parametrize(("column", "name"), list(enumerate(GAME.values(), start=1)))
def test_the_page_names_what_each_game_has(pages, column, name):
    _, _, told = pages[PAGE].text.partition("| | Paint Arena | Capture the Flag |")
    cells = {
        row[0]: row[column]
        for line in told.splitlines()
        if len(row := [cell.strip() for cell in line.strip("|").split("|")]) == 3
    }
    game = GAMES[name]
    keys = game.config_schema()["properties"].keys() - {"tokens", "players"}
    assert set(re.findall(r"`(\w+)`", cells["config keys"].partition("; no")[0])) == keys
    assert set(re.findall(r"`(\w+)`", cells["`results.json`"])) == set(game.results_schema()["properties"])
    assert re.findall(r"`([\w-]+)`", cells["variants"]) == [variant.id for variant in game.variants]
    assert cells["seats"].startswith(f"{game.seats}")
    players = re.findall(r"`(\w+)`", cells["yours"] + cells["others"])
    assert sorted(players) == sorted(player for player, _ in game.cast())


def rows(pages):
    return {row[0].strip("`"): row for row in pages[RATES].table("version")}


@pytest.mark.slow
@pytest.mark.parametrize("label", [f"{player}:v{number}" for player in GAME for number in (1, 2, 3)])
def test_the_rates_of_the_other_games_are_played_again(pages, label):
    games = 300
    _, against, *told = rows(pages)[label]
    game = GAMES[GAME[label.partition(":")[0]]]
    variant = game.variants[0]
    sides = game.sides(game.effective_config(variant.config))
    counts = [0, 0]
    for seed in range(games):
        mine = seed % 2
        seats = [label if side == mine else against.strip("`") for side in sides]
        order = Order(game.name, variant.config, [(each, each.replace(":v", "-")) for each in seats], seed)
        scores = game.play(order).results["scores"]
        ours, theirs = scores[sides.index(mine)], scores[sides.index(1 - mine)]
        counts[0] += ours > theirs if game.name == "paintarena" else ours >= variant.config["capturesToWin"]
        counts[1] += (
            ours == theirs if game.name == "paintarena" else max(scores) < variant.config["capturesToWin"]
        )
    for count, number in zip(counts, told, strict=True):
        rate = int(number) / 2000
        assert abs(count / games - rate) < 4 * (rate * (1 - rate) / games) ** 0.5 + 1e-9
