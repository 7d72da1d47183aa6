import pytest

from pytest_evalharness.report import sentences as say
from pytest_evalharness.report import units


@pytest.fixture
def judged(compared):
    return lambda *wins, **words: compared(*wins, **words)["judgement"]


@pytest.mark.parametrize(
    ("wins", "words", "sentence"),
    [
        ((28, 15), {}, "keeper:v2 won more often than keeper:v1."),
        ((6, 17), {}, "keeper:v2 won less often than keeper:v1."),
        ((15, 15), {}, "These games cannot tell whether keeper:v2 wins more or less often than keeper:v1."),
        ((15, 15), {"margin": 0.3}, "keeper:v2 and keeper:v1 win equally often to within 30 percentage points."),
        ((15, 15), {"aa": True}, "One build met itself, and no difference was told, as it should be."),
        ((28, 15), {"trusted": False}, "This comparison cannot be believed, so nothing is said about its effect."),
    ],
)  # fmt: skip
def test_a_verdict_is_a_sentence(judged, wins, words, sentence):
    assert say.verdict_sentence(judged(wins, **words)) == sentence


def test_the_numbers_of_what_cannot_be_believed_are_not_told(judged):
    assert say.numbers_sentence(judged((28, 15), trusted=False)) == ""
    assert say.numbers_sentence(judged((0, 0), games=0)) == ""


def test_the_numbers_say_the_kind_of_their_interval(judged):
    told = say.numbers_sentence(judged((28, 15), alpha=0.01))
    assert told.startswith("Won 28 of 30 against 15 of 30 games: +43.3 percentage points, 99\xa0% interval +")
    assert say.level_words({**judged(), "bound": 2.4}) == "interval at this look's bound"


@pytest.mark.parametrize(
    ("wins", "words", "sentence"),
    [
        ((28, 15), {}, "The claim, “better”, is met."),
        (
            (6, 17),
            {"claim": "noninferior", "margin": 0.05},
            "The claim, “noninferior” within 0.05, is not met.",
        ),
        ((15, 15), {}, "The claim, “better”, stays open."),
        ((28, 15), {"trusted": False}, "The claim, “better”, is not judged."),
        ((15, 15), {"aa": True}, "The declared claim, “better”, is not judged in an A/A run."),
        ((15, 15), {"claim": "not_worse"}, "The claim, “not worse”, is met."),
    ],
)
def test_what_became_of_the_claim_is_a_sentence(judged, wins, words, sentence):
    assert say.claim_sentence(judged(wins, **words)) == sentence


def test_a_name_from_outside_is_one_short_harmless_line(judged):
    told = say.verdict_sentence(judged((28, 15), label="\x1b[31m\n\u202e" + "x" * 10_000))
    assert len(told) < 120
    assert not set(told) & set("\x1b\n\u202e")


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "+0.0"), (-0.0001, "+0.0"), (0.5, "+50.0"), (-0.367, "\N{MINUS SIGN}36.7")]
)
def test_points_have_a_sign(value, text):
    assert units.points(value) == text


def test_a_rate_without_games_has_no_percentage():
    assert say.share(0, 0) == "0/0"
    assert say.share(15, 30) == "15/30 = 50.0\xa0%"
