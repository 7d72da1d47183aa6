import json
from xml.etree import ElementTree as ET

import pytest

from pytest_evalharness.report.junit import properties

NAMES = [
    "kind", "verdict", "decision", "claim", "rule", "builds", "reason", "separated", "metric", "win", "effect", "ci_low", "ci_high", "p",
    "p_gate", "p_adjusted", "family",
    "wins_candidate", "n_candidate", "wins_baseline", "n_baseline", "request_candidate", "request_baseline", "strata",
    "server", "attempt", "scope", "run",
]  # fmt: skip


def told(result, run="run-1"):
    return {name.removeprefix("evalharness."): value for name, value in properties(result, run)}


@pytest.mark.parametrize("through_json", [False, True])
@pytest.mark.parametrize("wins", [(28, 15), (6, 17), (15, 15), (0, 0), (30, 30)])
@pytest.mark.parametrize("trusted", [True, False])
def test_the_vocabulary_is_fixed_and_made_of_exact_strings(compared, wins, trusted, through_json):
    result = compared(wins, trusted=trusted)
    if through_json:
        result = json.loads(json.dumps(result))
    pairs = properties(result, "run-1")
    assert [name for name, _ in pairs] == [f"evalharness.{name}" for name in NAMES]
    # A subclass of str, such as an enum's member, can lose the whole report on its way from a worker.
    assert all(type(part) is str for pair in pairs for part in pair)


def test_the_values(compared):
    values = told(compared((8, 17), claim="not_worse", rule="overlap"))
    assert values == {
        "kind": "A/B", "verdict": "inconclusive", "decision": "met", "claim": "not_worse", "rule": "overlap", "builds": "", "reason": "overlap",
        "separated": "none", "metric": "win rate", "win": "win", "effect": "-0.3", "ci_low": values["ci_low"], "ci_high": values["ci_high"],
        "p": values["p"], "p_gate": values["p_gate"], "p_adjusted": "", "family": "", "wins_candidate": "8", "n_candidate": "30", "wins_baseline": "17", "n_baseline": "30",
        "request_candidate": "xreq_c1 xreq_c2", "request_baseline": "xreq_b", "strata": "", "server": "embedded:2026",
        "attempt": "1", "run": "run-1",
            "scope": "the effect in this field, not a league rank; champion is a membership label, not a winner",
    }  # fmt: skip
    assert -0.6 < float(values["ci_low"]) < -0.3 < float(values["ci_high"]) < 0
    assert 0 < float(values["p"]) < 0.05


def test_text_from_outside_steers_no_reader(compared):
    result = compared((28, 15))
    result["plan"] = {**result["plan"], "server": "https://host\x1b[31m\n::error::\u202e"}
    values = told(result, run="run\u2028")
    assert values["server"] == "https://host\ufffd[31m\ufffd::error::\ufffd"
    assert values["run"] == "run\ufffd"


def test_an_effect_that_cannot_be_believed_is_not_said(compared):
    values = told(compared((28, 15), trusted=False))
    assert (values["verdict"], values["decision"], values["reason"]) == (
        "untrustworthy",
        "untrustworthy",
        "seats",
    )
    hidden = (
        "effect",
        "ci_low",
        "ci_high",
        "p",
        "p_gate",
        "p_adjusted",
        "separated",
        "wins_candidate",
        "wins_baseline",
    )
    assert {values[name] for name in hidden} == {""}
    assert (values["n_candidate"], values["request_candidate"]) == ("30", "xreq_c1 xreq_c2")


def test_several_reasons_are_words_in_one_line(compared):
    result = compared()
    result["judgement"]["reasons"] = [{"reason": "seats"}, {"reason": "roles"}]
    assert told(result)["reason"] == "seats roles"


def test_no_games_at_all(compared):
    values = told(compared((0, 0), games=0))
    assert values["effect"] == ""
    assert values["n_candidate"] == "0"


def test_the_properties_survive_xml(compared):
    node = ET.Element("properties")
    for name, value in properties(compared(), "run-1"):
        ET.SubElement(node, "property", name=name, value=value)
    assert len(ET.fromstring(ET.tostring(node))) == len(NAMES)


def test_many_requests_are_counted_not_listed(compared):
    result = compared()
    result["judgement"]["candidate"]["request_ids"] = [f"xreq_{i}" for i in range(30)]
    told = dict(properties(result, "run"))
    assert told["evalharness.request_candidate"] == "30 requests, xreq_0 … xreq_29"
    assert told["evalharness.request_baseline"] == "xreq_b"


def test_what_was_declared_to_be_a_win_is_told(compared):
    result = compared((28, 15))
    declared = {**result["judgement"]["declaration"], "win": "score > 400.0"}
    assert (
        told({**result, "judgement": {**result["judgement"], "declaration": declared}})["win"]
        == "score > 400.0"
    )
