"""The HTML report in a real browser: it loads, it can be used by mouse and by keys, and nothing in it is alive but ours."""

import pytest

pytestmark = pytest.mark.browser

HOSTILE = [
    "<script>window.stolen = 1</script>",
    "</script><script>window.stolen = 1</script>",
    "<img src=x onerror='window.stolen = 1'>",
    "<!--<script>",
    "\u202etxt.exe\u2066",
    "\x1b[31mred\x1b]0;title\x07",
    "x" * 10_000,
    "漢字" * 5_000,
]
WRONG = {3: {"wrong": {"0": "rival-5:v1", "9": "a stranger"}}}
GAP = {
    5: {
        "status": "failed", "outcome": "missing", "score": None, "kills": None, "cause": "failed: platform_error",
        "seated": False,
    }
}  # fmt: skip
SIDEWAYS = "const page = document.documentElement; return page.scrollWidth - page.clientWidth;"


@pytest.fixture
def page(show, comparison, browser):
    """The page of one comparison with a wrong seat and a gap, unfolded."""
    path = show(comparison(changes={**WRONG, **GAP}))
    browser.open_all()
    return path


# ------------------------------------------------------------------ loading


def test_it_loads_from_the_disk_without_a_complaint_and_asks_for_nothing_else(page, browser):
    assert browser.console() == []
    assert set(browser.requests()) == {page.as_uri()}
    assert len(browser.column("id")) == 60


def test_a_fetch_of_its_own_would_be_stopped_by_the_page(page, browser):
    browser.run("document.body.append(Object.assign(new Image(), { src: 'https://host.invalid/x.png' }));")
    browser.complains("Content Security Policy")


def test_a_run_without_comparisons_loads_too(show, browser):
    show(exit_code=11, missing=("evals/test_a.py::test_gone",))
    assert browser.console() == []
    assert "test_gone" in browser.one("header").text


def test_the_first_thing_on_the_page_is_what_the_run_decided(page, browser):
    assert browser.one("h1").text.replace("\n", " ") == "✓ every claim was met"
    assert browser.one(".banner h3").text == "keeper:v2 won more often than keeper:v1."


# ------------------------------------------------------------------ sorting


def test_a_click_sorts_and_another_turns_it_round(page, browser):
    button = browser.one(".rows th:nth-child(6) + th button")  # the seed
    assert button.text.startswith("seed")
    button.click()
    seeds = [int(seed) for seed in browser.column("seed")]
    assert seeds == sorted(seeds)
    button.click()
    assert [int(seed) for seed in browser.column("seed")] == seeds[::-1]


