"""How large may a transaction's reads be, and how is the capacity of its writes recorded?
At most 4 MB; per action, for a replay per table.

A cancelled transaction's units stand in no reply; metrics and the access log have them.

Shared by TransactWriteItems, TransactGetItems and ExecuteTransaction. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Sequence

from hashrange.errors import ApiError, ValidationException
from hashrange.items.row_layout import row_json_bytes, row_size_bytes
from hashrange.items.types import Row
from hashrange.limits import REPLY_JSON_MAX_BYTES, TRANSACTION_SIZE_MAX_BYTES
from hashrange.messages.transactions import TRANSACTION_TOO_LARGE
from hashrange.operations.meter import Meter, TransactedReadUsage, TransactedUsage, Usage
from hashrange.operations.transactions.tokens import replay_units
from hashrange.store.interface import Transacted, TransactionStep
from hashrange.tables.capacity import refused_action_units


def check_read_size(rows: Sequence[Row | None]) -> None:
    """Raise ValidationException if the items together exceed 4 MB, or the rows or their JSON REPLY_JSON_MAX_BYTES.

    Whole items count, even if a projection returns only some of their attributes.
    """
    size_bytes = row_bytes = json_bytes = 0
    for row in rows:
        if row is not None:
            size_bytes += row_size_bytes(row)
            row_bytes += len(row)
            json_bytes += row_json_bytes(row)
    if size_bytes > TRANSACTION_SIZE_MAX_BYTES or max(row_bytes, json_bytes) > REPLY_JSON_MAX_BYTES:
        raise ValidationException(TRANSACTION_TOO_LARGE)


def record_written_usage(
    meter: Meter, transacted: Transacted, steps: Sequence[TransactionStep], names: Sequence[str]
) -> None:
    """Record the usage of a transaction's writes and checks.

    `names` holds, for each transaction step, the table's name or ARN as the reply reports it. A replay consumes as much
    as a transaction that reads the items.
    """
    if transacted.report is None:
        meter += [
            TransactedUsage(change.table, name, change) for change, name in zip(transacted.changes, names, strict=True)
        ]
        return
    tables = {step.table.name: (step.table, name) for step, name in zip(steps, names, strict=True)}
    for table_name, units in replay_units(transacted.report).items():
        meter.append(TransactedReadUsage(*tables[table_name], units))


def record_cancelled_usage(meter: Meter, steps: Sequence[TransactionStep], reasons: Sequence[ApiError | None]) -> None:
    """Record the usage of a transaction that these refusals of its steps cancel."""
    for step, reason in zip(steps, reasons, strict=True):
        units = refused_action_units(reason)
        if units:
            meter.append(Usage(step.table, step.table.name, units, (), True, False))
