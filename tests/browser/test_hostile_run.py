"""The page of a whole run on a league whose players have hostile names: all of them stand there, and as text."""

import os
import subprocess
import sys
import unicodedata

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CASES = r"""
import pytest

@pytest.mark.league_ab(role="crew", episodes=6, claim="better")
@pytest.mark.parametrize("how", [pytest.param(1, id="<script>window.hacked=1</script>")])
def test_crew(ab, how):
    ab.require()
"""


@pytest.fixture
def page(tmp_path):
    """The page that pytest wrote in a process of its own, of games in which strangers sat in the tested seat."""
    (tmp_path / "test_evals.py").write_text(CASES)
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("EVALHARNESS_", "PYTEST_"))
    }
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--candidate=keeper:v3", "--baseline=keeper:v2",
            "--eval-server=embedded", "--eval-arena-fault=hostile-names", "--eval-arena-fault=shuffled-seats",
            "--eval-notes=<img src=x onerror=window.hacked=1>\x1b[31m",
        ],
        cwd=tmp_path,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )  # fmt: skip
    (written,) = tmp_path.glob(".evalharness/runs/*/report.html")
    assert done.returncode == 11, done.stdout
    return written


def test_it_is_text(page, browser):
    browser.driver.get(page.as_uri())
    browser.open_all()
    assert browser.run("return window.hacked ?? null;") is None
    assert browser.console() == []
    assert set(browser.requests()) == {page.as_uri()}
    assert len(browser.texts("script")) == 2
    assert browser.texts("img, iframe, object, body base") == []
    seen = browser.run("return document.body.innerText;")
    for attack in (
        "<script>window.hacked=1</script>",
        "[click](javascript:alert(1))",
        "long long",
        "hacked by",
    ):
        assert attack in seen
    assert not {unicodedata.category(c) for c in seen} & {"Cf", "Cs", "Co", "Zp"}
    assert (
        browser.run("const page = document.documentElement; return page.scrollWidth - page.clientWidth;") <= 0
    )
