"""What does CloudWatch know of DAX's nodes? The metrics of AWS/DAX, by cluster and node, from what the nodes count.

A minute's counts are put aside when it is over, whether it passes or the clock is moved: what was counted before
belongs to the time before. They are recorded when somebody reads. Source: dax.md 3.
Metrics of what this server has not got (CPU credits, packets) are not recorded.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_MINUTE_SECONDS
from hashrange.cloudwatch.metric_id import Dimensions, MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.percentiles import distribution_of
from hashrange.cloudwatch.statistic import StatisticSet
from hashrange.dax.node_caches import NodeCaches
from hashrange.dax.node_host import NodePlace

NAMESPACE = "AWS/DAX"
BYTES = ("EvictedSize", "NetworkBytesIn", "NetworkBytesOut")
"""Metrics that are sums of bytes. Of all others that a node counts, each observation is 1."""


OWN_NAMESPACE, LATENCY = "Hashrange/DAX", "RequestLatency"
"""The service has no metric of latency for DAX, so this one is not in its namespace."""
RECORDED_TOGETHER = 4
"""Nodes that one piece records."""


class ObservedNode(NamedTuple):
    """A node that runs."""

    place: NodePlace
    caches: NodeCaches
    connections: Callable[[], int]


class _Seen(NamedTuple):
    """What a look has found at one node."""

    place: NodePlace
    counted_seconds: int
    """Begin of the minute of `counts` and latencies."""
    counts: Mapping[str, int]
    """What has been counted since the look before."""
    milliseconds: Counter[float]
    """Latency → requests that took so long."""
    total_seconds: float
    """Of all these requests together."""
    shown_seconds: int | None
    """Begin of the minute of the gauges; None: they have been seen in it before."""
    gauges: tuple[int, int, int]
    """Connections, memory in use, and memory, in bytes."""


class NodeMetrics:
    """Records the metrics of all nodes of a server."""

    def __init__(self, metrics: Metrics, now: Callable[[], float], nodes: Callable[[], list[ObservedNode]]) -> None:
        """`now`: service time. `nodes`: those that run now."""
        self._metrics = metrics
        self._now = now
        self._nodes = nodes
        self._counted: dict[NodeCaches, dict[str, int]] = {}
        """What each node had counted when it was last looked at. A node that starts again has new caches."""
        self._aside: deque[_Seen] = deque()
        """What has been seen, and is recorded when somebody reads."""
        self._has_new_node = False
        self._minute_seconds = self._minute_of(now())

    @staticmethod
    def _minute_of(seconds: float) -> int:
        return int(seconds // METRIC_MINUTE_SECONDS) * METRIC_MINUTE_SECONDS

    @property
    def seconds_left(self) -> float:
        """Service time until the minute is over."""
        return METRIC_MINUTE_SECONDS - self._now() % METRIC_MINUTE_SECONDS

    def started(self) -> None:
        """Note that a node has been started, or rebooted."""
        self._has_new_node = True

    def look(self) -> None:
        """Put aside what has been counted, if the minute is over or a node is new.

        In one step, because what comes next belongs to the next minute: 4 µs a node.
        """
        if self._has_new_node or self._minute_of(self._now()) != self._minute_seconds:
            self._look_at_all()

    def ended(self, node: ObservedNode) -> None:
        """Put aside what a node has counted that ends."""
        self.look()
        self._look_at(node, self._minute_seconds, is_new_minute=False)
        self._counted.pop(node.caches, None)

    def forget(self) -> None:
        """Forget what has been counted until now: the content of the store has been replaced."""
        self._look_at_all()
        self._aside.clear()

    def record(self, now_seconds: float) -> Iterator[None]:
        """Record what has been counted until now, each in its minute, and what gauges have shown, in pieces.
        A `RecordCounts`.
        """
        del now_seconds  # the clock may have been moved since, while another source gave way
        self._look_at_all()
        for number in count(1):
            if not self._aside:
                return
            seen = self._aside.popleft()
            self._record_counts(seen)
            if seen.shown_seconds is not None:
                self._record_gauges(seen, seen.shown_seconds)
            self._record_latencies(seen)
            if number % RECORDED_TOGETHER == 0:
                yield

    def _look_at_all(self) -> None:
        minute_seconds, self._minute_seconds = self._minute_seconds, self._minute_of(self._now())
        self._has_new_node = False
        for node in self._nodes():
            self._look_at(node, minute_seconds, is_new_minute=minute_seconds != self._minute_seconds)

    def _look_at(self, node: ObservedNode, counted_seconds: int, *, is_new_minute: bool) -> None:
        caches = node.caches
        counts = dict(
            caches.counts,
            EvictedSize=caches.lru.evicted_bytes,
            NetworkBytesIn=caches.received_bytes,
            NetworkBytesOut=caches.sent_bytes,
        )
        before = self._counted.get(caches)
        if not is_new_minute and counts == before:
            return
        self._counted[caches] = counts
        if before is not None:
            counts = {name: number - before.get(name, 0) for name, number in counts.items()}
        seen = _Seen(
            node.place,
            counted_seconds,
            counts,
            *caches.take_latencies(),
            self._minute_seconds if is_new_minute or before is None else None,
            (node.connections(), caches.lru.size_bytes, caches.memory_bytes),
        )
        self._aside.append(seen)

    def _record_counts(self, seen: _Seen) -> None:
        for name, more in seen.counts.items():
            if more:
                unit, times, value = ("Bytes", 1, more) if name in BYTES else ("Count", more, 1)
                observed = StatisticSet(float(times), float(more), float(value), float(value))
                self._record(seen.place, name, unit, seen.counted_seconds, observed)

    def _record_latencies(self, seen: _Seen) -> None:
        milliseconds = seen.milliseconds
        if not milliseconds:
            return
        total_ms = seen.total_seconds * 1000
        observed = StatisticSet(float(milliseconds.total()), total_ms, min(milliseconds), max(milliseconds))
        place = seen.place
        metric = MetricId(place.account, place.region, OWN_NAMESPACE, LATENCY, _node_dimensions(place))
        distribution = distribution_of(milliseconds.items())
        self._metrics.record(metric, "Milliseconds", seen.counted_seconds, observed, distribution)

    def _record_gauges(self, seen: _Seen, at_seconds: int) -> None:
        connections, size_bytes, memory_bytes = seen.gauges
        for name, unit, value in (
            ("ClientConnections", "Count", float(connections)),
            ("EstimatedDbSize", "Bytes", float(size_bytes)),
            ("CacheMemoryUtilization", "Percent", 100 * size_bytes / memory_bytes),
        ):
            self._record(seen.place, name, unit, at_seconds, StatisticSet(1.0, value, value, value))

    def _record(self, place: NodePlace, name: str, unit: str, at_seconds: int, observed: StatisticSet) -> None:
        for dimensions in (_node_dimensions(place), (("ClusterId", place.cluster),)):
            metric = MetricId(place.account, place.region, NAMESPACE, name, dimensions)
            self._metrics.record(metric, unit, at_seconds, observed)


def _node_dimensions(place: NodePlace) -> Dimensions:
    return (("ClusterId", place.cluster), ("NodeId", place.node_id))
