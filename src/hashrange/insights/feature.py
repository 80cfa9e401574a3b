"""What is Contributor Insights to a service? A feature: while a table is watched, requests go through a store that
counts their keys, and their meters are counted; a job saves the counts. CloudWatch's API has operations on its rules.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hashrange.aws_services.operation import FormWire, Operation
from hashrange.cloudwatch.feature import METRICS
from hashrange.features.features import Feature, FeatureFront, FeatureJob, Features, RunSlice
from hashrange.items.steps import look
from hashrange.operations.insights.watching import WATCH_PREFIX
from hashrange.operations.meter import Meter
from hashrange.store.interface import WholeStore
from hashrange.tables.throttling import ThrottleEvent

if TYPE_CHECKING:
    from hashrange.insights.insight_store import InsightStore

JOB = "insight-saving"


class WatchedRequests:
    """The insights of one service, and the store in front of the real one while anything is watched."""

    def __init__(self, features: Features) -> None:
        # Imported here: most servers watch no table, and start time counts.
        from hashrange.insights.insights import Insights  # noqa: PLC0415

        self._requests = features.requests
        self._front: InsightStore | None = None
        self.is_counting = False
        """True if requests are counted."""
        self.insights = Insights(features.store, features.clock.service_time, features.waker(JOB))
        self._requests.throttle_events.follow(self._throttled)
        features.give(METRICS, self._read_rule)

    def in_front_of(self, inner: WholeStore) -> WholeStore:
        """The store that requests are to use now: one in front of `inner` if anything is watched."""
        is_watching = self.insights.is_watching
        if is_watching is not self.is_counting:
            self.is_counting = is_watching
            counters = self._requests.counters
            (counters.append if is_watching else counters.remove)(self.insights.keys_to_pay.count)
        if not is_watching:
            return inner
        from hashrange.insights.insight_store import InsightStore  # noqa: PLC0415 - as above

        if self._front is None or self._front.inner is not inner:
            self._front = InsightStore(inner, self.insights, self._requests.running.operation, self._meter)
        return self._front

    def _meter(self) -> Meter | None:
        return cast("Meter | None", self._requests.running.identity())

    def _throttled(self, event: ThrottleEvent) -> None:
        self.insights.throttled(event, self._requests.running.operation())

    def _read_rule(self, *question: Any) -> Mapping[int, float]:
        from hashrange.insights.report import read_insight_rule  # noqa: PLC0415 - as above

        return read_insight_rule(self.insights, *question)

    def operations(self) -> Sequence[Operation[FormWire]]:
        """CloudWatch's operations on the rules."""
        from hashrange.insights.api.insight_rules import insight_operations  # noqa: PLC0415 - as above

        return insight_operations(self.insights)

    async def save(self) -> None:
        """Keep what has been counted so far; may give way. Raises StorageError."""
        while await self.insights.save_some():
            look()


def _saving(part: WatchedRequests, features: Features) -> RunSlice:
    async def run_slice() -> float | None:
        pause_seconds = await part.insights.tend()
        if part.insights.is_watching is not part.is_counting:
            features.put_in_front()
        return pause_seconds

    return run_slice


INSIGHTS = Feature(
    "insights",
    WatchedRequests,
    prefixes=(WATCH_PREFIX,),
    code=(
        "hashrange.insights.insights",
        "hashrange.insights.report",
        "hashrange.insights.api.insight_rules",
    ),
    jobs=(FeatureJob(JOB, _saving),),
    adds={"monitoring": WatchedRequests.operations},
    front=FeatureFront(WatchedRequests.in_front_of, look=lambda part, table: part.insights.look(table)),
    save=WatchedRequests.save,
    drop=lambda part: part.insights.drop(),
)
