"""What do metrics show of tables that nobody uses? Gauges every five minutes, and zeros for each minute
in which no units were consumed.

Both are recorded for whole spans of time, when somebody reads, so that a year without requests costs little.
What changes is noted at once, and settled in pieces when somebody reads: with thousands of tables,
all of it takes a tenth of a second and more.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

from hashrange.cloudwatch.dynamodb import gauges
from hashrange.cloudwatch.dynamodb.metric_ids import Place
from hashrange.cloudwatch.limits import METRIC_MINUTE_SECONDS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import of_value
from hashrange.service.metric_places import MetricPlaces
from hashrange.service.shown_gauges import ShownGauges, next_observation
from hashrange.store.interface import Catalog
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.states import shown_table

ZERO = of_value(0.0)
TABLES_TOGETHER = 5
"""Changed tables that one piece settles."""
RECORDED_TOGETHER = 25
"""Gauges or zeros that one piece records."""
CHANGES_MAX = 100
"""Changes that are noted before each look settles some pieces."""
PIECES_OF_LOOK = 4
"""Pieces that a look settles then. The change of one table has two or three, so that fewer wait after each look."""


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
    shown: ShownGauges
    consumed: list[MetricId]


class MetricGauges:
    """The gauges of all tables and accounts of one store, and the zeros of tables that are not used."""

    def __init__(
        self, catalog: Catalog, metrics: Metrics, places: MetricPlaces, record_use: Callable[[MetricId], None]
    ) -> None:
        """`record_use` records what has been counted of a metric of consumed units, which ends."""
        self._catalog = catalog
        self._metrics = metrics
        self._places = places
        self._record_use = record_use
        self._seen: dict[int, OpenTable] = {}
        """By table id, as of the last look."""
        self._unseen: dict[int, OpenTable | None] = {}
        """By table id, what has changed since the last look; None: the table is gone."""
        catalog.on_change(self._note)
        self._changes: deque[_Change] = deque()
        """What has not been settled, in order of time."""
        self._settling: Iterator[None] | None = None
        """The pieces that are left of the change that is being settled."""
        self._known: dict[int, _Known] = {}
        """By table id."""
        self._changing: dict[int, float] = {}
        """Table id → service time at which other units are shown of the table, which is UPDATING."""
        self._next_seconds = 0.0
        """Service time before which no gauge is observed again."""
        self._idle_from: dict[MetricId, int] = {}
        """Metric of consumed units → begin of the first minute that nothing has been recorded for."""
        self._zeros_until = 0
        """Begin of the minute before which all zeros have been recorded."""

    def begin(self, now_seconds: float) -> None:
        """Forget what was known, and show the tables that there are now, from now on. 0.5 µs for each table."""
        self.give_up()
        self._next_seconds, self._zeros_until = next_observation(now_seconds), 0
        tables = self._catalog.all_tables()
        counts = Counter([(one.schema.account, one.schema.region) for one in tables])
        self._places.begin({Place(*place): count for place, count in counts.items()})
        if tables:
            self._seen = {table.table_id: table for table in tables}
            self._changes.append(_Change(now_seconds, tables, ()))

    def give_up(self) -> Sequence[dict[Any, Any]]:
        """Forget what was known; returns what is left of it, to be freed. `begin` is to follow, if anything does."""
        self._changes.clear()
        self._settling = None
        left: list[dict[Any, Any]] = [self._seen, self._unseen, self._known, self._idle_from, *self._places.give_up()]
        self._seen, self._unseen, self._known, self._changing, self._idle_from = {}, {}, {}, {}, {}
        return left

    def _note(self, before: OpenTable | None, after: OpenTable | None) -> None:
        """Note that a table has changed. If all have, the content has been replaced, and `begin` follows."""
        self._unseen.update([(table.table_id, after) for table in (before, after) if table is not None])

    def look(self, changed_seconds: float) -> None:
        """Note which tables have changed since the last look: at this moment.
        If many changes wait, some pieces of them are settled.
        """
        unseen, self._unseen, seen = self._unseen, {}, self._seen
        changed = [table for table in unseen.values() if table is not None]
        gone = [table_id for table_id, table in unseen.items() if table is None and table_id in seen]
        if not changed and not gone:
            return
        for table_id in gone:
            self._places.remove_table(gauges.place_of_table(seen.pop(table_id).schema))
        for table in changed:
            if table.table_id not in seen:
                self._places.add_table(gauges.place_of_table(table.schema))
            seen[table.table_id] = table
        self._changes.append(_Change(changed_seconds, changed, gone))
        for _ in range(PIECES_OF_LOOK if len(self._changes) > CHANGES_MAX else 0):
            self._settle_some(changed_seconds)

    def settle(self, now_seconds: float) -> Iterator[None]:
        """Record what has changed up to this moment, former values up to the change and new ones from it on;
        then what gauges show now. In pieces.
        """
        while self._settle_some(now_seconds):
            yield
        yield from self._record_gauges(now_seconds)

    def _settle_some(self, now_seconds: float) -> bool:
        """Do the next piece of what has changed up to this moment; returns False if there is nothing to do."""
        if self._settling is None:
            if not self._changes and not (self._changing and min(self._changing.values()) <= now_seconds):
                return False
            self._settling = self._settle(self._next_change(now_seconds))
        if next(self._settling, self) is self:
            self._settling = None
        return True

    def _next_change(self, now_seconds: float) -> _Change:
        """The next change that has been noted, unless a table's units become others before it,
        and before now: then that one.
        """
        end_seconds = min(self._changing.values(), default=inf)
        if self._changes and not end_seconds <= min(now_seconds, self._changes[0].at_seconds):
            return self._changes.popleft()
        ended = [table_id for table_id, seconds in self._changing.items() if seconds == end_seconds]
        return _Change(end_seconds, [self._known[table_id].table for table_id in ended], ())

    def _settle(self, change: _Change) -> Iterator[None]:
        at_seconds, tables, gone = change
        self._next_seconds = min(self._next_seconds, next_observation(at_seconds))
        places = {gauges.place_of_table(self._known[table_id].schema) for table_id in gone}
        for table_id in gone:
            self._forget(table_id, at_seconds)
            yield
        for number, table in enumerate(tables, 1):
            if self._replace(table, at_seconds):
                places.add(gauges.place_of_table(table.schema))
            if number % TABLES_TOGETHER == 0:
                yield
        for place in places:
            self._places.show(place, at_seconds)
            yield
        yield from self._places.forget()

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
        shown = ShownGauges(at_seconds) if before is None else before.shown
        after = _Known(table, schema, shown, gauges.consumed_metrics(schema) if is_shown else [])
        if before is not None:
            self._show_filled(before.schema, schema, at_seconds)
            self._end_use(before, set(after.consumed), at_seconds)
        self._known[table.table_id] = after
        shown.change(self._metrics, gauges.table_gauges(schema), at_seconds)
        minute = _begin_of_minute(at_seconds)
        self._zeros_until = min(self._zeros_until, minute)
        for metric in after.consumed:
            self._idle_from.setdefault(metric, minute)
        units = gauges.provisioned_units(schema) if is_shown else None
        self._places.set_units(gauges.place_of_table(schema), table.table_id, units)
        return True

    def _forget(self, table_id: int, at_seconds: float) -> None:
        before = self._known.pop(table_id)
        self._changing.pop(table_id, None)
        before.shown.change(self._metrics, {}, at_seconds)
        self._end_use(before, set(), at_seconds)
        self._places.set_units(gauges.place_of_table(before.schema), table_id, None)

    def _end_use(self, before: _Known, consumed: set[MetricId], at_seconds: float) -> None:
        """End the metrics of consumed units that a table had, and has no more."""
        ended = [metric for metric in before.consumed if metric not in consumed]
        for metric in ended:
            self._record_use(metric)
        self._record_zeros(ended, _begin_of_minute(at_seconds))
        for metric in ended:
            self._idle_from.pop(metric, None)

    def _show_filled(self, before: Table, after: Table, at_seconds: float) -> None:
        """Record the end of the filling of each index, even of one that was filled between two looks."""
        filled = {index.index_id for index in before.indexes if index.state != "CREATING"}
        for index in after.indexes:
            if index.is_global and index.state == "ACTIVE" and index.index_id not in filled:
                for metric, value in gauges.filling_gauges(after, index, gauges.PERCENT).items():
                    self._metrics.record(metric, gauges.unit_of(metric), at_seconds, of_value(value))

    # --- recording -------------------------------------------------------------------------------

    def _record_gauges(self, now_seconds: float) -> Iterator[None]:
        """Record the observations of gauges that have become due by now, in pieces."""
        if now_seconds < self._next_seconds:
            return
        self._next_seconds = next_observation(now_seconds)
        recorded = 0
        for known in list(self._known.values()):
            known.shown.record(self._metrics, now_seconds)
            recorded += len(known.shown.gauges) + 1
            if recorded > RECORDED_TOGETHER:
                recorded = 0
                yield
        for place, shown in list(self._places.shown.items()):
            self._places.record(place, shown, now_seconds)
            recorded += len(shown.gauges) + 1
            if recorded > RECORDED_TOGETHER:
                recorded = 0
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
                    gauges.unit_of(metric),
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
