"""The page of the decision engines lists what the catalogue has, and the worlds' exact values."""

import re

import pytest

from pytest_evalharness.cli import build_parser
from pytest_evalharness.engines import catalogue, worlds
from pytest_evalharness.engines.benchmark.leaderboard import LEANS
from pytest_evalharness.engines.benchmark.verdicts import EngineVerdict, Head
from pytest_evalharness.engines.judged import JudgedRow
from pytest_evalharness.engines.plan import EnginePlan
from pytest_evalharness.engines.sources import SIMULATED_CALLS
from pytest_evalharness.plugin import marks

PAGE = "docs/reference/engine.md"


def test_every_engine_is_listed_with_its_knobs(pages):
    listed = {row[0]: row[1:3] for row in pages[PAGE].table("engine")}
    engines = [*catalogue.all(), catalogue.get(catalogue.SANITY)]
    assert list(listed) == [f"`{one.name}`" for one in engines]
    for one in engines:
        knobs = ", ".join(f"`{knob.name}` {knob.default:g}" for knob in one.declaration.params)
        assert listed[f"`{one.name}`"] == [one.declaration.learns_from, knobs]


def test_every_world_is_listed_with_its_truth(pages):
    listed = {row[0]: row[1:] for row in pages[PAGE].table("world")}
    assert list(listed) == [f"`{name}`" for name in worlds.NAMES]
    for name in worlds.NAMES:
        world = worlds.named(name)
        truth = [f"{world.truth[who]:.2f}" for who in ("today", "random", "optimum")]
        assert listed[f"`{name}`"] == [str(len(world.states)), str(len(world.moves)), *truth]


# ------------------------------------------------------------------ the benchmark


def test_every_option_of_the_benchmark_is_described(pages, capsys):
    section = pages[PAGE].text.partition("## The benchmark\n")[2].partition("\n## ")[0]
    for command in ("benchmark", "report", "run", "demo"):
        with pytest.raises(SystemExit):
            build_parser().parse_args(["engine", command, "--help"])
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"}
        assert options <= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section)), command


def test_the_defaults_of_the_benchmark_are_those_that_are_told(pages):
    rows = {row[0]: row[1] for row in pages[PAGE].table("option of `benchmark`")}
    told = build_parser().parse_args(["engine", "benchmark", "--evidence", "x"])
    drawn = rows["`--bootstrap`, `--seed`"]
    assert f"({told.bootstrap})" in drawn
    assert f"({told.seed})" in drawn
    assert f"{SIMULATED_CALLS:,} simulated calls" in rows["`--evidence`"]


def test_every_head_has_its_verdict_and_its_reason(pages):
    rows = {row[0]: row[2:4] for row in pages[PAGE].table("head")}
    assert set(rows) == {head.value for head in Head}
    for head in Head:
        found = EngineVerdict.of(head, line="", caveat="")
        reasons = " ".join(f"`{reason}`" for reason in found.reasons)
        assert rows[head.value] == [found.verdict.upper(), reasons]


def test_the_leans_that_are_told_are_those_that_are_scored(pages):
    (row,) = [row for row in pages[PAGE].table("number") if row[0] == "lean"]
    assert [int(word) / 100 for word in re.findall(r"\d+", row[1])] == list(LEANS)


def test_every_keyword_of_the_mark_is_described_with_its_default(pages):
    rows = pages["docs/reference/marks.md"].table("keyword of a benchmark")
    told = {row[0].strip("`"): row[1] for row in rows}
    assert tuple(told) == marks.KEYWORDS[marks.ENGINE_BENCHMARK]
    plan = EnginePlan("x")
    assert (told["bootstrap"], told["seed"]) == (str(plan.bootstrap), str(plan.seed))
    assert told["engines"] == f'`"{plan.engines[0]}"`'


def test_everything_that_a_row_gives_is_described(pages):
    rows = pages["docs/reference/fixtures.md"].table("name of a row")
    told = {name for row in rows for name in re.findall(r"`(\w+)(?:\([^`]*\))?`", row[0])}
    assert told == {name for name in vars(JudgedRow) if not name.startswith("_")}
