"""Transactions through DAX pass through. What one has written is read again by a transaction of its own, and kept."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from hashrange.items.steps import walk
from hashrange.items.values import check_item
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.reply import plain_values
from hashrange.server.dax import results
from hashrange.server.dax.arguments import (
    TOKEN,
    OperationMembers,
    add_condition,
    add_reporting,
    add_update,
    bytes_of,
    list_of,
    options_of,
    paths_of,
    text_of,
)
from hashrange.server.dax.node import DaxAnswer, DaxNode, Method
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.keys import read_dax_item
from hashrange.wire.dax.reading import BadBytes, ValueBudget
from hashrange.wire.dax.writing import ARRAY, NULL, head

_ACTIONS = {2: "Put", 7: "Delete", 9: "Update", 12: "ConditionCheck"}
_ON_FAILURE = {1: "NONE", 2: "ALL_OLD"}


class _Place(NamedTuple):
    """The item of an action."""

    table: str
    shape: TableShape
    key: bytes


def answer_transact_get_items(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """Items as of one time; the cache is neither asked nor filled."""
    node.caches.counts["TransactGetItemsCount"] += 1
    places = _places(node, scope, arguments[0], arguments[1])
    projections = [None] * len(places) if arguments[2] is None else list_of(arguments[2])
    if len(projections) != len(places):
        raise BadBytes("arrays of different lengths")
    paths = [paths_of(raw) for raw in walk(projections)]
    members = _gets(places)
    add_reporting(members, options_of(arguments[3]))

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        elements = []
        for place, own_paths, response in walk(list(zip(places, paths, reply["Responses"], strict=True))):
            item = plain_values(response["Item"]) if "Item" in response else None
            if item is None:
                elements.append(NULL)
            elif own_paths is not None:
                elements.append(results.projected(item, own_paths))
            else:
                elements.append(results.as_bytes(node.content_of(scope, place.shape, item)))
                results.free_item(item, response["Item"])
        consumed = [results.capacity_map(one) for one in reply.get("ConsumedCapacity", ())]
        return results.SUCCESS + head(ARRAY, 2) + results.array(elements) + results.array(consumed)

    node.ask(scope, "TransactGetItems", members, answer, write)


def _places(node: DaxNode, scope: Scope, tables: Any, keys: Any) -> list[_Place]:
    names, raw_keys = [text_of(name) for name in walk(list_of(tables))], [bytes_of(key) for key in walk(list_of(keys))]
    if len(names) != len(raw_keys):
        raise BadBytes("arrays of different lengths")
    pairs = list(zip(names, raw_keys, strict=True))
    return [_Place(name, node.shapes.find(scope, name), key) for name, key in walk(pairs)]


def _gets(places: list[_Place]) -> OperationMembers:
    return {
        "TransactItems": [{"Get": {"TableName": one.table, "Key": one.shape.key_item(one.key)}} for one in walk(places)]
    }


def answer_transact_write_items(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """Writes, all or none; then their items are read, and kept."""
    node.caches.counts["TransactWriteItemsCount"] += 1
    operations, tables, keys, values, _, on_failure, conditions, updates, raw_options = arguments
    places = _places(node, scope, tables, keys)
    columns = [list_of(column) for column in (operations, values, on_failure, conditions, updates)]
    if any(len(column) != len(places) for column in columns):
        raise BadBytes("arrays of different lengths")
    options = options_of(raw_options)
    budget = ValueBudget()
    members: OperationMembers = {
        "TransactItems": [_action(node, scope, budget, *row) for row in walk(list(zip(places, *columns, strict=True)))]
    }
    if options.get(TOKEN) is not None:
        members["ClientRequestToken"] = text_of(options[TOKEN])
    add_reporting(members, options)

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        node.caches.wrote()
        read_again = [
            place
            for place, operation in zip(places, operations, strict=True)
            if _ACTIONS[operation] != "ConditionCheck"
        ]
        if read_again:
            node.service.workers.run_next(lambda: _keep_again(node, scope, read_again))
        consumed = [results.capacity_map(one) for one in reply.get("ConsumedCapacity", ())]
        collections = results.collections_by_table(reply.get("ItemCollectionMetrics", {}))
        return results.SUCCESS + head(ARRAY, 3) + results.array([]) + results.array(consumed) + collections

    def write_item(place: int, item: Mapping[str, Any]) -> bytes:
        return results.as_bytes(node.content_of(scope, places[place].shape, dict(item)))

    node.ask(scope, "TransactWriteItems", members, answer, write, write_item)


def _action(
    node: DaxNode,
    scope: Scope,
    budget: ValueBudget,
    place: _Place,
    operation: Any,
    raw_item: Any,
    on_failure: Any,
    condition: Any,
    update: Any,
) -> OperationMembers:
    kind = _ACTIONS.get(operation) if operation.__class__ is int else None
    if kind is None:
        raise BadBytes("an unknown action of a transaction")
    action: OperationMembers = {"TableName": place.table}
    if kind == "Put":
        item = action["Item"] = read_dax_item(bytes_of(raw_item), partial(node.lists.names_of, scope.account), budget)
        item.update(place.shape.key_item(place.key))
    else:
        action["Key"] = place.shape.key_item(place.key)
    if kind == "Update":
        add_update(action, update)
    add_condition(action, "ConditionExpression", condition, "c")
    if on_failure is not None and on_failure.__class__ is not int:
        raise BadBytes("an unknown choice")
    if on_failure in _ON_FAILURE:
        action["ReturnValuesOnConditionCheckFailure"] = _ON_FAILURE[on_failure]
    return {kind: action}


def _keep_again(node: DaxNode, scope: Scope, places: list[_Place]) -> None:
    """Read the items that a transaction has written, and keep them.
    This consumes capacity; if it fails, they are forgotten.
    """
    keys = [node.item_key(scope, place.shape.name, place.shape.canonical(place.key)) for place in places]
    for key in keys:
        node.caches.lru.drop(key)
    writes = node.caches.writes

    def write(reply: dict[str, Any], _meter: Meter) -> bytes:
        is_newest = node.caches.writes == writes
        for key, place, response in zip(keys, places, reply["Responses"], strict=True):
            own_writes = node.caches.writes
            # With number sets by value, as a GetItem that is answered from the cache lists them.
            item = check_item(plain_values(response["Item"]))[0] if "Item" in response else None
            content = None if item is None else node.content_of(scope, place.shape, item)
            is_newest = is_newest and node.caches.writes == own_writes
            node.caches.written(key, content if is_newest else None)
        return b""

    node.ask(scope, "TransactGetItems", _gets(places), DaxAnswer(), write)


METHODS: Mapping[str, Method] = {
    "transactGetItems": answer_transact_get_items,
    "transactWriteItems": answer_transact_write_items,
}
