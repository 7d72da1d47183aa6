"""`models.toml`: the judge, and the decision models by their ids. Addresses and names, never a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from pytest_evalharness.base.text import redact
from pytest_evalharness.engines.evidence.outcomes import read_toml
from pytest_evalharness.errors import NoCredentials, UsageError

Api = Literal["openai", "anthropic"]

_SECRETS = frozenset({"key", "api_key", "apikey", "token", "secret", "password", "authorization", "headers"})
_EXAMPLE = "docs/reference/engine.md has an example"


class JudgeEntry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The judge.

    Attributes:
        api: "openai" for a server that speaks like OpenAI's, such as vLLM, or "anthropic".
        endpoint: its address.
        model: which model it is asked for.
        key_env: the environment variable with the key.
        batch: calls in one question.
        parallel: questions under way at one time.
        seconds: one try may take.
        answer_tokens: an answer may have for each agent turn of the question.
        budget_tokens: one command may spend, questions and answers together.
        body: what is sent besides, in place of ours where both name it.
    """

    api: Api = "openai"
    endpoint: str = ""
    model: str
    key_env: str | None = None
    batch: int = 4
    parallel: int = 4
    seconds: float = 120.0
    answer_tokens: int = 60
    budget_tokens: int = 10_000_000
    body: dict[str, Any] = {}


class ModelEntry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A decision model: one with an endpoint is asked over HTTP, one with a command on its standard input.

    Attributes:
        endpoint: `/v1/systemone` is appended.
        command: program and arguments, started without a shell.
        model: what it is asked for; its id if empty.
        key_env: the environment variable with the key, for an endpoint.
        parallel: calls read at one time, for an endpoint.
        seconds: one answer may take.
    """

    endpoint: str | None = None
    command: list[str] | None = None
    model: str = ""
    key_env: str | None = None
    parallel: int = 8
    seconds: float = 60.0


class _File(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    judge: JudgeEntry | None = None
    models: dict[str, ModelEntry] = {}


def judge_entry(path: Path) -> JudgeEntry:
    """The judge of a file.

    Raises:
        UsageError: there is no file, it cannot be read, or it has no judge.
    """
    entry = _load(path, "the judge").judge
    if entry is None:
        raise _wrong(path, f"there is no [judge] with api, endpoint and model; {_EXAMPLE}")
    if not entry.endpoint:
        if entry.api == "openai":
            raise _wrong(path, "[judge] has no endpoint: the address of its server, as http://127.0.0.1:8000")
        entry = msgspec.structs.replace(entry, endpoint="https://api.anthropic.com")
    _check_address(path, entry.endpoint)
    numbers = {
        "batch": entry.batch,
        "parallel": entry.parallel,
        "seconds": entry.seconds,
        "answer_tokens": entry.answer_tokens,
        "budget_tokens": entry.budget_tokens,
    }
    _check_numbers(path, "judge", numbers)
    return entry


def model_entry(path: Path, model_id: str) -> ModelEntry:
    """A model of a file.

    Raises:
        UsageError: there is no file, it cannot be read, or it does not have the model.
    """
    found = _load(path, f"the model {model_id}").models
    if model_id not in found:
        raise _wrong(path, f"there is no model {model_id!r}; it has {', '.join(sorted(found)) or 'none'}")
    entry = found[model_id]
    if (entry.endpoint is None) == (not entry.command):
        raise _wrong(path, f"the model {model_id!r} has either an endpoint or a command")
    if entry.endpoint is not None:
        _check_address(path, entry.endpoint)
    _check_numbers(path, f"models.{model_id}", {"parallel": entry.parallel, "seconds": entry.seconds})
    return entry


def key_of(name: str | None, environ: Mapping[str, str], who: str, *, required: bool) -> str | None:
    """The key in an environment variable, hidden from now on in all that is printed.

    Raises:
        NoCredentials: the variable is empty or not set, and a key is needed.
    """
    key = environ.get(name, "").strip() if name else ""
    if key:
        redact.hide(key)
        return key
    if required:
        raise NoCredentials(
            f"{who} needs a key, and the environment variable {name} is not set",
            not_done="no evidence was built",
            next_step=f"export {name}=…",
        )
    return None


def _load(path: Path, who: str) -> _File:
    if not path.is_file():
        raise UsageError(
            f"nothing says where {who} is: there is no {path}",
            not_done="no evidence was built",
            next_step=f"write that file, or name another with --models; {_EXAMPLE}",
        )
    told = read_toml(path)
    for where in _secrets(told):
        raise _wrong(
            path,
            f"{where} stands in the file: secrets come from the environment only, key_env names the variable",
        )
    try:
        return msgspec.convert(told, _File)
    except msgspec.ValidationError as problem:
        raise _wrong(path, str(problem)) from None


def _secrets(told: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in told.items():
        if name.lower() in _SECRETS:
            yield f"{before}{name}"
        if isinstance(value, dict):
            yield from _secrets(value, f"{before}{name}.")


def _check_address(path: Path, endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.query
        login = parts.username is not None or parts.password is not None
    except ValueError:
        usable = login = False
    if login:
        raise _wrong(path, "an endpoint holds a login: secrets come from the environment only (key_env)")
    if not usable:
        raise _wrong(path, f"{endpoint!r} is no address: http://HOST:PORT or https://HOST")


def _check_numbers(path: Path, table: str, numbers: Mapping[str, float]) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise _wrong(path, f"[{table}] {name} is above 0, not {number}")


def _wrong(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path}: {why}", not_done="no evidence was built", next_step=f"correct the file; {_EXAMPLE}"
    )
