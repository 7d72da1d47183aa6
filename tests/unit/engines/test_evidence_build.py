"""From an export to a document: sample, readings, prices, propensities, sides, pairs, hash; and every refusal."""

import gzip
import json
import os
import re
from collections import Counter, defaultdict

import msgspec
import pytest

from pytest_evalharness.engines.evidence.assembly import Rows, write_document
from pytest_evalharness.engines.evidence.building import BuildPlan
from pytest_evalharness.engines.evidence.document import Document, Evidence
from pytest_evalharness.engines.evidence.splitting import preferences, side
from pytest_evalharness.engines.evidence.taggers.reading import Reading
from pytest_evalharness.engines.evidence.taggers.rule import RuleTagger
from pytest_evalharness.engines.evidence.world import load_world, outcomes_of
from pytest_evalharness.errors import (
    EvidenceUnreadable,
    JournalUnavailable,
    NotEnoughEvidence,
    ServerUnreachable,
    UsageError,
)

SPELT_BY_CHANCE = re.compile(r"es-[0-9a-f]{10}|[0-9a-f]{24,}|\d{8}T\d{6}Z")
"""Names of sets and of calls, digests and moments: a hash or the clock can spell four digits of a number."""


def agent(text):
    return {"role": "agent", "text": text}


def customer(text):
    return {"role": "customer", "text": text}


# ---------------------------------------------------------------- the document


def test_a_set_of_every_call(build_set, calls):
    told = calls(60)
    record, evidence = build_set(told, calls=100, seed=7)
    document = evidence.document
    assert evidence.kind == "real"
    assert len(evidence.by_episode()) == 60
    assert document.split.fit_calls + document.split.held_out_calls == 60
    assert document.propensity_source == "empirical"
    assert document.mdp == {
        "discount": 1.0,
        "horizon": 8,
        "terminal": {"viewing_booked": 100.0, "follow_up": 40.0, "dropped": 0.0},
        "violation_penalty": 0,
    }
    assert document.outcome_map == {"Booked Visit": "won", "Call Later": "follow_up", "No Interest": "lost"}
    worths = Counter(call[-1].terminal for call in evidence.by_episode())
    assert worths == {100.0: 20, 40.0: 20, 0.0: 20}
    for rows in evidence.by_episode():
        assert [row.t for row in rows] == list(range(len(rows)))
        assert [row.done for row in rows] == [False] * (len(rows) - 1) + [True]
        assert [row.next_state for row in rows] == [row.state for row in rows[1:]] + [None]
        assert {row.reward for row in rows} == {0.0}
        assert {row.ret for row in rows} == {rows[-1].terminal}
        assert {row.split for row in rows} == {side(rows[0].episode_id, seed=7)}
    assert record.counts["calls"] == 60
    assert record.content_hash == evidence.content_hash() == document.manifest["content_hash"]
    assert not evidence.edited


def test_nothing_of_a_row_survives_but_hashes(build_set, calls, folder):
    told = calls(40)
    told[3]["turns"].insert(0, agent("Hello Lina, is 0555 123 456 yours, or lina@example.com?"))
    build_set(told)
    files = [path for path in folder.root.rglob("*") if path.is_file()]
    raw = b"".join(path.read_bytes() for path in files).decode()
    assert "episode_id" in raw
    raw = SPELT_BY_CHANCE.sub("", raw)
    for word in ("Lina", "0555", "966555", "example.com", "C-3", "expensive", "Hello"):
        assert word not in raw


def test_propensities_are_shares_over_both_sides(build_set, calls):
    _, evidence = build_set(calls(80))
    counts = defaultdict(Counter)
    for row in evidence.transitions():
        counts[row.state][row.move] += 1
    for row in evidence.transitions():
        seen = counts[row.state]
        assert row.propensity == pytest.approx(seen[row.move] / seen.total(), abs=1e-15)


def test_pairs_come_from_the_fit_calls_and_stay_right_in_the_fit_part(build_set, calls):
    _, evidence = build_set(calls(80))
    document = evidence.document
    fit = [row for row in document.transitions if row.split == "fit"]
    occurring = {row.state for row in fit}
    assert set(document.states[: len(occurring)]) == occurring
    wanted = [pair[:3] for pair in preferences(fit)]
    assert document.named_pairs == wanted
    assert len(wanted) > 5
    named = [
        (document.states[s], document.moves[better], document.moves[worse])
        for s, better, worse in document.pairs
    ]
    assert named == wanted
    part = evidence.part("fit")
    assert [
        (part.states[s], part.moves[better], part.moves[worse]) for s, better, worse in part.pairs()
    ] == wanted


