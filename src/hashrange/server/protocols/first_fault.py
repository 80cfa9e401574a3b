"""Which fault of a request's own form comes before what its operation has found? The body is read again, slowly."""

from hashrange.errors import ApiError, Malformed, SerializationException
from hashrange.service.call import Call
from hashrange.wire.faults import decode_object, explain_object, find_fault


def first_fault(call: Call, body: bytes, error: ApiError | Malformed) -> ApiError | None:
    """As `Call.first_fault`, of a call whose request is this JSON."""
    if call.is_explained:
        # Nothing was found that can be worded, so all that is known of what is malformed is that its types are wrong.
        return SerializationException() if isinstance(error, Malformed) else error
    operation = call.operation
    try:
        if isinstance(error, Malformed):
            call.request = explain_object(operation.request, operation.rules, decode_object(body))
            call.is_explained = True
            return None
        find_fault(operation.request, operation.rules, body)
    except ApiError as fault:
        return fault
    return error
