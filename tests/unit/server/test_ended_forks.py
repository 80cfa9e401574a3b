"""What has ended is freed at once: forks, with all that they can have, leave nothing to the garbage collector."""

import asyncio
import contextlib
import gc
import http.client
import io
import json
import sys
import time
import weakref
import zipfile
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import of_value
from hashrange.insights import insights
from hashrange.insights.feature import INSIGHTS
from hashrange.insights.insights import Insights
from hashrange.items.shared_work import SharedWork
from hashrange.server.app import run_on_best_loop
from hashrange.server.listener import Server, read_secrets
from hashrange.service.opening import open_service
from hashrange.service.taken_apart import parts_of
from hashrange.settings import Settings
from hashrange.store.embedded import vector_memory
from hashrange.store.embedded.stored_part import StoredPart
from hashrange.vectors.loaded_part import LoadedPart
from tests.support.signing import sign
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.server.listening import run_on_asyncio

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
TABLE = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    "StreamSpecification": STREAM,
}
ALARM = {
    "AlarmName": "many",
    "Namespace": "AWS/DynamoDB",
    "MetricName": "ConsumedWriteCapacityUnits",
    "Period": 60,
    "Threshold": 1.0,
    "Statistic": "Sum",
    "EvaluationPeriods": 1,
    "ComparisonOperator": "GreaterThanThreshold",
    "Dimensions": [{"Name": "TableName", "Value": "orders"}],
}
SCALING = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/orders",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    "MinCapacity": 1,
    "MaxCapacity": 9,
}
PREFIXES = {
    "dynamodb": "DynamoDB_20120810", "monitoring": "GraniteServiceVersion20100801", "dax": "AmazonDAXV3",
    "application-autoscaling": "AnyScaleFrontendService",
}  # fmt: skip
Scenario = Callable[[Server, int], Awaitable[None]]


clients: list["Client"] = []
"""All that a test has made."""


