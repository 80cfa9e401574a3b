"""What does the slow path make of a body?"""

from typing import TypeVar

import msgspec

from hashrange.operations.registry import ANSWERED
from hashrange.wire.faults import decode_object, explain_object
from hashrange.wire.rules import NO_RULES

Request = TypeVar("Request", bound=msgspec.Struct)


def explain(request_type: type[Request], operation_name: str, body: bytes) -> Request:
    """The request by the rules of that operation, if there is one, or its first fault is raised."""
    rules = ANSWERED[operation_name].rules if operation_name in ANSWERED else NO_RULES
    return explain_object(request_type, rules, decode_object(body))
