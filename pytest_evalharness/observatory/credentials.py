"""The token: from the environment, else from the file that the league's own tools write.

`EVALHARNESS_TOKEN` comes first, because whoever sets it for one command means that command; a CI job has no
credential file. Else `${SOFTMAX_CONFIG_DIR:-~/.softmax}/credentials.yaml` is read as the real tools read it:
the key is the server's root, compared as an exact string; an unexpired active player session wins over the
user token; an expired one falls through to it, so the identity can change without a word. `Token.identity`
and `Token.remark` say which one it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from pytest_evalharness.base.clock import Clock, SystemClock, iso, parse_iso
from pytest_evalharness.base.text import printable, redact
from pytest_evalharness.errors import ForkWithoutSecrets, NoCredentials
from pytest_evalharness.observatory.forks import pull_request_from_fork

TOKEN_VARIABLE = "EVALHARNESS_TOKEN"  # noqa: S105 - the name of a variable
DIRECTORY_VARIABLE = "SOFTMAX_CONFIG_DIR"
FILE_NAME = "credentials.yaml"
NOTHING_SUBMITTED = "nothing was submitted"
_LARGEST_FILE = 256 * 1024


class Identity(StrEnum):
    """Who a token speaks for, as far as its source tells."""

    ENVIRONMENT = "token of the environment"
    USER = "user token"
    PLAYER = "player session"


@dataclass(frozen=True, slots=True)
class _Sealed:
    value: str

    def __repr__(self) -> str:
        return "[redacted]"


class Token:
    """A secret that does not show itself. `reveal()` is for the one header that needs it.

    Making one registers the secret with `base.text.redact`: no message of this process prints it.

    Args:
        secret: the token itself.
        identity: who it speaks for.
        source: where it was read: a variable's name or a file.
        expires_at: seconds since 1970, if known.
        remark: what a run's record should say about the choice, if anything.

    Raises:
        ValueError: it is empty or cannot stand in a header. The message does not quote it.
    """

    __slots__ = ("_secret", "expires_at", "identity", "remark", "source")

    def __init__(
        self,
        secret: str,
        *,
        identity: Identity = Identity.USER,
        source: str = "",
        expires_at: float | None = None,
        remark: str = "",
    ) -> None:
        cleaned = secret.strip()
        redact.hide(secret)
        redact.hide(cleaned)
        if not cleaned or not cleaned.isascii() or not cleaned.isprintable() or " " in cleaned:
            raise ValueError("a token is one word of printable ASCII characters")
        self._secret = _Sealed(cleaned)
        self.identity = identity
        self.source = source
        self.expires_at = expires_at
        self.remark = remark

    def reveal(self) -> str:
        """The secret."""
        return self._secret.value

    def __repr__(self) -> str:
        """Never the secret."""
        return f"Token({self.identity.value}, from {printable(self.source or 'nowhere')})"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        """Secrets do not travel between processes."""
        raise TypeError("a token cannot be pickled")


def load_token(
    server_root: str,
    *,
    environ: Mapping[str, str],
    clock: Clock | None = None,
    home: Path | None = None,
    not_done: str = NOTHING_SUBMITTED,
) -> Token:
    """The token for a server.

    Give it a mapping without `EVALHARNESS_TOKEN` for a server (the embedded one) that must not see it.

    Args:
        server_root: the root of the server's API; trailing slashes do not count.
        environ: the environment.
        clock: tells whether a player session has expired; the machine's by default.
        home: the home folder; `HOME` of the environment by default.
        not_done: what does not happen without a token.

    Raises:
        ForkWithoutSecrets: there is none, in a GitHub pull request from a fork.
        NoCredentials: there is none, or the file cannot be read or understood.
    """
    given = environ.get(TOKEN_VARIABLE, "")
    if given.strip():
        try:
            return Token(given, identity=Identity.ENVIRONMENT, source=TOKEN_VARIABLE)
        except ValueError as problem:
            raise NoCredentials(
                f"{TOKEN_VARIABLE} cannot be used: {problem}",
                not_done=not_done,
                next_step=f"set the environment variable {TOKEN_VARIABLE} to a token",
            ) from None
    try:
        return token_from_file(
            credentials_path(environ, home=home), server_root, clock=clock or SystemClock()
        )
    except NoCredentials as missing:
        if not pull_request_from_fork(environ):
            missing.not_done = not_done
            raise
        raise ForkWithoutSecrets(
            f"not run: no credentials (a pull request from a fork has no secrets)\n  {missing.what}",
            not_done=not_done,
            next_step="whoever may use the league runs this edit: push it to a branch of the repository itself",
        ) from None


def credentials_path(environ: Mapping[str, str], *, home: Path | None = None) -> Path:
    """Where the league's own tools keep the credential file."""
    base = home or (Path(environ["HOME"]) if environ.get("HOME") else Path.home())
    configured = environ.get(DIRECTORY_VARIABLE, "").strip()
    if not configured:
        return base / ".softmax" / FILE_NAME
    if configured == "~" or configured.startswith("~/"):
        return base / configured[2:] / FILE_NAME
    return Path(configured) / FILE_NAME


