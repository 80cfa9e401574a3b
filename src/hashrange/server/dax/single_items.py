"""GetItem, PutItem, UpdateItem and DeleteItem through DAX: reads from the item cache, writes through it."""

from collections.abc import Mapping
from typing import Any

from hashrange.items.rows import decode_row
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.operations.meter import ChangeUsage, Meter
from hashrange.operations.operation import Scope
from hashrange.server.dax import results
from hashrange.server.dax.arguments import (
    CONDITION,
    CONSISTENT_READ,
    PROJECTION,
    UPDATE,
    Members,
    Options,
    add_condition,
    add_reporting,
    add_update,
    bytes_of,
    options_of,
    paths_of,
    text_of,
    wants_capacity,
)
from hashrange.server.dax.connection import Answer
from hashrange.server.dax.node import Method, Node
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.keys import read_item

_FROM_CACHE = results.SUCCESS + b"\xa1\x00"
"""Begin of the reply that holds an item and nothing else."""


def get_item(node: Node, scope: Scope, arguments: list[Any], answer: Answer) -> None:
    """An item from the cache, or from DynamoDB, whole, so that the cache knows it for every projection."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[2])
    caches = node.caches
    caches.counts["GetItemRequestCount"] += 1
    is_consistent = bool(options.get(CONSISTENT_READ))
    key = node.item_key(scope, name, raw_key)
    if not is_consistent:
        known = caches.item(key)
        if known is not None and PROJECTION not in options and not wants_capacity(options):
            content = known.content
            answer.send(results.NOTHING if content is None else _FROM_CACHE + results.as_bytes(content))
            return
    shape = node.shapes.find(scope, name)
    paths = paths_of(options.get(PROJECTION))
    key = node.item_key(scope, name, shape.canonical(raw_key))
    if not is_consistent:
        if known is None and key[3] != raw_key:
            known = caches.item(key)
        if known is not None:
            parts: results.Parts = {}
            if known.content is not None:
                parts[results.ITEM] = _item_part(node, shape, raw_key, known.content, paths)
            if wants_capacity(options):
                parts[results.CAPACITY] = results.capacity({"TableName": name, "CapacityUnits": 0.0})
            answer.send(results.result(parts))
            return
    members: Members = {"TableName": name, "Key": shape.key_item(raw_key)}
    if is_consistent:
        members["ConsistentRead"] = True
    add_reporting(members, options)
    writes = caches.writes

    def write(reply: dict[str, Any], meter: Meter) -> bytes:
        del meter
        item = reply.get("Item")
        content = None if item is None else node.content_of(shape, item)
        if not is_consistent and caches.writes == writes:
            caches.keep_item(key, content)
        parts: results.Parts = {}
        if item is not None and content is not None:
            parts[results.ITEM] = results.as_bytes(content) if paths is None else results.projected(item, paths)
        if "ConsumedCapacity" in reply:
            parts[results.CAPACITY] = results.capacity(reply["ConsumedCapacity"])
        return results.result(parts)

    node.ask(scope, "GetItem", members, answer, write)


def _item_part(node: Node, shape: TableShape, raw_key: bytes, content: bytes, paths: Any) -> bytes:
    """A cached item for a client: as it is, or its values at paths."""
    if paths is None:
        return results.as_bytes(content)
    return results.projected(cached_item(node, shape, raw_key, content), paths)


def cached_item(node: Node, shape: TableShape, raw_key: bytes, content: bytes) -> Item:
    """A cached item with its key, canonical."""
    return check_item({**shape.key_item(raw_key), **read_item(content, node.lists.names_of)})[0]


def put_item(node: Node, scope: Scope, arguments: list[Any], answer: Answer) -> None:
    """Put an item, and keep it."""
    name, raw_key, raw_item, options = (
        text_of(arguments[0]),
        bytes_of(arguments[1]),
        arguments[2],
        options_of(arguments[3]),
    )
    node.caches.counts["PutItemRequestCount"] += 1
    shape = node.shapes.find(scope, name)
    item = {**read_item(bytes_of(raw_item), node.lists.names_of), **shape.key_item(raw_key)}
    _write(node, scope, "PutItem", shape, {"TableName": name, "Item": item}, options, answer)


def update_item(node: Node, scope: Scope, arguments: list[Any], answer: Answer) -> None:
    """Update an item, and keep its new value."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[2])
    node.caches.counts["UpdateItemRequestCount"] += 1
    shape = node.shapes.find(scope, name)
    members: Members = {"TableName": name, "Key": shape.key_item(raw_key)}
    add_update(members, options.get(UPDATE))
    _write(node, scope, "UpdateItem", shape, members, options, answer)


def delete_item(node: Node, scope: Scope, arguments: list[Any], answer: Answer) -> None:
    """Delete an item, and forget it."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[2])
    node.caches.counts["DeleteItemRequestCount"] += 1
    shape = node.shapes.find(scope, name)
    _write(node, scope, "DeleteItem", shape, {"TableName": name, "Key": shape.key_item(raw_key)}, options, answer)


def _write(
    node: Node, scope: Scope, operation: str, shape: TableShape, members: Members, options: Options, answer: Answer
) -> None:
    add_condition(members, "ConditionExpression", options.get(CONDITION), "c")
    add_reporting(members, options)
    return_values = members.get("ReturnValues")

    def write(reply: dict[str, Any], meter: Meter) -> bytes:
        keep_written(node, scope, meter)
        parts: results.Parts = {}
        attributes = reply.get("Attributes")
        if attributes is not None:
            if return_values in ("UPDATED_OLD", "UPDATED_NEW"):
                parts[results.ATTRIBUTES] = results.updated(attributes, node.lists.id_of)
            else:
                parts[results.ATTRIBUTES] = results.as_bytes(node.content_of(shape, attributes))
        _add_reported(parts, reply)
        return results.result(parts)

    node.ask(scope, operation, members, answer, write)


def _add_reported(parts: results.Parts, reply: Mapping[str, Any]) -> None:
    if "ConsumedCapacity" in reply:
        parts[results.CAPACITY] = results.capacity(reply["ConsumedCapacity"])
    if "ItemCollectionMetrics" in reply:
        parts[results.COLLECTION_METRICS] = results.collection_metrics(reply["ItemCollectionMetrics"])


def keep_written(node: Node, scope: Scope, meter: Meter) -> None:
    """Keep what a request has written, as its meter knows it."""
    for usage in meter:
        if not isinstance(usage, ChangeUsage):
            continue
        change = usage.change
        shape = node.shapes.of(change.table)
        row = change.new if change.new is not None else change.old
        if row is None:
            continue
        item = decode_row(row)
        content = None if change.new is None else node.content_of(shape, item)
        node.caches.written(node.item_key(scope, usage.name, shape.key_of(item)), content)


METHODS: Mapping[str, Method] = {
    "getItem": get_item,
    "putItem": put_item,
    "updateItem": update_item,
    "deleteItem": delete_item,
}
