"""Whether a container reaches the host: a listener here, a container that says a word to it, and what was heard."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.containers.state import Engine
from pytest_evalharness.errors import EngineUnavailable

SECONDS = 30.0
_HOST = "host.docker.internal"
_GATEWAY = "host-gateway"
_WORD = 16
# One of these is in any image that can run an engine or a workspace. Each says the word that it is given and hangs up.
_SAY = (
    "if command -v python3 >/dev/null 2>&1; then exec python3 -c "
    '"import socket,sys; s=socket.create_connection((sys.argv[1],int(sys.argv[2])),5); s.sendall(sys.argv[3].encode()); s.close()" '
    '"$1" "$2" "$3"; '
    'elif command -v nc >/dev/null 2>&1; then printf %s "$3" | nc -w 5 "$1" "$2"; '
    'elif command -v bash >/dev/null 2>&1; then exec timeout 5 bash -c \'printf %s "$3" >"/dev/tcp/$1/$2"\' say "$1" "$2" "$3"; '
    "else exit 88; fi"
)
_QUEUED = 10.0
"""Seconds that a busy machine may take to hand on what a container has said by its own account."""
_NO_TOOL = 88
_NOT_STARTED = (125, 126, 127)


class Reached(StrEnum):
    """Whether it did."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Reach:
    """What was seen.

    Attributes:
        state: whether the container was heard.
        words: one line.
        next_step: what to type where it could not be tried.
    """

    state: Reached
    words: str
    next_step: str = ""


def reaches_host(
    engine: Engine,
    image: str,
    *,
    bind: str,
    network: str = "bridge",
    address: str = _GATEWAY,
    seconds: float = SECONDS,
) -> Reach:
    """Start a listener at an address of this host and a container that talks to it, and say whether it was heard.

    The container is removed, whatever happens. Nothing is downloaded: the image has to be local.

    Args:
        engine: an open connection.
        image: a local image with a shell, and Python, nc or bash.
        bind: where the listener listens.
        network: of the container.
        address: what `host.docker.internal` means in it: the engine's own gateway to the host unless another is given.
        seconds: for everything together.
    """
    try:
        with _listening(bind) as listener:
            port = listener.getsockname()[1]
            word = secrets.token_hex(_WORD)
            heard = threading.Event()
            threading.Thread(target=_hear, args=(listener, word.encode(), heard), daemon=True).start()
            deadline = Deadline.after(engine.clock, seconds)
            code, said = engine.run_once(
                image,
                ("/bin/sh", "-c", _SAY, "say", _HOST, str(port), word),
                deadline=deadline,
                network=network,
                hosts={_HOST: address},
            )
            # What was said may lie in the listener's queue when the container has already gone, and longer where it says so.
            spoken = heard.wait(_QUEUED if code == 0 else min(1.0, max(0.05, deadline.remaining)))
    except EngineUnavailable as problem:
        step = f"{problem.next_step}; the image has to be local, and have a shell (docker image ls)"
        return Reach(Reached.UNKNOWN, problem.what, step)
    except OSError as problem:
        return Reach(
            Reached.NO, f"nothing can listen at {printable(bind)} of this host: {problem.strerror or problem}"
        )
    return _judged(code, printable(said, 160), f"{printable(bind)}:{port}", printable(image), spoken=spoken)


def _judged(code: int, said: str, place: str, image: str, *, spoken: bool) -> Reach:
    if spoken:
        return Reach(Reached.YES, f"a container of {image} reached {place}")
    if code == _NO_TOOL or code in _NOT_STARTED:
        why = "has no Python, nc or bash" if code == _NO_TOOL else f"does not start a shell: {said}"
        return Reach(Reached.UNKNOWN, f"the image {image} {why}", "try it with the engine's own image")
    told = f": {said}" if said else ""
    return Reach(
        Reached.NO, f"a container of {image} did not reach {place} (it ended with code {code}{told})"
    )


@contextlib.contextmanager
def _listening(bind: str) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind((bind, 0))
        listener.listen(4)
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes whoever waits in accept, which closing does not


def _hear(listener: socket.socket, word: bytes, heard: threading.Event) -> None:
    """Accept until somebody says the word: others may knock at an open port too."""
    with contextlib.suppress(OSError):
        while True:
            speaker, _ = listener.accept()
            with speaker:
                speaker.settimeout(5.0)
                told = b""
                with contextlib.suppress(OSError):
                    while len(told) < len(word) and (more := speaker.recv(len(word) - len(told))):
                        told += more
                if told == word:
                    heard.set()
                    return
