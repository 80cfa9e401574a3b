"""Which control-plane requests, and which framing of a body, cost most for their size?
Lists of thousands of members of a few bytes each.
"""

from collections.abc import Callable
from typing import Any

from torture.kinds.kind import REFUSED, Hostile, Kind, json_list, json_set, names_of, plain, spliced
from torture.kinds.needs import PROBE_TABLE, TABLE

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
CHUNKS = 65_000
"""Number of one-byte chunks; the server accepts 65,536."""


def definition(name: bytes) -> bytes:
    """An AttributeDefinition."""
    return b'{"AttributeName":"%b","AttributeType":"S"}' % name


def index(name: bytes) -> bytes:
    """A global index with a key attribute of its own."""
    keys = b'[{"AttributeName":"%b","KeyType":"HASH"}]' % name
    return b'{"IndexName":"by-%b","KeySchema":%b,"Projection":{"ProjectionType":"ALL"}}' % (name, keys)


def update_of(name: bytes) -> bytes:
    """An index update that creates the index `name`."""
    return b'{"Create":%b}' % index(name)


def each(make: Callable[[bytes], bytes], names: list[bytes]) -> bytes:
    """A JSON list with one element per name."""
    return b"[%b]" % b",".join(map(make, names))


def creations(count: int) -> Hostile:
    """An UpdateTable that creates many indexes: refused last of all, because only one index
    may be created at a time.
    """
    names = names_of(b"p", count)
    members = {"TableName": TABLE, "AttributeDefinitions": "@definitions", "GlobalSecondaryIndexUpdates": "@updates"}
    return spliced("UpdateTable", members, {"definitions": each(definition, names), "updates": each(update_of, names)})


def new_table(count: int) -> Hostile:
    """A CreateTable with too many global indexes: the limit of 20 is checked last."""
    names = names_of(b"p", count)
    members: dict[str, Any] = {
        "TableName": "never-made",
        "KeySchema": [{"AttributeName": "p0", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": "@definitions",
        "GlobalSecondaryIndexes": "@indexes",
    }
    return spliced("CreateTable", members, {"definitions": each(definition, names), "indexes": each(index, names)})


def untag(count: int) -> Hostile:
    """An UntagResource with keys of tags that the table does not have."""
    return spliced("UntagResource", {"ResourceArn": ARN, "TagKeys": "@keys"}, {"keys": json_set(names_of(b"", count))})


def tiny_maps(count: int) -> Hostile:
    """An UpdateTable with a list that is cut off before its members are read."""
    members = {"TableName": TABLE, "ReplicaUpdates": "@updates"}
    return spliced("UpdateTable", members, {"updates": json_list(b"{}", count)})


def short_texts(count: int) -> Hostile:
    """A GetItem with more members than a body may hold; the server finds that out without decoding the body."""
    members = {"TableName": TABLE, "Key": {"pk": {"S": "x"}}, "Filler": "@texts"}
    return spliced("GetItem", members, {"texts": json_list(b'"\\"x"', count)})


def chunks() -> Hostile:
    """A small request padded with blanks, in signed chunks of one byte: each costs 90 bytes on the wire."""
    request = plain("GetItem", {"TableName": PROBE_TABLE, "Key": {"pk": {"S": "probe"}}})
    return request._replace(body=request.body.ljust(CHUNKS), decoded_bytes=CHUNKS, chunk_bytes=1)


KINDS = (
    Kind("create-indexes-5600", lambda: creations(5_600), ("400 LimitExceededException",)),
    Kind("create-indexes-20000", lambda: creations(20_000), ("400 LimitExceededException",)),
    Kind("table-indexes-6000", lambda: new_table(6_000), (REFUSED,)),
    Kind("untag-400000", lambda: untag(400_000), ("200",)),
    Kind("empty-maps-400000", lambda: tiny_maps(400_000), (REFUSED,)),
    Kind("short-texts-600000", lambda: short_texts(600_000), (REFUSED,)),
    Kind("chunks-of-1-byte-65000", chunks, ("200",)),
    Kind("chunks-of-1-byte-8-clients", chunks, ("200",), clients=8),
)
