"""What is throughput that is enforced to a service? A feature: requests pass a step that admits them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hashrange.clock import Clock, SystemClock
from hashrange.features.features import Feature, FeatureFront, Features, FeatureState
from hashrange.store.front import FrontStep

if TYPE_CHECKING:
    from hashrange.throughput.table_throughputs import OwnTerms


class EnforcedThroughput:
    """The buckets of a service's tables, and the step in front of the store.
    `Features.put_in_front` has to be called after a change of their terms.
    """

    def __init__(self, features: Features) -> None:
        # Imported here: most servers enforce no throughput, and start time counts.
        from hashrange.throughput.admitting import AdmittingStep  # noqa: PLC0415
        from hashrange.throughput.table_throughputs import TableThroughputs, ThroughputTerms  # noqa: PLC0415

        self._features = features
        requests, clock, settings = features.requests, features.clock, features.settings
        usual = ThroughputTerms(settings.throughput, settings.adaptive_capacity)
        self.now_seconds = clock.monotonic if isinstance(clock, SystemClock) else SmallTimes(clock).now_seconds
        self.throughputs = TableThroughputs(
            features.store, self.now_seconds, clock.service_time, usual, requests.see_throttled
        )
        self._step = AdmittingStep(self.throughputs, self.now_seconds)

    def step(self) -> FrontStep | None:
        """The step that requests are to pass now: None if no table's throughput is enforced."""
        return self._step if self.throughputs.is_any_enforced else None

    def own_terms(self) -> "OwnTerms | None":
        """The terms of tables whose throughput has terms of its own; None if there are none."""
        return dict(self.throughputs.own_terms) or None

    def return_to(self, own: "OwnTerms | None") -> Callable[[], None]:
        """Let these tables have terms of their own, and no others. Returns the function that undoes it."""
        before = self.own_terms()
        self._use(own)
        return lambda: self._use(before)

    def _use(self, own: "OwnTerms | None") -> None:
        self.throughputs.replace_terms(own or {})
        self._features.put_in_front()


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


THROUGHPUT = Feature(
    "throughput",
    EnforcedThroughput,
    is_loaded_at_start=lambda settings: settings.throughput == "enforced",
    front=FeatureFront(EnforcedThroughput.step),
    state=FeatureState(EnforcedThroughput.own_terms, EnforcedThroughput.return_to),
)
