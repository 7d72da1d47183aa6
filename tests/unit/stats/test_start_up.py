import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "statistics", "pydantic", "pytest", "httpx")


@pytest.mark.parametrize(
    "package",
    ["pytest_evalharness.stats", "pytest_evalharness.verdict.judge", "pytest_evalharness.verdict.chances"],
)
def test_importing_costs_no_heavy_module(package):
    code = f"import sys, {package}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_verdict_of_ordinary_size_needs_none_either():
    code = (
        "import sys;"
        "from pytest_evalharness.verdict.claim import Declaration;"
        "from pytest_evalharness.verdict.evidence import ArmEvidence;"
        "from pytest_evalharness.verdict.judge import judge;"
        "judge(Declaration('better', margin=.1), ArmEvidence('c', 18, 28, 30), ArmEvidence('b', 11, 30),"
        " scores=([1.0] * 18 + [0.0] * 10, [1.0] * 11 + [0.0] * 19));"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
