"""Which error of S3 is a fault, for requests to the server's own S3 and for what its transfers ask of S3?"""

from collections.abc import Iterable, Mapping

from hashrange.faults.fault import Fault, S3Code
from hashrange.messages import s3 as say
from hashrange.s3.objects import S3Failure

ASKED_BY_TRANSFERS = frozenset({"GetObject", "ListObjectsV2", "PutObject"})
"""The operations of S3 that transfers use. An object that is sent in parts is one PutObject."""
_FAILURES: Mapping[S3Code, tuple[str, int]] = {
    "AccessDenied": (say.ACCESS_DENIED, 403),
    "InternalError": (say.INTERNAL_ERROR, 500),
    "NoSuchBucket": (say.NO_SUCH_BUCKET, 404),
    "ServiceUnavailable": (say.SERVICE_UNAVAILABLE, 503),
}
_TRIED_AGAIN = frozenset({"InternalError", "ServiceUnavailable", "SlowDown"})


class FinalFailure(S3Failure):
    """A failure that a client does not try again, whatever its code is."""


def failure_of_faults(met: Iterable[Fault]) -> S3Failure | None:
    """The error of a request that has met these faults; None if it gets another reply."""
    by_kind = {fault.kind: fault for fault in met}
    if "throttle" in by_kind:
        return S3Failure("SlowDown", say.SLOW_DOWN, 503)
    if "no-room" in by_kind:
        return FinalFailure("InternalError", say.FOLDER_FULL.format(reason=say.NO_ROOM), 500)
    if "error" in by_kind:
        code = by_kind["error"].code or "InternalError"
        message, status = _FAILURES[code]
        return S3Failure(code, message, status)
    return None


def is_tried_again(failure: S3Failure) -> bool:
    """True for a failure after which a client of S3 sends the request again."""
    return failure.code in _TRIED_AGAIN and not isinstance(failure, FinalFailure)
