"""Which legal writes of at most 1 MB cost most? Sets and maps with as many members as an item of 400 KB can have."""

import msgspec

from torture.kinds.kind import Hostile, Kind, json_map, names_of, plain, spliced
from torture.kinds.needs import NUMBERS, NUMBERS_MEMBERS, TABLE, key


def put_numbers() -> Hostile:
    """In falling order, as text and as numbers."""
    members = [str(number) for number in range(NUMBERS_MEMBERS, 0, -1)]
    return plain("PutItem", {"TableName": TABLE, "Item": key("numbers-put") | {"s": {"NS": members}}})


def add_numbers() -> Hostile:
    """A set that holds all of them already."""
    values = {":s": {"NS": [str(number) for number in range(NUMBERS_MEMBERS)]}}
    return plain(
        "UpdateItem",
        {"TableName": TABLE, "Key": key(NUMBERS), "UpdateExpression": "ADD s :s", "ExpressionAttributeValues": values},
    )


def unlucky(count: int) -> list[bytes]:
    """Names in order but for the first, which is last: no order known makes a quicksort around a fixed place slower.

    The JSON encoder's sorting needs 170 ms for 10,000 of them in this order, 1 ms in most others, and the square for more.
    """
    names = sorted(names_of(b"a", count))
    return [*names[1:], names[0]]


def put_attributes(count: int) -> Hostile:
    """Attributes of an item in an unlucky order."""
    item = json_map([*unlucky(count), b"pk", b"sk"], b'{"S":"u"}')
    return spliced("PutItem", {"TableName": TABLE, "Item": "@item"}, {"item": item})


def put_map(count: int) -> Hostile:
    """The same, one level deeper."""
    names = json_map(unlucky(count), b'{"S":"u"}')
    item = key("unlucky-map") | {"m": {"M": msgspec.Raw(names)}}
    return plain("PutItem", {"TableName": TABLE, "Item": item})


KINDS = (
    Kind("put-number-set-90000", put_numbers, ("200",)),
    Kind("add-number-set-90000", add_numbers, ("200",), (NUMBERS,)),
    Kind("attributes-10000-unlucky", lambda: put_attributes(10_000), ("200",)),
    Kind("attributes-40000-unlucky", lambda: put_attributes(40_000), ("200",)),
    Kind("map-40000-unlucky", lambda: put_map(40_000), ("200",)),
)
