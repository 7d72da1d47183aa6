import json
import pickle

import pytest

from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Claim, Rule


def test_words_become_members():
    declared = Declaration("noninferior", "overlap", margin=0.2)
    assert declared.claim is Claim.NONINFERIOR
    assert declared.rule is Rule.OVERLAP
    assert (declared.alpha, declared.margin, declared.target_lift) == (0.05, 0.2, 0.10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"claim": "beter"}, "claim must be one of better, not_worse, noninferior, equivalent, separated"),
        (
            {"claim": "better", "rule": "coin"},
            "rule must be one of score, overlap, newcombe, exact, group_sequential, always_valid, bayes",
        ),
        ({"claim": "better", "alpha": 0}, "alpha"),
        ({"claim": "better", "alpha": 0.5}, "alpha must be below"),
        ({"claim": "better", "alpha": True}, "alpha"),
        ({"claim": "better", "margin": 0}, "margin"),
        ({"claim": "better", "margin": 20}, "margin"),
        ({"claim": "better", "margin": float("nan")}, "margin"),
        ({"claim": "better", "target_lift": -0.1}, "target_lift"),
        ({"claim": "better", "pairing": "index"}, "pairing must be one of seed"),
        ({"claim": "noninferior"}, "'noninferior' needs a margin"),
        ({"claim": "equivalent"}, "'equivalent' needs a margin"),
    ],
    ids=str,
)
def test_what_cannot_be_declared_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Declaration(**arguments)


def test_json_and_pickle_round_trip():
    declared = Declaration("equivalent", alpha=0.01, margin=0.1, target_lift=0.2)
    assert Declaration.from_json(json.loads(json.dumps(declared.to_json()))) == declared
    assert pickle.loads(pickle.dumps(declared)) == declared
    assert list(declared.to_json()) == sorted(declared.to_json())
    assert {type(value) for value in declared.to_json().values()} == {str, float, type(None)}


def test_json_with_more_or_less_than_a_declaration_is_refused():
    with pytest.raises(ValueError, match="unknown keys in a declaration: glances"):
        Declaration.from_json({"claim": "better", "glances": 3})
    with pytest.raises(ValueError, match="needs a claim"):
        Declaration.from_json({"rule": "score"})


def test_the_digest_changes_with_every_word_and_with_nothing_else():
    declared = Declaration("better")
    others = [
        Declaration("not_worse"),
        Declaration("better", "overlap"),
        Declaration("better", "newcombe"),
        Declaration("better", "exact"),
        Declaration("better", "bayes"),
        Declaration("better", alpha=0.01),
        Declaration("better", margin=0.1),
        Declaration("better", target_lift=0.2),
        Declaration("better", pairing="seed"),
    ]
    assert len({declared.digest, *(other.digest for other in others)}) == 10
    assert Declaration(Claim.BETTER, Rule.SCORE, 0.05, None, 0.1).digest == declared.digest
    # Stored in ledgers: it must not change between releases.
    assert declared.digest == "83c3c3a9408980dbb416d3156a6b97e82f307e88e57ad8403c36d5f548dfd9ed"
