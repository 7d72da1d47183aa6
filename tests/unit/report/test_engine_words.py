"""What stands under an engine's headline."""

from pytest_evalharness.report.engines import lines

TOLD = {
    "line": "Only 5 effective of 391 held-out calls.",
    "synthetic": None,
    "held_out_calls": 1391,
    "env": None,
    "tagger": None,
    "caveat": "Old calls prove no gain.",
}


def test_what_the_evidence_does_not_tell_is_said_in_words():
    """Simulated calls were read by no tagger."""
    assert list(lines(TOLD))[1] == "1,391 held-out calls of the evidence, tagger n/a"
    named = {**TOLD, "env": "acme", "tagger": "judge", "synthetic": "invented"}
    assert list(lines(named))[1] == "1,391 held-out calls of acme, tagger judge, synthetic calls: invented"