def test_sorting_is_told_to_those_who_do_not_see_it(page, browser):
    browser.one(".rows th:nth-child(2) button").click()
    assert browser.one(".rows th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    browser.one(".rows th:nth-child(1) button").click()
    assert browser.one(".rows th:nth-child(2)").get_attribute("aria-sort") is None


def test_keys_sort_as_a_click_does_and_the_focus_stays(page, browser):
    browser.run("document.querySelector('.rows th:nth-child(4) button').focus();")
    browser.keys("ENTER")
    scores = browser.column("score")
    assert scores[:2] == ["0", "0"]
    assert scores[-2:] == ["", ""]  # what is not known comes last
    browser.keys("SPACE")
    assert browser.column("score")[:2] == ["1", "1"]
    assert browser.column("score")[-2:] == ["", ""]
    assert browser.run("return document.activeElement.textContent;") == "score"


# ---------------------------------------------------------------- filtering


@pytest.mark.parametrize(
    ("kind", "count", "shown"),
    [
        ("wins", 37, ("outcome", "win")),
        ("losses", 21, ("outcome", "loss")),
        ("not played", 2, ("cause", "failed: platform_error")),
        ("wrong seats", 2, ("seats", "✕ 2 wrong")),
    ],
)
def test_a_choice_shows_some_episodes_only(page, browser, kind, count, shown):
    column, text = shown
    browser.one(f".tools option[value='{kind}']").click()
    assert browser.column(column) == [text] * count
    assert browser.one(".tools output").text == f"{count} of 60 episodes"


def test_an_arm_can_be_looked_at_alone(page, browser):
    browser.one(".tools option[value='baseline']").click()
    assert browser.column("arm") == ["baseline"] * 30


def test_words_are_found_anywhere_in_a_row_by_keys_alone(page, browser):
    browser.run("document.querySelector('.tools input').focus();")
    browser.keys("CANDIDATE_17")
    assert browser.column("id") == ["ereq_candidate_17"]
    browser.keys("x")
    assert browser.column("id") == []
    assert browser.one(".tools output").text == "0 of 60 episodes"


def test_the_whole_page_can_be_walked_through_by_keys(show, comparison, browser):
    show(comparison())
    reached = set()
    for _ in range(60):
        browser.keys("TAB")
        if browser.run("return document.activeElement.tagName;") == "SUMMARY":
            browser.keys("ENTER")
        reached.add(browser.run("const n = document.activeElement; return n.tagName + '.' + n.className;"))
    assert {"A.skip", "A.", "SUMMARY.", "INPUT.", "SELECT.", "BUTTON.", "DIV.scroll"} <= reached


# -------------------------------------------------------------------- seats


def test_wrong_and_empty_seats_are_marked_by_a_sign(page, browser):
    assert browser.texts(".grid .cell.wrong") == ["✕"] * 4
    assert set(browser.texts(".grid .cell.empty")) == {"\N{EN DASH}"}
    assert len(browser.texts(".grid .cell.right")) == 2 * (9 * 29 - 2)
    titles = browser.run("return [...document.querySelectorAll('.cell.wrong')].map((cell) => cell.title);")
    assert "episode 3, seat 0: rival-5:v1" in titles
    assert browser.texts(".misplaced li")[0].startswith(
        "candidate, seat 0 (the tested seat): rival-5:v1 instead of"
    )


def test_what_cannot_be_believed_shows_seats_and_nothing_of_who_won(show, comparison, browser):
    show(comparison(trusted=False, changes=WRONG), outcome="untrustworthy", exit_code=11)
    assert len(browser.texts(".grid .cell.wrong")) == 4  # unfolded from the start
    browser.open_all()
    assert not browser.texts(".rows td.outcome, .rows td.score, .rows td.kills, svg")
    assert browser.texts(".tools option[value='wins'], .tools option[value='losses']") == []
    assert len(browser.column("id")) == 60
    assert browser.console() == []


# -------------------------------------------------------------- what is alive


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text(show, comparison, browser, name):
    changes = {
        1: {"id": name, "cause": name, "status": name, "request": name, "wrong": {"0": name, "1": name}}
    }
    results = [
        comparison(label=name, changes=changes),
        comparison(trusted=False, label=name, changes=changes),
    ]
    show(
        *results, outcome="untrustworthy", message=f"{name}\n{name}", name=name, server=name, notices=(name,),
        missing=(name,), settings={"notes": name}, exit_code=11,
    )  # fmt: skip
    browser.open_all()
    assert browser.run("return window.stolen ?? null;") is None
    assert browser.console() == []
    assert browser.texts("script, img, iframe, body base") == browser.texts("script")
    assert len(browser.texts("script")) == 2
    seen = browser.run("return document.body.innerText;")
    assert not set(seen) & set("\x1b\u202e\u2066")
    if name.startswith("<"):
        assert name[:30] in seen
    browser.size(360)
    assert browser.run(SIDEWAYS) == 0


# ------------------------------------------------------------------- looks


def brightness(browser):
    """How bright ink and page are, from 0 to 255."""
    return [
        browser.run(
            "const c = getComputedStyle(document.body)[arguments[0]].match(/\\d+/g).map(Number);"
            "return (c[0] + c[1] + c[2]) / 3;",
            name,
        )
        for name in ("color", "backgroundColor")
    ]


def test_the_theme_is_the_readers(page, browser):
    ink, paper = brightness(browser)
    assert (ink < 60, paper > 200) == (True, True)
    browser.media(theme="dark")
    ink, paper = brightness(browser)
    assert (paper < 60, ink > 200) == (True, True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_a_text_stands_out_from_what_lies_behind(page, browser, theme):
    browser.media(theme=theme)
    ratios = browser.run(
        """
        const light = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
          .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
          .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = (node) => {
          for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (colour.startsWith("rgb(")) return colour;
          }
          return "rgb(255, 255, 255)";
        };
        return [...document.querySelectorAll("p, h1, h2, h3, h4, td, th, dt, dd, li, summary, b, a, label, .state")]
          .filter((node) => node.textContent.trim() && node.getClientRects().length)
          .map((node) => {
            const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort();
            return [(b + 0.05) / (a + 0.05), node.className, node.textContent.slice(0, 30)];
          });
        """
    )
    assert len(ratios) > 100
    assert [ratio for ratio in ratios if ratio[0] < 4.5] == []


@pytest.mark.parametrize("width", [320, 360, 768, 1100])
def test_no_screen_is_too_narrow_for_the_page(show, comparison, browser, width):
    browser.size(width)
    show(
        comparison(changes={**WRONG, **GAP}),
        comparison(trusted=False, changes=WRONG),
        comparison(claim="noninferior", margin=0.2),
    )
    browser.open_all()
    assert browser.run(SIDEWAYS) == 0


def test_paper_gets_all_rows_in_dark_ink_and_no_controls(page, browser):
    browser.media("print", theme="dark")
    ink, paper = brightness(browser)
    assert (ink < 60, paper > 200) == (True, True)
    assert browser.run("return getComputedStyle(document.querySelector('.tools')).display;") == "none"
    clipped = (
        "const box = document.querySelector('.episodes .scroll'); return box.scrollHeight - box.clientHeight;"
    )
    assert browser.run(clipped) <= 1
    assert browser.driver.print_page()


# -------------------------------------------------------------------- size


def test_twenty_comparisons_of_a_hundred_episodes_are_small_and_open_at_once(show, comparison, browser):
    with browser.seconds_of_work() as worked:
        path = show(*[comparison((80, 60), games=100, changes=WRONG) for _ in range(20)])
        assert worked() < 5
    assert path.stat().st_size < 1_000_000
    assert browser.column("id") == [], "what nobody has unfolded is not drawn"
    browser.open_all()
    assert len(browser.column("id")) == 4_000
    assert browser.console() == []
