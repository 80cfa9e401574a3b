"""Which errors do packages share, and who receives each?
ApiError the client, StorageError the operator, Malformed the slow path.

    HashrangeError
    ├── ApiError              sent to the client; the class name is the code, except below ValidationException.
    │   │                     Errors of other services (ServiceError, LambdaError) have a code each.
    │   ├── CoralError        in the namespace of the layer that all operations share
    │   │   └── SerializationException   StrictTypeFault is one with its message in another member
    │   ├── ValidationException
    │   │   ├── RequestFault  worded per operation, in one of two layers' words, with or without a prefix
    │   │   ├── WholeRequestFault   refuses a whole transaction, instead of being one action's cancellation reason
    │   │   ├── IndexNotFound looked up once more where other servers change tables
    │   │   └── KeyFault      a batch of statements reports it with the table's name
    │   └── …
    ├── StorageError          for the operator; the client gets InternalServerError
    ├── RecordsChanged        internal: the operation, or the job's slice, runs again, up to RECORDS_TRIES_MAX times
    ├── Abandoned             internal: the client has left
    └── Malformed             internal: the slow path words the request's first fault

An `AssertionError` is a bug of Hashrange. Messages live in `hashrange.messages`; this file must not hold any.
Source of codes and `__type`: errors.md section 1 (the service's behaviour as captured to October 2026).
"""

from typing import ClassVar, TypeVar

AnyError = TypeVar("AnyError", bound=BaseException)


class HashrangeError(Exception):
    """The base class of errors that Hashrange raises on purpose, except some that one package raises and catches."""


class ApiError(HashrangeError):
    """An error reply to the client: `__type`, a message, and further members.

    `members` (`Item`, `CancellationReasons`) have the types of any reply's members (`operations/reply.py`).
    """

    namespace: ClassVar[str] = "com.amazonaws.dynamodb.v20120810"
    code: str
    """The error code that SDKs see."""
    http_status: int = 400
    message_member: ClassVar[str] = "message"
    retry_after_ms: int | None = None
    """Milliseconds after which the client is asked to retry; None: it is not asked."""

    def __init__(self, message: str | None = None, **members: object) -> None:
        super().__init__(message)
        self.message = message
        self.members = members

    def __init_subclass__(cls) -> None:
        cls.code = cls.__name__

    @property
    def wire_type(self) -> str:
        """The value of the reply's `__type`."""
        return f"{self.namespace}#{self.code}"


# --- the request as a whole (coral) -------------------------------------------------------------


class CoralError(ApiError):
    """An error in the namespace of the layer that all of the service's operations share."""

    namespace = "com.amazon.coral.service"


class SerializationException(CoralError):
    """The body is no JSON object, does not match its Content-Encoding or is invalid `aws-chunked`,
    or a member does not fit its declared JSON type.
    """

    message_member = "Message"

    def __init_subclass__(cls) -> None:
        """Subclasses have the code of this class."""


class StrictTypeFault(SerializationException):
    """A member of another JSON type than declared, in a request that `wire/strict_json.py` reads."""

    message_member = "message"


class MalformedHttpRequestException(ApiError):
    """Lambda's API cannot undo the content codings of the body."""


class RequestEntityTooLargeException(CoralError):
    """The body has more than 16 MB, as it was sent or without its content codings."""

    http_status = 413


class UnknownOperationException(CoralError):
    """X-Amz-Target is missing or names no operation of the API; the reply has no message."""


class UnsupportedOperationException(CoralError):
    """Hashrange does not support the operation, or this use of it, yet; SDKs do not retry this code."""


class AccessDeniedException(CoralError):
    """The caller may not do this: an ARN is incomplete or of another account, or a policy would lock the caller out."""

    message_member = "Message"


class MissingAuthenticationTokenException(CoralError):
    """The request carries no SigV4 signature at all."""


class IncompleteSignatureException(CoralError):
    """The signature lacks a part such as `Credential`, or a part is malformed or not supported."""


class InvalidSignatureException(CoralError):
    """The signature, or that of an `aws-chunked` chunk, does not match; or it has expired or is not valid yet, is for
    another Region, service, day or terminator, or does not sign the host; or header and query both have one.
    """


