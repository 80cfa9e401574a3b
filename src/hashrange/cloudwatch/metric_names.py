"""Which metrics does a caller have? Found by namespace and name, and in their order.

The dimensions of a metric are looked at one metric after the other.

No step hashes, compares or frees all metrics of a namespace: with 30 dimensions, that takes 1.4, 1.6 and 3 µs for each
of up to 100,000. New metrics are put in order only when somebody asks, because most are never asked for.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter, itemgetter

from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import spend

DROPPED_TOGETHER = 200
"""Metrics that one piece frees."""
RUN_METRICS_MAX = 500
"""Metrics of a run. Adding or removing one moves those behind it."""
ORDER_STEPS = 4
"""Steps of putting a metric in order; half a step more for each of its dimensions."""

_first_of = itemgetter(0)
_name_of = attrgetter("name")


class _Namespace:
    """The metrics of one namespace of an account and Region: each is new, or in one run."""

    __slots__ = ("_new", "_runs")

    def __init__(self) -> None:
        self._new: list[dict[MetricId, None]] = [{}]
        """Metrics that have not been put in order: those that searches put in order now, then the newest."""
        self._runs: list[list[MetricId]] = []
        """Metrics in order, all of one run before those of the next; no run is empty."""

    def add(self, metric: MetricId) -> None:
        """Add a metric, which must be new."""
        self._new[-1][metric] = None

    def remove(self, metric: MetricId) -> bool:
        """Remove a metric, which must be there; returns True if there are others."""
        for metrics in self._new:
            if metric in metrics:
                del metrics[metric]
                break
        else:
            place = self._place_of_run(metric)
            run = self._runs[place]
            del run[bisect_left(run, metric)]
            if not run:
                del self._runs[place]
        return bool(self._runs) or any(self._new)

    def _place_of_run(self, metric: MetricId) -> int:
        """Where the run is that has the metric, or may get it. There must be a run."""
        return max(bisect_right(self._runs, metric, key=_first_of) - 1, 0)

    def drop(self) -> Iterator[None]:
        """Free all metrics in pieces."""
        for metrics in list(self._new):  # a search that gave way may go on meanwhile
            while metrics:
                for _ in range(min(DROPPED_TOGETHER, len(metrics))):
                    metrics.popitem()
                yield
        while self._runs:
            del self._runs[-1][-DROPPED_TOGETHER:]
            if not self._runs[-1]:
                del self._runs[-1]
            yield

    def named(self, name: str | None) -> list[MetricId]:
        """The metrics of this name, or all, in order; the list is the caller's. May give way before it is made."""
        self._put_in_order()
        found: list[MetricId] = []
        if name is None:
            for run in self._runs:
                found += run
            return found
        place = bisect_left(self._runs, name, key=lambda run: run[-1].name)
        for run in self._runs[place:]:
            begin = bisect_left(run, name, key=_name_of)
            end = bisect_right(run, name, begin, key=_name_of)
            found += run[begin:end]
            if end < len(run):
                break
        return found

    def _put_in_order(self) -> None:
        """Put the metrics into runs that are new now; gives way. Metrics that are added meanwhile stay new: otherwise
        this might not end.
        """
        if self._new[-1]:
            self._new.append({})
        for metrics in self._new[:-1]:
            while metrics:
                metric, _ = metrics.popitem()
                self._put_into_run(metric)
                spend(ORDER_STEPS + len(metric.dimensions) // 2)
        self._new[:-1] = [metrics for metrics in self._new[:-1] if metrics]

    def _put_into_run(self, metric: MetricId) -> None:
        runs = self._runs
        if not runs:
            runs.append([metric])
            return
        place = self._place_of_run(metric)
        run = runs[place]
        insort(run, metric)
        if len(run) > RUN_METRICS_MAX:
            half = len(run) // 2
            runs.insert(place + 1, run[half:])
            del run[half:]


class MetricNames:
    """The metrics of all callers."""

    def __init__(self) -> None:
        self._callers: dict[tuple[str, str], dict[str, _Namespace]] = {}
        """Account and Region → namespace → its metrics."""

    def add(self, metric: MetricId) -> None:
        """Add a metric, which must be new."""
        namespaces = self._callers.setdefault((metric.account, metric.region), {})
        namespaces.setdefault(metric.namespace, _Namespace()).add(metric)

    def remove(self, metric: MetricId) -> None:
        """Remove a metric, which must be there."""
        caller = (metric.account, metric.region)
        namespaces = self._callers[caller]
        if not namespaces[metric.namespace].remove(metric):
            del namespaces[metric.namespace]
            if not namespaces:
                del self._callers[caller]

    def drop(self) -> Iterator[None]:
        """Free all metrics in pieces. The names are of no use any more."""
        for namespaces in self._callers.values():
            for namespace in namespaces.values():
                yield from namespace.drop()

    def find(self, account: str, region: str, namespace: str | None, name: str | None) -> list[MetricId]:
        """Metrics in order of namespace, name and dimensions; the list is the caller's.
        May give way. 1 ms for 100,000 that have been sorted.
        """
        namespaces = self._callers.get((account, region), {})
        wanted = sorted(namespaces) if namespace is None else [namespace] if namespace in namespaces else []
        return list(
            chain.from_iterable([one.named(name) for each in wanted if (one := namespaces.get(each)) is not None])
        )


def has_these_dimensions(metric: MetricId, dimensions: Sequence[tuple[str, str | None]]) -> bool:
    """True if each of these dimensions is among the metric's, with this value unless that is None."""
    own = dict(metric.dimensions)
    return all(name in own and value in (None, own[name]) for name, value in dimensions)
