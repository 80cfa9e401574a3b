"""What harms in streams of thousands of shards? To describe them, to copy them, and to let a day pass,
in which all are replaced and deleted.
"""

from collections.abc import Iterator

import msgspec

from torture.kinds.forks import fork
from torture.kinds.kind import Call, Conditions, Hostile, Kind, web

MANY_PARTITIONS = Conditions(flags=("--admin", "--initial-partitions", "service"), has_credentials=False)
"""Without credentials, because a request that names a stream cannot be signed before the stream is made."""
TABLE = "many-shards"
OPEN_SHARDS = 3_000
READ_UNITS_OF_PARTITION = 3_000
ADVANCE_SECONDS = 25 * 3_600
AFTER_MANY = "shardId-00000000000000000000-00000bb8"
"""Behind the first shards, in the order of their numbers."""


def table_of_many_shards() -> Iterator[Call | Hostile]:
    """Make a table with a stream of OPEN_SHARDS open shards, and as many closed ones."""
    yield Call(
        "CreateTable",
        {
            "TableName": TABLE,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ProvisionedThroughput": {
                "ReadCapacityUnits": OPEN_SHARDS * READ_UNITS_OF_PARTITION,
                "WriteCapacityUnits": 1,
            },
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        },
    )
    yield advance(5 * 3_600)


def advance(seconds: int = ADVANCE_SECONDS) -> Hostile:
    """Move service time ahead."""
    return web("POST", "/_hashrange/v1/clock/advance", msgspec.json.encode({"seconds": seconds}))


def of_streams(operation: str, **members: object) -> Hostile:
    """A request to DynamoDB Streams."""
    headers = (
        ("X-Amz-Target", f"DynamoDBStreams_20120810.{operation}"),
        ("Content-Type", "application/x-amz-json-1.0"),
    )
    return web("POST", "/", msgspec.json.encode(members), headers, "dynamodb")


def describe(**members: object) -> Hostile:
    """Look for the stream, and describe it."""
    described = of_streams("DescribeStream", StreamArn="@StreamArn@", **members)
    return of_streams("ListStreams", TableName=TABLE)._replace(then=(described,))


def describe_from_start() -> Hostile:
    """Describe the first shards."""
    return describe()


def describe_behind_many() -> Hostile:
    """Describe the shards behind thousands of others."""
    return describe(ExclusiveStartShardId=AFTER_MANY)


def describe_children() -> Hostile:
    """Look for the children of a shard among thousands."""
    return describe(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": AFTER_MANY})


KINDS = tuple(
    Kind(name, make, ("200",), clients=clients, conditions=MANY_PARTITIONS, preparation=table_of_many_shards)
    for name, make, clients in (
        ("describe-many-shards", describe_from_start, 8),
        ("describe-behind-many-shards", describe_behind_many, 8),
        ("describe-children-of-many-shards", describe_children, 8),
        ("fork-many-shards", fork, 1),
        ("advance-25-hours", advance, 1),
    )
)
