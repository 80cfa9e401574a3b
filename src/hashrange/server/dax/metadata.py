"""What does DAX's protocol name, so that requests and replies are short? Key schemas of tables, and attribute lists."""

from collections.abc import Mapping
from typing import Any

from hashrange.errors import ResourceNotFoundException
from hashrange.items.steps import walk
from hashrange.operations.operation import Scope
from hashrange.server.dax import results
from hashrange.server.dax.arguments import list_of, text_of
from hashrange.server.dax.node import DaxAnswer, DaxNode, Method
from hashrange.wire.dax.reading import TAG_STRING_SET, BadBytes, Tagged
from hashrange.wire.dax.writing import as_cbor


def define_key_schema(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The names and types of a table's key attributes, the partition key first."""
    table_name = text_of(arguments[0])
    try:
        shape = node.shapes.find(scope, table_name)
    except ResourceNotFoundException:
        node.service.hints.table_not_found(scope, [table_name])
        raise
    answer.send(results.SUCCESS + as_cbor(dict(shape.schema)))


def define_attribute_list(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The names of an attribute list."""
    if arguments[0].__class__ is not int:
        raise BadBytes("an id was expected")
    names = node.lists.names_of(scope.account, arguments[0])
    answer.send(results.SUCCESS + results.array([as_cbor(name) for name in walk(names)]))


def define_attribute_list_id(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The id of an attribute list."""
    listed = arguments[0]
    if listed.__class__ is Tagged and listed.tag == TAG_STRING_SET:
        listed = listed.value  # so the client for Java writes it
    names = tuple([text_of(name) for name in walk(list_of(listed))])
    node.deliver(answer, results.SUCCESS + as_cbor(node.lists.define(scope.account, names)))


METHODS: Mapping[str, Method] = {
    "defineKeySchema": define_key_schema,
    "defineAttributeList": define_attribute_list,
    "defineAttributeListId": define_attribute_list_id,
}
