"""What changes while throughput is enforced? Requests go through a store that admits them, and their meters are counted."""

from collections.abc import Callable

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
        self.now_seconds = _small_times(clock)
        self.throughputs = TableThroughputs(
            store.catalog,
            self.now_seconds,
            clock.service_time,
            usual,
            lambda: store.documents.generation,
            calls.throttle_events,
            store.want_partitions,
        )
        self.front = AdmittedStore(store, self.throughputs, self.now_seconds, calls.identity)

    def put_in_place(self) -> WholeStore:
        """Returns the store that requests are to use now: the one in front if any table's throughput is enforced."""
        return self.front if self.throughputs.is_any_enforced else self._store


def _small_times(clock: Clock) -> Callable[[], float]:
    """A clock that passes as service time does, and shows small numbers: at seconds since 1970, a float is exact to 0.2 µs only.

    The machine's service time passes as its monotonic time does, which is cheaper.
    """
    if isinstance(clock, SystemClock):
        return clock.monotonic
    service_time, begin_seconds = clock.service_time, clock.service_time()
    return lambda: service_time() - begin_seconds
