"""The only importer of httpx: one transport with deadlines, retries and redaction."""

from __future__ import annotations

from pytest_evalharness.net.answer import Answer
from pytest_evalharness.net.downloads import DownloadPool
from pytest_evalharness.net.errors import (
    AnswerLost,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatus,
    NetError,
    NotJson,
    NotSent,
    Redirected,
    TooLarge,
)
from pytest_evalharness.net.pool import MakeCarrier, Pool
from pytest_evalharness.net.streams import Streamed, Streams
from pytest_evalharness.net.transport import Limits, Transport

__all__ = [
    "Answer",
    "AnswerLost",
    "ConnectFailed",
    "DeadlineExceeded",
    "DownloadPool",
    "HttpStatus",
    "Limits",
    "MakeCarrier",
    "NetError",
    "NotJson",
    "NotSent",
    "Pool",
    "Redirected",
    "Streamed",
    "Streams",
    "TooLarge",
    "Transport",
]
