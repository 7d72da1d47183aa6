"""The judge over real HTTP: what it is asked, what is done with its answers, and with a server that has a bad day."""

import contextlib
import json
import threading
import time

import pytest

from pytest_evalharness.engines.evidence.taggers.choosing import make_tagger
from pytest_evalharness.engines.evidence.taggers.judge import JudgeTagger
from pytest_evalharness.engines.evidence.taggers.models import JudgeEntry
from pytest_evalharness.engines.evidence.taggers.rule import RuleReader
from pytest_evalharness.errors import (
    CredentialsRejected,
    JournalUnavailable,
    NoCredentials,
    OverBudget,
    ServerUnreachable,
    TaggerFailed,
    UsageError,
)

JUDGED = [("build_trust", "1:3:none"), ("close", "2:8:family")]


@pytest.fixture
def judge(tmp_path, world, clock, rng):
    """Makes judges that share a file of answers."""
    with contextlib.ExitStack() as opened:

        def make(server, environ=None, budget=None, **entry):
            entry = {
                "model": "m",
                "endpoint": server.url,
                "batch": 2,
                "parallel": 2,
                "seconds": 60.0,
                **entry,
            }
            return opened.enter_context(
                JudgeTagger(
                    JudgeEntry(**entry),
                    world,
                    cache=tmp_path / "readings.sqlite",
                    environ=environ or {},
                    clock=clock,
                    rng=rng,
                    budget=budget,
                )
            )

        yield make


def read(tagger, calls):
    return [[(one.move, one.state) for one in found] for _, found in tagger.read(calls)]


def by_rule(world, calls):
    return [[(one.move, one.state) for one in RuleReader(world).read(call)[0]] for call in calls]


# ------------------------------------------------------------ what it is asked


def test_an_openai_compatible_judge_reads_every_call(serve, openai, judge, calls):
    server = serve(openai)
    tagger = judge(server, environ={"OPENAI_API_KEY": "sk-very-secret"}, endpoint=f"{server.url}/v1")
    assert read(tagger, calls(5)) == [JUDGED] * 5
    nothing = {"by_rule_fallback": 0, "moves_by_rule": 0, "states_by_rule": 0}
    assert tagger.stats == {"turns": 10, "by_model": 10, "calls": 5, **nothing}
    assert (tagger.effort["requests"], tagger.effort["tokens"]) == (6, 720)  # three lumps, two questions
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-very-secret"}
    body = server.requests[0].json()
    assert body["response_format"]["type"] == "json_schema"
    assert body["temperature"] == 0
    assert "sk-very-secret" not in json.dumps(tagger.described()) + repr(vars(tagger))


def test_an_anthropic_judge_reads_every_call(serve, judge_answer, judge, calls):
    def answer(request):
        used = {"type": "tool_use", "name": "record_readings", "input": judge_answer(request.json())}
        return {
            "content": [{"type": "text", "text": "Well."}, used],
            "usage": {"input_tokens": 50, "output_tokens": 9},
        }

    server = serve(answer)
    tagger = judge(server, environ={"ANTHROPIC_API_KEY": "sk-ant-secret"}, api="anthropic")
    assert read(tagger, calls(2)) == [JUDGED] * 2
    assert tagger.effort["tokens"] == 118
    sent = server.requests[0]
    assert (sent.path, sent.headers["x-api-key"]) == ("/v1/messages", "sk-ant-secret")
    assert sent.headers["anthropic-version"] == "2023-06-01"
    body = sent.json()
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
    moves = body["tools"][0]["input_schema"]["properties"]["calls"]["items"]["properties"]["turns"]["items"][
        "properties"
    ]
    assert "propose_viewing" in moves["move"]["enum"]


def test_states_are_asked_without_a_word_of_the_agent(serve, openai, judge, calls):
    server = serve(openai)
    read(judge(server), calls(3))
    bodies = [request.body.decode() for request in server.requests]
    states = [body for body in bodies if "just before it" in body]
    moves = [body for body in bodies if "name the one move" in body]
    assert len(states) == len(moves) == 2
    assert all("secretword" in body for body in moves)
    assert not any("secretword" in body for body in states)
    assert all("too expensive" in body and "(agent turn 1)" in body for body in states)


# --------------------------------------------------------------- known before


def test_nothing_is_asked_twice(serve, openai, judge, calls):
    server = serve(openai)
    read(judge(server), calls(3))
    asked = len(server.requests)
    again = judge(server)
    assert read(again, calls(4)) == [JUDGED] * 4
    assert len(server.requests) == asked + 2  # the fourth call alone
    assert again.effort["known_before"] == 6
    assert len(json.loads(server.requests[-1].json()["messages"][1]["content"])["calls"]) == 1
    read(judge(server, model="another"), calls(3))
    assert len(server.requests) == asked + 6


