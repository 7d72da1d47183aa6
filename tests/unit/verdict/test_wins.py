import pytest

from pytest_evalharness.verdict import wins
from pytest_evalharness.verdict.claim import Declaration


@pytest.mark.parametrize(
    ("said", "declared"),
    [
        ("win", "win"), ("win list", "win"), ("highest", "highest"), ("highest score", "highest"),
        ("score > 400", "score > 400.0"), ("score>=-1.5", "score >= -1.5"), ("score > 1e3", "score > 1000.0"),
        ("games.paint:most_tiles", "games.paint:most_tiles"),
    ],
)  # fmt: skip
def test_one_spelling_for_each_definition(said, declared):
    assert wins.win_of(said) == declared
    assert wins.win_of(declared) == declared


@pytest.mark.parametrize(
    "said", ["", "best", "score", "score > ", "score > x", "score < 3", "score > 1.2.3", "score > 1e999", 3, None, True]
)  # fmt: skip
def test_what_is_no_definition_is_refused(said):
    with pytest.raises(ValueError, match="win "):
        wins.win_of(said)


def test_a_threshold_is_open_or_closed_as_it_says():
    assert wins.reaches("score >= 3.0", 3.0)
    assert not wins.reaches("score > 3.0", 3.0)
    assert wins.reaches("score > 3.0", 3.0000001)
    with pytest.raises(ValueError, match="no threshold"):
        wins.reaches("highest", 3.0)


def test_a_definition_is_part_of_what_was_declared_and_the_usual_one_changes_no_key():
    usual = Declaration("better")
    assert "win" not in usual.to_json()
    assert usual == Declaration("better", win="win list")
    other = Declaration("better", win="score > 400")
    assert other.to_json()["win"] == "score > 400.0"
    assert other.digest != usual.digest
    assert Declaration.from_json(other.to_json()) == other


def test_definitions_in_words():
    told = [wins.words_of(one) for one in ("win", "highest", "score > 400.0", "games.paint:most_tiles")]
    assert told == [
        "as the game's own list says",
        "strictly highest score, a tie is no win",
        "score > 400",
        "as most_tiles says",
    ]
