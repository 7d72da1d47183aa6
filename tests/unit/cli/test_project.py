"""The project of a folder is the one that pytest itself finds there."""

import pytest
from _pytest.config.findpaths import determine_setup

from pytest_evalharness.cli.project import find_project
from pytest_evalharness.errors import UsageError

INI = "[pytest]\nevalharness_server = embedded\nevalharness_opponent =\n    basilisk\n    rival:v3\naddopts = -q\n"
CFG = INI.replace("[pytest]", "[tool:pytest]")
NATIVE = '[tool.pytest]\nevalharness_server = "embedded"\nevalharness_opponent = "basilisk\\nrival:v3"\n'
OPTIONS = NATIVE.replace("[tool.pytest]", "[tool.pytest.ini_options]")
OWN = NATIVE.replace("[tool.pytest]", "[pytest]")
NOTHING = "[tool.other]\nx = 1\n"
SEVERAL = {
    "pytest.toml": {"pytest.toml": OWN},
    "hidden toml": {".pytest.toml": OWN},
    "pytest.ini": {"pytest.ini": INI},
    "hidden ini": {".pytest.ini": INI},
    "empty pytest.ini": {"pytest.ini": ""},
    "pyproject": {"pyproject.toml": NATIVE},
    "ini options": {"pyproject.toml": OPTIONS},
    "tox": {"tox.ini": INI},
    "setup.cfg": {"setup.cfg": CFG},
    "ini before pyproject": {"pytest.ini": "[pytest]\nevalharness_server = https://a/api\n", "pyproject.toml": NATIVE},
    "pyproject without pytest before tox": {"pyproject.toml": NOTHING, "tox.ini": INI},
    "above": {"../tox.ini": INI},
    "the nearest": {"../tox.ini": INI, "pytest.ini": "[pytest]\n"},
    "pyproject alone": {"pyproject.toml": NOTHING},
    "pyproject above alone": {"../pyproject.toml": NOTHING},
    "two without pytest": {"../pyproject.toml": NOTHING, "pyproject.toml": NOTHING},
    "setup.py": {"../setup.py": ""},
    "tox of somebody else": {"tox.ini": "[tox]\nx = 1\n"},
    "nothing": {},
}  # fmt: skip


@pytest.mark.parametrize("files", SEVERAL.values(), ids=SEVERAL)
def test_it_is_where_pytest_finds_it(tmp_path, files):
    here = tmp_path / "project" / "below"
    here.mkdir(parents=True)
    for name, text in files.items():
        (here / name).write_text(text)
    root, _, told, *_ = determine_setup(
        inifile=None, override_ini=None, args=[], rootdir_cmd_arg=None, invocation_dir=here
    )
    found = find_project(here)
    assert found.root == root
    ours = {key: value.value for key, value in told.items() if key.startswith("evalharness_")}
    assert {f"evalharness_{key}": value.strip() for key, value in found.keys.items()} == {
        key: value.strip() for key, value in ours.items()
    }


def test_a_list_of_names_is_one_name_a_line(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest]\nevalharness_opponent = ["basilisk", "rival:v3"]\n'
    )
    assert find_project(tmp_path).keys == {"opponent": "basilisk\nrival:v3"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest\n"),
        ("pytest.ini", "[pytest\n"),
        ("tox.ini", "x\n"),
        ("pyproject.toml", "tool = 3\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=f"{name} cannot be read"):
        find_project(tmp_path)
