"""What is in a schema document? The tables of an application, the kinds of items in them with their keys and samples,
and the access patterns, each with the request that serves it.

These types are the document's only declaration: its decoder, the sentences about what is wrong with its form, and the
JSON Schema that editors read (`document_schema`) come from them. What the parts say of one another is checked in
`faults.py`.
"""

from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from hashrange.toolkit.failures import UsageFault
from hashrange.written.values import fault_in, place_of_json_fault

DEPTH_MAX = 100
"""Objects and lists inside of one another in a file. DynamoDB takes 32 levels in an attribute."""
VALUES_MAX = 200_000
"""Values of all kinds in a file: each becomes some hundred bytes in memory, in several forms."""
KEY_BYTES_MAX, SORT_KEY_BYTES_MAX = 2048, 1024

Name = Annotated[str, Meta(min_length=1, max_length=255, description="text of 1 to 255 characters")]
AttributeName = Annotated[str, Meta(min_length=1, max_length=65_535, description="text of 1 to 65,535 characters")]
Template = Annotated[
    str,
    Meta(
        max_length=KEY_BYTES_MAX, description='text in which {name} stands for an attribute, such as "ORDER#{orderId}"'
    ),
]
Figure = Annotated[float, Meta(ge=0, le=1e9, description="a number from 0 to 1,000,000,000")]
Count = Annotated[int, Meta(ge=0, le=10**12, description="a whole number from 0 to 1,000,000,000,000")]
ItemBytes = Annotated[int, Meta(ge=0, le=10**8, description="a whole number from 0 to 100,000,000")]
Bytes = Annotated[int, Meta(ge=0, le=10**18, description="a whole number from 0 to 10^18")]
ModelUnits = Annotated[float, Meta(ge=0, le=1e15, description="a number from 0 to 10^15")]
TypeWord = Literal["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]
SortWord = Literal["=", "<", "<=", ">", ">=", "between", "begins_with"]
FilterWord = Literal["=", "<>", "<", "<=", ">", ">=", "between", "begins_with", "contains", "exists", "missing"]
OperationWord = Literal["GetItem", "Query", "SearchVectors", "Scan"]


# --- tables, with the names of CreateTable -------------------------------------------------------------


class OfCreateTable(Struct, rename="pascal", frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of CreateTable."""


class ModelAttribute(OfCreateTable, frozen=True):
    """The type of a key attribute."""

    attribute_name: Name
    attribute_type: Literal["S", "N", "B"]


class KeyElement(OfCreateTable, frozen=True):
    """An attribute of a key."""

    attribute_name: Name
    key_type: Literal["HASH", "RANGE"]


class ModelProjection(OfCreateTable, frozen=True):
    """Which attributes an index holds beside keys."""

    projection_type: Literal["ALL", "KEYS_ONLY", "INCLUDE"]
    non_key_attributes: list[AttributeName] = []


class ModelIndex(OfCreateTable, frozen=True):
    """A global or local secondary index."""

    index_name: Name
    key_schema: Annotated[list[KeyElement], Meta(min_length=1, max_length=100)]
    projection: ModelProjection
    provisioned_throughput: dict[str, Any] | UnsetType = UNSET
    on_demand_throughput: dict[str, Any] | UnsetType = UNSET


class VectorAttribute(OfCreateTable, frozen=True):
    """The attribute that holds the vectors of an index."""

    attribute_name: Name


class SearchElement(OfCreateTable, frozen=True):
    """An attribute by which the searches of a vector index choose."""

    attribute_name: Name
    search_schema_element_type: Literal["HASH", "INLINE_FILTER"]


class ModelVectorIndex(OfCreateTable, frozen=True):
    """A vector index."""

    index_name: Name
    vector_attribute: VectorAttribute
    dimensions: Count
    distance_function: Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]
    projection: ModelProjection
    search_schema: list[SearchElement] = []


class ModelTable(OfCreateTable, frozen=True):
    """A table; without a billing mode it is on demand."""

    table_name: Name
    attribute_definitions: Annotated[list[ModelAttribute], Meta(min_length=1, max_length=1000)]
    key_schema: Annotated[list[KeyElement], Meta(min_length=1, max_length=2)]
    billing_mode: Literal["PAY_PER_REQUEST", "PROVISIONED"] = "PAY_PER_REQUEST"
    provisioned_throughput: dict[str, Any] | UnsetType = UNSET
    on_demand_throughput: dict[str, Any] | UnsetType = UNSET
    global_secondary_indexes: Annotated[list[ModelIndex], Meta(max_length=100)] = []
    local_secondary_indexes: Annotated[list[ModelIndex], Meta(max_length=100)] = []
    vector_indexes: Annotated[list[ModelVectorIndex], Meta(max_length=100)] = []
    stream_specification: dict[str, Any] | UnsetType = UNSET
    sse_specification: dict[str, Any] | UnsetType = field(default=UNSET, name="SSESpecification")
    table_class: str | UnsetType = UNSET
    deletion_protection_enabled: bool | UnsetType = UNSET
    tags: list[dict[str, str]] = []

    def indexes(self) -> list[ModelIndex]:
        """Global and local secondary indexes."""
        return [*self.global_secondary_indexes, *self.local_secondary_indexes]

    def index_names(self) -> list[str]:
        """The names of all indexes."""
        vectors = [one.index_name for one in self.vector_indexes]
        return [one.index_name for one in self.indexes()] + vectors

    def index(self, name: str) -> ModelIndex | None:
        """The secondary index of this name."""
        return next((one for one in self.indexes() if one.index_name == name), None)

    def vector_index(self, name: str) -> ModelVectorIndex | None:
        """The vector index of this name."""
        return next((one for one in self.vector_indexes if one.index_name == name), None)

    def key_type(self, attribute: str) -> str:
        """`S`, `N` or `B`; empty if the table does not define this attribute."""
        found = (one.attribute_type for one in self.attribute_definitions if one.attribute_name == attribute)
        return next(found, "")


# --- kinds of items --------------------------------------------------------------------------------------


class OfDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document that is not CreateTable's."""


class EntityAttribute(OfDocument, frozen=True):
    """An attribute of a kind of items. `begins`: how each of its values begins."""

    type: TypeWord
    required: bool = False
    description: str = ""
    begins: Annotated[
        str, Meta(max_length=KEY_BYTES_MAX, description=f"text of at most {KEY_BYTES_MAX:,} characters")
    ] = ""
    distinct_values: (
        Annotated[int, Meta(ge=1, le=10**12, description="a whole number from 1 to 1,000,000,000,000")] | None
    ) = None
    """Number of values that the attribute has in all items; None: many."""


class Entity(OfDocument, frozen=True):
    """A kind of items. `indexes`: name of an index → the keys of the entries there, as templates."""

    name: Name
    key: dict[str, Template]
    attributes: dict[str, EntityAttribute]
    table: str = ""
    """Empty: the document's only table."""
    description: str = ""
    indexes: dict[str, dict[str, Template]] = {}
    item_count: Count = 0
    item_bytes: ItemBytes = 0
    writes_per_second: Figure = 0
    samples: list[dict[str, Any]] = []
    """Items in plain JSON, without the attributes that templates make."""
    items: list[dict[str, dict[str, Any]]] = []
    """Items in DynamoDB JSON, with all their attributes."""

    def beginnings(self) -> dict[str, str]:
        """Attribute → how each of its values begins, of those of which that is known."""
        return {name: one.begins for name, one in self.attributes.items() if one.begins}


# --- access patterns -------------------------------------------------------------------------------------


class SortCondition(OfDocument, frozen=True):
    """A condition on a sort key."""

    condition: SortWord
    values: Annotated[list[Template], Meta(max_length=10)]


class FilterCondition(OfDocument, frozen=True):
    """A condition on items that have been read."""

    attribute: AttributeName
    condition: FilterWord
    values: Annotated[list[Template], Meta(max_length=10)] = []


class PatternSample(OfDocument, frozen=True):
    """Values with which the pattern is run, and how many items it then finds."""

    values: dict[str, str | int | float]
    item_count: Count
    vector: list[float] = []


class AccessPattern(OfDocument, frozen=True):
    """A question of the application, and the one request that answers it."""

    name: Name
    entities: Annotated[list[Name], Meta(min_length=1, max_length=100)]
    operation: OperationWord
    number: Count | None = None
    question: str = ""
    table: str = ""
    """Empty: the table of the entities."""
    index: str = ""
    key: dict[str, Template] = {}
    """Of GetItem."""
    partition_key: Template | Annotated[list[Template], Meta(max_length=10)] = ""
    """Of Query; a list if the index's partition key has several attributes."""
    sort_key: SortCondition | Annotated[list[SortCondition], Meta(max_length=10)] | None = None
    condition: dict[str, Template] = {}
    """Of SearchVectors: attribute → value."""
    top_k: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = 10
    filter: Annotated[list[FilterCondition], Meta(max_length=100)] = []
    attributes: Annotated[list[AttributeName], Meta(max_length=1000)] = []
    """The attributes that are asked for; empty: all."""
    is_newest_first: bool = False
    is_consistent: bool = False
    limit: Annotated[int, Meta(ge=1, le=2**31 - 1, description="a whole number from 1 to 2,147,483,647")] | None = None
    then_writes: Annotated[list[Name], Meta(max_length=100)] = []
    """Entities that the application then writes, with what it has read."""
    requests_per_second: Figure = 0
    items_per_request: Figure = 1
    sample: PatternSample | None = None

    def partition_keys(self) -> list[str]:
        """The templates of the attributes of the partition key."""
        if isinstance(self.partition_key, list):
            return self.partition_key
        return [self.partition_key] if self.partition_key else []

    def sort_conditions(self) -> list[SortCondition]:
        """The conditions on the attributes of the sort key, in their order."""
        if self.sort_key is None:
            return []
        return self.sort_key if isinstance(self.sort_key, list) else [self.sort_key]

    def conditions(self) -> "list[SortCondition | FilterCondition]":
        """All conditions with an operator."""
        return [*self.sort_conditions(), *self.filter]


# --- the document ----------------------------------------------------------------------------------------


class ExpiryDays(OfDocument, frozen=True):
    """After how many days items of an entity expire."""

    days: Annotated[float, Meta(ge=0, le=100_000, description="a number from 0 to 100,000")]


class ModelExpiry(OfDocument, frozen=True):
    """Which attribute says when an item expires, and which entities have it."""

    attribute: AttributeName
    entities: dict[str, ExpiryDays]
    note: str = ""


class StatedUnits(OfDocument, frozen=True):
    """Units per second of a table or an index, as the document says."""

    read_units: ModelUnits
    write_units: ModelUnits


class StatedCapacity(StatedUnits, frozen=True):
    """Units per second of a table, and of its indexes."""

    storage_bytes: Bytes = 0
    indexes: dict[str, StatedUnits] = {}


class Capacity(OfDocument, frozen=True):
    """What the document's author expects of each table; compared with what its figures give."""

    tables: dict[str, StatedCapacity]
    note: str = ""


class SchemaDocument(OfDocument, frozen=True, dict=True):
    """A schema document."""

    name: Name
    tables: Annotated[list[ModelTable], Meta(min_length=1, max_length=100)]
    entities: Annotated[list[Entity], Meta(min_length=1, max_length=1000)]
    schema: str = field(default="", name="$schema")
    version: Literal[1] = 1
    description: str = ""
    entity_type_attribute: str = ""
    """Attribute of each item that holds the name of its entity; empty: there is none."""
    access_patterns: Annotated[list[AccessPattern], Meta(max_length=500)] = []
    time_to_live: ModelExpiry | None = None
    capacity: Capacity | None = None
    workbench: dict[str, Any] = {}
    """The model of NoSQL Workbench that the document was made of, without its items (workbench_reading.py)."""

    def table_of(self, entity: Entity) -> ModelTable:
        """The table of an entity of a document without faults."""
        return self.table(entity.table)

    def table_of_pattern(self, pattern: AccessPattern) -> ModelTable:
        """The table that an access pattern of a document without faults reads."""
        return self.table(pattern.table or self.entity(pattern.entities[0]).table)

    def table(self, name: str) -> ModelTable:
        """The table of this name; the only one if the name is empty."""
        return self._tables_by_name[name] if name else self.tables[0]

    def entity(self, name: str) -> Entity:
        """The entity of this name."""
        return self._entities_by_name[name]

    @cached_property
    def _tables_by_name(self) -> dict[str, ModelTable]:
        return {one.table_name: one for one in self.tables}

    @cached_property
    def _entities_by_name(self) -> dict[str, Entity]:
        return {one.name: one for one in self.entities}

    def entities_of(self, table: ModelTable) -> list[Entity]:
        """The entities whose items are in a table."""
        return [one for one in self.entities if self.table_of(one) is table]

    def patterns_of(self, table: ModelTable) -> list[AccessPattern]:
        """The access patterns that read a table."""
        return [one for one in self.access_patterns if self.table_of_pattern(one) is table]


def parse_document(text: bytes, source: str) -> SchemaDocument:
    """The document in a file. `source`: the file's name. Raises UsageFault, with the place in the document."""
    value = read_json(text, source)
    try:
        return msgspec.convert(value, SchemaDocument)
    except msgspec.ValidationError:
        raise UsageFault(f"{source}: {fault_in(value, SchemaDocument, 'object')}") from None


def read_json(text: bytes, source: str) -> Any:
    """The value of a JSON text. Raises UsageFault."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.ValidationError:
        raise UsageFault(f"{source} has a number with too many digits, or too large a one. Mend it.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UsageFault(f"{source} is no JSON{place_of_json_fault(text)}. Mend it, or name another file.") from None
    fault = _fault_of_size(value)
    if fault is not None:
        raise UsageFault(f"{source} {fault} Leave out samples, or split the model.")
    return value


def _fault_of_size(value: Any) -> str | None:
    """What of a value of JSON is too much; None if its levels and values are few enough."""
    level, number = [value], 0
    for _ in range(DEPTH_MAX + 1):
        number += len(level)
        if number > VALUES_MAX:
            return f"has more than {VALUES_MAX:,} values."
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return None
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
    return f"is nested too deeply: it has more than {DEPTH_MAX} levels."


def document_schema() -> dict[str, Any]:
    """The JSON Schema of documents."""
    schema = msgspec.json.schema(SchemaDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Schema document of Hashrange"} | schema
