"""Which schema document is a model of NoSQL Workbench? Tables and indexes, a kind of items for each facet, and the
items as they are.

A facet says of its keys only what people call them, so the templates of a kind are its key attributes themselves; how
their values begin is taken from its items. The form in which Workbench keeps access patterns is not published, so the
document has none. What it has no place for is kept in its member `workbench`, so that the model can be written again as
it was (workbench_writing.py).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import (
    Entity,
    EntityAttribute,
    SchemaDocument,
    TypeWord,
    read_json,
)
from hashrange.toolkit.models.workbench_form import (
    KeyAttributes,
    ModelItem,
    WorkbenchModel,
    WorkbenchTable,
    kind_names,
)
from hashrange.written.values import fault_in

SEPARATORS = "#|:/_"
"""Characters at which a key that is made of several parts is cut."""
TYPE_WORDS: dict[str, TypeWord] = {one: one for one in get_args(TypeWord)}


def read_workbench(text: bytes, source: str) -> SchemaDocument:
    """The document of a model's text. `source`: the file's name. Raises UsageFault."""
    value = read_json(text, source)
    try:
        model = msgspec.convert(value, WorkbenchModel)
    except msgspec.ValidationError:
        fault = fault_in(value, WorkbenchModel, "object")
        raise UsageFault(f"{source} is no model of NoSQL Workbench: {fault}") from None
    entities = [
        entity
        for table, (facets, others) in zip(model.data_model, kind_names(model.data_model), strict=True)
        for entity in _entities(table, facets, others)
    ]
    members = {
        "name": model.model_name,
        "description": str(_metadata(value).get("Description", "")),
        "tables": [_table(one) for one in model.data_model],
        "entities": msgspec.to_builtins(entities),
        "workbench": without_items(value),
    }
    try:
        return msgspec.convert(members, SchemaDocument)
    except msgspec.ValidationError:
        fault = fault_in(members, SchemaDocument, "object")
        raise UsageFault(f"{source} is a model that DynamoDB has no tables for: {fault}") from None


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get("ModelMetadata")
    return found if isinstance(found, dict) else {}


# --- tables ------------------------------------------------------------------------------------------


def _table(given: WorkbenchTable) -> dict[str, Any]:
    indexes = given.global_secondary_indexes
    types: dict[str, str] = {}
    for keys in [given.key_attributes, *(one.key_attributes for one in indexes)]:
        for one in keys.attributes():
            types.setdefault(one.attribute_name, one.attribute_type)
    return {
        "TableName": given.table_name,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "KeySchema": _key_schema(given.key_attributes),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": one.index_name,
                "KeySchema": _key_schema(one.key_attributes),
                "Projection": one.projection,
            }
            for one in indexes
        ],
    }


def _key_schema(keys: KeyAttributes) -> list[dict[str, str]]:
    kinds = zip(keys.attributes(), ("HASH", "RANGE"), strict=False)
    return [{"AttributeName": one.attribute_name, "KeyType": kind} for one, kind in kinds]


# --- kinds of items ----------------------------------------------------------------------------------


def _entities(table: WorkbenchTable, facets: list[str], others: str) -> Iterator[Entity]:
    """A kind for each facet, and one for items that no facet has."""
    for facet, name in zip(table.table_facets, facets, strict=True):
        yield _entity(table, name, facet.table_data)
    inside = {_identity(item) for facet in table.table_facets for item in facet.table_data}
    outside = [item for item in table.table_data if _identity(item) not in inside]
    if outside or not table.table_facets:
        yield _entity(table, others, outside)


def _identity(item: ModelItem) -> bytes:
    """The same bytes for equal items."""
    return msgspec.json.encode(item, order="sorted")


def _entity(table: WorkbenchTable, name: str, items: list[ModelItem]) -> Entity:
    declared = {one.attribute_name: one.attribute_type for one in table.non_key_attributes}
    firsts = {attribute: value for item in reversed(items) for attribute, value in item.items()}
    attributes = {}
    for key in table.key_attributes.attributes():
        begins = common_beginning(
            [str(item[key.attribute_name].get("S", "")) for item in items if key.attribute_name in item]
        )
        attributes[key.attribute_name] = EntityAttribute(_type_word(key.attribute_type), required=True, begins=begins)
    for attribute, number in Counter(one for item in items for one in item).items():
        if attribute not in attributes:
            word = _type_word(declared.get(attribute) or next(iter(firsts[attribute]), "S"))
            attributes[attribute] = EntityAttribute(word, required=number == len(items))
    keys = {one.attribute_name: f"{{{one.attribute_name}}}" for one in table.key_attributes.attributes()}
    return Entity(name=name, table=table.table_name, key=keys, attributes=attributes, items=items)


def _type_word(word: str) -> TypeWord:
    """A type of the document; text for what is none."""
    return TYPE_WORDS.get(word, "S")


def common_beginning(values: list[str]) -> str:
    """What all values begin with, up to the last separator in it; the whole value if several are all the same."""
    first, last = min(values, default=""), max(values, default="")
    pairs = enumerate(zip(first, last, strict=False))
    shared = first[: next((place for place, (one, other) in pairs if one != other), min(len(first), len(last)))]
    if len(values) > 1 and all(one == shared for one in values):
        return shared
    return shared[: 1 + max(shared.rfind(one) for one in SEPARATORS)]


# --- what is kept ------------------------------------------------------------------------------------


def without_items(value: dict[str, Any]) -> dict[str, Any]:
    """The model with empty lists of items: the items are in the document."""
    tables = [_emptied(one) for one in value["DataModel"]]
    for table in tables:
        if "TableFacets" in table:
            table["TableFacets"] = [_emptied(one) for one in table["TableFacets"]]
    return value | {"DataModel": tables}


def _emptied(part: dict[str, Any]) -> dict[str, Any]:
    return {name: [] if name == "TableData" else one for name, one in part.items()}
