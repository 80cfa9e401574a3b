"""Which metrics does DynamoDB have? Name, unit, sets of dimensions, period and useful statistics
of each that this server feeds.

A metric that no feature feeds is not here (docs/metrics.md lists those).
Source: global-tables-backup.md 9. Which metrics have OperationType, Verb and Source: CloudWatch user guide,
the supported metrics of the resource AWS::DynamoDB::Table. Names and dimensions of the metrics of vector indexes:
developer guide, monitoring of their capacity; unit and statistics are those of units (unconfirmed).
"""

from typing import Literal, NamedTuple

from hashrange.cloudwatch.limits import METRIC_DELEGATED_SECONDS, METRIC_GAUGE_SECONDS, METRIC_MINUTE_SECONDS

DYNAMODB_NAMESPACE = "AWS/DynamoDB"
USAGE_NAMESPACE = "AWS/Usage"

Unit = Literal["Count", "Percent", "Milliseconds", "Bytes"]
DimensionNames = tuple[str, ...]
"""Names of the dimensions of one set, sorted. The same name with another set is another metric."""

ACCOUNT: DimensionNames = ()
TABLE: DimensionNames = ("TableName",)
INDEX: DimensionNames = ("GlobalSecondaryIndexName", "TableName")
VECTOR_INDEX: DimensionNames = ("TableName", "VectorIndexName")
OPERATION: DimensionNames = ("Operation", "TableName")
OPERATION_TYPE: DimensionNames = ("Operation", "OperationType", "TableName")
OPERATION_VERB: DimensionNames = ("Operation", "TableName", "Verb")
STREAM: DimensionNames = ("Operation", "StreamLabel", "TableName")
TABLE_SOURCE: DimensionNames = ("Source", "TableName")
INDEX_SOURCE: DimensionNames = ("GlobalSecondaryIndexName", "Source", "TableName")
DELEGATED: DimensionNames = ("DelegatedOperation", "TableName")

_OF_TABLES_AND_INDEXES = (TABLE, INDEX)
_ALL = ("Minimum", "Maximum", "Average", "Sum", "SampleCount")
_OF_GAUGES = ("Minimum", "Maximum", "Average")
_OF_EVENTS = ("Sum", "SampleCount")
_OF_LIMITED_EVENTS = ("Sum", "SampleCount", "Minimum", "Maximum")


class MetricDefinition(NamedTuple):
    """One metric of DynamoDB."""

    name: str
    unit: Unit
    dimensions: tuple[DimensionNames, ...]
    period_seconds: int
    statistics: tuple[str, ...]
    """The statistics that mean something; all others are served too."""
    namespace: str = DYNAMODB_NAMESPACE
    is_gauge: bool = False
    """True if it shows a state; False if it counts or measures what happens."""


def _each_minute(
    name: str, dimensions: tuple[DimensionNames, ...], statistics: tuple[str, ...] = _ALL, unit: Unit = "Count"
) -> MetricDefinition:
    return MetricDefinition(name, unit, dimensions, METRIC_MINUTE_SECONDS, statistics)


def _gauge(
    name: str,
    dimensions: tuple[DimensionNames, ...],
    statistics: tuple[str, ...] = _OF_GAUGES,
    unit: Unit = "Count",
    namespace: str = DYNAMODB_NAMESPACE,
) -> MetricDefinition:
    return MetricDefinition(name, unit, dimensions, METRIC_GAUGE_SECONDS, statistics, namespace, is_gauge=True)


def _of_delegated(name: str, statistics: tuple[str, ...]) -> MetricDefinition:
    """A metric of what DynamoDB does for the client: sending changes to Kinesis."""
    return MetricDefinition(name, "Count", (DELEGATED,), METRIC_DELEGATED_SECONDS, statistics)


LIMIT_NAMES = ("ProvisionedThroughput", "KeyRangeThroughput", "AccountLimit", "MaxOnDemandThroughput")
"""What a throttled request exceeded, as names of metrics have it: `ReadAccountLimitThrottleEvents`."""

