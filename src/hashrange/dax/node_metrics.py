"""What does CloudWatch know of DAX's nodes? The metrics of AWS/DAX, by cluster and node, from what the nodes count.

A minute's counts are recorded when it is over, when somebody reads, and when the clock is moved:
what was counted before belongs to the time before. Source: dax.md 3.
Metrics of what this server has not got (CPU credits, packets) are not recorded.
"""

from collections.abc import Callable, Mapping
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


class ObservedNode(NamedTuple):
    """A node that runs."""

    place: NodePlace
    caches: NodeCaches
    connections: Callable[[], int]


class NodeMetrics:
    """Records the metrics of all nodes of a server."""

    def __init__(self, metrics: Metrics, now: Callable[[], float], nodes: Callable[[], list[ObservedNode]]) -> None:
        """`now`: service time. `nodes`: those that run now."""
        self._metrics = metrics
        self._now = now
        self._nodes = nodes
        self._recorded: dict[NodeCaches, dict[str, int]] = {}
        """What has been recorded of the counts of each node. A node that starts again has new caches."""
        self._minute_seconds = self._minute_of(now())

    @staticmethod
    def _minute_of(seconds: float) -> int:
        return int(seconds // METRIC_MINUTE_SECONDS) * METRIC_MINUTE_SECONDS

    @property
    def seconds_left(self) -> float:
        """Service time until the minute is over."""
        return METRIC_MINUTE_SECONDS - self._now() % METRIC_MINUTE_SECONDS

    def record(self, now_seconds: float) -> None:
        """Record what has been counted since the last call, in the minute of that,
        and what gauges show. A `RecordCounts`.
        """
        minute_seconds, self._minute_seconds = self._minute_seconds, self._minute_of(now_seconds)
        known: dict[NodeCaches, dict[str, int]] = {}
        for node in self._nodes():
            caches = node.caches
            counts = dict(
                caches.counts,
                EvictedSize=caches.evicted_bytes,
                NetworkBytesIn=caches.received_bytes,
                NetworkBytesOut=caches.sent_bytes,
            )
            before = self._recorded.get(caches, {})
            self._record_counts(node, counts, before, minute_seconds)
            if minute_seconds != self._minute_seconds or not before:
                self._record_gauges(node, self._minute_seconds)
            self._record_latencies(node, minute_seconds)
            known[caches] = counts
        self._recorded = known

    def _record_counts(
        self, node: ObservedNode, counts: Mapping[str, int], before: Mapping[str, int], at_seconds: int
    ) -> None:
        for name, count in counts.items():
            more = count - before.get(name, 0)
            if more:
                unit, times, value = ("Bytes", 1, more) if name in BYTES else ("Count", more, 1)
                observed = StatisticSet(float(times), float(more), float(value), float(value))
                self._record(node, name, unit, at_seconds, observed)

    def _record_latencies(self, node: ObservedNode, at_seconds: int) -> None:
        milliseconds, total_seconds = node.caches.take_latencies()
        if not milliseconds:
            return
        observed = StatisticSet(float(milliseconds.total()), total_seconds * 1000, min(milliseconds), max(milliseconds))
        metric = MetricId(node.place.account, node.place.region, OWN_NAMESPACE, LATENCY, _node_dimensions(node))
        self._metrics.record(metric, "Milliseconds", at_seconds, observed, distribution_of(milliseconds.items()))

    def _record_gauges(self, node: ObservedNode, at_seconds: int) -> None:
        caches = node.caches
        for name, unit, value in (
            ("ClientConnections", "Count", float(node.connections())),
            ("EstimatedDbSize", "Bytes", float(caches.size_bytes)),
            ("CacheMemoryUtilization", "Percent", 100 * caches.size_bytes / caches.memory_bytes),
        ):
            self._record(node, name, unit, at_seconds, StatisticSet(1.0, value, value, value))

    def _record(self, node: ObservedNode, name: str, unit: str, at_seconds: int, observed: StatisticSet) -> None:
        for dimensions in (_node_dimensions(node), (("ClusterId", node.place.cluster),)):
            metric = MetricId(node.place.account, node.place.region, NAMESPACE, name, dimensions)
            self._metrics.record(metric, unit, at_seconds, observed)


def _node_dimensions(node: ObservedNode) -> Dimensions:
    return (("ClusterId", node.place.cluster), ("NodeId", node.place.node_id))