class Client:
    """A client on another thread, which keeps its connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        clients.append(self)

    async def __call__(self, operation: str, members: Any, service: str = "dynamodb") -> Any:
        target = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{PREFIXES[service]}.{operation}"}
        return await self.send("POST", "/", members, service, target)

    async def send(
        self, method: str, path: str, members: Any, service: str = "lambda", more: dict[str, str] | None = None
    ) -> Any:
        body = b"" if members is None else json.dumps(members).encode()
        headers = {"Host": f"127.0.0.1:{self.port}", **(more or {"Content-Type": "application/json"})}
        signed = sign(headers, body, seconds=time.time(), service=service, method=method, path=path)
        return await asyncio.to_thread(self._exchange, method, path, body, signed)

    def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        assert reply.status < 300, content
        return json.loads(content or b"{}")


@pytest.fixture(autouse=True)
def without_collector(only_new_garbage: None) -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    while clients:
        clients.pop().connection.close()


@pytest.fixture(params=[run_on_best_loop, run_on_asyncio], ids=["best-loop", "asyncio"])
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    """play(scenario, **settings): runs the scenario against a started server with the admin API."""

    async def serve(scenario: Scenario, settings: Settings) -> None:
        service = await open_service(settings, MovableClock(SystemClock()))
        server = Server(service, read_secrets(settings))
        try:
            endpoint = await server.start()
            async with asyncio.timeout(PATIENCE_SECONDS):
                await scenario(server, int(endpoint.rpartition(":")[2]))
        finally:
            await server.stop()
            await service.store.close()

    def run(scenario: Scenario, data_dir: Path | None = None, **settings: Any) -> None:
        where = None if data_dir is None else str(data_dir)
        request.param(serve(scenario, Settings(port=0, admin=True, data_dir=where, **settings)))

    return run


def seen(server: Server, port: int) -> list[weakref.ref[object]]:
    """What must not live longer than the fork."""
    fork = server.forks._open[port]
    return [weakref.ref(one) for one in parts_of(fork.server, fork.service)]


def names_of_living(refs: list[weakref.ref[object]]) -> list[str]:
    return [type(one).__qualname__ for ref in refs if (one := ref()) is not None]


async def ended(server: Server, *ports: int) -> list[str]:
    """End forks; returns what is left of them."""
    refs = [ref for port in ports for ref in seen(server, port)]
    assert len(refs) > 50
    for port in ports:
        await server.forks.end(port)
    with contextlib.suppress(TimeoutError):
        await until(
            lambda: not names_of_living(refs)
        )  # the thread that has closed the engine lets go of the store in its own time
    return names_of_living(refs)


def test_a_fork_that_nobody_used_leaves_nothing(play: Callable[..., None]) -> None:
    async def scenario(server: Server, port: int) -> None:
        assert await ended(server, await server.forks.start(None)) == []

    play(scenario)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_a_used_fork_leaves_nothing(play: Callable[..., None], tmp_path: Path, is_on_disk: bool) -> None:
    async def scenario(server: Server, port: int) -> None:
        await Client(port)("CreateTable", TABLE)
        forks = [await server.forks.start(None) for _ in range(2)]
        for one in forks:
            client = Client(one)
            await client("PutItem", {"TableName": "orders", "Item": {"id": {"S": "a"}}})
            await client("Scan", {"TableName": "orders"})
            await client(
                "PutMetricData",
                {"Namespace": "shop", "MetricData": [{"MetricName": "sold", "Value": 1.0}]},
                "monitoring",
            )
        assert await ended(server, *forks) == []
        await Client(port)("Scan", {"TableName": "orders"})

    play(scenario, tmp_path / "data" if is_on_disk else None)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_the_end_of_a_fork_neither_loads_nor_saves_metrics(
    play: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_disk: bool
) -> None:
    """Everybody waited for the loading and saving of 20,000 metrics, 0.8 s, which were deleted a moment later."""
    calls: list[str] = []

    async def save_some(metrics: Metrics) -> bool:
        calls.append("save")
        return False

    def finish(work: SharedWork) -> None:
        calls.append("load")

    async def scenario(server: Server, port: int) -> None:
        forks = [await server.forks.start(None) for _ in range(2)]
        for name in ("sold", "bought"):
            data = {"Namespace": "shop", "MetricData": [{"MetricName": name, "Value": 1.0}]}
            await Client(forks[0])("PutMetricData", data, "monitoring")
        with monkeypatch.context() as patched:
            patched.setattr(Metrics, "save_some", save_some)
            patched.setattr(SharedWork, "finish", finish)
            for one in forks:
                await server.forks.end(one)
        assert calls == []

    play(scenario, tmp_path / "data" if is_on_disk else None)


def test_the_metrics_of_an_ended_fork_are_freed_in_pieces(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 20,000 at once would hold others up for 70 ms."""
    turns: list[int] = []
    drop = Metrics.drop

    def counted(metrics: Metrics) -> Iterator[None]:
        for piece in drop(metrics):
            turns.append(len(metrics._table.by_number))
            yield piece
        turns.append(len(metrics._table.by_number))

    async def scenario(server: Server, port: int) -> None:
        fork = await server.forks.start(None)
        metrics = server.forks._open[fork].service.features.part(METRICS)
        one = of_value(1.0)
        for number in range(500):
            metrics.record(MetricId("0" * 12, "us-east-1", "shop", f"m{number}", ()), "None", 0.0, one)
        monkeypatch.setattr(Metrics, "drop", counted)
        await server.forks.end(fork)
        assert turns == [300, 100, 0, *[0] * 3, 0]  # the series, then their names

    play(scenario)