class UnrecognizedClientException(CoralError):
    """The access key is unknown, or the session token is not that of the key."""


class ExpiredTokenException(CoralError):
    """The access key, with its session token if it has one, has expired."""


class ValidationException(ApiError):
    """The request is well-formed JSON but not acceptable; unlike a RequestFault, it has one message for both layers."""

    namespace = "com.amazon.coral.validate"

    def __init_subclass__(cls) -> None:
        """Subclasses have the code of this class."""


class WholeRequestFault(ValidationException):
    """A fault of one action; in a transaction, it refuses the whole request instead of being a cancellation reason."""


class KeyFault(ValidationException):
    """A key that is too long, or an update of a key attribute;
    BatchExecuteStatement reports it with the table's name.
    """


class IndexNotFound(ValidationException):
    """A read of an index that the table does not have."""


class RequestFault(ValidationException):
    """A fault found by request validation; its wording depends on the validation layer that checks the request.

    `message`: the current layer's wording. `older`: the older layer's wording (for BatchWriteItem, Scan, …), if it
    differs. `is_always_bare`: `message` never gets the envelope, which is the prefix
    "1 validation error detected: ". Source: errors.md section 3.
    """

    def __init__(self, message: str, older: str | None = None, *, is_always_bare: bool = False) -> None:
        super().__init__(message)
        self.older_message = older or message
        self.is_always_bare = is_always_bare


class NumberFault(RequestFault):
    """A number that is malformed, too precise or out of range.

    In an ExclusiveStartKey, its message lacks the prefix START_KEY_VALUE that most other faults get.
    """


class NestingFault(RequestFault):
    """A value inside too many lists and maps. `levels`: how many are around the deepest value found; above
    NESTING_LEVELS_READ_MAX, only a lower bound.
    """

    def __init__(self, message: str, levels: int) -> None:
        super().__init__(message)
        self.levels = levels


class SetRepeatFault(RequestFault):
    """A set that repeats a member; in an ExclusiveStartKey, its message lacks the prefix START_KEY_VALUE."""


class NumberSetFault(RequestFault):
    """An empty number set; in an ExclusiveStartKey, the older layer's message lacks the prefix START_KEY_VALUE."""


# --- modelled errors ----------------------------------------------------------------------------


class ResourceNotFoundException(ApiError):
    """The table, index or other resource does not exist or, for some operations, is being created or deleted."""


class TableNotFoundException(ApiError):
    """The table does not exist; backup operations use this code instead of ResourceNotFoundException."""


class TableAlreadyExistsException(ApiError):
    """A table is to be restored under the name of one that exists."""


class TableInUseException(ApiError):
    """A table of this name is being restored already, or the table is in a state that forbids the call."""


class BackupNotFoundException(ApiError):
    """There is no such backup."""


class BackupInUseException(ApiError):
    """The backup is being made, or a table is being restored from it."""


class ContinuousBackupsUnavailableException(ApiError):
    """The table is so new that backups are not enabled yet; the client may retry."""


class PointInTimeRecoveryUnavailableException(ApiError):
    """Point-in-time recovery of the table is off."""


class InvalidRestoreTimeException(ApiError):
    """The table cannot be restored to this time."""


class InvalidExportTimeException(ApiError):
    """The table cannot be exported as of this time, or between these times."""


class ExportConflictException(ApiError):
    """The client token belongs to an export that was requested otherwise."""


class ExportNotFoundException(ApiError):
    """There is no such export."""


class ImportConflictException(ApiError):
    """The client token belongs to the import of another table."""


class ImportNotFoundException(ApiError):
    """There is no such import."""


class PolicyNotFoundException(ApiError):
    """The resource's policy is not what the request expects: it is missing, present, or of another revision."""


class ResourceInUseException(ApiError):
    """The table exists already; or it, an index or a policy is in a state that forbids the call."""


class ItemRefusal(ApiError):
    """A write refused because of the existing item or its absence; it consumes as much as a write of that item."""

    def __init__(self, message: str | None = None, *, size_bytes: int = 0, **members: object) -> None:
        super().__init__(message, **members)
        self.size_bytes = size_bytes
        """DynamoDB size of the existing item; 0 if there is none."""


