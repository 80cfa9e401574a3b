"""What are CloudWatch's metrics to a service? A feature: they are recorded from the start, and saved by a job. The API
is that of alarms (`autoscaling/feature.py`).
"""

from functools import partial

from hashrange.cloudwatch.metric_saving import MetricSaving
from hashrange.cloudwatch.metrics import Metrics
from hashrange.features.features import Feature, FeatureJob, Features

JOB = "metric-saving"


def _metrics(features: Features) -> Metrics:
    given = partial(features.given_to, METRICS)
    return Metrics(features.store.documents, features.clock, features.waker(JOB), insight_rules=given)


METRICS: Feature[Metrics] = Feature(
    "metrics",
    _metrics,
    is_loaded_at_start=lambda settings: True,
    jobs=(FeatureJob(JOB, lambda metrics, features: MetricSaving(metrics, features.clock).run_slice),),
    save=lambda metrics: metrics.save(),
    drop=lambda metrics: metrics.drop(),
)
"""Contributor Insights gives it the function that reads the rules (`Features.give`)."""
