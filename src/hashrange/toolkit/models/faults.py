"""Which parts of a schema document contradict one another? Names of tables, indexes, entities and attributes that are
not there, keys that do not fit their table, and templates that cannot be read.

A document with any of these cannot be run. Each sentence names the place, and says what to do.
"""

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import chain
from typing import Any

from hashrange.toolkit.models.document import (
    AccessPattern,
    Entity,
    ModelIndex,
    ModelTable,
    SchemaDocument,
    SortCondition,
)
from hashrange.toolkit.models.key_templates import parse_key_template
from hashrange.toolkit.models.sample_items import key_attribute_names, partition_names, sort_names
from hashrange.toolkit.models.value_faults import (
    item_faults,
    key_size_faults,
    sample_faults,
    sample_number_faults,
    value_fault,
)
from hashrange.written.names import did_you_mean, told_names

OPERANDS = {"between": 2, "exists": 0, "missing": 0}
"""Values of a condition; all others take one."""


def document_faults(document: SchemaDocument) -> Iterator[str]:
    """A sentence for each fault. What stands on something that is wrong is not looked at."""
    is_found = False
    for fault in chain(sample_number_faults(document), _reference_faults(document)):
        is_found = True
        yield fault
    if is_found:
        return
    for fault in (fault for entity in document.entities for fault in _entity_faults(document, entity)):
        is_found = True
        yield fault
    if not is_found:
        yield from item_faults(document)
    for pattern in document.access_patterns:
        yield from _pattern_faults(document, pattern)
    if document.time_to_live is not None:
        attribute = document.time_to_live.attribute
        for name in document.time_to_live.entities:
            if attribute not in document.entity(name).attributes:
                yield f"timeToLive: the entity {name} has no attribute {attribute}. Add it, as a number."


def _reference_faults(document: SchemaDocument) -> Iterator[str]:
    """Faults of names: of tables, indexes, entities, and access patterns."""
    tables = [one.table_name for one in document.tables]
    entities = [one.name for one in document.entities]
    yield from _twice("", "tables", tables)
    yield from _twice("", "entities", entities)
    yield from _twice("", "access patterns", [one.name for one in document.access_patterns])
    for table in document.tables:
        yield from _twice(f"the table {table.table_name}: ", "indexes", table.index_names())
    for entity in document.entities:
        yield from _table_name_faults(f"the entity {entity.name}", entity.table, tables)
    for pattern in document.access_patterns:
        place = f"the access pattern {pattern.name}"
        for name in [*pattern.entities, *pattern.then_writes]:
            yield from _unknown(place, "entity", name, entities)
        yield from _unknown(place, "table", pattern.table, ["", *tables])
    for name in [] if document.time_to_live is None else document.time_to_live.entities:
        yield from _unknown("timeToLive", "entity", name, entities)
    for name in [] if document.capacity is None else document.capacity.tables:
        yield from _unknown("capacity", "table", name, tables)


def _twice(place: str, noun: str, names: list[str]) -> Iterator[str]:
    """A sentence for each name that is there more than once."""
    for name, number in Counter(names).items():
        if number > 1:
            yield f"{place}two {noun} are named {name}; give each a name of its own."


def _table_name_faults(place: str, name: str, tables: list[str]) -> Iterator[str]:
    if name:
        yield from _unknown(place, "table", name, tables)
    elif len(tables) > 1:
        yield f'{place} must say in which table it is: add "table", one of {told_names(tables)}.'


def _unknown(place: str, noun: str, name: str, known: Iterable[str]) -> Iterator[str]:
    """A sentence if a name is not known."""
    names = list(known)
    if name not in names:
        told = told_names(filter(None, names)) or "none"
        yield f"{place} names the {noun} {name}, which is not there.{did_you_mean(name, names)} There are: {told}."


# --- entities ----------------------------------------------------------------------------------------


