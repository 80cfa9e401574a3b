"""BatchGetItem and BatchWriteItem through DAX: items that the cache knows are not read again;
what is written is kept.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from hashrange.items.paths import Path
from hashrange.items.rows import decode_row
from hashrange.items.steps import walk
from hashrange.items.values import check_item
from hashrange.limits import BATCH_GET_KEYS_MAX
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.server.dax import results
from hashrange.server.dax.arguments import (
    OperationMembers,
    add_reporting,
    bytes_of,
    list_of,
    map_of,
    options_of,
    paths_of,
    text_of,
)
from hashrange.server.dax.node import DaxAnswer, DaxNode, Method
from hashrange.server.dax.single_items import cached_item, keep_written
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.keys import read_dax_item
from hashrange.wire.dax.reading import BadBytes, ValueBudget
from hashrange.wire.dax.writing import ARRAY, head


class _TableRead(NamedTuple):
    """What a BatchGetItem asks of one table."""

    shape: TableShape
    is_consistent: bool
    paths: list[Path] | None
    keys: list[bytes]
    """In canonical form."""
    known: dict[bytes, bytes | None]
    """Key → content of the cache, or None: there is no such item."""


def answer_batch_get_item(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """Items of several tables: those that are known, and the others from DynamoDB."""
    node.caches.counts["BatchGetItemRequestCount"] += 1
    options = options_of(arguments[1])
    reads = {
        text_of(name): _table_read(node, scope, text_of(name), asked)
        for name, asked in walk(map_of(arguments[0]).items())
    }
    if sum([len(read.keys) for read in reads.values()]) > BATCH_GET_KEYS_MAX or any(
        not read.keys or len(set(read.keys)) < len(read.keys) for read in reads.values()
    ):
        for read in reads.values():
            read.known.clear()  # DynamoDB words what is wrong
    members: OperationMembers = {
        "RequestItems": {name: _keys_to_read(read) for name, read in reads.items() if _is_left(read)}
    }
    add_reporting(members, options)
    if reads and not members["RequestItems"]:
        answer.send(_items_reply(node, scope, reads, {}))
        return
    writes = node.caches.writes

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        _take_over(node, scope, reads, reply, writes)
        return _items_reply(node, scope, reads, reply)

    node.ask(scope, "BatchGetItem", members, answer, write)


def _table_read(node: DaxNode, scope: Scope, name: str, asked: Any) -> _TableRead:
    if len(list_of(asked)) != 3:
        raise BadBytes("a table of a batch without its three parts")
    shape = node.shapes.find(scope, name)
    is_consistent = bool(asked[0])
    keys = [shape.canonical(bytes_of(key)) for key in walk(list_of(asked[2]))]
    known: dict[bytes, bytes | None] = {}
    if not is_consistent and len(keys) <= BATCH_GET_KEYS_MAX:
        for key in walk(dict.fromkeys(keys)):
            found = node.caches.item(node.item_key(scope, shape.name, key))
            if found is not None:
                known[key] = found.content
    return _TableRead(shape, is_consistent, paths_of(asked[1]), keys, known)


def _is_left(read: _TableRead) -> bool:
    keys = read.keys
    return not keys or len(keys) > BATCH_GET_KEYS_MAX or len(read.known) < len(set(keys))


def _keys_to_read(read: _TableRead) -> OperationMembers:
    entry: OperationMembers = {"Keys": [read.shape.key_item(key) for key in walk(read.keys) if key not in read.known]}
    if read.is_consistent:
        entry["ConsistentRead"] = True
    return entry


def _take_over(
    node: DaxNode, scope: Scope, reads: Mapping[str, _TableRead], reply: Mapping[str, Any], writes: int
) -> None:
    """Add what DynamoDB has answered to what is known, and keep it.
    `writes`: those of the caches when the request began.
    """
    for name, read in reads.items():
        shape = read.shape
        left = {shape.key_of(key) for key in _left_keys(reply, name)}
        found = {}
        for row in walk(reply["Responses"].get(name, ())):
            item = decode_row(row)
            found[shape.key_of(item)] = node.content_of(scope, shape, item)
            results.free_item(item, row)
        for key in read.keys:
            if key in read.known or key in left:
                continue
            read.known[key] = found.get(key)
            if not read.is_consistent and node.caches.writes == writes:
                node.caches.keep_item(node.item_key(scope, shape.name, key), found.get(key))


def _left_keys(reply: Mapping[str, Any], name: str) -> list[Any]:
    keys: list[Any] = reply.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
    return [check_item(key)[0] for key in keys]


def _items_reply(node: DaxNode, scope: Scope, reads: Mapping[str, _TableRead], reply: Mapping[str, Any]) -> bytes:
    responses, left = {}, {}
    for name, read in reads.items():
        found = [(key, content) for key in read.keys if (content := read.known.get(key)) is not None]
        if read.paths is not None:
            elements = [
                results.projected(cached_item(node, scope, read.shape, key, content), read.paths)
                for key, content in walk(found)
            ]
        else:
            elements = [results.as_bytes(part) for pair in walk(found) for part in pair]
        responses[name] = results.array(elements)
        keys = [results.as_bytes(read.shape.key_of(key)) for key in _left_keys(reply, name)]
        if keys:
            left[name] = results.array(keys)
    consumed = [results.capacity(one) for one in reply.get("ConsumedCapacity", ())]
    both = head(ARRAY, 2) + results.by_table(responses) + results.by_table(left)
    return results.SUCCESS + both + results.array(consumed)


def answer_batch_write_item(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """Puts and deletes of several tables."""
    node.caches.counts["BatchWriteItemRequestCount"] += 1
    shapes, requests, deleted = {}, {}, []
    budget = ValueBudget()
    for raw_name, elements in walk(map_of(arguments[0]).items()):
        name = text_of(raw_name)
        shape = shapes[name] = node.shapes.find(scope, name)
        pairs = list_of(elements)
        if len(pairs) % 2:
            raise BadBytes("a key without a value")
        requests[name] = [
            _write_request(node, scope, shape, budget, bytes_of(pairs[place]), pairs[place + 1])
            for place in walk(range(0, len(pairs), 2))
        ]
        deleted += [
            node.item_key(scope, shape.name, shape.canonical(pairs[place]))
            for place in walk(range(0, len(pairs), 2))
            if pairs[place + 1] is None
        ]
    members: OperationMembers = {"RequestItems": requests}
    add_reporting(members, options_of(arguments[1]))
    writes = node.caches.writes

    def write(reply: dict[str, Any], meter: Meter) -> bytes:
        keep_written(node, scope, meter, writes, deleted)
        left = {name: _left_writes(node, scope, shapes[name], own) for name, own in reply["UnprocessedItems"].items()}
        consumed = [results.capacity(one) for one in reply.get("ConsumedCapacity", ())]
        collections = results.collections_by_table(reply.get("ItemCollectionMetrics", {}))
        return results.SUCCESS + results.by_table(left) + results.array(consumed) + collections

    node.ask(scope, "BatchWriteItem", members, answer, write)


def _write_request(
    node: DaxNode, scope: Scope, shape: TableShape, budget: ValueBudget, raw_key: bytes, raw_item: Any
) -> OperationMembers:
    if raw_item is None:
        return {"DeleteRequest": {"Key": shape.key_item(raw_key)}}
    item = read_dax_item(bytes_of(raw_item), partial(node.lists.names_of, scope.account), budget)
    item.update(shape.key_item(raw_key))
    return {"PutRequest": {"Item": item}}


def _left_writes(node: DaxNode, scope: Scope, shape: TableShape, requests: list[Any]) -> bytes:
    elements = []
    for request in walk(requests):
        if "DeleteRequest" in request:
            key = check_item(request["DeleteRequest"]["Key"])[0]
            elements += [results.as_bytes(shape.key_of(key)), b"\xf6"]
        else:
            item = check_item(request["PutRequest"]["Item"])[0]
            elements += [results.as_bytes(shape.key_of(item)), results.as_bytes(node.content_of(scope, shape, item))]
    return results.array(elements)


METHODS: Mapping[str, Method] = {"batchGetItem": answer_batch_get_item, "batchWriteItem": answer_batch_write_item}
