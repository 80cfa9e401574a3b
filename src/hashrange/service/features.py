"""Which features does a service have? Those listed here, each with one line; its record stands where it is."""

from collections.abc import Sequence

from hashrange.autoscaling.feature import ALARMS_AND_SCALING
from hashrange.backups.feature import BACKUPS
from hashrange.cloudwatch.feature import METRICS
from hashrange.dax.feature import DAX
from hashrange.features.features import AnyFeature
from hashrange.functions.feature import FUNCTIONS
from hashrange.insights.feature import INSIGHTS
from hashrange.service.fault_feature import FAULTS
from hashrange.throughput.feature import THROUGHPUT
from hashrange.transfers.feature import TRANSFERS
from hashrange.triggers.feature import KINESIS, TRIGGERS

FEATURES: Sequence[AnyFeature] = (
    BACKUPS,
    THROUGHPUT,
    METRICS,
    ALARMS_AND_SCALING,
    INSIGHTS,
    DAX,
    TRANSFERS,
    FUNCTIONS,
    KINESIS,
    TRIGGERS,
    FAULTS,
)
"""The order counts. Jobs that are due at the same moment run in it, states of snapshots are put in place in it, and
requests pass the steps in front of the store in the reverse order, in which also ends what features run."""
