"""What the checkout would really run, asked of its own dry run: parameters that are dropped without a word, other sizes, other modes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pytest_evalharness.base.text import counted
from pytest_evalharness.clbench.campaign.asking import Answer, ask
from pytest_evalharness.clbench.campaign.checkout import DEFAULT
from pytest_evalharness.clbench.campaign.parameters import (
    Constructor,
    Resolved,
    constructor,
    not_applied,
    resolved,
    unknown,
)
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.checking import Check, State, judged
from pytest_evalharness.clbench.domains import BY_TASK

_ATONCE = 2
_RUNNABLE = "install what the task needs into the checkout's environment; clbench doctor says what is missing"


def dry_runs(campaign: Campaign, environment: Mapping[str, str]) -> dict[str, Answer]:
    """The dry run of each task, with the arguments that `run-all` would forward."""
    with ThreadPoolExecutor(_ATONCE) as pool:
        return dict(
            zip(
                campaign.tasks,
                pool.map(lambda task: _dry_run(campaign, task, environment), campaign.tasks),
                strict=True,
            )
        )


def _dry_run(campaign: Campaign, task: str, environment: Mapping[str, str]) -> Answer:
    # The smoke's own schedule is not there yet: what the default's dry run says of the system holds for it too.
    argv = (
        *(*campaign.checkout.program, "run", task, "--system", campaign.system, "--schedule", DEFAULT),
        *("--no-live-server", "--max-workers", str(campaign.per_task_parallelism)),
        *(*campaign.system_args, "--dry-run"),
    )
    return ask(argv, campaign.checkout.root, environment)


def parameter_check(campaign: Campaign, answers: Mapping[str, Answer]) -> Check:
    """Whether every parameter reaches the system: the benchmark drops a misspelt one without a word."""
    needed = "parameters that the system's constructor knows and gets"
    known = constructor(campaign.checkout.root / "src" / "systems", campaign.system)
    told = next((found for one in answers.values() if one.ok and (found := resolved(one.said))), None)
    problems = [*_lost(campaign, known, told), *_contradictions(campaign)]
    if not problems and told is None:
        return Check(
            "parameters", State.UNKNOWN, "no dry run told what would be applied", needed, _to_run(campaign)
        )
    return judged(
        "parameters",
        needed,
        problems,
        ", ".join(f"{name}={value!r}" for name, value in campaign.params.items()) or "the system's own",
        "mend the names or values (--param KEY=VALUE); nothing that is dropped is told by the benchmark",
    )


def _lost(campaign: Campaign, known: Constructor | None, told: Resolved | None) -> list[str]:
    if told is not None:
        return list(not_applied(campaign.params, known, told.params))
    return list(unknown(campaign.params, known)) if known is not None else []


def _contradictions(campaign: Campaign) -> list[str]:
    """Combinations that the adapter refuses only when its first rollout begins."""
    if campaign.system != OUROBOROS:
        return []
    params, told = campaign.params, []
    told += [
        f"{what} needs docker=true"
        for what in ("loop", "resume")
        if params.get(what) in {"live", True} and not params.get("docker")
    ]
    if params.get("final_answer_delivery") and params.get("conversation") != "question":
        told.append("final_answer_delivery needs conversation=question")
    return told


def run_check(campaign: Campaign, answers: Mapping[str, Answer]) -> Check:
    """Whether each task would run as it is planned: rollouts, workers, mode and instances."""
    problems = [problem for task, answer in answers.items() for problem in _differs(campaign, task, answer)]
    return judged(
        "dry run",
        f"{counted(campaign.rollouts, 'rollout')} of every task in a pool of {campaign.per_task_parallelism}, with all of its instances",
        problems,
        f"{len(answers)} tasks resolve to what is planned",
        _to_run(campaign),
    )


def _to_run(campaign: Campaign) -> str:
    """What lets a dry run tell something: no environment helps where the system itself is not there."""
    return _RUNNABLE if campaign.system in campaign.checkout.systems() else "name a system that there is"


def _differs(campaign: Campaign, task: str, answer: Answer) -> list[str]:
    if not answer.ok:
        return [f"{task}: {answer.problem}"]
    told = resolved(answer.said)
    if told is None:
        return [f"{task}: its dry run cannot be read"]
    expected, known = told.task_params.get("expected_num_instances"), BY_TASK.get(task)
    wanted = [
        (
            "rollouts",
            told.runs,
            campaign.checkout.schedule(task).rollouts if campaign.kind is PlanKind.SUBMISSION else 1,
        ),
        ("workers", told.max_workers, campaign.per_task_parallelism),
        ("mode", told.mode, campaign.checkout.schedule(task).mode),
        ("instances", expected, known.instances if known is not None and expected is not None else expected),
    ]
    return [
        f"{task}: {what} would be {seen}, not {needed}" for what, seen, needed in wanted if seen != needed
    ]
