"""`evalharness engine evidence-build` and `evidence-sets`, as a user types them."""

import gzip
import json
import random
import re
import sys

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.engines.evidence.document import Evidence

AGENT = [
    "Hello, this is Noor.",
    "What are you looking for?",
    "I understand your concern.",
    "Would you like to visit?",
]
CUSTOMER = [
    "Is it still available?",
    "It is too expensive.",
    "I must ask my wife, call 0555 123 456.",
    "Can I see it?",
]
LABELS = ["Booked Visit", "Call Later", "No Interest", "Voicemail"]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALHARNESS_EVIDENCE_KEY", "a long secret of tests")


@pytest.fixture
def export(tmp_path):
    rng = random.Random(1)
    rows = []
    for number in range(80):
        turns = [
            {"role": role, "text": rng.choice(texts)}
            for _ in range(rng.randint(1, 4))
            for role, texts in (("agent", AGENT), ("customer", CUSTOMER))
        ]
        rows.append(json.dumps({"call_id": f"C-{number}", "outcome": LABELS[number % 4], "turns": turns}))
    path = tmp_path / "calls.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    return path


@pytest.fixture
def run(capsys):
    """Runs a command and gives its exit code, what it printed and what it said beside."""

    def runner(*arguments):
        try:
            code = main(["engine", *map(str, arguments)])
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return runner


def test_from_an_export_to_a_listed_set(run, export, tmp_path):
    code, out, err = run("evidence-build", "acme", "--from", export)
    assert code == 0
    assert re.search(r"evidence set (es-\w+) of acme: 60 calls, \d+ agent turns", out)
    assert "left out   ignored_outcome 20 (of 80 rows)" in out
    assert "they decide nothing" in out
    set_id = re.search(r"es-\w+", out).group()
    assert f"evalharness engine benchmark --evidence {set_id}" in out
    assert "reading the export: 100%" in err
    assert "100%  done" in err
    (path,) = (tmp_path / ".evalharness" / "data" / "datasets" / "rl" / "acme").iterdir()
    assert re.fullmatch(r"evidence-rule-\d{8}T\d{6}Z\.json", path.name)
    assert str(path) in out
    assert Evidence.load(path).document.id == set_id
    assert (
        tmp_path / ".evalharness" / "data" / "registry" / "acme.jsonl.gz"
    ).read_bytes() == export.read_bytes()

    path.with_name("evidence-judge-by-hand.json").write_bytes(path.read_bytes())
    code, out, _ = run("evidence-sets", "acme")
    assert code == 0
    head, *lines = out.splitlines()
    assert head.split() == ["set", "world", "tagger", "calls", "fit", "held", "out", "built"]
    assert {line.split()[0] for line in lines} == {set_id, "vol:rl/acme/evidence-judge-by-hand.json"}
    assert "(no record)" in out
    code, out, _ = run("evidence-sets", "--json")
    (record,) = [one for one in json.loads(out)["sets"] if not one["on_volume_only"]]
    assert (record["id"], record["counts"]["calls"], record["tagger"]["kind"]) == (set_id, 60, "rule")
    code, out, _ = run("evidence-sets", "other")
    assert (code, out.startswith("no evidence sets of other in")) == (0, True)


def test_the_registry_is_kept_and_replaced(run, export, tmp_path):
    data = tmp_path / "d"
    assert run("evidence-build", "acme", "--from", export, "--data", data)[0] == 0
    code, out, err = run(
        "evidence-build", "acme", "-n", "30", "--seed", "3", "--max-turns", "1", "--data", data, "--json"
    )
    assert code == 0
    record = json.loads(out)
    assert (record["counts"]["calls"], record["counts"]["turns"], record["split"]["seed"]) == (30, 30, 3)
    assert "replaced" not in err
    _, _, err = run("evidence-build", "acme", "--from", export, "--data", data)
    assert "replaced" not in err
    export.write_bytes(gzip.compress(gzip.decompress(export.read_bytes()) + b"\n{}"))
    _, _, err = run("evidence-build", "acme", "--from", export, "--data", data)
    assert "the registry's earlier calls of acme were replaced" in err


def test_the_volume_and_a_users_own_files(run, export, tmp_path):
    usual = tmp_path / "d" / "call-logs" / "acme" / "acme_calls.jsonl.gz"
    usual.parent.mkdir(parents=True)
    usual.write_bytes(export.read_bytes())
    (tmp_path / "outcomes.toml").write_text('Voicemail = "lost"\n[values]\nfollow_up = 20\n')
    build = (
        "evidence-build",
        "acme",
        "--data",
        tmp_path / "d",
        "--json",
        "--outcomes",
        tmp_path / "outcomes.toml",
    )
    for source in (("--source", "volume"), ("--path", "acme/acme_calls.jsonl.gz")):
        code, out, _ = run(*build, *source)
        assert code == 0
        assert json.loads(out)["counts"]["calls"] == 80
    evidence = Evidence.load(tmp_path / "d" / "datasets" / json.loads(out)["path"])
    assert evidence.mdp["terminal"]["follow_up"] == 20.0
    assert evidence.document.manifest["source"] == "volume"