ALL_METRICS: tuple[MetricDefinition, ...] = (
    _gauge("AccountMaxReads", (ACCOUNT,), ("Maximum",)),
    _gauge("AccountMaxWrites", (ACCOUNT,), ("Maximum",)),
    _gauge("AccountMaxTableLevelReads", (ACCOUNT,), ("Maximum",)),
    _gauge("AccountMaxTableLevelWrites", (ACCOUNT,), ("Maximum",)),
    _gauge("AccountProvisionedReadCapacityUtilization", (ACCOUNT,), unit="Percent"),
    _gauge("AccountProvisionedWriteCapacityUtilization", (ACCOUNT,), unit="Percent"),
    _gauge("MaxProvisionedTableReadCapacityUtilization", (ACCOUNT,), unit="Percent"),
    _gauge("MaxProvisionedTableWriteCapacityUtilization", (ACCOUNT,), unit="Percent"),
    _each_minute("ConditionalCheckFailedRequests", (TABLE,)),
    _each_minute("ConsumedReadCapacityUnits", _OF_TABLES_AND_INDEXES),
    _each_minute("ConsumedWriteCapacityUnits", (TABLE, TABLE_SOURCE, INDEX, INDEX_SOURCE)),
    _gauge("ProvisionedReadCapacityUnits", _OF_TABLES_AND_INDEXES),
    _gauge("ProvisionedWriteCapacityUnits", _OF_TABLES_AND_INDEXES),
    _gauge("OnDemandMaxReadRequestUnits", _OF_TABLES_AND_INDEXES),
    _gauge("OnDemandMaxWriteRequestUnits", _OF_TABLES_AND_INDEXES),
    _each_minute("ReadThrottleEvents", _OF_TABLES_AND_INDEXES, _OF_EVENTS),
    _each_minute("WriteThrottleEvents", _OF_TABLES_AND_INDEXES, _OF_EVENTS),
    *[
        _each_minute(f"{kind}{limit}ThrottleEvents", _OF_TABLES_AND_INDEXES, _OF_LIMITED_EVENTS)
        for kind in ("Read", "Write")
        for limit in LIMIT_NAMES
    ],
    _each_minute("ThrottledRequests", (OPERATION, OPERATION_VERB), _OF_EVENTS),
    _each_minute("UserErrors", (ACCOUNT,), _OF_EVENTS),
    _each_minute("SystemErrors", (OPERATION,), _OF_EVENTS),
    _each_minute("FaultInjectionServiceInducedErrors", (OPERATION,), _OF_EVENTS),
    _each_minute(
        "SuccessfulRequestLatency",
        (OPERATION, OPERATION_TYPE, OPERATION_VERB, STREAM),
        (*_ALL, "percentiles"),
        "Milliseconds",
    ),
    _each_minute("ReturnedItemCount", (OPERATION, OPERATION_VERB)),
    _each_minute("ReturnedBytes", (STREAM,), unit="Bytes"),
    _each_minute("ReturnedRecordsCount", (STREAM,)),
    _each_minute("TransactionConflict", (TABLE,)),
    _each_minute("VectorSearchRequestBytes", (VECTOR_INDEX,), unit="Bytes"),
    _each_minute("VectorWriteRequestBytes", (VECTOR_INDEX,), unit="Bytes"),
    _each_minute("TimeToLiveDeletedItemCount", (TABLE,), ("Sum",)),
    _gauge("OnlineIndexPercentageProgress", (INDEX,), _ALL),
    _gauge("OnlineIndexConsumedWriteCapacity", (INDEX,), _ALL),
    _gauge("OnlineIndexThrottleEvents", (INDEX,), _ALL),
    _gauge("AgeOfOldestUnreplicatedRecord", (DELEGATED,), unit="Milliseconds"),
    _of_delegated("ConsumedChangeDataCaptureUnits", _OF_GAUGES),
    _of_delegated("ThrottledPutRecordCount", (*_OF_GAUGES, "SampleCount")),
    _of_delegated("FailedToReplicateRecordCount", ("Sum",)),
    _gauge("AccountProvisionedReadCapacityUnits", (ACCOUNT,), namespace=USAGE_NAMESPACE),
    _gauge("AccountProvisionedWriteCapacityUnits", (ACCOUNT,), namespace=USAGE_NAMESPACE),
    _gauge("TableCount", (ACCOUNT,), namespace=USAGE_NAMESPACE),
)

UNITS: dict[str, Unit] = {one.name: one.unit for one in ALL_METRICS}
"""Name of a metric → its unit."""
PERIODS_SECONDS: dict[str, int] = {one.name: one.period_seconds for one in ALL_METRICS}
"""Name of a metric → its period: what is observed in a period is shown at its begin."""
DIMENSIONS: dict[str, tuple[DimensionNames, ...]] = {one.name: one.dimensions for one in ALL_METRICS}
"""Name of a metric → its sets of dimensions."""

MEASURED_OPERATIONS = frozenset(
    {
        "PutItem",
        "DeleteItem",
        "UpdateItem",
        "GetItem",
        "BatchGetItem",
        "Scan",
        "Query",
        "BatchWriteItem",
        "TransactWriteItems",
        "TransactGetItems",
        "ExecuteTransaction",
        "BatchExecuteStatement",
        "ExecuteStatement",
        "GetRecords",
        "SearchVectors",  # (unconfirmed): the service documents no metrics of the operation
    }
)
"""Values of the dimension Operation. Requests of other operations count in no metric that has it."""
TYPED_OPERATIONS = frozenset({"ExecuteTransaction", "BatchExecuteStatement"})
"""Operations whose metrics are told by the dimension OperationType too: `Read` or `Write`."""
CUSTOMER = "Customer"
"""The value of Source for writes of clients. Those of replicas have `GlobalTable`; there are none."""
DELEGATED_OPERATION = "StreamRecords"
"""The value of DelegatedOperation for sending changes to Kinesis (unconfirmed):
public alarm templates have it, the documentation names no value."""