def test_states_of_held_out_calls_alone_stand_last():
    """So that whoever drops them shifts nobody's position."""
    rows = Rows(["greet", "close"], {"won": 1.0, "lost": 0.0, "follow_up": 0.5}, seed=7)
    out = next(f"call-{at}" for at in range(99) if side(f"call-{at}", seed=7) == "held_out")
    fit = next(f"call-{at}" for at in range(99) if side(f"call-{at}", seed=7) == "fit")
    rows.add(out, "won", [Reading("greet", 3, 5, "price"), Reading("close", 0, 5, "none")])
    rows.add(fit, "lost", [Reading("greet", 1, 5, "none"), Reading("greet", 0, 5, "none")])
    assert rows.states() == ["0:5:none", "1:5:none", "3:5:price"]
    assert rows.propensities().tolist() == [[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]]


def test_a_turn_that_nobody_could_label_costs_the_call_nothing():
    """Readers that drop such turns, as the SDK does, would drop the end of the call with the last one."""
    rows = Rows(["greet", "close"], {"won": 100.0}, seed=7)
    named = ["unknown", "greet", "unknown", "close", "unknown"]
    rows.add("call-1", "won", [Reading(move, at, 5, "none") for at, move in enumerate(named)])
    rows.add("call-2", "won", [Reading("unknown", 0, 5, "none")])
    told = list(rows.transitions())
    assert [(row.move, row.next_state, row.terminal, row.done, row.ret, row.propensity) for row in told] == [
        ("unknown", "1:5:none", 0.0, False, 100.0, None),
        ("greet", "3:5:none", 0.0, False, 100.0, 1.0),
        ("unknown", "3:5:none", 0.0, False, 100.0, None),
        ("close", None, 100.0, True, 100.0, 1.0),
        ("unknown", None, 0.0, False, 0.0, None),
    ]
    assert (rows.calls, rows.unlabelled_calls, rows.unlabelled_turns) == (1, 1, 3)
    (kept,) = Evidence(Document(moves=rows.moves, transitions=told)).by_episode()
    assert [(row.t, row.terminal, row.done, row.next_state) for row in kept] == [
        (1, 0.0, False, "3:5:none"),
        (3, 100.0, True, None),
    ]


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097])
def test_a_streamed_document_is_the_document(tmp_path, count):
    rows = Rows(["greet"], {"won": 1.0}, seed=7)
    for at in range(count):
        rows.add(f"call-{at}", "won", [Reading("greet", at % 3, 5, "none")])
    told = Document(kind="real", env="acme", created_at="2026-01-01T00:00:00.000Z", moves=["greet"])
    content_hash, set_id = write_document(tmp_path / "x.json", told, rows, {"source": "test"})
    found = msgspec.json.decode((tmp_path / "x.json").read_bytes(), type=Document)
    assert found.transitions == list(rows.transitions())
    assert found.id == set_id
    assert found.manifest == {"source": "test", "content_hash": content_hash}
    assert Evidence(found).content_hash() == content_hash


# -------------------------------------------------------------------- reading


def test_the_agents_words_never_reach_the_state(build_set):
    """Cues of every objection and stage in the agent's turns only: the state stays where every call begins."""
    world = load_world()
    planted = " ".join(cue for one in (*world.objections.values(), *world.stages) for cue in one.cues)
    told = [
        {
            "call_id": str(at),
            "outcome": "Won" if at % 2 else "Lost",
            "turns": [agent(f"Hello. {planted}"), customer("Hmm."), agent(planted), customer("Yes.")],
        }
        for at in range(30)
    ]
    _, evidence = build_set(told)
    assert {row.state for row in evidence.transitions()} == {"0:5:none"}


def test_the_state_is_what_the_customer_said_before_the_turn(build_set):
    turns = [
        agent("Hello"), customer("It is too expensive"), agent("I understand your concern"), customer("sounds good"),
        agent("Would you like to visit?"), customer("can i see it? my wife"), agent("Goodbye"), customer("price"),
    ]  # fmt: skip
    told = [{"call_id": str(at), "outcome": "Won" if at % 2 else "Lost", "turns": turns} for at in range(30)]
    _, evidence = build_set(told)
    for call in evidence.by_episode():
        assert [(row.state, row.move) for row in call] == [
            ("0:5:none", "greet"),
            ("2:5:price", "handle_objection"),
            ("2:5:none", "propose_viewing"),
            ("3:5:family", "close"),
        ]


def test_the_last_kept_turn_carries_the_outcome(build_set, calls):
    _, evidence = build_set(calls(60), max_turns=2)
    assert {len(call) for call in evidence.by_episode()} == {2}
    assert Counter(call[-1].terminal for call in evidence.by_episode()) == {100.0: 20, 40.0: 20, 0.0: 20}


