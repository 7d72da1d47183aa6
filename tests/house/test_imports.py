"""Imports run down the list of the design, and loading the plugin stays cheap."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_evalharness

HOUSE = Path(pytest_evalharness.__file__).parent
FLOORS = [
    "cli", "plugin", "service", "league", "clbench", "engines", "episodes", "observatory", "ledger", "report",
    "net", "containers", "verdict", "stats", "settings", "errors", "base",
]  # fmt: skip
NEIGHBOURS = {"league", "clbench", "engines"}
ONLY = {
    "httpx": {"net"},
    "httpcore": {"net"},
    "h11": {"net"},
    "docker": {"containers"},
    "jinja2": {"report"},
    "pytest": {"plugin"},
    "_pytest": {"plugin"},
}


def modules():
    return sorted(HOUSE.rglob("*.py"))


def room(path):
    part = path.relative_to(HOUSE).parts[0]
    return part.removesuffix(".py")


def imports(path):
    """Every module that a file imports, wherever in the file, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield f"{node.module}"
            if node.module == "pytest_evalharness":
                yield from (f"pytest_evalharness.{alias.name}" for alias in node.names)


def broken_rules(path, names):
    here = room(path)
    for name in names:
        top, _, rest = name.partition(".")
        if top in ONLY and here not in ONLY[top]:
            yield f"{top} is imported by {here}/"
        if top == "pytest_evalharness" and rest:
            yield from broken_inside(here, rest.partition(".")[0], name)


MINIATURE = "pytest_evalharness.clbench.miniature"


def broken_rules_of_the_miniature(path, names):
    """It stands alone, as the arena does: whoever drives it starts it as a process."""
    inside = path.is_relative_to(HOUSE / "clbench" / "miniature")
    for name in names:
        of_it = name == MINIATURE or name.startswith(f"{MINIATURE}.")
        if not inside and of_it:
            yield f"{path} imports {name}"
        if inside and name.startswith("pytest_evalharness") and not of_it:
            part = name.split(".")[1] if "." in name else ""
            if part != "base":
                yield f"the miniature imports {name}"
        if inside and name.partition(".")[0] not in {*sys.stdlib_module_names, "pytest_evalharness"}:
            yield f"the miniature imports {name}, which is no standard library"


def broken_inside(here, there, name):
    if here == "arena":
        if there not in {"arena", "base"}:
            yield f"arena/ imports {there}"
    elif there == "arena":
        if here != "cli" or not name.startswith("pytest_evalharness.arena.game"):
            yield f"{here} imports {name}"
    elif here in {there, "__init__"}:
        return  # the public names of __init__ are lazy
    elif {here, there} <= NEIGHBOURS:
        yield f"{here} imports its neighbour {there}"
    elif FLOORS.index(there) < FLOORS.index(here):
        yield f"{here} imports {there}, which is above it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(HOUSE)))
def test_imports_run_down_the_house(path):
    names = list(imports(path))
    assert [*broken_rules(path, names), *broken_rules_of_the_miniature(path, names)] == []


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("clbench/campaign/x.py", MINIATURE),
        ("cli/x.py", f"{MINIATURE}.install"),
        ("clbench/miniature/x.py", "pytest_evalharness.clbench.domains"),
        ("clbench/miniature/x.py", "pytest_evalharness.errors"),
        ("clbench/miniature/x.py", "msgspec"),
    ],
)
def test_the_rules_of_the_miniature_can_fail(file, name):
    assert list(broken_rules_of_the_miniature(HOUSE / file, [name]))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("base/x.py", "pytest_evalharness.errors"),
        ("league/x.py", "pytest_evalharness.plugin.session"),
        ("league/x.py", "pytest_evalharness.engines"),
        ("league/x.py", "httpx"),
        ("arena/x.py", "pytest_evalharness.errors"),
        ("league/x.py", "pytest_evalharness.arena.game"),
        ("report/x.py", "pytest"),
    ],
)
def test_the_rules_can_fail(file, name):
    assert list(broken_rules(HOUSE / file, [name]))


def test_nobody_uses_a_nameless_room():
    vague = {"utils", "util", "helpers", "common", "misc"}
    assert [path for path in modules() if path.stem in vague or path.parent.name in vague] == []


def test_modules_stay_small():
    sizes = {str(p.relative_to(HOUSE)): len(p.read_text().splitlines()) for p in modules()}
    assert {name: size for name, size in sizes.items() if size > 500} == {}


def test_every_package_says_what_it_is():
    silent = [p for p in modules() if not (ast.get_docstring(ast.parse(p.read_text())) or "").strip()]
    assert silent == []


def loaded_after(code):
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        # A measured subprocess would load what the measuring needs.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
    )
    return set(run.stdout.split())


HEAVY = {
    "scipy",
    "numpy",
    "httpx",
    "pydantic",
    "docker",
    "yaml",
    "fastapi",
    "jinja2",
    "xdist",
    "sqlite3",
    "statistics",
}


def test_loading_the_plugin_imports_pytest_and_the_standard_library_only():
    parts = "import importlib, pytest_evalharness.plugin as p\n[importlib.import_module(n) for n in p.pytest_plugins]"
    assert loaded_after(parts) & HEAVY == set()


def test_the_public_names_stay_cheap():
    assert loaded_after("from pytest_evalharness import Verdict") & HEAVY == set()


def test_a_comparison_that_is_read_again_needs_no_client():
    """Half of the time that reading takes would go into modules of which nothing is asked."""
    assert loaded_after("import pytest_evalharness.league.run") & (HEAVY - {"sqlite3", "statistics"}) == set()