def _entity_faults(document: SchemaDocument, entity: Entity) -> Iterator[str]:
    table, place = document.table_of(entity), f"the entity {entity.name}"
    yield from _names_faults(
        f"{place}: the key", entity.key, key_attribute_names(table), f"the table {table.table_name}"
    )
    yield from _templates_faults(f"{place}: the key", table, entity, entity.key, is_required=True)
    yield from key_size_faults(f"{place}: the key", table, entity, entity.key)
    for name, templates in entity.indexes.items():
        yield from _unknown(place, "index", name, [one.index_name for one in table.indexes()])
        index = table.index(name)
        if index is not None:
            told, keys = f"{place}: the key of the index {name}", {*key_attribute_names(index)}
            made = keys - entity.key.keys() - entity.attributes.keys()
            yield from _names_faults(told, templates, made | (keys & templates.keys()), f"the index {name}")
            yield from _templates_faults(told, table, entity, templates, is_required=False)
            yield from key_size_faults(told, index, entity, templates)
    yield from sample_faults(document, entity)


def _names_faults(place: str, templates: Iterable[str], wanted: Iterable[str], of: str) -> Iterator[str]:
    """Faults of a key whose attributes are not those that it must have."""
    given, names = set(templates), set(wanted)
    for name in sorted(names - given):
        yield f'{place} lacks {name}, which is in the key of {of}. Add a template: "{name}": "ORDER#{{orderId}}".'
    for name in sorted(given - names):
        yield f"{place} has {name}, which is not in the key of {of}. Take it out."


def _templates_faults(
    place: str, table: ModelTable, entity: Entity, templates: Mapping[str, str], *, is_required: bool
) -> Iterator[str]:
    for name, text in templates.items():
        parsed = parse_key_template(text)
        if parsed is None:
            yield f'{place}: the template "{text}" of {name} has a brace without its partner. Write {{attribute}}.'
            continue
        for used in parsed.places:
            known = entity.attributes.get(used)
            if known is None:
                yield (
                    f'{place}: the template "{text}" of {name} needs the attribute {used}, which the entity does not'
                    f" have.{did_you_mean(used, entity.attributes)} Add it to attributes, or mend the template."
                )
            elif is_required and not known.required:
                yield f'{place}: the template "{text}" of {name} needs {used} in each item; say "required": true there.'
        kind = table.key_type(name)
        if kind in {"N", "B"}:
            place_name = parsed.sole_place
            attribute = None if place_name is None else entity.attributes.get(place_name)
            if attribute is None or attribute.type != kind:
                yield f"{place}: {name} is of type {kind}, so its template must be one attribute of type {kind}."


# --- access patterns ---------------------------------------------------------------------------------


def _pattern_faults(document: SchemaDocument, pattern: AccessPattern) -> Iterator[str]:
    table, place = document.table_of_pattern(pattern), f"the access pattern {pattern.name}"
    for name in pattern.entities:
        if document.table_of(document.entity(name)) is not table:
            yield (
                f"{place} reads {name}, which is not in the table {table.table_name}. One request reads one table: make"
                " a pattern for each."
            )
    if pattern.operation == "SearchVectors":
        yield from _search_faults(table, pattern, place)
    elif pattern.index:
        yield from _unknown(place, "index", pattern.index, [one.index_name for one in table.indexes()])
    if pattern.operation == "GetItem":
        yield from _get_faults(table, pattern, place)
    elif pattern.operation == "Query":
        yield from _query_faults(table, pattern, place)
    yield from _misplaced_faults(pattern, place)
    known = _attribute_names(document, pattern)
    for name in [*pattern.attributes, *(one.attribute for one in pattern.filter)]:
        if name not in known:
            near = did_you_mean(name, known)
            yield f"{place} names the attribute {name}, which its entities do not have.{near} Mend it, or add it there."
    yield from _value_faults(pattern, place)


def _attribute_names(document: SchemaDocument, pattern: AccessPattern) -> Mapping[str, object]:
    """The attributes of the items that a pattern reads, with those that templates make, as keys of a mapping."""
    entities = [document.entity(name) for name in pattern.entities]
    given: list[MutableMapping[str, Any]] = [{document.entity_type_attribute: ""}]
    for one in entities:
        given += [one.key, *one.indexes.values()]
        given.append(one.attributes)
    return ChainMap(*given)


