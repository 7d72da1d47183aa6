"""The section on evidence tells the options, the reasons, the files and the defaults that there are."""

import re
import tomllib

import msgspec

from pytest_evalharness.cli import build_parser
from pytest_evalharness.engines.evidence.taggers.models import JudgeEntry, judge_entry, model_entry
from pytest_evalharness.engines.evidence.world import World, load_world, outcomes_of

PAGE = "docs/reference/engine.md"


def section(pages):
    return pages[PAGE].text.partition("## Evidence\n")[2].partition("\n## ")[0]


def test_every_option_is_described(pages, capsys):
    for command in ("evidence-build", "evidence-sets"):
        try:
            build_parser().parse_args(["engine", command, "--help"])
        except SystemExit:
            options = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        told = set(re.findall(r"--[a-z][a-z-]*", section(pages)))
        assert options - {"--help", "--home"} <= told


def test_every_reason_is_described(pages):
    import inspect

    from pytest_evalharness.engines.evidence import building, calls, collecting

    source = "".join(map(inspect.getsource, (calls, collecting, building)))
    counted = set(re.findall(r'skipped\["(\w+)"\]|return "(\w+)"|left_out\["(\w+)"\]', source))
    reasons = {one for match in counted for one in match if one} | {"ignored_outcome", "unmapped_outcome"}
    assert len(reasons) == 11
    told = {name for row in pages[PAGE].table("reason") for name in re.findall(r"`(\w+)`", row[0])}
    assert told == reasons


def test_the_files_that_are_shown_can_be_read(pages, tmp_path):
    blocks = [block.text for block in pages[PAGE].blocks("toml")]
    (world,) = [text for text in blocks if "[moves." in text]
    (models,) = [text for text in blocks if "[judge]" in text]
    (outcomes,) = [text for text in blocks if "[values]" in text]
    told = tomllib.loads(world)
    shipped = msgspec.to_builtins(load_world())
    msgspec.convert({**shipped, **told, "moves": {**shipped["moves"], **told["moves"]}}, World)
    path = tmp_path / "models.toml"
    path.write_text(models)
    judge = judge_entry(path)
    defaults = JudgeEntry(model="x")
    assert (judge.batch, judge.parallel, judge.budget_tokens) == (4, 4, defaults.budget_tokens)
    assert (defaults.batch, defaults.parallel) == (4, 4)
    assert model_entry(path, "lev-3").model == "lev-latest"
    assert model_entry(path, "local").command == ["python", "my_model.py"]
    (tmp_path / "outcomes.toml").write_text(outcomes)
    found = outcomes_of(load_world(), tmp_path / "outcomes.toml")
    assert found.meaning("hot_lead") == "won"
    assert found.values == {"won": 100.0, "follow_up": 20.0, "lost": 0.0}
