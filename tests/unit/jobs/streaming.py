"""How do tests read the stream of a world's table? Shard by shard, parents to their end before their children."""

from collections.abc import Iterator
from typing import Any

from hashrange.errors import ApiError
from hashrange.store.embedded import layout
from hashrange.store.embedded.reading import scan_prefix
from tests.unit.jobs.world import World, item

HOUR = 3600.0
DAY = 24 * HOUR
ROLL = 4 * HOUR
"""Time that a shard stays open, in seconds."""
BOTH = "NEW_AND_OLD_IMAGES"
Record = dict[str, Any]
Item = dict[str, Any]


def switch_on(world: World, view_type: str = BOTH, **members: Any) -> str:
    """Switch the table's stream on; return its ARN."""
    stream = {"StreamEnabled": True, "StreamViewType": view_type}
    reply = world.ask("UpdateTable", StreamSpecification=stream, **members)
    return str(reply["TableDescription"]["LatestStreamArn"])


def switch_off(world: World, **members: Any) -> None:
    world.ask("UpdateTable", StreamSpecification={"StreamEnabled": False}, **members)


def described(world: World, arn: str, **members: Any) -> Any:
    return world.request("DescribeStream", StreamArn=arn, **members)["StreamDescription"]


def shards(world: World, arn: str) -> list[Any]:
    """All shards that DescribeStream lists, read page by page."""
    found: list[Any] = []
    start: dict[str, Any] = {}
    while True:
        page = described(world, arn, Limit=3, **start)
        found += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return found
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}


def parents_first(found: list[Any]) -> list[Any]:
    """Shards sorted so that each follows its parent; DescribeStream guarantees no order."""
    waiting = {one["ShardId"]: one for one in reversed(found)}
    ordered: list[Any] = []
    while waiting:
        ready = [one for one in waiting.values() if one.get("ParentShardId") not in waiting]
        assert ready, "shards are their own ancestors"
        ordered += [waiting.pop(one["ShardId"]) for one in ready]
    return ordered


def begin(world: World, arn: str, shard_id: str, kind: str = "TRIM_HORIZON", **members: Any) -> str:
    """A new shard iterator."""
    request = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": kind} | members
    return str(world.request("GetShardIterator", **request)["ShardIterator"])


def read(world: World, iterator: str, limit: int = 1000) -> tuple[list[Record], str | None]:
    """All records from the iterator on, and the next iterator, which is None at the end of a closed shard."""
    records: list[Record] = []
    following: str | None = iterator
    while following is not None:
        reply = world.request("GetRecords", ShardIterator=following, Limit=limit)
        records += reply["Records"]
        following = reply.get("NextShardIterator")
        if not reply["Records"]:
            break
    return records, following


def shard_records(world: World, arn: str, limit: int = 1000) -> Iterator[tuple[Any, list[Record]]]:
    """Each readable shard with its records, parents before children."""
    for shard in parents_first(shards(world, arn)):
        records, following = read(world, begin(world, arn, shard["ShardId"]), limit)
        is_closed = "EndingSequenceNumber" in shard["SequenceNumberRange"]
        assert is_closed == (following is None)
        yield shard, records


def all_records(world: World, arn: str, limit: int = 1000) -> list[Record]:
    """The records of all shards, parents before children."""
    return [record for _, records in shard_records(world, arn, limit) for record in records]


def sequence(record: Record) -> int:
    return int(record["dynamodb"]["SequenceNumber"])


def told(record: Record) -> tuple[Item | None, Item | None]:
    """The old and new image of the item in a record."""
    return record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage")


def key_of(record: Record) -> str:
    return str(record["dynamodb"]["Keys"]["id"]["S"])


def replayed(records: list[Record], items: dict[str, Item] | None = None) -> dict[str, Item]:
    """The items that result from applying the records; asserts that each old image equals the item's previous state."""
    found = dict(items or {})
    for record in records:
        key, (old, new) = key_of(record), told(record)
        assert found.get(key) == old, (key, found.get(key), record)
        expected = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        assert record["eventName"] == expected
        assert old != new, "a record of what changed nothing"
        if new is None:
            del found[key]
        else:
            found[key] = new
    return found


def change(world: World, number: int, value: int, size_bytes: int = 0) -> None:
    """Put an item with a new value of its attribute `v`."""
    pad = {"pad": {"S": "x" * size_bytes}} if size_bytes else {}
    world.ask("PutItem", Item=item(number) | {"v": {"N": str(value)}} | pad)


def pass_time(world: World, seconds: float) -> float | None:
    world.clock.advance(seconds)
    return world.tend()


def refused(world: World, name: str, **members: Any) -> str:
    """The error code with which a request is refused."""
    try:
        reply = world.request(name, **members)
    except ApiError as error:
        return error.code
    raise AssertionError(reply)


def refused_iterator(world: World, arn: str, shard_id: str, kind: str, **members: Any) -> str:
    return refused(world, "GetShardIterator", StreamArn=arn, ShardId=shard_id, ShardIteratorType=kind, **members)


def rows(world: World) -> int:
    """The number of stream, shard and record rows in the engine."""
    prefixes = layout.STREAM_PREFIX, layout.SHARD_PREFIX, layout.LOG_PREFIX
    return sum(1 for prefix in prefixes for _ in scan_prefix(world.embedded.engine, prefix))


def values(world: World, arn: str, number: int, limit: int = 1000) -> list[int]:
    """The successive values of an item's attribute `v`, in the order of its records."""
    images = [told(one)[1] for one in all_records(world, arn, limit) if key_of(one) == f"o{number}"]
    return [int(image["v"]["N"]) for image in images if image is not None]


def ending(shard: Any) -> int:
    return int(shard["SequenceNumberRange"]["EndingSequenceNumber"])


def starting(shard: Any) -> int:
    return int(shard["SequenceNumberRange"]["StartingSequenceNumber"])


def is_open(shard: Any) -> bool:
    return "EndingSequenceNumber" not in shard["SequenceNumberRange"]
