"""What do metrics, alarms and scaling consist of in one service? One of each over its store, and the jobs that work for them."""

from collections.abc import Callable
from functools import partial

from hashrange.autoscaling.api.registry import autoscaling_api
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.scaling_job import ScalingJob
from hashrange.aws_services.operation import ServiceApi
from hashrange.clock import Clock
from hashrange.cloudwatch.alarms.alarm_job import AlarmDeliveries, AlarmEvaluation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.api.registry import cloudwatch_api
from hashrange.cloudwatch.metrics import Metrics
from hashrange.insights.api.registry import insight_operations
from hashrange.insights.insight_rule_metric import read_insight_rule
from hashrange.insights.insights import Insights
from hashrange.jobs.job import Job
from hashrange.operations.operation import Scope
from hashrange.store.interface import WholeStore


class CloudWatchSetup:
    """CloudWatch and Application Auto Scaling of one service."""

    def __init__(
        self, store: WholeStore, clock: Clock, scope_of: Callable[[str, str], Scope], insights: Insights
    ) -> None:
        self.insights = insights
        self.metrics = Metrics(store.documents, clock)
        self.metrics.read_insight_rule = partial(read_insight_rule, insights)
        self.alarms = Alarms(store.documents, clock)
        self.auto_scaling = AutoScaling(store.documents, clock, self.alarms, scope_of)
        self._evaluation = AlarmEvaluation(self.alarms, self.metrics, clock)
        self._deliveries = AlarmDeliveries(self.alarms)
        self._scaling = ScalingJob(self.auto_scaling)

    @property
    def jobs(self) -> list[Job]:
        """The jobs, in the order in which those that are due at the same moment run."""
        return [self.metrics.job, self._evaluation, self._deliveries, self._scaling]

    def wake_by(self, wake_job: Callable[[Job], None]) -> None:
        """Let the jobs be woken when they have work."""

        def wake_alarms() -> None:
            wake_job(self._evaluation)
            wake_job(self._deliveries)

        self.metrics.wake = partial(wake_job, self.metrics.job)
        self.alarms.wake = wake_alarms
        self.auto_scaling.wake = partial(wake_job, self._scaling)

    @property
    def apis(self) -> list[ServiceApi]:
        """The APIs that are served."""
        insight_rules = insight_operations(self.insights)
        return [cloudwatch_api(self.metrics, self.alarms, insight_rules), autoscaling_api(self.auto_scaling)]

    async def save(self) -> None:
        """Keep what has been recorded so far: before a copy of the content is made, and at the end. Raises StorageError."""
        await self.metrics.save()
