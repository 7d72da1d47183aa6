"""Who can read an engine's keys, and secrets in what is handed on."""

import gzip
import random
import tempfile
from pathlib import Path

import pytest

from pytest_evalharness.clbench.campaign import hygiene
from pytest_evalharness.clbench.campaign.hygiene import Reach
from pytest_evalharness.clbench.checking import State
from tests.unit.clbench.left import Left

OPENROUTER = "sk-or-v1-" + "0123456789abcdef" * 4


@pytest.fixture
def left(tmp_path):
    return Left(tmp_path)


@pytest.fixture
def settings():
    """An engine's settings in a folder that everybody may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="evalharness-test-") as folder:
        Path(folder).chmod(0o755)
        file = Left(Path(folder)).folder / "data" / "settings.json"
        for parent in list(file.parents)[:3]:
            parent.chmod(0o755)
        file.write_text('{"OPENROUTER_API_KEY": "x"}')
        yield file


def opened(file, mode, *, folders):
    """A file and its engine's folder with these modes."""
    file.chmod(mode)
    file.parents[1].chmod(folders)


def test_no_engine_no_settings(left):
    assert hygiene.engine_settings([left.folder]) == ()
    check = hygiene.settings_check(())
    assert (check.state, check.seen) == (State.OK, "no engine has settings yet")


def test_a_mode_that_only_a_folder_makes_good(settings):
    opened(settings, 0o644, folders=0o700)
    (one,) = hygiene.engine_settings([settings.parents[1]])
    assert (one.file, one.mode, one.reach) == (settings, 0o644, Reach.SHIELDED)
    check = hygiene.settings_check([one])
    assert (check.state, check.mend[:9]) == (State.INCOMPLETE, "chmod 600")
    assert check.seen.endswith("has mode 0644")


def test_a_file_that_everybody_on_the_machine_can_read(settings):
    opened(settings, 0o644, folders=0o755)
    (one,) = hygiene.engine_settings([settings.parents[1]])
    if one.reach is Reach.SHIELDED:
        pytest.skip(f"a folder above {settings} keeps others out")
    check = hygiene.settings_check([one])
    assert check.state is State.FAILED
    assert check.seen.endswith("has mode 0644 and everybody on this machine can read it")


def test_a_file_of_its_owners_only(settings):
    opened(settings, 0o600, folders=0o755)
    (one,) = hygiene.engine_settings([settings.parents[1]])
    assert one.reach is Reach.OWNER
    assert hygiene.settings_check([one]).seen == "1 files, none of which others can read"


def test_others_who_may_read_but_not_enter(settings):
    """A folder that a group may enter does not let others in."""
    opened(settings, 0o604, folders=0o750)
    assert hygiene.reach_of(settings) is Reach.SHIELDED


def test_a_link_in_the_place_of_settings_is_not_followed(settings):
    settings.rename(settings.with_name("elsewhere"))
    settings.symlink_to(settings.with_name("elsewhere"))
    assert hygiene.engine_settings([settings.parents[1]]) == ()


def test_more_files_than_are_worth_reading_are_counted(left):
    found = []
    for number in range(8):
        file = left.root(f"more{number}") / "data" / "settings.json"
        file.write_text("{}")
        file.chmod(0o644)
        found.append(hygiene.Settings(file, 0o644, Reach.SHIELDED))
    assert hygiene.settings_check(found).seen.endswith("; and 3 more")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f'{{"key": "{OPENROUTER}"}}', "an OpenRouter key"),
        ("sk-ant-REDACTED" + "Ab1-" * 8, "an Anthropic key"),
        ("export A=sk-proj-" + "Ab1" * 10, "an OpenAI key"),
        ("sk-" + "Ab1" * 10, "an OpenAI key"),
        ("hf_" + "Ab1" * 10, "a Hugging Face token"),
        ("ghp_" + "Ab1" * 12, "a GitHub token"),
        ("github_pat_" + "Ab1" * 12, "a GitHub token"),
        ("hidden: quite-a-long-secret;", "the value of MY_TOKEN"),
    ],
)
def test_secrets_by_their_look_and_by_their_value(tmp_path, text, what):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.log").write_text(f"before\n{text}\nafter")
    with gzip.open(tmp_path / "b.json.gz", "wt") as file:
        file.write(text)
    environment = {"MY_TOKEN": "quite-a-long-secret", "MODEL": "before-and-after"}
    found = list(hygiene.secrets_in(tmp_path, environment))
    assert {(str(one.file), one.what) for one in found} == {("sub/a.log", what), ("b.json.gz", what)}
    assert "quite-a-long" not in repr(found)
    check = hygiene.secrets_check(tmp_path, environment)
    assert check.state is State.FAILED
    assert "sub/a.log holds" in check.seen
    assert OPENROUTER not in check.seen


@pytest.mark.parametrize(
    "text",
    [
        "task-sk-learn-is-a-library-of-many-words", "sk-short", "hf_hub", "disk-usage-of-everything-here", "ask-me-anything-at-all-now-please",
        "the model of MY_TOKEN",
    ],
)  # fmt: skip
def test_words_are_no_secrets(tmp_path, text):
    (tmp_path / "a.log").write_text(text)
    assert list(hygiene.secrets_in(tmp_path, {"MY_TOKEN": "short", "MODEL": "the model of MY_TOKEN"})) == []


@pytest.mark.parametrize("before", [0, 1, 65_500, 65_530, 65_536, 131_060])
@pytest.mark.parametrize("packed", [False, True])
def test_a_secret_across_two_readings_is_found(tmp_path, before, packed):
    noise = bytes(random.Random(1).choices(b"abc xyz\n", k=before))
    content = noise + OPENROUTER.encode() + b"\n" * 100_000
    (tmp_path / "a").write_bytes(gzip.compress(content, 0) if packed else content)
    assert [one.what for one in hygiene.secrets_in(tmp_path, {})] == ["an OpenRouter key"]


def test_damaged_archives_are_searched_as_far_as_they_go(tmp_path):
    whole = gzip.compress(OPENROUTER.encode() + b" " * 10)
    (tmp_path / "several.gz").write_bytes(gzip.compress(b"nothing") + whole)
    (tmp_path / "torn.gz").write_bytes(whole[:-4])
    (tmp_path / "rubbish.gz").write_bytes(b"\x1f\x8b" + b"\x00" * 50)
    (tmp_path / "empty").write_bytes(b"")
    assert [str(one.file) for one in hygiene.secrets_in(tmp_path, {})] == ["several.gz", "torn.gz"]


def test_what_belongs_into_no_bundle(tmp_path):
    for name in ("runner_state/x", "results/clone/.git", "results/task_results", "final_results"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "final_results" / ".env").write_text("")
    assert [str(one) for one in hygiene.not_to_hand_on(tmp_path)] == [
        "final_results/.env", "results/clone", "results/task_results", "runner_state",
    ]  # fmt: skip
    assert "runner_state is there" in hygiene.secrets_check(tmp_path, {}).seen


def test_a_clean_folder(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert hygiene.secrets_check(tmp_path, {}).state is State.OK
