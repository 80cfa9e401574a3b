"""What are alarms and Application Auto Scaling to a service? One feature: policies make alarms, and alarms run
policies, so both are there, or neither. Both services have their APIs.
"""

from typing import Any

from hashrange.aws_services.operation import ServiceApi
from hashrange.cloudwatch.feature import METRICS
from hashrange.features.features import Feature, FeatureApi, FeatureJob, Features
from hashrange.operations.operation import Scope

EVALUATION, ACTIONS, SCALING = "alarms", "alarm-actions", "auto-scaling"
"""Names of the jobs."""


class AlarmsAndScaling:
    """What the feature consists of."""

    def __init__(self, features: Features) -> None:
        """Raises SettingUnusable."""
        # Imported here: most servers have no alarms, and start time counts.
        from hashrange.autoscaling.alarm_actions import follow_actions  # noqa: PLC0415
        from hashrange.autoscaling.auto_scaling import AutoScaling  # noqa: PLC0415
        from hashrange.autoscaling.scaling_job import ScalingJob  # noqa: PLC0415
        from hashrange.cloudwatch.alarms.alarm_job import AlarmDeliveries, AlarmEvaluation  # noqa: PLC0415
        from hashrange.cloudwatch.alarms.alarms import Alarms  # noqa: PLC0415

        documents, clock, scope_of = features.store.documents, features.clock, features.requests.scope_of
        has_regions = not features.settings.shared_db
        self.alarms = Alarms(documents, clock, features.waker(EVALUATION, ACTIONS), has_regions=has_regions)
        self.auto_scaling = AutoScaling(documents, clock, self.alarms, scope_of, features.waker(SCALING))
        follow_actions(self.alarms, self.auto_scaling, features)
        self.evaluation = AlarmEvaluation(self.alarms, features.part(METRICS), clock)
        self.deliveries = AlarmDeliveries(self.alarms)
        self.scaling_job = ScalingJob(self.auto_scaling)


def _cloudwatch_api(part: AlarmsAndScaling, features: Features) -> ServiceApi:
    from hashrange.cloudwatch.api.registry import cloudwatch_api  # noqa: PLC0415 - as above

    return cloudwatch_api(features.part(METRICS), part.alarms, features.added_operations("monitoring"))


def _autoscaling_api(part: AlarmsAndScaling, features: Features) -> ServiceApi:
    from hashrange.autoscaling.api.registry import autoscaling_api  # noqa: PLC0415 - as above

    return autoscaling_api(part.auto_scaling)


def _answer_scope(features: Features, scope: Scope) -> None:
    # It is given the Scope, and does not keep it: a cycle of both would outlive a fork (`taken_apart.py`).
    async def scaling_settings(asking: Scope, resource_id: str, unit: str) -> dict[str, Any] | None:
        part = await features.found_on_thread(ALARMS_AND_SCALING)
        if part is None:
            return None
        from hashrange.autoscaling.settings import described_settings  # noqa: PLC0415 - as above

        return described_settings(part.auto_scaling, asking, resource_id, unit)

    scope.scaling_settings = scaling_settings


ALARMS_AND_SCALING = Feature(
    "alarms and scaling",
    AlarmsAndScaling,
    # so that the server does not start with an endpoint that cannot be used
    is_loaded_at_start=lambda settings: settings.sns_endpoint is not None,
    answer_scope=_answer_scope,
    prefixes=("alarm/", "scalable-target/", "scheduled-action/"),
    code=(
        "hashrange.autoscaling.alarm_actions",
        "hashrange.autoscaling.api.registry",
        "hashrange.autoscaling.scaling_job",
        "hashrange.autoscaling.settings",
        "hashrange.cloudwatch.alarms.alarm_job",
        "hashrange.cloudwatch.api.registry",
    ),
    jobs=(
        FeatureJob(EVALUATION, lambda part, _: part.evaluation.run_slice),
        FeatureJob(ACTIONS, lambda part, _: part.deliveries.run_slice, waits_for_service_time=False),
        FeatureJob(SCALING, lambda part, _: part.scaling_job.run_slice),
    ),
    apis={
        "monitoring": FeatureApi("GraniteServiceVersion20100801", _cloudwatch_api),
        "application-autoscaling": FeatureApi("AnyScaleFrontendService", _autoscaling_api),
    },
)
