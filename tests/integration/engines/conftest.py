"""A judge and a model on loopback, and calls for them to read."""

import json
import random

import pytest

from pytest_evalharness.engines.evidence.calls import Utterance
from pytest_evalharness.engines.evidence.sampling import ScrubbedCall
from pytest_evalharness.engines.evidence.world import load_world
from tests.unit.net import scripted_server


@pytest.fixture(scope="session")
def wire():
    """The scripted server's module."""
    return scripted_server


@pytest.fixture
def serve(wire):
    """Starts servers that answer by a function of the request, and ends them.

    The function gives what `wire.reply` takes (one value, or a tuple of values), or does with the connection what it likes.
    """
    running = []

    def start(answer):
        def script(request):
            told = answer(request)
            return told if callable(told) else wire.reply(*(told if isinstance(told, tuple) else (told,)))

        server = wire.ScriptedServer(script=script)
        running.append(server)
        return server

    start.reset = wire.reset
    yield start
    for server in running:
        server.close()


@pytest.fixture
def clock(wire):
    return wire.SkippingClock()


@pytest.fixture(scope="session")
def world():
    return load_world()


@pytest.fixture
def rng():
    return random.Random(1)


@pytest.fixture(scope="session")
def calls():
    """Calls of two agent turns each, as taggers see them."""

    def make(count):
        return [
            ScrubbedCall(
                f"call-{at}",
                "won",
                [
                    Utterance(agent=False, text=f"Good day, number {at}."),
                    Utterance(agent=True, text="Hello, goodbye, secretword."),
                    Utterance(agent=False, text="It is too expensive."),
                    Utterance(agent=True, text="Would you like to visit?"),
                ],
            )
            for at in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def judge_answer():
    """What a perfect judge says to a request of the OpenAI kind or of Anthropic's; `change` spoils it."""

    def told(body, change=lambda question, calls: calls):
        system = body["messages"][0]["content"] if "system" not in body else body["system"]
        question = "moves" if "name the one move" in system else "states"
        asked = json.loads(body["messages"][-1]["content"])["calls"]
        calls = [{"call": one["call"], "turns": [said(question, at) for at in range(2)]} for one in asked]
        return {"calls": change(question, calls)}

    def said(question, at):
        if question == "moves":
            return {"turn": at, "move": ["build_trust", "close"][at]}
        return {"turn": at, "stage": at + 1, "objection": ["none", "family"][at], "warmth": [3, 8][at]}

    return told


@pytest.fixture(scope="session")
def openai(judge_answer):
    """The answer of an OpenAI-compatible server."""

    def answer(request, tokens=(100, 20), **more):
        text = json.dumps(judge_answer(request.json(), **more))
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}

    return answer
