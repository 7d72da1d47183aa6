import json

import pytest

from pytest_evalharness.report.rows import Misplaced, Words, links, misplaced, seats_words, table

WRONG = {1: {"wrong": {"0": "rival:v3", "3": "as crew"}}, 2: {"wrong": {"0": "rival:v3"}}}
GAP = {
    "outcome": "missing",
    "score": None,
    "kills": None,
    "cause": "failed: x",
    "seated": False,
    "status": "failed",
}


def decoded(drawn, words):
    """Rows as dictionaries, the way a page's script reads them."""
    named = {"arm", "outcome", "status", "cause", "request"}
    texts = words.to_json()
    return [
        {c: texts[v] if c in named else v for c, v in zip(drawn["columns"], row, strict=True)}
        for row in drawn["rows"]
    ]


# ------------------------------------------------------------------- rows


def test_no_row_of_what_cannot_be_believed_says_who_won(episodes):
    words = Words()
    drawn = table(episodes(changes=WRONG), words, effect=False)
    assert not {"outcome", "score", "kills"} & set(drawn["columns"])
    assert not {"win", "loss"} & set(words.to_json())


def test_a_row_comes_back_as_it_went_in(episodes):
    words = Words()
    drawn = table(episodes(2, {2: GAP}), words, effect=True)
    rows = decoded(drawn, words)
    assert rows[0] == {
        "arm": "candidate", "number": 1, "outcome": "win", "score": 1.0, "kills": 0, "seats": 0, "seed": 1001,
        "status": "completed", "cause": "", "id": "ereq_candidate_1", "request": "xreq_candidate", "links": [],
    }  # fmt: skip
    assert (rows[1]["seats"], rows[1]["score"], rows[1]["cause"]) == (-1, None, "failed: x")
    assert [row["arm"] for row in rows] == ["candidate"] * 2 + ["baseline"] * 2


def test_wrong_seats_are_pairs_of_a_position_and_a_name(episodes):
    words = Words()
    row = decoded(table(episodes(1, WRONG), words, effect=True), words)[0]
    assert [(position, words.to_json()[name]) for position, name in row["seats"]] == [
        (0, "rival:v3"),
        (3, "as crew"),
    ]


def test_a_comparison_without_episodes_has_no_rows():
    assert table({}, Words(), effect=True)["rows"] == []


def test_many_rows_stay_small(episodes):
    words = Words()
    crowded = {i: {"wrong": {str(p): "a-rather-long-name:v12" for p in range(8)}} for i in range(1, 101)}
    drawn = table(episodes(100, crowded), words, effect=True)
    assert len(json.dumps(drawn, separators=(",", ":"))) / 200 < 150
    assert len(json.dumps(words.to_json())) < 1000


def test_texts_from_outside_are_harmless(episodes):
    nasty = "\x1b[31m\u202e" + "x" * 10_000
    words = Words()
    changes = {1: {"id": nasty, "status": nasty, "cause": nasty, "request": nasty, "wrong": {"0": nasty}}}
    text = json.dumps(
        [table(episodes(1, changes, label=nasty), words, effect=True), words.to_json()], ensure_ascii=False
    )
    assert not set(text) & set("\x1b\u202e")
    assert len(text) < 3000


# ------------------------------------------------------------------ links


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//host/x", "/etc/passwd",
        "../secret", "episodes/../../x", "\\\\host\\x", "http:x", "https:///x", "java\nscript:alert(1)", "\x01javascript:x",
        "http://[", "vbscript:x",
    ],
)  # fmt: skip
def test_an_address_that_could_do_harm_is_no_link(target):
    assert links({"replay": target}) == []


@pytest.mark.parametrize(
    "target", ["https://host/replay?id=1", "http://127.0.0.1:8/x", "episodes/ereq_1/replay.json"]
)
def test_what_a_record_points_to_is_a_link(target):
    assert links({"replay": target}) == [["replay", target]]


def test_without_a_record_of_one_there_is_no_link():
    assert links(None) == []


# ------------------------------------------------------------------ seats


def test_wrong_seats_are_told_each_kind_once(episodes):
    found = misplaced(episodes(3, WRONG, label="keeper:v2"))
    assert found[0] == Misplaced(
        "candidate", 0, tested=True, placed="keeper:v2", found="rival:v3", episodes=2, of=3
    )
    assert found[1] == Misplaced(
        "candidate", 3, tested=False, placed="rival-3:v1 as imposter", found="as crew", episodes=1, of=3
    )
    assert [seat.side for seat in found] == ["candidate"] * 2 + ["baseline"] * 2
    assert misplaced(episodes(3)) == []


def test_a_seat_where_nobody_was_placed_is_told(episodes):
    assert misplaced(episodes(1, {1: {"wrong": {"9": "x"}}}))[0].placed == "nobody"


def test_a_server_that_misplaces_everybody_differently_cannot_fill_the_page(episodes):
    chaos = {i: {"wrong": {str(p): f"somebody-{i}-{p}" for p in range(8)}} for i in range(1, 101)}
    assert len(misplaced(episodes(100, chaos))) == 24


@pytest.mark.parametrize(
    ("games", "changes", "words"),
    [
        (3, {}, "as placed in 6 episodes"),
        (3, WRONG, "wrong in 4 of 6 episodes"),
        (2, {1: GAP}, "as placed in 2 episodes, 2 never seated"),
    ],
)
def test_all_seats_are_told_in_a_line(episodes, games, changes, words):
    assert seats_words(episodes(games, changes)) == words
