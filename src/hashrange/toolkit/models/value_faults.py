"""Which values of a schema document cannot be used? Samples of entities that do not fit the attributes or the keys, and
values of access patterns that a template lacks.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashrange.errors import HashrangeError
from hashrange.items.values import check_item
from hashrange.toolkit.models.document import Entity, SchemaDocument
from hashrange.toolkit.models.key_templates import parse_key_template
from hashrange.toolkit.models.sample_items import entity_items, key_attribute_names
from hashrange.written.names import did_you_mean


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "S": _is_text,
    "B": _is_text,
    "N": _is_number,
    "BOOL": lambda value: isinstance(value, bool),
    "NULL": lambda value: value is None,
    "L": lambda value: isinstance(value, list),
    "M": lambda value: isinstance(value, dict),
    "SS": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "BS": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "NS": lambda value: isinstance(value, list) and all(map(_is_number, value)),
}
TYPES_IN_WORDS = {
    "S": "text",
    "B": "base64 text",
    "N": "a number",
    "BOOL": "true or false",
    "NULL": "null",
    "L": "a list",
    "M": "an object",
    "SS": "a list of texts",
    "BS": "a list of base64 texts",
    "NS": "a list of numbers",
}


def sample_faults(document: SchemaDocument, entity: Entity) -> Iterator[str]:
    """Faults of the samples of an entity."""
    required = [name for name, one in entity.attributes.items() if one.required]
    for number, sample in enumerate(entity.samples, 1):
        place = f"sample {number} of the entity {entity.name}"
        for name in required:
            if name not in sample:
                yield f"{place} lacks {name}, which each item must have. Add it."
        for name, value in sample.items():
            yield from _sample_value_faults(entity, place, name, value)
    table = document.table_of(entity)
    for number, item in enumerate(entity.items, 1):
        for name in key_attribute_names(table):
            if list(item.get(name, {})) != [table.key_type(name)]:
                yield (
                    f"item {number} of the entity {entity.name} has no {name} of type {table.key_type(name)}, which is"
                    f" in the key of the table {table.table_name}. Add it, in DynamoDB JSON."
                )


def _sample_value_faults(entity: Entity, place: str, name: str, value: Any) -> Iterator[str]:
    attribute = entity.attributes.get(name)
    if attribute is None:
        near = did_you_mean(name, entity.attributes)
        yield f"{place} has {name}, which is no attribute of the entity.{near} Add it to attributes."
    elif not IS_OF_TYPE[attribute.type](value):
        told = TYPES_IN_WORDS[attribute.type]
        yield f"{place}: {name} is of type {attribute.type}, so it must be {told}. Mend the value or the type."
    elif attribute.begins and not str(value).startswith(attribute.begins):
        yield f'{place}: {name} must begin with "{attribute.begins}", as the attribute says. Mend one of them.'


def item_faults(document: SchemaDocument) -> Iterator[str]:
    """Faults of items that DynamoDB does not take, of a document without other faults."""
    for entity in document.entities:
        try:
            items = list(entity_items(document, entity))
        except RecursionError:
            yield f"a sample of the entity {entity.name} is nested too deeply. Mend it."
            continue
        for item in items:
            try:
                check_item(item.attributes)
            except HashrangeError as error:
                reason = str(error).rstrip(".") or "a value has another form than its type"
                yield f"{item.place} is no item of DynamoDB: {reason}. Mend it."


def value_fault(text: str, values: Mapping[str, Any] | None) -> str | None:
    """What is wrong with a template of an access pattern. `values`: those of its sample; None: there is none."""
    parsed = parse_key_template(text)
    if parsed is None:
        return f'the template "{text}" has a brace without its partner. Write {{name}}.'
    missing = [] if values is None else [place for place in parsed.places if place not in values]
    if not missing:
        return None
    return f'the sample has no value for {missing[0]}, which the template "{text}" needs. Add it to values.'
