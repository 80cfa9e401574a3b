"""How does the store carry out a transaction? Its transaction steps in one commit,
or its reads as of one point in time.

Shared by TransactWriteItems, TransactGetItems and ExecuteTransaction. A single refused action cancels all.
"""

from collections.abc import Sequence

from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR, TRANSACTION_SIZE_MAX_BYTES
from hashrange.operations.meter import Meter, TransactedReadUsage
from hashrange.operations.operation import Scope
from hashrange.operations.transactions.reasons import cancelled
from hashrange.operations.transactions.size_and_units import check_read_size, record_cancelled_usage
from hashrange.operations.transactions.tokens import ContentDigest
from hashrange.store.interface import Transacted, TransactionRefused, TransactionStep
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import item_read_units
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
        return await scope.store.transact(steps, token, new_request_id())
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
        rows = await scope.store.snapshot_get(places, TRANSACTION_SIZE_MAX_BYTES)
    except TransactionRefused as refusal:
        raise cancelled(refusal.reasons) from None
    check_read_size(rows)
    for (table, _), name, row in zip(places, names, rows, strict=True):
        meter.append(TransactedReadUsage(table, name, TRANSACTION_FACTOR * item_read_units(row, consistent=True)))
    return rows
