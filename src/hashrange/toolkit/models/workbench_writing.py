"""Which model of NoSQL Workbench is a schema document? Its tables and global indexes, a facet for each kind of items,
and the samples with all their attributes.

A document that was made of a model writes it again as it was, with what has been changed since. What a model has no
place for is left out, and said.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import Entity, ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.sample_items import entity_items, key_attribute_names, partition_names, sort_names
from hashrange.toolkit.models.workbench_form import WorkbenchModel, kind_names
from hashrange.written.values import fault_in

VERSION = "3.0"
ModelPart = dict[str, Any]


def workbench_model(document: SchemaDocument, date: str) -> ModelPart:
    """The model of a document without faults. `date`: of a new model, such as `Nov 30, 2026, 09:05 PM`.

    Raises UsageFault if what the document keeps of a model is none.
    """
    metadata = {
        "Author": "",
        "DateCreated": date,
        "DateLastModified": date,
        "Description": document.description,
        "AWSService": "Amazon DynamoDB",
        "Version": VERSION,
    }
    kept: ModelPart = document.workbench or {"ModelName": document.name, "ModelMetadata": metadata, "DataModel": []}
    try:
        model = msgspec.convert(kept, WorkbenchModel)
    except msgspec.ValidationError:
        fault = fault_in(kept, WorkbenchModel, "object")
        raise UsageFault(f"the document's workbench is no model of NoSQL Workbench: {fault} Take it out.") from None
    before = {
        table.table_name: (part, names)
        for table, part, names in zip(model.data_model, kept["DataModel"], kind_names(model.data_model), strict=True)
    }
    tables = [_table(document, one, *before.get(one.table_name, ({}, ([], "")))) for one in document.tables]
    return kept | {"ModelName": document.name, "DataModel": tables}


def left_out(document: SchemaDocument) -> Iterator[str]:
    """A sentence for each thing that a model has no place for."""
    if document.access_patterns:
        yield "Access patterns are left out: the form in which NoSQL Workbench keeps them is not published."
    for table in document.tables:
        if table.local_secondary_indexes:
            yield f"Local secondary indexes of {table.table_name} are left out: a model has global ones only."
        if table.vector_indexes:
            yield f"Vector indexes of {table.table_name} are left out: a model has none."
        for index in table.global_secondary_indexes:
            if _has_several(index):
                yield f"The index {index.index_name} is left out: in a model, each key has one attribute."


def _has_several(index: ModelIndex) -> bool:
    return len(partition_names(index)) > 1 or len(sort_names(index)) > 1


# --- tables ------------------------------------------------------------------------------------------


def _table(document: SchemaDocument, table: ModelTable, before: ModelPart, names: tuple[list[str], str]) -> ModelPart:
    """A table of the model. `before`: what it was; `names`: the kinds of its facets, and of its other items."""
    facets, others = names
    entities = document.entities_of(table)
    # A table without facets, as older models are, keeps all items in its own list.
    outside = [one for one in entities if one.name == others]
    inside = [one for one in entities if one.name != others]
    old_facets = dict(zip(facets, before.get("TableFacets", []), strict=True))
    made: ModelPart = {"TableName": table.table_name, "KeyAttributes": _keys(table, table)}
    made["NonKeyAttributes"] = _joined(before.get("NonKeyAttributes", []), list(_attributes(table, entities)))
    if inside or "TableFacets" in before:
        made["TableFacets"] = [_facet(document, table, one, old_facets.get(one.name, {})) for one in inside]
    indexes = [one for one in table.global_secondary_indexes if not _has_several(one)]
    if indexes or "GlobalSecondaryIndexes" in before:
        old_indexes = {one["IndexName"]: one for one in before.get("GlobalSecondaryIndexes", [])}
        made["GlobalSecondaryIndexes"] = [old_indexes.get(one.index_name, {}) | _index(table, one) for one in indexes]
    if outside or "TableData" in before:
        made["TableData"] = [item for entity in outside for item in _items(document, entity)]
    return before | made if before else made | _of_new_table(table)


def _of_new_table(table: ModelTable) -> ModelPart:
    made: ModelPart = {"DataAccess": {"MySql": {}}, "BillingMode": table.billing_mode}
    if isinstance(table.provisioned_throughput, dict):
        made["ProvisionedCapacitySettings"] = {"ProvisionedThroughput": table.provisioned_throughput}
    return made


def _keys(table: ModelTable, keys: ModelTable | ModelIndex) -> ModelPart:
    words = zip(("PartitionKey", "SortKey"), key_attribute_names(keys), strict=False)
    return {word: {"AttributeName": name, "AttributeType": table.key_type(name)} for word, name in words}


def _index(table: ModelTable, index: ModelIndex) -> ModelPart:
    return {
        "IndexName": index.index_name,
        "KeyAttributes": _keys(table, index),
        "Projection": msgspec.to_builtins(index.projection),
    }


# --- attributes and items ----------------------------------------------------------------------------


def _attributes(table: ModelTable, entities: list[Entity]) -> Iterator[ModelPart]:
    """All attributes beside the table's key, with those that templates make."""
    keys = key_attribute_names(table)
    found: dict[str, str] = {one.attribute_name: one.attribute_type for one in table.attribute_definitions}
    for entity in entities:
        for name, attribute in entity.attributes.items():
            found.setdefault(name, attribute.type)
    for name, kind in found.items():
        if name not in keys:
            yield {"AttributeName": name, "AttributeType": kind}


def _joined(before: list[ModelPart], after: list[ModelPart]) -> list[ModelPart]:
    """What was there, and what has come, without the attributes that are named already."""
    found = {one["AttributeName"]: one for one in before}
    for one in after:
        found.setdefault(one["AttributeName"], one)
    return list(found.values())


def _facet(document: SchemaDocument, table: ModelTable, entity: Entity, before: ModelPart) -> ModelPart:
    items = _items(document, entity)
    keys = key_attribute_names(table)
    aliases = dict(zip(("PartitionKeyAlias", "SortKeyAlias"), (entity.key[name] for name in keys), strict=False))
    held = [name for name in {one: True for item in items for one in item} if name not in keys]
    old: list[str] = before.get("NonKeyAttributes", [])
    made: ModelPart = {
        "FacetName": before.get("FacetName", entity.name),
        "KeyAttributeAlias": before.get("KeyAttributeAlias", aliases),
        "TableData": items,
        "NonKeyAttributes": [*old, *(name for name in held if name not in old)],
    }
    if before and "TableData" not in before and not items:
        del made["TableData"]
    return before | made if before else made | {"DataAccess": {"MySql": {}}}


def _items(document: SchemaDocument, entity: Entity) -> list[ModelPart]:
    return [one.attributes for one in entity_items(document, entity)]
