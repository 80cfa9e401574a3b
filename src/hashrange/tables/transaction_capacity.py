"""How many capacity units does a transaction consume?
For a table itself, twice those of single strongly consistent operations.

Transactions also report their units as read or write units. Source: developer guide and captures to Oct 2026.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from hashrange.errors import ApiError, ItemRefusal
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.tables.capacity import (
    ConsumedCapacity,
    IndexUnits,
    change_units,
    consumed_capacity,
    read_units,
    write_units,
)
from hashrange.tables.change import Change

CapacityKind = Literal["Read", "Write"]
TableUnits = dict[str, float]
"""Table name → units of the table itself, without its indexes."""


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
    name: str, table_units: float, detail: str, kind: CapacityKind, indexes: Sequence[IndexUnits] = ()
) -> ConsumedCapacity:
    """ConsumedCapacity of one table, with each CapacityUnits repeated as ReadCapacityUnits or WriteCapacityUnits."""
    consumed = consumed_capacity(name, table_units, detail, indexes)
    split = f"{kind}CapacityUnits"
    consumed[split] = consumed["CapacityUnits"]
    for member, arm in consumed.items():
        if not isinstance(arm, dict):
            continue
        for figures in [arm] if member == "Table" else arm.values():
            figures[split] = figures["CapacityUnits"]
    return consumed
