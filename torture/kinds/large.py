"""Which bodies of many megabytes cost most? Bodies with very many values, up to the 16 MB that a body may have."""

import gzip

from torture.kinds.kind import REFUSED, Hostile, Kind, json_list, json_map, json_set, names_of, spliced
from torture.kinds.needs import TABLE, key, large_key

BATCH_PUTS, BATCH_ELEMENTS = 25, 50_000
BLANKS = 16_600_000
LIST_LEVELS = 500
"""Levels of lists in one list; the server reads at most 1,000."""
BLANKS_OF_MEMBERS, GZIP_MEMBERS = 15_500_000, 1_000


def put(attributes: dict[str, str], parts: dict[str, bytes]) -> Hostile:
    """A PutItem of a too large item."""
    return spliced("PutItem", {"TableName": TABLE, "Item": key("put") | attributes}, parts)


def put_list() -> Hostile:
    """A PutItem of numbers that are longer as JSON than their share of the item size."""
    return put({"a": "@list"}, {"list": b'{"L":%b}' % json_list(b'{"N":"1E-120"}', 800_000)})


def gzipped(request: Hostile) -> Hostile:
    """The PutItem of numbers, compressed: tiny on the wire."""
    return request._replace(body=gzip.compress(request.body, mtime=0), headers=(("Content-Encoding", "gzip"),))


def put_attributes() -> Hostile:
    """A PutItem of an item with as many attributes as fit."""
    item = json_map(names_of(b"", 800_000), b'{"N":"1"}')
    return spliced(
        "PutItem", {"TableName": TABLE, "Item": "@item"}, {"item": b'{"pk":{"S":"put"},"sk":{"S":"0"},%b' % item[1:]}
    )


def unused_values() -> Hostile:
    """A request with values that no expression uses."""
    members = {
        "TableName": TABLE,
        "Key": large_key(),
        "UpdateExpression": "SET a=:0",
        "ExpressionAttributeValues": "@values",
    }
    return spliced("UpdateItem", members, {"values": json_map(names_of(b":", 400_000), b'{"N":"1"}')})


def string_set() -> Hostile:
    """A set of a million texts, which are compared with each other."""
    return put({"a": "@set"}, {"set": b'{"SS":%b}' % json_set(names_of(b"", 1_000_000))})


def number_set() -> Hostile:
    """A set of a million numbers, which are normalized and compared with each other."""
    return put({"a": "@set"}, {"set": b'{"NS":%b}' % json_set(b"%d" % number for number in range(1_000_000))})


def set_nulls() -> Hostile:
    """An UpdateItem whose four clauses use the same large value."""
    members = {
        "TableName": TABLE,
        "Key": key("nulls"),
        "UpdateExpression": "SET a=:a, b=:a, c=:a, d=:a",
        "ExpressionAttributeValues": {":a": "@list"},
    }
    return spliced("UpdateItem", members, {"list": b'{"L":%b}' % json_list(b'{"NULL":true}', 800_000)})


def parameters() -> Hostile:
    """A statement with far more parameters than question marks."""
    members = {"Statement": f"SELECT * FROM \"{TABLE}\" WHERE pk='x' AND sk=?", "Parameters": "@list"}
    return spliced("ExecuteStatement", members, {"list": json_list(b'{"S":"1"}', 900_000)})


def number_sets(count: int) -> Hostile:
    """A statement with far more parameters than question marks, each a small set, compressed."""
    members = {"Statement": f"SELECT * FROM \"{TABLE}\" WHERE pk='x' AND sk=?", "Parameters": "@list"}
    return gzipped(spliced("ExecuteStatement", members, {"list": json_list(b'{"NS":["1"]}', count)}))


def batch() -> Hostile:
    """A BatchWriteItem within all limits: 25 items of 150 KB."""
    puts = [{"PutRequest": {"Item": key(f"batch-{number}") | {"a": "@list"}}} for number in range(BATCH_PUTS)]
    elements = json_list(b'{"N":"1"}', BATCH_ELEMENTS)
    return spliced("BatchWriteItem", {"RequestItems": {TABLE: puts}}, {"list": b'{"L":%b}' % elements})


def blanks_and_emoji() -> Hostile:
    """A body of blanks, and one letter that makes Python's text use four bytes per character."""
    blanks = b" " * BLANKS
    body = b'{"TableName":"%b",%b"Unknown":"%b"}' % (TABLE.encode(), blanks, "\U0001f600".encode())
    return Hostile("Scan", body, len(body))


def blanks_of_members() -> Hostile:
    """A body of blanks, compressed as the largest allowed number of short gzip members."""
    body = b'{"TableName":"%b",%b"Unknown":1}' % (TABLE.encode(), b" " * BLANKS_OF_MEMBERS)
    size_bytes = len(body) // GZIP_MEMBERS + 1
    members = [gzip.compress(body[at : at + size_bytes], 1, mtime=0) for at in range(0, len(body), size_bytes)]
    return Hostile("Scan", b"".join(members), len(body), (("Content-Encoding", "gzip"),))


def lists_in_lists(count: int) -> Hostile:
    """A GetItem with a member of lists in lists, which need neither commas nor colons."""
    lists = json_list(b"[" * LIST_LEVELS + b"]" * LIST_LEVELS, count)
    return spliced("GetItem", {"TableName": TABLE, "Key": large_key(), "Filler": "@lists"}, {"lists": lists})


KINDS = (
    Kind("put-list-800000", put_list, (REFUSED,)),
    Kind("put-list-800000-gzip", lambda: gzipped(put_list()), (REFUSED,)),
    Kind("put-attributes-800000", put_attributes, (REFUSED,)),
    Kind("unused-values-400000", unused_values, (REFUSED,)),
    Kind("string-set-1000000", string_set, (REFUSED,)),
    Kind("number-set-1000000", number_set, (REFUSED,)),
    Kind("set-nulls-800000", set_nulls, (REFUSED,)),
    Kind("parameters-900000", parameters, (REFUSED,)),
    Kind("number-sets-76000-gzip", lambda: number_sets(76_000), (REFUSED,), clients=6),
    Kind("number-sets-209000-gzip", lambda: number_sets(209_000), (REFUSED,), clients=6),
    Kind("blanks-16mb-emoji", blanks_and_emoji, ("200",)),
    Kind("batch-25x50000", batch, ("200",)),
    Kind("lists-in-lists-1mb", lambda: lists_in_lists(1_000), (REFUSED,)),
    Kind("lists-in-lists-16mb", lambda: lists_in_lists(16_000), (REFUSED,)),
    Kind("blanks-of-1000-members", blanks_of_members, ("200",), clients=20),
)
