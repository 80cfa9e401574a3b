"""Of which accounts and Regions are metrics of DynamoDB kept? Of all that have tables, and of some that have none,
so that nobody fills memory with invented ones.

Places without tables are of two kinds, each with a bound of its own: those whose last table has been deleted, and those
of which only refused requests are known. What the first have recorded stays readable until METRIC_PLACES_LEFT_MAX
others have come after them.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from hashrange.cloudwatch.dynamodb.definitions import DYNAMODB_NAMESPACE, USAGE_NAMESPACE
from hashrange.cloudwatch.dynamodb.gauges import ProvisionedUnits, account_gauges
from hashrange.cloudwatch.dynamodb.metric_ids import Place
from hashrange.cloudwatch.limits import METRIC_PLACE_SHOWN_SECONDS, METRIC_PLACES_LEFT_MAX, METRIC_PLACES_REFUSED_MAX
from hashrange.cloudwatch.metrics import Metrics
from hashrange.service.shown_gauges import ShownGauges

NAMESPACES = frozenset({DYNAMODB_NAMESPACE, USAGE_NAMESPACE})
"""Namespaces whose metrics are forgotten with their place."""
PLACES_TOGETHER = 20
"""Places that one piece looks at."""


class MetricPlaces:
    """The places of one store."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._tables: Counter[Place] = Counter()
        """How many tables there are, as of the last look into the catalog."""
        self._units: dict[Place, dict[int, ProvisionedUnits]] = {}
        """What the tables of a place take, by table id, as of the last change that has been settled;
        a place without tables is not in it."""
        self.shown: dict[Place, ShownGauges] = {}
        """What is shown of places with tables, and for some time of those whose last table has been deleted."""
        self._left: OrderedDict[Place, float] = OrderedDict()
        """Places whose last table has been deleted, the first one first → service time until
        which their gauges are shown."""
        self._refused: OrderedDict[Place, bool] = OrderedDict()
        """Places of which only refused requests are known, the last one last → True if something
        has been recorded of them."""
        self._gone: dict[Place, None] = {}
        """Places whose metrics are still to be forgotten."""
        self._has_seen_kept = False
        """True once the places of the metrics have been looked at that were there at the begin."""

    def give_up(self) -> Sequence[dict[Any, Any]]:
        """Forget what tables take and what is shown of them; returns what is left of it, to be freed."""
        left = self._units, self.shown
        self._units, self.shown = {}, {}
        return left

    def begin(self, tables: Mapping[Place, int]) -> None:
        """Forget what was known of tables; `tables`: how many there are in each place."""
        self.give_up()
        self._tables = Counter(tables)
        for place in [one for one in self._refused if one in tables]:
            del self._refused[place]
        self._left.clear()
        self._gone.clear()
        self._has_seen_kept = False

    # --- tables ----------------------------------------------------------------------------------

    def add_table(self, place: Place) -> None:
        """Note a new table, before what it changes is settled."""
        self._tables[place] += 1
        self._refused.pop(place, None)

    def remove_table(self, place: Place) -> None:
        """Note that a table is gone, before what that changes is settled."""
        self._tables[place] -= 1
        if not self._tables[place]:
            del self._tables[place]
            self._leave(place, inf)

    def set_units(self, place: Place, table_id: int, units: ProvisionedUnits | None) -> None:
        """Take over what a table takes; None: it is being deleted, or gone."""
        if units is not None:
            self._units.setdefault(place, {})[table_id] = units
            return
        of_tables = self._units.get(place)
        if of_tables is not None:
            of_tables.pop(table_id, None)
            if not of_tables:
                del self._units[place]

    def show(self, place: Place, at_seconds: float) -> None:
        """Show what the tables of a place take, from this moment on."""
        shown = self.shown.get(place)
        if shown is not None:
            self.record(place, shown, at_seconds)
        if place in self._units:
            self._left.pop(place, None)
        else:
            self._leave(place, at_seconds + METRIC_PLACE_SHOWN_SECONDS)
        shown = self.shown.setdefault(place, ShownGauges(at_seconds))
        shown.change(self._metrics, account_gauges(place, self._units.get(place, {}).values()), at_seconds)

    def _leave(self, place: Place, until_seconds: float) -> None:
        """Note that a place has no tables any more; its gauges are shown until this moment."""
        self._left[place] = until_seconds
        self._left.move_to_end(place)
        self._bound()

    def record(self, place: Place, shown: ShownGauges, now_seconds: float) -> None:
        """Record the gauges of a place that have become due by now;
        those of a place that has had no tables for some time end.
        """
        until_seconds = self._left.get(place)
        if until_seconds is None or now_seconds < until_seconds:
            shown.record(self._metrics, now_seconds)
            return
        shown.record(self._metrics, until_seconds)
        if self.shown.get(place) is shown:
            del self.shown[place]

    # --- refused requests ------------------------------------------------------------------------

    def note_refused(self, place: Place) -> Place | None:
        """Note that a request of this place was refused. Returns the place whose errors are not kept any more,
        because there are too many others.
        """
        if place in self._tables or place in self._left:
            return None
        refused = self._refused
        if place in refused:
            refused.move_to_end(place)
            return None
        refused[place] = False
        return self._bound()

    def keeps(self, place: Place) -> bool:
        """Asked before what was counted of a place is recorded; False: it is not to be recorded any more."""
        if place in self._refused:
            self._refused[place] = True
        return self._is_kept(place)

    # --- forgetting ------------------------------------------------------------------------------

    def _is_kept(self, place: Place) -> bool:
        return place in self._tables or place in self._units or place in self._left or place in self._refused

    def _bound(self) -> Place | None:
        """Keep no more places than there may be; returns the last one of which only refused requests were known,
        if any, that is not kept any more.
        """
        while len(self._left) > METRIC_PLACES_LEFT_MAX:
            oldest, _ = self._left.popitem(last=False)
            if oldest not in self._tables:
                self.shown.pop(oldest, None)
                self._gone[oldest] = None
        forgotten = None
        while len(self._refused) > METRIC_PLACES_REFUSED_MAX:
            forgotten, is_recorded = self._refused.popitem(last=False)
            if is_recorded:
                self._gone[forgotten] = None
        return forgotten

    def forget(self) -> Iterator[None]:
        """Forget the metrics of places that are not kept any more, in pieces."""
        if not self._has_seen_kept and self._metrics.is_loaded:
            self._has_seen_kept = True
            yield from self._see_kept(self._metrics.counts())
        while self._gone:
            place = next(iter(self._gone))
            del self._gone[place]
            pieces = self._metrics.forget(place, NAMESPACES)
            while not self._is_kept(place) and next(pieces, self) is not self:
                yield

    def _see_kept(self, counts: Sequence[tuple[tuple[str, str], int]]) -> Iterator[None]:
        """Take in the places of metrics that were there at the begin, before those that have come since.
        Whoever had a table has several metrics.
        """
        for number, (one, count) in enumerate(reversed(counts), 1):
            place = Place(*one)
            if place in self._refused:
                self._refused[place] = True
            elif not self._is_kept(place):
                if count > 1:
                    self._left[place] = 0.0
                    self._left.move_to_end(place, last=False)
                else:
                    self._refused[place] = True
                    self._refused.move_to_end(place, last=False)
                self._bound()
            if number % PLACES_TOGETHER == 0:
                yield
