"""What do the steps of a transaction come to? Their changes, or all their refusals. Pure; the same for every store."""

from collections.abc import Sequence

from hashrange.errors import ApiError, ValidationException
from hashrange.items.rows import row_size_bytes
from hashrange.items.types import Row
from hashrange.limits import TRANSACTION_SIZE_MAX_BYTES
from hashrange.messages.transactions import TRANSACTION_TOO_LARGE
from hashrange.store.interface import Step, TransactionRefused
from hashrange.tables.change import Change, as_planned
from hashrange.tables.entries import derive_entry_writes


def plan_steps(
    steps: Sequence[Step], rows: Sequence[Row | None], at_seconds: float = 0.0, position: int = 0
) -> list[Change]:
    """The changes of all steps, index entries included; `rows` are the old ones. Raises TransactionRefused.

    Raises ValidationException when the items that the refusals tell are larger together than a transaction may be.
    """
    changes = []
    reasons: list[ApiError | None] = []
    is_refused = False
    told_bytes = 0
    for (table, key, plan), old in zip(steps, rows, strict=True):
        try:
            new, old_item, new_item = as_planned(plan(old))
        except ApiError as refusal:
            reasons.append(refusal)
            is_refused = True
            if old is not None and refusal.members:
                told_bytes += row_size_bytes(old)
                if told_bytes > TRANSACTION_SIZE_MAX_BYTES:
                    raise ValidationException(TRANSACTION_TOO_LARGE) from None
            continue
        reasons.append(None)
        assert key is not None, "a step without a key must refuse"
        entries = (
            derive_entry_writes(table, key, old, new, old_item, new_item) if table.indexes and not is_refused else ()
        )
        changes.append(Change(table, key, old, new, entries, "client", at_seconds, position, old_item, new_item))
    if is_refused:
        raise TransactionRefused(reasons)
    return changes
