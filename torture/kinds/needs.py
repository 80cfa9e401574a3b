"""What must exist before a hostile request is sent? Requests that create tables and items, by name.

Most kinds use that a request of 3 KB can read an item of 300 KB repeatedly.
"""

from collections.abc import Iterator
from typing import Any

from torture.kinds.kind import Call

TABLE = "torture"
PROBE_TABLE = "probe"
FOLLOWED_TABLE = "probe-followed"
"""A table with a stream, and without items."""
LARGE, SPREAD, TINY, NUMBERS, INDEXED, LOCAL = "large", "spread", "tiny", "numbers", "indexed", "local"
TEXT = "text"
"""Key of an item with a text of equal letters."""
TEXT_CHARACTERS = 400_000
NULLS, CONTROLS, ZEROS, ZERO_SETS = "nulls", "controls", "zeros", "zero-sets"
"""Tables with a stream of both images, whose items are several times longer in JSON than their item size."""

LIST_ELEMENTS = 100_000
"""Number of elements, one-digit numbers: 300 KB of an item, 1 MB of JSON."""
LARGE_ITEMS = 13
"""Number of large items: the most that a transaction of 4 MB may touch."""
SPREAD_ITEMS = 20
"""Number of large items in partitions of their own: a batch reads at most 1 MB of a partition; 20 MB of JSON per reply.
"""
TINY_ITEMS = 6_000
NUMBERS_MEMBERS = 90_000
INDEXES, LOCAL_INDEXES = 20, 5
"""The highest numbers of global and local indexes of a table."""
INDEXED_ITEMS = 10
"""Number of items of 390 KB, each with an equally large entry in every index."""
INDEXED_CHARACTERS = 390_000
DENSE_ITEMS = 10
"""Number of dense items: the most that a transaction of 4 MB may touch."""
NULLS_MEMBERS, CONTROLS_CHARACTERS = 199_000, 390_000
ZEROS_ITEMS, ZEROS_MEMBERS = 15, 29_000
"""Each item has 4 MB of JSON, nearly the most, and an item size of 87 KB; together they nearly fill a transaction."""
ZERO_SETS_ITEMS, ZERO_SETS_MEMBERS = 12, 30_000
BATCH = 25

ABSENT = {"N": "7"}
"""A value that is in no list, so that a search compares every element."""


def key(partition: str, sort: str = "0") -> dict[str, Any]:
    """The key of an item of the table."""
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def large_key(number: int = 0) -> dict[str, Any]:
    """The key of a large item in the shared partition."""
    return key(LARGE, f"{number:02}")


def spread_key(number: int = 0) -> dict[str, Any]:
    """The key of a large item in a partition of its own."""
    return key(f"{SPREAD}-{number:02}")


