"""Which load does an existing table have? Sizes come from a sample of its items, units from CloudWatch, all else from
DescribeTable.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hashrange.toolkit.capacity_costs import GB_BYTES, ON_DEMAND, PROVISIONED
from hashrange.toolkit.capacity_units import IndexLoad, ItemSteps, PlaceUnits, UnitRate, steps_of_sizes
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.item_sizes import projected_bytes, read_item_bytes
from hashrange.toolkit.prices import TABLE_CLASSES
from hashrange.toolkit.sampling import SampledItems, sample_items
from hashrange.toolkit.table_metrics import (
    DAY_SECONDS,
    MINUTE_SECONDS,
    MetricValues,
    TimeWindow,
    of_table,
    read_metrics,
)
from hashrange.toolkit.target import Target

CONSUMED_READS, CONSUMED_WRITES = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
STORED_ITEM_BYTES = 100
"""What DynamoDB adds to each item for the bill of storage."""
EMPTY = ItemSteps(0.0, 1.0, 1.0)


class MeasuredTable(NamedTuple):
    """An existing table."""

    name: str
    items: ItemSteps
    indexes: tuple[IndexLoad, ...]
    """What an index's entries are, and the share of items that have one."""
    storage_gb: float
    table_class: str
    replicas: int
    mode: str
    sample: SampledItems


def measure_table(target: Target, table: Mapping[str, Any], sample_max: int) -> MeasuredTable:
    """What a described table is. Reads a sample, which metrics count, too. Raises ToolkitFailure."""
    sample = sample_items(target, table["TableName"], sample_max)
    sizes = [read_item_bytes(item) for item in sample.items]
    indexes = table.get("GlobalSecondaryIndexes", ())
    stored = sum(_stored_bytes(one, "IndexSizeBytes") for one in (*indexes, *table.get("LocalSecondaryIndexes", ())))
    table_class = table.get("TableClassSummary", {}).get("TableClass", "STANDARD")
    billing = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return MeasuredTable(
        name=table["TableName"],
        items=steps_of_sizes(sizes) if sizes else EMPTY,
        indexes=tuple(_index_load(table, index, sample) for index in indexes),
        storage_gb=(_stored_bytes(table, "TableSizeBytes") + stored) / GB_BYTES,
        table_class=TABLE_CLASSES[table_class != "STANDARD"],
        replicas=len({one["RegionName"] for one in table.get("Replicas", ())} - {target.region}),
        mode=ON_DEMAND if billing == "PAY_PER_REQUEST" else PROVISIONED,
        sample=sample,
    )


def measured_units(target: Target, table: Mapping[str, Any], now: float, days: float) -> list[PlaceUnits]:
    """Units that CloudWatch has seen, of a described table and its indexes. Raises ToolkitFailure."""
    name: str = table["TableName"]
    window = TimeWindow(max(now - days * DAY_SECONDS, table["CreationDateTime"].timestamp()), now)
    places = [None, *(index["IndexName"] for index in table.get("GlobalSecondaryIndexes", ()))]
    wanted = {
        (place, metric): of_table(metric, name, place)
        for place in places
        for metric in (CONSUMED_READS, CONSUMED_WRITES)
    }
    series = read_metrics(target, list(wanted.values()), window, MINUTE_SECONDS)
    if not any(series.values()):
        raise ToolkitFailure(f"CloudWatch has no metrics of the table {name} in {target.place}.")
    rates = {key: _rate(series[metric], window) for key, metric in wanted.items()}
    return [
        PlaceUnits(place or "table", place is not None, rates[place, CONSUMED_READS], rates[place, CONSUMED_WRITES])
        for place in places
    ]


def _rate(series: MetricValues, window: TimeWindow) -> UnitRate:
    average = sum(series.values()) / window.seconds
    return UnitRate(average, max([average, *(value / MINUTE_SECONDS for value in series.values())]))


def _index_load(table: Mapping[str, Any], index: Mapping[str, Any], sample: SampledItems) -> IndexLoad:
    table_keys = [one["AttributeName"] for one in table["KeySchema"]]
    entries = [
        size for size in (projected_bytes(item, table_keys, index) for item in sample.items) if size is not None
    ]  # fmt: skip
    share = len(entries) / len(sample.items) if sample.items else 1.0
    return IndexLoad(index["IndexName"], steps_of_sizes(entries) if entries else EMPTY, share)


def _stored_bytes(described: Mapping[str, Any], member: str) -> int:
    stored: int = described.get(member, 0) + STORED_ITEM_BYTES * described.get("ItemCount", 0)
    return stored
