"""May the store be used? What happens after a failed read, write or sync.

From the first failure on, a refusing engine stands in for the real one, so that the data path needs no check. The sync
thread closes the engine and opens it again, each time when a request arrives after a growing delay; what the disk then
holds is the truth. Damage is not reopened: it needs the operator.
"""

import logging
from typing import NoReturn, Protocol

from hashrange.clock import Clock
from hashrange.errors import StorageCorruption, StorageError
from hashrange.store.embedded.durability import CommitBarrier
from hashrange.store.embedded.engine import Engine, close_engine, open_engine
from hashrange.store.embedded.faults import storage_error
from hashrange.store.embedded.layout import PROBE_KEY

REOPEN_DELAY_SECONDS_MIN = 0.1
REOPEN_DELAY_SECONDS_MAX = 5.0

_log = logging.getLogger("hashrange.store")


class Patient(Protocol):
    """What is healed: the store."""

    engine: Engine
    place: str

    def use(self, engine: Engine) -> None:
        """Take `engine` in place of the one before."""
        ...

    def load(self) -> None:
        """Read catalog and statistics from `engine`."""
        ...

    def stop_housekeeping(self, engine: Engine) -> bool:
        """Before `engine` is closed."""
        ...


class RefusingEngine:
    """Stands where an engine was: every call raises."""

    def __init__(self, health: "Health") -> None:
        self._health = health

    def _refuse(self, *_arguments: object, **_options: object) -> NoReturn:
        raise self._health.refusal()

    get = put = delete = write = items = iter = flush_wal = compact_range = property_int_value = _refuse


class Health:
    """Whether the engine can be trusted, and the way back. All but `_reopen` runs on the loop."""

    def __init__(self, store: Patient, barrier: CommitBarrier, clock: Clock, *, is_in_memory: bool) -> None:
        self.generation = 0
        """Grows whenever the engine was replaced or lost: what was read before may not be there any more."""
        self.failure: StorageError | None = None
        self._store = store
        self._barrier = barrier
        self._clock = clock
        self._is_in_memory = is_in_memory
        self._broken: Engine = None
        self._reopened: Engine = None
        self._is_reopening = False
        self._delay_seconds = REOPEN_DELAY_SECONDS_MIN
        self._next_attempt_seconds = 0.0

    def fail(self, error: StorageError) -> None:
        """Take the engine out of use; everybody who waits for a sync hears `error`."""
        if self.failure is not None:
            return
        _log.error("%s", error)
        self.failure = error
        self.generation += 1
        self._broken = self._store.engine
        self._store.use(RefusingEngine(self))
        self._delay_seconds = REOPEN_DELAY_SECONDS_MIN
        self._next_attempt_seconds = self._clock.monotonic() + self._delay_seconds
        self._barrier.fail(error)

    def require(self, generation: int) -> None:
        """Raise StorageError if the engine has been lost since `generation`: for whoever suspended."""
        if generation != self.generation:
            raise self.failure or StorageError(f"{self._store.place} had to be reopened meanwhile. Try again.")

    def refusal(self) -> StorageError:
        """What a request hears now. Starts a reopening when it is time for one."""
        error = self.failure
        assert error is not None
        is_hopeless = self._is_in_memory or isinstance(error, StorageCorruption)
        now_seconds = self._clock.monotonic()
        if not is_hopeless and not self._is_reopening and now_seconds >= self._next_attempt_seconds:
            self._is_reopening = True
            self._delay_seconds = min(2 * self._delay_seconds, REOPEN_DELAY_SECONDS_MAX)
            self._next_attempt_seconds = now_seconds + self._delay_seconds
            self._barrier.run_on_thread(self._reopen)
        return type(error)(*error.args)

    def shut(self) -> Engine:
        """Refuse everything from now on; returns the engine still to be closed, or None. The thread has ended."""
        engine = self._broken or self._reopened if self.failure is not None else self._store.engine
        self._broken = self._reopened = None
        self.failure = StorageError(f"The store of {self._store.place} is closed.")
        self.generation += 1
        self._is_reopening = True
        self._store.use(RefusingEngine(self))
        return engine

    def _reopen(self) -> None:
        """On the thread: close what is broken, open again, and prove that writing and syncing work."""
        place = self._store.place
        try:
            if self._broken is not None:
                broken, self._broken = self._broken, None
                self._store.stop_housekeeping(broken)
                close_engine(broken, place, may_fail=True)  # what the disk holds is read by the next one
            engine = open_engine(place)
            try:
                engine.put(PROBE_KEY, b"")
                engine.flush_wal(True)
            except Exception:
                self._broken = engine
                raise
            self._reopened = engine
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            self._barrier.report(self._still_failing, storage_error(error, place))
        else:
            self._barrier.report(self._heal)

    def _still_failing(self, error: StorageError) -> None:
        self._is_reopening = False
        if self.failure is not None and str(error) != str(self.failure):
            _log.error("%s", error)
            self.failure = error

    def _heal(self) -> None:
        """On the loop: go on with the reopened engine."""
        if self._reopened is None:
            return
        engine, self._reopened = self._reopened, None
        self._store.use(engine)
        try:
            self._store.load()
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            self._broken = engine
            self._store.use(RefusingEngine(self))
            self._still_failing(storage_error(error, self._store.place))
            return
        self._is_reopening = False
        self.failure = None
        self._barrier.restart()
        _log.warning("%s was reopened and serves again.", self._store.place)
