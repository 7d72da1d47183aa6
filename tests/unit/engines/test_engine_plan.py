"""What a mark or a command may ask of a benchmark."""

import pytest

from pytest_evalharness.engines.plan import EnginePlan, engines_told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"bootstrap": "40"}, "bootstrap is a whole number of 0 or more, not '40'"),
        ({"bootstrap": True}, "bootstrap is a whole number"),
        ({"bootstrap": 100_001}, "bootstrap is at most 100,000, not 100,001"),
        ({"seed": -1}, "seed is a whole number of 0 or more, not -1"),
        ({"seed": 1.5}, "seed is a whole number"),
        ({"margin": "2"}, "margin is above 0 and finite, not '2'"),
        ({"margin": float("inf")}, "margin is above 0 and finite"),
        ({"file": 3}, "file is a path"),
        ({"tables": ["table.json"]}, "tables are paths by name"),
        ({"tables": {"mine": {"0:5:none": "greet"}}}, "tables are paths by name"),
        ({"params": {"alpha": 0.2}}, "params are knobs by engine"),
        ({"params": 3}, "params are knobs by engine"),
        ({"own": "mine"}, "there is no file"),
        ({"engines": ()}, "there is nothing to score"),
    ],
)
def test_what_cannot_be_asked_is_said(words, why):
    with pytest.raises(ValueError, match=why.replace("'", ".")):
        EnginePlan("calls.json", **words)


def test_engines_are_told_by_a_word_or_by_names():
    assert engines_told("all") == ("all",)
    assert engines_told("none") == ()
    assert engines_told("sarsa, dpo") == ("sarsa", "dpo")
    assert engines_told(["sarsa"]) == ("sarsa",)
    with pytest.raises(TypeError, match="a list of names, not 3"):
        engines_told(3)
