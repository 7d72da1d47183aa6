import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.report.html import embedded_json, render

ANYTHING = st.text(alphabet=st.characters(codec=None, categories=None), max_size=60)
HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!--", "-->", "]]>", "'\"><svg onload=x>",
    "{{ 7 * 7 }}{% raw %}", "\u2028\u2029", "\ud800", "\x1b]0;x\x07", "\u202eevil", "&lt;b&gt;", "x" * 10_000,
]  # fmt: skip


class Shape(HTMLParser):
    """The elements and attributes of a document, its texts left aside but those of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._open = [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        if tag == "script":
            self.scripts.append("")
        self._open = tag == "script"

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        if self._open:
            self.scripts[-1] += data


@pytest.fixture
def written(report, case, compared, episodes):
    """A document in which one text from outside stands wherever one can."""

    def write(name):
        changes = {
            1: {"id": name, "status": name, "cause": name, "request": name, "wrong": {"0": name, "9": name}}
        }
        member = {"label": name, "player_name": name, "score": 1.0}
        result = compared(
            label=name, roster={"opponents": [member]}, episodes=episodes(2, changes, label=name), name=name
        )
        spoilt = compared((6, 17), trusted=False, label=name, episodes=episodes(2, changes, label=name))
        spoilt["judgement"]["reasons"][0]["detail"] = name
        result |= {"lines": [name], "next_step": name}
        return render(
            report(
                case(result, nodeid=name),
                case(spoilt, nodeid=name, outcome="untrustworthy", message=f"{name} "),
                case(nodeid=name, outcome="error", message=f"{name} "),
                run_id=name, server=name, missing=(name,), unfinished=(name,), notices=(name,), still_running=(name,),
                settings={"notes": name}, service={"words": name}, exit_code=11,
            )
        )  # fmt: skip

    return write


def test_how_the_server_was_spoken_to_is_on_the_page(report):
    assert "Server API: current, cursors" in render(report(service={"words": "current, cursors"}))
    assert "Server API" not in render(report())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_text(written, name):
    text = written(name)
    assert Shape(text).tags == Shape(written("name")).tags
    assert len(Shape(text).scripts) == 2
    assert not set(text) & set("\x1b\u202e\u2028\u2029")
    assert "7 * 7" in text if "7" in name else "49" not in text.partition("<body>")[2].partition("<script")[0]
    text.encode()


@given(ANYTHING)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_no_text_changes_the_document(written, name):
    assert Shape(written(f"name{name}")).tags == Shape(written("name")).tags


@pytest.mark.parametrize("value", ["</script>", "<!--<script>", "\u2028", "&amp;", "'", '"\\', "é漢😀"])
def test_embedded_json_reads_back_and_ends_no_element(value):
    text = embedded_json({value: [value]})
    assert json.loads(text) == {value: [value]}
    assert not set(text) & set("<>&'\u2028\u2029")


def test_embedded_json_takes_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json(float("nan"))


def test_nothing_is_fetched_and_only_our_own_script_may_run(written):
    text = written("name")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2
    assert not re.search(r"<(?:link|img|iframe|object|embed|base|form)\b|\bsrc=|@import|url\(", text)
    assert not re.search(r'\s(?:style|on\w+)="', text)


def test_the_data_block_is_the_rows(report, case, compared, episodes):
    text = render(report(case(compared(episodes=episodes(7)))))
    data = json.loads(Shape(text).scripts[0])
    assert len(data["comparisons"][0]["rows"]) == 14


def test_an_untrustworthy_comparison_shows_no_effect(report, case, compared, episodes):
    spoilt = compared((27, 16), trusted=False, episodes=episodes(30))
    text = render(report(case(spoilt, outcome="untrustworthy", message=spoilt["headline"]), exit_code=11))
    body = text.partition("</style>")[2].partition("<script>")[0]
    assert "<svg" not in body
    for told in ("27/30", "27 of 30", "16/30", " pp", "Wilson", "kills", '"win"', '"loss"'):
        assert told not in body, told


def test_every_state_of_a_run_has_its_place(report, case, compared):
    text = render(
        report(
            case(compared((15, 15))), case(outcome="skipped"), missing=("evals/x.py::test_gone",), notices=("overridden",),
            unfinished=("evals/x.py::test_later",), still_running=("candidate keeper:v2 xreq_1",), exit_code=10,
        )
    )  # fmt: skip
    for told in (
        "cannot tell", "Collected, and never reported", "evals/x.py::test_gone", "overridden", "xreq_1",
        "the run was stopped before", "evals/x.py::test_later",
        "What to do next", "the embedded league", "not a league rank", "skipped", "nothing judged",
    ):  # fmt: skip
        assert told in text


def test_a_run_without_cases(report):
    assert "no tests" in render(report(exit_code=5))


def test_twenty_comparisons_of_a_hundred_episodes_stay_below_a_megabyte(report, case, compared, episodes):
    crowded = {i: {"wrong": {str(p): f"somebody-{p}:v1" for p in range(8)}} for i in range(1, 101, 3)}
    cases = [case(compared((80, 50), games=100, episodes=episodes(100, crowded))) for _ in range(20)]
    assert len(render(report(*cases)).encode()) < 1_000_000


def test_the_overview_shows_no_effect_of_a_case_that_is_itself_at_fault(report, case, compared):
    """It looked at nothing, and the comparison beside it is a good one: that is no green line."""
    blind = case(
        compared(), nodeid="t.py::test_blind", outcome="untrustworthy", message="nothing was judged: …"
    )
    text = render(report(blind, case(compared(), nodeid="t.py::test_good"), exit_code=11))
    overview = text.partition('<ol class="overview">')[2].partition("</ol>")[0]
    first, second = re.findall(r"<li class=\"(.*?)\">(.*?)</li>", overview, re.DOTALL)
    assert (first[0], second[0]) == ("o-untrustworthy", "v-better")
    assert "</span> untrustworthy</span>" in first[1]
    assert " pp" not in first[1]
    assert " pp" in second[1]
