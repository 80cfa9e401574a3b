"""What does the process need around a server? The quickest event loop, signals, enough descriptors, a calm collector."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

GC_THRESHOLDS = (20_000, 20, 50)
"""Requests make few cycles: the collector need not look every 700 objects."""

_log = logging.getLogger("hashrange.server")


def run_on_best_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where there is one (it does not exist on Windows), else on asyncio's own loop."""
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextlib.contextmanager
def handled_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT call `stop` meanwhile; where loops take no handlers (Windows), plain handlers do it."""
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


def settle_collector() -> None:
    """Take what the start has made out of the collector's sight, and let it look less often.

    It is not collected before: that takes 8 ms, and finds ten objects.
    """
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def raise_descriptor_limit(connections_max: int) -> None:
    """Let the process open as many sockets as it may serve; says so when the machine does not."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_max + 1024
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        _log.info("this machine allows %d open files, so fewer than %d connections at a time", allowed, connections_max)
