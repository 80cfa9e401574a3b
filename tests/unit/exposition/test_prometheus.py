"""`GET /metrics`: what Prometheus reads is what clients have done."""

import asyncio
import base64
import gzip
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from prometheus_client.registry import Collector

from hashrange.clock import SystemClock
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import bucket_of
from hashrange.cloudwatch.statistic import of_value
from hashrange.cloudwatch.totals import MetricTotals
from hashrange.server.exposition.families import families_of
from hashrange.server.exposition.prometheus import exposed_text
from hashrange.server.exposition.server_state import ServerState
from hashrange.server.listener import Server, read_secrets
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.support.working import lines_between_looks
from tests.unit.testing.music import create

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]
MUSIC = ("account", "000000000000"), ("region", "us-east-1"), ("table_name", "music")
DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana-dashboard.json"


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        yield database


def read(database: Database, **headers: str) -> tuple[str, str]:
    """Content type and text of the metrics."""
    request = urllib.request.Request(f"{database.endpoint}/metrics", headers=headers)
    with urllib.request.urlopen(request) as reply:
        return reply.headers["Content-Type"], reply.read().decode()


def values_of(text: str) -> Values:
    """Name and labels → value."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in read_text(text)
        for sample in family.samples
    }


def value(values: Values, name: str, *labels: tuple[str, str]) -> float:
    return next(
        number
        for (other, own), number in values.items()
        if other == name and {k: v for k, v in own if v} == dict(labels)
    )


def test_counters_agree_with_consumed_capacity(database: Database) -> None:
    client = database.client()
    create(client)
    consumed = 0.0
    for number in range(5):
        reply = client.put_item(
            TableName="music",
            Item={"pk": {"S": str(number)}, "text": {"S": "x" * 700 * number}},
            ReturnConsumedCapacity="TOTAL",
        )
        consumed += reply["ConsumedCapacity"]["CapacityUnits"]
    client.get_item(TableName="music", Key={"pk": {"S": "4"}})
    values = values_of(read(database)[1])
    assert value(values, "hashrange_consumed_write_capacity_units_total", *MUSIC) == consumed
    assert value(values, "hashrange_consumed_read_capacity_units_total", *MUSIC) == 0.5
    latency = "hashrange_successful_request_latency_seconds"
    assert value(values, f"{latency}_count", *MUSIC, ("operation", "PutItem")) == 5
    assert value(values, f"{latency}_bucket", *MUSIC, ("operation", "PutItem"), ("le", "+Inf")) == 5
    assert value(values, f"{latency}_sum", *MUSIC, ("operation", "PutItem")) > 0
    assert value(values, "hashrange_tables") == 1
    assert value(values, "hashrange_commits_total") >= 6


def test_a_sum_counts_each_statement_once(database: Database) -> None:
    """The samples with the labels verb and operation_type were counted besides those without,
    so dashboards showed twice as many.
    """
    client = database.client()
    create(client)
    insert = "INSERT INTO music VALUE {'pk': 'a'}"
    client.batch_execute_statement(Statements=[{"Statement": insert}])
    client.execute_statement(Statement="SELECT * FROM music WHERE pk = 'a'")
    client.execute_transaction(TransactStatements=[{"Statement": insert.replace("'a'", "'b'")}])
    values = values_of(read(database)[1])
    counted = [number for (name, _), number in values.items() if name.endswith("_request_latency_seconds_count")]
    assert sum(counted) == 3
    assert sum(number for (name, _), number in values.items() if name == "hashrange_returned_item_count_total") == 1


def test_counters_only_grow_and_gauges_change(database: Database) -> None:
    client = database.client()
    create(
        client,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
    )
    client.get_item(TableName="music", Key={"pk": {"S": "4"}})
    first = values_of(read(database)[1])
    client.get_item(TableName="music", Key={"pk": {"S": "4"}})
    client.update_table(TableName="music", ProvisionedThroughput={"ReadCapacityUnits": 9, "WriteCapacityUnits": 3})
    second = values_of(read(database)[1])
    name = "hashrange_consumed_read_capacity_units_total"
    assert [value(one, name, *MUSIC) for one in (first, second)] == [0.5, 1.0]
    name = "hashrange_provisioned_read_capacity_units"
    assert [value(one, name, *MUSIC) for one in (first, second)] == [7, 9]


def test_openmetrics_is_returned_to_who_asks_for_it(database: Database) -> None:
    create(database.client())
    content_type, text = read(database, Accept="application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert {"hashrange_commits", "hashrange_connections"} <= {
        family.name
        for family in read_openmetrics(text)  # type: ignore[no-untyped-call]
    }


def test_the_text_is_compressed_for_who_asks(database: Database) -> None:
    client = database.client()
    create(client)
    client.get_item(TableName="music", Key={"pk": {"S": "a"}})
    client.put_item(TableName="music", Item={"pk": {"S": "a"}})
    request = urllib.request.Request(f"{database.endpoint}/metrics", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as reply:
        assert reply.headers.get_all("Content-Encoding") == ["gzip"]
        assert "hashrange_tables 1.0" in gzip.decompress(reply.read()).decode()


def test_other_methods_and_paths_are_not_the_metrics(database: Database) -> None:
    for method, path in (("POST", "/metrics"), ("GET", "/metrics/more")):
        request = urllib.request.Request(database.endpoint + path, method=method)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        assert caught.value.code == 404
        caught.value.close()


async def _status(settings: Settings, headers: dict[str, str]) -> int:
    """Status of a reply to who sends these headers."""
    service = await open_service(settings, SystemClock())
    server = Server(service, read_secrets(settings))
    endpoint = await server.start()
    request = urllib.request.Request(f"{endpoint}/metrics", headers=headers)
    try:
        return await asyncio.to_thread(_status_of, request)
    finally:
        await server.stop()
        await service.store.close()


def _status_of(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        assert error.headers["WWW-Authenticate"].startswith("Basic")
        error.close()
        return error.code


@pytest.mark.parametrize(
    ("user", "status"),
    [
        (None, 401),
        ("AKIDONE:wrong", 401),
        ("AKIDTWO:secret", 401),
        ("AKIDTWO:", 401),
        (":", 401),
        ("AKIDOLD:old", 401),
        ("AKIDTOKEN:token", 401),
        ("AKIDONE:secret", 200),
    ],
)
def test_with_credentials_a_scraper_needs_a_key(tmp_path: Path, user: str | None, status: int) -> None:
    keys = [
        {"access_key": "AKIDONE", "secret_key": "secret"},
        {"access_key": "AKIDOLD", "secret_key": "old", "expires": "2020-01-01T00:00:00Z"},
        {"access_key": "AKIDTOKEN", "secret_key": "token", "session_token": "more"},
    ]
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"credential": keys}))
    settings = Settings(port=0, data_dir=None, credentials=str(file))
    headers = {} if user is None else {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}
    found = asyncio.run(_status(settings, headers))
    assert found == status


def test_the_dashboard_names_metrics_that_exist(database: Database) -> None:
    """Of all that the dashboard shows, either something has been counted here, or the metric is one that
    CloudWatch's definitions know.
    """
    from hashrange.cloudwatch.dynamodb.definitions import ALL_METRICS
    from hashrange.server.exposition.families import family_name

    create(database.client())
    known = {family_name(one.name, one.unit) for one in ALL_METRICS}
    known |= {name.removesuffix("_total") for name, _ in values_of(read(database)[1])}
    dashboard: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for text in texts for name in re.findall(r"hashrange_[a-z_]+", text)}
    assert len(named) > 10
    assert {re.sub("_(total|seconds_count|seconds_bucket)$", "", name) for name in named} <= {
        name.removesuffix("_seconds") for name in known
    }


def _text_of_many_tables() -> Callable[[str], tuple[bytes, bytes]]:
    totals = MetricTotals()
    for number in range(100):
        table = ("TableName", f"table-{number}")
        place = ("000000000000", "us-east-1", "AWS/DynamoDB")
        totals.add(MetricId(*place, "ConsumedReadCapacityUnits", (table,)), "Count", of_value(1.0))
        latency = MetricId(*place, "SuccessfulRequestLatency", (("Operation", "GetItem"), table))
        totals.add(latency, "Milliseconds", of_value(1.0), {bucket_of(value): 1.0 for value in (0.5, 1.0, 20.0)})
    state = ServerState(0.0, 100, 1, 1, 1, totals.all(), {})
    return partial(exposed_text, lambda _: state)


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_the_metrics_of_many_tables_are_written_in_pieces(accept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2,500 tables a scrape held up all clients for 1.6 s; later only its end did, which joined,
    encoded and freed all, for 0.2 s.
    """
    text_of = _text_of_many_tables()
    text = text_of(accept)[0]
    assert text.count(b"\n") > 100 * 19
    assert lines_between_looks(lambda: text_of(accept)) < 20_000
    pieces: list[bytes] = []

    def choose(accepted: str) -> tuple[Callable[[Collector], bytes], str]:
        encode, content_type = choose_encoder(accepted)

        def note(collector: Collector) -> bytes:
            pieces.append(encode(collector))
            return pieces[-1]

        return note, content_type

    monkeypatch.setattr("hashrange.server.exposition.prometheus.choose_encoder", choose)
    text_of(accept)
    assert max(map(len, pieces)) < len(text) / 20


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_pieces_make_the_text_that_the_library_makes_in_one_go(accept: str) -> None:
    text = _text_of_many_tables()(accept)[0].decode()
    heads = [line for line in text.splitlines() if line.startswith("# HELP")]
    assert len(heads) == len(set(heads))
    assert text.count("# EOF") == accept.startswith("application")
    read: Any = read_openmetrics if accept.startswith("application") else read_text
    samples = {family.name: len(family.samples) for family in read(text)}
    assert samples["hashrange_successful_request_latency_seconds"] == 100 * 19
    assert samples["hashrange_consumed_read_capacity_units"] == 100
    assert any(name.startswith("process_") for name in samples)


def test_very_many_gauges_are_shown_in_pieces() -> None:
    """33,600 gauges, of 800 tables with twenty indexes, were one step of 0.5 s."""
    name = "ProvisionedReadCapacityUnits"
    gauges = {
        MetricId("000000000000", "us-east-1", "AWS/DynamoDB", name, (("TableName", f"t{number}"),)): 1.0
        for number in range(1_000)
    }
    assert 0 < lines_between_looks(lambda: list(families_of(ServerState(0.0, 100, 1, 1, 1, [], gauges)))) < 1_000
