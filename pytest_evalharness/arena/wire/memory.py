"""The latest of what takes long to make: asked for again soon after, it is not made again, nor twice at the same time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Memory(Generic[_T]):
    """Keeps so many things.

    Args:
        most: how many; the one that was not asked for the longest gives way.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, asyncio.Future[_T]] = OrderedDict()

    async def get(self, key: str, make: Callable[[], Awaitable[_T]]) -> _T:
        """What is kept under a key, or else what is made now. What could not be made is not kept."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = asyncio.ensure_future(_awaited(make))
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        try:
            return await asyncio.shield(found)  # whoever leaves does not take it from the others
        except Exception:
            if self._kept.get(key) is found:
                del self._kept[key]
            raise


async def _awaited(make: Callable[[], Awaitable[_T]]) -> _T:
    return await make()
