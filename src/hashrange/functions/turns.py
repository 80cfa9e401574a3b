"""How do many pieces of work that become due in the same moment share the event loop? A few are done in each turn;
the others wait in line.

For replies from URLs, errors of handlers and long messages: whoever names a URL or writes a handler decides how much
comes, and when. What is read from sockets is limited before (`hashrange/long_reads.py`).
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

PIECES_MAX = 4
"""Most short pieces, of up to half a millisecond each, that are done in one turn of a loop."""
LONG_PIECE_BYTES = 64 * 1024
"""A piece of work on more bytes than this is long: of such pieces, one is done in one turn of a loop."""

Argument = TypeVar("Argument")
Done = TypeVar("Done")

_short = WeakValueDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()
"""Of each loop with short pieces of work that wait for their turn."""
_long = WeakValueDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()


async def in_turn(work: Callable[[Argument], Done], argument: Argument) -> Done:
    """Call `work` in a later turn of the loop, in which at most PIECES_MAX short pieces are done."""
    async with _short.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(PIECES_MAX)):
        await asyncio.sleep(0)  # so that a place which becomes free in this turn is taken, but not used again
        return work(argument)


async def by_size(size_bytes: int, work: Callable[[Argument], Done], argument: Argument) -> Done:
    """Call `work` at once or, if it is on more than LONG_PIECE_BYTES, in a later turn as the only long piece of it."""
    if size_bytes <= LONG_PIECE_BYTES:
        return work(argument)
    async with _long.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(1)):
        await asyncio.sleep(0)
        return work(argument)
