"""Flows: whom they wake."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable

from hashrange.transfers.flows import Flows, Inflow, Outflow
from tests.support.waiting import until


async def nothing_yet(begun: asyncio.Event) -> AsyncGenerator[bytes, None]:
    """A source of which nothing comes."""
    begun.set()
    await asyncio.Event().wait()
    yield b""


async def drained(chunks: AsyncIterable[bytes]) -> str:
    """Takes all chunks of an object."""
    return str([chunk async for chunk in chunks])


def test_a_flow_that_is_given_up_wakes_nobody_and_one_that_ends_does() -> None:
    """A job that fails gives its flows up, and would be tried again at once if they woke it."""

    async def scenario() -> list[str]:
        wakes: list[str] = []
        flows = Flows(lambda: wakes.append("woken"))
        begun = asyncio.Event()
        inflow, outflow = Inflow(nothing_yet(begun), flows), Outflow(drained, flows, is_compressed=False)
        await begun.wait()
        await inflow.give_up()
        await outflow.give_up()
        await asyncio.sleep(0)
        assert wakes == []
        ended = Outflow(drained, flows, is_compressed=False)
        ended.finish()
        await until(lambda: wakes)
        return wakes

    assert asyncio.run(scenario()) == ["woken"]
