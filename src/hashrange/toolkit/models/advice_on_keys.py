"""What is to be said of a model's keys and items? Kinds of items that can have one key, partition keys with few values,
keys that need more than a partition serves, numbers in keys of text, and large items.

Source of the numbers: developer guide, *partitions* and *quotas*.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hashrange.items.values import check_item
from hashrange.toolkit.models.document import AccessPattern, Entity, ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.estimate import can_be_in, item_write_units, request_read_units
from hashrange.toolkit.models.finding import ModelFinding, advice, note, wrong
from hashrange.toolkit.models.key_collisions import find_collisions
from hashrange.toolkit.models.key_templates import KeyForm, template
from hashrange.toolkit.models.sample_items import entity_items, key_attribute_names, partition_names, sort_names

FEW_VALUES = 100
"""A partition key with at most this many values is not spread over partitions."""
KIND_NAMES = {"status", "state", "type", "kind", "category", "level", "priority", "gender"}
DAY_NAMES = {"date", "day", "month", "year"}
FEW_NAMES = KIND_NAMES | DAY_NAMES
"""Names of attributes that have few values at a time, unless the document says how many."""
PARTITION_READS, PARTITION_WRITES = 3000, 1000
"""Units per second that a partition serves."""
COLLISIONS_TOLD_MAX = 5
"""Entities that the finding of another one names."""
KEYS_MAX = 10**30
"""Greatest number of partition keys that is counted: no figures of a document are too much for this many."""
LARGE_BYTES, ITEM_BYTES_MAX = 100 * 1024, 400 * 1024
SHARD_IT = "Add an attribute with many values to the key, or a suffix over which writes are spread (write sharding)"


def key_findings(document: SchemaDocument) -> Iterator[ModelFinding]:
    """The findings of all tables, entities and patterns of a document without faults."""
    for table in document.tables:
        yield from _collisions(document, table)
        for entity in document.entities_of(table):
            yield from _entity_findings(document, table, entity)
    for pattern in document.access_patterns:
        yield from _hot_reads(document, pattern)


def _collisions(document: SchemaDocument, table: ModelTable) -> Iterator[ModelFinding]:
    entities, names = document.entities_of(table), key_attribute_names(table)
    found = find_collisions([tuple(_form(entity, name) for name in names) for entity in entities])
    for one, others in found.others.items():
        yield _collision(table, entities[one].name, [entities[other].name for other in others])
    if not found.is_complete:
        yield note(
            "not-compared",
            f"table {table.table_name}",
            f"the templates of its {len(entities):,} entities are too long to compare each with each, so not all kinds"
            " of items that can have the same key are told. Let their keys begin with different texts.",
        )


def _collision(table: ModelTable, name: str, others: list[str]) -> ModelFinding:
    """The finding of an entity whose items can have the keys of those of others."""
    place, told = f"entities {name} and {others[0]}", "an item of each can have the same key"
    if len(others) > 1:
        more = f" and {len(others) - COLLISIONS_TOLD_MAX:,} others" if len(others) > COLLISIONS_TOLD_MAX else ""
        place = f"entity {name}"
        told = f"an item can have the same key as one of {', '.join(others[:COLLISIONS_TOLD_MAX])}{more}"
    return wrong(
        "collision",
        place,
        f"{told} in the table {table.table_name}, and the later one replaces the other. Let their keys begin with"
        ' different texts, or say by "begins" how the attributes do.',
    )


def _form(entity: Entity, name: str) -> KeyForm:
    """The form of all values of a key attribute of an entity."""
    return template(entity.key[name]).form(entity.beginnings())


# --- partition keys --------------------------------------------------------------------------------------


def _entity_findings(document: SchemaDocument, table: ModelTable, entity: Entity) -> Iterator[ModelFinding]:
    yield from _spread_findings(entity, "the table", table, entity.key)
    for index in table.global_secondary_indexes:
        if can_be_in(entity, index):
            templates = entity.key | entity.indexes.get(index.index_name, {})
            yield from _spread_findings(entity, f"the index {index.index_name}", index, templates)
    yield from _size_findings(document, entity)


class Spread(NamedTuple):
    """How partition keys are spread. `number`: how many there are; None: the document does not say."""

    number: int | None
    is_few: bool

    def told(self) -> str:
        """Few keys in words."""
        if self.number is None:
            return "partition keys with few values at a time"
        return "one partition key" if self.number == 1 else f"{self.number:,} partition keys"


def _spread(entity: Entity, places: list[str]) -> Spread:
    """The spread of keys that are made of these attributes."""
    number, is_few = 1, True
    for place in places:
        known = entity.attributes.get(place)
        values = None if known is None else known.distinct_values
        if values is None:
            is_few = is_few and place.lower() in FEW_NAMES
            number = 0
        number = min(number * (values or 1), KEYS_MAX)
    return Spread(number or None, is_few and number <= FEW_VALUES)


def _spread_findings(
    entity: Entity, of: str, keys: ModelTable | ModelIndex, templates: Mapping[str, str]
) -> Iterator[ModelFinding]:
    """Findings of one key of an entity. `templates`: attribute → template; others are attributes of the entity."""
    texts = [templates.get(name, f"{{{name}}}") for name in partition_names(keys)]
    spread = _spread(entity, [place for text in texts for place in template(text).places])
    place, units = f"entity {entity.name}", entity.writes_per_second * item_write_units(entity)
    if spread.number is not None and units / spread.number > PARTITION_WRITES:
        yield wrong(
            "hot-key",
            place,
            f"{of} gets {units:g} write units a second on {spread.told()}, and a partition serves"
            f" {PARTITION_WRITES:,}. {SHARD_IT}.",
        )
    elif spread.is_few:
        yield advice(
            "few-keys",
            place,
            f"its items in {of} have {spread.told()}, so that one partition serves many of them. {SHARD_IT}, or say in"
            " distinctValues how many values there are.",
        )
    for name in sort_names(keys):
        yield from _number_findings(place, entity, name, templates.get(name, ""))


def _hot_reads(document: SchemaDocument, pattern: AccessPattern) -> Iterator[ModelFinding]:
    """A finding if the requests of a pattern need more of one partition than it serves."""
    if pattern.operation not in {"GetItem", "Query"}:
        return
    table, entity = document.table_of_pattern(pattern), document.entity(pattern.entities[0])
    keys = table.index(pattern.index) or table
    texts = pattern.partition_keys() or [pattern.key[name] for name in partition_names(keys)]
    spread = _spread(entity, [place for text in texts for place in template(text).places])
    units = pattern.requests_per_second * request_read_units(document, pattern)
    if spread.number is not None and units / spread.number > PARTITION_READS:
        yield wrong(
            "hot-key",
            f"access pattern {pattern.name}",
            f"its requests need {units:g} read units a second of {spread.told()}, and a partition serves"
            f" {PARTITION_READS:,}. Keep the answer in a cache such as DAX, or several copies under different keys.",
        )


def _number_findings(place: str, entity: Entity, name: str, text: str) -> Iterator[ModelFinding]:
    """A finding if numbers are part of a sort key that is a text."""
    parsed = template(text)
    for used in parsed.places:
        known = entity.attributes.get(used)
        if known is not None and known.type == "N" and parsed.sole_place is None:
            yield advice(
                "number-in-text",
                place,
                f'the sort key {name} is the text "{text}", in which 10 comes before 9. Keep {used} as text with'
                " leading zeros, or give the key the type N.",
            )


# --- sizes -----------------------------------------------------------------------------------------------


def _size_findings(document: SchemaDocument, entity: Entity) -> Iterator[ModelFinding]:
    sizes = [(entity.item_bytes, "its items")]
    sizes += [(check_item(one.attributes)[1], one.place) for one in entity_items(document, entity)]
    size, what = max(sizes, key=lambda one: one[0])
    if size > ITEM_BYTES_MAX:
        yield wrong(
            "large-item",
            f"entity {entity.name}",
            f"{what} has {size:,} bytes, and an item has at most {ITEM_BYTES_MAX:,}. Split it over sort keys, or"
            " keep the large part in S3.",
        )
    elif size > LARGE_BYTES:
        yield advice(
            "large-item",
            f"entity {entity.name}",
            f"{what} has {size:,} bytes: each write takes {-(-size // 1024)} units, however little changes. Compress"
            " what is large, keep it in S3, or in an item of its own.",
        )
