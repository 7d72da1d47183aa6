"""Arms told apart by images of a real engine and by a real repository, on a server that tells no digests."""

import json
import subprocess
import time

import pytest

from pytest_evalharness.base.clock import SystemClock, iso
from pytest_evalharness.containers.images import REVISION
from pytest_evalharness.league.build_check import BuildCheck
from pytest_evalharness.league.local_builds import BuildSources, LocalBuilds, Missing, look
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from tests.integration.containers.conftest import own_name

FEW = "--eval-num=5"


class Repo:
    """The policy author's repository: the project itself, so that the command is typed in it."""

    def __init__(self, path):
        self.path = path
        self("init", "-q", "-b", "main")

    def __call__(self, *words, at=None):
        command = [
            "git",
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.invalid",
            "-C",
            str(at or self.path),
            *words,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name, text, at=None):
        file = (at or self.path) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self("add", "-A", at=at)
        self("commit", "-q", "-m", name, at=at)
        return self("rev-parse", "HEAD", at=at)


@pytest.fixture
def bot(project):
    project.league.fault("untold-images")
    (project.pytester.path / ".gitignore").write_text(
        ".evalharness\nreport.xml\n__pycache__\n.pytest_cache\n"
    )
    repo = Repo(project.pytester.path)
    repo("add", "-A")
    repo("commit", "-q", "-m", "the cases")
    return repo


def named(candidate, baseline):
    return f"--eval-candidate-image={candidate}", f"--eval-baseline-image={baseline}"


def told(project):
    return project.results()["cases"][0]["results"][0]["builds"]


def test_two_images_prove_it_and_git_tells_what_differs(project, bot, engine, image):
    old = bot.commit("bot/crew.py", "before")
    new = bot.commit("bot/crew.py", "after")
    images = (
        image({"bot": "after"}, labels={REVISION: new}),
        image({"bot": "before"}, labels={REVISION: old}, created=iso(time.time() - 3 * 86_400)),
    )
    result = project.judge_here(FEW, *named(*images), "-v")
    assert result.ret in {0, 10}
    assert project.posted == 2
    found = told(project)
    ids = [engine.images.get(name).id for name in images]
    assert (found["conclusion"], found["source"]) == ("different", "local image")
    assert (
        found["sentence"] == f"proved different: the ids of the local images, {ids[0][:19]} and {ids[1][:19]}"
    )
    assert [found["arms"][side]["commit"] for side in ("candidate", "baseline")] == [new, old]
    assert found["files"] == ["bot/crew.py"]
    (old_one,) = found["warnings"]
    assert old_one.startswith("the baseline image was built 3 d ago")
    result.stdout.fnmatch_lines(
        ["*the baseline image was built 3 d*", "*1 file differs between the arms' revisions: bot/crew.py"]
    )
    page = next(project.home.glob("runs/*/report.html")).read_text()
    assert "bot/crew.py" in page
    assert ids[0][:19] in page

    again = project.judge_here(FEW)  # without images and without the engine: what was proved is kept
    assert again.ret == result.ret
    assert told(project) == found
    assert project.posted == 2


def test_one_image_under_two_names_is_refused(project, bot, engine, image):
    tag, twin = image(), own_name()
    engine.images.get(tag).tag(twin, "v1")
    try:
        result = project.judge_here(*named(tag, f"{twin}:v1"))
    finally:
        engine.images.remove(f"{twin}:v1")
    assert result.ret == 11
    assert project.posted == 0
    result.stdout.fnmatch_lines(
        ["E*are the same build under two names (local image sha256:*): the edit never reached*"]
    )


def test_an_image_that_is_not_there_is_refused_with_what_to_type(project, bot, image):
    result = project.judge_here(*named(image(), "evalharness-no-such:v1"))
    assert result.ret == 11
    assert project.posted == 0
    result.stdout.fnmatch_lines(
        ["E*there is no local image evalharness-no-such:v1*", "E*next:*docker pull evalharness-no-such:v1*"]
    )