def test_what_an_ended_fork_watched_is_freed_in_pieces(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watches of 768 tables at once would hold others up for 30 ms."""
    left: list[int] = []
    drop = Insights.drop

    def counted(insights: Insights) -> Iterator[None]:
        for piece in drop(insights):
            left.append(len(insights._former))
            yield piece

    async def scenario(server: Server, port: int) -> None:
        client = Client(port)
        for number in range(5):
            name = f"orders{number}"
            await client("CreateTable", TABLE | {"TableName": name})
            await client("UpdateContributorInsights", {"TableName": name, "ContributorInsightsAction": "ENABLE"})
        fork = await server.forks.start(None)
        watched = server.forks._open[fork].service.features.part(INSIGHTS).insights
        await until(lambda: len(watched._watched) == 5)
        monkeypatch.setattr(insights, "FREED_TOGETHER", 2)
        monkeypatch.setattr(Insights, "drop", counted)
        await server.forks.end(fork)
        assert left == [3, 1, 0]

    play(scenario)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_the_vectors_of_an_ended_fork_are_freed_in_pieces(
    play: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_disk: bool
) -> None:
    """60,000 parts at once held others up for a quarter of a second."""
    monkeypatch.setattr(vector_memory, "LET_GO_PARTS", 2)
    living: weakref.WeakSet[LoadedPart] = weakref.WeakSet()
    seen_counts: list[int] = []

    def add_parts(store: Any, count: int) -> None:
        for number in range(count):
            part = StoredPart(b"source%d" % number, LoadedPart("COSINE", 2), (), lambda _: b"", b"")
            store.site.vector_parts.add(part)
            living.add(part.entries)

    def look() -> None:
        seen_counts.append(len(living))
        if seen_counts[-1] > 1:
            asyncio.get_running_loop().call_soon(look)

    async def scenario(server: Server, port: int) -> None:
        own: Any = server.service.store
        add_parts(own, 1)
        fork = await server.forks.start(None)
        add_parts(server.forks._open[fork].service.store, 20)
        look()
        assert await ended(server, fork) == []
        assert len(living) == 1
        assert seen_counts[0] == 21
        assert max(before - after for before, after in pairwise(seen_counts)) <= 2
        assert len(own.site.vector_parts) == 1
        memory = own.site.vector_parts._memory
        assert memory.used_bytes == sum(part.counted_bytes for part in memory._groups)
        assert len(memory._groups) == 1

    play(scenario, tmp_path / "data" if is_on_disk else None)


def zipped() -> str:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("app.py", "def handler(event, context):\n    return 1\n")
    return b64encode(file.getvalue()).decode()


async def use_everything(port: int) -> Client:
    """Use what a server can have, on a connection that stays open."""
    client = Client(port)
    await client("PutItem", {"TableName": "orders", "Item": {"id": {"S": "a"}}})
    await client("PutMetricAlarm", ALARM, "monitoring")
    await client("DescribeAlarms", {}, "monitoring")
    await client("RegisterScalableTarget", SCALING, "application-autoscaling")
    await client("UpdateContributorInsights", {"TableName": "orders", "ContributorInsightsAction": "ENABLE"})
    await client("DescribeClusters", {}, "dax")
    python = f"python3.{sys.version_info.minor}"
    await client.send(
        "POST", "/2015-03-31/functions",
        {
            "FunctionName": "follow", "Runtime": python, "Role": "arn:aws:iam::000000000000:role/handlers",
            "Handler": "app.handler", "Code": {"ZipFile": zipped()},
        },
    )  # fmt: skip
    arn = (await client("DescribeTable", {"TableName": "orders"}))["Table"]["LatestStreamArn"]
    mapping = {"FunctionName": "follow", "EventSourceArn": arn, "StartingPosition": "TRIM_HORIZON"}
    await client.send("POST", "/2015-03-31/event-source-mappings", mapping)
    await client("PutItem", {"TableName": "orders", "Item": {"id": {"S": "b"}}})
    return client


def test_a_fork_that_used_everything_leaves_nothing(play: Callable[..., None]) -> None:
    async def scenario(server: Server, port: int) -> None:
        await Client(port)("CreateTable", TABLE)
        first, second = await server.forks.start(None), await server.forks.start(None)
        await use_everything(first)
        stays = await use_everything(second)
        assert await ended(server, first) == []
        await use_everything(port)
        await stays("Scan", {"TableName": "orders"})
        assert await ended(server, second) == []
        await Client(port)("Scan", {"TableName": "orders"})

    play(scenario, functions=True, dax_port=0, throughput="enforced", access_log=False)


def test_no_part_of_a_fork_is_a_part_of_its_server(play: Callable[..., None]) -> None:
    """What is taken apart belongs to the fork alone."""

    async def scenario(server: Server, port: int) -> None:
        await Client(port)("CreateTable", TABLE)
        forks = [await server.forks.start(None) for _ in range(2)]
        for one in (port, *forks):
            await use_everything(one)
        parts = [parts_of(fork.server, fork.service) for fork in server.forks._open.values()]
        parts.append(parts_of(server, server.service))
        ids = [id(one) for some in parts for one in some]
        assert len(set(ids)) == len(ids) > 200

    play(scenario, functions=True, dax_port=0, throughput="enforced")
