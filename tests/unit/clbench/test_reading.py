"""Damaged, hostile and odd files: a sentence each, never another run."""

import gzip
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.clbench import artifact as reading
from pytest_evalharness.clbench.artifact import Unreadable, artifact_of
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.clbench.scales import Unit, unit_of
from pytest_evalharness.clbench.shapes import Metadata, Outcome
from pytest_evalharness.clbench.trust import checks
from pytest_evalharness.errors import RunUnreadable

SALES, COHORT = "sales_prediction", "cohort_studies"


@pytest.fixture
def one(tmp_path, clbench_files):
    """A run of one task, and its artifact's path."""
    told = clbench_files.artifact(SALES, clbench_files.plain([0.1] * 4), [clbench_files.plain([0.2] * 4)])
    folder = clbench_files.publish(tmp_path / "mine", {SALES: told}, packed=False)
    return folder, folder / "tasks" / f"{SALES}.json", told


def problem(folder):
    """What is wrong with the run's only spoilt file."""
    run = read_run(folder)
    with pytest.raises(RunUnreadable, match="cannot be read whole") as caught:
        run.require_readable()
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    (why,) = run.unreadable.values()
    return why


def spoilt(told, path, value):
    *way, last = path
    target = told
    for step in way:
        target = target[step]
    target[last] = value
    return json.dumps(told)


OUTCOME = ("run_traces", 0, "trace", "result", "instance_outcomes")


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("kind",), "live_manifest", "its kind is 'live_manifest'"),
        (("kind",), 3, "Expected `str | null`, got `int` - at `$.kind`"),
        (("summary", "task", "name"), "exploitable_poker", "holds the task 'exploitable_poker'"),
        (("run_traces",), "none", "at `$.run_traces`"),
        ((*OUTCOME, 1, "reward"), "high", "instance_outcomes[1].reward"),
        ((*OUTCOME, 1, "reward"), True, "instance_outcomes[1].reward"),
        ((*OUTCOME, 1, "instance_id"), None, "instance_id"),
        ((*OUTCOME, 1, "instance_id"), "i0", "rollout 0 has the instance 'i0' twice"),
        ((*OUTCOME, 1, "metadata"), [1], "metadata"),
        ((*OUTCOME, 1, "cost_usd"), 1e10, "no run earns or costs"),
        (("summary", "task", "params", "expected_num_instances"), "4", "expected_num_instances"),
        (("run_traces", 0, "run_index"), -1, "a rollout is -1"),
    ],
)
def test_a_wrong_value_is_named(one, path, value, says):
    folder, file, told = one
    file.write_text(spoilt(told, path, value))
    assert says in problem(folder)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "it is empty"),
        (b"  \n", "it is empty"),
        (b"{", "truncated"),
        (b"\xff\xfe{}", "invalid"),
        (b"[]", "Expected `object`"),
        (b"{}", "neither a summary nor rollouts"),
        (b'{"summary": {"task": {"params": {"num_instances": NaN}}}}', "JSON is malformed"),
        (b"[" * 100_000, "object"),
        (b'{"x": ' * 100_000, "nested too deeply"),
        (gzip.compress(b"{}")[:-4], "spoilt gzip"),
        (b"\x1f\x8b\x08junk", "spoilt gzip"),
    ],
)
def test_what_is_no_artifact_is_told_in_words(one, raw, says):
    folder, file, _ = one
    file.write_bytes(raw)
    assert says in problem(folder)


@pytest.mark.parametrize(
    ("number", "says"), [("1e999", "out of range"), ("-1e308", "no run earns or costs: -1e+308")]
)
def test_a_number_that_would_overflow_is_refused(one, number, says):
    folder, file, told = one
    file.write_text(json.dumps(told).replace('"reward": 0.2', f'"reward": {number}', 1))
    assert says in problem(folder)


@pytest.mark.parametrize("cost", [-1.0, 1e300])
def test_a_cost_that_no_run_has_is_refused(one, cost):
    folder, file, told = one
    told["run_traces"][0]["trace"]["execution"]["usage"]["interaction"]["cost_usd"] = cost
    file.write_text(json.dumps(told))
    assert "a cost that no run has" in problem(folder)


def test_a_file_that_unpacks_to_too_much_is_refused(one, monkeypatch):
    folder, file, _ = one
    monkeypatch.setattr(reading, "_MOST", 1 << 20)
    file.write_bytes(gzip.compress(b" " * (2 << 20)))
    assert "unpacks to more than 1 MiB" in problem(folder)
    file.write_bytes(b" " * (2 << 20))
    assert "larger than 1 MiB" in problem(folder)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(one):
    folder, file, _ = one
    file.unlink()
    os.mkfifo(file)
    assert problem(folder) == "it is no ordinary file"


