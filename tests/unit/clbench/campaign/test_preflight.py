"""Before the first dollar: what each check sees in a checkout, a key and a machine, and what the whole says."""

import json
import random
import shutil
import subprocess
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign import costs, preflight_checkout, preflight_machine
from pytest_evalharness.clbench.campaign.asking import Answer, ask
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.key_watch import watch_over
from pytest_evalharness.clbench.campaign.parameters import (
    Constructor,
    constructor,
    not_applied,
    resolved,
    unknown,
)
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of
from pytest_evalharness.clbench.campaign.preflight import Answered, Surroundings, preflight
from pytest_evalharness.clbench.campaign.preflight_engine import engine_check, repository_of
from pytest_evalharness.clbench.campaign.preflight_keys import key_checks_of
from pytest_evalharness.clbench.campaign.preflight_orders import Orders, order_check, orders_of, read
from pytest_evalharness.clbench.campaign.preflight_variables import variable_check
from pytest_evalharness.clbench.campaign.preflight_words import lines, plan_lines
from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.errors import NotReady, UsageError
from tests.unit.clbench.campaign.small_checkout import OFFICIAL, lay_down, with_code
from tests.unit.clbench.conftest import artifact, outcome, publish

NO_ENGINE = {"PATH": "/nowhere", "DOCKER_HOST": "unix:///nowhere/docker.sock"}
KEY = "sk-or-v1-not-to-be-printed"


@pytest.fixture
def root(tmp_path):
    return with_code(tmp_path / "clb")


@pytest.fixture
def planned(root, tmp_path):
    """A campaign in the checkout as it is now."""

    def plan(kind=PlanKind.SEED, system="ouroboros", *, inherited=NO_ENGINE, name="mine", **words):
        checkout = open_checkout(str(root), tmp_path, environment=NO_ENGINE)
        return campaign_of(checkout, system, kind, name, inherited=inherited, **words)

    return plan


@pytest.fixture
def provider():
    """A provider that says what it is told to say; calls are noted with their keys."""
    said = SimpleNamespace(limit_remaining=3000.0, credits=3000.0, calls=[])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            said.calls.append((self.path, self.headers["Authorization"]))
            key = {"limit": 9999, "limit_remaining": said.limit_remaining, "limit_reset": None, "usage": 1}
            body = {"data": key if self.path == "/key" else {"total_credits": said.credits, "total_usage": 0}}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        said.url = f"http://127.0.0.1:{server.server_port}"
        yield said
        server.shutdown()


