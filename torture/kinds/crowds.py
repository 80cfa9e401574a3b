"""What can many clients do that act at the same moment? Their connections are known, then all send at once, and all leave at once."""

import gzip

from torture.kinds.kind import REFUSED, Hostile, Kind, plain
from torture.kinds.needs import TABLE, key, large_key

ACTIONS = 100
"""As many as a transaction may have."""
INFLATED_BYTES = 16_000_000
LONG_NAME_BYTES = 45_000


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


KINDS = (
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
