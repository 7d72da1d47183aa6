"""The page of an engine benchmark in a real browser: it opens by keys, fits a phone, and asks for nothing."""

import pytest

from pytest_evalharness.engines.benchmark.page import page
from pytest_evalharness.report.html import render_engines
from tests.unit.engines.test_benchmark_page import WORDS, report, row

pytestmark = pytest.mark.browser
SIDEWAYS = "const page = document.documentElement; return page.scrollWidth - page.clientWidth;"

CUT_OFF = (
    "const right = (one) => one.getBoundingClientRect().right;"
    "return Math.max(...[...document.querySelectorAll('.board .cell-of')].map(right)) - right(document.querySelector('.board'));"
)
"""By how much the numbers of the leaderboard stand beyond its edge, where nothing can be scrolled to."""


@pytest.fixture
def opened(browser, tmp_path):
    """Writes the page of some rows and opens it from the disk."""

    def make(*rows):
        path = tmp_path / "engines.html"
        path.write_text(render_engines(page(report(*rows, words=WORDS))), encoding="utf-8")
        browser.driver.get(path.as_uri())
        return path

    return make


def test_it_loads_without_a_complaint_and_a_row_opens_by_keys(opened, browser):
    path = opened(row(), row("other"))
    assert browser.console() == []
    assert set(browser.requests()) == {path.as_uri()}
    table = browser.one(".policy")
    assert not table.is_displayed()
    browser.run("document.querySelector('summary').focus();")
    browser.keys("ENTER")
    assert table.is_displayed()
    assert "offer a visit" in table.text
    assert [one.is_displayed() for one in browser.driver.find_elements("css selector", ".policy")] == [
        True,
        False,
    ]


def test_whiskers_of_all_rows_stand_under_one_axis(opened, browser):
    opened(row(), row("other"))
    browser.size(1320)  # a narrower page has no axis
    boxes = (
        "return [...document.querySelectorAll('.board > * .line .drawing svg, .board > .line .drawing svg')]"
    )
    edges = browser.run(
        boxes
        + ".map(s => s.getBoundingClientRect()).map(b => [Math.round(b.left), Math.round(b.right)].join());"
    )
    assert len(edges) == 5  # the axis, today, random, and two engines
    assert len(set(edges)) == 1


@pytest.mark.parametrize("width", [360, 700, 1000, 1100, 1184, 1320])
def test_it_fits_every_screen(opened, browser, width):
    long = "x" * 200
    opened(row(), row(long, state=f"0:5:{long}", move=long))
    browser.open_all()
    browser.size(width)
    assert browser.run(SIDEWAYS) <= 0
    assert browser.run(CUT_OFF) <= 0
