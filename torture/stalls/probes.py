"""What does the prober ask for? A request per probe, made for a server that has the tables of `needs.basis`."""

from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.client import Connection, ReplyError
from benchmarks.signing import web_request
from torture.kinds.kind import Probe
from torture.kinds.needs import FOLLOWED_TABLE, PROBE_TABLE


def get_item(host: str, _connection: Connection) -> bytes:
    """GetItem of a small item."""
    return request(host, "DynamoDB_20120810.GetItem", {"TableName": PROBE_TABLE, "Key": {"pk": {"S": "probe"}}})


def get_records(host: str, connection: Connection) -> bytes:
    """GetRecords at the end of a stream, where there is nothing yet; raises ReplyError."""
    (stream,) = ask(host, connection, "ListStreams", {"TableName": FOLLOWED_TABLE})["Streams"]
    arn = stream["StreamArn"]
    shards = ask(host, connection, "DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    members = {"StreamArn": arn, "ShardId": shards[-1]["ShardId"], "ShardIteratorType": "LATEST"}
    iterator = ask(host, connection, "GetShardIterator", members)["ShardIterator"]
    return request(host, "DynamoDBStreams_20120810.GetRecords", {"ShardIterator": iterator})


def ask(host: str, connection: Connection, operation: str, members: dict[str, Any]) -> dict[str, Any]:
    """Return the decoded reply of DynamoDB Streams; raises ReplyError."""
    connection.send(request(host, f"DynamoDBStreams_20120810.{operation}", members))
    status, body = connection.receive()
    if status != 200:
        raise ReplyError(f"{operation}: {status} {body[:500].decode(errors='replace')}")
    return dict(msgspec.json.decode(body))


def request(host: str, target: str, members: dict[str, Any]) -> bytes:
    """Return a signed request to the operation."""
    headers = (("X-Amz-Target", target), ("Content-Type", "application/x-amz-json-1.0"))
    return web_request(host, "POST", "/", msgspec.json.encode(members), headers, "dynamodb")


PROBES: dict[Probe, Callable[[str, Connection], bytes]] = {"item": get_item, "stream": get_records}
