"""Which values of a schema document cannot be used? Samples of entities that do not fit the attributes or the keys, and
values of access patterns that a template lacks.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashrange.errors import HashrangeError
from hashrange.items.values import check_item
from hashrange.toolkit.models.document import (
    KEY_BYTES_MAX,
    SORT_KEY_BYTES_MAX,
    Entity,
    ModelIndex,
    ModelTable,
    SchemaDocument,
)
from hashrange.toolkit.models.key_templates import parse_key_template
from hashrange.toolkit.models.sample_items import entity_items, key_attribute_names, sort_names
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


SAMPLE_ITEMS_MAX, SAMPLE_BYTES_MAX = 10_000, 5_000_000
"""Samples and items of a document, and bytes of all items that they make: templates can make much of a little text."""


def sample_number_faults(document: SchemaDocument) -> Iterator[str]:
    """A fault of a document with too many samples and items."""
    number = sum(len(one.samples) + len(one.items) for one in document.entities)
    if number > SAMPLE_ITEMS_MAX:
        yield f"the document has {number:,} samples and items, and may have {SAMPLE_ITEMS_MAX:,}. Leave some out."


def key_size_faults(
    place: str, keys: ModelTable | ModelIndex, entity: Entity, templates: Mapping[str, str]
) -> Iterator[str]:
    """Faults of templates of a key that make only values that are too long for it, or make them of a sample."""
    begins, sorts = entity.beginnings(), sort_names(keys)
    for name, text in templates.items():
        parsed = parse_key_template(text)
        if parsed is None:
            continue
        most = SORT_KEY_BYTES_MAX if name in sorts else KEY_BYTES_MAX
        if parsed.fixed_bytes(begins) > most:
            yield (
                f"{place}: the template of {name} makes values of more than {most:,} bytes, which no key has. Shorten"
                " it, or how its attributes begin."
            )
            continue
        for number, sample in enumerate(entity.samples, 1):
            if all(one in sample for one in parsed.places) and parsed.filled_bytes(sample) > most:
                yield (
                    f"{place}: the template of {name} makes a value of more than {most:,} bytes of sample {number},"
                    " which no key has. Shorten the values."
                )


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
    left_bytes = SAMPLE_BYTES_MAX
    for entity in document.entities:
        for item in entity_items(document, entity):
            if left_bytes < 0:
                yield f"samples and items make more than {SAMPLE_BYTES_MAX:,} bytes of items. Leave some out."
                return
            try:
                left_bytes -= check_item(item.attributes)[1]
            except HashrangeError as error:
                reason = str(error).rstrip(".") or "a value has another form than its type"
                yield f"{item.place} is no item of DynamoDB: {reason}. Mend it."


def value_fault(text: str, values: Mapping[str, Any] | None) -> str | None:
    """What is wrong with a template of an access pattern. `values`: those of its sample; None: there is none."""
    parsed = parse_key_template(text)
    if parsed is None:
        return f'the template "{text}" has a brace without its partner. Write {{name}}.'
    if values is None:
        return None
    missing = [place for place in parsed.places if place not in values]
    if not missing:
        is_long = parsed.filled_bytes(values) > KEY_BYTES_MAX
        told = f'the template "{text[:40]}…" makes a text of more than {KEY_BYTES_MAX:,} bytes of the sample\'s values.'
        return f"{told} Shorten them." if is_long else None
    return f'the sample has no value for {missing[0]}, which the template "{text}" needs. Add it to values.'