class ConditionalCheckFailedException(ItemRefusal):
    """The condition was false; `Item` holds the existing item's row if the request wants it."""


class DuplicateItemException(ItemRefusal):
    """An INSERT found an item with the same primary key."""


class ExpiredIteratorException(ApiError):
    """The shard iterator was issued too long ago."""


class TrimmedDataAccessException(ApiError):
    """The requested position of a stream is too old: its records can no longer be read."""


class LimitExceededException(ApiError):
    """A quota of the account or table is exhausted, or a table's indexes would change more than one at a time."""


class ItemCollectionSizeLimitExceededException(ApiError):
    """An item collection with local secondary indexes would exceed its limit."""


class TransactionCanceledException(ApiError):
    """A transaction was refused as a whole; `CancellationReasons` has the reason of each action."""

    message_member = "Message"


class TransactionConflictException(ApiError):
    """A call conflicts with a transaction in progress on its item, or a transaction with a write; clients may retry."""


class ProvisionedThroughputExceededException(ApiError):
    """A provisioned table or index has no capacity left for the call; the client may retry."""


class ThrottlingException(ApiError):
    """An on-demand table has no capacity left, or a BatchExecuteStatement reply is full; the client may retry."""


class TransactionInProgressException(ApiError):
    """A transaction with the same idempotency token is in progress; the client may retry."""

    message_member = "Message"


class IdempotentParameterMismatchException(ApiError):
    """The idempotency token belongs to a request with other content."""

    message_member = "Message"


class InternalServerError(ApiError):
    """Hashrange or its storage failed."""

    http_status = 500


class RequestLimitExceeded(ApiError):
    """The account has no capacity left in the Region for the call; the client may retry."""


class LeftUnprocessed(ApiError):
    """Internal: an element of a batch is to be returned as unprocessed. Never raised for other requests."""


THROTTLED = (ProvisionedThroughputExceededException, ThrottlingException, RequestLimitExceeded)
"""Errors for exhausted capacity, which the embedded store never raises. BatchWriteItem returns the refused writes as
unprocessed, or raises the error if it wrote nothing."""


# --- the operator's errors ----------------------------------------------------------------------


class StorageError(HashrangeError):
    """The storage engine failed, or the data folder cannot be used. The message is for the operator."""


class StorageCorruption(StorageError):
    """Stored bytes differ from what was written."""


class StorageFull(StorageError):
    """The disk is full."""


class StorageReadOnly(StorageError):
    """The data folder is not writable or, for tools that only read it, not readable."""


class StorageLocked(StorageError):
    """Another process has the data folder open."""


class StorageLost(StorageError):
    """The data folder is no longer the one that was opened, or lacks acknowledged commits."""


class StorageFormatUnknown(StorageError):
    """The data folder, or a row of it, was written by a newer version of Hashrange or by another program."""


class StorageBusy(StorageError):
    """The storage engine is stalled temporarily; the same call may succeed later."""


class OutcomeUnknown(StorageError):
    """A write may or may not have taken place, and the store could not find out which."""


class Abandoned(HashrangeError):
    """A read, or the decoding of a request, was ended while it let other calls run, because its client has left.

    No client receives this error.
    """


class RecordsChanged(HashrangeError):
    """Another writer has changed what a write follows from (`store/records.py`): nothing was written.

    No client receives this error. After RECORDS_TRIES_MAX of it, what runs again fails as after any error.
    """


RECORDS_TRIES_MAX = 100
"""How often something is tried that others overtake. Of those that change the same record, one succeeds each time, and
fewer requests than this are in work at a time (`server/front.py`).
"""


class Malformed(HashrangeError):
    """The request has, or may have, a fault that the fast path does not word itself.

    The slow path then reads the body again and words the first fault in the service's order; if it finds none, the
    operation runs again.
    """


def without_frames(error: AnyError) -> AnyError:
    """Remove an error's traceback and context; returns the same error. For one that a variable keeps: the frames of
    the traceback, and through them the error itself, would form a cycle with all that they hold, such as the request.
    """
    error.__context__ = None
    return error.with_traceback(None)
