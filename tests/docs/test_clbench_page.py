"""The page of CL-Bench lists the options, tasks, scales and checks that there are."""

import json
import re

import pytest

from pytest_evalharness.clbench import trust
from pytest_evalharness.clbench.campaign import capacity
from pytest_evalharness.clbench.campaign.hygiene import secrets_check
from pytest_evalharness.clbench.campaign.loss_classes import CLOSURES
from pytest_evalharness.clbench.campaign.retries import Rule
from pytest_evalharness.clbench.campaign.watch import AlarmKind
from pytest_evalharness.clbench.domains import ALL, Family
from pytest_evalharness.clbench.miniature.faults import KNOWN
from pytest_evalharness.clbench.miniature.registry import SYSTEMS
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.cli import build_parser, main

PAGE = "docs/reference/clbench.md"
SIX = [one.task for one in ALL if one.family is Family.OFFICIAL]


def test_every_option_is_described(pages, capsys):
    told = {name for row in pages[PAGE].table("option") for name in re.findall(r"`([^`]+)`", row[0])}
    for command in ("score", "check"):
        try:
            build_parser().parse_args(["clbench", command, "--help"])
        except SystemExit:
            options = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        assert options - {"--help"} <= told


def test_every_option_of_run_is_described(pages, capsys):
    told = {name for row in pages[PAGE].table("run option") for name in re.findall(r"`(--[a-z-]+)", row[0])}
    with pytest.raises(SystemExit):
        build_parser().parse_args(["clbench", "run", "--help"])
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"} == told


def test_every_option_and_check_of_the_preflight_is_described(pages, capsys, tmp_path, monkeypatch):
    told = {
        name for row in pages[PAGE].table("preflight option") for name in re.findall(r"`(--[a-z-]+)", row[0])
    }
    with pytest.raises(SystemExit):
        build_parser().parse_args(["clbench", "preflight", "--help"])
    assert set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"} == told
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    words = (
        "--checkout",
        "embedded",
        "--system",
        "ouroboros",
        "--plan",
        "smoke",
        "--home",
        str(tmp_path),
        "--json",
    )
    main(["clbench", "preflight", *words])
    checks = {one["name"] for one in json.loads(capsys.readouterr().out)["checks"]} - {"key"}
    listed = {name for row in pages[PAGE].table("before the start") for name in row[0].split(", ")}
    assert (
        checks | {"engine", "memory", "images", "bridge", "key limit", "account balance", "spendable"}
        == listed
    )


def test_every_option_and_alarm_of_the_status_is_described(pages, capsys):
    told = {
        name
        for row in pages[PAGE].table("status option")
        for cell in row
        for name in re.findall(r"`(--[a-z-]+)", cell)
    }
    with pytest.raises(SystemExit):
        build_parser().parse_args(["clbench", "status", "--help"])
    assert set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"} == told
    assert [row[0] for row in pages[PAGE].table("alarm")] == [str(kind) for kind in AlarmKind]


@pytest.mark.parametrize("command", ["smoke", "salvage"])
def test_every_option_of_a_smoke_and_of_salvage_is_described(pages, capsys, command):
    told = {
        name for row in pages[PAGE].table(f"{command} option") for name in re.findall(r"`(--[a-z-]+)", row[0])
    }
    with pytest.raises(SystemExit):
        build_parser().parse_args(["clbench", command, "--help"])
    options = re.findall(r"^  (--[a-z][a-z-]*)", capsys.readouterr().out, re.MULTILINE)
    assert set(options) == told


def test_every_task_is_listed_with_its_numbers(pages):
    assert [row[:4] for row in pages[PAGE].table("task")] == [
        [f"`{one.task}`", one.short, str(one.instances), f"{one.largest:g}"] for one in ALL
    ]


def test_every_scale_is_listed(pages):
    assert [row[0] for row in pages[PAGE].table("scale")] == [f"`{scale}`" for scale in Scale]


def test_every_check_is_listed(pages, tmp_path):
    checks = trust.checks(PublishedRun("none", tmp_path, None, None, {}, frozenset()))
    names = [*(one.name for one in checks), secrets_check(tmp_path, {}).name]
    assert [row[0] for row in pages[PAGE].table("check")] == names


def test_every_fault_and_system_of_the_miniature_is_listed(pages):
    assert pages[PAGE].table("fault") == [[f"`{name}`", words] for name, words in KNOWN.items()]
    assert [row[0] for row in pages[PAGE].table("its system")] == [f"`{name}`" for name in sorted(SYSTEMS)]


def test_every_class_of_loss_is_told_with_its_signature_and_its_closure(pages):
    rows = pages[PAGE].table("loss class")
    assert rows == [[str(kind), one.signature, one.closure] for kind, one in CLOSURES.items()]


def test_every_option_of_the_losses_and_every_rule_of_retries_is_described(pages, capsys):
    told = {
        name for row in pages[PAGE].table("losses option") for name in re.findall(r"`(--[a-z-]+)", row[0])
    }
    with pytest.raises(SystemExit):
        build_parser().parse_args(["clbench", "losses", "--help"])
    assert set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"} == told
    assert [row[0] for row in pages[PAGE].table("rule of retries")] == list(Rule)


def test_the_table_of_capacity_is_computed(pages):
    rows = pages[PAGE].table("tasks at once x slots")
    assert len(rows) == 3
    for at_once, workers, engines, taken, machine in rows:
        tasks, slots = map(int, at_once.split(" x "))
        load = capacity.load_of(SIX, 5, task_parallelism=tasks, per_task=slots, workers=int(workers))
        assert capacity.most_containers(load).engines == int(engines)
        memory = int(engines) * capacity.engine_memory(int(workers)) / 1e9
        assert float(taken.removesuffix(" GB")) == pytest.approx(memory, abs=0.051)
        assert float(machine.removesuffix(" GB")) == pytest.approx(memory / capacity.SHARE, abs=0.051)