def test_two_files_of_one_task_are_a_question(one):
    folder, file, _ = one
    (file.parent / f"{SALES}.json.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert "which of the two is the result?" in problem(folder)


def test_the_same_rollout_twice_is_refused(one):
    folder, file, told = one
    told["run_traces"].append(told["run_traces"][0])
    file.write_text(json.dumps(told))
    assert problem(folder) == "it has the rollout 0 twice"


def test_a_file_that_is_packed_under_a_plain_name_is_read(one):
    folder, file, _ = one
    file.write_bytes(gzip.compress(file.read_bytes()))
    assert len(read_run(folder).tasks[SALES].rollouts) == 1


@pytest.mark.parametrize(
    "make",
    [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("x")],
    ids=["absent", "empty", "a file"],
)
def test_what_is_no_run_is_refused(tmp_path, make):
    make(tmp_path / "x")
    with pytest.raises(RunUnreadable, match="is no run directory"):
        read_run(tmp_path / "x")


def test_a_loop_in_the_place_of_the_tasks_is_no_run(one):
    folder, file, _ = one
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(file.parent)
    with pytest.raises(RunUnreadable, match="is no run directory"):
        read_run(folder)


def test_names_from_outside_cannot_steer_a_terminal(one):
    folder, file, told = one
    file.write_text(spoilt(told, ("kind",), "\x1b[2J"))
    with pytest.raises(RunUnreadable) as caught:
        read_run(folder).require_readable()
    assert "\x1b" not in str(caught.value)


# -------------------------------------------------------- the folder's files


def together(folder, told):
    (folder / "task_artifacts.json.gz").write_bytes(gzip.compress(json.dumps(told).encode()))


def test_a_tasks_own_file_comes_before_the_one_of_all(one, clbench_files):
    folder, _, told = one
    other = clbench_files.artifact(SALES, clbench_files.plain([0.1] * 4), [])
    beside = clbench_files.artifact(COHORT, clbench_files.plain([0.1]), [])
    together(folder, {SALES: other, COHORT: beside, "exploitable_poker": None})
    run = read_run(folder)
    assert sorted(run.tasks) == [COHORT, SALES]
    assert len(run.tasks[SALES].rollouts) == len(told["run_traces"])
    assert run.separate == {SALES}


def test_a_copy_does_not_take_a_spoilt_files_place(one):
    folder, file, told = one
    together(folder, {SALES: told})
    file.write_text("{")
    assert read_run(folder).tasks == {}
    assert "truncated" in problem(folder)


def test_other_files_are_told_and_left_alone(one):
    folder, file, _ = one
    (file.parent / "chess.json").write_text("{")
    run = read_run(folder)
    run.require_readable()
    assert run.unknown == ("chess",)
    assert "beside chess" in checks(run)[0].seen


def test_the_manifest_names_the_run(one):
    folder, *_ = one
    assert read_run(folder).name == "mine"
    (folder / "manifest.json").write_text(json.dumps({"run_name": "theirs", "poll_interval_ms": 2000}))
    assert read_run(folder).name == "theirs"
    (folder / "manifest.json").write_text('{"run_name": 3}')
    assert "run_name" in problem(folder)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_is_a_sentence_or_an_artifact(one, data):
    raw = bytearray(one[1].read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    told = ""
    try:
        told = artifact_of(SALES, bytes(raw)).task
    except Unreadable as why:
        told = str(why)
    assert told


# --------------------------------------------------------------------- units


def study(reference, agent, reward, *, unit=None, metric=None):
    told = Metadata(kl_unit=unit, mean_reference_kl=reference, mean_kl_divergence=agent)
    return Outcome("s", reward=reward, raw_metric_name=metric, metadata=told)


@pytest.mark.parametrize(
    ("outcome", "twin", "unit"),
    [
        (study(0.2, 0.1, 0.1, unit="bits"), None, Unit.BITS),
        (study(0.2, 0.1, 0.1, unit="nats"), None, Unit.NATS),
        (study(0.2, 0.1, 0.1, unit="bans"), None, Unit.UNKNOWN),
        (study(0.2, 0.1, 0.5), None, Unit.NATS),
        (study(0.2, 0.1, 0.4, metric="kl_skill_score"), None, Unit.NATS),
        (study(0.2, 0.1, 0.1, metric="kl_information_gain_bits"), None, Unit.BITS),
        (study(0.2, 0.1, 0.1), None, Unit.UNKNOWN),
        (study(0.2, 0.1, 0.1), (0.2885390, 0.1442695), Unit.NATS),
        (study(0.2, 0.1, 0.1), (0.2, 0.1), Unit.BITS),
        (study(0.2, 0.1, 0.1), (0.7, 0.1), Unit.UNKNOWN),
        (study(None, 0.1, 0.1), None, Unit.UNKNOWN),
        (Outcome("s", reward=0.1), None, Unit.UNKNOWN),
    ],
)
def test_the_unit_is_what_the_data_tell(outcome, twin, unit):
    assert unit_of(outcome, twin) is unit


def test_the_other_list_of_a_trace_tells_the_unit(clbench_files):
    told = {"mean_reference_kl": 0.2, "mean_kl_divergence": 0.1}
    in_bits = {"mean_reference_kl": 0.288539, "mean_kl_divergence": 0.1442695, "kl_unit": "bits"}
    nested = [clbench_files.outcome("s0", 0.1, metadata=told)]
    top = [clbench_files.outcome("s0", 0.1443, metadata=in_bits)]
    trace = clbench_files.trace(nested, 0, instance_outcomes=top)
    raw = json.dumps(clbench_files.artifact(COHORT, nested, [trace])).encode()
    (rollout,) = artifact_of(COHORT, raw).rollouts
    assert unit_of(rollout.outcomes[0], rollout.in_bits["s0"]) is Unit.NATS
