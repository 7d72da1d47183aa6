"""`python -m pytest_evalharness.clbench.miniature COMMAND`: the benchmark's commands, and `install DIR`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    from pytest_evalharness.clbench.miniature.program import main

    sys.exit(main(sys.argv[1:], Path.cwd()))
