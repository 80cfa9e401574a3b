"""A stream read with boto3: every shard after its parent, from the oldest record to the newest.

The result equals the output of `javascript/stream.mjs` and `java/…/StreamReader.java`.
"""

import base64
from typing import Any

import boto3

PAGE_SIZE = 30


class StreamReader:
    """Reads the only stream of a table."""

    def __init__(self, endpoint: str, table_name: str) -> None:
        self.client = boto3.client(
            "dynamodbstreams",
            endpoint_url=endpoint,
            region_name="eu-west-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        (stream,) = self.client.list_streams(TableName=table_name)["Streams"]
        self.arn = stream["StreamArn"]

    def read(self) -> list[dict[str, Any]]:
        """For each shard: its name, whether it has ended and was read completely, and its records."""
        return [self._read_shard(shard["ShardId"]) for shard in parents_first(self._shards())]

    def _shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        more: dict[str, str] = {}
        while True:
            page = self.client.describe_stream(StreamArn=self.arn, Limit=2, **more)["StreamDescription"]
            found += page["Shards"]
            if "LastEvaluatedShardId" not in page:
                return found
            more = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}

    def _read_shard(self, shard: str) -> dict[str, Any]:
        """Read one page, then the rest with a new iterator after the last record."""
        page = self._page(self._iterator(shard, ShardIteratorType="TRIM_HORIZON"))
        records = page["Records"]
        if records:
            last = records[-1]["dynamodb"]["SequenceNumber"]
            page = self._page(self._iterator(shard, ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=last))
            records += page["Records"]
        while "NextShardIterator" in page and page["Records"]:
            page = self._page(page["NextShardIterator"])
            records += page["Records"]
        return {"shard": shard, "ended": "NextShardIterator" not in page, "records": [plain(one) for one in records]}

    def _iterator(self, shard: str, **place: Any) -> str:
        found: str = self.client.get_shard_iterator(StreamArn=self.arn, ShardId=shard, **place)["ShardIterator"]
        return found

    def _page(self, iterator: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get_records(ShardIterator=iterator, Limit=PAGE_SIZE)
        return found


def parents_first(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The shards in the order of the stream, except that a child follows its parent."""
    waiting, ordered = list(shards), list[dict[str, Any]]()
    while waiting:
        names = {one["ShardId"] for one in waiting}
        ready = [one for one in waiting if one.get("ParentShardId") not in names]
        ordered += ready
        waiting = [one for one in waiting if one not in ready]
    return ordered


def plain(value: Any) -> Any:
    """The value as JSON can hold it: times in milliseconds, bytes in Base64, sets in order."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1000)
    return value
