"""What do metrics show of tables that nobody uses? Gauges every five minutes, and zeros for each minute in which no units were consumed.

Both are recorded for whole spans of time, when somebody reads or something changes, so that a year without requests costs little.
"""

from collections.abc import Iterable
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


class _Known(NamedTuple):
    """A table as of the last look into the catalog."""

    table: OpenTable | None
    """None: the table is to be looked at again."""
    schema: Table
    """What is shown of it."""
    gauges: dict[MetricId, float]
    consumed: list[MetricId]
    units: ProvisionedUnits


class MetricGauges:
    """The gauges of all tables and accounts of one store, and the zeros of tables that are not used."""

    def __init__(self, catalog: Catalog, metrics: Metrics) -> None:
        self._catalog = catalog
        self._metrics = metrics
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

    def begin(self, now_seconds: float) -> None:
        """Forget what was known, and show the tables that there are now, from now on."""
        self._known, self._by_place, self._changing, self._gauges, self._idle_from = {}, {}, {}, {}, {}
        self._next_seconds = _after(now_seconds, METRIC_GAUGE_SECONDS)
        self.look(now_seconds)

    def look(self, changed_seconds: float) -> None:
        """See which tables have changed since the last look: at this moment. Former values are recorded up to it, and new ones from it on."""
        while self._changing and (end_seconds := min(self._changing.values())) <= changed_seconds:
            for table_id in [one for one, seconds in self._changing.items() if seconds == end_seconds]:
                del self._changing[table_id]
                self._known[table_id] = self._known[table_id]._replace(table=None)
            self._look(end_seconds)
        self._look(changed_seconds)

    def _look(self, changed_seconds: float) -> None:
        tables = self._catalog.all_tables()
        known = self._known
        changed = [table for table in tables if (one := known.get(table.table_id)) is None or one.table is not table]
        gone: set[int] = known.keys() - {table.table_id for table in tables} if len(known) + len(changed) else set()
        if not changed and not gone:
            return
        self.record_gauges(changed_seconds)
        places = {place_of_table(known[table_id].schema) for table_id in gone}
        for table_id in gone:
            self._forget(table_id, changed_seconds)
        for table in changed:
            if self._replace(table, changed_seconds):
                places.add(place_of_table(table.schema))
        for place in places:
            self._show(account_gauges(place, self._by_place.setdefault(place, {}).values()), changed_seconds)

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

    def record_gauges(self, now_seconds: float) -> None:
        """Record the observations of gauges that have become due by now."""
        if now_seconds < self._next_seconds:
            return
        begin_seconds, self._next_seconds = self._next_seconds, _after(now_seconds, METRIC_GAUGE_SECONDS)
        for metric, value in self._gauges.items():
            self._metrics.record_steadily(
                metric, unit_of(metric), begin_seconds, self._next_seconds, METRIC_GAUGE_SECONDS, of_value(value)
            )

    def record_zeros(self, minute_seconds: int) -> None:
        """Record zeros for the minutes before this one in which no units were consumed."""
        self._record_zeros(list(self._idle_from), minute_seconds)

    def _record_zeros(self, metrics: Iterable[MetricId], minute_seconds: int) -> None:
        idle_from = self._idle_from
        for metric in metrics:
            begin_seconds = idle_from[metric]
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
