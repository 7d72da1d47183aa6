"""The words for where a request, an episode or a round stands."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """One enum for all of them. Words nobody knows become UNKNOWN, which is never terminal."""

    PENDING = "pending"
    SUBMITTED = "submitted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def terminal(self) -> bool:
        """Whether this is an end. A child's FAILED is one only once its parent has ended: it may be retried."""
        return self in {Status.COMPLETED, Status.FAILED, Status.CANCELLED}

    @classmethod
    def read(cls, word: object) -> Status:
        """The status of a wire word; old records' `success`, `error`, `canceled` and `timeout` included."""
        if isinstance(word, cls):
            return word
        text = str(word).strip().lower()
        text = _OLD_WORDS.get(text, text)
        return cls(text) if text in cls._value2member_map_ else cls.UNKNOWN


_OLD_WORDS = {"success": "completed", "error": "failed", "timeout": "failed", "canceled": "cancelled"}
