"""Which event loop runs a server, and which signals stop it? The fastest one available; SIGTERM and SIGINT."""

import asyncio
import contextlib
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
