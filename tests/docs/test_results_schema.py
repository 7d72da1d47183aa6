"""The documented schema of results.json: it says every word that the code can say, and the page names every field."""

import json
import re

import jsonschema
import pytest

from pytest_evalharness.episodes.results import ScoreRegime
from pytest_evalharness.league.family import Method
from pytest_evalharness.league.provenance import Conclusion, Source
from pytest_evalharness.league.records import Outcome
from pytest_evalharness.observatory.dialect import Artifacts, Auth, assume
from pytest_evalharness.observatory.paging import Paging
from pytest_evalharness.report.model import OUTCOMES, SCHEMA
from pytest_evalharness.verdict import judgement, pooled_judgement, words
from pytest_evalharness.verdict.checks import CheckState
from pytest_evalharness.verdict.claim import Declaration
from tests.docs.conftest import ROOT

FOLDER = ROOT / "docs" / "reference"
SPEC = json.loads((FOLDER / "results.schema.json").read_text())
DEFS = SPEC["$defs"]


def words_of(*path):
    found = DEFS
    for step in path:
        found = found[step]
    return found["enum"]


def objects(schema):
    """Every object schema that names its properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_it_is_a_schema_and_refuses_what_is_no_report():
    jsonschema.Draft202012Validator.check_schema(SPEC)
    validator = jsonschema.Draft202012Validator(SPEC)
    for wrong in ({}, [], {"schema": SCHEMA}):
        assert not validator.is_valid(wrong)


def test_no_object_takes_a_field_that_is_not_named():
    found = list(objects(SPEC))
    assert len(found) > 15
    assert all(one["additionalProperties"] is False for one in found)
    assert all(set(one.get("required", ())) <= set(one["properties"]) for one in found)


@pytest.mark.parametrize(
    ("path", "enum"),
    [
        (("verdict",), words.Verdict),
        (("decision",), words.Decision),
        (("rule",), words.Rule),
        (("sensitivity",), words.Sensitivity),
        (("reason", "properties", "reason"), words.Reason),
        (("judgement", "properties", "separated"), words.Separated),
        (("declaration", "properties", "claim"), words.Claim),
        (("declaration", "properties", "metric", "anyOf", 0), words.Metric),
        (("declaration", "properties", "spending"), words.Spending),
        (("declaration", "properties", "missing"), words.MissingPolicy),
        (("declaration", "properties", "effects"), words.Effects),
        (("check", "properties", "state"), CheckState),
        (("family", "properties", "method"), Method),
        (("builds", "properties", "conclusion"), Conclusion),
        (("source",), Source),
        (("row", "properties", "outcome"), Outcome),
        (("comparison", "properties", "score_regime"), ScoreRegime),
        (("service", "properties", "artifacts"), Artifacts),
        (("service", "properties", "auth"), Auth),
        (("service", "properties", "paging"), Paging),
    ],
)
def test_its_words_are_those_of_the_code(path, enum):
    assert set(words_of(*path)) == {one.value for one in enum}


def test_what_is_told_of_a_server_is_what_the_code_tells():
    told = assume("HTTP 403").to_json()
    assert set(DEFS["service"]["required"]) == set(DEFS["service"]["properties"]) == set(told)
    jsonschema.Draft202012Validator({**DEFS["service"], "$defs": DEFS}).validate(told)


def test_its_outcomes_are_those_of_the_code():
    assert tuple(words_of("case", "properties", "outcome")) == OUTCOMES


def test_its_versions_and_fields_are_those_of_the_code():
    assert SPEC["properties"]["schema"]["const"] == SCHEMA
    for name, module, kind in (
        ("judgement", judgement, judgement.Judgement),
        ("pool_judgement", pooled_judgement, pooled_judgement.PooledJudgement),
    ):
        told = DEFS[name]
        assert told["properties"]["schema"]["const"] == module.SCHEMA
        beside = {"schema", "candidate", "baseline"}
        assert set(told["properties"]) | beside == set(kind.__slots__) | beside
        assert set(told["required"]) == set(told["properties"])
    assert set(DEFS["declaration"]["properties"]) == set(Declaration.__slots__)


def test_the_page_names_every_field_of_a_report():
    page = (FOLDER / "files.md").read_text()
    named = set(re.findall(r"`([a-z_0-9]+)(?:\[\])?`", page))
    named |= set(re.findall(r"cases\[\]\.([a-z_]+)", page))
    for name in (
        "case",
        "comparison",
        "judgement",
        "pool",
        "pool_judgement",
        "arm",
        "check",
        "row",
        "family",
        "service",
        "cost",
    ):
        assert set(DEFS[name]["properties"]) - named == set(), name
    assert set(SPEC["properties"]) - named == set()
