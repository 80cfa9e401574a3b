"""How do several threads do the works of one command, while the main thread shows how far they are and hears Ctrl-C?"""

import queue
import threading
from collections.abc import Callable, Sequence

TICK_SECONDS = 0.2
THREADS_MAX = 64


def run_together(works: Sequence[Callable[[], None]], stop: threading.Event, on_tick: Callable[[], None]) -> None:
    """Run all works, at most THREADS_MAX at a time, in their order. Raises what the first one raises that fails.

    `stop` is set if one fails, or Ctrl-C ends the wait: the others then raise Stopped, or end with the process.
    """
    waiting, ended = iter(works), queue.SimpleQueue[BaseException | None]()
    lock = threading.Lock()

    def next_work() -> Callable[[], None] | None:
        with lock:
            return None if stop.is_set() else next(waiting, None)

    def run_some() -> None:
        failure: BaseException | None = None
        try:
            while (work := next_work()) is not None:
                work()
        except BaseException as error:  # noqa: BLE001 - it is raised on the main thread
            failure = error
        ended.put(failure)

    try:
        left = min(len(works), THREADS_MAX)
        for _ in range(left):
            threading.Thread(target=run_some, daemon=True).start()
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
