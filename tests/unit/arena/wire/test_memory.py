"""What takes long to make is made once, kept for a while, and made again only when it has given way or failed."""

import asyncio

import pytest

from pytest_evalharness.arena.wire.memory import Memory


def test_it_is_made_once_for_all_who_ask_at_once_and_after():
    made = []

    async def make():
        made.append(1)
        await asyncio.sleep(0)
        return len(made)

    async def asking():
        memory = Memory(2)
        return [
            *await asyncio.gather(*(memory.get("a", make) for _ in range(5))),
            await memory.get("a", make),
        ]

    assert asyncio.run(asking()) == [1] * 6


def test_the_one_that_was_asked_for_the_longest_ago_gives_way():
    made = []

    def make(name):
        async def one():
            made.append(name)
            return name

        return one

    async def asking():
        memory = Memory(2)
        for name in "abacab":  # c drives out b, which then drives out c
            assert await memory.get(name, make(name)) == name

    asyncio.run(asking())
    assert made == ["a", "b", "c", "b"]


def test_a_failure_is_not_kept():
    outcomes = iter([OSError("once"), None])

    async def make():
        if (problem := next(outcomes)) is not None:
            raise problem
        return "made"

    async def asking():
        memory = Memory(2)
        with pytest.raises(OSError, match="once"):
            await memory.get("a", make)
        return await memory.get("a", make)

    assert asyncio.run(asking()) == "made"


def test_who_leaves_does_not_take_it_from_the_others():
    async def asking():
        memory, go = Memory(2), asyncio.Event()

        async def make():
            await go.wait()
            return "made"

        first, second = (asyncio.ensure_future(memory.get("a", make)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        go.set()
        return await second

    assert asyncio.run(asking()) == "made"
