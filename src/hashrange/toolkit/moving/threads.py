"""How do several threads do the works of one command, while the main thread shows how far they are and hears Ctrl-C?"""

import queue
import threading
from collections.abc import Callable, Sequence

TICK_SECONDS = 0.2


def run_together(works: Sequence[Callable[[], None]], stop: threading.Event, on_tick: Callable[[], None]) -> None:
    """Run each work on a thread of its own, until all are done. Raises what the first one raises that fails.

    `stop` is set if one fails, or Ctrl-C ends the wait: the others then raise Stopped, or end with the process.
    """
    ended = queue.SimpleQueue[BaseException | None]()

    def run(work: Callable[[], None]) -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised on the main thread
            failure = error
        ended.put(failure)

    try:
        for work in works:
            threading.Thread(target=run, args=(work,), daemon=True).start()
        left = len(works)
        while left:
            try:
                failure = ended.get(timeout=TICK_SECONDS)
            except queue.Empty:
                on_tick()
                continue
            if failure is not None:
                raise failure
            left -= 1
    except BaseException:
        stop.set()
        raise
