"""How does UpdateTable change a table's encryption? To another key or to none;
naming the same key in another form counts as a change.

Four changes are allowed within 24 hours from the first of them, and then one in six hours.
Requests beyond that are refused before their key is looked at. Source: service behaviour, captures to October 2026.
"""

from datetime import UTC, datetime
from typing import Any

from hashrange import limits
from hashrange.errors import LimitExceededException, ValidationException
from hashrange.messages import tables as say
from hashrange.operations.tables.created_table import encryption
from hashrange.operations.tables.members import SSESpecification
from hashrange.tables.change_quotas import next_encryption_at_seconds, recent_encryption_changes
from hashrange.tables.schema import Table


def encryption_changes(
    given: SSESpecification, table: Table, now_seconds: float, until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field that changes. `until_seconds`: until then, the encryption is UPDATING.

    Raises LimitExceededException after too many changes, and ValidationException for what the table already has.
    """
    recent = recent_encryption_changes(table, now_seconds)
    next_at_seconds = next_encryption_at_seconds(recent, now_seconds)
    if next_at_seconds > now_seconds:
        raise LimitExceededException(
            say.TOO_MANY_ENCRYPTION_CHANGES.format(
                end=_time(recent[0] + limits.ENCRYPTION_WINDOW_SECONDS),
                limit=limits.ENCRYPTION_CHANGES_AT_ONCE_MAX,
                seconds=limits.ENCRYPTION_CHANGE_SECONDS,
                count=len(recent),
                last=_time(recent[-1]),
                next=_time(next_at_seconds),
            )
        )
    sse_type, key_arn = encryption(given, table.account, table.region)
    if sse_type is None and table.sse_type is None:
        raise ValidationException(say.ALREADY_DEFAULT_ENCRYPTED)
    if given.KMSMasterKeyId is not None and given.KMSMasterKeyId == table.kms_key_arn:
        raise ValidationException(say.ALREADY_ENCRYPTED)
    return {
        "sse_type": sse_type,
        "kms_key_arn": key_arn,
        "encryption_updating_until_seconds": until_seconds,
        "encryption_changes_seconds": (*recent, now_seconds),
    }


def _time(at_seconds: float) -> str:
    """A time as the service writes it: `2026-10-09T23:13:00.402Z`."""
    return datetime.fromtimestamp(at_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
