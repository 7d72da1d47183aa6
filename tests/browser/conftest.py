"""A headless Chromium, and pages of real comparisons for it to show."""

import json
import shutil
import time
from contextlib import contextmanager

import pytest

from pytest_evalharness.report.html import render
from pytest_evalharness.report.model import CaseReport, Report
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Reason

SIDES = ("candidate", "baseline")
_SECONDS = 120
"""A busy machine is no failure."""
_STARTS = 4
_SILENT = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


@pytest.fixture(scope="session")
def driver():
    """The browser; it knows no host by name, so that it cannot reach a network either."""
    selenium = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install -e '.[dev]'")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        pytest.skip("no chromium and chromedriver: run tests/browser/install.sh")
    options = selenium.ChromeOptions()
    options.binary_location = browser
    for word in _SILENT:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = _started(selenium, options, chromedriver)
    running.set_page_load_timeout(_SECONDS)
    running.set_script_timeout(_SECONDS)
    yield running
    running.quit()


def _started(selenium, options, chromedriver):
    """A browser. Its driver gets a port that was free a moment ago: where somebody else has it by now, another one is tried."""
    from selenium.common.exceptions import WebDriverException

    for left in reversed(range(_STARTS)):
        try:
            return selenium.Chrome(options=options, service=selenium.ChromeService(chromedriver))
        except WebDriverException:
            if not left:
                raise
    return None


def until(look):
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + _SECONDS
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing happened within {_SECONDS} s"
        time.sleep(0.02)
    return found


class Browser:
    """What the tests do with the page that is open."""

    def __init__(self, driver):
        self.driver = driver

    def size(self, width, height=900):
        """Lay the page out on a screen of so many pixels."""
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
        until(lambda: self.run("return window.innerWidth;") == width)

    def media(self, kind="screen", theme="light"):
        """Show it on a screen or on paper, in a theme."""
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": [feature]})
        shown = f"{kind} and (prefers-color-scheme: {theme})"
        until(lambda: self.run("return matchMedia(arguments[0]).matches;", shown))

    def run(self, script, *arguments):
        """What a function body returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def open_all(self, selector="details"):
        """Unfold parts of the page. What is unfolded is drawn in an event of its own, which is waited for."""
        self.driver.execute_async_script(
            """
            const [selector, done] = arguments;
            const shut = [...document.querySelectorAll(selector)].filter((part) => !part.open);
            const heard = shut.map((part) => new Promise((told) => part.addEventListener("toggle", told, { once: true })));
            shut.forEach((part) => { part.open = true; });
            Promise.all(heard).then(() => done());
            """,
            selector,
        )

    def one(self, selector):
        """The first element that a selector means."""
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        """The text of every element that a selector means."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent);", selector
        )

    def column(self, name):
        """A column of the first table of episodes, as it is shown now."""
        return self.texts(f".rows tbody td.{name}")

    def keys(self, *names):
        """Type keys, wherever the focus is."""
        from selenium.webdriver import ActionChains, Keys

        actions = ActionChains(self.driver)
        for name in names:
            actions.send_keys(getattr(Keys, name, name))
        actions.perform()

    def console(self):
        """What the page complained of since this was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @contextmanager
    def seconds_of_work(self):
        """How long the page has kept a processor busy: on a busy machine it takes longer by the clock."""

        def worked():
            told = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
            return next(one["value"] for one in told if one["name"] == "TaskDuration")

        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        yield worked
        self.driver.execute_cdp_cmd("Performance.disable", {})

    def complains(self, words):
        """Wait until the page complains in these words."""
        until(lambda: any(words in line for line in self.console()))

    def requests(self):
        """The addresses that were asked for since this was last asked."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


@pytest.fixture
def browser(driver):
    """The browser with its usual screen; nobody complained of anything in it yet."""
    found = Browser(driver)
    driver.get("about:blank")
    found.size(1100)
    found.media()
    found.console()
    found.requests()
    return found


def _rows(side, games, wins, changes):
    return [
        {
            "id": f"ereq_{side}_{i}", "request": f"xreq_{side}", "seed": (7919 * i) % 1009, "status": "completed",
            "outcome": "win" if i <= wins else "loss", "score": float(i <= wins), "kills": i % 4, "cause": "",
            "seated": True, "wrong": {}, **changes.get(i, {}),
        }
        for i in range(1, games + 1)
    ]  # fmt: skip


@pytest.fixture
def comparison():
    """A judged comparison as the league hands it over, episodes included."""

    def make(
        wins=(25, 14), games=30, *, trusted=True, label="keeper:v2", changes=None, claim="better", **declared
    ):
        arms = [
            ArmEvidence(name, won, games, games, won / games, 9, 1, (f"xreq_{side}",))
            for side, name, won in zip(SIDES, (label, "keeper:v1"), wins, strict=True)
        ]
        wrong = Finding(Reason.SEATS, f"candidate: ereq_1: seat 0 holds {label}", "candidate", ("ereq_1",))
        found = judge(
            Declaration(claim, **declared), *arms, () if trusted else (wrong,), verified=("seats",) * trusted
        )
        seats = [
            {
                "position": i,
                "label": label if i == 0 else f"rival-{i}:v1",
                "role": "imposter" if i in (2, 3) else "crew",
            }
            for i in range(8)
        ]
        return {
            "name": "A/B crew", "headline": found.headline("A/B crew"), "lines": found.summary_lines(),
            "next_step": "run again with --eval-fresh" if not trusted else "", "judgement": found.to_json(),
            "plan": {"server": "embedded:2026", "tested_seat": 0, "episodes": games}, "attempt": 1, "earlier": [],
            "roster": {"opponents": [{"label": label, "player_name": label, "score": 1.5}]}, "evidence_age_seconds": None,
            "episodes": {
                side: {"tested_seat": 0, "seats": seats, "rows": _rows(side, games, won, changes or {})}
                for side, won in zip(SIDES, wins, strict=True)
            },
        }  # fmt: skip

    return make


@pytest.fixture
def show(browser, tmp_path):
    """Writes the page of some comparisons, one a case, and opens it from the disk."""

    def make(*results, outcome="passed", message="", name="evals/test_a.py::test_b", **words):
        said = {
            "run_id": "20260901-120000-abc", "server": "embedded:2026", "finished_at": "2026-09-01T12:00:00.000Z",
            "exit_code": 0, "missing": (), "notices": ("a notice",), "settings": {"num": 30},
        }  # fmt: skip
        cases = tuple(CaseReport(f"{name}_{i}", outcome, message, (one,)) for i, one in enumerate(results))
        path = tmp_path / "report.html"
        path.write_text(render(Report(**{**said, "cases": cases, **words})), encoding="utf-8")
        browser.driver.get(path.as_uri())
        return path

    return make
