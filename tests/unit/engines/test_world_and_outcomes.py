"""What a user writes in TOML: a world with its cues, and an outcome map."""

import pytest

from pytest_evalharness.engines.evidence.taggers.cues import Cues, heaviest, words
from pytest_evalharness.engines.evidence.world import load_world, outcomes_of
from pytest_evalharness.errors import UsageError

SMALL = '[moves.a]\n[moves.b]\n[objections.none]\n[[stages]]\nwords = "start"\n'


def test_the_shipped_world_has_eight_moves_and_says_all_in_words():
    world = load_world()
    assert list(world.moves) == [
        "greet", "ask_need", "share_info", "handle_objection", "build_trust", "propose_viewing", "follow_up", "close",
    ]  # fmt: skip
    for one in (*world.moves.values(), *world.objections.values(), *world.stages):
        assert one.words
        assert one.about
    assert world.words.state("3:5:price") == "near a decision, lukewarm, worried about the price"
    assert world.otherwise in world.moves


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "missing required field `moves`"),
        ("[moves.a]\n[objections.none]\n[[stages]]\n", "2 to 200 moves, not 1"),
        (SMALL.replace("moves.b", "moves.'b:c'"), "'b:c' is no id"),
        (SMALL.replace("moves.b", "moves.unknown"), "'unknown' is no id"),
        (SMALL.replace("none", "price"), "[objections.none] is missing"),
        (SMALL.replace('[[stages]]\nwords = "start"\n', "") + "", "missing required field `stages`"),
        ("otherwise = 'c'\n" + SMALL, "otherwise = 'c' is neither a move nor 'unknown'"),
        (SMALL + "cue = ['x']\n", "unknown field `cue`"),
        (SMALL.replace("[moves.b]", "[moves.b]\ncues = 'one'"), "Expected `array`"),
        ("[moves", "it cannot be read"),
    ],
)
def test_a_file_that_describes_no_world(tmp_path, content, why):
    (tmp_path / "world.toml").write_text(content)
    with pytest.raises(UsageError) as refusal:
        load_world(tmp_path / "world.toml")
    assert why in refusal.value.what
    assert refusal.value.not_done == "no evidence was built"


def test_no_file_and_one_that_is_no_text(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"pack = '\xff'")
    for name, why in (("none.toml", "No such file"), ("latin.toml", "can't decode")):
        with pytest.raises(UsageError, match=why):
            load_world(tmp_path / name)


# ------------------------------------------------------------------- outcomes


def test_labels_are_known_in_any_spelling():
    outcomes = outcomes_of(load_world())
    assert {outcomes.meaning(label) for label in ("Booked Visit", "booked_visit", " BOOKED-VISIT ")} == {
        "won"
    }
    assert outcomes.meaning("Voicemail") == "ignore"
    assert outcomes.meaning("What else") is None
    assert outcomes.values == {"won": 100.0, "follow_up": 40.0, "lost": 0.0}


@pytest.mark.parametrize("table", ["", "[outcomes]\n"])
def test_a_user_overrides_what_labels_mean_and_are_worth(tmp_path, table):
    (tmp_path / "outcomes.toml").write_text(
        f'{table}"Hot Lead" = "won"\nodd_one = "ignore"\n[values]\nfollow_up = 20\n'
    )
    outcomes = outcomes_of(load_world(), tmp_path / "outcomes.toml")
    assert outcomes.meaning("hot lead") == "won"
    assert outcomes.meaning("Odd One") == "ignore"
    assert outcomes.meaning("Call Later") == "follow_up"
    assert outcomes.values == {"won": 100.0, "follow_up": 20.0, "lost": 0.0}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Hot = 'great'", "'Hot' is taken for 'great'; a label is won, follow_up, lost or ignore"),
        ("Hot = 3", "taken for 3"),
        ("Hot = ['won']", "taken for ['won']"),
        ("[values]\nignore = 3", "a value belongs to won, follow_up or lost"),
        ("[values]\nwon = 'much'", "the value of won is a number"),
        ("[values]\nwon = nan", "the value of won is a number"),
        ("[values]\nwon = true", "the value of won is a number"),
        ("values = 3", "are tables"),
        ("Hot = ", "it cannot be read"),
    ],
)
def test_an_outcome_map_of_no_use(tmp_path, content, why):
    (tmp_path / "outcomes.toml").write_text(content)
    with pytest.raises(UsageError) as refusal:
        outcomes_of(load_world(), tmp_path / "outcomes.toml")
    assert why in refusal.value.what


# ----------------------------------------------------------------------- cues


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("This is HELLO, my friend", "one"),
        ("Othello", None),
        ("hello hello", "one"),
        ("hello. Good\nday!", "two"),
        ("Don\u2019t worry", "two"),
        ("don't", None),
        ("مرحبا، كيف الحال؟", "one"),
        ("", None),
    ],
)
def test_phrases_match_whole_words_in_any_case(text, found):
    cues = Cues([["hello", "مرحبا"], ["good day", "DON'T worry", "", "hello"][:3]])
    met = cues.met(words(text))
    assert (["one", "two"][heaviest(met)] if met else None) == found


def test_of_two_with_as_many_words_the_last_one_listed_counts():
    met = Cues([["good day"], ["see you"], ["day"]]).met(words("good day see you"))
    assert met == {0: 2, 1: 2, 2: 1}
    assert heaviest(met) == 1
