"""How much capacity has a request consumed? Each operation records the units once, whether or not the
client requested ConsumedCapacity.

The meter is read for replies (`consumed`) and for the access log. Units are those of `tables.capacity` and
`tables.transaction_capacity`; source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from hashrange.aws_services.operation import CapacityForm
from hashrange.items.steps import spend
from hashrange.items.types import Row
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.operations.reply import Reply
from hashrange.tables.capacity import (
    ConsumedCapacity,
    IndexUnits,
    VectorBytes,
    change_units,
    consumed_capacity,
    index_units,
    item_read_units,
    transaction_capacity,
    vector_write_bytes,
)
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable

NO_VECTORS: VectorBytes = {}
"""What requests that change no vector index share; it stays empty."""


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Capacity units consumed at one table and its indexes."""

    table: OpenTable
    name: str
    """The table's name or ARN, as the reply reports it."""
    table_units: float
    index_units: Sequence[IndexUnits] = ()
    is_write: bool = False
    took_effect: bool = True
    """False for a write that was refused because of the existing item or its absence;
    the layout "each" omits such a write."""
    vector_bytes: ClassVar[VectorBytes] = NO_VECTORS


class PageUsage(Usage, frozen=True, gc=False):
    """Usage of a page of a Query, Scan or SELECT, known when the page has ended.
    Items fetched for a local index are in `table_units`.
    """


class SearchUsage(Usage, frozen=True, gc=False):
    """Usage of a search of a vector index, which consumes bytes and no units."""

    search_bytes: int = 0
    index_name: str = ""
    """Name of the vector index."""


class TransactedReadUsage(Usage, frozen=True, gc=False):
    """Usage of the items that a transaction read of one table, or of the replay of a transaction that wrote."""


class ReadUsage(msgspec.Struct, frozen=True, gc=False):
    """Usage of reading one item; units are computed only when needed. It has the members of `Usage`."""

    table: OpenTable
    name: str
    row: Row | None
    consistent: bool
    index_units: ClassVar[Sequence[IndexUnits]] = ()
    vector_bytes: ClassVar[VectorBytes] = NO_VECTORS
    is_write: ClassVar[bool] = False
    took_effect: ClassVar[bool] = True

    @property
    def table_units(self) -> float:
        """Units of the table itself."""
        return item_read_units(self.row, consistent=self.consistent, table=self.table)


class ChangeUsage(msgspec.Struct, frozen=True, gc=False):
    """Usage of a committed write of one item; units are computed only when needed. It has the members of `Usage`."""

    table: OpenTable
    name: str
    change: Change
    is_write: ClassVar[bool] = True
    took_effect: ClassVar[bool] = True

    @property
    def table_units(self) -> float:
        """Units of the table itself."""
        return change_units(self.change)

    @property
    def index_units(self) -> Sequence[IndexUnits]:
        """The indexes that the write changed, with the units that each has consumed."""
        entries = self.change.entries
        return index_units(entries) if entries else ()

    @property
    def vector_bytes(self) -> VectorBytes:
        """The vector indexes that the write changed, with the bytes that each is charged for."""
        entries = self.change.entries
        return vector_write_bytes(entries) if entries else NO_VECTORS


class TransactedUsage(ChangeUsage, frozen=True, gc=False):
    """Usage of one item that a transaction wrote or checked."""

    @property
    def table_units(self) -> float:
        """Units of the table itself."""
        return TRANSACTION_FACTOR * change_units(self.change)


AnyUsage = Usage | ReadUsage | ChangeUsage
Meter = list[AnyUsage]
"""Usages of one request, in the order in which they were recorded. 0.1 µs to make and to record one usage."""

NOTHING_USED: Meter = []
"""Meter of calls that have not begun or have ended; all share it, and it stays empty."""


def consumed(meter: Meter, form: CapacityForm, detail: str) -> ConsumedCapacity | list[ConsumedCapacity]:
    """The reply's ConsumedCapacity in the layout `form`; `detail` is ReturnConsumedCapacity, TOTAL or INDEXES."""
    if form == "one":
        (usage,) = meter
        return consumed_capacity(usage.name, usage.table_units, detail, usage.index_units, usage.vector_bytes)
    if form == "search":
        (usage,) = meter
        assert isinstance(usage, SearchUsage), "a search records a usage of its own"
        return {"VectorSearchRequestBytes": float(usage.search_bytes)}
    if form == "each":
        return [
            consumed_capacity(one.name, one.table_units, detail, one.index_units, one.vector_bytes)
            for one in meter
            if one.took_effect
        ]
    if form == "by table":
        return [
            consumed_capacity(
                name,
                sum([one.table_units for one in usages]),
                detail,
                _all_index_units(usages),
                _all_vector_bytes(usages),
            )
            for name, usages in _grouped(meter, [usage.name for usage in meter]).items()
        ]
    return [
        transaction_capacity(
            usages[-1].name,
            sum([one.table_units for one in usages]),
            detail,
            "Write" if usages[0].is_write else "Read",
            _all_index_units(usages),
            _all_vector_bytes(usages),
        )
        for usages in _grouped(meter, [usage.table.name for usage in meter]).values()
    ]


def _grouped(meter: Meter, names: Sequence[str]) -> dict[str, list[AnyUsage]]:
    """Group the usages by name; `names` holds one name for each usage."""
    groups: dict[str, list[AnyUsage]] = {}
    for name, usage in zip(names, meter, strict=True):
        groups.setdefault(name, []).append(usage)
    return groups


def _all_index_units(usages: Sequence[AnyUsage]) -> list[IndexUnits]:
    """The units of each index, of all usages together; gives way."""
    sums: dict[str, IndexUnits] = {}
    for usage in usages:
        of_usage = usage.index_units
        spend(len(of_usage))
        for index, units in of_usage:
            sums[index.name] = (index, units + sums[index.name][1] if index.name in sums else units)
    return list(sums.values())


def _all_vector_bytes(usages: Sequence[AnyUsage]) -> VectorBytes:
    """The bytes that each vector index is charged for, of all usages together; gives way."""
    sums: VectorBytes = {}
    for usage in usages:
        of_usage = usage.vector_bytes
        spend(len(of_usage))
        for name, size_bytes in of_usage.items():
            sums[name] = sums.get(name, 0) + size_bytes
    return sums


def with_capacity(reply: Reply, form: CapacityForm, detail: str, meter: Meter) -> Reply:
    """The reply, with ConsumedCapacity unless `detail`, the request's ReturnConsumedCapacity, is NONE."""
    return reply if detail == "NONE" else {**reply, "ConsumedCapacity": consumed(meter, form, detail)}
