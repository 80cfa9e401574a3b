"""Which metrics does a server have, and what was observed? `Metrics` takes observations, returns datapoints,
and keeps all as documents of the store.

Everything goes by service time. What has been observed since the last save is in memory only:
a crash loses it, at most the last quarter of an hour, or six hours while time is moved.
A stop and a snapshot save first. Source: operations.md 7.
"""

import asyncio
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.cloudwatch.limits import METRIC_FOUND_SECONDS, METRIC_UNSAVED_BYTES, METRIC_UNSAVED_BYTES_MAX
from hashrange.cloudwatch.metric_documents import GROUP_SERIES, MetricDocuments, cell_bytes
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_names import has_these_dimensions
from hashrange.cloudwatch.percentiles import Distribution
from hashrange.cloudwatch.runs import run_of
from hashrange.cloudwatch.series import BlockName, Series
from hashrange.cloudwatch.series_order import SeriesPlace
from hashrange.cloudwatch.series_table import KnownSeries, SeriesTable, load_series
from hashrange.cloudwatch.statistic import Cell, Datapoint, Statistic, StatisticSet
from hashrange.cloudwatch.tiers import first_shown
from hashrange.cloudwatch.totals import MetricTotals
from hashrange.items.shared_work import SharedWork
from hashrange.items.steps import look, sort, walk
from hashrange.store.documents import Documents

SLICE_BLOCKS = 4
"""Blocks that one slice rolls up at most: about 10 ms."""
SLICE_LOOKS = 2_000
"""Series in which one slice looks for old blocks: about 2 ms."""

ReadInsightRule = Callable[[Caller, str, str, int, float, int], Mapping[int, float]]
"""(caller, rule, metric, begin, end, period) → values by the begin of their period.
Times in seconds. Raises MathError."""
FORGOTTEN_TOGETHER = 20
"""Series of an account that one piece forgets."""
WAITING_TOGETHER = 20
"""Observations that one piece takes in, of those that were recorded while the series were loaded."""


T = TypeVar("T")
RecordCounts = Callable[[float], Iterator[None] | None]
"""Called with the service time: records what has been counted since the last call, in the pieces of an iterator,
or at once if it returns None."""


