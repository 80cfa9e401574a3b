"""What does the slow path make of a body?"""

from typing import TypeVar

import msgspec

from hashrange.wire.faults import decode_object, explain_object

Request = TypeVar("Request", bound=msgspec.Struct)


def explain(request_type: type[Request], operation_name: str, body: bytes) -> Request:
    """The request, or its first fault is raised."""
    return explain_object(request_type, operation_name, decode_object(body))
