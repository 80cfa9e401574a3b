"""Which requests harm when many clients act at the same moment?
All connect first, then all send at once, and all leave at once.
"""

import gzip

from torture.kinds.kind import REFUSED, Hostile, Kind, plain
from torture.kinds.needs import LARGE, TABLE, key, large_key

ACTIONS = 100
"""Number of actions: the most that a transaction may have."""
INFLATED_BYTES = 16_000_000
LONG_NAME_BYTES = 45_000
LARGE_TEXT_BYTES = 390_000
SET_MEMBERS = 500
HEAD_LINES = 3_100
"""Number of header lines of five bytes each, below 16 KB together."""


def transaction() -> Hostile:
    """A transaction of a hundred small puts."""
    puts = [
        {"Put": {"TableName": TABLE, "Item": key("crowd", str(number)) | {"t": {"S": "x" * 100}}}}
        for number in range(ACTIONS)
    ]
    return plain("TransactWriteItems", {"TransactItems": puts})


def inflated() -> Hostile:
    """A body that is tiny on the wire and has the maximum size once decoded."""
    body = b'{"TableName":"%b"}' % (b"x" * INFLATED_BYTES)
    request = Hostile("Scan", gzip.compress(body, mtime=0), len(body))
    return request._replace(headers=(("Content-Encoding", "gzip"),))


def long_name() -> Hostile:
    """A request of 45 KB that arrives in one read."""
    return plain("GetItem", {"TableName": "x" * LONG_NAME_BYTES, "Key": large_key()})


def number_set() -> Hostile:
    """A request of 3 KB that takes half a millisecond."""
    members = [str(number) for number in range(SET_MEMBERS)]
    return plain("PutItem", {"TableName": TABLE, "Item": key("crowd") | {"s": {"NS": members}}})


def large_update() -> Hostile:
    """An UpdateItem: all clients change the same large item."""
    members = {
        "TableName": TABLE,
        "Key": large_key(),
        "UpdateExpression": "SET x = :v",
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    return plain("UpdateItem", members)


def large_put() -> Hostile:
    """A PutItem of nearly the largest item, with one long text."""
    return plain("PutItem", {"TableName": TABLE, "Item": key("crowd") | {"t": {"S": "x" * LARGE_TEXT_BYTES}}})


def tiny_lines() -> Hostile:
    """A request whose head has as many lines as fit."""
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
