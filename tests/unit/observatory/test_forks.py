"""Which pull requests get no secrets."""

import json

import pytest

from pytest_evalharness.errors import ForkWithoutSecrets, NoCredentials
from pytest_evalharness.observatory.credentials import load_token
from pytest_evalharness.observatory.forks import pull_request_from_fork

API = "https://league.example/api"


def event(head, base="team/bot"):
    return {
        "pull_request": {
            "head": {"repo": head and {"full_name": head}},
            "base": {"repo": {"full_name": base}},
        }
    }


@pytest.fixture
def environment(tmp_path):
    def make(payload, **changes):
        path = tmp_path / "event.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        said = {
            "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(path),
            "HOME": str(tmp_path),
        }  # fmt: skip
        return {name: value for name, value in (said | changes).items() if value is not None}

    return make


@pytest.mark.parametrize(
    "payload",
    [
        "", "{", "null", "[]", "3", "{}", '{"pull_request": null}', '{"pull_request": {"head": []}}',
        '{"pull_request": {"head": {"repo": {"full_name": "a/b"}}}}', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_payload_that_says_nothing_is_no_fork(environment, payload):
    assert pull_request_from_fork(environment(payload)) is False


@pytest.mark.parametrize("path", [None, "", "/nowhere/event.json", "/", "a\0b"])
def test_a_payload_that_cannot_be_read_is_no_fork(environment, path):
    assert pull_request_from_fork(environment("{}", GITHUB_EVENT_PATH=path)) is False


@pytest.mark.parametrize(
    ("head", "fork"), [("stranger/bot", True), (None, True), ("team/bot", False)]
)  # None: the fork was deleted
def test_a_fork_is_another_repository(environment, head, fork):
    assert pull_request_from_fork(environment(event(head))) is fork


@pytest.mark.parametrize(
    "changes",
    [{"GITHUB_EVENT_NAME": "push"}, {"GITHUB_EVENT_NAME": "pull_request_target"}, {"GITHUB_EVENT_NAME": None},
     {"GITHUB_ACTIONS": None}, {"GITHUB_ACTIONS": "false"}],
)  # fmt: skip
def test_only_pull_requests_on_github_count(environment, changes):
    assert pull_request_from_fork(environment(event("stranger/bot"), **changes)) is False


def test_a_fork_without_a_token_was_not_run(environment):
    with pytest.raises(ForkWithoutSecrets) as caught:
        load_token(API, environ=environment(event("stranger/bot")))
    first, second, *_ = str(caught.value).splitlines()
    assert first == "not run: no credentials (a pull request from a fork has no secrets)"
    assert f"no token for {API}" in second
    assert caught.value.exit_code == 11


def test_a_fork_with_a_token_runs(environment):
    environ = environment(event("stranger/bot"), EVALHARNESS_TOKEN="tok_from_somewhere")
    assert load_token(API, environ=environ).reveal() == "tok_from_somewhere"


def test_a_token_that_cannot_be_used_is_a_mistake_in_a_fork_too(environment):
    with pytest.raises(NoCredentials) as caught:
        load_token(API, environ=environment(event("stranger/bot"), EVALHARNESS_TOKEN="two words"))
    assert not isinstance(caught.value, ForkWithoutSecrets)


def test_elsewhere_a_missing_token_is_a_mistake(environment):
    with pytest.raises(NoCredentials) as caught:
        load_token(API, environ=environment(event("team/bot")))
    assert not isinstance(caught.value, ForkWithoutSecrets)