def test_cues_are_the_users(build_set, tmp_path, calls):
    (tmp_path / "world.toml").write_text(
        'otherwise = "unknown"\n[moves.hi]\ncues = ["hello"]\n[moves.rest]\ncues = ["LOOKING for"]\n'
        "[objections.none]\n[[stages]]\n[outcomes]\nBooked_visit = 'won'\n'no interest' = 'lost'\n"
    )
    record, evidence = build_set(calls(90), world=load_world(tmp_path / "world.toml"))
    assert evidence.moves == ["hi", "rest"]
    assert {row.state for row in evidence.transitions()} == {"0:5:none"}
    assert (
        record.counts["unlabelled_turns"]
        == sum(row.move == "unknown" for row in evidence.document.transitions)
        > 0
    )
    assert record.counts["left_out"]["unmapped_outcome"] == 30


# ------------------------------------------------------------ sample and counts


def test_rows_that_are_left_out_are_counted_by_reason(build_set, calls):
    told = calls(40)
    more = [
        told[0], {**told[1], "turns": [customer("Hello?")]} | {"call_id": "x"}, {**told[2], "outcome": None},
        {**told[3], "outcome": "Voicemail"}, {**told[4], "outcome": "Odd"}, {**told[5], "call_id": None}, b"{half",
    ]  # fmt: skip
    record, _ = build_set([*told, *more])
    assert record.counts["left_out"] == {
        "duplicate_call": 1, "no_agent_turn": 1, "no_outcome": 1, "ignored_outcome": 1, "unmapped_outcome": 1,
        "no_call_id": 1, "bad_json": 1,
    }  # fmt: skip
    assert record.counts["rows"] == 47
    assert record.counts["labels"]["Voicemail"] == 1


def test_the_same_seed_gives_the_same_set_in_any_order(build_set, calls):
    told = calls(120)
    first, one = build_set(told, calls=50)
    again, _ = build_set(told, calls=50)
    assert first.content_hash == again.content_hash
    assert first.id != again.id or first.path != again.path
    _, turned = build_set(told[::-1], calls=50)
    rows = {row.episode_id: row.split for row in one.transitions()}
    assert rows == {row.episode_id: row.split for row in turned.transitions()}
    assert len(rows) == 50
    _, other = build_set(told, calls=50, seed=8)
    assert not rows.keys() & {row.episode_id for row in other.transitions()}


def test_calls_that_wait_to_be_written_are_written_in_between(build_set, calls, monkeypatch):
    told = calls(200)
    record, _ = build_set(told, calls=40)
    monkeypatch.setattr("pytest_evalharness.engines.evidence.sampling._MOST_WAITING", 3)
    again, _ = build_set(told, calls=40)
    assert again.content_hash == record.content_hash


def test_a_free_text_outcome_fills_neither_memory_nor_document(build_set, calls):
    told = [
        *calls(40),
        *({"call_id": f"o{at}", "outcome": f"note {at} of 0555123456{at}"} for at in range(500)),
    ]
    record, evidence = build_set(told)
    assert len(record.counts["labels"]) <= 201
    assert record.counts["left_out"]["unmapped_outcome"] == 500
    assert "0555" not in SPELT_BY_CHANCE.sub("", json.dumps(evidence.to_dict()))


def test_a_label_that_is_shown_shortened_keeps_its_meaning(build_set, calls, tmp_path):
    long = f"call me on 0555 123 456 {'x' * 80}"
    (tmp_path / "outcomes.toml").write_text(f'"{long}" = "won"\n')
    told = [{**one, "outcome": long} if one["outcome"] == "Booked Visit" else one for one in calls(60)]
    record, evidence = build_set(told, overrides=tmp_path / "outcomes.toml")
    (shown,) = [label for label in evidence.document.outcome_map if label.startswith("call me on [phone] xx")]
    assert evidence.document.outcome_map[shown] == "won"
    assert record.counts["labels"][shown] == 20


# ------------------------------------------------------------- interrupted


class Failing(RuleTagger):
    """Reads some calls and then loses its server."""

    def read(self, calls):
        for at, found in enumerate(super().read(calls)):
            if at == 5:
                raise ServerUnreachable("gone")
            yield found


def test_an_interrupted_build_goes_on_with_its_sample(build_set, calls, export, folder):
    path = export(calls(60))
    with pytest.raises(ServerUnreachable):
        build_set(path, tagger=Failing(load_world()))
    (left,) = [one for one in (folder.root / "builds").iterdir() if one.is_dir()]
    assert left.stat().st_mode & 0o077 == 0
    said = []
    record, _ = build_set(path, on_progress=lambda share, what: said.append((share, what)))
    assert said[0][1] == "going on with 60 calls that were sampled before"
    assert not any("reading the export" in what for _, what in said)
    assert [share for share, _ in said] == sorted(share for share, _ in said)
    assert said[-1] == (1.0, "done")
    assert record.counts["calls"] == 60
    assert not left.exists()  # nothing of what was said stays
    fresh, _ = build_set(path)
    assert fresh.content_hash == record.content_hash


