"""Images of a real engine, and engines that are not there, not allowed, or silent."""

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.containers.images import REVISION, LocalImage, inspect
from pytest_evalharness.errors import ImageUnavailable
from tests.integration.containers.conftest import own_name

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def look(*names, **words):
    found = inspect(names, clock=SystemClock(), **words)
    assert list(found) == list(dict.fromkeys(names))
    return [found[name] for name in names]


def one(name, **words):
    return look(name, **words)[0]


def why(name, **words):
    problem = one(name, **words)
    assert isinstance(problem, ImageUnavailable)
    assert problem.next_step
    return problem


# ------------------------------------------------------------------- images


def test_what_the_engine_tells_of_an_image(engine, image):
    tag = image(created="2026-03-04T05:06:07.123456789Z", labels={REVISION: COMMIT})
    found = one(tag)
    assert found.id == engine.images.get(tag).id
    assert re.fullmatch("sha256:[0-9a-f]{64}", found.id)
    assert found.created == pytest.approx(1772600767.123456)
    assert (found.revision, found.dirty, found.repo_digests) == (COMMIT, False, ())
    assert LocalImage.from_json(json.loads(json.dumps(asdict(found)))) == found


def test_an_image_by_its_id(engine, image):
    tag = image()
    by_id = one(engine.images.get(tag).id)
    assert by_id.id == one(tag).id


def test_one_build_under_two_names_has_one_id(engine, image):
    first, alias = image({"bot": "same"}), own_name()
    engine.images.get(first).tag(alias, "v2")
    try:
        ids = {found.id for found in look(first, f"{alias}:v2")}
    finally:
        engine.images.remove(f"{alias}:v2")
    assert len(ids) == 1


def test_another_file_another_id_and_content(image):
    old, new = look(image({"bot": "build 1"}), image({"bot": "build 2"}))
    assert old.id != new.id
    assert old.content != new.content


def test_another_command_another_content(image):
    old, new = look(image(command=("/bot",)), image(command=("/bot", "--fast")))
    assert old.content != new.content


def test_labels_and_dates_change_the_id_and_not_the_content(image):
    names = (
        image(labels={REVISION: COMMIT}),
        image(labels={REVISION: "f" * 40}),
        image(created="2020-02-02T00:00:00Z"),
    )
    found = look(*names)
    assert len({one.id for one in found}) == 3
    assert len({one.content for one in found}) == 1


@pytest.mark.parametrize(
    ("label", "revision", "dirty"),
    [
        (COMMIT, COMMIT, False), (f"{COMMIT}-dirty", COMMIT, True), ("abc1234+dirty", "abc1234", True),
        ("abc1234.modified", "abc1234", True), ("v1.2-dirty-looking", "v1.2-dirty-looking", False), ("  ", None, False),
        ("--output=x", "--output=x", False),
    ],
)  # fmt: skip
def test_the_revision_that_an_image_says_it_was_built_from(image, label, revision, dirty):
    found = one(image(labels={REVISION: label}))
    assert (found.revision, found.dirty) == (revision, dirty)


@pytest.mark.parametrize("created", ["1970-01-01T00:00:00Z", "1980-01-01T00:00:01Z", None])
def test_the_one_date_of_reproducible_builds_is_none(image, created):
    assert one(image(created=created)).created is None


def test_an_image_that_a_tar_was_imported_as(engine):
    name = own_name()
    (said,) = json.loads(f"[{engine.api.import_image_from_data(b'', repository=name).strip()}]")
    try:
        found = one(name)
        assert found.id == said["status"]
    finally:
        engine.images.remove(name)


def test_layers_that_are_not_told_are_not_taken_for_the_same_ones():
    told = [LocalImage.told("a", {"Id": f"sha256:{n}", "Config": None, "RootFS": {}}) for n in (1, 2)]
    assert told[0].content != told[1].content


def test_an_answer_without_an_id_is_none():
    with pytest.raises(ImageUnavailable, match="tells no id of the image a"):
        LocalImage.told("a", {})


# ------------------------------------------------------------------- misses


def test_an_image_that_is_not_there_and_one_that_is(image):
    tag = image()
    missing, there = look("evalharness-no-such:v9", tag)
    assert missing.what == "there is no local image evalharness-no-such:v9"
    assert "docker pull evalharness-no-such:v9" in missing.next_step
    assert there.id


