"""EnableKinesisStreamingDestination: which requests are accepted, and what becomes of the destination.

These tests run only against servers that they start, because they need a Kinesis.
"""

from collections.abc import Iterator

import pytest

from tests.conformance.kinesis_server import (
    ENABLE,
    MICROSECOND,
    NO_PERMISSION,
    NOT_DISABLED,
    OTHER,
    STREAM,
    KinesisServer,
    kinesis_server,
)
from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient
from tests.support.stores import STORES
from tests.support.waiting import wait_until

OTHER_REGION = (
    "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in the current region"
)
NOT_IN_ACTIVE_STATE = (
    "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in Active state"
)


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[KinesisServer]:
    if request.config.getoption("--endpoint", default=None) is not None:
        pytest.skip("another server has no Kinesis of ours")
    with kinesis_server(request.param) as running:
        yield running


def test_a_destination_becomes_active_and_gets_changes(server: KinesisServer) -> None:
    name = server.table()
    reply = server.raw(ENABLE, {"TableName": name, "StreamArn": STREAM})
    assert (reply.status, reply.json()) == (
        200,
        {
            "TableName": name,
            "StreamArn": STREAM,
            "DestinationStatus": "ENABLING",
            "EnableKinesisStreamingConfiguration": {},
        },
    )
    waiter = server.client.get_waiter("kinesis_streaming_destination_active")
    waiter.wait(TableName=name, WaiterConfig={"Delay": 0.01, "MaxAttempts": 1000})
    assert server.destinations(name) == [{"StreamArn": STREAM, "DestinationStatus": "ACTIVE"}]
    server.client.put_item(TableName=name, Item={"id": {"S": "a"}})
    wait_until(lambda: [one for one in server.kinesis.changes() if one["tableName"] == name])
    (change,) = [one for one in server.kinesis.changes() if one["tableName"] == name]
    assert change["dynamodb"]["NewImage"] == {"id": {"S": "a"}}


def test_a_precision_is_repeated(server: KinesisServer) -> None:
    arn = server.client.describe_table(TableName=server.table())["Table"]["TableArn"]
    request = {"TableName": arn, "StreamArn": STREAM, "EnableKinesisStreamingConfiguration": MICROSECOND}
    reply = server.raw(ENABLE, request).json()
    assert reply["EnableKinesisStreamingConfiguration"] == MICROSECOND
    name = arn.rpartition("/")[2]
    assert reply["TableName"] == name
    wait_until(lambda: server.destinations(name)[0]["DestinationStatus"] == "ACTIVE")
    assert server.destinations(name) == [{"StreamArn": STREAM, "DestinationStatus": "ACTIVE"} | MICROSECOND]


@pytest.mark.parametrize("arn", [STREAM, OTHER, "arn:x"])
def test_a_table_has_at_most_one_live_destination(server: KinesisServer, arn: str) -> None:
    name = server.enabled()
    assert validation(server.raw, ENABLE, {"TableName": name, "StreamArn": arn}) == NOT_DISABLED
    assert len(server.destinations(name)) == 1


