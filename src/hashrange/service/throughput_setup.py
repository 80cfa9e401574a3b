"""What changes while throughput is enforced? Requests go through a store that admits them,
and their meters are counted.
"""

from hashrange.clock import Clock, SystemClock
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore
from hashrange.throughput.admitted_store import AdmittedStore
from hashrange.throughput.table_throughputs import TableThroughputs, ThroughputTerms


class ThroughputSetup:
    """The buckets of a service's tables, and the store in front of the real one."""

    def __init__(self, store: WholeStore, clock: Clock, settings: Settings, calls: FaultedCalls) -> None:
        """`calls` knows the meter of the call that runs now, and who is told of throttled parts of requests."""
        self._store = store
        usual = ThroughputTerms(settings.throughput, settings.adaptive_capacity)
        self.now_seconds = clock.monotonic if isinstance(clock, SystemClock) else SmallTimes(clock).now_seconds
        self.throughputs = TableThroughputs(
            store.catalog,
            self.now_seconds,
            clock.service_time,
            usual,
            lambda: store.documents.generation,
            calls.throttle_events,
            store.maintenance.want_partitions,
        )
        self.front = AdmittedStore(store, self.throughputs, self.now_seconds, calls.identity)

    def put_in_place(self) -> WholeStore:
        """Returns the store that requests are to use now: the one in front if any table's throughput is enforced."""
        return self.front if self.throughputs.is_any_enforced else self._store


class SmallTimes:
    """A clock that passes as service time does, and shows small numbers: at seconds since 1970,
    a float is exact to 0.2 µs only.

    The machine's service time passes as its monotonic time does, which is cheaper to read. So a clock that can be moved
    is looked at when it has been moved, frozen, or let run again, and not each time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._monotonic = clock, clock.monotonic
        self._begin_seconds = clock.service_time()
        self._look()
        clock.on_advance(self._look)

    def _look(self) -> None:
        now_seconds = self._clock.service_time() - self._begin_seconds
        self._still_seconds = now_seconds if self._clock.is_virtual else None
        self._ahead_seconds = now_seconds - self._monotonic()

    def now_seconds(self) -> float:
        """Seconds since the clock was made."""
        return self._monotonic() + self._ahead_seconds if self._still_seconds is None else self._still_seconds
