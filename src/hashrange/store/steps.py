"""What do the steps of a transaction come to? Their changes, or all their refusals. Pure; the same for every store."""

from collections.abc import Sequence

from hashrange.errors import ApiError
from hashrange.items.types import Row
from hashrange.store.interface import Step, TransactionRefused
from hashrange.tables.change import Change
from hashrange.tables.entries import derive_entry_writes


def plan_steps(steps: Sequence[Step], rows: Sequence[Row | None]) -> list[Change]:
    """The changes of all steps, index entries included; `rows` are the old ones. Raises TransactionRefused."""
    changes = []
    reasons: list[ApiError | None] = []
    is_refused = False
    for (table, key, plan), old in zip(steps, rows, strict=True):
        try:
            new = plan(old)
        except ApiError as refusal:
            reasons.append(refusal)
            is_refused = True
            continue
        reasons.append(None)
        assert key is not None, "a step without a key must refuse"
        entries = derive_entry_writes(table, key, old, new) if table.indexes and not is_refused else ()
        changes.append(Change(table, key, old, new, entries))
    if is_refused:
        raise TransactionRefused(reasons)
    return changes
