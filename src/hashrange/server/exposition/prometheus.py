"""How do metrics look to Prometheus? As families of prometheus-client, in its text form or in that of OpenMetrics, as the scraper asks.

The text of 2,500 tables has 22 MB and takes more than a second. So the samples that the library writes give way between them.
"""

from collections.abc import Iterable, Iterator
from math import inf, isinf

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample as WrittenSample

from hashrange.items.steps import spend, walk
from hashrange.server.exposition.families import (
    HISTOGRAM_STEPS,
    LATENCY_BOUNDS_SECONDS,
    Family,
    HistogramValue,
    Sample,
    families_of,
)
from hashrange.server.exposition.server_state import LookAtServer, Viewer

WRITTEN_AT_ONCE = 10
"""Samples that are written between two steps that may give way."""
WRITTEN_STEPS = 50
"""Steps that writing so many samples takes."""


class _PacedSamples(list[WrittenSample]):
    """Samples that give way while they are gone through."""

    def __iter__(self) -> Iterator[WrittenSample]:
        for place in range(0, len(self), WRITTEN_AT_ONCE):
            spend(WRITTEN_STEPS)
            yield from self[place : place + WRITTEN_AT_ONCE]


class ServerCollector(Collector):
    """Shows the server's families to prometheus-client, as they are when it asks."""

    def __init__(self, look: LookAtServer, viewer: Viewer | None) -> None:
        self._look, self._viewer = look, viewer

    def collect(self) -> Iterable[Metric]:
        """All families with their samples; may give way."""
        for family in families_of(self._look(self._viewer)):
            metric = _metric(family)
            metric.samples = _PacedSamples(metric.samples)
            yield metric


def _metric(family: Family) -> Metric:
    names = sorted({label for sample in family.samples for label in sample.labels})
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.documentation, labels=names)
        for sample in family.samples:
            spend(HISTOGRAM_STEPS)
            assert isinstance(sample.value, HistogramValue)
            histogram.add_metric(_values(sample, names), _buckets(sample.value), sample.value.sum)
        return histogram
    made: type[CounterMetricFamily | GaugeMetricFamily] = (
        CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    )
    metric = made(family.name, family.documentation, labels=names)
    for sample in walk(family.samples):
        assert isinstance(sample.value, float)
        metric.add_metric(_values(sample, names), sample.value)
    return metric


def _values(sample: Sample, names: Iterable[str]) -> list[str]:
    return [sample.labels.get(name, "") for name in names]


def _buckets(value: HistogramValue) -> list[tuple[str, float]]:
    """Upper bound of each bucket → values up to it."""
    found, so_far = [], 0.0
    for bound, count in zip([*LATENCY_BOUNDS_SECONDS, inf], value.counts, strict=True):
        so_far += count
        found.append(("+Inf" if isinf(bound) else repr(bound), so_far))
    return found


class Exposition:
    """The metrics of one server, and of its process."""

    def __init__(self, look: LookAtServer) -> None:
        self._look = look
        self._process = ProcessCollector(registry=None)

    def text(self, accept: str, viewer: Viewer | None = None) -> tuple[bytes, bytes]:
        """Body and content type of a reply to a request with this header Accept; may give way. `viewer` None: who sees all accounts."""
        encode, content_type = choose_encoder(accept)
        registry = CollectorRegistry()
        registry.register(ServerCollector(self._look, viewer))
        registry.register(self._process)
        return encode(registry), content_type.encode()
