"""What do the steps of a transaction change, or why is it refused? All changes, or all refusals,
or too many bytes. Pure; used by every store.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hashrange.errors import ApiError, ValidationException, without_frames
from hashrange.items.row_layout import row_json_bytes, row_size_bytes
from hashrange.items.types import Row
from hashrange.limits import (
    REPLY_JSON_MAX_BYTES,
    TRANSACTION_COMMIT_MAX_BYTES,
    TRANSACTION_PLANNED_MAX_BYTES,
    TRANSACTION_SIZE_MAX_BYTES,
    WRITE_UNIT_BYTES,
)
from hashrange.messages.transactions import TRANSACTION_TOO_LARGE
from hashrange.store.interface import TransactionRefused, TransactionStep
from hashrange.tables.change import Change, Origin, Planned, entries_of, followed_item
from hashrange.tables.stream_records import images_bytes


class PlannedSteps(NamedTuple):
    """The steps of a transaction that no step refuses."""

    changes: list[Change]
    """One change for each step, in order."""
    commit_bytes: int
    """Bytes of all new rows, and of the images that streams need."""
    reasons: Sequence[ApiError | None] = ()
    """For each step, the reason to be told of it if others cancel the transaction, or None."""


def plan_steps(
    steps: Sequence[TransactionStep],
    rows: Iterable[Row | None],
    at_seconds: float = 0.0,
    position: int = 0,
    origin: Origin = "client",
) -> PlannedSteps:
    """The changes of all steps, index entries included. Raises TransactionRefused if a step refuses.

    `rows`: the old row of each step, taken one by one. Raises ValidationException if the items that refusals return
    exceed 4 MB, or 32 MB as JSON; or if no step refuses and all items together exceed 4 MB (written ones with their
    new size), or the bytes to commit 14 MB. Once the transaction has failed, the remaining steps are still planned,
    because a refusal goes before the size, but all changes are dropped: they may hold a hundred items of the largest
    size. That ends with the step with which the planned items exceed 8 MB: planning all would take seconds.
    """
    changes: list[Change] = []
    reasons: list[ApiError | None] = []
    told_bytes = told_json_bytes = size_bytes = commit_bytes = 0
    is_refused = is_too_large = False
    for (table, key, plan), old in zip(steps, rows, strict=True):
        try:
            planned = plan(old)
        except ApiError as refusal:
            reasons.append(without_frames(refusal))
            is_refused = True
            if old is not None and refusal.members:
                told_bytes += row_size_bytes(old)
                told_json_bytes += row_json_bytes(old)
                if told_bytes > TRANSACTION_SIZE_MAX_BYTES or told_json_bytes > REPLY_JSON_MAX_BYTES:
                    raise ValidationException(TRANSACTION_TOO_LARGE) from None
            continue
        if isinstance(planned, Planned):
            new, old_item, new_item, reason = planned.new, planned.old_item, planned.new_item, planned.reason
        else:
            new, old_item, new_item, reason = planned, None, None, None
        reasons.append(reason)
        assert key is not None, "a step without a key must refuse"
        weighed = old if new is None else new
        size_bytes += 0 if weighed is None else row_size_bytes(weighed)
        old_bytes, new_bytes = 0 if old is None else len(old), 0 if new is None else len(new)
        commit_bytes += new_bytes + (images_bytes(table, old, new) if True in table.log_images else 0)
        is_too_large = size_bytes > TRANSACTION_SIZE_MAX_BYTES or commit_bytes > TRANSACTION_COMMIT_MAX_BYTES
        if is_refused or is_too_large:
            if size_bytes > TRANSACTION_PLANNED_MAX_BYTES:
                raise ValidationException(TRANSACTION_TOO_LARGE)
            changes.clear()
            continue
        entries = entries_of(planned, table, key, old) if table.entry_sources else ()
        if old_bytes > WRITE_UNIT_BYTES or new_bytes > WRITE_UNIT_BYTES:  # shorter rows are not packed
            old_item, new_item = followed_item(table, old, old_item), followed_item(table, new, new_item)
        changes.append(Change(table, key, old, new, entries, origin, at_seconds, position, old_item, new_item))
        planned = None
    if is_refused or is_too_large:
        raise TransactionRefused(reasons) if is_refused else ValidationException(TRANSACTION_TOO_LARGE)
    return PlannedSteps(changes, commit_bytes, reasons)
