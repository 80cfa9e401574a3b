"""What are CloudWatch's metrics to a service? A feature: they are recorded from the start, and saved by a job. The API
is that of alarms (`autoscaling/feature.py`).
"""

from hashrange.cloudwatch.metric_saving import MetricSaving
from hashrange.cloudwatch.metrics import Metrics
from hashrange.features.features import Feature, FeatureJob, Features

JOB = "metric-saving"


def _metrics(features: Features) -> Metrics:
    return Metrics(features.store.documents, features.clock, features.waker(JOB))


METRICS = Feature(
    "metrics",
    _metrics,
    is_loaded_at_start=lambda settings: True,
    jobs=(FeatureJob(JOB, lambda metrics, features: MetricSaving(metrics, features.clock).run_slice),),
    save=lambda metrics: metrics.save(),
)
