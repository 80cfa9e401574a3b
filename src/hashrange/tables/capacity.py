"""How many capacity units does a request consume? Pure functions of sizes, by the service's rules.

Reads count 4 KB blocks (half when eventually consistent), writes 1 KB blocks, each at least one block. A write is
charged to the table by its item's size, and to each index by the size of the entry that changes. A read is charged to
the table or index that it reads; items that it fetches from the table for a local index are charged in addition.
A transaction consumes of a table itself twice what single strongly consistent operations do, and also reports its units
as read or write units. Source: service behaviour, developer guide and captures to Oct 2026.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from hashrange.errors import ApiError, ItemRefusal
from hashrange.items.row_layout import is_packed, row_size_bytes
from hashrange.items.types import Row
from hashrange.limits import READ_UNIT_BYTES, TRANSACTION_FACTOR, VECTOR_WRITE_MIN_BYTES, WRITE_UNIT_BYTES
from hashrange.tables.change import Change
from hashrange.tables.entries import Entry, EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.vector_billing import charged_row_bytes

ConsumedCapacity = dict[str, object]
IndexUnits = tuple[Index, float]
"""An index and the capacity units consumed of it."""
CapacityKind = Literal["Read", "Write"]
VectorBytes = dict[str, int]
"""Name of a vector index → the bytes that writes of its entries are charged for."""
_VECTOR_INDEXES = "VectorIndexes"
TableUnits = dict[str, float]
"""Table name → units of the table itself, without its indexes."""


def read_units(size_bytes: int, *, consistent: bool) -> float:
    """Units of one read of `size_bytes` in total: a single item, or all evaluated items of a page."""
    blocks = -(-size_bytes // READ_UNIT_BYTES) or 1
    return float(blocks) if consistent else blocks / 2


def items_read_units(sizes_bytes: Collection[int], *, consistent: bool) -> float:
    """Units of reading items of these sizes one by one; a missing item has the size 0."""
    if max(sizes_bytes, default=0) <= READ_UNIT_BYTES:
        return len(sizes_bytes) * read_units(0, consistent=consistent)
    return sum([read_units(size_bytes, consistent=consistent) for size_bytes in sizes_bytes])


def item_read_units(row: Row | None, *, consistent: bool, table: OpenTable | None = None) -> float:
    """Read capacity units of one consistent or eventually consistent read of an item, given by its row (None: missing).
    `table`: the item's table, whose vectors may make the read cheaper; None: the item's size counts.

    0.1 µs: for most rows the length is enough, as no item is larger than its JSON, and packed rows exceed
    WRITE_UNIT_BYTES.
    """
    if row is None or len(row) <= WRITE_UNIT_BYTES or (len(row) <= READ_UNIT_BYTES and not is_packed(row)):
        return 1.0 if consistent else 0.5
    size_bytes = row_size_bytes(row) if table is None else charged_row_bytes(table, row)
    return read_units(size_bytes, consistent=consistent)


def write_units(old_size_bytes: int, new_size_bytes: int) -> float:
    """Units of one write that replaces an item of the old size by one of the new size; a size of 0 is no item."""
    return float(-(-max(old_size_bytes, new_size_bytes) // WRITE_UNIT_BYTES) or 1)


def change_units(change: Change) -> float:
    """Units that a committed write consumes of its table. 0.1 µs for small items."""
    old, new = change.old, change.new
    if (old is None or len(old) <= WRITE_UNIT_BYTES) and (new is None or len(new) <= WRITE_UNIT_BYTES):
        return 1.0  # only packed rows (`items/rows.py`) are smaller than their items; they exceed WRITE_UNIT_BYTES
    table = change.table
    if table.vector_attributes:
        former, present = _list_sizes(change.entries)
        before = 0 if old is None else charged_row_bytes(table, old, change.old_item, former)
        return write_units(before, 0 if new is None else charged_row_bytes(table, new, change.new_item, present))
    return write_units(_size_bytes(old), _size_bytes(new))


def _list_sizes(entries: Iterable[EntryWrite]) -> tuple[dict[str, int], dict[str, int]]:
    """Vector attribute → size of the item's list of numbers before and after a write, as far as its entries tell."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for source, old, new in entries:
        if source.vectors is not None:
            name = source.vectors.index.attribute
            if old is not None:
                before[name] = old.list_bytes
            if new is not None:
                after[name] = new.list_bytes
    return before, after


