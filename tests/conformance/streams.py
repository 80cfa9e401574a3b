"""What the tests of streams share: tables with a stream and at least three partitions, and readers of them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.conformance.tables import create_request, fresh_name
from tests.support.raw_client import RawClient

STREAMS = "DynamoDBStreams_20120810."
Record = dict[str, Any]


class StreamTable(NamedTuple):
    """A table with the partition key `id` and a stream."""

    raw: RawClient
    name: str
    arn: str
    """ARN of the stream."""

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply to a request about items, which must succeed."""
        return answer(self.raw, operation, members)

    def put(self, key: str, **attributes: Any) -> None:
        self.ask("PutItem", TableName=self.name, Item={"id": {"S": key}} | attributes)

    def delete(self, key: str) -> None:
        self.ask("DeleteItem", TableName=self.name, Key={"id": {"S": key}})

    def described(self, **members: Any) -> Any:
        return ask_stream(self.raw, "DescribeStream", StreamArn=self.arn, **members)["StreamDescription"]

    def shard_ids(self) -> list[str]:
        return [one["ShardId"] for one in self.described()["Shards"]]

    def iterator(self, shard_id: str, kind: str = "TRIM_HORIZON", **members: Any) -> str:
        reply = ask_stream(
            self.raw,
            "GetShardIterator",
            StreamArn=self.arn,
            ShardId=shard_id,
            ShardIteratorType=kind,
            **members,
        )
        return str(reply["ShardIterator"])

    def read(self, iterator: str, **members: Any) -> list[Record]:
        """All records from the iterator on."""
        return [record for page in pages(self.raw, iterator, **members) for record in page]

    def records(self, kind: str = "TRIM_HORIZON", **members: Any) -> list[Record]:
        """The records of all shards, in the order of sequence numbers."""
        found = [record for one in self.shard_ids() for record in self.read(self.iterator(one, kind, **members))]
        return sorted(found, key=sequence)

    def of(self, key: str) -> list[Record]:
        """The records of an item."""
        return [record for record in self.records() if record["dynamodb"]["Keys"]["id"] == {"S": key}]


def make_stream_table(raw: RawClient, view_type: str = "NEW_AND_OLD_IMAGES", **members: Any) -> StreamTable:
    """Create a table with a stream."""
    name = fresh_name("streamed")
    stream = {"StreamEnabled": True, "StreamViewType": view_type}
    made = answer(raw, "CreateTable", create_request(name, StreamSpecification=stream, **members))
    table = StreamTable(raw, name, made["TableDescription"]["LatestStreamArn"])
    assert len(table.shard_ids()) >= 3
    return table


def answer(raw: RawClient, operation: str, request: dict[str, Any]) -> Any:
    """The reply, which must be a success."""
    reply = raw(operation, request)
    assert reply.status == 200, (operation, reply.body)
    return reply.json()


def ask_stream(raw: RawClient, operation: str, **members: Any) -> Any:
    """The reply to a request about streams, which must succeed."""
    return answer(raw, STREAMS + operation, members)


def pages(raw: RawClient, iterator: str, **members: Any) -> Iterator[list[Record]]:
    """Pages with records, from the iterator on; for an open shard until the first empty page."""
    following: str | None = iterator
    while following is not None:
        reply = ask_stream(raw, "GetRecords", ShardIterator=following, **members)
        if not reply["Records"]:
            return
        yield reply["Records"]
        following = reply.get("NextShardIterator")


def sequence(record: Record) -> int:
    """The record's sequence number, as a number."""
    return int(record["dynamodb"]["SequenceNumber"])


def told(records: list[Record]) -> list[tuple[Any, ...]]:
    """Event and images of each record."""
    return [(one["eventName"], one["dynamodb"].get("OldImage"), one["dynamodb"].get("NewImage")) for one in records]
