"""A league whose players choose names to harm whoever prints them, and a user who copies such text into notes and test ids.

Whatever is shown of it stays text: nothing steers a terminal or the log of a CI job, is markup, or ends a line or a cell.
"""

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from pytest_evalharness.cli import main

STEERING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
CASES = r"""
import pytest

@pytest.mark.league_ab(role="crew", episodes=6, claim="better")
@pytest.mark.parametrize("how", [
    pytest.param(1, id="\u202e::error::hacked"),
    pytest.param(2, id="<script>window.hacked=1</script>|`[x](javascript:y)`"),
    pytest.param(3, id="long " * 2000),
])
def test_crew(ab, how):
    ab.require()
"""
NOTES = "notes\x1b[31m\n::error::hacked\u202e<img src=x onerror=window.hacked=1>"
OURS = re.compile(
    r"::(?:error|warning) (?:file=test_evals\.py,line=[0-9]+,)?title=evalharness%3A [a-z ,]+::[^\r\n]*"
)


def harmless(text):
    """Nothing in a text steers a terminal or a CI's log; only annotations of our own stand in it."""
    assert not {hex(ord(c)) for c in text if c != "\n" and unicodedata.category(c) in STEERING}
    assert "##[" not in text
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert [line for line in commands if not OURS.fullmatch(line)] == []
    return text


class Markup(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def outputs_of(text):
    """A step's outputs as GitHub reads them from its file."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, sign, value = line.partition("=")
        if "<<" in name or not sign:
            name, _, end = line.partition("<<")
            value = "\n".join(iter(lambda end=end: _next(lines, end), None))
        found[name] = value
    return found


def _next(lines, end):
    line = next(lines)
    return None if line == end else line


@pytest.fixture
def hostile(project, monkeypatch):
    """A project whose league plays such games on GitHub, with a home that would add an output if it could."""
    project.cases(CASES)
    project.league.fault("hostile-names")
    project.home = project.pytester.path / "home\nverdict=met"
    project.step = project.pytester.path / "summary.md"
    project.outputs = project.pytester.path / "outputs.txt"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.pytester.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.step))
    monkeypatch.setenv("GITHUB_OUTPUT", str(project.outputs))
    return project


def judge(project, *more, **words):
    return project.judge_here("-rA", f"--eval-notes={NOTES}", f"--eval-home={project.home}", *more, **words)


def check_files(project, *, outcome):
    """Every file of the newest run."""
    (folder,) = project.home.glob("runs/*")
    told = json.loads(harmless((folder / "results.json").read_text()))
    assert {case["outcome"] for case in told["cases"]} == {outcome}
    assert told["settings"]["notes"] == NOTES  # data is kept whole
    harmless((folder / "events.jsonl").read_text())
    for text in ((folder / "summary.md").read_text(), project.step.read_text()):
        check_markdown(harmless(text))
    check_page(harmless((folder / "report.html").read_text()))
    check_junit(harmless(project.junit.read_text()))
    found = outputs_of(project.outputs.read_text())
    assert set(found) == {"verdict", "exit-code", "run-dir", "resume-command"}
    assert found["verdict"] != "met"
    assert found["run-dir"] == str(folder)
    return told


def check_markdown(text):
    page = Markup(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert set(page.tags) <= {
        "h1",
        "p",
        "strong",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    } | {"h2", "h3", "ol"}
    assert {name for name, _ in page.attributes} <= {"style", "start"}
    columns = page.tags.count("th")
    assert page.tags.count("td") == columns * (page.tags.count("tr") - 1)  # nothing ended a cell or a row
    assert "window.hacked" in page.text


def check_page(source):
    page = Markup(source)
    assert page.tags.count("script") == 2  # the page's program and its data
    assert not {"img", "iframe", "object", "link"} & set(page.tags)
    assert [(name, value) for name, value in page.attributes if name.startswith("on")] == []
    assert [
        value for name, value in page.attributes if name in {"href", "src"} and not value.startswith("#")
    ] == []
    assert "window.hacked=1" in page.text


def check_junit(text):
    cases = list(ET.fromstring(text).iter("testcase"))
    assert len(cases) == 3
    for case in cases:
        assert {p.get("name") for p in case.iter("property")} >= {"evalharness.server", "evalharness.run"}
    return cases


def commands(project, capsys, run):
    """What every command about runs prints of one."""
    home = ["--home", str(project.home)]
    capsys.readouterr()
    for words in (
        ["runs", "ls", *home],
        ["runs", "ls", "--verdict", "worse", *home],
        ["runs", "ls", "--json", *home],
        ["runs", "show", run, *home],
        ["runs", "look", run, "--yes", *home],
        ["runs", "report", run, *home],
        ["runs", "resume", run, *home],
        ["runs", "export", run, *home, "-o", str(project.pytester.path / "evidence.json")],
        ["runs", "verify", str(project.pytester.path / "evidence.json")],
        ["runs", "show", "no\x1b[31m\nsuch::run", *home],
    ):
        yield words[1], main(words), "".join(capsys.readouterr())


def test_names_of_a_field_that_sat_elsewhere(hostile):
    """The tested seat holds somebody else: who, is told everywhere, by a name that they chose."""
    hostile.league.fault("shuffled-seats")
    result = judge(hostile, "-o", "junit_family=xunit1", candidate="keeper:v3", baseline="keeper:v2")
    assert result.ret == 11
    told = harmless(said(result))
    assert "hacked by cobalt:v6, not keeper:v3" in told
    assert sum(line.startswith("::error ") for line in told.splitlines()) == 3
    report = check_files(hostile, outcome="untrustworthy")
    field = report["cases"][0]["results"][0]["roster"]["opponents"]
    assert any("##[error]" in one["label"] for one in field)


def test_names_of_a_field_in_a_sound_run(hostile, capsys):
    result = judge(hostile, "-v", "-o", "junit_family=xunit2", candidate="keeper:v3", baseline="keeper:v2")
    assert result.ret in {1, 10}
    harmless(said(result))
    report = check_files(hostile, outcome="failed" if result.ret == 1 else "inconclusive")
    field = report["cases"][0]["results"][0]["roster"]["opponents"]
    assert any("<script>" in one["player_name"] for one in field)
    for name, code, text in commands(hostile, capsys, report["run_id"]):
        harmless(text.replace(str(hostile.home), "HOME"))  # where it is, is the user's own word
        assert code in {0, 1, 4, 10}, (name, text)
    harmless((hostile.pytester.path / "evidence.json").read_text())


def theirs(league, attack):
    """The label of a stranger's live version whose name begins with an attack."""
    rows = [row for row in league._memberships() if row["player"]["name"].startswith(attack)]
    version = rows[0]["policy_version"]
    return f"{version['policy']['name']}:v{version['version']}"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("\x1b", id="escape"),
        pytest.param("::error::", id="command", marks=pytest.mark.slow),
    ],
)
def test_a_hostile_name_in_our_own_seat(hostile, capsys, attack):
    """It is in the verdict's own lines then: the label of an arm."""
    label = theirs(hostile.league, attack)
    hostile.cases(
        f"import pytest\n@pytest.mark.league_ab(candidate_seats={{0: {label!r}}}, claim='better', episodes=6)\n"
        "def test_swap(ab):\n    ab.require()\n"
    )
    result = judge(hostile, "-v", baseline="keeper:v3")
    told = harmless(said(result))
    assert result.ret == 0, told
    assert "files: home\ufffdverdict=met/runs/" in told
    assert "\ufffd[31m" in told or "\ufffd:error::hacked by" in told
    (folder,) = hostile.home.glob("runs/*")
    assert json.loads(harmless((folder / "results.json").read_text()))["cases"][0]["outcome"] == "passed"
    for text in ((folder / "summary.md").read_text(), hostile.step.read_text()):
        assert (
            Markup(
                MarkdownIt("commonmark", {"html": True}).enable("table").render(harmless(text))
            ).tags.count("td")
            == 8
        )
    harmless((folder / "report.html").read_text())
    harmless(hostile.junit.read_text())
    for _, _, text in commands(hostile, capsys, folder.name):
        harmless(text.replace(str(hostile.home), "HOME"))


