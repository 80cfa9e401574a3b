"""How many capacity units does a transaction consume? Twice those of single strongly consistent operations, on the table's arm.

Figures that transactions report say besides whether they were read or written. Source: developer guide and captures to Oct 2026.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from hashrange.limits import TRANSACTION_FACTOR
from hashrange.tables.capacity import (
    ConsumedCapacity,
    IndexUnits,
    change_units,
    consumed_capacity,
    read_units,
)
from hashrange.tables.change import Change

CapacityKind = Literal["Read", "Write"]
TableUnits = dict[str, float]
"""Table's name → units of the table's own arm."""


def transaction_read_units(sizes: Iterable[tuple[str, int]]) -> TableUnits:
    """Units of reading items of these (table's name, size in bytes); size 0 is a missing item."""
    units: TableUnits = {}
    for name, size_bytes in sizes:
        units[name] = units.get(name, 0.0) + TRANSACTION_FACTOR * read_units(size_bytes, consistent=True)
    return units


def transaction_change_units(change: Change) -> float:
    """Units of writing, or of checking, on the table's arm; those of its indexes stay single."""
    return TRANSACTION_FACTOR * change_units(change)


def transaction_capacity(
    name: str, table_units: float, detail: str, kind: CapacityKind, indexes: Sequence[IndexUnits] = ()
) -> ConsumedCapacity:
    """One table's ConsumedCapacity, each figure of which is told once more as what was read or written."""
    consumed = consumed_capacity(name, table_units, detail, indexes)
    split = f"{kind}CapacityUnits"
    consumed[split] = consumed["CapacityUnits"]
    for member, arm in consumed.items():
        if not isinstance(arm, dict):
            continue
        for figures in [arm] if member == "Table" else arm.values():
            figures[split] = figures["CapacityUnits"]
    return consumed
