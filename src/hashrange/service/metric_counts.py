"""How are the calls of one minute counted until they become metrics?
By how often each value was observed. Nothing here reads a clock.

Operations on one item, pages and statements are counted apart, because that takes the least time:
their values are appended to arrays, which `fold` counts.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from hashrange.cloudwatch.dynamodb.gauges import place_of_table
from hashrange.cloudwatch.dynamodb.metric_ids import consumed_metric, operation_metrics
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import distribution_of
from hashrange.cloudwatch.statistic import Cell, StatisticSet
from hashrange.tables.open_table import OpenTable

Counted = dict[float, int]
"""Value → how often it was observed."""
ValueArray: TypeAlias = "array[float]"
TRANSACTION = "TransactWriteItems"
WRITES, READS = ("PutItem", "UpdateItem", "DeleteItem", TRANSACTION), ("GetItem", "TransactGetItems")
ITEM_OPERATIONS = dict.fromkeys(WRITES, True) | dict.fromkeys(READS, False)
"""Operations that are counted by table if their requests name one; each with True if it writes. All have one usage,
but a TRANSACTION one for each item, and TransactGetItems one for each table.
"""
STATEMENT, SELECT = "ExecuteStatement", "PartiQLSelect"
StatementSubject = tuple[OpenTable, str | None, str]
"""The table of a statement, the global index that it reads, and the dimension Verb."""
MICROSECONDS_PER_SECOND = 1e6
MICROSECONDS_PER_MILLISECOND = 1000.0
MILLISECONDS_PER_SECOND = 1000.0
LATENCY, RETURNED_ITEMS = "SuccessfulRequestLatency", "ReturnedItemCount"


def _new_array() -> ValueArray:
    return array("d")


class Counts:
    """What has been counted since the last time that it was taken."""

    def __init__(self) -> None:
        self.of_items: dict[str, defaultdict[OpenTable, ValueArray]] = {
            name: defaultdict(_new_array) for name in ITEM_OPERATIONS
        }
        """Name of the operation → table → units and seconds of each of its calls, in turns."""
        self.of_pages: dict[str, defaultdict[tuple[OpenTable, str | None], ValueArray]] = {
            name: defaultdict(_new_array) for name in ("Query", "Scan")
        }
        """Name of the operation → table and global index that was read → units,
        seconds and items of each page, in turns."""
        self.of_statements: defaultdict[StatementSubject, ValueArray] = defaultdict(_new_array)
        """Units, seconds and returned items of each statement of ExecuteStatement, in turns."""
        self.of_entries: defaultdict[tuple[OpenTable, str], ValueArray] = defaultdict(_new_array)
        """Table and name of a global index → units of each change of an entry."""
        self._values: dict[MetricId, Counted] = {}
        """Latencies are whole microseconds, rounded down."""

    def add(self, metric: MetricId, value: float = 1.0, times: int = 1) -> None:
        """Count a value that was observed."""
        counted = self._values.get(metric)
        if counted is None:
            counted = self._values[metric] = {}
        counted[value] = counted.get(value, 0) + times

    def forget_value(self, metric: MetricId) -> None:
        """Forget what `add` has counted of a metric."""
        self._values.pop(metric, None)

    def fold(self) -> None:
        """Count what the arrays hold, so that they do not grow. 0.2 µs for each call."""
        for name, by_table in self.of_items.items():
            if by_table:
                for table, values in by_table.items():
                    self._fold_items(name, table, values)
                by_table.clear()
        for name, by_subject in self.of_pages.items():
            if by_subject:
                for (table, index_name), values in by_subject.items():
                    self._fold_pages(name, table, index_name, values)
                by_subject.clear()
        for subject, values in self.of_statements.items():
            self._fold_statements(subject, values)
        self.of_statements.clear()
        for (table, index_name), values in self.of_entries.items():
            metric = consumed_metric(place_of_table(table.schema), table.name, index_name, is_write=True)
            self._fold_values(metric, values)
        self.of_entries.clear()

    def _fold_items(self, operation: str, table: OpenTable, values: ValueArray) -> None:
        place = place_of_table(table.schema)
        self._fold_values(consumed_metric(place, table.name, None, is_write=ITEM_OPERATIONS[operation]), values[::2])
        self._fold_seconds(operation_metrics(LATENCY, place, table.name, operation)[0], values[1::2])

    def _fold_pages(self, operation: str, table: OpenTable, index_name: str | None, values: ValueArray) -> None:
        place = place_of_table(table.schema)
        self._fold_values(consumed_metric(place, table.name, index_name, is_write=False), values[::3])
        self._fold_seconds(operation_metrics(LATENCY, place, table.name, operation)[0], values[1::3])
        self._fold_values(operation_metrics(RETURNED_ITEMS, place, table.name, operation)[0], values[2::3])

    def _fold_statements(self, subject: StatementSubject, values: ValueArray) -> None:
        table, index_name, verb = subject
        place, is_write = place_of_table(table.schema), verb != SELECT
        self._fold_values(consumed_metric(place, table.name, index_name, is_write=is_write), values[::3])
        for metric in operation_metrics(LATENCY, place, table.name, STATEMENT, verb=verb):
            self._fold_seconds(metric, values[1::3])
        if not is_write:
            for metric in operation_metrics(RETURNED_ITEMS, place, table.name, STATEMENT, verb=verb):
                self._fold_values(metric, values[2::3])

    def _fold_values(self, metric: MetricId, values: Iterable[float]) -> None:
        for value, times in Counter(values).items():
            self.add(metric, value, times)

    def _fold_seconds(self, metric: MetricId, values: ValueArray) -> None:
        self._fold_values(metric, [int(seconds * MICROSECONDS_PER_SECOND) for seconds in values])

    def take(self) -> dict[MetricId, Counted]:
        """All that has been counted, by metric; it is then forgotten."""
        self.fold()
        taken, self._values = self._values, {}
        return taken


def observed_of(metric: MetricId, counted: Counted) -> Cell:
    """What was observed of a metric, given what has been counted of it: at least one value."""
    distribution = None
    if metric.name == LATENCY:
        # A latency lies, on the average, half a microsecond above the one that was rounded down.
        counted = {(one + 0.5) / MICROSECONDS_PER_MILLISECOND: times for one, times in counted.items()}
        distribution = distribution_of(counted.items())
    total = sum([value * times for value, times in counted.items()])
    return Cell(StatisticSet(float(sum(counted.values())), total, min(counted), max(counted)), distribution)
