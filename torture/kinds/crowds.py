"""What can many clients do that act at the same moment? Their connections are known, then all send at once, and all leave at once."""

import gzip

from torture.kinds.kind import REFUSED, Hostile, Kind, plain
from torture.kinds.needs import LARGE, TABLE, key, large_key

ACTIONS = 100
"""As many as a transaction may have."""
INFLATED_BYTES = 16_000_000
LONG_NAME_BYTES = 45_000
LARGE_TEXT_BYTES = 390_000
SET_MEMBERS = 500
HEAD_LINES = 3_100
"""Of five bytes each, below 16 KB."""


def transaction() -> Hostile:
    """A hundred small puts."""
    puts = [
        {"Put": {"TableName": TABLE, "Item": key("crowd", str(number)) | {"t": {"S": "x" * 100}}}}
        for number in range(ACTIONS)
    ]
    return plain("TransactWriteItems", {"TransactItems": puts})


def inflated() -> Hostile:
    """Hardly anything on the wire, the most that a body may have once it is decoded."""
    body = b'{"TableName":"%b"}' % (b"x" * INFLATED_BYTES)
    request = Hostile("Scan", gzip.compress(body, mtime=0), len(body))
    return request._replace(headers=(("Content-Encoding", "gzip"),))


def long_name() -> Hostile:
    """45 KB that come in one read."""
    return plain("GetItem", {"TableName": "x" * LONG_NAME_BYTES, "Key": large_key()})


def number_set() -> Hostile:
    """3 KB that take half a millisecond."""
    members = [str(number) for number in range(SET_MEMBERS)]
    return plain("PutItem", {"TableName": TABLE, "Item": key("crowd") | {"s": {"NS": members}}})


def large_update() -> Hostile:
    """Every one of them wants to change the same large item."""
    members = {
        "TableName": TABLE,
        "Key": large_key(),
        "UpdateExpression": "SET x = :v",
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    return plain("UpdateItem", members)


def large_put() -> Hostile:
    """Nearly the largest item, in one piece of text."""
    return plain("PutItem", {"TableName": TABLE, "Item": key("crowd") | {"t": {"S": "x" * LARGE_TEXT_BYTES}}})


def tiny_lines() -> Hostile:
    """A head of as many lines as fit."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key(99)})._replace(headers=(("a", ""),) * HEAD_LINES)


KINDS = (
    Kind("together-300-sets", number_set, ("200",), behaviour="together", clients=300),
    Kind("together-300-large-puts", large_put, ("200",), behaviour="together", clients=300),
    Kind("together-20-large-updates", large_update, ("200",), (LARGE,), behaviour="together", clients=20),
    Kind("together-100-tiny-lines", tiny_lines, ("200",), behaviour="together", clients=100),
    Kind(
        "together-1000-transactions",
        transaction,
        ("200", "400 TransactionCanceledException"),
        behaviour="together",
        clients=1_000,
    ),
    Kind("together-20-inflated", inflated, (REFUSED,), behaviour="together", clients=20),
    Kind("together-500-refused", long_name, (REFUSED,), behaviour="together", clients=500),
)