# --------------------------------------------------------------- bad answers


def spoil(question, calls):
    """The second call's moves are wrong in every way there is."""
    if question == "moves":
        calls[1]["turns"] = [
            {"turn": 0, "move": "dance"},
            {"turn": True, "move": "close"},
            {"turn": 9, "move": "greet"},
            7,
        ]
        calls += [{"call": 5, "turns": []}, {"call": 1}, "x"]
    return calls


def test_what_a_judge_leaves_out_is_read_by_cues_and_counted(serve, openai, judge, calls, world):
    server = serve(lambda request: openai(request, change=spoil))
    tagger = judge(server)
    found = read(tagger, calls(2))
    rule = by_rule(world, calls(2))
    assert found == [JUDGED, [(rule[1][at][0], JUDGED[at][1]) for at in range(2)]]
    assert tagger.stats == {
        "turns": 4, "by_model": 2, "by_rule_fallback": 2, "calls": 2, "moves_by_rule": 2, "states_by_rule": 0,
    }  # fmt: skip


GARBAGE = {
    "html": "<html>nope</html>", "no json": {"choices": [{"message": {"content": "I think it greets."}}]},
    "no choice": {"choices": []}, "a list": [], "null": {"choices": [{"message": {"content": None}}]},
    "other fields": {"choices": [{"message": {"content": '{"calls": {"call": 0}}'}}]},
}  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_judge_that_talks_garbage_is_asked_again_and_then_done_without(serve, judge, calls, world, garbage):
    server = serve(lambda _: GARBAGE[garbage])
    tagger = judge(server, batch=1)
    assert read(tagger, calls(1)) == by_rule(world, calls(1))
    assert len(server.requests) == 6  # three tries a question
    assert tagger.stats["by_model"] == 0
    assert tagger.effort["unusable_answers"] == 6


def test_one_call_that_spoils_a_lump_does_not_spoil_the_others(serve, openai, judge, calls):
    def answer(request):
        poisoned = "number 2" in request.body.decode()
        return openai(request) if not poisoned else ({"detail": "too long"}, 400)

    server = serve(answer)
    tagger = judge(server, batch=4, parallel=1)
    warm = calls(9)[4:8]  # somebody has been answered before: a refusal is then of the question, not of us
    found = read(tagger, [*warm, *calls(4)])
    assert found[:4] == [JUDGED] * 4
    assert [one == JUDGED for one in found[4:]] == [True, True, False, True]
    assert tagger.stats["by_rule_fallback"] == 2


# ------------------------------------------------------------------ bad days


def test_a_busy_judge_is_given_the_time_it_asks_for(serve, openai, judge, calls, clock):
    bad = [
        ({}, 429, [("Retry-After", "7")]), ("overloaded", 529), ({}, 503), serve.reset,
        ({}, 500),
    ]  # fmt: skip
    server = serve(lambda request: bad.pop(0) if bad else openai(request))
    tagger = judge(server, parallel=1)
    assert read(tagger, calls(2)) == [JUDGED] * 2
    assert tagger.effort["retries"] == 5
    assert 7.0 <= clock.waits[0] < 7.3
    assert len(server.requests) == 7


def test_a_judge_that_does_not_answer_ends_the_build(serve, judge, calls):
    server = serve(lambda _: ({}, 503))
    with pytest.raises(ServerUnreachable) as refusal:
        read(judge(server, parallel=1), calls(2))
    assert "HTTP 503" in refusal.value.what
    assert "the sample and every answer so far are kept" in refusal.value.not_done
    assert len(server.requests) == 6


def test_a_judge_that_wants_an_hour_is_gone_on_with_later(serve, judge, calls, clock):
    server = serve(lambda _: ({}, 429, [("Retry-After", "3600")]))
    with pytest.raises(ServerUnreachable, match="HTTP 429"):
        read(judge(server, parallel=1), calls(1))
    assert clock.waits == []
    assert len(server.requests) == 1


def test_a_slow_judge_is_not_waited_for_without_end(serve, wire, judge, calls):
    server = serve(lambda _: wire.silent)
    with pytest.raises(ServerUnreachable, match="the judge does not answer"):
        read(judge(server, seconds=0.1, parallel=1), calls(1))


def test_no_judge_at_all(wire, judge, calls):
    with contextlib.closing(wire.Nobody()) as nobody, pytest.raises(ServerUnreachable):
        read(judge(nobody, parallel=1), calls(1))


@pytest.mark.parametrize(
    ("status", "error"), [(401, CredentialsRejected), (403, CredentialsRejected), (404, TaggerFailed)]
)
def test_a_judge_that_refuses(serve, judge, calls, status, error):
    server = serve(lambda _: ({"detail": "model m is not known; key sk-very-secret"}, status))
    with pytest.raises(error) as refusal:
        read(judge(server, environ={"OPENAI_API_KEY": "sk-very-secret"}, parallel=1), calls(1))
    assert "sk-very-secret" not in str(refusal.value)
    assert len(server.requests) == 1


