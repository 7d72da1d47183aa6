"""Questions to real repositories and worktrees, made for each test."""

import os
import subprocess
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.git import MOST_FILES, Git, Unknown
from pytest_evalharness.base.text import printable

NOT_MINE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
}


class Repo:
    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main")

    def __call__(self, *words, at=None):
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.path,
            env={**os.environ, **NOT_MINE},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def write(self, name, text="x", at=None):
        file = (at or self.path) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, *names, text="x", at=None):
        for name in names:
            self.write(name, text, at)
        self("add", "-A", at=at)
        self("commit", "-q", "--allow-empty", "-m", "step", at=at)
        return self("rev-parse", "HEAD", at=at)


@pytest.fixture
def repo(tmp_path):
    return Repo(tmp_path / "bot")


@pytest.fixture
def ask(repo):
    def asked(folder=None, **words):
        environment = {**os.environ, **NOT_MINE, **words.pop("environment", {})}
        patient = {"seconds": 300.0, **words}  # a busy machine may take longer than a user would wait
        return Git(folder or repo.path, SystemClock(), environment=environment, **patient)

    return asked


def test_a_clean_tree(repo, ask):
    head = repo.commit("crew.py")
    here = ask().repository().here
    assert (here.path, here.head, here.branch) == (str(repo.path), head, "main")
    assert (here.changes.total, here.changes.names) == (0, ())


def test_edits_staged_renamed_and_untracked_files_are_changes(repo, ask):
    repo.commit("a.py", "b.py", "sub/c.py")
    repo.write("a.py", "edited")
    repo("mv", "b.py", "renamed.py")
    repo.write("new/deep/file.py")
    changes = ask(repo.path / "sub").repository().here.changes
    assert sorted(changes.names) == ["a.py", "new/deep/file.py", "renamed.py"]
    assert changes.total == 3


def test_the_users_own_settings_hide_no_untracked_file(repo, ask):
    repo.commit("a.py")
    repo("config", "status.showUntrackedFiles", "no")
    repo.write("b.py")
    assert ask().repository().here.changes.names == ("b.py",)


def test_our_own_folder_is_no_change_wherever_it_lies(repo, ask):
    repo.commit("a.py")
    repo.write("evals/.evalharness/ledger.sqlite")
    repo.write("evals/.evalharness-not-ours")
    told = ask().repository(beside=repo.path / "evals" / ".evalharness").here.changes
    assert told.names == ("evals/.evalharness-not-ours",)
    assert ask().repository(beside=repo.path.parent).here.changes.total == 2


def test_what_python_compiles_while_cases_run_is_no_change(repo, ask):
    repo.commit("a.py")
    repo.write("__pycache__/test_evals.cpython-311.pyc")
    repo.write("bot/__pycache__/plan.cpython-311.pyc")
    repo.write("my__pycache__.py")
    assert ask().repository().here.changes.names == ("my__pycache__.py",)


def test_many_changes_are_counted_and_the_first_named(repo, ask):
    for number in range(70):
        repo.write(f"f{number:02}.py")
    changes = ask().repository().here.changes
    assert (changes.total, len(changes.names)) == (70, 50)


def test_a_repository_without_a_commit(repo, ask):
    here = ask().repository().here
    assert (here.head, here.branch) == (None, "main")


def test_every_worktree_with_its_own_revision_and_changes(repo, ask, tmp_path):
    first = repo.commit("a.py")
    inner, outer = repo.path / ".trees" / "one", tmp_path / "two"
    repo("worktree", "add", "-q", "-b", "one", str(inner))
    repo("worktree", "add", "-q", "--detach", str(outer))
    second = repo.commit("b.py", at=inner)
    repo.write("a.py", "edited", at=outer)
    found = ask(outer).repository()
    assert {Path(t.path).name: (t.head, t.branch, t.changes.names) for t in found.worktrees} == {
        "bot": (first, "main", ()),  # the worktree inside it is no untracked folder
        "one": (second, "one", ()),
        "two": (first, None, ("a.py",)),
    }
    assert [tree.here for tree in found.worktrees] == [True, False, False]
    assert found.here.path == str(outer)


def test_a_worktree_whose_folder_is_gone_is_none(repo, ask, tmp_path):
    repo.commit("a.py")
    repo("worktree", "add", "-q", "--detach", str(tmp_path / "gone"))
    for file in (tmp_path / "gone").iterdir():
        file.unlink()
    (tmp_path / "gone").rmdir()
    assert len(ask().repository().worktrees) == 1


