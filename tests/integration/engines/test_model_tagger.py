"""Decision models: over HTTP, and as a real local command."""

import json
import sys
import textwrap

import pytest

from pytest_evalharness.engines.evidence.taggers.choosing import make_tagger
from pytest_evalharness.engines.evidence.taggers.rule import RuleReader
from pytest_evalharness.errors import (
    CredentialsRejected,
    NoCredentials,
    ServerUnreachable,
    TaggerFailed,
    UsageError,
)

STATES = ["0:5:none", "2:5:price"]


@pytest.fixture
def model(tmp_path, world, clock):
    """Makes the model `lev-3` of a file with what is given."""
    opened = []

    def make(environ=None, name="model:lev-3", **entry):
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
        (tmp_path / "models.toml").write_text(f"[models.lev-3]\n{lines}\n")
        tagger = make_tagger(
            name, world, models=tmp_path / "models.toml", cache=tmp_path / "answers.sqlite", environ=environ or {}, clock=clock
        )  # fmt: skip
        opened.append(tagger)
        return tagger

    yield make
    for tagger in opened:
        tagger.close()


def read(tagger, calls):
    return [[(one.move, one.state) for one in found] for _, found in tagger.read(calls)]


def by_rule(world, calls):
    return [[(one.move, one.state) for one in RuleReader(world).read(call)[0]] for call in calls]


def chosen(request, *, wrap=True):
    """Closes every call in its second turn."""
    move = "close" if len(request.json()["state"]) > 2 else "build_trust"
    return {
        "model": "m",
        "answers": {"move": {"choice": move, "probabilities": {move: 1}} if wrap else move},
        "usage": {},
    }


# ----------------------------------------------------------------------- HTTP


@pytest.mark.parametrize("wrap", [True, False])
def test_a_model_is_asked_one_question_a_turn_about_the_call_up_to_it(serve, model, calls, world, wrap):
    server = serve(lambda request: chosen(request, wrap=wrap))
    tagger = model(
        environ={"KEY": "secret-key"},
        endpoint=f"{server.url}/",
        key_env="KEY",
        model="lev-latest",
        parallel=1,
    )
    found = read(tagger, calls(2))
    assert found == [list(zip(["build_trust", "close"], STATES, strict=True))] * 2
    assert tagger.stats == {"turns": 4, "by_model": 4, "by_rule_fallback": 0, "calls": 2}
    assert (tagger.kind, tagger.model_id) == ("model", "lev-3")
    assert [request.path for request in server.requests] == ["/v1/systemone"] * 4
    body = server.requests[0].json()
    assert body["state"] == ["customer: Good day, number 0.", "agent: Hello, goodbye, secretword."]
    assert body["model"] == "lev-latest"
    assert body["questions"]["move"]["type"] == "choice"
    assert list(body["questions"]["move"]["criteria"]) == list(world.moves)
    assert server.requests[0].headers["authorization"] == "Bearer secret-key"
    assert len(server.requests[1].json()["state"]) == 4


def test_answers_are_kept_and_many_calls_are_read_in_their_order(serve, model, calls):
    server = serve(chosen)
    told = calls(30)
    first = model(endpoint=server.url)
    names = [call.name for call, _ in first.read(told)]
    assert names == [call.name for call in told]
    assert len(server.requests) == 60
    again = model(endpoint=server.url)
    read(again, told)
    assert len(server.requests) == 60
    assert again.effort["known_before"] == 60


@pytest.mark.parametrize(
    "garbage", [{"answers": {}}, {"answers": {"move": {"choice": "dance"}}}, [], "<html>", {"answers": 3}]
)
def test_a_model_that_chooses_nothing_is_done_without(serve, model, calls, world, garbage):
    server = serve(lambda _: garbage)
    tagger = model(endpoint=server.url, parallel=1)
    assert read(tagger, calls(1)) == by_rule(world, calls(1))
    assert tagger.stats["by_rule_fallback"] == 2
    assert len(server.requests) == 6