@pytest.mark.parametrize("name", ["a b", "UPPER:case:twice", "\x1b[31mred", "../../etc", "x" * 3000])
def test_a_name_that_no_image_can_have(engine, name):
    problem = why(name)
    assert all(line.isprintable() for line in str(problem).splitlines())


# ------------------------------------------------------------------ engines


def test_no_engine(tmp_path):
    problem = why("bot:v1", environment={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert problem.what == f"no container engine answers at unix://{tmp_path}/none.sock"
    assert "DOCKER_HOST" in problem.next_step


def test_an_engine_that_was_and_is_no_more(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/s")
    assert why("bot:v1", environment={"DOCKER_HOST": f"unix://{tmp_path}/s"}).what.startswith(
        "no container engine"
    )


def test_no_engine_at_a_port():
    with socket.socket() as deaf:  # as long as it is bound nobody else can listen there
        deaf.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        assert why("bot:v1", environment={"DOCKER_HOST": address}).what.startswith("no container engine")


def test_an_address_that_is_none():
    problem = why("bot:v1", environment={"DOCKER_HOST": "carrier-pigeon://roof"})
    assert "cannot be used" in problem.what
    assert "carrier-pigeon" in problem.what


def test_certificates_that_are_missing(tmp_path):
    variables = {
        "DOCKER_HOST": "tcp://127.0.0.1:1",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": str(tmp_path),
    }
    assert "cannot be used" in why("bot:v1", environment=variables).what


def test_a_silent_engine_costs_one_deadline_for_all_images(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/s")
        listener.listen()
        found = look("a:v1", "b:v1", "c:v1", seconds=0.3, environment={"DOCKER_HOST": f"unix://{tmp_path}/s"})
    assert {problem.what for problem in found} == {
        f"the container engine at unix://{tmp_path}/s did not answer within 0.3 s"
    }


def test_what_answers_and_is_no_engine(tmp_path):
    code = "import http.server as h;s=h.HTTPServer(('127.0.0.1',0),h.SimpleHTTPRequestHandler);print(s.server_port,flush=True);s.serve_forever()"
    server = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    try:
        port = int(server.stdout.readline())
        problem = why("bot:v1", environment={"DOCKER_HOST": f"tcp://127.0.0.1:{port}"})
        assert "cannot be used" in problem.what
    finally:
        server.kill()
        server.communicate()


ASK = """
import os, sys
import docker.context, docker.errors, docker.utils
from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.containers.images import inspect
if os.geteuid() == 0:  # nobody, who may not even start this interpreter
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(inspect(["bot:v1"], clock=SystemClock(), environment={"DOCKER_HOST": sys.argv[1]})["bot:v1"])
"""


def test_a_socket_that_the_user_may_not_open():
    folder = Path(tempfile.mkdtemp(prefix="evalharness-", dir="/tmp"))  # where another user may look for it
    folder.chmod(0o755)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            (folder / "s").chmod(0)
            command = [sys.executable, "-c", ASK, f"unix://{folder}/s"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    finally:
        (folder / "s").unlink(missing_ok=True)
        folder.rmdir()
    assert done.stdout.startswith(f"this user may not talk to the container engine at unix://{folder}/s"), (
        done.stderr
    )
    assert "usermod -aG docker" in done.stdout


def test_the_context_that_the_docker_command_uses(engine, image, tmp_path, monkeypatch):
    """Docker Desktop, rootless engines and others are no default address but a context that was chosen."""
    tag, name = image(), "elsewhere"
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)

    def point_to(host):
        endpoint = {"Host": host, "SkipTLSVerify": False}
        (folder / "meta.json").write_text(
            json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}})
        )

    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": name}))
    point_to("unix:///nowhere/engine.sock")
    assert why(tag).what == "no container engine answers at unix:///nowhere/engine.sock"
    point_to("unix:///var/run/docker.sock")
    assert one(tag).id
    (tmp_path / "config.json").write_text("{}")
    point_to("unix:///nowhere/engine.sock")
    assert why(tag, environment={**os.environ, "DOCKER_CONTEXT": name}).what.endswith("/nowhere/engine.sock")
    assert one(tag).id
