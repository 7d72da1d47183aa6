"""A real container engine, and images made for each test: files, labels and dates as a test wants them. No registry."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import tarfile
import tempfile
import time
import uuid
from pathlib import Path

import docker
import pytest
from docker.errors import APIError, ImageNotFound, NotFound

from pytest_evalharness.base.clock import SystemClock, iso
from pytest_evalharness.base.git import Git
from pytest_evalharness.clbench.campaign import leftover_engines
from pytest_evalharness.containers.images import inspect
from pytest_evalharness.containers.state import Engine
from tests.integration.containers.box import box_archive
from tests.integration.plugin.conftest import league, project, running_league

__all__ = [
    "league",
    "project",
    "running_league",
]  # a user's project and a league to play in, as the plugin's tests have them


def _tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def archive(tag, files, *, created="now", labels=None, command=("/bot",)):
    """An image as `docker save` would write it."""
    created = iso(time.time()) if created == "now" else created
    layer = _tar({name: text.encode() for name, text in files.items()})
    # Its author makes its id its own: an image that another run on this engine makes alike may be removed at any time.
    config = {
        "architecture": "amd64", "os": "linux", "author": tag, "config": {"Cmd": list(command), "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }  # fmt: skip
    data = json.dumps({**config, **({"created": created} if created else {})}).encode()
    name = hashlib.sha256(data).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode()
    return _tar({name: data, "layer.tar": layer, "manifest.json": manifest})


PATIENCE = 300.0
"""A busy machine is no silent engine: far more than any question takes."""


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Whoever does not say how long an engine or git may take has more time here than people would give them."""
    for function in (Engine.reached.__func__, inspect, Git.__init__):
        monkeypatch.setitem(function.__kwdefaults__, "seconds", PATIENCE)
    monkeypatch.setattr(leftover_engines, "_SECONDS", PATIENCE)


@pytest.fixture
def alone():
    """Asks for the engine alone, see `shared_engine`."""


@pytest.fixture(autouse=True)
def shared_engine(request):
    """Keeps other workers from the engine while a test needs it alone.

    It remembers 256 events, whoever caused them, and lists everybody's containers.
    """
    lock = Path(tempfile.gettempdir()) / f"evalharness-engine-{os.geteuid()}.lock"
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if "alone" in request.fixturenames else fcntl.LOCK_SH)
        yield


def own_name():
    """A name of a container or an image that nobody else has."""
    return f"evalharness-test-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def engine():
    """A client of the engine. Where one was started for these tests, its absence is no reason to skip."""
    asked = inspect(["evalharness-no-such"], clock=SystemClock(), seconds=PATIENCE)["evalharness-no-such"]
    if "no local image" not in str(asked):
        told = f"{asked}\n(bash tests/containers/install.sh starts an engine)"
        assert not os.environ.get("CONTAINER_ENGINE_REQUIRED"), told
        pytest.skip(told)
    client = docker.from_env(timeout=PATIENCE)
    yield client
    client.close()


@pytest.fixture
def image(engine):
    """Makes an image under a name of its own; it is gone after the test."""
    made = []

    def make(files=None, **words):
        tag = f"{own_name()}:v1"
        engine.images.load(archive(tag, files or {"bot": "build 1"}, **words))
        made.append(tag)
        return tag

    yield make
    for tag in made:
        with contextlib.suppress(ImageNotFound):
            engine.images.remove(tag, force=True)


@pytest.fixture(scope="session")
def box(engine):
    """An image with a shell."""
    made = box_archive()
    if made is None:
        pytest.skip("this machine has no ldd, or not the programs that a small image is made of")
    tag = own_name()
    engine.api.import_image_from_data(made, repository=tag, tag="v1", changes=["ENV PATH=/bin"])
    yield f"{tag}:v1"
    engine.images.remove(f"{tag}:v1", force=True)


@pytest.fixture
def start(engine, box):
    """Starts a container of that image under a name of its own; it is gone after the test."""
    made = []

    def run(*command, **words):
        made.append(own_name())
        # In two steps: the library would look for a container that may have removed itself already.
        created = engine.containers.create(box, list(command), name=made[-1], **words)
        created.start()
        return created

    yield run
    for name in made:
        with contextlib.suppress(NotFound, APIError):  # it may be removing itself just now
            engine.containers.get(name).remove(force=True)


@pytest.fixture
def asked():
    """An open connection as the product has it."""
    with Engine.reached(clock=SystemClock()) as reached:
        yield reached
