"""Which proxy, if any, leads to a host: the usual environment variables, and never for this machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def proxy_for(scheme: str, host: str, port: int | None, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL, or None for a direct connection.

    `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` are read in lower case first, then in upper
    case. A proxy is no use for the embedded server and would see its token: loopback is always direct.
    """
    if is_loopback(host) or _excepted(host, port, _variable("no_proxy", environ)):
        return None
    found = _variable(f"{scheme}_proxy", environ) or _variable("all_proxy", environ)
    if not found:
        return None
    return found if "://" in found else f"http://{found}"


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name in environ:
        return environ[name].strip()
    # Under CGI, HTTP_PROXY is a request header that a stranger chose.
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        return ""
    return environ.get(name.upper(), "").strip()


def _excepted(host: str, port: int | None, exceptions: str) -> bool:
    name = host.strip("[]").lower()
    for word in exceptions.lower().replace(" ", ",").split(","):
        entry = word.removeprefix("*").lstrip(".")
        if word == "*":
            return True
        if not entry:
            continue
        if name == entry or name.endswith(f".{entry}") or f"{name}:{port}" == entry:
            return True
        if _in_network(name, entry):
            return True
    return False


def _in_network(name: str, entry: str) -> bool:
    try:
        return "/" in entry and ipaddress.ip_address(name) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
