"""Which errors exist, and who hears each one.

    HashrangeError
    ├── ApiError              the client hears it; one class per code, the class name is the code
    │   ├── ValidationException
    │   │   ├── RequestFault  worded per operation: bare, enveloped or in the older wording
    │   │   └── WholeRequestFault   never the reason of one action of a transaction
    │   └── …
    ├── StorageError          the operator hears it; the client gets InternalServerError
    └── Malformed             nobody hears it: the slow path words the request's first fault

An `AssertionError` is our own bug. Sentences live in `hashrange.messages`; this file must not hold any.
Source of codes and envelopes: errors.md section 1 (the service's behaviour as captured to October 2026).
"""

from typing import ClassVar

CORAL_SERVICE = "com.amazon.coral.service"
CORAL_VALIDATE = "com.amazon.coral.validate"
DYNAMODB = "com.amazonaws.dynamodb.v20120810"


class HashrangeError(Exception):
    """The root of everything that Hashrange raises on purpose."""


class ApiError(HashrangeError):
    """A refusal that the client hears: `__type`, a message, and the error's own members.

    `members` are further members of the reply (`Item`, `CancellationReasons`), as those of any reply (`operations/reply.py`).
    """

    namespace: ClassVar[str] = DYNAMODB
    http_status: ClassVar[int] = 400
    message_member: ClassVar[str] = "message"

    def __init__(self, message: str | None = None, **members: object) -> None:
        super().__init__(message)
        self.message = message
        self.members = members

    @property
    def code(self) -> str:
        """The code as SDKs know it."""
        return type(self).__name__

    @property
    def wire_type(self) -> str:
        """The value of the reply's `__type`."""
        return f"{self.namespace}#{self.code}"


# --- the request as a whole (coral) -------------------------------------------------------------


class SerializationException(ApiError):
    """The body is not JSON, or a member has the wrong JSON type."""

    namespace = CORAL_SERVICE
    message_member = "Message"


class UnknownOperationException(ApiError):
    """The target names no operation of the API; carries no message."""

    namespace = CORAL_SERVICE


class UnsupportedOperationException(ApiError):
    """The operation is in the API and not yet in Hashrange; no SDK tries again."""

    namespace = CORAL_SERVICE


class AccessDeniedException(ApiError):
    """The caller may not do this."""

    namespace = CORAL_SERVICE
    message_member = "Message"


class MissingAuthenticationTokenException(ApiError):
    """The request carries no signature at all."""

    namespace = CORAL_SERVICE


class IncompleteSignatureException(ApiError):
    """The signature lacks parts or cannot be read."""

    namespace = CORAL_SERVICE


class InvalidSignatureException(ApiError):
    """The signature was read and is wrong."""

    namespace = CORAL_SERVICE


class UnrecognizedClientException(ApiError):
    """Access key or session token are unknown."""

    namespace = CORAL_SERVICE


class ExpiredTokenException(ApiError):
    """The session token has expired."""

    namespace = CORAL_SERVICE


class ValidationException(ApiError):
    """The request is well-formed JSON but not acceptable; the message stands as it is."""

    namespace = CORAL_VALIDATE


class WholeRequestFault(ValidationException):
    """Found where faults of one action of a transaction are found, and yet it refuses the transaction as no reason does."""

    @property
    def code(self) -> str:
        return "ValidationException"


class RequestFault(ValidationException):
    """A fault found by request validation, which each operation words in its own layer.

    `older` is the wording of the operations that still use the older layer (BatchWriteItem, Scan, …), where it differs;
    `is_always_bare` keeps the current wording out of every envelope. Source: errors.md section 3.
    """

    def __init__(self, message: str, older: str | None = None, *, is_always_bare: bool = False) -> None:
        super().__init__(message)
        self.older = older or message
        self.is_always_bare = is_always_bare

    @property
    def code(self) -> str:
        return "ValidationException"


class NumberFault(RequestFault):
    """A number that cannot be; stays as it is where other faults of a value are told as faults of a start key."""


