"""DisableKinesisStreamingDestination: only an ACTIVE destination is disabled; earlier changes still arrive."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.kinesis_server import (
    DISABLE,
    MICROSECOND,
    NOT_ACTIVE,
    OTHER,
    STREAM,
    KinesisServer,
    kinesis_server,
)
from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient
from tests.support.stores import STORES
from tests.support.waiting import wait_until


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[KinesisServer]:
    if request.config.getoption("--endpoint", default=None) is not None:
        pytest.skip("another server has no Kinesis of ours")
    with kinesis_server(request.param) as running:
        yield running


@pytest.mark.parametrize("configuration", [{}, {"EnableKinesisStreamingConfiguration": {}}])
def test_a_destination_is_disabled(server: KinesisServer, configuration: dict[str, Any]) -> None:
    name = server.enabled()
    for value in ("1", "2"):
        server.client.put_item(TableName=name, Item={"id": {"S": "a"}, "v": {"N": value}})
    reply = server.raw(DISABLE, {"TableName": name, "StreamArn": STREAM} | configuration)
    assert (reply.status, reply.json()) == (
        200,
        {"TableName": name, "StreamArn": STREAM, "DestinationStatus": "DISABLING"},
    )
    assert server.destinations(name) == [{"StreamArn": STREAM, "DestinationStatus": "DISABLED"}]
    server.client.put_item(TableName=name, Item={"id": {"S": "a"}, "v": {"N": "3"}})
    server.enable(name)
    server.client.put_item(TableName=name, Item={"id": {"S": "a"}, "v": {"N": "4"}})

    def values() -> list[str]:
        changes = [one["dynamodb"]["NewImage"] for one in server.kinesis.changes() if one["tableName"] == name]
        return [one["v"]["N"] for one in changes]

    wait_until(lambda: "4" in values())
    assert values() == ["1", "2", "4"]


@pytest.mark.parametrize("arn", [OTHER, "not-an-arn"])
def test_another_stream_is_not_disabled(server: KinesisServer, arn: str) -> None:
    name = server.enabled()
    assert validation(server.raw, DISABLE, {"TableName": name, "StreamArn": arn}) == NOT_ACTIVE
    assert [one["DestinationStatus"] for one in server.destinations(name)] == ["ACTIVE"]


def test_an_ended_destination_is_not_disabled_again(server: KinesisServer) -> None:
    name = server.enabled()
    server.client.disable_kinesis_streaming_destination(TableName=name, StreamArn=STREAM)
    assert validation(server.raw, DISABLE, {"TableName": name, "StreamArn": STREAM}) == NOT_ACTIVE
    server.enable(name, "arn:aws:kinesis:us-east-1:000000000000:stream/missing")
    request = {"TableName": name, "StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/missing"}
    assert validation(server.raw, DISABLE, request) == NOT_ACTIVE


def test_a_precision_is_refused(server: KinesisServer) -> None:
    name = server.enabled()
    request = {"TableName": name, "StreamArn": STREAM, "EnableKinesisStreamingConfiguration": MICROSECOND}
    assert validation(server.raw, DISABLE, request) == (
        "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters"
    )
    assert [one["DestinationStatus"] for one in server.destinations(name)] == ["ACTIVE"]


def test_no_destination(raw: RawClient) -> None:
    name = fresh_name()
    arn = raw("CreateTable", create_request(name)).json()["TableDescription"]["TableArn"]
    for table in (name, arn):
        assert validation(raw, DISABLE, {"TableName": table, "StreamArn": STREAM}) == NOT_ACTIVE


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, DISABLE, {"TableName": "nothing.here", "StreamArn": STREAM}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


def test_constraints(raw: RawClient) -> None:
    assert validation(raw, DISABLE, {"StreamArn": STREAM}) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
    assert validation(raw, DISABLE, {"TableName": "nothing.here"}) == (
        "1 validation error detected: Value null at 'streamArn' failed to satisfy constraint: Member must not be null"
    )