def test_an_id_that_did_not_change_after_an_edit_is_told_with_the_run_that_met_it(project, bot, image):
    bot.commit("a.py", "x")
    base, unchanged = image({"bot": "base"}), image({"bot": "same"})
    project.judge_here(FEW, *named(unchanged, base), candidate="keeper:v4")
    run_id = project.results()["run_id"]
    project.judge_here(FEW, *named(unchanged, base), candidate="keeper:v2")
    met, equal = told(project)["warnings"]
    assert met.startswith(
        f"the candidate's build is that of keeper:v4, the candidate of run {run_id}: after an intended change"
    )
    assert equal.startswith(f"equals the builds judged in run {run_id} (keeper:v4 against keeper:v1: ")


def test_the_worktree_that_the_candidate_was_built_from_is_named(project, bot, image, tmp_path_factory):
    base = bot.commit("a.py", "before")
    other = tmp_path_factory.mktemp("trees") / "fix"
    bot("worktree", "add", "-q", "-b", "fix", str(other))
    edit = bot.commit("a.py", "after", at=other)
    (other / "b.py").write_text("and more")
    candidate = image({"bot": "after"}, labels={REVISION: f"{edit}-dirty"})
    baseline = image({"bot": "before"}, labels={REVISION: base})
    project.judge_here("--eval-dry-run", *named(candidate, baseline)).stdout.fnmatch_lines(
        [
            f"*revision {edit[:12]}, which is checked out in the worktree {other} (fix); this worktree, *(main), is at {base[:12]}"
        ]
    )
    project.judge_here(FEW, *named(candidate, baseline))
    warnings = told(project)["warnings"]
    assert [text.partition(",")[0].partition(" (")[0] for text in warnings] == [
        "the candidate image says that it was built from a tree with uncommitted changes",
        f"the worktree {other}",
        f"the candidate image was built at revision {edit[:12]}",
    ]
    assert "holds 1 uncommitted change (b.py)" in warnings[1]


def test_an_engine_that_is_not_there_is_a_warning_where_the_server_proves_it(project, bot, monkeypatch):
    project.league.heal()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/engine.sock")
    result = project.judge_here(FEW, *named("bot:new", "bot:old"))
    assert result.ret in {0, 10}
    found = told(project)
    assert found["source"] == "server"
    assert len(found["warnings"]) == 2
    result.stdout.fnmatch_lines(
        ["*the local image bot:old of keeper:v1 was not inspected: no container engine answers at *"]
    )


# ------------------------------------------------------------- one look a run


def test_all_processes_of_a_run_see_the_images_as_the_first_of_them_did(tmp_path, engine, image):
    tag = image()
    sources = BuildSources(images={"bot:v2": tag}, folder=tmp_path)
    checks = []
    with (
        Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("r1", "gw0")) as one,
        Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("r1", "gw1")) as two,
    ):
        for ledger, run_id in ((one, "r1"), (two, "r1"), (two, "r2")):
            checks.append(BuildCheck(ledger, SystemClock(), run_id, sources)._machine(preview=False))
            if len(checks) == 1:
                engine.images.remove(tag, force=True)
    assert checks[0].image("bot:v2").name == tag
    assert checks[1] == checks[0]
    assert isinstance(checks[2].images["bot:v2"], Missing)


def test_what_is_looked_at_survives_as_plain_data(tmp_path, image):
    repo = Repo(tmp_path)
    old, new = repo.commit("a.py", "1"), repo.commit("a.py", "2")
    sources = BuildSources(
        images={
            "bot:v2": image({"bot": "2"}, labels={REVISION: new}), "bot:v1": image({"bot": "1"}, labels={REVISION: old[:10]})
        },
        folder=repo.path,
    )  # fmt: skip
    found = look(sources, SystemClock())
    assert found.commits == {"bot:v2": new, "bot:v1": old}
    assert found.files == ("a.py",)
    assert LocalBuilds.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.repository.here.path == str(repo.path)
