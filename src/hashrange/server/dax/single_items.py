"""GetItem, PutItem, UpdateItem and DeleteItem through DAX: reads from the item cache, writes through it."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from hashrange.dax.node_caches import Cached, ItemKey
from hashrange.items.rows import decode_row
from hashrange.items.steps import walk
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.operations.lookup import name_of_own_table
from hashrange.operations.meter import ChangeUsage, Meter
from hashrange.operations.operation import Scope
from hashrange.operations.reply import plain_values
from hashrange.server.dax import results
from hashrange.server.dax.arguments import (
    CONDITION,
    CONSISTENT_READ,
    PROJECTION,
    UPDATE,
    OperationMembers,
    add_condition,
    add_reporting,
    add_update,
    bytes_of,
    options_of,
    paths_of,
    text_of,
    wants_capacity,
)
from hashrange.server.dax.node import DaxAnswer, DaxNode, Method
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.keys import read_dax_item
from hashrange.wire.dax.writing import BREAK, OPEN_MAP

_FROM_CACHE, _ENDS = results.SUCCESS + OPEN_MAP + b"\x00", BREAK
"""Begin and end of the reply that holds an item and nothing else."""


def answer_get_item(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """An item from the cache: if it is asked for whole, at once, otherwise by `_read_item`, in a worker."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[2])
    caches = node.caches
    caches.counts["GetItemRequestCount"] += 1
    known = None
    if not options.get(CONSISTENT_READ):
        known = caches.item(node.item_key(scope, name_of_own_table(scope, name) if ":" in name else name, raw_key))
        if known is not None and PROJECTION not in options and not wants_capacity(options):
            content = known.content
            answer.send(results.NOTHING if content is None else _FROM_CACHE + results.as_bytes(content) + _ENDS)
            return
    node.run_long(node.answer, partial(_read_item, known=known), scope, arguments, answer)


def _read_item(
    node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer, *, known: Cached[bytes | None] | None
) -> None:
    """An item from the cache, or from DynamoDB, whole, so that the cache knows it for every projection."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[2])
    caches = node.caches
    is_consistent = bool(options.get(CONSISTENT_READ))
    shape = node.shapes.find(scope, name)
    paths = paths_of(options.get(PROJECTION))
    key = node.item_key(scope, shape.name, shape.canonical(raw_key))
    if not is_consistent:
        if known is None and key[3] != raw_key:
            known = caches.item(key)
        if known is not None:
            parts: results.Parts = {}
            if known.content is not None:
                parts[results.ITEM] = _item_part(node, scope, shape, raw_key, known.content, paths)
            if wants_capacity(options):
                parts[results.CAPACITY] = results.capacity({"TableName": name, "CapacityUnits": 0.0})
            answer.send(results.result(parts))
            return
    members: OperationMembers = {"TableName": name, "Key": shape.key_item(raw_key)}
    if is_consistent:
        members["ConsistentRead"] = True
    add_reporting(members, options)
    writes = caches.writes

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        row = reply.get("Item")
        item = None if row is None else decode_row(row)
        content = None if item is None else node.content_of(scope, shape, item)
        if not is_consistent and caches.writes == writes:
            caches.keep_item(key, content)
        parts: results.Parts = {}
        if row is not None and item is not None and content is not None:
            parts[results.ITEM] = results.as_bytes(content) if paths is None else results.projected(item, paths)
            results.free_item(item, row)
        _add_reported(parts, reply)
        return results.result(parts)

    node.ask(scope, "GetItem", members, answer, write)


def _item_part(node: DaxNode, scope: Scope, shape: TableShape, raw_key: bytes, content: bytes, paths: Any) -> bytes:
    """A cached item for a client: as it is, or its values at paths."""
    if paths is None:
        return results.as_bytes(content)
    return results.projected(cached_item(node, scope, shape, raw_key, content), paths)


def cached_item(node: DaxNode, scope: Scope, shape: TableShape, raw_key: bytes, content: bytes) -> Item:
    """A cached item with its key, canonical."""
    item = read_dax_item(content, partial(node.lists.names_of, scope.account))
    item.update(shape.key_item(raw_key))
    return check_item(item)[0]


def answer_write(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer, *, operation: str) -> None:
    """Put, update or delete an item, and keep or forget it."""
    name, raw_key, options = text_of(arguments[0]), bytes_of(arguments[1]), options_of(arguments[-1])
    node.caches.counts[f"{operation}RequestCount"] += 1
    shape = node.shapes.find(scope, name)
    members: OperationMembers = {"TableName": name}
    deleted: list[ItemKey] = []
    if operation == "DeleteItem":
        deleted.append(node.item_key(scope, shape.name, shape.canonical(raw_key)))
    if operation == "PutItem":
        members["Item"] = read_dax_item(bytes_of(arguments[2]), partial(node.lists.names_of, scope.account))
        members["Item"].update(shape.key_item(raw_key))
    else:
        members["Key"] = shape.key_item(raw_key)
    if operation == "UpdateItem":
        add_update(members, options.get(UPDATE))
    add_condition(members, "ConditionExpression", options.get(CONDITION), "c")
    add_reporting(members, options)
    return_values = members.get("ReturnValues")
    writes = node.caches.writes

    def write(reply: dict[str, Any], meter: Meter) -> bytes:
        keep_written(node, scope, meter, writes, deleted)
        parts: results.Parts = {}
        if "Attributes" in reply:
            attributes = plain_values(reply["Attributes"])
            if return_values in ("UPDATED_OLD", "UPDATED_NEW"):
                parts[results.ATTRIBUTES] = results.updated(attributes, partial(node.lists.id_of, scope.account))
            else:
                parts[results.ATTRIBUTES] = results.as_bytes(node.content_of(scope, shape, attributes))
        _add_reported(parts, reply)
        return results.result(parts)

    node.ask(scope, operation, members, answer, write)


def _add_reported(parts: results.Parts, reply: Mapping[str, Any]) -> None:
    if "ConsumedCapacity" in reply:
        parts[results.CAPACITY] = results.capacity(reply["ConsumedCapacity"])
    if "ItemCollectionMetrics" in reply:
        parts[results.COLLECTION_METRICS] = results.collection_metrics_bytes(reply["ItemCollectionMetrics"])


def keep_written(node: DaxNode, scope: Scope, meter: Meter, writes: int, deleted: Iterable[ItemKey] = ()) -> None:
    """Keep what a request has written, as its meter knows it. `deleted`: keys of its deletes,
    which are forgotten even if there was no item.

    `writes`: those of the caches when the request began. If there were others since, because this gave way,
    they may have written the same items later, so these are forgotten.
    """
    caches = node.caches
    is_newest = caches.writes == writes
    for key in deleted:
        caches.written(key, None)
    for usage in walk(meter):
        if isinstance(usage, ChangeUsage) and usage.change.new is not None:
            shape = node.shapes.of(usage.change.table)
            own_writes = caches.writes
            item = decode_row(usage.change.new)
            key = node.item_key(scope, shape.name, shape.key_of(item))
            content = node.content_of(scope, shape, item)
            is_newest = is_newest and caches.writes == own_writes
            caches.written(key, content if is_newest else None)
            results.free_item(item, usage.change.new)


METHODS: Mapping[str, Method] = {
    "getItem": answer_get_item,
    "putItem": partial(answer_write, operation="PutItem"),
    "updateItem": partial(answer_write, operation="UpdateItem"),
    "deleteItem": partial(answer_write, operation="DeleteItem"),
}
