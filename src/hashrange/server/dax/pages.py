"""Query and Scan through DAX: replies from the query cache by all that a request asks, or from DynamoDB."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from hashrange.items.paths import Path
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.lookup import name_of_own_table
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.server.dax import results
from hashrange.server.dax.arguments import (
    CONSISTENT_READ,
    FILTER,
    FORWARD,
    INDEX_NAME,
    LIMIT,
    PROJECTION,
    SEGMENT,
    SELECT,
    START_KEY,
    TOTAL_SEGMENTS,
    DaxOptions,
    OperationMembers,
    add_condition,
    add_read_options,
    add_reporting,
    add_top_level,
    bytes_of,
    options_of,
    paths_of,
    text_of,
    wants_capacity,
)
from hashrange.server.dax.node import DaxAnswer, DaxNode, Method
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.keys import read_index_key
from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.writing import BREAK, as_cbor

_ASKING = (PROJECTION, START_KEY, FILTER, INDEX_NAME, LIMIT, FORWARD, SELECT, SEGMENT, TOTAL_SEGMENTS)
"""Options that change the items of a reply."""
_PLAIN = frozenset([bytes, str, int, bool, type(None)])
"""Types of conditions and of the other options."""


def answer_query_or_scan(
    node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer, *, operation: str
) -> None:
    """A page of a Query, whose second argument is its key condition, or of a Scan."""
    node.caches.counts[f"{operation}RequestCount"] += 1
    key_condition = arguments[1] if operation == "Query" else None
    options = options_of(arguments[-1])
    name, caches = text_of(arguments[0]), node.caches
    cache_key = None
    if not options.get(CONSISTENT_READ):
        asked = [(option, options[option]) for option in _ASKING if option in options]
        if not {value.__class__ for _, value in asked} | {key_condition.__class__} <= _PLAIN:
            raise BadBytes("a condition or an option of an unexpected type")
        table = name_of_own_table(scope, name) if ":" in name else name
        cache_key = (scope.account, scope.region, operation, table, key_condition, tuple(asked))
        known = caches.reply(cache_key, operation)
        if known is not None:
            consumed = {"TableName": name, "CapacityUnits": 0.0} if wants_capacity(options) else None
            answer.send(_with_capacity(known, consumed))
            return
    shape = node.shapes.find(scope, name)
    paths = paths_of(options.get(PROJECTION))
    members = _members(name, shape, key_condition, options, paths)

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        parts: results.Parts = {}
        uses = node.lists.passing_uses
        if "Items" in reply:
            parts[results.ITEMS] = results.found_items(shape, reply["Items"], paths, partial(node.content_of, scope))
        parts[results.COUNT] = as_cbor(reply["Count"])
        parts[results.SCANNED_COUNT] = as_cbor(reply["ScannedCount"])
        if "LastEvaluatedKey" in reply:
            last_key = results.last_key(shape, reply["LastEvaluatedKey"], is_index=INDEX_NAME in options)
            parts[results.LAST_KEY] = last_key
        content = results.result(parts)
        if cache_key is not None and node.lists.passing_uses == uses:
            caches.keep_reply(cache_key, _size_bytes(cache_key), content)
        return _with_capacity(content, reply.get("ConsumedCapacity"))

    node.ask(scope, operation, members, answer, write)


def _members(
    name: str, shape: TableShape, key_condition: Any, options: DaxOptions, paths: list[Path] | None
) -> OperationMembers:
    members: OperationMembers = {"TableName": name}
    add_condition(members, "KeyConditionExpression", key_condition, "k")
    add_read_options(members, options)
    start = options.get(START_KEY)
    if start is not None:
        is_index = INDEX_NAME in options
        members["ExclusiveStartKey"] = read_index_key(bytes_of(start)) if is_index else shape.key_item(bytes_of(start))
    if paths is not None:
        check_key_paths(shape.table, frozenset([str(path[0]) for path in paths if len(path) > 1]))
        add_top_level(members, paths)
    if members.get("Select") == "ALL_ATTRIBUTES" and (paths is not None or _is_global(shape, members.get("IndexName"))):
        del members["Select"]  # the client in Go sends it whenever its caller has chosen nothing
    add_reporting(members, options)
    members.pop("ReturnItemCollectionMetrics", None)
    members.pop("ReturnValues", None)
    return members


def _is_global(shape: TableShape, index_name: str | None) -> bool:
    source = None if index_name is None else shape.table.read_source(index_name)
    return source is not None and source.index is not None and source.index.is_global


def _size_bytes(cache_key: Iterable[Any]) -> int:
    """Memory of the bytes and texts of a key."""
    size_bytes = 0
    for part in cache_key:
        if part.__class__ is tuple:
            size_bytes += _size_bytes(part)
        elif part.__class__ is bytes or part.__class__ is str:
            size_bytes += len(part)
    return size_bytes


def _with_capacity(content: bytes, consumed: Mapping[str, Any] | None) -> bytes:
    """A result with ConsumedCapacity behind its last member."""
    if consumed is None:
        return content
    return content.removesuffix(BREAK) + bytes((results.CAPACITY,)) + results.capacity(consumed) + BREAK


METHODS: Mapping[str, Method] = {
    "query": partial(answer_query_or_scan, operation="Query"),
    "scan": partial(answer_query_or_scan, operation="Scan"),
}
