"""The page of CL-Bench lists the options, tasks, scales and checks that there are."""

import json
import re

import pytest

from pytest_evalharness.clbench import trust
from pytest_evalharness.clbench.campaign.watch import AlarmKind
from pytest_evalharness.clbench.domains import ALL
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.cli import build_parser, main

PAGE = "docs/reference/clbench.md"


def test_every_option_is_described(pages, capsys):
    told = {name for row in pages[PAGE].table("option") for name in re.findall(r"`([^`]+)`", row[0])}
    for command in ("score", "check"):
        try:
            build_parser().parse_args(["clbench", command, "--help"])
        except SystemExit:
            options = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        assert options - {"--help"} <= told


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
    assert checks | {"memory", "images", "bridge", "key limit", "account balance", "spendable"} == listed


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


def test_every_task_is_listed_with_its_numbers(pages):
    assert [row[:4] for row in pages[PAGE].table("task")] == [
        [f"`{one.task}`", one.short, str(one.instances), f"{one.largest:g}"] for one in ALL
    ]


def test_every_scale_is_listed(pages):
    assert [row[0] for row in pages[PAGE].table("scale")] == [f"`{scale}`" for scale in Scale]


def test_every_check_is_listed(pages, tmp_path):
    checks = trust.checks(PublishedRun("none", tmp_path, None, None, {}, frozenset()))
    assert [row[0] for row in pages[PAGE].table("check")] == [one.name for one in checks]
