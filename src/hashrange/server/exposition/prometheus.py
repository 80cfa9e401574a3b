"""How do metrics look to Prometheus? As families of prometheus-client, in its text form or in that
of OpenMetrics, as the scraper asks.

The text of 2,500 tables has 42 MB and takes seconds. The library writes, joins and frees a whole registry in one go, so
it is given a few samples at a time, and the work gives way in between, outside the library.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, isinf

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from hashrange.items.growing_bytes import GrowingBytes
from hashrange.items.steps import spend, walk
from hashrange.server.exposition import families
from hashrange.server.exposition.server_state import LookAtServer, Viewer

SAMPLES_AT_ONCE = 10
"""Samples of a counter or gauge that are written in one piece; histograms, of 19 lines each, are written one by one."""
PIECE_STEPS = 100
"""Steps that writing one piece takes."""
Encode = Callable[[Collector], bytes]
_PROCESS = ProcessCollector(registry=None)


class _Piece(Collector):
    """What the library writes in one call: one metric with some of its samples, or nothing."""

    def __init__(self, *metrics: Metric) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """The metric."""
        return self._metrics


def _write(family: families.Family, encode: Encode, tail_bytes: bytes, text: GrowingBytes) -> None:
    """Write a family, piece by piece, and free its samples as they are written; may give way."""
    names = sorted({label for sample in walk(family.samples) for label in sample.labels})
    head = encode(_Piece(_metric(family, names, ()))).removesuffix(tail_bytes)
    text.write(head)
    at_once = 1 if family.kind == "histogram" else SAMPLES_AT_ONCE
    for samples in _taken(family.samples, at_once):
        spend(PIECE_STEPS)
        text.write(encode(_Piece(_metric(family, names, samples))).removesuffix(tail_bytes).removeprefix(head))


def _taken(samples: list[families.Sample], at_once: int) -> Iterator[list[families.Sample]]:
    """The samples, a few at a time, which are taken out of the list: to free all in one call would take long."""
    samples.reverse()
    while samples:
        some = samples[-at_once:]
        some.reverse()
        del samples[-at_once:]
        yield some


def _metric(family: families.Family, names: Sequence[str], samples: Iterable[families.Sample]) -> Metric:
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.documentation, labels=names)
        for sample in samples:
            spend(families.HISTOGRAM_STEPS)
            assert isinstance(sample.value, families.HistogramValue)
            histogram.add_metric(_values(sample, names), _buckets(sample.value), sample.value.sum)
        return histogram
    made: type[CounterMetricFamily | GaugeMetricFamily] = (
        CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    )
    metric = made(family.name, family.documentation, labels=names)
    for sample in samples:
        assert isinstance(sample.value, float)
        metric.add_metric(_values(sample, names), sample.value)
    return metric


def _values(sample: families.Sample, names: Iterable[str]) -> list[str]:
    return [sample.labels.get(name, "") for name in names]


def _buckets(value: families.HistogramValue) -> list[tuple[str, float]]:
    """Upper bound of each bucket → values up to it."""
    found, so_far = [], 0.0
    for bound, count in zip([*families.LATENCY_BOUNDS_SECONDS, inf], value.counts, strict=True):
        so_far += count
        found.append(("+Inf" if isinf(bound) else repr(bound), so_far))
    return found


def exposed_text(look: LookAtServer, accept: str, viewer: Viewer | None = None) -> tuple[bytes, bytes]:
    """The metrics of one server, and of its process: body and content type of a reply to a request with this header
    Accept; may give way. `viewer` None: who sees all accounts.
    """
    encode, content_type = choose_encoder(accept)
    tail_bytes = encode(_Piece())
    text = GrowingBytes()
    for family in families.families_of(look(viewer)):
        _write(family, encode, tail_bytes, text)
    text.write(encode(_PROCESS))
    return text.getvalue(), content_type.encode()