def test_a_failure_does_not_wait_for_the_answers_under_way(serve, wire, openai, judge, calls):
    gone = threading.Event()

    def answer(request):
        if gone.is_set():
            return wire.silent
        gone.set()
        return ({}, 401)

    tagger = judge(serve(answer), parallel=4, batch=1, seconds=600.0)
    start = time.monotonic()
    with pytest.raises(CredentialsRejected):
        read(tagger, calls(8))
    assert time.monotonic() - start < 250.0  # the silent ones would be waited for longer


# -------------------------------------------------------------------- budget


def test_a_judge_never_costs_more_than_its_budget(serve, openai, judge, calls):
    server = serve(lambda request: openai(request, tokens=(900, 100)))
    tagger = judge(server, budget=8_000, parallel=1, batch=1)
    with pytest.raises(OverBudget) as refusal:
        read(tagger, calls(20))
    spent = tagger.budget.spent
    assert 2_000 <= spent <= 8_000
    assert len(server.requests) == spent // 1_000
    assert f"{spent:,} are spent" in refusal.value.what
    assert "pays nothing twice" in refusal.value.next_step
    more = judge(server, budget=100_000, parallel=1, batch=1)
    assert read(more, calls(20)) == [JUDGED] * 20
    assert len(server.requests) == 40


def test_what_is_under_way_when_the_money_is_out_is_paid_and_kept(serve, openai, judge, calls):
    server = serve(lambda request: openai(request, tokens=(900, 100)))
    tagger = judge(server, budget=20_000, parallel=4, batch=1)
    with pytest.raises(OverBudget):
        read(tagger, calls(30))
    assert len(server.requests) == tagger.budget.spent // 1_000
    read(judge(server, budget=1_000_000, parallel=4, batch=1), calls(30))
    assert len(server.requests) == 60


def test_answers_that_cannot_be_kept_are_not_paid_for(serve, openai, judge, calls, tmp_path):
    server = serve(openai)
    (tmp_path / "readings.sqlite").write_bytes(b"no database at all, and long enough to be looked at")
    with pytest.raises(JournalUnavailable, match="answers cannot be kept in"):
        read(judge(server), calls(2))
    assert server.requests == []


def test_a_judge_that_does_not_say_what_it_costs_is_taken_at_its_most(serve, openai, judge, calls):
    server = serve(lambda request: openai(request, tokens=("?", None)))
    tagger = judge(server, parallel=1)
    read(tagger, calls(2))
    assert tagger.budget.spent > 1_000


# ------------------------------------------------------------- models.toml


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "nothing says where the judge is"),
        ("", "there is no [judge]"),
        ("[judge]\nmodel = 'm'", "[judge] has no endpoint"),
        ("[judge]\nendpoint = 'http://127.0.0.1'", "missing required field `model`"),
        ("[judge]\nmodel = 'm'\nendpoint = 'localhost:8000'", "is no address"),
        ("[judge]\nmodel = 'm'\nendpoint = 'http://me:pw@host'", "an endpoint holds a login"),
        (
            "[judge]\nmodel = 'm'\nendpoint = 'http://h'\napi_key = 'x'",
            "judge.api_key stands in the file: secrets come from the environment",
        ),
        (
            "[judge]\nmodel = 'm'\nendpoint = 'http://h'\n[judge.body]\ntoken = 'x'",
            "judge.body.token stands in the file",
        ),
        ("[judge]\nmodel = 'm'\nendpoint = 'http://h'\nbatch = 0", "[judge] batch is above 0"),
        ("[judge]\nmodel = 'm'\nendpoint = 'http://h'\napi = 'x'", "Invalid enum value 'x'"),
        ("[judge\n", "it cannot be read"),
    ],
)
def test_a_file_that_names_no_judge(tmp_path, world, clock, content, why):
    path = tmp_path / "models.toml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError) as refusal:
        make_tagger("judge", world, models=path, cache=tmp_path / "c", environ={}, clock=clock)
    assert why in refusal.value.what
    assert refusal.value.next_step


@pytest.mark.parametrize(
    ("content", "variable"),
    [
        ("[judge]\napi = 'anthropic'\nmodel = 'm'", "ANTHROPIC_API_KEY"),
        ("[judge]\nendpoint = 'http://h'\nmodel = 'm'\nkey_env = 'MINE'", "MINE"),
    ],
)
def test_a_judge_without_its_key(tmp_path, world, clock, content, variable):
    (tmp_path / "models.toml").write_text(content)
    with pytest.raises(NoCredentials, match=variable):
        make_tagger(
            "judge", world, models=tmp_path / "models.toml", cache=tmp_path / "c", environ={}, clock=clock
        )
