"""What does the slow path find in a body?"""

from typing import TypeVar

import msgspec

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.wire.faults import read_slowly
from hashrange.wire.rules import NO_RULES

Request = TypeVar("Request", bound=msgspec.Struct)


def explain(request_type: type[Request], operation_name: str, body: bytes) -> Request:
    """Return the request by the operation's rules if it is valid, else raise its first fault."""
    rules = ALL_OPERATIONS[operation_name].wire.rules if operation_name in ALL_OPERATIONS else NO_RULES
    return read_slowly(request_type, rules, body)
