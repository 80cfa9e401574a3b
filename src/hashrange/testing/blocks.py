"""Which of several open blocks is around the running code?
The innermost that was entered in its context; if there is none, the newest.

A block is entered on a thread and perhaps in an asyncio task, so blocks on several threads and tasks may overlap.
A task inherits the blocks of the code that made it. A thread does not, so code on threads that entered no
block is taken to be in the newest.
"""

import asyncio
from collections.abc import Callable, Generator
from contextvars import ContextVar
from functools import partial
from threading import RLock, get_ident
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Block(Generic[T]):
    """One entered block, which belongs to the thread, task and context that made this object."""

    def __init__(self, value: T) -> None:
        self.value = value
        self.is_left = False
        self._thread = get_ident()
        task = _running_task()
        self._task = None if task is None else ref(task)
        _blocks.set((*_not_left(_blocks.get()), self))

    def is_around(self) -> bool:
        """True if the running code is in this block.

        So it is in the block's context, and also elsewhere on the thread unless the block's task still runs:
        a task that has ended, of an asynchronous fixture for example, has left the block to the code after it.
        """
        if self in _blocks.get():
            return True
        task = None if self._task is None else self._task()
        return self._thread == get_ident() and (task is None or task.done())


_blocks: ContextVar[tuple[Block[Any], ...]] = ContextVar("hashrange_blocks", default=())
"""The blocks that were entered in this context, the newest last.
Those that were left in another one may still be here."""


def _not_left(blocks: tuple[Block[T], ...]) -> tuple[Block[T], ...]:
    return tuple(block for block in blocks if not block.is_left)


class OpenBlocks(Generic[T]):
    """The open blocks of one kind, on all threads; each has a value."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._blocks: tuple[Block[T], ...] = ()
        """The newest last; replaced as a whole, so that it is read without the lock."""

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def innermost(self) -> Block[T] | None:
        """The innermost block around the running code; else the newest; None if none is open."""
        blocks = self._blocks
        if len(blocks) > 1:
            return next((block for block in reversed(blocks) if block.is_around()), blocks[-1])
        return blocks[0] if blocks else None

    def surrounding(self) -> Block[T] | None:
        """The innermost block around the running code; None if there is none, also where others are open."""
        return next((block for block in reversed(self._blocks) if block.is_around()), None)

    def add(self, block: Block[T]) -> None:
        """Open a block."""
        with self._lock:
            self._blocks = (*_not_left(self._blocks), block)

    def remove(self, block: Block[T]) -> None:
        """Close a block, which may be any; does nothing if it is not open."""
        with self._lock:
            self._close(block)

    def take(self) -> Block[T] | None:
        """Close the block that `innermost` returns, and return it."""
        with self._lock:
            block = self.innermost()
            if block is not None:
                self._close(block)
        return block

    def _close(self, block: Block[T]) -> None:
        block.is_left = True
        self._blocks = _not_left(self._blocks)
        _blocks.set(_not_left(_blocks.get()))


Held = Generator[T, None, None]
"""A block as a generator: it yields a value once, and ends the block when it is closed."""


class HeldBlocks(Generic[T]):
    """The open blocks of a context manager that may be entered several times, nested and on several threads."""

    def __init__(self) -> None:
        self._open: OpenBlocks[Held[T]] = OpenBlocks()

    def enter(self, held: Held[T]) -> T:
        """Begin a block; returns its value. If anything interrupts this, such as Ctrl-C, the block is ended."""
        block = Block(held)
        try:
            self._open.add(block)
            return next(held)
        except BaseException:
            self._open.remove(block)
            held.close()
            raise

    def leave(self) -> None:
        """End the innermost block around the running code."""
        self._taken().close()

    async def enter_later(self, held: Held[T]) -> T:
        """Do as `enter` does, but on another thread, so that the event loop goes on.
        If the task is cancelled, the block is ended.
        """
        block = Block(held)
        try:
            self._open.add(block)
            return await to_its_end(partial(next, held))
        except BaseException:
            self._open.remove(block)
            await to_its_end(held.close)
            raise

    async def leave_later(self) -> None:
        """Do as `leave` does, but on another thread.
        A cancellation of the task takes effect once the block has ended.
        """
        await to_its_end(self._taken().close)

    def _taken(self) -> Held[T]:
        block = self._open.take()
        if block is None:
            raise RuntimeError("There is no block to end: none was entered, or all have ended.")
        return block.value


async def to_its_end(function: Callable[[], T]) -> T:
    """Call a function on another thread; returns or raises as it does.

    If the task is cancelled meanwhile, CancelledError is raised only when the function has ended.
    """
    work = asyncio.get_running_loop().run_in_executor(None, function)
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        work.exception()  # asyncio complains of errors that nobody has looked at
        raise cancelled
    return work.result()


def _running_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs on this thread
        return None
