"""Plain readers of a stream: boto3, and the SDKs for JavaScript and Java, read all shards and must
receive the same records.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.boto3_stream import StreamReader, plain
from tests.clients.programs import heard, java, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.clients.streaming import TABLE, Change, Journal
from tests.support.waiting import wait_until

PARTITION_BYTES = 65_536
ITEMS = 200
PARTITIONS = 4
"""Number of partitions after ITEMS items of a bit more than 1,000 bytes."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server whose partitions split early."""
    running = ServerProcess(None, "--partition-size", str(PARTITION_BYTES))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def journal(server: ServerProcess) -> Journal:
    """A table whose partitions have split three times."""
    made = Journal(server.endpoint)
    made.put(range(ITEMS))
    wait_until(lambda: len(made.open_shards()) == PARTITIONS)
    made.put(range(50, ITEMS))
    made.remove(range(0, ITEMS, 20))
    return made


@pytest.fixture(scope="module")
def boto3_heard(server: ServerProcess, journal: Journal) -> list[dict[str, Any]]:
    """The records that boto3 receives."""
    del journal
    return StreamReader(server.endpoint, TABLE).read()


def test_boto3_hears_every_change_through_splits(journal: Journal, boto3_heard: list[dict[str, Any]]) -> None:
    journal.check([change_of(record) for shard in boto3_heard for record in shard["records"]])
    ended = {shard["shard"]: shard["ended"] for shard in boto3_heard}
    assert ended == {one["ShardId"]: is_closed(one) for one in journal.shards()}
    assert sum(ended.values()) == PARTITIONS - 1
    first = boto3_heard[0]["records"][0]
    assert first["dynamodb"]["NewImage"] == plain(journal.item(0, version=1))
    assert (first["eventSource"], first["eventVersion"], first["awsRegion"]) == ("aws:dynamodb", "1.1", "eu-west-1")


@pytest.mark.packaging
def test_javascript_hears_what_boto3_hears(server: ServerProcess, boto3_heard: list[dict[str, Any]]) -> None:
    folder = HERE / "javascript"
    assert heard([node(folder), "--no-warnings", "stream.mjs", server.endpoint, TABLE], folder) == boto3_heard


@pytest.mark.packaging
def test_java_hears_what_boto3_hears(server: ServerProcess, boto3_heard: list[dict[str, Any]]) -> None:
    folder = HERE / "java"
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    command = [java(folder), "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.StreamReader", server.endpoint, TABLE]
    assert heard(command, folder) == boto3_heard


def is_closed(shard: dict[str, Any]) -> bool:
    return "EndingSequenceNumber" in shard["SequenceNumberRange"]


def change_of(record: dict[str, Any]) -> Change:
    found = record["dynamodb"]
    image = found.get("NewImage", found.get("OldImage"))
    return Change(record["eventName"], found["Keys"]["pk"]["S"], int(image["version"]["N"]), found["SequenceNumber"])