def table(name: str, sort_key: str | None = "sk") -> Call:
    """A request that creates a table with text keys."""
    names = ["pk", *([sort_key] if sort_key else [])]
    return Call(
        "CreateTable",
        {
            "TableName": name,
            "KeySchema": [
                {"AttributeName": each, "KeyType": role} for each, role in zip(names, ("HASH", "RANGE"), strict=False)
            ],
            "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in names],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


def basis() -> Iterator[Call]:
    """Create what every kind needs: the table, and the item and the stream that the prober reads."""
    yield table(TABLE)
    yield table(PROBE_TABLE, None)
    followed_table = table(FOLLOWED_TABLE, None)
    followed_table.members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    yield followed_table
    yield Call("PutItem", {"TableName": PROBE_TABLE, "Item": {"pk": {"S": "probe"}, "data": {"S": "x" * 100}}})


def large() -> Iterator[Call]:
    """Put items with a long list into one partition."""
    for number in range(LARGE_ITEMS):
        yield Call("PutItem", {"TableName": TABLE, "Item": large_key(number) | {"l": long_list()}})


def spread() -> Iterator[Call]:
    """Put items with a long list, each into its own partition."""
    for number in range(SPREAD_ITEMS):
        yield Call("PutItem", {"TableName": TABLE, "Item": spread_key(number) | {"l": long_list()}})


def long_list() -> dict[str, Any]:
    """A list of equal numbers: the kind of value that costs most for its size."""
    return {"L": [{"N": "1"}] * LIST_ELEMENTS}


def text() -> Iterator[Call]:
    """Put an item with a long text."""
    yield Call("PutItem", {"TableName": TABLE, "Item": key(TEXT) | {"t": {"S": "a" * TEXT_CHARACTERS}}})


def tiny() -> Iterator[Call]:
    """Put very many items of some bytes into one partition of a table of their own."""
    yield table(TINY)
    for start in range(0, TINY_ITEMS, BATCH):
        numbers = range(start, min(start + BATCH, TINY_ITEMS))
        puts = [{"PutRequest": {"Item": key(TINY, f"{number:05}") | {"n": {"N": str(number)}}}} for number in numbers]
        yield Call("BatchWriteItem", {"RequestItems": {TINY: puts}})


def numbers() -> Iterator[Call]:
    """Put an item with a large number set."""
    members = [str(number) for number in range(NUMBERS_MEMBERS)]
    yield Call("PutItem", {"TableName": TABLE, "Item": key(NUMBERS) | {"s": {"NS": members}}})


def indexed() -> Iterator[Call]:
    """Create a table with the highest number of global indexes."""
    keys = [{"AttributeName": "g", "KeyType": "HASH"}]
    yield from carried_whole(INDEXED, "GlobalSecondaryIndexes", keys, INDEXES)


def local() -> Iterator[Call]:
    """Create a table with the highest number of local indexes."""
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}]
    yield from carried_whole(LOCAL, "LocalSecondaryIndexes", keys, LOCAL_INDEXES)


def carried_whole(name: str, member: str, keys: list[dict[str, str]], count: int) -> Iterator[Call]:
    """Create a table with indexes that project everything, and put large items into it."""
    made = table(name)
    made.members["AttributeDefinitions"].append({"AttributeName": "g", "AttributeType": "S"})
    made.members[member] = [
        {"IndexName": f"by-g-{number}", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
        for number in range(count)
    ]
    yield made
    for number in range(INDEXED_ITEMS):
        item = key(f"{name}-{number}") | {"g": {"S": "g"}, "text": {"S": "x" * INDEXED_CHARACTERS}}
        yield Call("PutItem", {"TableName": name, "Item": item})


def nulls() -> Iterator[Call]:
    """Put items with lists of nulls."""
    yield from followed(NULLS, {"L": [{"NULL": True}] * NULLS_MEMBERS})


def controls() -> Iterator[Call]:
    """Put items with texts of control characters."""
    yield from followed(CONTROLS, {"S": "\x01" * CONTROLS_CHARACTERS})


def zeros() -> Iterator[Call]:
    """Put items with lists of numbers that are written with 129 zeros."""
    yield from followed(ZEROS, {"L": [{"N": "1E-130"}] * ZEROS_MEMBERS}, ZEROS_ITEMS)


def zero_sets() -> Iterator[Call]:
    """Put items with sets of different numbers with up to that many zeros."""
    members = [f"{number}E-{130 - number % 5}" for number in range(1, ZERO_SETS_MEMBERS) if number % 10]
    yield from followed(ZERO_SETS, {"NS": members}, ZERO_SETS_ITEMS)


def followed(name: str, value: dict[str, Any], items: int = DENSE_ITEMS) -> Iterator[Call]:
    """Create a table with a stream, and put items with that value into it."""
    made = table(name)
    made.members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    yield made
    for number in range(items):
        yield Call("PutItem", {"TableName": name, "Item": key(f"{name}-{number}") | {"v": value}})


NEEDS = {
    LARGE: large,
    SPREAD: spread,
    TEXT: text,
    TINY: tiny,
    NUMBERS: numbers,
    INDEXED: indexed,
    LOCAL: local,
    NULLS: nulls,
    CONTROLS: controls,
    ZEROS: zeros,
    ZERO_SETS: zero_sets,
}


def calls_for(needs: tuple[str, ...]) -> Iterator[Call]:
    """Yield the requests of these needs; `basis` is not included."""
    for need in needs:
        yield from NEEDS[need]()
