"""The settings of CL-Bench cases."""

from __future__ import annotations

from pytest_evalharness.base import values
from pytest_evalharness.settings.setting import Setting

CLBENCH: tuple[Setting, ...] = (
    Setting(
        "clbench_checkout",
        values.text,
        None,
        "the root of a checkout of continual-learning-bench, or `embedded` for the miniature that comes with this package",
        metavar="DIR|embedded",
    ),
    Setting(
        "clbench_system", values.text, None, "the system under test, where a mark names none", metavar="NAME"
    ),
    Setting(
        "clbench_name",
        values.text,
        None,
        "the campaign that plan=seed or plan=submission runs or goes on with, where a mark names none",
        metavar="NAME",
    ),
    Setting(
        "clbench_run",
        values.text,
        None,
        "a published run that CL-Bench cases judge in place of running one: a directory, or a campaign's name",
        metavar="RUN",
    ),
    Setting(
        "clbench_reference",
        values.text,
        None,
        "the run whose stateless baselines normalise rewards, where a mark names none",
        metavar="RUN",
    ),
    Setting(
        "clbench_runroots",
        values.text,
        None,
        "the folder with the engines' runroots (OUROBOROS_BENCH_RUNS_ROOT), whose retries are checked",
        metavar="DIR",
    ),
)
