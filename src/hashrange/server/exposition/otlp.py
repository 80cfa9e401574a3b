"""How do metrics reach an OpenTelemetry collector? They are sent over OTLP once a minute, and at the end,
by the OpenTelemetry SDK's exporter on a thread.

The SDK's variables hold, such as `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`.
Source: OpenTelemetry, *Metrics data model*.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from hashrange import __version__
from hashrange.clock import Clock
from hashrange.items.steps import spend
from hashrange.server.exposition.families import LATENCY_BOUNDS_SECONDS, Family, HistogramValue, Sample, families_of
from hashrange.server.exposition.server_state import LookAtServer

INTERVAL_SECONDS = 60.0
TIMEOUT_SECONDS = 10.0
"""Longest time that sending may take."""
POINT_STEPS = 5
"""Steps that making one point takes."""
CollectInTurns = Callable[[Coroutine[Any, Any, export.MetricsData]], Awaitable[export.MetricsData]]
_NANOSECONDS = 1_000_000_000
_log = logging.getLogger("hashrange.metrics")


class OtlpExport:
    """Sends the metrics of one server to one collector."""

    def __init__(
        self, endpoint: str, look: LookAtServer, clock: Clock, in_turns: CollectInTurns = lambda work: work
    ) -> None:
        """`endpoint`: URL that takes metrics, such as `http://localhost:4318/v1/metrics`.
        `in_turns` runs a coroutine so that it gives way to requests.
        """
        self._in_turns = in_turns
        self._exporter = OTLPMetricExporter(endpoint=endpoint, timeout=TIMEOUT_SECONDS)
        self._endpoint = endpoint
        self._look = look
        self._clock = clock
        self._resource = Resource.create({SERVICE_NAME: "hashrange", "service.version": __version__})
        self._begin_nanoseconds = int(clock.wall_time() * _NANOSECONDS)
        self._task: asyncio.Task[None] | None = None
        self._has_failed = False

    def start(self) -> None:
        """Send regularly from now on, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._send_regularly(), name="hashrange-otlp")

    async def stop(self) -> None:
        """Send once more, and end."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        self._task = None
        await self.send()
        await asyncio.to_thread(self._exporter.shutdown)

    async def _send_regularly(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            await self.send()

    async def send(self) -> None:
        """Send what has been counted so far. A failure is logged, the first in a row only."""
        data = await self._in_turns(self._collected())
        try:
            result = await asyncio.to_thread(self._exporter.export, data)
        except Exception as error:  # noqa: BLE001 - whatever the exporter's libraries raise: the server goes on
            _log.debug("metrics could not be sent", exc_info=error)
            result = export.MetricExportResult.FAILURE
        has_failed = result is not export.MetricExportResult.SUCCESS
        if has_failed and not self._has_failed:
            _log.warning("metrics could not be sent to %s; it is tried again", self._endpoint)
        self._has_failed = has_failed

    async def _collected(self) -> export.MetricsData:
        """The metrics now; may give way: those of 2,000 tables take 0.2 s."""
        families = families_of(self._look(None))
        now_nanoseconds = int(self._clock.wall_time() * _NANOSECONDS)
        metrics = [self._metric(family, now_nanoseconds) for family in families]
        scope = export.ScopeMetrics(InstrumentationScope("hashrange", __version__), metrics, "")
        return export.MetricsData([export.ResourceMetrics(self._resource, [scope], "")])

    def _metric(self, family: Family, now_nanoseconds: int) -> export.Metric:
        unit = "s" if family.name.endswith("_seconds") else "1"
        data: export.Sum | export.Gauge | export.Histogram
        if family.kind == "histogram":
            histograms = [self._histogram_point(sample, now_nanoseconds) for sample in family.samples]
            data = export.Histogram(histograms, export.AggregationTemporality.CUMULATIVE)
        else:
            points = [self._number_point(sample, now_nanoseconds) for sample in family.samples]
            data = export.Gauge(points)
            if family.kind == "counter":
                data = export.Sum(points, export.AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return export.Metric(family.name, family.documentation, unit, data)

    def _number_point(self, sample: Sample, now_nanoseconds: int) -> export.NumberDataPoint:
        assert isinstance(sample.value, float)
        spend(POINT_STEPS)
        return export.NumberDataPoint(sample.labels, self._begin_nanoseconds, now_nanoseconds, sample.value)

    def _histogram_point(self, sample: Sample, now_nanoseconds: int) -> export.HistogramDataPoint:
        value = sample.value
        assert isinstance(value, HistogramValue)
        spend(POINT_STEPS)
        return export.HistogramDataPoint(
            attributes=sample.labels,
            start_time_unix_nano=self._begin_nanoseconds,
            time_unix_nano=now_nanoseconds,
            count=int(sum(value.counts)),
            sum=value.sum,
            bucket_counts=[int(count) for count in value.counts],
            explicit_bounds=LATENCY_BOUNDS_SECONDS,
            min=value.minimum,
            max=value.maximum,
        )
