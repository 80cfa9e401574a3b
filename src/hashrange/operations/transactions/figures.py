"""What does a transaction weigh and cost? Its size against the limit, and the ConsumedCapacity of its reply.

Shared by TransactWriteItems, TransactGetItems and ExecuteTransaction. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Iterable, Sequence

from hashrange.errors import ValidationException
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_SIZE_MAX_BYTES
from hashrange.messages.transactions import TRANSACTION_TOO_LARGE
from hashrange.operations.replies import ENCODER
from hashrange.operations.transactions.tokens import replay_units
from hashrange.store.interface import Transacted
from hashrange.tables.open_table import OpenTable
from hashrange.tables.transaction_capacity import (
    transaction_capacity,
    transaction_read_units,
    transaction_write_units,
)


def check_read_size(rows: Sequence[Row | None]) -> None:
    """Refuse what reads more than a transaction may."""
    if sum([row_size_bytes(row) for row in rows if row is not None]) > TRANSACTION_SIZE_MAX_BYTES:
        raise ValidationException(TRANSACTION_TOO_LARGE)


def names_as_given(names: Iterable[str]) -> dict[str, str]:
    """Tables' own names → how a request names them, by name or by ARN."""
    return {name.rpartition("/")[2]: name for name in names}


def write_capacity_member(transacted: Transacted, detail: str, given: dict[str, str]) -> bytes:
    """ConsumedCapacity of a write, by table, each named as `given`; a replay costs what reading its items does."""
    if transacted.report is None:
        units, indexes = transaction_write_units(transacted.changes)
        capacities = [
            transaction_capacity(given.get(name, name), units[name], detail, "Write", indexes.get(name, ()))
            for name in units
        ]
    else:
        replayed = replay_units(transacted.report)
        capacities = [transaction_capacity(given.get(name, name), replayed[name], detail, "Read") for name in replayed]
    return b'"ConsumedCapacity":' + ENCODER.encode(capacities)


def read_capacity_member(
    places: Sequence[tuple[OpenTable, Key]], rows: Sequence[Row | None], detail: str, given: dict[str, str]
) -> bytes:
    """ConsumedCapacity of a read, by table, each named as `given`."""
    sizes = [
        (table.name, 0 if row is None else row_size_bytes(row)) for (table, _), row in zip(places, rows, strict=True)
    ]
    units = transaction_read_units(sizes)
    capacities = [transaction_capacity(given.get(name, name), units[name], detail, "Read") for name in units]
    return b'"ConsumedCapacity":' + ENCODER.encode(capacities)
