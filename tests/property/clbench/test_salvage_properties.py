"""Whatever a crash leaves of passes, in however many starts: complete rollouts are kept, others in no artifact, and twice is once."""

import importlib.util
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.salvage import salvage
from pytest_evalharness.clbench.campaign.salvage_plan import TaskState
from pytest_evalharness.clbench.domains import SALES
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.clbench.whole_passes import usable

_PLACE = Path(__file__).parents[2] / "unit" / "clbench" / "campaign" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("laid_campaigns", _PLACE)
campaigns = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(campaigns)

GROUPS = (campaigns.FIRST, campaigns.SECOND, "2026-07-21T08-00-00.000003Z_run-all")
LEFT = st.sampled_from(["whole", "short", "none", "torn", "no result"])
STARTS = st.lists(st.tuples(LEFT, st.tuples(LEFT, LEFT, LEFT), st.booleans()), min_size=1, max_size=3)
"""Of each start: the baseline, three rollouts, and whether the task's process wrote its artifact."""


def lay(laid, group, baseline, rollouts):
    live = laid.head(SALES, group)
    for index, left in zip((None, 0, 1, 2), (baseline, *rollouts), strict=True):
        if left == "none":
            continue
        told = laid.trace(SALES, group, index, 2 if left == "short" else 4)
        if left == "no result":
            told["result"] = None
        raw = json.dumps(told)
        name = "baseline" if index is None else f"run_{index + 1}"
        (live / f"{name}.json").write_text(raw[: len(raw) // 2] if left == "torn" else raw)


def salvaged(laid):
    return salvage(laid.folder, clock=SystemClock(), alive=lambda _: ())


@settings(max_examples=40)
@given(starts=STARTS)
def test_complete_rollouts_are_kept_and_nothing_else(starts):
    with tempfile.TemporaryDirectory() as folder:
        laid = campaigns.Laid(Path(folder) / "clb")
        laid.manifest["tasks"] = [laid.entry(SALES, GROUPS[len(starts) - 1], "running")]
        laid.store()
        for at, (group, (baseline, rollouts, wrote)) in enumerate(zip(GROUPS, starts, strict=False)):
            lay(laid, group, baseline, rollouts)
            if at < len(starts) - 1:  # the next start puts its log aside
                archive = laid.folder / "archive" / GROUPS[at + 1] / SALES
                archive.mkdir(parents=True)
                (laid.folder / "logs" / f"{SALES}.log").rename(archive / f"{SALES}.log")
            if wrote:
                laid.written(SALES, group)
        found = salvaged(laid)
        [left] = found.tasks
        wrote = any(one for *_, one in starts)
        whole = {k for k in range(3) if any(rollouts[k] == "whole" for _, rollouts, _ in starts)}
        based = any(baseline == "whole" for baseline, _, _ in starts)
        assert set(left.complete) == ({0, 1, 2} if wrote else whole)
        full = wrote or (whole == {0, 1, 2} and based)
        begun = based or whole or any({b, *r} != {"none"} for b, r, _ in starts)
        kept = full or whole or based
        state = (
            TaskState.WHOLE
            if full
            else TaskState.PARTIAL
            if kept
            else TaskState.LOST
            if begun
            else TaskState.NOT_BEGUN
        )
        assert left.state is state
        assert (laid.line(SALES)["status"] == "ok") is full
        if kept:
            artifact = read_run(laid.folder).tasks[SALES]
            assert {one.run_index for one in artifact.rollouts} == set(left.complete)
            assert usable(artifact)[1] == ()
            assert (artifact.salvaged is not None and artifact.salvaged.partial) is not full
        else:
            assert not list(laid.folder.glob("tasks/*"))
        assert {one.run_index for one in left.written_off}.isdisjoint(left.complete)
        before = laid.everything()
        assert salvaged(laid).written == ()
        assert laid.everything() == before
