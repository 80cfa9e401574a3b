"""Who clears away deleted rows and older versions? One thread, made when first needed, beside the loop.

It only ever helps: work that fails or is given up changes nothing that anybody reads. The engine makes and deletes files
meanwhile, so before and after each piece the engine's folder must stand at its path: while nobody writes, no sync looks for it.
"""

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from hashrange.errors import StorageLost
from hashrange.store.embedded.engine import Engine, cancel_work, compact


class Housekeeper:
    """The work beside the loop of one store, one piece after another."""

    def __init__(self, require_folder: Callable[[], None], on_lost: Callable[[StorageLost], None]) -> None:
        """`require_folder` raises StorageLost unless the engine's folder is at its path; `on_lost` hears it. Both run on the thread."""
        self._require_folder = require_folder
        self._on_lost = on_lost
        self._executor: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def compact(self, engine: Engine, lower: bytes, upper: bytes) -> "Future[None]":
        """Clear away what was deleted in `lower <= key < upper`; the future never fails."""
        return self.run(lambda: compact(engine, lower, upper))

    def run(self, work: Callable[[], None]) -> "Future[None]":
        """Run `work` after what was asked for before; the future never fails."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="hashrange-compact")
        self._last = self._executor.submit(self._run_quietly, work)
        return self._last

    def stop(self, engine: Engine) -> bool:
        """Give up what is running: `engine` cannot be closed meanwhile. True when there was something, which also ends
        the engine's flushes.
        """
        executor, self._executor = self._executor, None
        was_running = self._last is not None and not self._last.done()
        if was_running:
            cancel_work(engine)
        if executor is not None:
            executor.shutdown()
        return was_running

    def _run_quietly(self, work: Callable[[], None]) -> None:
        """On the thread."""
        try:
            self._require_folder()
            with contextlib.suppress(Exception):
                work()
            self._require_folder()
        except StorageLost as error:
            self._on_lost(error)
