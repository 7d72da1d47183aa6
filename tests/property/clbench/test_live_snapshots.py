"""Whatever order snapshots of a pass are seen in, and whatever is torn between them, no instance that was seen is lost."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.clbench.campaign.forecast import forecast, least_complete_first
from pytest_evalharness.clbench.campaign.live import LivePass, LiveReader, merged
from pytest_evalharness.clbench.campaign.live_passes import live_pass
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import as_json, lines
from pytest_evalharness.clbench.campaign.streaks import is_poisoned, streaks
from pytest_evalharness.clbench.campaign.watch import Watched, watch
from pytest_evalharness.clbench.domains import BY_TASK, POKER

SHARED_MEMORY = Path("/dev/shm")
NOW = 1_780_000_000.0
REWARDS = st.sampled_from([None, -1.0, -0.5, 0.0, 0.1964, 0.25, 0.5, 1.5])
COSTS = st.sampled_from([None, 0.0, 0.01, 2.0])


class Jumping:
    """A wall clock that a test sets, and one that goes on."""

    def __init__(self) -> None:
        self.wall, self.steady = NOW, 0.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def wait(self, seconds: float, stop: object = None) -> bool:
        raise NotImplementedError


def snapshot(outcomes: list[tuple[float | None, float | None]], done: int, open_turns: int) -> bytes:
    """The pass after `done` instances, of which each took two turns, and some turns of the next one."""
    turns = [f"i{at}" for at in range(done) for _ in range(2)] + [f"i{done}"] * open_turns
    told = {
        "status": "running",
        "execution": {
            "start_time": "10:00",
            "wall_duration_seconds": 30.0 * done,
            "usage": {"interaction": {"cost_usd": done}},
        },
        "interactions": [{"query": {"instance_id": name}, "response": {"metadata": {}}} for name in turns],
        "instance_outcomes": [
            {"instance_id": f"i{at}", "instance_index": at, "reward": reward, "cost_usd": cost}
            for at, (reward, cost) in enumerate(outcomes[:done])
        ],
    }
    return json.dumps(told, indent=2).encode()


def names(one: LivePass) -> set[str]:
    return {outcome.instance_id for outcome in one.outcomes}


OUTCOMES = st.lists(st.tuples(REWARDS, COSTS), min_size=1, max_size=8)


@given(st.data())
def test_looks_at_one_pass_make_one_whole_in_any_order(data):
    outcomes = data.draw(OUTCOMES)
    moments = st.lists(st.tuples(st.integers(0, len(outcomes)), st.integers(0, 3)), min_size=1, max_size=6)
    looks = [live_pass(snapshot(outcomes, *moment)) for moment in data.draw(moments)]
    order = data.draw(st.permutations(looks))
    whole = order[0]
    for one in order[1:]:
        before = names(whole)
        whole = merged(whole, one)
        assert before | names(one) == names(whole)
        assert len(whole.outcomes) == len(names(whole))
    assert merged(whole, whole) == whole
    first, *rest = looks
    again = first
    for one in rest:
        again = merged(again, one)
    assert (again.outcomes, again.interactions, again.open_turns) == (
        whole.outcomes,
        whole.interactions,
        whole.open_turns,
    )


WRITES = st.lists(
    st.tuples(
        st.integers(0, 8),
        st.integers(0, 200),
        st.sampled_from(["replaced", "torn", "in place", "gone", "empty"]),
        st.sampled_from([0.0, 1.0, 4_000.0, -90_000.0, 90_000.0]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(OUTCOMES, WRITES)
def test_a_reader_never_loses_an_instance_and_never_breaks(outcomes, writes):
    """Snapshots are written in any order, torn, in place, taken away, while the wall clock jumps."""
    clock = Jumping()
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as named:
        root = Path(named)
        folder, live = root / "final_results" / "runs" / "x", root / "results" / POKER / "live" / "g"
        folder.mkdir(parents=True)
        live.mkdir(parents=True)
        entry = {
            "task": POKER,
            "status": "running",
            "live_manifest_path": f"results/{POKER}/live/g/manifest.json",
        }
        (folder / "manifest.json").write_text(json.dumps({"status": "running", "tasks": [entry]}))
        reader, watched, seen, path = LiveReader(root, folder, clock=clock), None, set(), live / "run_1.json"
        for at, (done, open_turns, how, jump) in enumerate(writes):
            whole = snapshot(outcomes, min(done, len(outcomes)), open_turns)
            write(path, whole, how, NOW - 50_000.0 + at)
            clock.wall += jump
            clock.steady += abs(jump)
            told = reader.read()
            (one,) = [each for each in told.passes() if each.run_index == 0] or [LivePass(POKER, 0)]
            if how in {"replaced", "in place"}:
                seen |= {f"i{k}" for k in range(min(done, len(outcomes)))}
                assert one.problem is None
            assert names(one) >= seen
            watched = everything_is_told(told, watched)


def write(path: Path, whole: bytes, how: str, when: float) -> None:
    if how == "gone":
        path.unlink(missing_ok=True)
        return
    content = {"torn": whole[: len(whole) // 2], "empty": b""}.get(how, whole)
    target = path if how == "in place" else path.with_suffix(".tmp")
    target.write_bytes(content)
    os.utime(target, (when, when))
    if target != path:
        target.replace(path)


def everything_is_told(told, watched: Watched | None) -> Watched:
    """Whatever a snapshot holds, there is a forecast, a watch, a table and JSON of it."""
    now = watch(told, watched)
    standing = Standing(told, now.alarms, money=1.0)
    future = forecast(told)
    assert future.dollars_left >= 0.0
    assert all(one.seconds_left is None or one.seconds_left >= 0.0 for one in future.tasks)
    assert all(0.0 <= one.completion <= 1.0 for one in least_complete_first(told))
    assert all(line.isprintable() for line in lines(standing))
    json.dumps(as_json(standing), allow_nan=False)
    return now


@given(OUTCOMES, st.booleans(), st.sampled_from(sorted(BY_TASK)))
def test_streaks_are_the_longest_runs_of_poisoned_instances(outcomes, priced, task):
    one = replace(live_pass(snapshot(outcomes, len(outcomes), 0)), task=task)
    bad = [is_poisoned(one, outcome, priced=priced) for outcome in one.outcomes]
    found = streaks(one, priced=priced, least=1)
    assert [name for streak in found for name in streak.instances] == [
        f"i{at}" for at, is_bad in enumerate(bad) if is_bad
    ]
    for streak in found:
        first, last = int(streak.instances[0][1:]), int(streak.instances[-1][1:])
        assert first == 0 or not bad[first - 1]
        assert streak.lasting == (last == len(bad) - 1)
        assert last == len(bad) - 1 or not bad[last + 1]
    assert streaks(one, priced=priced, least=3) == tuple(s for s in found if len(s.instances) >= 3)
