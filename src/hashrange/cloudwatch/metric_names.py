"""Which metrics does a caller have? Found by namespace and name, and in their order.

The dimensions of a metric are looked at one metric after the other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from hashrange.cloudwatch.metric_id import MetricId
from hashrange.items.steps import sort

DROPPED_TOGETHER = 200
"""Metrics that one piece frees."""
SORTS_MAX = 3
"""How often metrics are sorted while others are added, before they are sorted without giving way:
nearly linear then."""


class _Namespace:
    """The metrics of one namespace of an account and Region."""

    __slots__ = ("_gone", "_is_sorted", "_metrics")

    def __init__(self) -> None:
        self._metrics: list[MetricId] = []
        self._gone: set[MetricId] = set()
        """Metrics that have been removed, and are still in `_metrics`: at most half of these."""
        self._is_sorted = True

    def add(self, metric: MetricId) -> None:
        """Add a metric, which must be new."""
        if metric in self._gone:
            self._gone.remove(metric)
            return
        self._metrics.append(metric)
        self._is_sorted = False

    def remove(self, metric: MetricId) -> bool:
        """Remove a metric; returns True if there are others."""
        self._gone.add(metric)
        if 2 * len(self._gone) > len(self._metrics):
            self._leave_out_gone()
        return bool(self._metrics)

    def _leave_out_gone(self) -> None:
        if self._gone:
            self._metrics = [metric for metric in self._metrics if metric not in self._gone]
            self._gone.clear()

    def drop(self) -> Iterator[None]:
        """Free all metrics in pieces."""
        while self._metrics:
            del self._metrics[-DROPPED_TOGETHER:]
            yield

    def named(self, name: str | None) -> list[MetricId]:
        """The metrics of this name, or all, in order; the list is the caller's."""
        metrics = self._sorted()
        if name is None:
            return metrics[:]
        begin = bisect_left(metrics, name, key=lambda metric: metric.name)
        return metrics[begin : bisect_right(metrics, name, begin, key=lambda metric: metric.name)]

    def _sorted(self) -> list[MetricId]:
        """All metrics in order; may give way. Sorting is nearly linear, unless many are new,
        because only these are out of order.
        """
        self._leave_out_gone()
        for _ in range(SORTS_MAX):
            if self._is_sorted:
                return self._metrics
            before, length = self._metrics, len(self._metrics)
            ordered = sort(before[:])
            if self._metrics is before:  # meanwhile, metrics have only been added, at its end
                self._metrics, self._is_sorted = ordered + before[length:], len(before) == length
            self._leave_out_gone()
        self._metrics.sort()
        self._is_sorted = True
        return self._metrics


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
