"""A smoke of the miniature whose engine has a real container: image and container are seen, by their own names."""

import json
import os
import re

import pytest

from pytest_evalharness.cli import main


@pytest.fixture
def smoke(tmp_path, monkeypatch, capsys):
    for name in [one for one in os.environ if one.startswith(("CLBENCH_", "OUROBOROS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLBENCH_MINIATURE_MERCY", "1")

    def run(*words):
        home = ("--home", str(tmp_path / "home"))
        code = main(
            ["clbench", "smoke", "--checkout", "embedded", "--system", "ouroboros", *home, "--json", *words]
        )
        return code, json.loads(capsys.readouterr().out)

    return run


def test_all_five_stages_are_seen(smoke, box, engine):
    code, told = smoke("--param", f"docker_image={box}")
    stages = {one["name"]: one for one in told["stages"]}
    assert {name: one["seen"] for name, one in stages.items()} == dict.fromkeys(
        ("clone", "image", "container", "bridge", "typed answer"), "seen"
    )
    assert code == 0
    assert stages["image"]["what"].startswith(box)
    name = re.fullmatch(r"started: (clbench-obo-\d+-\d+)", stages["container"]["what"])[1]
    assert engine.containers.list(all=True, sparse=True, filters={"name": name}) == []


def test_an_engine_is_known_by_its_owner_even_if_nobody_looked_while_that_lived(smoke, box, monkeypatch):
    """This process may stand still for as long as the benchmark takes."""
    monkeypatch.setattr("pytest_evalharness.clbench.campaign.smoke.Fingerprint.find", lambda _: {})
    code, told = smoke("--param", f"docker_image={box}")
    assert {one["name"]: one["seen"] for one in told["stages"]}["container"] == "seen", told
    assert code == 0


def test_a_container_that_stays_is_told_with_what_removes_it(smoke, box, engine, monkeypatch):
    """The adapter forgets its engine: nothing of the benchmark ever removes that container."""
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", "leak=mini_ledger_lookup")
    _, told = smoke("--param", f"docker_image={box}")
    [notice] = [one for one in told["notices"] if "still runs" in one]
    name = re.search(r"docker rm -f (clbench-obo-\d+-\d+)", notice)[1]
    engine.containers.get(name).remove(force=True)