class MetricSources:
    """The sources of one store's metrics. All calls come from one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sources: list[RecordCounts] = []
        self._reading = SharedWork()
        self._readings = 0
        """How many readings have been begun."""
        self._is_in_source = False

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, source: RecordCounts) -> None:
        """Ask this source from now on."""
        self._sources.append(source)

    def read(self) -> None:
        """Let all sources record what they have counted until now; may give way.
        A source that asks for metrics reads no sources.
        """
        if self._is_in_source:
            return
        before = self._readings
        self._reading.finish()  # one that others have begun, and that may not see what has been counted since
        if self._readings == before:
            self._readings += 1
            self._reading.begin(self._pieces)
        self._reading.finish()

    def _pieces(self) -> Iterator[None]:
        now_seconds = self._clock.service_time()
        for source in self._sources:
            pieces = self._within(partial(source, now_seconds))
            while pieces is not None and self._within(partial(next, pieces, self)) is not self:
                yield

    def _within(self, work: Callable[[], T]) -> T:
        self._is_in_source = True
        try:
            return work()
        finally:
            self._is_in_source = False


class Metrics:
    """The metrics of one store. All calls come from one thread, that of the event loop.

    There are at most METRIC_SERIES_CUSTOM_MAX series (metrics, each unit for itself) of programs' own namespaces, whose
    names take at most METRIC_CUSTOM_NAMES_BYTES_MAX, and METRIC_SERIES_MAX of namespaces that begin with `AWS/`.
    If there is one more, another is forgotten (`series_order.py`).
    """

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        wake: Callable[[], None] = lambda: None,
        insight_rules: Callable[[], ReadInsightRule | None] = lambda: None,
    ) -> None:
        """`wake` is called when there is something to save, and was nothing before; and when there is much to save.
        `insight_rules()`: reads what INSIGHT_RULE_METRIC returns; None: there are no insight rules.
        """
        self._documents = MetricDocuments(documents)
        self._clock = clock
        self.sources = MetricSources(clock)
        """They are read before every read of metrics, and before every save."""
        self.insight_rules = insight_rules
        self.totals = MetricTotals()
        """What has been recorded since the start, for those who count for themselves."""
        self.wake = wake
        self.has_much_to_save = False
        """True if more than METRIC_UNSAVED_BYTES may have been recorded since the last save."""
        self.has_new_cells = False
        """True if something but runs of the same observation has been recorded since this was set to False."""
        self._table = SeriesTable()
        self._former: list[SeriesTable] = []
        """Those of content that has been replaced, which are freed in pieces before the present content is loaded."""
        self._loading = SharedWork()
        """Reads the kept series into the table."""
        self._waiting: list[Callable[[], None]] = []
        """Take in what has been recorded since the loading began."""
        self._changed: dict[int, None] = {}
        """Groups of series with something to save."""
        self._unsaved_bytes = 0
        """About what the cells of all observations take that have been recorded since everything was saved."""
        self._to_look: list[int] = []
        """Numbers of series in which to look for old blocks."""
        self._saving = asyncio.Lock()
        """A lock that is held during a save, so that the documents are written in the order of the changes."""
        self._generation: int | None = None
        """The store's generation whose series are in the table, or are being loaded; None: nothing has been loaded."""

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    # --- recording -------------------------------------------------------------------------------

    def record(
        self,
        metric: MetricId,
        unit: str,
        at_seconds: float,
        observed: StatisticSet,
        distribution: Distribution | None = None,
        *,
        by_second: bool = False,
    ) -> None:
        """Add observations to the minute, or second, of `at_seconds`. `distribution`: bucket → values,
        for percentiles; None: there are none.
        """
        self._take_in(
            lambda: self._recorded(metric, unit).series.record(at_seconds, observed, distribution, by_second=by_second)
        )
        self._unsaved_bytes += cell_bytes(distribution)
        if self._unsaved_bytes > METRIC_UNSAVED_BYTES and not self.has_much_to_save:
            self.has_much_to_save = True
            self.wake()
        self.has_new_cells = True
        self.totals.add(metric, unit, observed, distribution)

    def record_steadily(
        self,
        metric: MetricId,
        unit: str,
        begin_seconds: float,
        end_seconds: float,
        period_seconds: int,
        observed: StatisticSet,
    ) -> None:
        """Record one observation in the first minute of every period that begins in [begin, end):
        a gauge, or zeros of an idle table.

        Periods begin at multiples of their length since 1970, so calls for [a, b) and [b, c) do the same as one for [a,
        c). A call takes as little for a year as for a minute.
        """
        run = run_of(begin_seconds, end_seconds, period_seconds, observed)
        if run is not None:
            self._take_in(lambda: self._recorded(metric, unit).series.record_run(run, self._clock.service_time()))

    def _take_in(self, record: Callable[[], None]) -> None:
        """Record now, or once the series are loaded."""
        self._see_content()
        if self._loading.is_left:
            self._waiting.append(record)
        else:
            record()

    def _recorded(self, metric: MetricId, unit: str) -> KnownSeries:
        """The series of a metric in a unit, in which something is recorded now."""
        table = self._table
        known = table.units_of(metric).get(unit)
        if known is None:
            number = table.next_number
            series = Series(partial(self._documents.read_cells, number))
            known, removed = table.add(number, metric, unit, series)
            for oldest in removed:
                self._forget(oldest)
        else:
            table.touch(known)
        self._note(known.number)
        return known

    def _forget(self, known: KnownSeries) -> None:
        """Let the next saves delete the documents of a series that has been removed, and forget its totals."""
        self.totals.forget(known.metric)
        if known.series.end():
            self._table.removed[known.number] = known.series
        self._note(known.number)

    def forget(self, place: SeriesPlace, namespaces: Collection[str]) -> Iterator[None]:
        """Forget what this place has in these namespaces of services, in pieces.
        Nothing is forgotten before `is_loaded`.
        """
        for number, known in enumerate(self._table.of_place(place, namespaces) if self.is_loaded else (), 1):
            self._table.remove(known)
            self._forget(known)
            if number % FORGOTTEN_TOGETHER == 0:
                yield

    def _note(self, number: int) -> None:
        """Let the series of this number be saved, with its group."""
        group = number // GROUP_SERIES
        if group not in self._changed:
            is_first = not self._changed
            self._changed[group] = None
            if is_first:
                self.wake()

    # --- reading ---------------------------------------------------------------------------------

    def points(
        self, metric: MetricId, begin_seconds: float, end_seconds: float, period_seconds: int, unit: str | None = None
    ) -> Sequence[Datapoint]:
        """Datapoints in order of time; a period without observations has none. May give way. Raises StorageError.

        Periods follow one another from `begin_seconds` on, which is rounded (`tiers.first_period`). Minutes that begin
        before `end_seconds` count. A period is shown as long as a resolution is kept of which it is a multiple.
        `unit` None: each unit has datapoints of its own.
        """
        self.sources.read()
        found = [
            Datapoint(at_seconds, one, cell.statistics, cell.distribution)
            for one, cells in self._cells(metric, begin_seconds, end_seconds, period_seconds, unit)
            for at_seconds, cell in walk(cells)
        ]
        return sort(found, key=lambda point: (point.at_seconds, point.unit))

    def values(
        self,
        metric: MetricId,
        begin_seconds: float,
        end_seconds: float,
        period_seconds: int,
        statistic: Statistic,
        unit: str | None = None,
    ) -> Mapping[int, float | None]:
        """The statistic of each datapoint of `points`, by its time; of several units, the last one by name.

        Of what sources have recorded so far: `sources.read` lets them record.
        """
        of_units = self._cells(metric, begin_seconds, end_seconds, period_seconds, unit)
        return {at_seconds: statistic(cell) for _, cells in sorted(of_units) for at_seconds, cell in walk(cells)}

    def _cells(
        self, metric: MetricId, begin_seconds: float, end_seconds: float, period_seconds: int, unit: str | None
    ) -> Iterator[tuple[str, Sequence[tuple[int, Cell]]]]:
        """Each unit, with the begin of each period in which something was observed, and the period's cell. The
        parameters are those of `points`.
        """
        self._be_loaded()
        begin = first_shown(begin_seconds, end_seconds, period_seconds, self._clock.service_time())
        end = math.ceil(end_seconds)
        for known in list(self._table.units_of(metric).values()):
            if unit in (None, known.unit):
                cells = known.series.cells(begin, end, period_seconds)
                yield known.unit, [(begin + number * period_seconds, cell) for number, cell in walk(cells.items())]

    def find(
        self,
        account: str,
        region: str,
        namespace: str | None = None,
        name: str | None = None,
        dimensions: Sequence[tuple[str, str | None]] = (),
        past_seconds: float = METRIC_FOUND_SECONDS,
    ) -> Sequence[MetricId]:
        """Metrics with observations in the last `past_seconds`, and at least these dimensions,
        sorted; may give way. Value None: any.
        """
        self.sources.read()
        self._be_loaded()
        oldest_seconds = self._clock.service_time() - past_seconds
        found = walk(self._table.names.find(account, region, namespace, name))
        if dimensions:
            found = walk([metric for metric in found if has_these_dimensions(metric, dimensions)])
        return [metric for metric in found if self.last_seconds(metric) >= oldest_seconds]

    def last_seconds(self, metric: MetricId) -> float:
        """Time of the newest observation of a metric that is loaded; minus infinity if there is none."""
        return max([one.series.last_seconds for one in self._table.units_of(metric).values()], default=-math.inf)

    # --- keeping ---------------------------------------------------------------------------------

    def _see_content(self) -> None:
        """Begin to load everything if the store's content has not been loaded, or has been replaced."""
        if self._documents.generation != self._generation:
            self._generation = self._documents.generation
            self._loading.begin(self._load_pieces)
            self._waiting.clear()
            if self._loading.do_some():
                self.wake()

    def _be_loaded(self) -> None:
        """Load what is not loaded yet; may give way. Raises StorageError."""
        self._see_content()
        while self._loading.is_left:
            self._loading.finish()
            self._see_content()

    @property
    def is_loaded(self) -> bool:
        """True if all series are known that the store has."""
        return self._documents.generation == self._generation and not self._loading.is_left

    def counts(self) -> Sequence[tuple[SeriesPlace, int]]:
        """Accounts and Regions with metrics of services, and how many, in the order of their first ones."""
        return self._table.others.counts()

    def load_some(self) -> bool:
        """Load some series; returns True if there are more. Raises StorageError."""
        self._see_content()
        return self._loading.do_some()

    def _load_pieces(self) -> Iterator[None]:
        self._former.append(self._table)
        self._table = SeriesTable()
        self._changed.clear()
        self._to_look.clear()
        yield from self._drop_former()  # first, or they would be ever more while restores follow each other
        yield from load_series(self._documents, self._table, self._forget)
        while self._waiting:
            some, self._waiting = self._waiting[:WAITING_TOGETHER], self._waiting[WAITING_TOGETHER:]
            for record in some:
                record()
            if self._waiting:
                yield

    def drop(self) -> Iterator[None]:
        """Free what is known of metrics in pieces, once nobody asks for them any more."""
        self._former.append(self._table)
        return self._drop_former()

    def _drop_former(self) -> Iterator[None]:
        while self._former:
            yield from self._former[-1].drop()
            self._former.pop()

    @property
    def is_in_use(self) -> bool:
        """False if there are no sources, and nothing to save."""
        return bool(self.sources or self._changed or self._table.by_number)

    def begin_roll_ups(self) -> None:
        """Let the next calls of `save_some` look for old blocks in all series."""
        self._to_look = list(self._table.by_number)

    async def make_room(self) -> None:
        """Load what is not loaded, and save if more may have been recorded than memory is to hold;
        may give way. Raises StorageError.
        """
        self._be_loaded()
        if self._unsaved_bytes > METRIC_UNSAVED_BYTES_MAX:
            self._unsaved_bytes = 0
            await self.save()

    async def save(self) -> None:
        """Keep all that has been recorded; may give way. Raises StorageError."""
        self.sources.read()
        while await self.save_some():
            look()

    async def save_some(self) -> bool:
        """Save and roll up a group of series; returns True if there are more. Raises StorageError."""
        async with self._saving:
            self._be_loaded()
            self._look_for_old()
            if self._changed:
                await self._save_group(next(iter(self._changed)))
            if not self._changed:
                self._unsaved_bytes, self.has_much_to_save = 0, False
        return bool(self._changed or self._to_look)

    def _look_for_old(self) -> None:
        """Look for old blocks in some series."""
        now_seconds = self._clock.service_time()
        some, self._to_look = self._to_look[:SLICE_LOOKS], self._to_look[SLICE_LOOKS:]
        for number in some:
            known = self._table.by_number.get(number)
            if known is not None and known.series.is_due(now_seconds):
                self._note(number)

    async def _save_group(self, group: int) -> None:
        """Save and roll up the series of a group."""
        generation, now_seconds = self._generation, self._clock.service_time()
        numbers = range(group * GROUP_SERIES, (group + 1) * GROUP_SERIES)
        by_number = self._table.by_number
        group_series = [by_number[number] for number in numbers if number in by_number]
        removed = {number: self._table.removed[number] for number in numbers if number in self._table.removed}
        blocks: dict[tuple[int, BlockName], bytes | None] = {
            (number, name): None for number, series in removed.items() for name in series.kept_names
        }
        del self._changed[group]
        left = SLICE_BLOCKS
        taken: list[tuple[KnownSeries, dict[BlockName, bytes | None]]] = []
        try:
            for known in group_series:
                left -= known.series.roll_up(now_seconds, left)
                changes = known.series.take_changes()
                taken.append((known, changes))
                blocks |= {(known.number, name): block for name, block in changes.items()}
            stored = [known.stored() for known in group_series if not known.series.is_empty]
            is_written = await self._documents.write(group, stored, blocks, generation)
        except BaseException:
            self._changed.setdefault(group)
            raise
        if not is_written or generation != self._generation:
            return
        for number in removed:
            del self._table.removed[number]
        for known, changes in taken:
            known.series.have_kept(changes)
            if known.series.is_empty and known.number in by_number:
                self._table.remove(known)
                self._forget(known)
        if left == 0:
            self._changed[group] = None  # there may be more to roll up
