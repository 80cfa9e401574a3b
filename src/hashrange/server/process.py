"""Which event loop runs a server, which signals stop it, and who may read its files?
The fastest one available; SIGTERM and SIGINT; its user.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any


def run_on_best_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` on uvloop if it is installed (it does not exist on Windows), else on asyncio's own loop."""
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Inside this `with` block the process, on all its threads, makes files and folders that only
    its user may read or enter.
    """
    former = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(former)


@contextlib.contextmanager
def handled_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> Iterator[None]:
    """Inside this `with` block SIGTERM and SIGINT call `stop`, on Windows also after it."""
    names = (signal.SIGTERM, signal.SIGINT)
    try:
        for name in names:
            loop.add_signal_handler(name, stop)
    except NotImplementedError:
        for name in names:
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        for name in names:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(name)
