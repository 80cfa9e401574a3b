"""What changes while Contributor Insights watches a table? Requests go through a store that counts their keys."""

from functools import cached_property
from typing import TYPE_CHECKING

from hashrange.clock import Clock
from hashrange.operations.insights.watching import WATCH_PREFIX
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.insights.insight_store import InsightStore
    from hashrange.insights.insights import Insights


class InsightSetup:
    """Contributor Insights of one service; loaded once something is, or was, watched."""

    def __init__(self, store: WholeStore, clock: Clock, calls: FaultedCalls) -> None:
        """`calls` knows the operation that runs now, and throttled parts of requests."""
        self._store = store
        self._clock = clock
        self._calls = calls
        self._front: InsightStore | None = None
        self._is_loaded = False

    @cached_property
    def insights(self) -> "Insights":
        """What has been counted."""
        # Imported here: most servers watch no table, and start time counts.
        from hashrange.insights.insights import Insights  # noqa: PLC0415

        insights = Insights(self._store, self._clock.service_time)
        self._calls.throttle_events.follow(insights.throttled)
        self._is_loaded = True
        return insights

    def look(self) -> None:
        """Look at what is watched now. Raises StorageError."""
        if self._is_loaded or self._store.documents.below(WATCH_PREFIX):
            self.insights.look()

    def in_front_of(self, inner: WholeStore) -> WholeStore:
        """The store that requests are to use now: one in front of `inner` if anything is watched."""
        if not self._is_loaded or not self.insights.is_watching:
            return inner
        from hashrange.insights.insight_store import InsightStore  # noqa: PLC0415 - as above

        if self._front is None or self._front.inner is not inner:
            self._front = InsightStore(inner, self.insights, self._calls.operation)
        return self._front