def test_a_model_that_is_down_or_wants_a_key(serve, model, calls):
    with pytest.raises(ServerUnreachable, match="the model lev-3 does not answer"):
        read(model(endpoint=serve(lambda _: ({}, 502)).url, parallel=1), calls(1))
    with pytest.raises(CredentialsRejected, match="the model lev-3 does not accept the key"):
        read(model(endpoint=serve(lambda _: ({}, 401)).url), calls(1))
    with pytest.raises(NoCredentials, match="KEY is not set"):
        model(endpoint="http://127.0.0.1:1", key_env="KEY")


# -------------------------------------------------------------------- command

HONEST = """
    import json, sys
    for line in sys.stdin:
        asked = json.loads(line)
        move = "close" if len(asked["state"]) > 2 else "build_trust"
        print(json.dumps({"model": asked["model"], "answers": {"move": {"choice": move}}}), flush=True)
    open(sys.argv[1], "w").write("ended politely")
"""
GARBLED = """
    import sys
    for line in sys.stdin:
        print("no json", flush=True)
"""
DEAD = "import sys; sys.stdin.readline(); sys.exit(3)"
DEAF = "import time; time.sleep(60)"
ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 65536)"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A program as a command, that may take its time to end."""
    monkeypatch.setattr("pytest_evalharness.engines.evidence.taggers.command._PATIENCE", 120.0)

    def make(source):
        path = tmp_path / "model.py"
        path.write_text(textwrap.dedent(source))
        return [sys.executable, str(path), str(tmp_path / "end")]

    return make


def test_a_local_command_is_asked_the_same(model, command, calls, tmp_path):
    tagger = model(command=command(HONEST))
    assert read(tagger, calls(3)) == [list(zip(["build_trust", "close"], STATES, strict=True))] * 3
    assert tagger.stats["by_model"] == 6
    tagger.close()
    assert (tmp_path / "end").read_text() == "ended politely"


def test_a_command_that_talks_garbage_is_done_without(model, command, calls, world):
    tagger = model(command=command(GARBLED))
    assert read(tagger, calls(1)) == by_rule(world, calls(1))
    assert tagger.effort["unusable_answers"] == 2


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (DEAD, (120.0, "the model lev-3 has ended with code 3")),
        (DEAF, (0.2, "the model lev-3 has not answered within 0.2 s")),
    ],
)
def test_a_command_that_dies_or_says_nothing_ends_the_build(model, command, calls, source, told):
    seconds, why = told
    with pytest.raises(TaggerFailed) as refusal:
        read(model(command=command(source), seconds=seconds), calls(2))
    assert why in refusal.value.what
    assert "goes on where this one stopped" in refusal.value.next_step


def test_a_command_that_answers_without_end_is_ended(model, command, calls, monkeypatch):
    monkeypatch.setattr("pytest_evalharness.engines.evidence.taggers.command._PATIENCE", 0.2)
    with pytest.raises(TaggerFailed, match="answered without end"):
        read(model(command=command(ENDLESS)), calls(1))


def test_a_command_that_is_not_there(model):
    with pytest.raises(TaggerFailed, match="cannot be started"):
        model(command=["/nowhere/at/all"])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "either an endpoint or a command"),
        ({"endpoint": "http://h", "command": ["x"]}, "either an endpoint or a command"),
        ({"endpoint": "ftp://h"}, "is no address"),
        ({"endpoint": "http://h", "seconds": 0}, "seconds is above 0"),
        ({"endpoint": "http://h", "token": "x"}, "models.lev-3.token stands in the file"),
    ],
)
def test_an_entry_of_no_use(model, entry, why):
    with pytest.raises(UsageError) as refusal:
        model(**entry)
    assert why in refusal.value.what


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("model:other", "there is no model 'other'; it has lev-3"),
        ("model:", "there is no tagger 'model:'"),
        ("jugde", "did you mean judge?"),
        ("rule:x", "there is no tagger 'rule:x'"),
        ("", "there is no tagger ''"),
    ],
)
def test_a_tagger_that_is_none(model, name, why):
    with pytest.raises(UsageError) as refusal:
        model(name=name, endpoint="http://127.0.0.1:1")
    assert why in refusal.value.what
