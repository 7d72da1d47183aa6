"""Evidence documents: what is refused, what is kept of a call, and which side it is on."""

import gzip
import json
from pathlib import Path

import pytest

from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.rows import Row, labelled
from pytest_evalharness.engines.evidence.splitting import preferences, side
from pytest_evalharness.errors import EvidenceUnreadable

GOLDEN = Path(__file__).parents[2] / "golden" / "engines"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
ROW = {"episode_id": "c1", "state": "0:5:none", "move": "greet", "done": True, "terminal": 40.0, "ret": 40.0}


def document(**more):
    return {"moves": ["greet", "close"], "states": ["0:5:none"], "transitions": [ROW], **more}


# ----------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"  \n", "the file is empty"),
        (b'{"transitions": [{"state": "0:5', "Input data was truncated"),
        (b"<html>", "JSON is malformed"),
        (b"[]", "Expected `object`, got `array`"),
        (b"\x1f\x8b\x08spoilt", "a spoilt gzip file"),
        (gzip.compress(b"{}", mtime=0)[:-4], "a spoilt gzip file"),
        (b"{}", "it holds no transition"),
        (b'{"transitions": []}', "it holds no transition"),
        (b'{"transitions": [{"move": "greet"}]}', "missing required field `state` - at `$.transitions[0]`"),
        (b'{"transitions": [{"state": "a", "move": 3}]}', "got `int` - at `$.transitions[0].move`"),
        (b'{"transitions": [{"state": "a", "move": "b", "reward": "x"}]}', "at `$.transitions[0].reward`"),
        (b'{"transitions": [{"state": "a", "move": "b", "reward": NaN}]}', "JSON is malformed"),
        (b'{"transitions": [{"state": "a", "move": "b", "split": "test"}]}', "Invalid enum value 'test'"),
        (json.dumps(document(mdp={"discount": 2})).encode(), "mdp.discount is between 0 and 1, not 2"),
        (json.dumps(document(mdp={"discount": "1"})).encode(), "mdp.discount is between 0 and 1"),
    ],
)
def test_a_file_that_is_no_evidence(tmp_path, content, why):
    (tmp_path / "calls.json").write_bytes(content)
    with pytest.raises(EvidenceUnreadable) as refusal:
        Evidence.load(tmp_path / "calls.json")
    assert why in refusal.value.what
    assert refusal.value.not_done == "nothing was fitted or scored"


def test_no_file_and_no_document(tmp_path):
    with pytest.raises(EvidenceUnreadable, match="No such file"):
        Evidence.load(tmp_path / "none.json")
    with pytest.raises(EvidenceUnreadable, match="Expected `str`"):
        Evidence.from_dict({"transitions": [{"state": 1, "move": "greet"}]})


def test_pairs_that_name_positions_which_are_not_there():
    evidence = Evidence.from_dict(document(pairs=[[0, 0, 1], [1, 0, 1]]))
    with pytest.raises(EvidenceUnreadable, match="positions that its lists"):
        evidence.pairs()


def test_a_part_that_is_none():
    with pytest.raises(ValueError, match='"fit" or "held_out", not \'test\''):
        Evidence.from_dict(document()).part("test")


# ------------------------------------------------------------ what is kept


@pytest.mark.parametrize("name", ["calls.json", "calls.json.gz"])
def test_a_document_survives_its_file(tmp_path, name):
    evidence = Evidence.load(GOLDEN / "log_b_logged.json")
    again = Evidence.load(evidence.save(tmp_path / name))
    assert again.to_dict() == evidence.to_dict()
    assert again.content_hash() == evidence.content_hash()


def test_an_edit_is_seen_and_a_format_is_not(tmp_path):
    evidence = Evidence.from_dict(document())
    assert not evidence.edited  # it tells no hash
    told = {**evidence.to_dict(), "manifest": {"content_hash": evidence.content_hash()}}
    (tmp_path / "calls.json").write_text(json.dumps(told, indent=4))
    assert not Evidence.load(tmp_path / "calls.json").edited
    told["transitions"][0]["terminal"] = 100.0
    assert Evidence.from_dict(told).edited


def call(*turns):
    return [Row(episode_id="c", t=at, state=f"{at}:5:none", **turn) for at, turn in enumerate(turns)]


def test_what_an_unlabelled_turn_earned_goes_to_the_turn_before_it():
    greet, unknown = {"move": "greet"}, {"move": "unknown"}
    kept = labelled(
        call({**unknown, "reward": 9.0}, greet, {**unknown, "terminal": 100.0, "penalty": 2.0, "done": True}),
        frozenset(["greet"]),
    )
    (row,) = kept
    assert (row.move, row.t, row.reward, row.penalty, row.terminal, row.done) == (
        "greet",
        1,
        0.0,
        2.0,
        100.0,
        True,
    )
    assert labelled(call(unknown), frozenset(["greet"])) == []


