"""What a system's constructor takes, read from its source, and what the benchmark resolves, read from its dry run. Pure."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LARGEST = 4 * 1024 * 1024
_REGISTER = "register_system"
_SYSTEM, _TASK = "Resolved system params: ", "Resolved task params: "
_RUNS = re.compile(r"Runs: (\d+), max workers: (\d+), mode: (\w+)")
_KEY = re.compile(r"'([A-Za-z_]\w*)': ")


@dataclass(frozen=True)
class Constructor:
    """What a constructor takes.

    Attributes:
        names: of its parameters.
        takes_any: whether it takes other names too.
    """

    names: tuple[str, ...]
    takes_any: bool = False


@dataclass(frozen=True)
class Resolved:
    """What a dry run says that a run would do.

    Attributes:
        params: of the system: those that were given and known, and defaults that are not None.
        task_params: of the task; likewise.
        runs: rollouts.
        max_workers: of the process pool.
        mode: permute, resample or replicate.
    """

    params: Mapping[str, Any]
    task_params: Mapping[str, Any]
    runs: int
    max_workers: int
    mode: str


def constructor(systems: Path, name: str) -> Constructor | None:
    """The constructor of a system, read without running any of its code; None where the source does not tell.

    Args:
        systems: the folder of all systems.
        name: the system's.
    """
    mine, classes = _found(systems, name)
    return _constructor(mine, classes) if mine is not None else None


def declares(systems: Path, name: str, attribute: str) -> object:
    """A constant that a system's class sets in its body; None where it sets none that can be read.

    Args:
        systems: the folder of all systems.
        name: the system's.
        attribute: the constant's name.
    """
    mine, _ = _found(systems, name)
    for one in mine.body if mine is not None else ():
        targets = (
            one.targets
            if isinstance(one, ast.Assign)
            else [one.target]
            if isinstance(one, ast.AnnAssign)
            else []
        )
        if any(isinstance(target, ast.Name) and target.id == attribute for target in targets):
            value = getattr(one, "value", None)
            return value.value if isinstance(value, ast.Constant) else None
    return None


def _found(systems: Path, name: str) -> tuple[ast.ClassDef | None, Mapping[str, ast.ClassDef]]:
    """The class that registers itself under a name, and every class beside it."""
    sources = [systems / f"{name}.py", *sorted((systems / name).rglob("*.py"))]
    trees = [tree for path in sources if (tree := _parsed(path)) is not None]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    mine = [node for node in classes.values() if name in _registered(node)]
    return (mine[0] if len(mine) == 1 else None), classes


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes()) if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None


def _registered(node: ast.ClassDef) -> Iterator[str]:
    """Names under which a class registers itself."""
    for one in node.decorator_list:
        if not isinstance(one, ast.Call):
            continue
        called = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
        if called == _REGISTER:
            values = [*one.args, *(keyword.value for keyword in one.keywords)]
            yield from (str(value.value) for value in values if isinstance(value, ast.Constant))


def _constructor(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Constructor | None:
    seen = set()
    while node.name not in seen:
        seen.add(node.name)
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                told = one.args
                names = [arg.arg for arg in (*told.posonlyargs, *told.args, *told.kwonlyargs)]
                return Constructor(tuple(names[1:]), told.kwarg is not None)
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
        if not bases:
            return None
        node = classes[bases[0]]
    return None


def resolved(said: str) -> Resolved | None:
    """What `clbench run … --dry-run` printed; None if that was something else."""
    lines = said.splitlines()
    system = next((line for line in lines if line.startswith(_SYSTEM)), None)
    task = next((line for line in lines if line.startswith(_TASK)), None)
    runs = next((found for line in lines if (found := _RUNS.fullmatch(line.strip()))), None)
    if system is None or task is None or runs is None:
        return None
    return Resolved(
        _mapping(system.removeprefix(_SYSTEM)),
        _mapping(task.removeprefix(_TASK)),
        int(runs[1]),
        int(runs[2]),
        runs[3],
    )


class Untold:
    """A value that was printed in a way that cannot be read back."""

    def __repr__(self) -> str:
        return "a value that the dry run does not tell"


UNTOLD = Untold()


def _mapping(shown: str) -> Mapping[str, Any]:
    """A printed dictionary; where a value of it is no literal, its keys."""
    try:
        told = ast.literal_eval(shown)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return dict.fromkeys(_KEY.findall(shown), UNTOLD)
    return told if isinstance(told, dict) else {}


def not_applied(
    asked: Mapping[str, Any], known: Constructor | None, applied: Mapping[str, Any]
) -> Iterator[str]:
    """What of the parameters would not reach the system, one sentence each.

    Args:
        asked: the campaign's.
        known: of the system's constructor.
        applied: as a dry run resolved them.
    """
    names = [*(known.names if known else ()), *applied]
    for name, value in asked.items():
        if name in applied:
            if applied[name] is not UNTOLD and applied[name] != value:
                yield f"{name} is {value!r} and would be {applied[name]!r}"
        elif not (value is None and known and name in known.names):
            yield f"{name} is dropped without a word: {suggestion(name, names)}"


def unknown(asked: Mapping[str, Any], known: Constructor) -> Iterator[str]:
    """What of the parameters a constructor does not take, one sentence each."""
    if not known.takes_any:
        for name in asked:
            if name not in known.names:
                yield f"{name} is no parameter: {suggestion(name, known.names)}"


def suggestion(name: str, names: Iterator[str] | tuple[str, ...] | list[str]) -> str:
    """The names that are nearest, in words."""
    near = difflib.get_close_matches(name, dict.fromkeys(names), 2)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(dict.fromkeys(names))}"
