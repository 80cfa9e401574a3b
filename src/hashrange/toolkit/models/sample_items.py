"""Which items does a document's sample data make, and which of them are in an index? Items are in DynamoDB JSON, as
the wire has them: `{"PK": {"S": "ORDER#1"}}`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hashrange.toolkit.models.document import Entity, ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.key_templates import template

Attributes = dict[str, Any]
"""Name of an attribute → its value in DynamoDB JSON."""


class SampleItem(NamedTuple):
    """An item of a document. `place`: where it comes from, for sentences."""

    entity: Entity
    attributes: Attributes
    place: str


def entity_items(document: SchemaDocument, entity: Entity) -> Iterator[SampleItem]:
    """The items of an entity of a document without faults."""
    table = document.table_of(entity)
    for number, sample in enumerate(entity.samples, 1):
        attributes = {name: wire_value(value, entity.attributes[name].type) for name, value in sample.items()}
        attributes |= made_attributes(table, entity, sample)
        if document.entity_type_attribute:
            attributes[document.entity_type_attribute] = {"S": entity.name}
        yield SampleItem(entity, attributes, f"sample {number} of the entity {entity.name}")
    for number, item in enumerate(entity.items, 1):
        yield SampleItem(entity, dict(item), f"item {number} of the entity {entity.name}")


def table_items(document: SchemaDocument, table: ModelTable) -> Iterator[SampleItem]:
    """All items of a table."""
    for entity in document.entities_of(table):
        yield from entity_items(document, entity)


def made_attributes(table: ModelTable, entity: Entity, sample: dict[str, Any]) -> Attributes:
    """The attributes that templates make of a sample: those of its key, and of each index of which it has all."""
    made = {}
    for templates in [entity.key, *entity.indexes.values()]:
        parsed = {name: template(text) for name, text in templates.items()}
        if all(place in sample for one in parsed.values() for place in one.places):
            for name, one in parsed.items():
                made[name] = {table.key_type(name) or "S": one.fill(sample)}
    return made


def wire_value(value: Any, word: str) -> Attributes:
    """A value of a sample in DynamoDB JSON. `word`: the attribute's type."""
    match word:
        case "N":
            return {"N": str(value)}
        case "NS":
            return {"NS": [str(one) for one in value]}
        case "L":
            return {"L": [_guessed(one) for one in value]}
        case "M":
            return {"M": {name: _guessed(one) for name, one in value.items()}}
        case "NULL":
            return {"NULL": True}
    return {word: value}


def _guessed(value: Any) -> Attributes:
    """A value inside of a list or map in DynamoDB JSON."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case list():
            return wire_value(value, "L")
        case dict():
            return wire_value(value, "M")
    return {"S": value}


def key_attribute_names(keys: ModelTable | ModelIndex) -> list[str]:
    """The attributes of a key, partition key first."""
    ordered = sorted(keys.key_schema, key=lambda one: one.key_type == "RANGE")
    return [one.attribute_name for one in ordered]


def partition_names(keys: ModelTable | ModelIndex) -> list[str]:
    """The attributes of a partition key."""
    return [one.attribute_name for one in keys.key_schema if one.key_type == "HASH"]


def sort_names(keys: ModelTable | ModelIndex) -> list[str]:
    """The attributes of a sort key."""
    return [one.attribute_name for one in keys.key_schema if one.key_type == "RANGE"]


def held_by_index(table: ModelTable, index: ModelIndex, attributes: Attributes) -> Attributes:
    """What an index holds of an item."""
    if index.projection.projection_type == "ALL":
        return attributes
    kept = {*key_attribute_names(table), *key_attribute_names(index), *index.projection.non_key_attributes}
    return {name: value for name, value in attributes.items() if name in kept}


def shown_value(value: Attributes) -> str:
    """A value of DynamoDB JSON as text for people."""
    held: tuple[str, Any] = next(iter(value.items()), ("S", ""))
    word, content = held
    match word:
        case "NULL":
            return "null"
        case "BOOL":
            return "true" if content else "false"
        case "L":
            return f"[{', '.join(map(shown_value, content))}]"
        case "M":
            return f"{{{', '.join(f'{name}: {shown_value(one)}' for name, one in content.items())}}}"
        case "SS" | "NS" | "BS":
            return f"{{{', '.join(map(str, content))}}}"
    return str(content)
