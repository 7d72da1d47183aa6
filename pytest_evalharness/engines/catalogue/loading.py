"""Engines of one's own from a Python file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from pytest_evalharness.engines.catalogue.contract import DecisionEngine
from pytest_evalharness.engines.catalogue.tracing import place, said
from pytest_evalharness.errors import EvalHarnessError, UsageError

_NOTHING = "no engine was read from it"


def load_engines(path: str | Path) -> list[DecisionEngine]:
    """The engines that a Python file declares, in the order in which it binds them.

    The file runs as `python thefile.py` would run it, except for what stands under `if __name__ == "__main__"`: what lies beside
    it can be imported. It is code of yours and runs with your rights.

    Raises:
        UsageError: no such file, an error while it ran (with its file and line), or no engine in it.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise _unusable(f"there is no engine file {path}", "check the path")
    module = _module(file)
    try:
        _run(module, file)
    except EvalHarnessError:
        raise
    except (Exception, SystemExit) as problem:
        raise _unusable(
            f"the engine file {path} cannot be imported: {said(problem)} ({place(problem, file)})",
            _advice(problem),
        ) from problem
    found = {id(one): one for one in vars(module).values() if isinstance(one, DecisionEngine)}
    own = [one for one in found.values() if not one.built_in]
    if not own:
        raise _unusable(
            f"the engine file {path} declares no decision engine",
            "put @decision_engine(name=…) over a function of (evidence, params)",
        )
    return own


def _module(file: Path) -> ModuleType:
    # A name of its own: a file called json.py must not become everybody's json.
    digest = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"_engines_of_{file.stem}_{digest}", file)
    if spec is None or spec.loader is None:
        raise _unusable(f"{file} is no Python file", "give a file that ends in .py")
    return importlib.util.module_from_spec(spec)


def _run(module: ModuleType, file: Path) -> None:
    folder, spec = str(file.parent), module.__spec__
    assert spec is not None
    assert spec.loader is not None
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(module.__name__, None)
        raise
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(
                folder
            )  # imports inside an engine's function run later, and must hide nobody's modules


def _advice(problem: BaseException) -> str:
    if isinstance(problem, ImportError) and (problem.name or "").partition(".")[0] == "levers9":
        return "import the same names from pytest_evalharness in place of levers9"
    if isinstance(problem, ModuleNotFoundError):
        return f"install {problem.name}, or import it inside the engine's function"
    return "mend the file and run again"


def _unusable(what: str, next_step: str) -> UsageError:
    return UsageError(what, not_done=_NOTHING, next_step=next_step)
