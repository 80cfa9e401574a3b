"""What do metrics show of tables that nobody uses? Gauges every five minutes, and zeros for each minute in which no units were consumed.

Both are recorded for whole spans of time, when somebody reads, so that a year without requests costs little. What changes is noted at once, and settled
in pieces when somebody reads: with thousands of tables, all of it takes a tenth of a second and more.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.gauges import (
    PERCENT,
    ProvisionedUnits,
    account_gauges,
    consumed_metrics,
    filling_gauges,
    place_of_table,
    provisioned_units,
    table_gauges,
    unit_of,
)
from hashrange.cloudwatch.dynamodb.metric_ids import Place
from hashrange.cloudwatch.limits import METRIC_GAUGE_SECONDS, METRIC_MINUTE_SECONDS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistics import of_value
from hashrange.store.interface import Catalog
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.states import shown_table

ZERO = of_value(0.0)
TABLES_TOGETHER = 5
"""Changed tables that one piece settles."""
RECORDED_TOGETHER = 40
"""Gauges or zeros that one piece records."""
CHANGES_MAX = 100
"""Changes that are noted before the oldest is settled at once: usually that of one table."""


class _Change(NamedTuple):
    """What one look into the catalog has found."""

    at_seconds: float
    """Service time from which on it holds."""
    tables: Collection[OpenTable]
    """New and changed tables."""
    gone: Collection[int]
    """Ids of tables that are gone."""


class _Known(NamedTuple):
    """A table as of the last change that has been settled."""

    table: OpenTable
    schema: Table
    """What is shown of it."""
    gauges: dict[MetricId, float]
    consumed: list[MetricId]
    units: ProvisionedUnits


class MetricGauges:
    """The gauges of all tables and accounts of one store, and the zeros of tables that are not used."""

    def __init__(self, catalog: Catalog, metrics: Metrics, record_use: Callable[[MetricId], None]) -> None:
        """`record_use` records what has been counted of a metric of consumed units, which ends."""
        self._catalog = catalog
        self._metrics = metrics
        self._record_use = record_use
        self._seen: dict[int, OpenTable] = {}
        """By table id, as of the last look."""
        self._changes: deque[_Change] = deque()
        """What has not been settled, in order of time."""
        self._is_settling = False
        """True while pieces of `settle` are done."""
        self._known: dict[int, _Known] = {}
        """By table id."""
        self._by_place: dict[Place, dict[int, ProvisionedUnits]] = {}
        """Account and Region → what its tables take, by table id. A place stays when its last table is deleted."""
        self._changing: dict[int, float] = {}
        """Table id → service time at which other units are shown of the table, which is UPDATING."""
        self._gauges: dict[MetricId, float] = {}
        """All values that are shown now."""
        self._next_seconds = 0.0
        """Service time of the next observation of all gauges."""
        self._idle_from: dict[MetricId, int] = {}
        """Metric of consumed units → begin of the first minute that nothing has been recorded for."""
        self._zeros_until = 0
        """Begin of the minute before which all zeros have been recorded."""

    def begin(self, now_seconds: float) -> None:
        """Forget what was known, and show the tables that there are now, from now on."""
        self._seen, self._known, self._by_place, self._changing, self._gauges, self._idle_from = {}, {}, {}, {}, {}, {}
        self._changes.clear()
        self._next_seconds, self._zeros_until = _after(now_seconds, METRIC_GAUGE_SECONDS), 0
        self.look(now_seconds)

    def look(self, changed_seconds: float) -> None:
        """Note which tables have changed since the last look: at this moment."""
        tables, seen = self._catalog.all_tables(), self._seen
        changed = [table for table in tables if seen.get(table.table_id) is not table]
        gone: set[int] = seen.keys() - {table.table_id for table in tables} if seen else set()
        if not changed and not gone:
            return
        for table_id in gone:
            del seen[table_id]
        seen.update({table.table_id: table for table in changed})
        self._changes.append(_Change(changed_seconds, changed, gone))
        if len(self._changes) > CHANGES_MAX and not self._is_settling:
            for _ in self._settle(self._next_change(changed_seconds)):
                pass

    def settle(self, now_seconds: float) -> Iterator[None]:
        """Record what has changed up to this moment, former values up to the change and new ones from it on; then what gauges show now. In pieces."""
        self._is_settling = True
        try:
            while self._changes or (self._changing and min(self._changing.values()) <= now_seconds):
                yield from self._settle(self._next_change(now_seconds))
            yield from self._record_gauges(now_seconds)
        finally:
            self._is_settling = False

    def _next_change(self, now_seconds: float) -> _Change:
        """The next change that has been noted, unless a table's units become others before it, and before now: then that one."""
        end_seconds = min(self._changing.values(), default=inf)
        if self._changes and not end_seconds <= min(now_seconds, self._changes[0].at_seconds):
            return self._changes.popleft()
        ended = [table_id for table_id, seconds in self._changing.items() if seconds == end_seconds]
        return _Change(end_seconds, [self._known[table_id].table for table_id in ended], ())

    def _settle(self, change: _Change) -> Iterator[None]:
        at_seconds, tables, gone = change
        yield from self._record_gauges(at_seconds)
        places = {place_of_table(self._known[table_id].schema) for table_id in gone}
        for table_id in gone:
            self._forget(table_id, at_seconds)
            yield
        for number, table in enumerate(tables, 1):
            if self._replace(table, at_seconds):
                places.add(place_of_table(table.schema))
            if number % TABLES_TOGETHER == 0:
                yield
        for place in places:
            self._show(account_gauges(place, self._by_place.setdefault(place, {}).values()), at_seconds)
            yield

    def _replace(self, table: OpenTable, at_seconds: float) -> bool:
        """Take over a new or changed table; returns True if its account's gauges may change too."""
        before = self._known.get(table.table_id)
        schema, end_seconds = shown_table(table.schema, at_seconds)
        self._changing.pop(table.table_id, None)
        if end_seconds is not None:
            self._changing[table.table_id] = end_seconds
        if before is not None and before.schema == schema:
            self._known[table.table_id] = before._replace(table=table)
            return False
        is_shown = schema.deleted_at_seconds is None
        after = _Known(
            table, schema, table_gauges(schema), consumed_metrics(schema) if is_shown else [], provisioned_units(schema)
        )
        if before is not None:
            self._show_filled(before.schema, schema, at_seconds)
            self._hide(before, set(after.gauges), set(after.consumed), at_seconds)
        self._known[table.table_id] = after
        self._show(after.gauges, at_seconds)
        minute = _begin_of_minute(at_seconds)
        self._zeros_until = min(self._zeros_until, minute)
        for metric in after.consumed:
            self._idle_from.setdefault(metric, minute)
        units = self._by_place.setdefault(place_of_table(schema), {})
        if is_shown:
            units[table.table_id] = after.units
        else:
            units.pop(table.table_id, None)
        return True

    def _forget(self, table_id: int, at_seconds: float) -> None:
        before = self._known.pop(table_id)
        self._changing.pop(table_id, None)
        self._hide(before, set(), set(), at_seconds)
        self._by_place[place_of_table(before.schema)].pop(table_id, None)

    def _hide(self, before: _Known, gauges: set[MetricId], consumed: set[MetricId], at_seconds: float) -> None:
        """End the metrics that a table had, and has no more."""
        for gauge in before.gauges.keys() - gauges:
            self._gauges.pop(gauge, None)
        ended = [metric for metric in before.consumed if metric not in consumed]
        for metric in ended:
            self._record_use(metric)
        self._record_zeros(ended, _begin_of_minute(at_seconds))
        for metric in ended:
            self._idle_from.pop(metric, None)

    def _show(self, gauges: dict[MetricId, float], at_seconds: float) -> None:
        """Show values; those that are new are recorded at once."""
        for metric, value in gauges.items():
            if self._gauges.get(metric) != value:
                self._gauges[metric] = value
                self._metrics.record(metric, unit_of(metric), at_seconds, of_value(value))

    def _show_filled(self, before: Table, after: Table, at_seconds: float) -> None:
        """Record the end of the filling of each index, even of one that was filled between two looks."""
        filled = {index.index_id for index in before.indexes if index.state != "CREATING"}
        for index in after.indexes:
            if index.is_global and index.state == "ACTIVE" and index.index_id not in filled:
                for metric, value in filling_gauges(after, index, PERCENT).items():
                    self._metrics.record(metric, unit_of(metric), at_seconds, of_value(value))

    # --- recording -------------------------------------------------------------------------------

    def _record_gauges(self, now_seconds: float) -> Iterator[None]:
        """Record the observations of gauges that have become due by now, in pieces."""
        if now_seconds < self._next_seconds:
            return
        begin_seconds, self._next_seconds = self._next_seconds, _after(now_seconds, METRIC_GAUGE_SECONDS)
        end_seconds = self._next_seconds
        for number, (metric, value) in enumerate(list(self._gauges.items()), 1):
            self._metrics.record_steadily(
                metric, unit_of(metric), begin_seconds, end_seconds, METRIC_GAUGE_SECONDS, of_value(value)
            )
            if number % RECORDED_TOGETHER == 0:
                yield

    def record_zeros(self, minute_seconds: int) -> Iterator[None]:
        """Record zeros for the minutes before this one in which no units were consumed, in pieces."""
        if minute_seconds <= self._zeros_until:
            return
        metrics = list(self._idle_from)
        for place in range(0, len(metrics), RECORDED_TOGETHER):
            self._record_zeros(metrics[place : place + RECORDED_TOGETHER], minute_seconds)
            yield
        self._zeros_until = minute_seconds

    def _record_zeros(self, metrics: Iterable[MetricId], minute_seconds: int) -> None:
        idle_from = self._idle_from
        for metric in metrics:
            begin_seconds = idle_from.get(metric, minute_seconds)
            if begin_seconds < minute_seconds:
                idle_from[metric] = minute_seconds
                self._metrics.record_steadily(
                    metric,
                    unit_of(metric),
                    begin_seconds,
                    minute_seconds,
                    METRIC_MINUTE_SECONDS,
                    ZERO,
                )

    def note_use(self, metric: MetricId, minute_seconds: int) -> None:
        """Note that units were consumed in this minute, so that it gets no zero."""
        if metric in self._idle_from:
            self._record_zeros([metric], minute_seconds)
            self._idle_from[metric] = max(self._idle_from[metric], minute_seconds + METRIC_MINUTE_SECONDS)


def _begin_of_minute(seconds: float) -> int:
    return int(seconds // METRIC_MINUTE_SECONDS) * METRIC_MINUTE_SECONDS


def _after(seconds: float, period_seconds: int) -> float:
    """The first multiple of a period that is greater than `seconds`."""
    return float((seconds // period_seconds + 1) * period_seconds)
