"""UpdateKinesisStreamingDestination: the precision of creation times changes, and with it the records that follow."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.kinesis_server import (
    INVALID_STATE,
    MICROSECOND,
    OTHER,
    STREAM,
    UPDATE,
    KinesisServer,
    kinesis_server,
)
from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient
from tests.support.stores import STORES
from tests.support.waiting import wait_until

MILLISECOND = {"ApproximateCreationDateTimePrecision": "MILLISECOND"}
REQUIRED = (
    "Streaming destination cannot be updated with given parameters: "
    "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
)


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[KinesisServer]:
    if request.config.getoption("--endpoint", default=None) is not None:
        pytest.skip("another server has no Kinesis of ours")
    with kinesis_server(request.param) as running:
        yield running


def update(name: str, configuration: Any, stream_arn: str = STREAM) -> dict[str, Any]:
    return {"TableName": name, "StreamArn": stream_arn, "UpdateKinesisStreamingConfiguration": configuration}


def test_the_precision_changes(server: KinesisServer) -> None:
    name = server.enabled()

    def content(value: str) -> dict[str, Any]:
        """What Kinesis gets for a new change."""
        server.client.put_item(TableName=name, Item={"id": {"S": "a"}, "v": {"N": value}})

        def found() -> list[Any]:
            contents = [one["dynamodb"] for one in server.kinesis.changes() if one["tableName"] == name]
            return [one for one in contents if one["NewImage"]["v"]["N"] == value]

        wait_until(found)
        return dict(found()[0])

    before = content("1")
    assert "ApproximateCreationDateTimePrecision" not in before
    reply = server.raw(UPDATE, update(name, MICROSECOND))
    assert (reply.status, reply.json()) == (
        200,
        {
            "TableName": name,
            "StreamArn": STREAM,
            "DestinationStatus": "UPDATING",
            "UpdateKinesisStreamingConfiguration": MICROSECOND,
        },
    )
    assert server.destinations(name) == [{"StreamArn": STREAM, "DestinationStatus": "ACTIVE"} | MICROSECOND]
    after = content("2")
    assert after["ApproximateCreationDateTimePrecision"] == "MICROSECOND"
    assert after["ApproximateCreationDateTime"] // 1000 >= before["ApproximateCreationDateTime"]
    assert server.raw(UPDATE, update(name, MILLISECOND)).status == 200
    again = content("3")
    assert again["ApproximateCreationDateTimePrecision"] == "MILLISECOND"
    assert again["ApproximateCreationDateTime"] >= before["ApproximateCreationDateTime"]
    assert again["ApproximateCreationDateTime"] < after["ApproximateCreationDateTime"]


@pytest.mark.parametrize(("enabled_with", "same"), [({}, "MILLISECOND"), (MICROSECOND, "MICROSECOND")])
def test_the_same_precision_is_refused(server: KinesisServer, enabled_with: dict[str, str], same: str) -> None:
    """Without a precision, a destination has that of milliseconds."""
    name = server.enabled(**enabled_with)
    uuid = server.client.describe_table(TableName=name)["Table"]["TableId"]
    assert validation(server.raw, UPDATE, update(name, {"ApproximateCreationDateTimePrecision": same})) == (
        f"Invalid Request: Precision is already set to the desired value of {same} for tableId: {uuid}, kdsArn:"
        f" {STREAM}"
    )


def test_only_an_active_destination_is_updated(server: KinesisServer) -> None:
    name = server.enabled()
    server.client.disable_kinesis_streaming_destination(TableName=name, StreamArn=STREAM)
    missing = "arn:aws:kinesis:us-east-1:000000000000:stream/missing"
    server.enable(name, missing)
    for arn in (STREAM, missing):
        assert validation(server.raw, UPDATE, update(name, MICROSECOND, arn)) == (
            f"{INVALID_STATE}Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
            f"TableName: {name}, kdsArn: {arn}"
        )


def test_no_destination(raw: RawClient) -> None:
    name = fresh_name()
    raw("CreateTable", create_request(name))
    assert validation(raw, UPDATE, update(name, MICROSECOND, OTHER)) == (
        f"{INVALID_STATE}No streaming destination with streamArn: {OTHER} found for table with tableName: {name}"
    )


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, UPDATE, update("nothing.here", MICROSECOND)) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


@pytest.mark.parametrize("configuration", [None, {}, {"ApproximateCreationDateTimePrecision": None}])
def test_a_precision_is_required(raw: RawClient, configuration: Any) -> None:
    assert validation(raw, UPDATE, update("nothing.here", configuration)) == REQUIRED


def test_constraints(raw: RawClient) -> None:
    assert validation(raw, UPDATE, update("nothing.here", {"ApproximateCreationDateTimePrecision": "SECOND"})) == (
        "1 validation error detected: Value 'SECOND' at "
        "'updateKinesisStreamingConfiguration.approximateCreationDateTimePrecision' failed to satisfy constraint: "
        "Member must satisfy enum value set: [MILLISECOND, MICROSECOND]"
    )
    assert validation(raw, UPDATE, {"StreamArn": STREAM}) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
