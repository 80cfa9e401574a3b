"""What do alarms and scaling consist of in one service? One of each, who executes actions,
the jobs, and the APIs of both services.

Loaded when a client first asks for one of these APIs, or if there are alarms, targets or schedules already:
most servers have none of these, and start time counts.
"""

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
from hashrange.functions.functions import Functions
from hashrange.insights.api.insight_rules import insight_operations
from hashrange.insights.insights import Insights
from hashrange.insights.report import read_insight_rule
from hashrange.jobs.job import Job
from hashrange.operations.operation import Scope
from hashrange.service.alarm_actions import follow_actions
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore


class AlarmSetup:
    """Alarms and Application Auto Scaling of one service."""

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
        insights: Insights,
        functions: Functions | None,
        scope_of: Callable[[str, str], Scope],
    ) -> None:
        """Raises SettingUnusable."""
        self.alarms = Alarms(store.documents, clock)
        self.auto_scaling = AutoScaling(store.documents, clock, self.alarms, scope_of)
        follow_actions(self.alarms, self.auto_scaling, functions, settings)
        metrics.read_insight_rule = partial(read_insight_rule, insights)
        insight_rules = insight_operations(insights)
        self.apis: list[ServiceApi] = [
            cloudwatch_api(metrics, self.alarms, insight_rules),
            autoscaling_api(self.auto_scaling),
        ]
        self.jobs: dict[str, Job] = {
            job.name: job
            for job in (
                AlarmEvaluation(self.alarms, metrics, clock),
                AlarmDeliveries(self.alarms),
                ScalingJob(self.auto_scaling),
            )
        }
