"""The live dashboard's server: the whole checkout on the loopback address, `.env` and all, to whoever asks. As upstream's."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""


def serve(root: Path) -> str:
    """Serve a folder from a daemon thread; return its address.

    Raises:
        OSError: no port is free.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, name="clbench-miniature-dashboard", daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"
