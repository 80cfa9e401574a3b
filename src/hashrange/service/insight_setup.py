"""What changes while Contributor Insights watches a table? Requests go through a store that counts their keys."""

from hashrange.clock import Clock
from hashrange.insights.insight_store import InsightStore
from hashrange.insights.insights import Insights
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.store.interface import WholeStore


class InsightSetup:
    """Contributor Insights of one service."""

    def __init__(self, store: WholeStore, clock: Clock, calls: FaultedCalls) -> None:
        """`calls` knows the operation that runs now, and throttled parts of requests."""
        self.insights = Insights(store, clock.service_time)
        self._calls = calls
        self._front: InsightStore | None = None
        calls.throttle_events.follow(self.insights.throttled)

    def in_front_of(self, inner: WholeStore) -> WholeStore:
        """The store that requests are to use now: one in front of `inner` if anything is watched."""
        if not self.insights.is_watching:
            return inner
        if self._front is None or self._front.inner is not inner:
            self._front = InsightStore(inner, self.insights, self._calls.operation)
        return self._front