def entry_units(write: EntryWrite) -> float:
    """Units that a changed entry consumes of its index; if the entry's key changes, units of a delete and of a put."""
    _, old, new = write
    if (old is None or len(old.row) <= WRITE_UNIT_BYTES) and (new is None or len(new.row) <= WRITE_UNIT_BYTES):
        return 1.0 if old is None or new is None or old.key == new.key else 2.0  # as in `change_units`
    old_size_bytes = 0 if old is None else row_size_bytes(old.row)
    new_size_bytes = 0 if new is None else row_size_bytes(new.row)
    if old is None or new is None or old.key == new.key:
        return write_units(old_size_bytes, new_size_bytes)
    return write_units(old_size_bytes, 0) + write_units(0, new_size_bytes)


def index_units(writes: Iterable[EntryWrite]) -> list[IndexUnits]:
    """The indexes that a write changes, with the units that each consumes."""
    return [(write.source.index, entry_units(write)) for write in writes if write.source.index is not None]


def vector_write_bytes(writes: Iterable[EntryWrite]) -> VectorBytes:
    """The vector indexes that a write changes, with the bytes that each is charged for: those of the larger of old and
    new entry; if the entry's key changes, those of both.

    Source: service behaviour, captures of August 2026.
    """
    charged: VectorBytes = {}
    for source, old, new in writes:
        if source.vectors is not None and not _is_same(old, new):
            before, after = [0 if one is None else _charged_bytes(one.row) for one in (old, new)]
            is_moved = old is not None and new is not None and old.key != new.key
            charged[source.vectors.index.name] = before + after if is_moved else max(before, after)
    return charged


def _is_same(old: Entry | None, new: Entry | None) -> bool:
    """True if an entry stays as it was, although its item's list of numbers got another size."""
    return old is not None and new is not None and old.key == new.key and old.row == new.row


def _charged_bytes(row: Row) -> int:
    return max(VECTOR_WRITE_MIN_BYTES, row_size_bytes(row))


def consumed_capacity(
    table_name: str,
    table_units: float,
    detail: str,
    indexes: Sequence[IndexUnits] = (),
    vectors: VectorBytes | None = None,
) -> ConsumedCapacity:
    """The ConsumedCapacity of one table. `detail`: TOTAL or INDEXES. Units of the same index are summed.

    `vectors`: what vector indexes are charged for; it is not part of CapacityUnits.
    """
    total = table_units + sum([units for _, units in indexes])
    consumed: ConsumedCapacity = {"TableName": table_name, "CapacityUnits": total}
    if detail == "INDEXES":
        consumed["Table"] = {"CapacityUnits": table_units}
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            arms: dict[str, float] = {}
            for index, units in indexes:
                if index.is_global is is_global:
                    arms[index.name] = arms.get(index.name, 0.0) + units
            if arms:
                consumed[member] = {name: {"CapacityUnits": units} for name, units in arms.items()}
        if vectors:
            consumed[_VECTOR_INDEXES] = {
                name: {"VectorWriteRequestBytes": float(size_bytes)} for name, size_bytes in vectors.items()
            }
    return consumed


def _size_bytes(row: Row | None) -> int:
    return 0 if row is None else row_size_bytes(row)


# --- transactions -------------------------------------------------------------------------------


def transaction_read_units(sizes: Iterable[tuple[str, int]]) -> TableUnits:
    """Units that a transaction's reads consume, by table. `sizes`: (table name, item's bytes, 0 if missing) each."""
    units: TableUnits = {}
    for name, size_bytes in sizes:
        units[name] = units.get(name, 0.0) + TRANSACTION_FACTOR * read_units(size_bytes, consistent=True)
    return units


def transaction_change_units(change: Change) -> float:
    """Units that a transaction's write or condition check consumes of its table; those of indexes are not doubled."""
    return TRANSACTION_FACTOR * change_units(change)


def refused_action_units(refusal: ApiError | None) -> float:
    """Units that an action of a cancelled transaction consumes of its table:
    those of its item if the item refused it, else none (unconfirmed).

    `refusal`: the error that refuses the action, or None.
    """
    return TRANSACTION_FACTOR * write_units(refusal.size_bytes, 0) if isinstance(refusal, ItemRefusal) else 0.0


def transaction_capacity(
    name: str,
    table_units: float,
    detail: str,
    kind: CapacityKind,
    indexes: Sequence[IndexUnits] = (),
    vectors: VectorBytes | None = None,
) -> ConsumedCapacity:
    """ConsumedCapacity of one table, with each CapacityUnits repeated as ReadCapacityUnits or WriteCapacityUnits."""
    consumed = consumed_capacity(name, table_units, detail, indexes, vectors)
    split = f"{kind}CapacityUnits"
    consumed[split] = consumed["CapacityUnits"]
    for member, arm in consumed.items():
        if not isinstance(arm, dict) or member == _VECTOR_INDEXES:
            continue
        for figures in [arm] if member == "Table" else arm.values():
            figures[split] = figures["CapacityUnits"]
    return consumed