def test_words_of_a_refusal_and_a_plan(hostile):
    planned = judge(hostile, "--eval-dry-run")
    assert planned.ret == 0
    assert "hacked by" in harmless(said(planned))
    hostile.league.fault("reject-body=422")
    refused = judge(hostile)
    assert refused.ret == 11
    harmless(said(refused))
    check_files(hostile, outcome="untrustworthy")


@pytest.mark.parametrize(
    "words",
    [
        {"candidate": "\x1b[31mnobody\n::error::hacked:v1"},
        {"more": ["--eval-opponent=<script>\u202e::error::x:v1"]},
        {"more": ["--eval-league=league_\x1b[31m\n::error::hacked"]},
        {"more": ["--eval-role=\x1b[31m\n::error::hacked"]},
    ],
    ids=["candidate", "opponent", "league", "role"],
)  # fmt: skip
def test_names_that_the_user_copied(hostile, words):
    result = judge(hostile, *words.pop("more", ()), **words)
    assert result.ret in {4, 11}
    harmless(said(result))


@pytest.mark.slow
def test_names_on_their_way_from_workers(hostile):
    hostile.league.fault("shuffled-seats")
    result = judge(hostile, "-n", "2", candidate="keeper:v3", baseline="keeper:v2")
    assert result.ret == 11
    assert "hacked by cobalt:v6, not keeper:v3" in harmless(said(result))
    check_files(hostile, outcome="untrustworthy")
