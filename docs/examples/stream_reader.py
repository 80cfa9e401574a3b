"""How does a program act on every change of a table exactly once?
It commits what a change leads to together with how far it has read.

The checkpoint of each shard is an item beside the outcome: one transaction writes both, or neither.
So a program that is killed at any moment goes on behind the last change whose outcome was written.
Copy this file next to yours; it needs boto3 and nothing else.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import boto3

CHECKPOINTS = "StreamCheckpoints"
PAUSE_SECONDS = 0.25

Item = dict[str, Any]
Record = dict[str, Any]
Action = dict[str, Any]
"""One of TransactWriteItems: `{"Put": …}`, `{"Update": …}`, `{"Delete": …}`; at most 99 for a change."""


class StreamReader:
    """Reads the stream of a table; `name` tells readers of one stream apart."""

    def __init__(self, name: str, table: str, target: Any) -> None:
        """`target` is the boto3 client that writes the outcome and the checkpoints; it may be of another Region."""
        source = boto3.client("dynamodb")
        self._streams = boto3.client("dynamodbstreams")
        self._arn = source.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self._target = target
        self._reader = f"{name} {self._arn}"
        ensure_table(target, CHECKPOINTS, {"reader": "HASH", "shard": "RANGE"})
        self._drained: set[str] = set()
        """Shards that are closed and read to their end."""
        self._iterators: dict[str, str] = {}
        self._sequences = self._checkpoints()

    def run(self, actions_of: Callable[[Record], list[Action]], *, is_once: bool) -> int:
        """Handle every change: for ever, or until there is no further one; returns how many there were."""
        count = 0
        while True:
            was_drained = len(self._drained)
            page_count = sum(self._read(shard_id, actions_of) for shard_id in self._ready_shards())
            count += page_count
            if page_count or len(self._drained) > was_drained:
                continue
            if is_once:
                return count
            time.sleep(PAUSE_SECONDS)

    def _ready_shards(self) -> list[str]:
        """Shards to read now: a child waits until its parent has been read, or is gone."""
        shards: dict[str, str | None] = {}
        start: dict[str, str] = {}
        while True:
            page = self._streams.describe_stream(StreamArn=self._arn, **start)["StreamDescription"]
            shards |= {one["ShardId"]: one.get("ParentShardId") for one in page["Shards"]}
            if "LastEvaluatedShardId" not in page:
                break
            start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
        unread = shards.keys() - self._drained
        return [shard_id for shard_id, parent in shards.items() if shard_id in unread and parent not in unread]

    def _read(self, shard_id: str, actions_of: Callable[[Record], list[Action]]) -> int:
        """Handle one page of a shard; returns how many records it had."""
        iterator = self._iterators.pop(shard_id, None) or self._iterator(shard_id)
        try:
            page = self._streams.get_records(ShardIterator=iterator)
        except self._streams.exceptions.ExpiredIteratorException:
            return self._read(shard_id, actions_of)
        for record in page["Records"]:
            self._commit(shard_id, record["dynamodb"]["SequenceNumber"], actions_of(record))
        if "NextShardIterator" in page:
            self._iterators[shard_id] = page["NextShardIterator"]
        else:
            self._drained.add(shard_id)
        return len(page["Records"])

    def _iterator(self, shard_id: str) -> str:
        """Where to go on. After more than 24 hours records are gone: TrimmedDataAccessException ends the program."""
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if shard_id in self._sequences:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._sequences[shard_id]}
        reply = self._streams.get_shard_iterator(StreamArn=self._arn, ShardId=shard_id, **place)
        return str(reply["ShardIterator"])

    def _commit(self, shard_id: str, sequence: str, actions: list[Action]) -> None:
        """The outcome of a change and its checkpoint, or neither.
        Fails if another process has handled the change by now.
        """
        before = self._sequences.get(shard_id)
        checkpoint: Action = {
            "TableName": CHECKPOINTS,
            "Key": {"reader": {"S": self._reader}, "shard": {"S": shard_id}},
            "UpdateExpression": "SET read_until = :now",
            "ConditionExpression": "attribute_not_exists(read_until)" if before is None else "read_until = :before",
            "ExpressionAttributeValues": {":now": {"S": sequence}} | ({":before": {"S": before}} if before else {}),
        }
        self._target.transact_write_items(TransactItems=[{"Update": checkpoint}, *actions])
        self._sequences[shard_id] = sequence

    def _checkpoints(self) -> dict[str, str]:
        """Shard → sequence number of its last change that was handled, by an earlier run."""
        pages = self._target.get_paginator("query").paginate(
            TableName=CHECKPOINTS,
            KeyConditionExpression="reader = :reader",
            ExpressionAttributeValues={":reader": {"S": self._reader}},
            ConsistentRead=True,
        )
        return {item["shard"]["S"]: item["read_until"]["S"] for page in pages for item in page["Items"]}


def ensure_table(client: Any, name: str, keys: dict[str, str], types: dict[str, str] | None = None) -> None:
    """Make a table unless it is there; `keys` are names and roles, all of them text unless `types` says otherwise."""
    try:
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": role} for key, role in keys.items()],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": (types or {}).get(key, "S")} for key in keys],
            BillingMode="PAY_PER_REQUEST",
        )
    except client.exceptions.ResourceInUseException:
        pass
    client.get_waiter("table_exists").wait(TableName=name)


def main(reader: StreamReader, actions_of: Callable[[Record], list[Action]]) -> None:
    """Run until Ctrl-C; with `--once`, until there is no further change."""
    try:
        count = reader.run(actions_of, is_once="--once" in sys.argv)
    except KeyboardInterrupt:
        return
    print(f"{count} changes")
