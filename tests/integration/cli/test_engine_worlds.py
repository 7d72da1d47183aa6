"""`evalharness engine run`, `demo`, and simulated evidence: worlds whose truth is known."""

import json

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.engines import worlds
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.worlds import transcripts


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    """What is kept for later benchmarks stays in the test's own folder."""
    monkeypatch.chdir(tmp_path)


def test_an_engine_beside_the_exact_optimum(capsys):
    assert (
        main(["engine", "run", "value-iteration", "--world", "acme-small", "--episodes", "20", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    exact = told["exact"]
    assert exact["worst"] < exact["random"] < exact["today"] < exact["table"] <= exact["optimum"] + 1e-9
    assert told["measured"]["calls"] == 20
    assert main(["engine", "run", "value-iteration", "--world", "acme-small", "--episodes", "20"]) == 0
    text = capsys.readouterr().out
    assert f"optimum     {exact['optimum']:.2f}" in text
    assert "simulated customers of the world acme-small, seed 3" in text
    assert "20 calls played with it" in text


def test_a_knob_that_counts_as_another_value_is_told(capsys):
    knob = ["--param", "alpha=much"]
    assert main(["engine", "run", "sarsa", "--world", "acme-small", "--episodes", "1", *knob]) == 0
    assert "note: the knob alpha=much counts as 0.1" in capsys.readouterr().out
    words = ["--engines", "sarsa", "--bootstrap", "10", *knob]
    assert main(["engine", "benchmark", "--evidence", "sim:acme-small", *words]) == 0
    assert "note: sarsa: the knob alpha=much counts as 0.1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["q-lerning"], 4, "did you mean 'q-learning'?"),
        (["sarsa", "--world", "acm"], 4, "did you mean 'acme'?"),
        (["sarsa", "--param", "alhpa=1"], 4, "sarsa has no knob 'alhpa'"),
        (["rmax", "--world", "acme"], 11, "its limit is 100 states"),
        (["mine", "--file", "none.py"], 4, "none.py"),
        (["rmax", "--world", "acme-small", "--param", "ppo.lr=1"], 4, "rmax has no knob 'ppo.lr'"),
    ],
)
def test_what_cannot_be_run(capsys, words, code, why):
    assert main(["engine", "run", *words]) == code
    assert why in capsys.readouterr().err


def test_simulated_evidence_is_named_as_such(capsys):
    words = ["--engines", "sarsa", "--bootstrap", "10"]
    assert main(["engine", "benchmark", "--evidence", "sim:acme-small", *words]) == 0
    told = capsys.readouterr().out
    assert "note: synthetic calls: simulated customers of the world acme-small, seed 7" in told
    assert "note: the evidence is simulated: no customer made these calls" in told
    assert "tagger n/a, propensities logged" in told  # nobody had to read moves out of words
    assert main(["engine", "benchmark", "--evidence", "sim:nowhere", *words]) == 4


def test_the_demo_holds_scores_against_the_truth(capsys, tmp_path):
    assert main(["engine", "demo", "-n", "1500", "--keep", str(tmp_path / "kept")]) == 0
    told = capsys.readouterr().out
    world = worlds.named("acme-phone")
    assert "note: synthetic calls: invented calls of the world acme-phone, seed 7" in told
    assert f"today {world.truth['today']:.2f}" in told
    assert "truly" in told
    report = json.loads((tmp_path / "kept" / "report.json").read_text())
    for row in report["rows"]:
        if row["status"] == "done":
            assert f"truly {world.worth_of(row['policy']):>6.2f}" in told
    evidence = Evidence.load(tmp_path / "kept" / "evidence.json")
    assert not evidence.edited
    text = (tmp_path / "kept" / "evidence.json").read_text()
    assert "+971" not in text


def test_what_was_said_is_read_back_as_what_was_played(tmp_path):
    """The export's phrases lose nothing: the tagger finds every state and move that the world had."""
    import numpy as np

    from pytest_evalharness.cli.engine_demo import made
    from pytest_evalharness.engines.worlds.playing import play

    world = worlds.named("acme-phone")
    evidence = made(world, tmp_path, 300, 5)
    played = play(world, world.today, 300, np.random.default_rng(5))
    read = sorted((row.state, row.move, row.terminal) for row in evidence.transitions())
    truth = sorted(
        (world.states[s], world.moves[m], float(t))
        for s, m, t in zip(played.state, played.move, played.terminal, strict=True)
    )
    # Terminal values are told on a call's last row only, in both.
    assert [one[:2] for one in read] == [one[:2] for one in truth]
    assert sum(one[2] for one in read) == pytest.approx(sum(one[2] for one in truth))
    assert evidence.document.counts["left_out"]["ignored_outcome"] > 0


def test_a_world_of_many_moods_cannot_be_heard(tmp_path):
    with pytest.raises(ValueError, match="nothing said tells it"):
        transcripts.export(worlds.named("acme-small"), tmp_path / "x.gz", 10, 1)
