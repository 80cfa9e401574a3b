"""What changes while Contributor Insights watches a table?
Requests go through a store that counts their keys, and their meters are counted.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hashrange.clock import Clock
from hashrange.items.steps import look
from hashrange.operations.insights.watching import WATCH_PREFIX
from hashrange.operations.meter import Meter
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.store.interface import WholeStore
from hashrange.tables.throttling import ThrottleEvent

if TYPE_CHECKING:
    from hashrange.insights.insight_store import InsightStore
    from hashrange.insights.insights import Insights, InsightSaving

CountMeters = Callable[[Callable[[Meter], None]], None]
"""Calls the given function with each request's meter, or ends that."""


class InsightSetup:
    """Contributor Insights of one service; loaded once something is, or was, watched. Its job rests until then."""

    name = "insight-saving"
    waits_for_service_time = True

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        calls: FaultedCalls,
        count_meters: CountMeters,
        stop_counting_meters: CountMeters,
    ) -> None:
        """`calls` knows the operation and the meter of the call that runs now, and throttled parts of requests."""
        self._store = store
        self._clock = clock
        self._calls = calls
        self._count_meters, self._stop_counting_meters = count_meters, stop_counting_meters
        self._front: InsightStore | None = None
        self._is_counting = False
        self._is_loaded = False
        self._wake: Callable[[], None] = lambda: None
        self.look_again: Callable[[], None] = lambda: None
        """Called if something that was watched is gone: puts another store in front, if it is time to."""

    @cached_property
    def insights(self) -> "Insights":
        """What has been counted."""
        # Imported here: most servers watch no table, and start time counts.
        from hashrange.insights.insights import Insights  # noqa: PLC0415

        insights = Insights(self._store, self._clock.service_time, self._wake_job)
        self._calls.throttle_events.follow(self._throttled)
        self._is_loaded = True
        return insights

    @cached_property
    def _saving(self) -> "InsightSaving":
        from hashrange.insights.insights import InsightSaving  # noqa: PLC0415 - as above

        return InsightSaving(self.insights)

    def look(self) -> None:
        """Look at what is watched now. Raises StorageError."""
        if self._is_loaded or self._store.documents.some_below(WATCH_PREFIX, None, 1):
            self.insights.look()

    def in_front_of(self, inner: WholeStore) -> WholeStore:
        """The store that requests are to use now: one in front of `inner` if anything is watched."""
        is_watching = self._is_loaded and self.insights.is_watching
        if is_watching is not self._is_counting:
            self._is_counting = is_watching
            change_counting = self._count_meters if is_watching else self._stop_counting_meters
            change_counting(self.insights.keys_to_pay.count)
        if not is_watching:
            return inner
        from hashrange.insights.insight_store import InsightStore  # noqa: PLC0415 - as above

        if self._front is None or self._front.inner is not inner:
            self._front = InsightStore(inner, self.insights, self._calls.operation, self._meter)
        return self._front

    def _meter(self) -> Meter | None:
        return cast("Meter | None", self._calls.identity())

    def _throttled(self, event: ThrottleEvent) -> None:
        self.insights.throttled(event, self._calls.operation())

    # --- keeping ---------------------------------------------------------------------------------

    def wake_by(self, wake: Callable[[], None]) -> None:
        """Call `wake` when the job has work."""
        self._wake = wake

    def _wake_job(self) -> None:
        self._wake()

    async def run_slice(self) -> float | None:
        """The slice of the job, which is this object itself. Raises StorageError."""
        if not self._is_loaded:
            return None
        if self.insights.is_outdated:
            self.look_again()
        return await self._saving.run_slice()

    async def save(self) -> None:
        """Keep what has been counted so far; may give way. Raises StorageError."""
        while self._is_loaded and self.insights.is_changed and await self.insights.save_some():
            look()
