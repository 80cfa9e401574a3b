"""Where are deleted rows and older versions compacted away?
On one thread outside the event loop, made when first needed.

This work is optional: if it fails or is cancelled, reads return the same. The engine makes and deletes files meanwhile,
so its folder must be at its path before and after each task: without writes, no sync checks that.
"""

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from hashrange.errors import StorageLost
from hashrange.store.embedded.engine import Engine, cancel_work, compact


class Housekeeper:
    """Runs a store's optional work on a thread of its own, one task after another."""

    def __init__(self, require_folder: Callable[[], None], on_lost: Callable[[StorageLost], None]) -> None:
        """`require_folder` raises StorageLost unless the engine's folder is at its path; `on_lost` gets that error.
        Both run on the housekeeping thread.
        """
        self._require_folder = require_folder
        self._on_lost = on_lost
        self._executor: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def compact(self, engine: Engine, lower: bytes, upper: bytes) -> "Future[None]":
        """Remove deleted keys in `lower <= key < upper` from the data files; the future never fails."""
        return self.run(lambda: compact(engine, lower, upper))

    def run(self, work: Callable[[], None]) -> "Future[None]":
        """Run `work` after all earlier work, ignoring its errors; the future is done when it ends, and never fails."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="hashrange-compact")
        self._last = self._executor.submit(self._run_quietly, work)
        return self._last

    def stop(self, engine: Engine) -> bool:
        """Cancel running work and wait for its end, so that `engine` can be closed. True if work was cancelled: then
        the engine flushes and compacts nothing more by itself.
        """
        executor, self._executor = self._executor, None
        was_running = self._last is not None and not self._last.done()
        if was_running:
            cancel_work(engine)
        if executor is not None:
            executor.shutdown()
        return was_running

    def _run_quietly(self, work: Callable[[], None]) -> None:
        """On the housekeeping thread: run `work`, ignoring its errors, if the engine's folder is at its path.

        If the folder is not there, before or after `work`, reports that.
        """
        try:
            self._require_folder()
            with contextlib.suppress(Exception):
                work()
            self._require_folder()
        except StorageLost as error:
            self._on_lost(error)