def test_this_worktree_is_told_of_however_many_there_are(repo, ask, tmp_path):
    repo.commit("a.py")
    for number in range(18):
        repo("worktree", "add", "-q", "--detach", str(tmp_path / f"w{number}"))
    found = ask(tmp_path / "w17").repository()
    assert len(found.worktrees) == 16
    assert found.here.path == str(tmp_path / "w17")


def test_the_files_between_two_commits(repo, ask):
    one = repo.commit("a.py", "docs/b.md", "same.py")
    repo("mv", "docs/b.md", "docs/c.md")
    other = repo.commit("a.py", text="edited")
    git = ask(repo.path / "docs")
    assert git.files_between(one, other) == ("a.py", "docs/b.md", "docs/c.md")
    assert git.files_between(one, one) == ()


def test_a_commit_by_its_first_digits(repo, ask):
    full = repo.commit("a.py")
    assert ask().commit(full[:9]) == full
    assert ask().commit("f" * 40) == Unknown("this repository has no such commit")


@pytest.mark.parametrize(
    "revision", ["--output=/tmp/x", "HEAD", "main", "a" * 6, "", "a" * 65, "abc1234;id", "A" * 40]
)
def test_what_is_no_commit_id_is_not_handed_to_git(repo, ask, revision):
    repo.commit("a.py")
    assert ask().commit(revision) == Unknown("it is no commit id")


def test_a_tree_is_no_commit(repo, ask):
    repo.commit("a.py")
    assert isinstance(ask().commit(repo("rev-parse", "HEAD^{tree}")), Unknown)


HOSTILE = ["new\nline", "-rf", "\x1b[31mred", "tab\there", '"quoted"', "🎲", "R  a\\0b", " lead"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_names_are_text(repo, ask, name):
    one = repo.commit("a.py")
    repo.write(name)
    assert ask().repository().here.changes.names == (name,)
    other = repo.commit(name)
    assert ask().files_between(one, other) == (name,)
    assert printable(name).isprintable()


def test_a_file_name_that_is_no_utf_8(repo, ask):
    (repo.path / os.fsdecode(b"\xff\xfe.py")).touch()
    assert ask().repository().here.changes.names == ("\ufffd\ufffd.py",)


def test_no_repository_is_unknown(tmp_path, ask):
    told = ask(tmp_path, environment={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}).repository()
    assert isinstance(told, Unknown)
    assert told.why.startswith("not a git repository")


def test_a_bare_repository_is_unknown(tmp_path, ask):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    assert isinstance(ask(tmp_path / "bare").repository(), Unknown)


def test_no_git_is_unknown(repo, ask, tmp_path):
    assert ask(environment={"PATH": str(tmp_path)}).repository() == Unknown("there is no git")
    assert ask(tmp_path / "nowhere").repository() == Unknown("there is no such folder")


def test_a_git_that_hangs_is_unknown(repo, ask, tmp_path):
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    git = ask(environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, seconds=0.2)
    assert git.repository() == Unknown("git did not answer in time")
    assert git.commit("a" * 40) == Unknown("git did not answer in time")


def test_a_git_hook_s_variables_do_not_answer_for_another_repository(repo, ask, tmp_path):
    repo.commit("a.py")
    other = Repo(tmp_path / "other")
    other.commit("b.py")
    git = ask(environment={"GIT_DIR": str(other.path / ".git"), "GIT_WORK_TREE": str(other.path)})
    assert git.repository().here.path == str(repo.path)


def test_a_repository_starts_no_program_of_its_own(repo, ask, tmp_path):
    repo.commit("a.py")
    mark = tmp_path / "started"
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {mark}\n")
    spy.chmod(0o755)
    repo("config", "core.fsmonitor", str(spy))
    repo("config", "diff.external", str(spy))
    repo.write("a.py", "edited")
    other = repo.commit("a.py", text="edited")
    mark.unlink(missing_ok=True)  # the commit of this test started it
    assert ask().repository().here.changes.total == 0
    assert ask().files_between(repo("rev-parse", "HEAD^"), other) == ("a.py",)
    assert not mark.exists()


def test_nothing_is_written(repo, ask):
    repo.commit("a.py")
    os.utime(repo.path / "a.py", (1, 1))  # git would note in its index that the file is as it was
    before = (repo.path / ".git" / "index").read_bytes()
    assert ask().repository().here.changes.total == 0
    assert (repo.path / ".git" / "index").read_bytes() == before


def test_very_many_differing_files_are_only_counted(repo, ask, monkeypatch):
    one = repo.commit("a.py")
    other = repo.commit("b.py", "c.py", "d.py")
    monkeypatch.setattr("pytest_evalharness.base.git.MOST_FILES", 2)
    assert MOST_FILES > 2
    assert ask().files_between(one, other) == Unknown("3 files differ")
