"""How is a metric of DynamoDB identified? By account and Region of the table, and by dimensions that
say table, index and operation.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.definitions import (
    CUSTOMER,
    DELEGATED_OPERATION,
    DIMENSIONS,
    DYNAMODB_NAMESPACE,
    OPERATION,
    OPERATION_TYPE,
    OPERATION_VERB,
    STREAM,
    DimensionNames,
)
from hashrange.cloudwatch.metric_id import Dimensions, MetricId

IDS_MAX = 4096
"""Identities of metrics that are remembered, because it takes a microsecond to make one."""
READ, WRITTEN = CONSUMED = ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")
"""Names of the metrics of units that were read, and written."""
CHARGED = ("VectorSearchRequestBytes", "VectorWriteRequestBytes")
"""Names of the metrics of bytes for which searches of vector indexes, and writes of their entries, are charged."""


class Place(NamedTuple):
    """The account and Region that a metric belongs to."""

    account: str
    region: str


def account_metric(place: Place, name: str, namespace: str = DYNAMODB_NAMESPACE) -> MetricId:
    """A metric of the whole account in its Region."""
    return MetricId(*place, namespace, name)


def table_metric(place: Place, name: str, table_name: str, index_name: str | None = None) -> MetricId:
    """A metric of a table (`index_name` None), or of one of its global indexes."""
    return MetricId(*place, DYNAMODB_NAMESPACE, name, subject_dimensions(table_name, index_name))


@lru_cache(maxsize=IDS_MAX)
def consumed_metric(place: Place, table_name: str, index_name: str | None, *, is_write: bool) -> MetricId:
    """The metric of units that were read or written, of a table or global index."""
    return table_metric(place, CONSUMED[is_write], table_name, index_name)


@lru_cache(maxsize=IDS_MAX)
def customer_metric(metric: MetricId) -> MetricId:
    """The metric of the same written units that says who has caused them: a client, not a replica."""
    return metric._replace(dimensions=tuple(sorted([*metric.dimensions, ("Source", CUSTOMER)])))


@lru_cache(maxsize=IDS_MAX)
def vector_metric(place: Place, table_name: str, index_name: str, *, is_write: bool) -> MetricId:
    """The metric of bytes for which searches of a vector index, or writes of its entries, are charged."""
    dimensions = (("TableName", table_name), ("VectorIndexName", index_name))
    return MetricId(*place, DYNAMODB_NAMESPACE, CHARGED[is_write], dimensions)


def delegated_metric(place: Place, name: str, table_name: str) -> MetricId:
    """A metric of the changes of a table that are sent to Kinesis."""
    dimensions = (("DelegatedOperation", DELEGATED_OPERATION), ("TableName", table_name))
    return MetricId(*place, DYNAMODB_NAMESPACE, name, dimensions)


@lru_cache(maxsize=IDS_MAX)
def operation_metrics(
    name: str,
    place: Place,
    table_name: str,
    operation: str,
    *,
    kind: str | None = None,
    verb: str | None = None,
    stream: str | None = None,
) -> Sequence[MetricId]:
    """Each metric of this name in which a request counts: of table and operation, and one more if there is
    a `kind` or `verb` that the metric has.

    `kind`: OperationType. `stream`: the label of a stream, whose requests count with it alone if the metric has it.
    """
    own, table = ("Operation", operation), ("TableName", table_name)
    sets: dict[DimensionNames, Dimensions] = {OPERATION: (own, table)}
    if kind is not None:
        sets[OPERATION_TYPE] = (own, ("OperationType", kind), table)
    if verb is not None:
        sets[OPERATION_VERB] = (own, table, ("Verb", verb))
    known = DIMENSIONS[name]
    if stream is not None and STREAM in known:
        sets = {STREAM: (own, ("StreamLabel", stream), table)}
    return tuple([MetricId(*place, DYNAMODB_NAMESPACE, name, sets[one]) for one in known if one in sets])


def subject_dimensions(table_name: str, index_name: str | None = None) -> Dimensions:
    """The dimensions that name a table, or a global index."""
    table = ("TableName", table_name)
    return (table,) if index_name is None else (("GlobalSecondaryIndexName", index_name), table)
