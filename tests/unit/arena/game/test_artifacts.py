import json

from pytest_evalharness.arena.game.artifacts import write
from pytest_evalharness.arena.game.match import play


def test_everything_is_written_and_reads_back(tmp_path, forced, seated):
    match = play(forced, seated("keeper-1"), 4, record=True)
    write(match, tmp_path / "episode")
    folder = tmp_path / "episode"
    assert json.loads((folder / "results.json").read_text()) == match.results
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert all(list(event) == ["ts", "player", "key", "value"] for event in events)
    assert len(events) == len(match.events)
    inputs = [json.loads(line) for line in (folder / "inputs.jsonl").read_text().splitlines()]
    assert inputs == [list(row) for row in match.inputs]
    logs = sorted((folder / "logs").iterdir())
    assert [log.name for log in logs] == [f"policy_agent_{slot}.log" for slot in range(8)]
    assert "role: imposter, with slot 3" in logs[2].read_text()
    assert "role: crew" in logs[0].read_text()


def test_a_log_tells_only_what_its_seat_knew(forced, seated):
    match = play(forced, seated("keeper-1"), 4, record=True)
    for slot in set(range(8)) - {2, 3}:
        assert not [line for line in match.logs[slot] if "imposter" in line or "kill" in line]


def test_writing_again_replaces(tmp_path, forced, seated):
    for seed in (1, 2):
        match = play(forced, seated("keeper-1"), seed, record=True)
        write(match, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == match.results
