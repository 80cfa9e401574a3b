"""Are the requested stream and encryption of a table valid? Checks without the table;
unimplemented members are refused too.

Source: service behaviour, captures to October 2026; `messages.tables` marks our own wording.
"""

from hashrange.errors import ValidationException
from hashrange.messages import tables as say
from hashrange.operations.tables.members import SSESpecification, StreamSpecification
from hashrange.operations.tables.requests import CreateTableRequest, UpdateTableRequest

_REPLICATION_OFF = "DISABLED"
"""GlobalTableSettingsReplicationMode of a table without replicas."""


def check_stream(stream: StreamSpecification | None, off_with_view: str, on_without_view: str) -> None:
    """Require a view type if StreamEnabled is true, refuse one if it is false; the texts are the messages."""
    if stream is None:
        return
    if not stream.StreamEnabled and stream.StreamViewType is not None:
        raise ValidationException(off_with_view)
    if stream.StreamEnabled and stream.StreamViewType is None:
        raise ValidationException(on_without_view)


def check_encryption(encryption: SSESpecification | None) -> None:
    """Refuse SSEType AES256, a type or key if Enabled is false, and a key without a type."""
    if encryption is None:
        return
    if encryption.SSEType == "AES256":
        raise ValidationException(say.SSE_AES256)
    if encryption.Enabled is not False:
        if encryption.KMSMasterKeyId is not None and encryption.SSEType is None:
            raise ValidationException(say.SSE_KEY_WITHOUT_TYPE)
        return
    for member, value in (("SSEType", encryption.SSEType), ("KMSMasterKeyId", encryption.KMSMasterKeyId)):
        if value is not None:
            raise ValidationException(say.SSE_DISABLED_WITH.format(member=member))


def refuse_unimplemented_members(request: CreateTableRequest | UpdateTableRequest, *names: str) -> None:
    """Raise ValidationException for the first of these members that is not null, false or DISABLED."""
    for name in names:
        value = getattr(request, name)
        if value is not None and value is not False and value != _REPLICATION_OFF:
            raise ValidationException(say.NOT_SUPPORTED_YET.format(member=name))
