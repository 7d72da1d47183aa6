"""A benchmark's page: everything of the report stands on it, and nothing on it is alive."""

import re
from html.parser import HTMLParser

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.engines.benchmark.page import page
from pytest_evalharness.engines.benchmark.report import (
    DONE,
    SIMULATOR_ONLY,
    Baseline,
    Estimate,
    Estimates,
    Lean,
    Lift,
    Lifts,
    Report,
    Row,
    StateSupport,
)
from pytest_evalharness.engines.benchmark.verdicts import EngineVerdict, Head, caveat
from pytest_evalharness.report.html import render_engines
from pytest_evalharness.report.plot import Scale

HOSTILE = [
    "<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "<!--", "'\"><svg onload=x>",
    "{{ 7 * 7 }}{% raw %}", "\u2028\ud800", "\x1b]0;x\x07", "\u202eevil", "x" * 9_000,
]  # fmt: skip
NOTHING = Estimate(estimate=None)


def estimates(pdwis=Estimate(estimate=36.2, ci=(31.0, 41.9)), ess=143.7):  # noqa: B008 - never changed
    return Estimates(
        pdwis=pdwis, dm=Estimate(estimate=35.1, ci=(32.2, 38.4)), dr=Estimate(estimate=35.8), wis=pdwis, pdis=NOTHING,
        dm_fit=Estimate(estimate=34.9), ess=ess, matched_calls=150, mean_weight=0.98, guessed=0.25, unterminated=0.0,
        model_only=False, out_of_range=True,
    )  # fmt: skip


def lifts(lift=4.7, ci=(0.4, 9.3)):
    pdwis = Lift(lift=lift, ci=ci, simultaneous=ci and (ci[0] - 3.0, ci[1] + 3.0))
    return Lifts(pdwis=pdwis, dm=Lift(lift=3.6, ci=(1.0, 6.1)), dr=Lift(lift=4.3))


def row(name="monte-carlo", *, head=Head.AHEAD, state="1:4:price", move="offer", **changed):
    said = EngineVerdict.of(head, line=f"because of {name}", caveat=caveat(2))
    told = {
        "engine": name, "label": name, "status": DONE, "estimates": estimates(), "vs_today": lifts(), "vs_random": lifts(),
        "verdict": said, "lean": [Lean(alpha=0.25, pdwis=32.0, lift=Lift(lift=1.1, ci=(0.2, 2.0)), ess=738.0)],
        "support": [StateSupport(state=state, move=move, visits=1240, tried=3, lost_calls=71, words="in words")],
        "more_calls": 4100, "time_split": Lift(lift=-2.5, ci=(-6.0, 1.0)), "policy": {state: move},
    }  # fmt: skip
    return Row(**{**told, **changed})


def report(*rows, words=None, **info):
    today = Baseline(pdwis=Estimate(estimate=31.5, ci=(30.1, 32.9)), dm=NOTHING, dr=NOTHING, ess=3632.0)
    chance = Baseline(pdwis=Estimate(estimate=24.1, ci=None), dm=NOTHING, dr=NOTHING, ess=212.0)
    told = {
        "evidence": "sha256:abc", "env": "harbour", "kind": "real", "synthetic": None, "tagger": "judge", "fit_calls": 14601,
        "held_out_calls": 3632, "propensity_source": "empirical", "gamma": 1.0, "bootstrap": 200, "seed": 0, "moves": ["offer"],
        "words": words or {},
    }  # fmt: skip
    return Report(
        benchmark_id="bm-1",
        info={**told, **info},
        baselines={"today": today, "random": chance},
        rows=list(rows),
        notices=["a notice"],
        caveat=caveat(2),
    )


