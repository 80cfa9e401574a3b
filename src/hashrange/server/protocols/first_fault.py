"""Does a request's body have a fault that precedes the one that its operation found? The slow path reads the body again."""

from hashrange.errors import ApiError, Malformed, SerializationException
from hashrange.service.call import Call
from hashrange.wire.faults import decode_object, find_fault, read_leniently


def first_fault(call: Call, body: bytes, error: ApiError | Malformed) -> ApiError | None:
    """Implement `Call.first_fault` for a call whose request was decoded from the JSON `body`."""
    if call.is_explained:
        # The slow path found no fault to word, so all that is known of a malformed request is that its types are wrong.
        return SerializationException() if isinstance(error, Malformed) else error
    operation = call.operation
    try:
        if isinstance(error, Malformed):
            call.request = read_leniently(operation.request, operation.rules, decode_object(body))
            call.is_explained = True
            return None
        find_fault(operation.request, operation.rules, body)
    except ApiError as fault:
        return fault
    return error
