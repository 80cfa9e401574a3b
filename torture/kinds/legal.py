"""Which writes of at most 1 MB cost most? Sets, maps and lists with as many members as a 400 KB item can
have, and with more than allowed.
"""

import msgspec

from torture.kinds.kind import REFUSED, Hostile, Kind, json_list, json_map, names_of, plain, spliced
from torture.kinds.needs import NUMBERS, NUMBERS_MEMBERS, TABLE, key


def put_numbers() -> Hostile:
    """A PutItem of a number set in descending order, both as text and as numbers."""
    members = [str(number) for number in range(NUMBERS_MEMBERS, 0, -1)]
    return plain("PutItem", {"TableName": TABLE, "Item": key("numbers-put") | {"s": {"NS": members}}})


def add_numbers() -> Hostile:
    """An UpdateItem that adds numbers to a set that has all of them."""
    values = {":s": {"NS": [str(number) for number in range(NUMBERS_MEMBERS)]}}
    return plain(
        "UpdateItem",
        {"TableName": TABLE, "Key": key(NUMBERS), "UpdateExpression": "ADD s :s", "ExpressionAttributeValues": values},
    )


def unlucky(count: int) -> list[bytes]:
    """Sorted names, but with the first one last: the slowest known order for a quicksort with a fixed pivot.

    The JSON encoder sorts 10,000 names in 170 ms in this order, in 1 ms in most others; the time grows with the square.
    """
    names = sorted(names_of(b"a", count))
    return [*names[1:], names[0]]


def put_attributes(count: int) -> Hostile:
    """A PutItem whose attributes are in the slowest order for sorting."""
    item = json_map([*unlucky(count), b"pk", b"sk"], b'{"S":"u"}')
    return spliced("PutItem", {"TableName": TABLE, "Item": "@item"}, {"item": item})


def put_wide(count: int) -> Hostile:
    """A PutItem with as many attributes as a body of 1 MB can name, all of them empty."""
    item = json_map(names_of(b"", count), b'{"S":""}')[:-1] + b',"pk":{"S":"w"},"sk":{"S":"w"}}'
    return spliced("PutItem", {"TableName": TABLE, "Item": "@item"}, {"item": item})


def put_map(count: int) -> Hostile:
    """A PutItem with a map whose names are in the slowest order for sorting."""
    names = json_map(unlucky(count), b'{"S":"u"}')
    item = key("unlucky-map") | {"m": {"M": msgspec.Raw(names)}}
    return plain("PutItem", {"TableName": TABLE, "Item": item})


def put_empty(value: bytes, count: int) -> Hostile:
    """A PutItem with a list of values of a few bytes each."""
    return spliced(
        "PutItem", {"TableName": TABLE, "Item": key("empty") | {"l": {"L": "@list"}}}, {"list": json_list(value, count)}
    )


def statements(operation: str, member: str, statement_count: int, empty_count: int) -> Hostile:
    """One statement more than allowed, each with unused parameters."""
    statement = b'{"Statement":"SELECT * FROM x","Parameters":%b}' % json_list(b'{"L":[]}', empty_count)
    return spliced(operation, {member: "@statements"}, {"statements": json_list(statement, statement_count)})


def actions(action_count: int, empty_count: int) -> Hostile:
    """One action more than allowed, each of which puts an item of empty lists."""
    item = b'{"pk":{"S":"empty"},"sk":{"S":"0"},"l":{"L":%b}}' % json_list(b'{"L":[]}', empty_count)
    action = b'{"Put":{"TableName":"%b","Item":%b}}' % (TABLE.encode(), item)
    return spliced("TransactWriteItems", {"TransactItems": "@actions"}, {"actions": json_list(action, action_count)})


KINDS = (
    Kind("put-number-set-90000", put_numbers, ("200",)),
    Kind("add-number-set-90000", add_numbers, ("200",), (NUMBERS,)),
    Kind("attributes-10000-unlucky", lambda: put_attributes(10_000), ("200",)),
    Kind("attributes-40000-unlucky", lambda: put_attributes(40_000), ("200",)),
    Kind("attributes-60000-empty", lambda: put_wide(60_000), ("200",), clients=8),
    Kind("map-40000-unlucky", lambda: put_map(40_000), ("200",)),
    Kind("put-empty-lists-99000", lambda: put_empty(b'{"L":[]}', 99_000), ("200",)),
    Kind("put-empty-values-330000", lambda: put_empty(b"{}", 330_000), (REFUSED,)),
    Kind("statements-101x1100", lambda: statements("ExecuteTransaction", "TransactStatements", 101, 1_100), (REFUSED,)),
    Kind("statements-26x4300", lambda: statements("BatchExecuteStatement", "Statements", 26, 4_300), (REFUSED,)),
    Kind("transact-101x1100", lambda: actions(101, 1_100), (REFUSED,)),
)