@pytest.mark.parametrize(
    ("arn", "description"),
    [
        ("arn:aws:kinesis:us-east-1:000000000000:stream/missing", NO_PERMISSION),
        ("arn:aws:kinesis:us-east-1:000000000000:stream/CHANGES", NO_PERMISSION),
        ("arn:aws:kinesis:us-east-1:000000000000:stream/changes/consumer/app:1", NO_PERMISSION),
        ("arn:aws:dynamodb:us-east-1:000000000000:table/music", NO_PERMISSION),
        ("arn:aws:kinesis:eu-west-1:000000000000:stream/changes", OTHER_REGION),
        ("arn:aws:kinesis:us-east-1:123456789012:stream/changes", NOT_IN_ACTIVE_STATE),
        ("arn:aws:firehose:us-east-1:000000000000:deliverystream/changes", NOT_IN_ACTIVE_STATE),
        ("this is by no means an ARN of a stream", NO_PERMISSION),
        ("short", NO_PERMISSION),
    ],
)
def test_any_arn_is_accepted_and_fails_later(server: KinesisServer, arn: str, description: str) -> None:
    name = server.table()
    reply = server.raw(ENABLE, {"TableName": name, "StreamArn": arn})
    assert (reply.status, reply.json()["DestinationStatus"]) == (200, "ENABLING")
    wait_until(lambda: server.destinations(name)[0]["DestinationStatus"] != "ENABLING")
    assert server.destinations(name) == [
        {"StreamArn": arn, "DestinationStatus": "ENABLE_FAILED", "DestinationStatusDescription": description}
    ]
    server.enable(name)
    assert [one["DestinationStatus"] for one in server.destinations(name)] == ["ACTIVE", "ENABLE_FAILED"]


def test_a_destination_that_ended_is_replaced(server: KinesisServer) -> None:
    """Its precision is forgotten."""
    name = server.enabled(**MICROSECOND)
    server.client.disable_kinesis_streaming_destination(TableName=name, StreamArn=STREAM)
    server.enable(name, OTHER)
    assert [one["StreamArn"] for one in server.destinations(name)] == [OTHER, STREAM]
    server.client.disable_kinesis_streaming_destination(TableName=name, StreamArn=OTHER)
    server.enable(name)
    assert server.destinations(name) == [
        {"StreamArn": STREAM, "DestinationStatus": "ACTIVE"},
        {"StreamArn": OTHER, "DestinationStatus": "DISABLED"},
    ]


def test_streams_are_independent(server: KinesisServer) -> None:
    name = server.enabled()
    table = server.client.describe_table(TableName=name)["Table"]
    assert not {"StreamSpecification", "LatestStreamArn"} & table.keys()
    for specification in (
        {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        {"StreamEnabled": False},
    ):
        server.client.update_table(TableName=name, StreamSpecification=specification)
        assert [one["DestinationStatus"] for one in server.destinations(name)] == ["ACTIVE"]


# --- refusals -------------------------------------------------------------------------------------


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, ENABLE, {"TableName": "nothing.here", "StreamArn": STREAM}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


def test_constraints(raw: RawClient) -> None:
    configuration = {"ApproximateCreationDateTimePrecision": "SECOND"}
    request = {"TableName": "nothing.here", "EnableKinesisStreamingConfiguration": configuration}
    found = validation(raw, ENABLE, request | {"StreamArn": "x" * 1025})
    assert found is not None
    assert found.startswith("2 validation errors detected: ")
    assert (
        "Value 'SECOND' at 'enableKinesisStreamingConfiguration.approximateCreationDateTimePrecision' failed to "
        "satisfy constraint: Member must satisfy enum value set: [MILLISECOND, MICROSECOND]"
    ) in found
    assert "at 'streamArn' failed to satisfy constraint: Member must have length less than or equal to 1024" in found
    assert validation(raw, ENABLE, {"StreamArn": STREAM}) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
    assert validation(raw, ENABLE, {"TableName": "nothing.here"}) == (
        "1 validation error detected: Value null at 'streamArn' failed to satisfy constraint: Member must not be null"
    )


def test_without_a_kinesis(raw: RawClient, endpoint: str) -> None:
    """Our own refusal: the service has its own Kinesis."""
    if endpoint.startswith("https"):
        pytest.skip("the service has a Kinesis")
    name = fresh_name()
    raw("CreateTable", create_request(name))
    assert validation(raw, ENABLE, {"TableName": name, "StreamArn": STREAM}) == (
        "Hashrange has no Kinesis to send changes to. Start it with --kinesis-endpoint URL, such"
        " as that of kinesis-local."
    )
    assert raw("DescribeKinesisStreamingDestination", {"TableName": name}).json()["KinesisDataStreamDestinations"] == []
