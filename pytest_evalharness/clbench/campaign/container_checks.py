"""Whether images are here, and whether a container reaches the host. Pure: what was seen is passed in."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.checking import Check, State, judged
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.containers.reach import Reach, Reached
from pytest_evalharness.errors import ImageUnavailable

LOOPBACK = "127.0.0.1"
"""Where the adapter's shim listens unless `CLBENCH_SHIM_BIND` says otherwise."""
_BIND = "CLBENCH_SHIM_BIND"


def image_check(found: Mapping[str, LocalImage | ImageUnavailable]) -> Check:
    """Whether all images are here: the first pull is cut off after two minutes, in the middle of a paid rollout.

    Args:
        found: by name, as `containers.images.inspect` tells them.
    """
    missing = [problem for problem in found.values() if isinstance(problem, ImageUnavailable)]
    fine = ", ".join(
        f"{printable(name)} is {one.id[:19]}" for name, one in found.items() if isinstance(one, LocalImage)
    )
    return judged(
        "images",
        "every image is local before anything starts",
        list(dict.fromkeys(problem.what for problem in missing)),
        fine or "no image is needed",
        "; ".join(dict.fromkeys(problem.next_step for problem in missing)),
    )


def bridge_check(reach: Reach, *, bind: str, gateway: str | None, desktop: bool) -> Check:
    """Whether an engine in a container reaches the adapter's shim on the host.

    Where it does not, every question completes with no action and no reward, and is paid for.

    Args:
        reach: what a container saw of a listener at `bind`.
        bind: where the shim will listen, `LOOPBACK` unless `CLBENCH_SHIM_BIND` says otherwise.
        gateway: the host's address on the containers' bridge, None where the engine tells none.
        desktop: whether containers run in a virtual machine that forwards to the host's loopback (Docker Desktop).
    """
    shown = printable(bind, 60)
    needed = f"a container reaches a listener at {shown} of the host"
    advice = (
        f"export {_BIND}={gateway}"
        if gateway
        else f"set {_BIND} to the host's address on the containers' bridge"
    )
    if reach.state is Reached.YES:
        exposed = "" if desktop or not _everywhere(bind) else ", which everybody in the network reaches too"
        return Check("bridge", State.OK, f"{reach.words}{exposed}", needed)
    if reach.state is Reached.NO:
        return Check("bridge", State.FAILED, reach.words, needed, advice)
    if _loopback(bind) and not desktop:
        words = f"{shown} is the host's own loopback, which no container reaches on Linux ({reach.words})"
        return Check("bridge", State.FAILED, words, needed, advice)
    return Check("bridge", State.UNKNOWN, reach.words, needed, reach.next_step or advice)


def _loopback(bind: str) -> bool:
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def _everywhere(bind: str) -> bool:
    try:
        return ip_address(bind).is_unspecified
    except ValueError:
        return not bind
