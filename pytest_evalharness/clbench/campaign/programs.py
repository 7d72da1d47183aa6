"""Which `clbench` belongs to a checkout. `run-all` starts its children with whichever stands on PATH first."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "clbench"
_VENVS = (".venv", "venv", "env")
_SECONDS = 20.0
_HEAD = 512
_WHERE = (
    "import importlib.util,sys;"
    "spec=importlib.util.find_spec('src');"
    "places=list(spec.submodule_search_locations or ()) if spec else [];"
    "print(places[0] if places else '')"
)
"""Asked of an interpreter outside any checkout: the folder from which its console scripts import the benchmark."""


@dataclass(frozen=True)
class Program:
    """How a checkout's program is started.

    Attributes:
        argv: to put before the subcommand.
        python: the interpreter that runs it; empty if unknown.
        foreign: the `clbench` that stands on PATH and belongs to something else; empty if none does.
    """

    argv: tuple[str, ...]
    python: str
    foreign: str = ""


def program_of(root: Path, path: str) -> Program:
    """The program of a checkout: the `clbench` on PATH if it is its own, one in its own environment, else its script.

    Args:
        root: the checkout's root, without symbolic links.
        path: PATH, as its children will have it.
    """
    on_path = shutil.which(NAME, path=path)
    foreign = ""
    if on_path is not None:
        if belongs(Path(on_path), root):
            return Program((on_path,), interpreter(Path(on_path)) or "")
        foreign = on_path
    for folder in _VENVS:
        script = root / folder / "bin" / NAME
        if script.exists() and belongs(script, root):
            return Program((str(script),), interpreter(script) or "", foreign)
    python = next(_pythons(root, path), "")
    return Program((python or "python3", str(root / "run_benchmark.py")), python, foreign)


def belongs(script: Path, root: Path) -> bool:
    """Whether a `clbench` runs the code of this checkout, and not a copy that is installed elsewhere."""
    python = interpreter(script)
    if python is None:
        return script.resolve().is_relative_to(root)
    place = source_of(python)
    return place is not None and Path(place).resolve() == root / "src"


def interpreter(script: Path) -> str | None:
    """The Python that a console script names in its first lines; None if it is no Python script."""
    try:
        with script.open("rb") as file:
            lines = file.read(_HEAD).decode("utf-8", "replace").split("\n")
    except OSError:
        return None
    if not lines[0].startswith("#!"):
        return None
    words = lines[0][2:].split()
    if words and Path(words[0]).name == "sh" and len(lines) > 1 and lines[1].startswith("'''exec'"):
        words = shlex.split(
            lines[1].removeprefix("'''exec'")
        )  # installers write this where a path is too long
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words or not Path(words[0]).name.startswith("python"):
        return None
    return words[0] if os.sep in words[0] else shutil.which(words[0])


def source_of(python: str) -> str | None:
    """The folder of the benchmark's code that an interpreter would import; None if it has none or does not answer."""
    try:
        done = subprocess.run(
            [python, "-P", "-c", _WHERE],
            cwd=os.sep,  # a checkout as working folder would answer for itself
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    told = done.stdout.decode("utf-8", "replace").strip()
    return told if done.returncode == 0 and told else None


def _pythons(root: Path, path: str) -> Iterator[str]:
    """Interpreters that may run the checkout's script, the likeliest first."""
    for folder in _VENVS:
        python = root / folder / "bin" / "python"
        if python.exists():
            yield str(python)
    for name in ("python3.13", "python3"):
        found = shutil.which(name, path=path)
        if found is not None:
            yield found