class Shape(HTMLParser):
    """The elements of a document with the names of their attributes, its style, and its text by element."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.style, self.text, self.open = [], "", "", []
        self.details = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.open.append(tag)
        self.text += " "
        if tag == "details":
            self.details.append(dict(attrs))

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" in self.open:
            self.style += data
        else:
            self.text += data

    @property
    def words(self):
        return " ".join(self.text.split())


WORDS = {
    "moves": {"offer": "offer a visit"},
    "objections": {"price": "worried about the price"},
    "stages": ["first", "early on"],
}


def test_everything_of_the_report_stands_on_the_page():
    failed = Row(
        engine="ppo", label="PPO", status=SIMULATOR_ONLY, reason="it needs a simulator & no log is one"
    )
    found = Shape(render_engines(page(report(row(), failed, words=WORDS))))
    assert len(found.details) == 1
    for told in (
        "1 table scored on 3,632 held-out calls; ahead of today: monte-carlo",
        "a notice",
        "31.50 [30.10, 32.90]",
        "36.20 [31.00, 41.90]",
        "+4.70 [+0.40, +9.30]",
        "+4.70 [\N{MINUS SIGN}2.60, +12.30]",
        "DM of the fit calls",
        "Ahead of today on held-out calls",
        "because of monte-carlo",
        "25% of the turns",
        "\N{MINUS SIGN}2.50 [\N{MINUS SIGN}6.00, +1.00]",
        "early on, lukewarm, worried about the price offer a visit 3 of 1,240 71",
        "PDWIS is outside of every outcome that was seen",
        "about 4,100 held-out calls would bring 30 effective ones",
        "simulator only: it needs a simulator & no log is one",
        "tagger judge",
    ):
        assert told in found.words, told
    assert found.words.count(caveat(2)) == 2  # the report's, and the verdict's own


def test_today_and_random_come_first_and_the_best_engine_next():
    worse = row("worse", estimates=estimates(Estimate(estimate=10.0, ci=(9.0, 11.0))))
    view = page(report(worse, row("best"), row("unknown", estimates=estimates(NOTHING, 0.0))))
    assert [one.engine for one in view.baselines] == ["today", "random"]
    assert [one.engine for one in view.rows] == ["best", "worse", "unknown"]
    assert view.rows[-1].pdwis.value == "n/a"
    assert view.rows[-1].pdwis.whisker is None


def test_a_reason_of_the_shared_vocabulary_is_told():
    found = Shape(render_engines(page(report(row(head=Head.CANNOT_TELL)))))
    assert "Why it is no more than that: effective n." in found.words
    assert "effective n" not in Shape(render_engines(page(report(row())))).words


def test_the_row_that_was_asked_for_is_open():
    rows = [row("a"), row("b")]
    assert [one.unfolded for one in page(report(*rows), "b").rows] == [False, True]
    opened = Shape(render_engines(page(report(*rows), "b"))).details
    assert ["open" in one for one in opened] == [False, True]


def test_every_whisker_lies_on_its_axis_where_its_numbers_are():
    view = page(report(row()))
    whisker = view.rows[0].pdwis.whisker
    assert whisker.low < whisker.x < whisker.high
    assert whisker.low < view.today < whisker.x  # 31.0, 31.5, 36.2
    zero = view.rows[0].opened.zero
    lines = view.rows[0].opened.estimates
    assert zero < lines[0].lift.whisker.low
    assert lines[1].lift.whisker.low < zero  # of all tables at once it does not exclude 0
    assert view.rows[0].opened.split.lift.whisker.x < zero


@pytest.mark.parametrize("values", [[], [0.0], [3.0, 3.0], [-1e-9, 1e-9], [1.0, 1e9], [-0.003, 4.2], [1e-12]])
def test_an_axis_has_room_and_round_marks_for_any_values(values):
    scale = Scale.around(values)
    assert 2 <= len(scale.ticks) <= 8
    assert scale.axis.low < min(values, default=0.0)
    assert max(values, default=0.0) < scale.axis.high
    assert [tick.x for tick in scale.ticks] == sorted({tick.x for tick in scale.ticks})


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_words_from_outside_are_text(name):
    def written(word):
        words = {"moves": {word: word}, "objections": {word: word}, "stages": [word], "trust": [word]}
        made = row(word, state=f"0:5:{word}", move=word, label=word)
        other = Row(engine=word, label=word, status=word, reason=word)
        told = report(made, other, words=words, env=word, tagger=word, propensity_source=word, evidence=word)
        told.notices, told.caveat, told.benchmark_id = [word], word, word
        return render_engines(page(told))

    plain, found = Shape(written("a name")), Shape(written(name))
    assert found.tags == plain.tags
    assert found.style == plain.style
    assert not set(found.text) & set("\x1b\u202e\u2028\ud800\x07")


def test_it_asks_for_nothing_and_runs_nothing():
    text = render_engines(page(report(row())))
    tags = {tag for tag, _ in Shape(text).tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "form"}
    assert not any(
        name.startswith("on") or name in {"src", "style"} for _, names in Shape(text).tags for name in names
    )
    assert re.findall(r'href="([^"]*)"', text) == ["#board"]
    assert "url(" not in text
    assert "default-src 'none'" in text


# ------------------------------------------------------------------ the command


def test_the_command_writes_it(tmp_path, capsys):
    report(row(), row("b")).save(tmp_path / "report.json")
    words = ["engine", "report", str(tmp_path / "report.json"), "--html", str(tmp_path / "out.html")]
    assert main([*words, "--engine", "b"]) == 0
    assert capsys.readouterr().out == f"page: {tmp_path / 'out.html'}\n"
    written = (tmp_path / "out.html").read_text()
    assert written == render_engines(page(report(row(), row("b")), "b"))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--html", "{tmp}/report.json/out.html"], "out.html cannot be written: "),
        (["--html", "{tmp}/out.html", "--engine", "nobody"], "no engine 'nobody'"),
        (["--html", "{tmp}/out.html", "--json"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path, capsys, more, why):
    report(row()).save(tmp_path / "report.json")
    try:
        code = main(
            ["engine", "report", str(tmp_path / "report.json"), *(word.format(tmp=tmp_path) for word in more)]
        )
    except SystemExit as left:
        code = left.code
    assert code == 4
    assert why in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()