def _get_faults(table: ModelTable, pattern: AccessPattern, place: str) -> Iterator[str]:
    yield from _names_faults(
        f"{place}: the key", pattern.key, key_attribute_names(table), f"the table {table.table_name}"
    )
    if pattern.index:
        yield f"{place} is a GetItem of an index, which DynamoDB does not have. Use a Query."
    if pattern.filter:
        yield f"{place} is a GetItem, which has no filter. Take it out, or use a Query."


def _query_faults(table: ModelTable, pattern: AccessPattern, place: str) -> Iterator[str]:
    keys: ModelTable | ModelIndex = table.index(pattern.index) or table
    given, wanted = len(pattern.partition_keys()), partition_names(keys)
    if given != len(wanted):
        told = ", ".join(wanted)
        yield f"{place}: partitionKey needs a template for each of these attributes: {told}. It has {given}."
    conditions, sorts = pattern.sort_conditions(), sort_names(keys)
    if len(conditions) > len(sorts):
        told = ", ".join(sorts) or "none"
        yield f"{place}: sortKey has more conditions ({len(conditions)}) than the sort key has attributes: {told}."
    yield from _order_faults(place, conditions)
    key = {*partition_names(keys), *sorts}
    for one in pattern.filter:
        if one.attribute in key:
            yield f"{place}: the filter is on {one.attribute}, a key of what is queried; say it in sortKey."


def _order_faults(place: str, conditions: list[SortCondition]) -> Iterator[str]:
    for one in conditions[:-1]:
        if one.condition != "=":
            yield f'{place}: only the last condition of sortKey may be "{one.condition}"; those before it must be "=".'


def _search_faults(table: ModelTable, pattern: AccessPattern, place: str) -> Iterator[str]:
    yield from _unknown(place, "vector index", pattern.index, [one.index_name for one in table.vector_indexes])
    index = table.vector_index(pattern.index)
    if index is None:
        return
    schema = {one.attribute_name: one.search_schema_element_type for one in index.search_schema}
    for name in pattern.condition:
        yield from _unknown(f"{place}: condition", "attribute of the search schema", name, schema)
    for name in (name for name, kind in schema.items() if kind == "HASH" and name not in pattern.condition):
        yield f"{place}: the condition lacks {name}, by which the index {index.index_name} is partitioned. Add it."
    if pattern.sample is not None and len(pattern.sample.vector) != index.dimensions:
        yield (
            f"{place}: the sample's vector has {len(pattern.sample.vector)} numbers, and the index"
            f" {index.index_name} has {index.dimensions} dimensions. Give as many."
        )


def _misplaced_faults(pattern: AccessPattern, place: str) -> Iterator[str]:
    """Members that belong to another operation."""
    for operation, member, is_given in (
        ("GetItem", "key", bool(pattern.key)),
        ("Query", "partitionKey", bool(pattern.partition_key)),
        ("Query", "sortKey", pattern.sort_key is not None),
        ("SearchVectors", "condition", bool(pattern.condition)),
    ):
        if is_given and pattern.operation != operation:
            yield f"{place} is a {pattern.operation}, which has no {member}. Take it out, or make it a {operation}."


def _value_faults(pattern: AccessPattern, place: str) -> Iterator[str]:
    """Faults of templates, and of the sample's values for their places."""
    for one in pattern.conditions():
        wanted = OPERANDS.get(one.condition, 1)
        if len(one.values) != wanted:
            yield f'{place}: "{one.condition}" needs {wanted} in values, and has {len(one.values)}. Mend it.'
    texts = [*pattern.key.values(), *pattern.partition_keys(), *pattern.condition.values()]
    texts += [text for one in pattern.conditions() for text in one.values]
    values = None if pattern.sample is None else pattern.sample.values
    for text in texts:
        fault = value_fault(text, values)
        if fault is not None:
            yield f"{place}: {fault}"
