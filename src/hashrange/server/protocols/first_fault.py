"""Does a request's body have a fault that precedes the one that its operation found?
The slow path reads the body again.

It also finds out whether the request was converted so that the older layer words its operation's
fault (`wire.fallback`).
"""

from hashrange.errors import (
    ApiError,
    Malformed,
    RequestFault,
    SerializationException,
    ValidationException,
    without_frames,
)
from hashrange.service.call import Call
from hashrange.wire.fallback import is_converted
from hashrange.wire.faults import decode_object, find_fault, read_slowly
from hashrange.wire.piecewise import free


def first_fault(call: Call, body: bytes, error: ApiError | Malformed) -> ApiError | None:
    """Implement `Call.first_fault` for a call whose request was decoded from the JSON `body`."""
    operation = call.operation
    if call.is_explained:
        # The slow path found no fault to word, so all that is known of a malformed request is that its types are wrong.
        if isinstance(error, Malformed):
            return SerializationException()
        return _older(error) if isinstance(error, RequestFault) and _was_converted(call, body) else error
    try:
        if isinstance(error, Malformed):
            call.request = read_slowly(operation.request, operation.wire.rules, body)
            call.is_explained = True
            return None
        was_converted = find_fault(operation.request, operation.wire.rules, body)
    except ApiError as fault:
        return without_frames(fault)
    return _older(error) if was_converted and isinstance(error, RequestFault) else error


def _was_converted(call: Call, body: bytes) -> bool:
    """True if the older layer checks a request because of what the slow path has converted."""
    rules = call.operation.wire.rules
    if not rules.falls_back:
        return False
    decoded = decode_object(body)
    was_converted = is_converted(rules, decoded, call.request)
    free(decoded)
    return was_converted


def _older(error: RequestFault) -> ValidationException:
    """The fault in the older layer's words, which no operation adds a prefix to."""
    return ValidationException(error.older_message)
