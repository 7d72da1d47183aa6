"""Checks of where a campaign would run: the container engine, memory, disk, images, and whether containers reach the host."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.campaign.capacity import (
    SHARE,
    Containers,
    Load,
    disk_check,
    disk_needed,
    load_of,
    memory_check,
    memory_of,
    most_containers,
    running,
)
from pytest_evalharness.clbench.campaign.container_checks import LOOPBACK, bridge_check, image_check
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import CODEBASE, SALES
from pytest_evalharness.containers.images import LocalImage, inspect
from pytest_evalharness.containers.reach import Reach, Reached, reaches_host
from pytest_evalharness.containers.state import Engine
from pytest_evalharness.errors import EngineUnavailable, ImageUnavailable

ENGINE_IMAGE = "clbench-ouroboros:dev"
"""What the adapter starts unless its parameters name another."""
BIND = "CLBENCH_SHIM_BIND"
RUNS_ROOT = "OUROBOROS_BENCH_RUNS_ROOT"
_RUNS_ROOT = "~/cl_bench_runs"
_WORKSPACES = "pgasawa2/continual-learning-bench"
_TAGS = {CODEBASE: ("tablib", "tenacity"), SALES: ("sales-prediction",)}
_MINIATURE_DISK = 50e6
_WORKERS = 10
_SECONDS = 90.0
_LOCAL = ("unix:", "npipe:", "http+docker:", "/")


def runs_engines(campaign: Campaign) -> bool:
    """Whether each rollout and each baseline instance starts an engine of its own, with a clone on disk."""
    mine = campaign.system == OUROBOROS and not campaign.checkout.embedded
    return mine and campaign.params.get("engine") == OUROBOROS


def uses_engines(campaign: Campaign) -> bool:
    """Whether those engines run in containers."""
    return runs_engines(campaign) and bool(campaign.params.get("docker"))


def images_of(campaign: Campaign, applied: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of every image that the campaign starts.

    Args:
        campaign: the plan.
        applied: the system's parameters, defaults among them, as a dry run resolved them; empty if none did.
    """
    if campaign.checkout.embedded:
        return ()
    own = applied.get("docker_image") or campaign.params.get("docker_image")
    if uses_engines(campaign):
        own = own or ENGINE_IMAGE
    elif campaign.system == OUROBOROS:
        own = None  # it runs on the host
    workspaces = (f"{_WORKSPACES}:{tag}" for task in campaign.tasks for tag in _TAGS.get(task, ()))
    return (*((str(own),) if own else ()), *workspaces)


def found_images(
    names: tuple[str, ...], clock: Clock, environment: Mapping[str, str]
) -> dict[str, LocalImage | ImageUnavailable]:
    """The images of these names, or why each is none; nobody is asked where there are none."""
    return inspect(names, clock=clock, environment=environment) if names else {}


def with_images(campaign: Campaign, found: Mapping[str, LocalImage | ImageUnavailable]) -> Campaign:
    """The campaign with the ids of the images that it will use, beside those that it has."""
    ids = {name: one.id for name, one in found.items() if isinstance(one, LocalImage)}
    return replace(campaign, images={**campaign.images, **ids})


def load(campaign: Campaign, applied: Mapping[str, Any]) -> Load:
    """What the plan runs at once."""
    workers = applied.get("max_workers", campaign.params.get("max_workers", _WORKERS))
    return load_of(
        campaign.tasks,
        campaign.rollouts,
        baseline=campaign.has_baseline,
        task_parallelism=campaign.task_parallelism,
        per_task=campaign.per_task_parallelism,
        workers=workers if isinstance(workers, int) else _WORKERS,
    )


