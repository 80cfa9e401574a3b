"""Metrics over OTLP: what a collector receives at the end is what clients have done."""

import json
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.testing.music import create


class Collector:
    """A collector on the loopback that keeps what it receives."""

    def __init__(self) -> None:
        self.received: list[ExportMetricsServiceRequest] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def values(self) -> dict[tuple[str, str], float]:
        """Name and operation → last value, of a histogram the number of values."""
        found = {}
        for resource in self.received[-1].resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = metric.histogram.data_points or metric.sum.data_points or metric.gauge.data_points
                    for point in points:
                        labels = {one.key: one.value.string_value for one in point.attributes}
                        value = point.count if metric.HasField("histogram") else point.as_double
                        found[metric.name, labels.get("operation", "")] = value
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_the_end_of_a_server_sends_all_that_was_counted(collector: Collector) -> None:
    with server(Settings(data_dir=None, otlp_endpoint=collector.url)) as database:
        assert database.endpoint
        client = database.client()
        create(client)
        for number in range(3):
            client.put_item(TableName="music", Item={"pk": {"S": str(number)}})
    values = collector.values()
    assert values["hashrange_consumed_write_capacity_units", ""] == 3
    assert values["hashrange_successful_request_latency_seconds", "PutItem"] == 3
    assert values["hashrange_tables", ""] == 1
    (resource,) = collector.received[-1].resource_metrics
    assert {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"] == "hashrange"


def test_a_collector_that_is_away_is_named_in_the_log_and_stops_nothing(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector_url = collector.url.replace("/v1/", "/nothing-listens/")
    collector.close()
    with server(Settings(data_dir=None, otlp_endpoint=collector_url)) as database:
        assert database.endpoint
    assert collector_url in caplog.text


def test_forks_send_nothing(collector: Collector) -> None:
    """Their metrics would be taken for those of the server; and its end waited for each of them."""
    with server(Settings(data_dir=None, admin=True, otlp_endpoint=collector.url)) as database:
        address = f"{database.endpoint}/_hashrange/v1/forks"
        with urllib.request.urlopen(urllib.request.Request(address, b"{}", method="POST")) as reply:
            port = json.loads(reply.read())["port"]
        urllib.request.urlopen(urllib.request.Request(f"{address}/{port}", method="DELETE")).close()
        assert collector.received == []
    assert len(collector.received) == 1
