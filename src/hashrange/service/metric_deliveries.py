"""In which metrics do changes count that are sent to Kinesis? Those with the dimension DelegatedOperation.

ConsumedChangeDataCaptureUnits has a value for each accepted change, ThrottledPutRecordCount one for each request
of which records were throttled, AgeOfOldestUnreplicatedRecord one for each request that has ended.
Which values the service takes is not documented (unconfirmed). Source: global-tables-backup.md 9;
developer guide, metrics and dimensions.
"""

from typing import TYPE_CHECKING

from hashrange.cloudwatch.dynamodb.metric_ids import Place, delegated_metric
from hashrange.service.metric_counts import MILLISECONDS_PER_SECOND, Counts

if TYPE_CHECKING:
    from hashrange.triggers.kinesis.observation import DeliveryObservation


def count_delivery(counts: Counts, observation: "DeliveryObservation") -> None:
    """Count what became of changes of one table."""
    feed = observation.feed
    place = Place(feed.account, feed.region)
    for units in observation.accepted_units:
        counts.add(delegated_metric(place, "ConsumedChangeDataCaptureUnits", feed.table_name), float(units))
    values = {
        "ThrottledPutRecordCount": observation.throttled,
        "FailedToReplicateRecordCount": observation.passed_over,
    }
    for name, value in values.items():
        if value:
            counts.add(delegated_metric(place, name, feed.table_name), float(value))
    if observation.oldest_age_seconds is not None:
        milliseconds = float(round(observation.oldest_age_seconds * MILLISECONDS_PER_SECOND))
        counts.add(delegated_metric(place, "AgeOfOldestUnreplicatedRecord", feed.table_name), milliseconds)
