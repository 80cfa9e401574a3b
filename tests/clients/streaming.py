"""A table with a stream that other programs read: the changes written to it, and the check of the
records that a reader received.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import boto3

TABLE = "journal"
PADDING_BYTES = 1_000
BATCH_SIZE = 25
PHOTO = bytes([0, 255, 7])


class Change(NamedTuple):
    """A stream record: the kind of change, the item, its version (for REMOVE the last one), and its shard."""

    kind: str
    item: str
    version: int
    sequence: str


class Journal:
    """A table that is written with boto3, and the expected changes of each item."""

    def __init__(self, endpoint: str) -> None:
        options: dict[str, Any] = {
            "endpoint_url": endpoint,
            "region_name": "eu-west-1",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        self.client = boto3.client("dynamodb", **options)
        self.streams = boto3.client("dynamodbstreams", **options)
        made = self.client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.stream_arn: str = made["TableDescription"]["LatestStreamArn"]
        self.written: dict[str, list[tuple[str, int]]] = {}

    def put(self, numbers: Iterable[int]) -> None:
        """Put the next version of each of these items."""
        requests = []
        for number in numbers:
            history = self.written.setdefault(name(number), [])
            version = len(history) + 1
            history.append(("MODIFY" if history else "INSERT", version))
            requests.append({"PutRequest": {"Item": self.item(number, version)}})
        self._send(requests)

    @staticmethod
    def item(number: int, version: int) -> dict[str, Any]:
        """The item as it is written."""
        return {
            "pk": {"S": name(number)},
            "version": {"N": str(version)},
            "padding": {"S": "x" * PADDING_BYTES},
            "photo": {"B": PHOTO},
            "tags": {"SS": ["a", "b"]},
            "place": {"M": {"street": {"NULL": True}, "floors": {"L": [{"N": "-1.5"}, {"BOOL": False}]}}},
        }

    def remove(self, numbers: Iterable[int]) -> None:
        """Delete these items; they are not written again."""
        requests = []
        for number in numbers:
            history = self.written[name(number)]
            history.append(("REMOVE", len(history)))
            requests.append({"DeleteRequest": {"Key": {"pk": {"S": name(number)}}}})
        self._send(requests)

    def _send(self, requests: list[dict[str, Any]]) -> None:
        for start in range(0, len(requests), BATCH_SIZE):
            done = self.client.batch_write_item(RequestItems={TABLE: requests[start : start + BATCH_SIZE]})
            assert done["UnprocessedItems"] == {}

    def count(self) -> int:
        """Number of changes written."""
        return sum(map(len, self.written.values()))

    def shards(self) -> list[dict[str, Any]]:
        """All shards of the stream, read in pages of two."""
        found: list[dict[str, Any]] = []
        more: dict[str, str] = {}
        while True:
            page = self.streams.describe_stream(StreamArn=self.stream_arn, Limit=2, **more)["StreamDescription"]
            found += page["Shards"]
            if "LastEvaluatedShardId" not in page:
                return found
            more = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}

    def open_shards(self) -> set[str]:
        """The shards that still receive changes."""
        return {one["ShardId"] for one in self.shards() if "EndingSequenceNumber" not in one["SequenceNumberRange"]}

    def check(self, heard: list[Change]) -> None:
        """Fail unless every change was received once, and the changes of each item in order."""
        assert len({change.sequence for change in heard}) == len(heard)
        histories: dict[str, list[tuple[str, int]]] = {}
        for change in heard:
            histories.setdefault(change.item, []).append((change.kind, change.version))
        assert histories == self.written


def name(number: int) -> str:
    """Name of the item with that number."""
    return f"item-{number:04d}"