def test_what_customers_said_is_not_kept_for_a_build_that_nobody_goes_on_with(
    build_set, calls, export, folder
):
    with pytest.raises(ServerUnreachable):
        build_set(export(calls(60)), tagger=Failing(load_world()))
    with pytest.raises(ServerUnreachable):
        build_set(export(calls(70), "more.jsonl.gz"), tagger=Failing(load_world()))
    old, young = sorted(one for one in (folder.root / "builds").iterdir() if one.is_dir())
    os.utime(old, (0, 0))
    build_set(export(calls(80), "third.jsonl.gz"))
    assert [one for one in (folder.root / "builds").iterdir() if one.is_dir()] == [young]


def test_another_export_under_the_same_name_is_read_anew(build_set, calls, export):
    with pytest.raises(ServerUnreachable):
        build_set(export(calls(60)), tagger=Failing(load_world()))
    record, _ = build_set(export(calls(70)))
    assert record.counts["calls"] == 70


def test_one_set_is_built_by_one_process_at_a_time(build_set, calls, export):
    path = export(calls(60))

    class Meanwhile(RuleTagger):
        def read(self, told):
            with pytest.raises(UsageError, match="being built by another process"):
                build_set(path)
            yield from super().read(told)

    record, _ = build_set(path, tagger=Meanwhile(load_world()))
    assert record.counts["calls"] == 60


# ----------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"outcome": None}, ("no call has a usable outcome", "look at the export")),
        ({"outcome": "Voicemail"}, ("(60 rows read; left out: ignored_outcome 60)", "look at the export")),
        ({"outcome": "Odd"}, ("no call has a usable outcome", "--outcomes: 'Odd' (60)")),
        ({"outcome": "Lost"}, ("all 60 calls ended alike, each worth 0", "--outcomes")),
        ({"outcome": "Won"}, ("all 60 calls ended alike, each worth 100", "--outcomes")),
        (
            {"turns": [customer("Hi")]},
            ("no call with a usable outcome has an agent's turn", "look at the export"),
        ),
    ],
)
def test_an_export_without_what_evidence_needs(build_set, calls, folder, change, told):
    with pytest.raises(NotEnoughEvidence) as refusal:
        build_set([{**one, **change} for one in calls(60)])
    why, do = told
    assert why in refusal.value.what
    assert do in refusal.value.next_step
    assert refusal.value.not_done == "no set was written"
    assert folder.sets() == []
    assert not any(one.is_dir() for one in (folder.root / "builds").iterdir())


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_calls_for_two_sides(build_set, calls, count):
    with pytest.raises(NotEnoughEvidence, match="both sides need some"):
        build_set(calls(count))


def test_more_calls_than_a_set_holds(tmp_path):
    world = load_world()
    with pytest.raises(UsageError, match="100,000 calls at most, not 100,001"):
        BuildPlan("acme", tmp_path, world, outcomes_of(world), calls=100_001)


@pytest.mark.parametrize("nothing", [{"calls": 0}, {"calls": -1}, {"max_turns": 0}])
def test_a_set_of_nothing(tmp_path, nothing):
    world = load_world()
    with pytest.raises(UsageError, match="holds nothing"):
        BuildPlan("acme", tmp_path, world, outcomes_of(world), **nothing)


def test_whoever_watched_has_gone(build_set, calls):
    """That is no fault of the data folder."""

    def gone(*_):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        build_set(calls(60), on_progress=gone)


def test_a_cut_export_leaves_nothing(build_set, calls, export, folder):
    path = export(calls(60))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EvidenceUnreadable, match="cut"):
        build_set(path)
    assert not any(one.is_dir() for one in (folder.root / "builds").iterdir())


@pytest.mark.parametrize("place", ["builds", "datasets", "evidence-sets", "evidence.key"])
def test_a_data_folder_that_cannot_be_used(build_set, calls, folder, place):
    folder.root.mkdir()
    (folder.root / place).touch() if place != "evidence.key" else (folder.root / place).mkdir()
    environ = {} if place == "evidence.key" else {"EVALHARNESS_EVIDENCE_KEY": "a long secret of tests"}
    with pytest.raises(
        JournalUnavailable, match=r"the data folder .* cannot be used: (File exists|Not a dir|Is a dir)"
    ):
        build_set(calls(60), environ=environ)


def test_an_edited_set_is_noticed(build_set, calls, tmp_path):
    record, evidence = build_set(calls(60))
    told = evidence.to_dict()
    told["transitions"][0]["terminal"] += 1
    assert Evidence.from_dict(told).edited
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(evidence.to_dict(), indent=3).encode()))
    assert not Evidence.load(packed).edited
    assert Evidence.load(packed).content_hash() == record.content_hash
