"""How is a model of NoSQL Workbench written down? The members that are read; all others are kept as they are.

Source: exports of NoSQL Workbench, versions 1.0 to 3.0 of its form, in the repositories amazon-dynamodb-design-patterns
and aws-dynamodb-examples of aws-samples on GitHub.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

OTHER_ITEMS = "Item"
"""What the kind of items is called that are in no facet."""

ModelItem = dict[str, dict[str, Any]]
"""An item in DynamoDB JSON."""


class OfModel(Struct, rename="pascal", frozen=True):
    """A part of a model. Members that are not declared are no fault."""


class TypedAttribute(OfModel, frozen=True):
    """An attribute and its type."""

    attribute_name: str
    attribute_type: str


class KeyAttributes(OfModel, frozen=True):
    """The key of a table or an index."""

    partition_key: TypedAttribute
    sort_key: TypedAttribute | None = None

    def attributes(self) -> list[TypedAttribute]:
        """Partition key and sort key."""
        return [one for one in (self.partition_key, self.sort_key) if one is not None]


class WorkbenchIndex(OfModel, frozen=True):
    """A global secondary index."""

    index_name: str
    key_attributes: KeyAttributes
    projection: dict[str, Any]


class Facet(OfModel, frozen=True):
    """A kind of items of a table."""

    facet_name: str
    non_key_attributes: list[str] = []
    table_data: list[ModelItem] = []


class WorkbenchTable(OfModel, frozen=True):
    """A table."""

    table_name: str
    key_attributes: KeyAttributes
    non_key_attributes: list[TypedAttribute] = []
    table_facets: list[Facet] = []
    global_secondary_indexes: list[WorkbenchIndex] = []
    table_data: list[ModelItem] = []


class WorkbenchModel(OfModel, frozen=True):
    """A model."""

    model_name: str
    data_model: list[WorkbenchTable]


def kind_names(tables: list[WorkbenchTable]) -> Iterator[tuple[list[str], str]]:
    """For each table, the names of the kinds of items of its facets, and of the kind of all other items.

    A facet's name is the kind's, unless another table has it already.
    """
    taken: set[str] = set()
    tries: Counter[str] = Counter()
    for table in tables:
        facets = [_free(one.facet_name, table.table_name, taken, tries) for one in table.table_facets]
        yield facets, _free(OTHER_ITEMS, table.table_name, taken, tries)


def _free(name: str, table: str, taken: set[str], tries: Counter[str]) -> str:
    """A name that is not taken; takes it. `tries`: name that is numbered → the last number with which it was tried."""
    free, numbered = name, f"{name} of {table}"
    while free in taken:
        tries[numbered] += 1
        free = numbered + (f" {tries[numbered]}" if tries[numbered] > 1 else "")
    taken.add(free)
    return free
