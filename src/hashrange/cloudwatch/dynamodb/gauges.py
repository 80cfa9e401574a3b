"""What do DynamoDB's gauges show of tables? Provisioned capacity, on-demand maxima, indexes being filled,
and what an account uses. Pure functions of descriptions.

Source: global-tables-backup.md 9.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.definitions import UNITS, USAGE_NAMESPACE
from hashrange.cloudwatch.dynamodb.metric_ids import (
    CONSUMED,
    WRITTEN,
    Place,
    account_metric,
    customer_metric,
    table_metric,
)
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from hashrange.tables.schema import Index, Table, Throughput

PERCENT = 100.0


class ProvisionedUnits(NamedTuple):
    """Provisioned units of one table and its global indexes."""

    read_units: int = 0
    write_units: int = 0
    most_read_units: int = 0
    """Read units of the table or global index that has the most of them."""
    most_write_units: int = 0


def unit_of(metric: MetricId) -> str:
    """The unit of a metric of DynamoDB."""
    return UNITS[metric.name]


def place_of_table(table: Table) -> Place:
    """Account and Region of a table."""
    return Place(table.account, table.region)


def consumed_metrics(table: Table) -> list[MetricId]:
    """The metrics of consumed units of a table and its global indexes: those that are zero while nobody uses them."""
    place = place_of_table(table)
    names = [None, *[index.name for index in _global_indexes(table)]]
    consumed = [table_metric(place, name, table.name, index) for index in names for name in CONSUMED]
    return consumed + [customer_metric(metric) for metric in consumed if metric.name == WRITTEN]


def table_gauges(table: Table) -> dict[MetricId, float]:
    """What is to be shown of a table and its global indexes. Nothing of a table that is being deleted."""
    gauges: dict[MetricId, float] = {}
    if table.deleted_at_seconds is not None:
        return gauges
    place = place_of_table(table)
    for index in (None, *_global_indexes(table)):
        subject = table if index is None else index
        index_name = None if index is None else index.name
        for name, value in _capacity(table, subject):
            gauges[table_metric(place, name, table.name, index_name)] = value
        if index is not None and index.state == "CREATING":
            gauges |= filling_gauges(table, index, 0.0)
    return gauges


def filling_gauges(table: Table, index: Index, progress: float) -> dict[MetricId, float]:
    """What is to be shown of an index that has been filled to this part, in percent.
    Filling consumes nothing, and is not throttled.
    """
    names = {
        "OnlineIndexPercentageProgress": progress,
        "OnlineIndexConsumedWriteCapacity": 0.0,
        "OnlineIndexThrottleEvents": 0.0,
    }
    place = place_of_table(table)
    return {table_metric(place, name, table.name, index.name): value for name, value in names.items()}


def provisioned_units(table: Table) -> ProvisionedUnits:
    """What a table takes of its account's quotas. Nothing if it is on demand, or being deleted."""
    if table.billing_mode != "PROVISIONED" or table.deleted_at_seconds is not None:
        return ProvisionedUnits()
    given = [table.throughput, *[index.throughput or Throughput(0, 0) for index in _global_indexes(table)]]
    reads, writes = [one.read_units for one in given], [one.write_units for one in given]
    return ProvisionedUnits(sum(reads), sum(writes), max(reads), max(writes))


def account_gauges(place: Place, tables: Iterable[ProvisionedUnits]) -> dict[MetricId, float]:
    """What is to be shown of an account in its Region, which has these tables."""
    units = list(tables)
    reads, writes = float(sum([one.read_units for one in units])), float(sum([one.write_units for one in units]))
    most_reads = max([one.most_read_units for one in units], default=0)
    most_writes = max([one.most_write_units for one in units], default=0)
    shown = {
        "AccountMaxReads": float(ACCOUNT_CAPACITY_UNITS_MAX),
        "AccountMaxWrites": float(ACCOUNT_CAPACITY_UNITS_MAX),
        "AccountMaxTableLevelReads": float(TABLE_CAPACITY_UNITS_MAX),
        "AccountMaxTableLevelWrites": float(TABLE_CAPACITY_UNITS_MAX),
        "AccountProvisionedReadCapacityUtilization": PERCENT * reads / ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountProvisionedWriteCapacityUtilization": PERCENT * writes / ACCOUNT_CAPACITY_UNITS_MAX,
        "MaxProvisionedTableReadCapacityUtilization": PERCENT * most_reads / TABLE_CAPACITY_UNITS_MAX,
        "MaxProvisionedTableWriteCapacityUtilization": PERCENT * most_writes / TABLE_CAPACITY_UNITS_MAX,
    }
    used = {
        "AccountProvisionedReadCapacityUnits": reads,
        "AccountProvisionedWriteCapacityUnits": writes,
        "TableCount": float(len(units)),
    }
    return {account_metric(place, name): value for name, value in shown.items()} | {
        account_metric(place, name, USAGE_NAMESPACE): value for name, value in used.items()
    }


def _global_indexes(table: Table) -> list[Index]:
    return [index for index in table.indexes if index.is_global and index.state != "DELETING"]


def _capacity(table: Table, subject: Table | Index) -> Iterator[tuple[str, float]]:
    """Name and value of each gauge of a table's, or index's, capacity."""
    if table.billing_mode == "PROVISIONED":
        given = subject.throughput or Throughput(0, 0)
        yield "ProvisionedReadCapacityUnits", float(given.read_units)
        yield "ProvisionedWriteCapacityUnits", float(given.write_units)
        return
    if subject.on_demand_max_read_units is not None:
        yield "OnDemandMaxReadRequestUnits", float(subject.on_demand_max_read_units)
    if subject.on_demand_max_write_units is not None:
        yield "OnDemandMaxWriteRequestUnits", float(subject.on_demand_max_write_units)
