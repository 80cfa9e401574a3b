"""What is Contributor Insights to a service? A feature: while a table is watched, requests pass a step that counts
their keys; a job saves the counts. CloudWatch's API has operations on its rules.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hashrange.aws_services.operation import FormWire, Operation
from hashrange.cloudwatch.feature import METRICS
from hashrange.features.features import Feature, FeatureFront, FeatureJob, Features, RunSlice
from hashrange.items.steps import look
from hashrange.operations.insights.watching import WATCH_PREFIX
from hashrange.store.front import FrontStep

if TYPE_CHECKING:
    from hashrange.insights.counting import CountingStep

JOB = "insight-saving"


class WatchedRequests:
    """The insights of one service, and the step in front of the store while anything is watched."""

    def __init__(self, features: Features) -> None:
        # Imported here: most servers watch no table, and start time counts.
        from hashrange.insights.insights import Insights  # noqa: PLC0415

        self._step: CountingStep | None = None
        self.is_counting = False
        """True if requests are counted."""
        self.insights = Insights(features.store, features.clock.service_time, features.waker(JOB))
        features.requests.see_throttled.append(self.insights.throttled)
        features.give(METRICS, self._read_rule)

    def step(self) -> FrontStep | None:
        """The step that requests are to pass now: None while nothing is watched."""
        self.is_counting = self.insights.is_watching
        if not self.is_counting:
            return None
        if self._step is None:
            from hashrange.insights.counting import CountingStep  # noqa: PLC0415 - as above

            self._step = CountingStep(self.insights)
        return self._step

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
    front=FeatureFront(WatchedRequests.step, look=lambda part, table: part.insights.look(table)),
    save=WatchedRequests.save,
    drop=lambda part: part.insights.drop(),
)