def test_a_judges_set_is_named_after_it(run, export, tmp_path, serve, openai):
    def short(question, calls):
        """The judge names one turn of each call."""
        return [{**call, "turns": call["turns"][:1]} for call in calls]

    server = serve(lambda request: openai(request, change=short))
    (tmp_path / "models.toml").write_text(f'[judge]\nendpoint = "{server.url}"\nmodel = "m"\n')
    build = ("evidence-build", "acme", "--from", export, "--tagger", "judge", "--models", "models.toml")
    code, out, _ = run(*build)
    assert code == 0
    assert "tagged by judge" in out
    assert "by_rule_fallback" in out
    asked = len(server.requests)
    assert 20 < asked <= 30  # 60 calls by four, twice; of two that are alike one is known before
    (path,) = (tmp_path / ".evalharness" / "data" / "datasets" / "rl" / "acme").glob("evidence-judge-*.json")
    evidence = Evidence.load(path)
    assert evidence.document.tagger["stats"]["by_model"] == 60
    assert evidence.document.manifest["tagger"]["effort"]["requests"] == asked
    assert {row.state.split(":")[1] for row in evidence.transitions()} == {"3", "5"}
    assert not any("0555" in request.body.decode() for request in server.requests)

    code, out, _ = run(*build, "--json")
    assert len(server.requests) == asked
    assert json.loads(out)["content_hash"] == evidence.document.manifest["content_hash"]


def test_a_models_set_is_named_after_it(run, export, tmp_path):
    (tmp_path / "model.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'answers': {'move': 'close' if len(json.loads(line)['state']) > 1 else '?'}}), flush=True)\n"
    )
    told = json.dumps([sys.executable, "model.py"])
    (tmp_path / "models.toml").write_text(f"[models.local-1]\ncommand = {told}\n")
    code, out, _ = run(
        "evidence-build", "acme", "--from", export, "--tagger", "model:local-1", "--models", "models.toml"
    )
    assert code == 0
    assert "tagged by model:local-1" in out
    (path,) = (tmp_path / ".evalharness" / "data" / "datasets" / "rl" / "acme").glob(
        "evidence-model-local-1-*.json"
    )
    document = Evidence.load(path).document
    assert document.tagger["model_id"] == "local-1"
    assert document.tagger["stats"]["by_rule_fallback"] == 60  # the first turn of each call
    assert {row.move for row in document.transitions if row.t} == {"close"}
    assert document.manifest["tagger"]["model"] == "local-1"


def test_a_judge_that_names_nothing_makes_no_set(run, export, tmp_path, serve):
    server = serve(lambda _: {"choices": []})
    (tmp_path / "models.toml").write_text(f'[judge]\nendpoint = "{server.url}"\nmodel = "m"\n')
    build = (
        "evidence-build",
        "acme",
        "--from",
        export,
        "-n",
        "8",
        "--tagger",
        "judge",
        "--models",
        "models.toml",
    )
    code, out, err = run(*build)
    assert (code, out) == (11, "")
    assert "the judge named none of" in err
    assert "EVH311" in err
    assert run("evidence-sets")[1].startswith("no evidence sets in")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("acme",), 11, "the registry holds no calls of acme"),
        (("acme", "--source", "volume"), 11, "the volume holds no calls of acme"),
        (("acme", "--from", "none.gz"), 11, "none.gz cannot be registered: No such file"),
        (("../acme", "--from", "calls.jsonl.gz"), 4, "no world's name"),
        (("acme", "--path", "../calls.jsonl.gz"), 4, "does not stay below"),
        (("acme", "--path", "x", "--source", "registry"), 4, "--path names a file of the volume"),
        (("acme", "--from", "calls.jsonl.gz", "--source", "volume"), 4, "--from registers an export"),
        (("acme", "--from", "calls.jsonl.gz", "-n", "100001"), 4, "100,000 calls at most"),
        (("acme", "--from", "calls.jsonl.gz", "-n", "0"), 4, "must be a whole number of 1 or more"),
        (("acme", "--from", "calls.jsonl.gz", "--tagger", "rules"), 4, "did you mean rule?"),
        (("acme", "--from", "calls.jsonl.gz", "--tagger", "judge"), 4, "nothing says where the judge is"),
        (("acme", "--from", "calls.jsonl.gz", "--tagger", "model:x"), 4, "nothing says where the model x is"),
        (("acme", "--from", "calls.jsonl.gz", "--budget", "9"), 4, "--budget is what a judge may cost"),
        (("acme", "--from", "calls.jsonl.gz", "--outcomes", "none.toml"), 4, "none.toml: it cannot be read"),
        (("acme", "--from", "calls.jsonl.gz", "--world-file", "none.toml"), 4, "it cannot be read"),
        (("acme", "--from", "calls.jsonl.gz", "-n", "1"), 11, "both sides need some"),
    ],
)
@pytest.mark.usefixtures("export")
def test_refusals_are_sentences_with_a_next_step(run, tmp_path, arguments, code, why):
    found, out, err = run("evidence-build", *arguments)
    assert (found, out) == (code, "")
    assert why in err
    assert "next:" in err
    assert "Traceback" not in err
    assert not (tmp_path / ".evalharness" / "data" / "datasets").exists()
    if code == 4:
        assert not (tmp_path / ".evalharness" / "data" / "registry").exists()