def machine_checks(
    campaign: Campaign,
    applied: Mapping[str, Any],
    images: Mapping[str, LocalImage | ImageUnavailable],
    *,
    clock: Clock,
    environment: Mapping[str, str],
) -> Iterator[Check]:
    """Every check of where containers run; only that of the disk where none are used.

    Args:
        campaign: the plan.
        applied: as of `images_of`.
        images: of `found_images`.
        clock: bounds all questions to the engine.
        environment: all variables of the campaign's processes.
    """
    plan = load(campaign, applied)
    if not images:
        yield Check("containers", State.OK, "none are used", "an engine only where containers are used")
        if runs_engines(campaign):
            yield memory_check(plan, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    else:
        try:
            with Engine.reached(clock=clock, seconds=_SECONDS, environment=environment) as engine:
                yield from _engine_checks(campaign, plan, engine, images, environment)
        except EngineUnavailable as problem:
            needed = "an engine that answers this user"
            yield Check("containers", State.FAILED, problem.what, needed, problem.next_step)
    yield from _disk_checks(campaign, plan, environment)


def _engine_checks(
    campaign: Campaign,
    plan: Load,
    engine: Engine,
    images: Mapping[str, LocalImage | ImageUnavailable],
    environment: Mapping[str, str],
) -> Iterator[Check]:
    machine = engine.machine()
    needed = "an engine on this machine: folders of it are mounted"
    if engine.address.startswith(_LOCAL):
        yield Check("containers", State.OK, f"{machine.name or 'an engine'} at {engine.address}", needed)
    else:
        mend = "unset DOCKER_HOST, or run where the engine is"
        yield Check("containers", State.FAILED, f"the engine is at {engine.address}", needed, mend)
    already = running(one.name for one in engine.containers())
    if uses_engines(campaign):
        yield memory_check(plan, machine.memory, already)
    else:
        yield _workspace_memory(plan, machine.memory, already)
    yield image_check(images)
    if uses_engines(campaign):
        bind = environment.get(BIND) or LOOPBACK
        reach = _reach(engine, images, bind)
        yield bridge_check(reach, bind=bind, gateway=engine.gateway(), desktop=machine.desktop)


def _reach(engine: Engine, images: Mapping[str, LocalImage | ImageUnavailable], bind: str) -> Reach:
    """What a container of the engine's own image sees; that image is the first."""
    name, image = next(iter(images.items()))
    if isinstance(image, ImageUnavailable):
        return Reach(Reached.UNKNOWN, f"it takes the image {name}, which is not here", image.next_step)
    return reaches_host(engine, name, bind=bind)


def _workspace_memory(plan: Load, memory: int, already: Containers) -> Check:
    """Memory where the system under test needs no container: its tasks may."""
    most = replace(most_containers(plan), engines=0)
    taken = memory_of(most, plan.workers) + memory_of(already, plan.workers)
    seen = f"at most {most.words} at once, {taken / 1e9:.1f} GB with {already.words} of other campaigns"
    needed = f"at most {SHARE:g} of {memory / 1e9:.1f} GB"
    if taken <= SHARE * memory:
        return Check("memory", State.OK, seen, needed)
    return Check("memory", State.FAILED, seen, needed, "a smaller --per-task-parallelism, or more memory")


def _disk_checks(campaign: Campaign, plan: Load, environment: Mapping[str, str]) -> Iterator[Check]:
    root = campaign.checkout.root
    if campaign.checkout.embedded:
        yield disk_check(str(root), shutil.disk_usage(root).free, _MINIATURE_DISK)
        return
    traces = disk_needed(plan, clones=False)
    if not runs_engines(campaign):
        yield disk_check(str(root), shutil.disk_usage(root).free, traces)
        return
    runs = Path(environment.get(RUNS_ROOT) or _RUNS_ROOT).expanduser()
    there = _existing(runs)
    clones = disk_needed(plan, traces=False)
    if there.stat().st_dev == root.stat().st_dev:
        yield disk_check(f"{root} and {runs}", shutil.disk_usage(root).free, traces + clones)
        return
    yield disk_check(str(root), shutil.disk_usage(root).free, traces)
    yield disk_check(str(runs), shutil.disk_usage(there).free, clones)


def _existing(path: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    path = path.absolute()
    return next(one for one in (path, *path.parents) if one.exists())