def token_from_file(path: Path, server_root: str, *, clock: Clock) -> Token:
    """The token that a credential file holds for a server.

    Raises:
        NoCredentials: no file, no entry for this server, or a file that cannot be read or understood.
    """
    root = server_root.rstrip("/")
    content = _read(path, root)
    now = clock.now()
    session, remark = _player_session(_section(content, "player_sessions", path, root), root, path, now)
    if session is not None:
        return session
    secret = _section(content, "tokens", path, root).get(root)
    if secret is None:
        raise _missing(path, root, content, remark)
    return _token(secret, path, root, identity=Identity.USER, remark=remark)


def _read(path: Path, root: str) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise _malformed(path, root, "it is larger than a credential file can be")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoCredentials(
            f"no token for {printable(root)}: {TOKEN_VARIABLE} is not set and there is no {path}",
            not_done=NOTHING_SUBMITTED,
            next_step=_what_to_type(root),
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "it is no text"
        raise _malformed(path, root, str(why)) from None
    content = _parse(text, path, root)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise _malformed(path, root, "it is no mapping")
    return content


def _parse(text: str, path: Path, root: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as problem:
        # The parser's own message quotes the lines around the fault, and those hold tokens.
        mark = problem.problem_mark
        raise _malformed(
            path, root, f"line {mark.line + 1} is no YAML" if mark else "it is no YAML"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _malformed(path, root, "it is no YAML") from None


def _section(content: Mapping[str, Any], name: str, path: Path, root: str) -> dict[str, Any]:
    section = content.get(name)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise _malformed(path, root, f"`{name}` is no mapping")
    return section


def _player_session(
    sessions: Mapping[str, Any], root: str, path: Path, now: float
) -> tuple[Token | None, str]:
    """The active session's token, or None and why the user token is used in its place."""
    entry = sessions.get(root)
    if entry is None:
        return None, ""
    if not isinstance(entry, dict):
        raise _malformed(path, root, "the server's entry in `player_sessions` is no mapping")
    active = entry.get("active")
    if active is None:
        return None, ""
    cached = _section(entry, "cache", path, root).get(active)
    if cached is None:
        return None, f"the active player session {printable(active)} is not in the credential file"
    if not isinstance(cached, dict):
        raise _malformed(path, root, "the active player session is no mapping")
    expires = _expiry(cached.get("expires_at"), path, root)
    if expires is not None and expires <= now:
        return None, f"the player session {printable(active)} expired at {iso(expires)}"
    token = _token(
        cached.get("token"),
        path,
        root,
        identity=Identity.PLAYER,
        expires_at=expires,
        remark=f"acting as {printable(active)}",
    )
    return token, ""


def _expiry(value: Any, path: Path, root: str) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, datetime):  # YAML reads an unquoted time stamp as one
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        return parse_iso(str(value))
    except (ValueError, OverflowError):
        raise _malformed(path, root, "the player session's `expires_at` is no time") from None


def _token(
    secret: Any,
    path: Path,
    root: str,
    *,
    identity: Identity,
    expires_at: float | None = None,
    remark: str = "",
) -> Token:
    if not isinstance(secret, str):
        raise _malformed(path, root, f"the {identity.value} is no text")
    try:
        return Token(secret, identity=identity, source=str(path), expires_at=expires_at, remark=remark)
    except ValueError as problem:
        raise _malformed(path, root, f"the {identity.value} cannot be used: {problem}") from None


def _what_to_type(root: str) -> str:
    return f"softmax set-token TOKEN --server {printable(root)}, or set the environment variable {TOKEN_VARIABLE}"


def _malformed(path: Path, root: str, why: str) -> NoCredentials:
    return NoCredentials(
        f"{path} cannot be used as a credential file: {why}",
        not_done=NOTHING_SUBMITTED,
        next_step=_what_to_type(root),
    )


def _missing(path: Path, root: str, content: Mapping[str, Any], remark: str) -> NoCredentials:
    names = [printable(name, 120) for name in _section(content, "tokens", path, root)]
    known = f"; it has tokens for {', '.join(names[:8])}" if names else ""
    expired = f"; {remark}" if remark else ""
    return NoCredentials(
        f"{path} has no token for {printable(root)} (compared as an exact string){known}{expired}",
        not_done=NOTHING_SUBMITTED,
        next_step=_what_to_type(root),
    )