def committed(folder):
    """Makes a folder a git repository with everything in it."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


def look(campaign, home, **more):
    around = Surroundings(
        home, SystemClock(), random.Random(1), NO_ENGINE | more.pop("inherited", {}), **more
    )
    found = preflight(campaign, around)
    return found, {one.name: one for one in found.checks}


def test_the_whole_of_a_seed(planned, tmp_path, provider, monkeypatch):
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12)
    )  # whatever else it holds
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "server.py").touch()
    inherited = {"OPENROUTER_API_KEY": KEY, "OUROBOROS_BENCH_CLONE": str(committed(engine))}
    found, checks = look(planned(), tmp_path, inherited=inherited, key_url=provider.url)
    images = found.campaign.identity()["images"]
    assert list(images) == [f"engine at {engine}"]
    assert checks["engine"].seen == f"{engine} at {images[f'engine at {engine}'][:12]}"
    states = {name: one.state for name, one in checks.items()}
    assert states.pop("revision") is State.UNKNOWN  # it is no git clone
    assert states.pop("containers") is State.FAILED  # and no engine answers
    assert set(states.values()) == {State.OK}, checks
    assert {
        "seed orders",
        "dry run",
        "parameters",
        "key limit",
        "account balance",
        "disk",
        "fingerprint",
    } <= set(states)
    assert provider.calls == [("/key", f"Bearer {KEY}"), ("/credits", f"Bearer {KEY}")]
    assert found.estimate.dollars == pytest.approx(530.0)
    assert found.answer is Answered.NO_GO
    with pytest.raises(NotReady, match=r"^no go: containers") as refused:
        found.require()
    assert "nothing was paid" in str(refused.value)


def test_a_campaign_that_goes_on_pays_for_what_is_missing_only(planned, tmp_path, provider):
    provider.limit_remaining = provider.credits = 60.0
    seen = {"inherited": {"OPENROUTER_API_KEY": KEY}, "key_url": provider.url}
    found, checks = look(planned(), tmp_path, left=("sales_prediction",), **seen)
    assert found.estimate.dollars == pytest.approx(26.0 * (1 + costs.BASELINE_SHARE))
    assert checks["spendable"].state is State.OK
    nothing = costs.estimate_of(replace(planned(), tasks=()))
    assert costs.cost_check(nothing).seen == "$0.00: nothing is left to be run"
    assert costs.budget_check(planned(), nothing).state is State.OK


def test_nothing_secret_and_no_prompt_is_told_or_kept(planned, tmp_path, provider):
    inherited = {"OPENROUTER_API_KEY": KEY, "OUROBOROS_API_KEY": "another-secret-value"}
    found, _ = look(
        planned(inherited=NO_ENGINE | inherited), tmp_path, inherited=inherited, key_url=provider.url
    )
    told = "\n".join(lines(found)) + found.record.read_text()
    for hidden in (KEY, "another-secret-value", "a secret prompt", "a secret brief"):
        assert hidden not in told
    assert found.record.stat().st_mode & 0o077 == 0
    kept = json.loads(found.record.read_text())
    assert kept["identity"]["environment"]["OUROBOROS_TOTAL_BUDGET"] == "200"
    assert kept["fingerprint"] == found.fingerprint
    assert [one["name"] for one in kept["checks"]] == [one.name for one in found.checks]


def test_a_record_that_cannot_be_written_stops_it(planned, tmp_path):
    (tmp_path / "home").touch()
    found, checks = look(planned(PlanKind.SMOKE), tmp_path / "home")
    assert (checks["fingerprint"].state, checks["fingerprint"].mend) == (
        State.FAILED,
        "--home DIR that can be written",
    )
    assert not found.record.exists()


def test_an_exact_command_is_printed_with_its_variables(planned):
    told = list(plan_lines(planned(inherited=NO_ENGINE | {"OUROBOROS_API_KEY": "hidden-value"})))
    assert told[-1].split()[1:8] == [
        *(str(planned().checkout.root / "run_benchmark.py"), "run-all", "--name", "mine"),
        *("--system", "ouroboros", "--task-parallelism"),
    ]
    assert "    export OUROBOROS_API_KEY=[redacted]" in told
    assert "    export OUROBOROS_TOTAL_BUDGET=200" in told


# ------------------------------------------------------------------ money


def bounds(campaign, url, **environment):
    """The checks of a key, by name."""
    estimate = costs.estimate_of(campaign)
    clock, rng, model = SystemClock(), random.Random(1), "openrouter/some/model"
    found = key_checks_of(
        campaign, estimate, NO_ENGINE | environment, model=model, clock=clock, rng=rng, url=url
    )
    return {one.name: one for one in found}


@pytest.mark.parametrize(
    ("left", "failed"),
    [
        ((12000.0, 2000.0), set()),
        ((12000.0, 500.0), {"account balance", "spendable"}),
        ((635.0, 9000.0), {"key limit", "spendable"}),
    ],
)
def test_both_bounds_of_the_key_count(planned, provider, left, failed):
    provider.limit_remaining, provider.credits = left
    checks = bounds(planned(), provider.url, OPENROUTER_API_KEY=KEY)
    assert {name for name, one in checks.items() if one.state is State.FAILED} == failed
    assert "$636.00" in checks["spendable"].needed


def test_a_key_is_looked_for_where_the_benchmark_finds_it(planned, root, provider):
    check = bounds(planned(), provider.url)["key"]
    assert (check.state, check.mend) == (State.FAILED, "export OPENROUTER_API_KEY")
    (root / ".env").write_text(f"# keys\nexport OPENROUTER_API_KEY='{KEY}'\n")
    assert bounds(planned(), provider.url)["key limit"].state is State.OK
    assert provider.calls[0] == ("/key", f"Bearer {KEY}")
    served = preflight_checkout.secrets_check(planned())
    assert (served.state, "serves .env" in served.seen) == (State.INCOMPLETE, True)


def test_a_provider_that_tells_no_bounds_is_no_proof(planned):
    clock, rng = SystemClock(), random.Random(1)
    (check,) = key_checks_of(
        planned(), "", NO_ENGINE, model="gpt-5.4", clock=clock, rng=rng, url="http://127.0.0.1:1"
    )
    assert (check.state, "gpt-5.4" in check.seen) == (State.UNKNOWN, True)


def test_a_cap_that_truncates_a_rollout_is_found_before_the_start(planned):
    capped = planned(inherited={"OUROBOROS_TOTAL_BUDGET": "60"})
    check = costs.budget_check(capped, costs.estimate_of(capped))
    assert check.state is State.FAILED
    assert "exploitable_poker $117.00" in check.seen
    assert "codebase_adaptation" not in check.seen
    assert check.mend == "export OUROBOROS_TOTAL_BUDGET=200"
    uncapped = replace(capped, environment={})
    assert "not set: 25" in costs.budget_check(uncapped, costs.estimate_of(uncapped)).seen
    odd = replace(capped, environment={"OUROBOROS_TOTAL_BUDGET": "much"})
    assert costs.budget_check(odd, costs.estimate_of(odd)).state is State.FAILED


def test_a_smoke_of_the_miniature_costs_three_questions(tmp_path):
    checkout = open_checkout("embedded", tmp_path)
    adapter, plain = (campaign_of(checkout, name, PlanKind.SMOKE, "x") for name in ("ouroboros", "plain"))
    assert costs.estimate_of(adapter).dollars == pytest.approx(1.65 * 3 / 12)
    assert costs.estimate_of(plain).dollars == pytest.approx((0.08 + 0.09) * 3 / 12)  # with its baseline


def test_what_a_plan_costs(planned):
    assert costs.estimate_of(planned(PlanKind.SMOKE)).dollars == 5.0
    assert costs.estimate_of(planned(PlanKind.SUBMISSION)).dollars == pytest.approx(5 * 319 + 211)
    high = planned(PlanKind.SUBMISSION, inherited={"OUROBOROS_EFFORT_TASK": "high"})
    assert costs.estimate_of(high).dollars == pytest.approx((5 + costs.BASELINE_SHARE) * 440.66)
    other = planned(params={"model": "openrouter/x/y"})
    assert costs.cost_check(costs.estimate_of(other)).state is State.UNKNOWN
    assert costs.cost_check(costs.estimate_of(planned(system="icl"))).state is State.UNKNOWN


def earlier(folder, tasks, *, baseline=True, **system):
    """A finished run: two whole rollouts of every task at $4 and $6, one cut short, and a baseline at $2."""

    def paid(dollars, instances=4):
        return [outcome(f"i{at}", 0.5, cost_usd=dollars / instances) for at in range(instances)]

    told = {"system": {"name": "icl", "params": {"model": "m"}} | system}
    apart = paid(2.0) if baseline else None
    rollouts = [paid(4.0), paid(6.0), paid(1.0, 1)]
    made = {task: artifact(task, apart, rollouts, expected=4, **told) for task in tasks}
    return read_run(publish(folder, made))


def test_a_finished_run_tells_what_another_system_costs(planned, tmp_path):
    mine = planned(PlanKind.SUBMISSION, "icl", params={"model": "m"})
    found = costs.estimate_of(mine, earlier(tmp_path / "whole", OFFICIAL))
    assert found.dollars == pytest.approx(6 * (5 * 5.0 + 2.0))
    assert costs.cost_check(found).state is State.OK
    assert "does not tell what sales_prediction costs" in costs.estimate_of(
        mine, earlier(tmp_path / "part", OFFICIAL[:5])
    )
    assert "does not tell" in costs.estimate_of(mine, earlier(tmp_path / "bare", OFFICIAL, baseline=False))
    other = costs.cost_check(
        costs.estimate_of(mine, earlier(tmp_path / "ace", OFFICIAL, name="ace", params={"model": "n"}))
    )
    assert other.state is State.UNKNOWN
    assert other.seen.endswith("; it is of ace; its model is n")


# ------------------------------------------------------- system and parameters


def test_a_misspelt_parameter_is_refused_with_a_suggestion(planned, tmp_path):
    mine = planned(PlanKind.SMOKE, params={"max_worker": 3, "reflexion": True})
    _, checks = look(mine, tmp_path)
    assert checks["parameters"].state is State.FAILED
    assert "max_worker is dropped without a word: did you mean max_workers?" in checks["parameters"].seen
    assert "reflexion is dropped without a word: known are model, engine" in checks["parameters"].seen


def test_a_system_that_is_not_there_is_refused_with_a_suggestion(planned, tmp_path):
    found, checks = look(planned(PlanKind.SMOKE, "ouroborus"), tmp_path)
    assert (checks["system under test"].seen, checks["system under test"].mend) == (
        "there is no ouroborus",
        "did you mean ouroboros?",
    )
    assert "Unknown system 'ouroborus'" in checks["dry run"].seen
    assert {checks[name].mend for name in ("dry run", "parameters")} == {"name a system that there is"}
    assert found.answer is Answered.NO_GO


def test_a_misspelt_variable_changes_nothing_and_is_told(planned, root):
    (root / "src/systems/ouroboros/extra.py").write_text("os.environ['OUROBOROS_OF_THE_FORK']")
    inherited = {"OUROBOROS_TOTAL_BUGDET": "200", "OUROBOROS_OF_THE_FORK": "1", "CLBENCH_NEW": "x"}
    check = variable_check(planned(inherited=inherited))
    assert check.state is State.INCOMPLETE
    assert (
        "OUROBOROS_TOTAL_BUGDET is read by nobody that is known: did you mean OUROBOROS_TOTAL_BUDGET?"
        in check.seen
    )
    assert "CLBENCH_NEW is read by nobody" in check.seen
    assert "OF_THE_FORK" not in check.seen
    assert variable_check(planned()).state is State.OK


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"docker": False}, "loop needs docker=true"),
        ({"conversation": "rollout"}, "final_answer_delivery needs conversation=question"),
    ],
)
def test_combinations_that_the_adapter_refuses_at_its_first_rollout(planned, tmp_path, params, told):
    _, checks = look(planned(PlanKind.SMOKE, params=params), tmp_path)
    assert told in checks["parameters"].seen


def test_a_constructor_is_read_without_running_it(root, tmp_path):
    systems = root / "src/systems"
    assert constructor(systems, "ouroboros").names[:3] == ("model", "engine", "mode")
    (systems / "flat.py").write_text(
        "@registry.register_system(name='flat')\nclass A:\n def __init__(self, a, *, b=1, **c): 1/0\n"
    )
    assert constructor(systems, "flat") == Constructor(("a", "b"), takes_any=True)
    (systems / "own.py").write_text("@register_system('own')\nclass A(Elsewhere):\n x = 1\n")
    (systems / "spoilt.py").write_text("@register_system('spoilt'\n")
    (systems / "loop.py").write_text("@register_system('loop')\nclass A(A):\n x = 1\n")
    assert [constructor(systems, name) for name in ("own", "spoilt", "loop", "absent")] == [None] * 4
    assert list(unknown({"a": 1, "z": 2}, Constructor(("a", "b")))) == ["z is no parameter: known are a, b"]
    assert list(unknown({"z": 2}, Constructor(("a",), takes_any=True))) == []


def test_what_a_dry_run_resolves(planned):
    told = resolved(
        "noise\nResolved system params: {'a': 1, 'b': <object at 0x1>, 'c': 'x'}\n"
        "Resolved task params: {'schedule': 'default'}\nRuns: 5, max workers: 2, mode: permute\n"
    )
    assert (told.runs, told.max_workers, told.mode) == (5, 2, "permute")
    assert (
        list(not_applied({"a": 9, "b": 2}, None, told.params)) == []
    )  # a value that cannot be read back is not judged
    exact = resolved(
        "Resolved system params: {'a': 1}\nResolved task params: {}\nRuns: 1, max workers: 1, mode: permute"
    )
    assert list(not_applied({"a": 9, "b": None}, Constructor(("a", "b")), exact.params)) == [
        "a is 9 and would be 1"
    ]
    assert resolved("Error: no such thing") is None


def test_a_run_that_would_not_be_the_planned_one(planned, root, tmp_path):
    program = (root / "run_benchmark.py").read_text()
    (root / "run_benchmark.py").write_text(
        program.replace("{told.max_workers}", "12").replace("SIZES[told.task]", "7")
    )
    _, checks = look(planned(PlanKind.SMOKE), tmp_path)
    assert checks["dry run"].state is State.FAILED
    assert "database_exploration: workers would be 12, not 1" in checks["dry run"].seen
    assert "database_exploration: instances would be 7, not 40" in checks["dry run"].seen


# ----------------------------------------------------------------- seed orders


def test_seeds_that_meet_one_order_are_found_in_the_tasks_themselves(planned, root):
    (root / "broken").touch()
    some = ("database_exploration", "blind_spectrum_monitoring", "codebase_adaptation", "sales_prediction")
    mine = planned(PlanKind.SUBMISSION, tasks=some)
    check = order_check(mine, orders_of(mine, NO_ENGINE))
    assert check.state is State.FAILED
    for task in some[:3]:
        assert f"{task}: seeds 0, 1, 2, 3, 4 would meet one and the same order" in check.seen
    assert "sales_prediction" not in check.seen


def test_tasks_that_cannot_be_built_are_no_proof(planned, root):
    (root / "src/registry.py").write_text("import no_such_library\n")
    mine = planned(tasks=["exploitable_poker"])
    check = order_check(mine, orders_of(mine, NO_ENGINE))
    assert check.state is State.UNKNOWN
    assert "No module named 'no_such_library'" in check.seen


def answer(**orders):
    return Answer(0, json.dumps({"orders": orders}))


def met(*pairs, ids=""):
    return {"instances": 9, "ids": ids, "met": [list(pair) for pair in pairs]}


def test_an_order_is_told_by_ids_and_prompts_together(planned):
    same_prompt = answer(**{"0": met("ap", "bp", "cp"), "1": met("bp", "ap", "cp")})
    same_ids = answer(**{"0": met("ap", "bq", "cr"), "1": met("aq", "bp", "cr")})
    for told in (same_prompt, same_ids):
        assert order_check(planned(), [read("t", told)]).state is State.OK
    too_few = read("t", answer(**{"0": met("ap", "bq"), "1": met("bq", "ap")}))
    check = order_check(planned(), [too_few])
    assert (check.state, check.seen) == (State.UNKNOWN, "t: its instances cannot be told apart")
    assert read("t", Answer(0, "no json")).problem == "the probe's answer cannot be read"


def test_seed_0_has_to_be_the_baseline_s_order(planned):
    check = order_check(planned(), [Orders("t", {"baseline": "x", "0": "y", "1": "z"})])
    assert (check.state, check.seen) == (State.FAILED, "t: seed 0 would not meet the baseline's order")


# -------------------------------------------------------------- checkout, disk


def test_the_revision_has_to_be_known_to_score_right(planned, root):
    clock = SystemClock()
    (root / "scripts/analyze_final_results.py").write_text("reads rewards as they are\n")
    for kind, state in ((PlanKind.SEED, State.FAILED), (PlanKind.SMOKE, State.INCOMPLETE)):
        check = preflight_checkout.revision_check(planned(kind), clock)
        assert (check.state, "mixes scales" in check.seen) == (state, True)
    (root / "scripts/analyze_final_results.py").write_text("reads mean_reference_kl\n")
    assert preflight_checkout.revision_check(planned(), clock).state is State.UNKNOWN
    committed(root)
    assert preflight_checkout.revision_check(planned(), clock).state is State.OK
    (root / "src/new.py").touch()
    assert preflight_checkout.revision_check(planned(), clock).state is State.INCOMPLETE


def test_children_would_come_from_another_checkout(root, tmp_path):
    other = tmp_path / "bin/clbench"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    foreign = open_checkout(str(root), tmp_path, environment={"PATH": str(other.parent)})
    check = preflight_checkout.program_check(foreign)
    assert check.state is State.FAILED
    assert str(other) in check.seen
    shutil.copy(other, root / ".venv/bin/clbench")
    own = open_checkout(str(root), tmp_path, environment={"PATH": str(other.parent)})
    assert (
        preflight_checkout.program_check(own).seen
        == f"{root}/.venv/bin/clbench; the campaign puts it before {other}"
    )


def test_a_name_that_is_taken_starts_nothing(planned, root):
    (root / "final_results/runs/mine").mkdir(parents=True)
    check = preflight_checkout.name_check(planned())
    assert (check.state, "--missing-only" in check.mend) == (State.FAILED, True)
    assert preflight_checkout.name_check(planned(PlanKind.SMOKE)).state is State.OK


def test_schedules_of_another_size_are_no_submission(tmp_path):
    root = lay_down(tmp_path / "clb", runs=3)
    checkout = open_checkout(str(root), tmp_path, environment=NO_ENGINE)
    seed, whole = (
        campaign_of(checkout, "ouroboros", kind, "x", inherited={})
        for kind in (PlanKind.SEED, PlanKind.SUBMISSION)
    )
    assert preflight_checkout.schedule_check(seed).state is State.OK
    assert "exploitable_poker: 3 rollouts, not 5" in preflight_checkout.schedule_check(whole).seen
    (root / "src/tasks/sales_prediction/schedules/default.json").write_text("[]")
    assert "sales_prediction cannot be read" in preflight_checkout.schedule_check(seed).seen


def test_a_secret_among_parameters_is_refused(planned):
    params = {"api_key": "not-to-be-told", "note": {"deep": [KEY]}, "token_budget": 500, "auth": "none"}
    with pytest.raises(UsageError, match=r"a secret in parameter api_key, note\n") as refused:
        planned(params=params)
    assert "not-to-be-told" not in str(refused.value)


def test_a_run_without_a_baseline_or_a_task_has_no_rank(planned, root):
    inherited = {"OUROBOROS_BENCH_SKIP_BASELINE": "1"}
    check = preflight_checkout.coverage_check(planned(inherited=inherited, tasks=OFFICIAL[1:]))
    assert check.state is State.INCOMPLETE
    assert check.seen == "without db; OUROBOROS_BENCH_SKIP_BASELINE is set: there would be no gain"
    assert preflight_checkout.coverage_check(planned()).state is State.OK
    (root / "src/systems/human.py").write_text(
        "@register_system('human')\nclass A:\n    supports_baseline: bool = False\n"
    )
    assert "no stateless baseline" in preflight_checkout.coverage_check(planned(system="human")).seen


def test_clones_of_the_engine_hold_what_is_committed(planned, tmp_path):
    def seen(**environment):
        return engine_check(repository_of(planned(), environment, SystemClock()))

    engine = tmp_path / "engine"
    engine.mkdir()
    assert seen().state is State.UNKNOWN
    assert seen(OUROBOROS_BENCH_CLONE=str(engine)).state is State.FAILED
    assert seen(OUROBOROS_BENCH_CLONE=str(tmp_path / "absent")).state is State.FAILED
    (engine / "server.py").touch()
    committed(engine)
    assert seen(OUROBOROS_BENCH_CLONE=str(engine)).state is State.OK
    (engine / "server.py").write_text("the edit that is to be measured")
    edited = seen(OUROBOROS_BENCH_CLONE=str(engine))
    assert (edited.state, "server.py): clones will not have that" in edited.seen) == (State.INCOMPLETE, True)


def test_which_images_a_plan_needs(planned):
    assert preflight_machine.images_of(planned(PlanKind.SMOKE), {}) == ("clbench-ouroboros:dev",)
    every = preflight_machine.images_of(planned(), {"docker_image": "mine:1"})
    assert [name.rpartition(":")[2] for name in every] == ["1", "tablib", "tenacity", "sales-prediction"]
    assert preflight_machine.images_of(planned(PlanKind.SMOKE, "icl"), {}) == ()
    assert (
        preflight_machine.images_of(planned(PlanKind.SMOKE, params={"docker": False, "loop": "action"}), {})
        == ()
    )


def test_clones_and_traces_of_one_disk_are_added(planned, tmp_path):
    there = str(tmp_path / "runs" / "not yet")
    mine = planned()
    checks = list(
        preflight_machine.machine_checks(
            mine, {}, {}, clock=SystemClock(), environment={"OUROBOROS_BENCH_RUNS_ROOT": there}
        )
    )
    assert [one.name for one in checks] == ["containers", "memory", "disk"]
    assert there in checks[2].seen
    assert checks[2].needed.startswith(
        "14.5 GB"
    )  # a clone for each of 6 rollouts and 301 instances, and the traces


def test_engines_without_containers_take_this_machine_s_memory(planned, tmp_path):
    mine = planned(PlanKind.SMOKE, params={"docker": False, "loop": "action", "docker_image": "unused:1"})
    environment = {"OUROBOROS_BENCH_RUNS_ROOT": str(tmp_path)}
    told = list(preflight_machine.machine_checks(mine, {}, {}, clock=SystemClock(), environment=environment))
    assert preflight_machine.images_of(mine, {}) == ()
    assert [one.name for one in told] == ["containers", "memory", "disk"]
    assert "at most 1 engines at once" in told[1].seen


def test_a_program_that_hangs_or_is_not_there_is_told(tmp_path):
    assert (
        ask(["/bin/sh", "-c", "sleep 60"], tmp_path, {"PATH": "/bin:/usr/bin"}, seconds=0.2).problem
        == "it did not end within 0.2 s"
    )
    assert "cannot be started" in ask(["/nowhere/program"], tmp_path, {}).problem
    assert ask(["/bin/sh", "-c", "exit 3"], tmp_path, {}).problem == "it ended with 3"


def test_the_watch_over_money_goes_by_the_run_that_is_named(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    mine = planned(system="icl")
    assert watch_over(mine, SystemClock()).prices == {}
    named = earlier(tmp_path / "whole", OFFICIAL)
    told = costs.estimate_of(mine, named).tasks
    assert watch_over(mine, SystemClock(), like=named).prices == {
        task: one.rollout for task, one in told.items()
    }