class NestingFault(RequestFault):
    """A value that stands inside too many lists and maps: `levels` of them, counted no further than the current layer reads."""

    def __init__(self, message: str, levels: int) -> None:
        super().__init__(message)
        self.levels = levels


class RepeatFault(RequestFault):
    """A set that repeats a member; stays as it is inside a start key."""


class NumberSetFault(RequestFault):
    """A number set that is empty; the older layer leaves it as it is inside a start key."""


# --- modelled errors ----------------------------------------------------------------------------


class ResourceNotFoundException(ApiError):
    """The table, index or resource does not exist."""


class TableNotFoundException(ApiError):
    """The table does not exist, as backup operations say it."""


class PolicyNotFoundException(ApiError):
    """The resource has no policy, or not the revision that was expected."""


class ResourceInUseException(ApiError):
    """The table exists already, or is in a state that forbids the call."""


class ItemRefusal(ApiError):
    """A write was refused for what its item is, or because it is not there; it costs as much as a write of the item."""

    def __init__(self, message: str | None = None, *, size_bytes: int = 0, **members: object) -> None:
        super().__init__(message, **members)
        self.size_bytes = size_bytes
        """DynamoDB size of the item; 0: there is none."""


class ConditionalCheckFailedException(ItemRefusal):
    """The condition was false; `Item` holds the item's row when asked for."""


class DuplicateItemException(ItemRefusal):
    """An INSERT met an item with the same primary key."""


class ExpiredIteratorException(ApiError):
    """The shard iterator was given out too long ago."""


class TrimmedDataAccessException(ApiError):
    """The records from there on, or some of them, were too old and are gone."""


class LimitExceededException(ApiError):
    """A quota of the account or table is used up."""


class ItemCollectionSizeLimitExceededException(ApiError):
    """An item collection with local secondary indexes would exceed its limit."""


class TransactionCanceledException(ApiError):
    """A transaction was refused whole; `CancellationReasons` tells why, action by action."""

    message_member = "Message"


class TransactionConflictException(ApiError):
    """A single write met a transaction that is going on for its item; the client may try again."""


class ProvisionedThroughputExceededException(ApiError):
    """A table or index has no capacity left for the call; the client may try again."""


class ThrottlingException(ApiError):
    """The same for a table that is charged by request."""


class TransactionInProgressException(ApiError):
    """A transaction with the same token is going on; the client may try again."""

    message_member = "Message"


class IdempotentParameterMismatchException(ApiError):
    """The token belongs to a request of other content."""

    message_member = "Message"


class InternalServerError(ApiError):
    """Something failed on our side."""

    http_status = 500


THROTTLED = (ProvisionedThroughputExceededException, ThrottlingException)
"""Part of a batch that meets one of them is left over, unless all of it does."""


# --- the operator's errors ----------------------------------------------------------------------


class StorageError(HashrangeError):
    """The engine failed: the message is for the operator and says what to do."""


class StorageCorruption(StorageError):
    """Stored bytes are not what was written."""


class StorageFull(StorageError):
    """The disk has no room left."""


class StorageReadOnly(StorageError):
    """The data folder cannot be written."""


class StorageLocked(StorageError):
    """Another process has the data folder open."""


class StorageLost(StorageError):
    """The data folder is not the one that was opened, or holds less than was acknowledged."""


class StorageFormatUnknown(StorageError):
    """The folder was written by a newer version, or by something else."""


class StorageBusy(StorageError):
    """The engine is stalled for a moment; the same call may succeed later."""


class OutcomeUnknown(StorageError):
    """A write may have taken place or not, and the store could not find out within its time."""


class Malformed(HashrangeError):
    """The fast path met something that it does not word itself.

    Whoever raises it only says that the request has a fault; the slow path reads the body again,
    finds the first fault in the service's order and words it.
    """


def without_frames(error: ApiError) -> ApiError:
    """The error, for keeping: without what its traceback holds, such as the decoded items of the frames that it passed."""
    error.__context__ = None
    return error.with_traceback(None)