def test_counts():
    rows = [
        ROW,
        {**ROW, "episode_id": "c2", "move": "unknown"},
        {**ROW, "episode_id": "c3", "propensity": 0.5},
    ]
    evidence = Evidence.from_dict(document(kind="real", transitions=rows, tagger={"kind": "rule"}))
    assert evidence.summary() == {
        "pack": "",
        "episodes": 3,
        "transitions": 2,
        "unlabelled": 1,
        "states": 1,
        "moves": 2,
        "pairs": 0,
        "propensity": False,
        "simulator": False,
        "kind": "real",
        "tagger": "rule",
        "propensity_source": None,
        "fit_calls": None,
        "held_out_calls": None,
    }
    assert [evidence.has(kind) for kind in ("episodes", "preferences", "simulator")] == [True, False, False]
    assert [len(one) for one in evidence.by_episode()] == [1, 1]


def test_a_discount_of_nothing_is_nothing():
    assert Evidence.from_dict(document(mdp={"discount": 0})).gamma == 0.0
    assert Evidence.from_dict(document()).gamma == 1.0


# ------------------------------------------------------------------ sides


@pytest.mark.parametrize("seed", [0, 7])
def test_the_side_of_a_call(seed):
    expected = EXPECTED["split"][f"seed={seed}"]
    assert {name: side(name, seed=seed) for name in expected} == expected


def test_parts_follow_their_rows_and_else_the_hash():
    names = [f"call-{at:03}" for at in range(40)]
    rows = [{**ROW, "episode_id": name} for name in names]
    evidence = Evidence.from_dict(document(transitions=rows, split={"seed": 7}))
    expected = EXPECTED["split"]["seed=7"]
    held = {row.episode_id for row in evidence.part("held_out").transitions()}
    assert held == {name for name in names if expected[name] == "held_out"}
    assert {row.episode_id for row in evidence.part("fit").transitions()} == set(names) - held
    other = {row.episode_id for row in evidence.part("held_out", seed=0).transitions()}
    assert other == {name for name in names if EXPECTED["split"]["seed=0"][name] == "held_out"}
    told = Evidence.from_dict(document(transitions=[{**row, "split": "held_out"} for row in rows]))
    assert len(told.part("held_out").transitions()) == 40
    assert told.part("fit").transitions() == []


def test_pairs_keep_their_states_when_a_part_has_fewer():
    rows = [
        {**ROW, "state": "9:5:none", "split": "held_out"},
        {**ROW, "episode_id": "c2", "state": "1:5:none", "split": "fit"},
    ]
    evidence = Evidence.from_dict(
        document(kind="real", states=["9:5:none", "1:5:none"], transitions=rows, pairs=[[1, 0, 1]])
    )
    fit = evidence.part("fit")
    assert fit.states == ["1:5:none"]
    assert fit.pairs() == [(0, 0, 1)]
    assert [one.state for one in fit.named_pairs()] == ["1:5:none"]
    assert evidence.part("held_out").named_pairs() == []  # derived from its own rows, and there is one move


def test_pairs_by_the_best_return_are_the_sdks():
    rows = Evidence.load(GOLDEN / "log_b_empirical.json").transitions()
    found = {(one.state, one.better, one.worse) for one in preferences(rows, best=True)}
    assert found == {tuple(pair) for pair in EXPECTED["engines_b"]["preference_pairs_best_return"]}


def test_pairs_by_the_mean_return_need_visits():
    def turns(move, *returns):
        return [Row(state="0:5:none", move=move, ret=value) for value in returns]

    rows = [*turns("greet", 100.0, 0.0, 0.0), *turns("close", 40.0, 40.0), *turns("talk", 90.0)]
    assert [one[1:] for one in preferences(rows, min_visits=2)] == [("close", "greet", 2)]
    assert {one[1:3] for one in preferences(rows, best=True)} == {
        ("greet", "close"),
        ("greet", "talk"),
        ("talk", "close"),
    }
    assert preferences(turns("greet", 1.0)) == []


# ------------------------------------------------------------------- words


def test_a_world_says_its_own_ids():
    evidence = Evidence.from_dict(
        document(
            words={
                "moves": {"close": "ask for a visit"},
                "objections": {"price": "worried about the price"},
                "stages": ["at the start"],
            }
        )
    )
    words = evidence.vocabulary
    assert (words.move("close"), words.move("follow_up")) == ("ask for a visit", "follow up")
    assert words.state("0:4:price") == "at the start, lukewarm, worried about the price"
    assert words.state("7:10:no_money") == "turn 7, warm, no money"
    assert words.state("elsewhere") == "elsewhere"
