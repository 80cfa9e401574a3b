"""What does a document's application consume? Units per second and in a month, and bytes, of each table and index, by
the document's own figures: requests and writes per second, sizes and numbers of items.

It takes the size of an item for that of its entries, so what is said of an index with a smaller projection is the most
that it can be. A write counts in each index that can hold the item. Requests of vector indexes have no price in price
tables, so their cost is that of storage. Source: developer guide, capacity units.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.toolkit.models.document import AccessPattern, Entity, ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.sample_items import key_attribute_names
from hashrange.toolkit.prices import TABLE_CLASSES, Prices

READ_UNIT_BYTES, WRITE_UNIT_BYTES = 4096, 1024
OVERHEAD_BYTES = 100
"""Bytes of each item and entry that storage counts beside names and values."""
VECTOR_NUMBER_BYTES = 4
GB_BYTES, MILLION = 1 << 30, 1_000_000
MONTH_HOURS = 730
INFREQUENT_ACCESS = "STANDARD_INFREQUENT_ACCESS"
SECONDS_PER_HOUR = 3600


class Estimate(NamedTuple):
    """What one table or index consumes."""

    table: str
    index_name: str
    """Empty: the table itself."""
    read_units: float
    """Per second."""
    write_units: float
    storage_bytes: int
    vector_write_bytes: float = 0.0
    """Per second; of vector indexes, which consume no units."""

    @property
    def million_reads(self) -> float:
        """Millions of read units in a month."""
        return self.read_units * SECONDS_PER_HOUR * MONTH_HOURS / MILLION

    @property
    def million_writes(self) -> float:
        """Millions of write units in a month."""
        return self.write_units * SECONDS_PER_HOUR * MONTH_HOURS / MILLION

    @property
    def storage_gb(self) -> float:
        """Storage in GB, as DynamoDB charges it."""
        return self.storage_bytes / GB_BYTES


def estimate(document: SchemaDocument) -> Iterator[Estimate]:
    """The estimate of each table, followed by those of its indexes."""
    for table in document.tables:
        entities = document.entities_of(table)
        yield _estimate_of(document, table, "", entities)
        for index in table.indexes():
            yield _estimate_of(document, table, index.index_name, entities_in(document, table, index.index_name))
        for vector in table.vector_indexes:
            holding = [one for one in entities if vector.vector_attribute.attribute_name in one.attributes]
            size = vector.dimensions * VECTOR_NUMBER_BYTES
            written = sum(one.writes_per_second * max(WRITE_UNIT_BYTES, size + one.item_bytes) for one in holding)
            stored = sum(one.item_count * (size + one.item_bytes) for one in holding)
            yield Estimate(table.table_name, vector.index_name, 0.0, 0.0, stored, written)


def monthly_usd(document: SchemaDocument, prices: Prices) -> list[float]:
    """What each estimate costs in a month on demand, in USD, nothing being free. Raises UsageFault."""
    classes = {table.table_name: table.table_class for table in document.tables}
    costs = []
    for one in estimate(document):
        figures = prices.of_class(TABLE_CLASSES[classes[one.table] == INFREQUENT_ACCESS])
        units = one.million_reads * figures.million_reads + one.million_writes * figures.million_writes
        costs.append(units + one.storage_gb * figures.storage_gb_month)
    return costs


def told_prices(document: SchemaDocument, prices: Prices) -> str:
    """Region and date of the prices of `monthly_usd`, as they stand beside a cost."""
    paths = [
        f"{TABLE_CLASSES[table.table_class == INFREQUENT_ACCESS]}.{figure}"
        for table in document.tables
        for figure in ("million_reads", "million_writes", "storage_gb_month")
    ]
    return prices.told(is_unconfirmed=prices.is_unconfirmed(*paths))


def _estimate_of(document: SchemaDocument, table: ModelTable, index: str, entities: list[Entity]) -> Estimate:
    patterns = [one for one in document.patterns_of(table) if one.index == index and one.operation != "SearchVectors"]
    reads = sum(one.requests_per_second * request_read_units(document, one) for one in patterns)
    writes = sum(one.writes_per_second * item_write_units(one) for one in entities)
    stored = sum(one.item_count * (one.item_bytes + OVERHEAD_BYTES) for one in entities)
    return Estimate(table.table_name, index, reads, writes, stored)


def entities_in(document: SchemaDocument, table: ModelTable, index_name: str) -> list[Entity]:
    """The entities that can be in a secondary index: those that have all attributes of its key."""
    index = table.index(index_name)
    assert index is not None
    return [one for one in document.entities_of(table) if can_be_in(one, index)]


def can_be_in(entity: Entity, index: ModelIndex) -> bool:
    """True if items of an entity can have all attributes of an index's key."""
    given = (entity.key, entity.indexes.get(index.index_name, {}), entity.attributes)
    return all(any(name in one for one in given) for name in key_attribute_names(index))


def request_bytes(document: SchemaDocument, pattern: AccessPattern) -> float:
    """The bytes that a request of a pattern reads."""
    return sum(document.entity(name).item_bytes for name in pattern.entities) * pattern.items_per_request


def request_read_units(document: SchemaDocument, pattern: AccessPattern) -> float:
    """The read units of a request of a pattern."""
    units = math.ceil(request_bytes(document, pattern) / READ_UNIT_BYTES)
    return units if pattern.is_consistent else units / 2


def item_write_units(entity: Entity) -> int:
    """The write units of a write of an entity's item."""
    return math.ceil(entity.item_bytes / WRITE_UNIT_BYTES)
