"""How does the store carry out a transaction? Its transaction steps in one commit, or its reads as of one point in
time, of at most 4 MB; and how is its capacity recorded? Per action, for a replay per table. A cancelled transaction's
units stand in no reply; metrics and the access log have them.

Shared by TransactWriteItems, TransactGetItems and ExecuteTransaction. A single refused action cancels all.
Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Sequence

from hashrange.errors import ApiError, ValidationException
from hashrange.items.row_layout import is_packed, row_json_bytes, row_sizes_bytes
from hashrange.items.types import Key, Row
from hashrange.limits import (
    REPLY_JSON_MAX_BYTES,
    TRANSACTION_FACTOR,
    TRANSACTION_SIZE_MAX_BYTES,
    WRITE_UNIT_BYTES,
)
from hashrange.messages.transactions import TRANSACTION_TOO_LARGE
from hashrange.operations.meter import Meter, TransactedReadUsage, TransactedUsage, Usage
from hashrange.operations.operation import Scope
from hashrange.operations.transactions.reasons import cancelled
from hashrange.operations.transactions.tokens import ContentDigest, replay_units
from hashrange.store.interface import Transacted, TransactionRefused, TransactionStep
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import item_read_units, refused_action_units
from hashrange.tables.open_table import OpenTable


async def commit_steps(
    scope: Scope,
    steps: Sequence[TransactionStep],
    client_token: str | None,
    content: ContentDigest | None,
    meter: Meter,
) -> Transacted:
    """Commit all transaction steps. `content` is the request's digest, None without a ClientRequestToken.

    Raises what `Store.transact` raises, but instead of TransactionRefused the error that `cancelled` makes of it;
    then the meter has what the refused steps consumed.
    """
    token = None if content is None or client_token is None else content.token(scope, client_token)
    try:
        return await scope.store.transact(steps, token, new_request_id(), meter)
    except TransactionRefused as refusal:
        record_cancelled_usage(meter, steps, refusal.reasons)
        raise cancelled(refusal.reasons) from None


async def read_places(
    scope: Scope, places: Sequence[tuple[OpenTable, Key]], names: Sequence[str], meter: Meter
) -> list[Row | None]:
    """Read the rows of `places` (table and key of each) as of one point in time, and record their usage.

    `names` holds, for each row, the table's name or ARN as the reply reports it. Raises TransactionCanceledException
    if a transaction is running on an item, ValidationException if the items are too large together.
    """
    try:
        rows = await scope.store.snapshot_get(places, TRANSACTION_SIZE_MAX_BYTES, meter)
    except TransactionRefused as refusal:
        raise cancelled(refusal.reasons) from None
    check_read_size(rows)
    named: dict[OpenTable, str] = {}
    units: dict[OpenTable, float] = {}
    for (table, _), name, row in zip(places, names, rows, strict=True):
        named[table] = name
        units[table] = units.get(table, 0.0) + TRANSACTION_FACTOR * item_read_units(row, consistent=True, table=table)
    meter += [TransactedReadUsage(table, name, units[table]) for table, name in named.items()]
    return rows


# --- size and units -------------------------------------------------------------------------------


def check_read_size(rows: Sequence[Row | None]) -> None:
    """Raise ValidationException if the items together exceed 4 MB, or the rows or their JSON REPLY_JSON_MAX_BYTES.

    Whole items count, even if a projection returns only some of their attributes.
    """
    found = [row for row in rows if row is not None]
    if max(map(len, found), default=0) <= WRITE_UNIT_BYTES:
        return  # packed rows are longer, and of others a hundred are far below the limits
    if (
        sum(row_sizes_bytes(found)) > TRANSACTION_SIZE_MAX_BYTES
        or sum(map(len, found)) > REPLY_JSON_MAX_BYTES
        or (any(map(is_packed, found)) and sum(map(row_json_bytes, found)) > REPLY_JSON_MAX_BYTES)
    ):
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
