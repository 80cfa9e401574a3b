"""How is one request of the init folder carried out? As one that came over the API:
by the same operation, with the same checks and errors.
"""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import Malformed, SerializationException, StorageBusy, ValidationException
from hashrange.operations.operation import JsonWire, Scope
from hashrange.wire.faults import decode_object, find_fault, read_leniently

ATTEMPTS_MAX = 6
"""How often a write is tried, at most, while the store's engine cannot keep up. Each attempt itself waits some 10 s."""


async def carry_out(scope: Scope, operation: Operation[JsonWire], body: bytes) -> None:
    """Run the operation on a request whose members are the JSON `body`; returns once it has taken place.

    Raises the ApiError that a client would get, and StorageError. A request of BatchWriteItem whose items could not all
    be written is sent again, as a client would, and so is any that meets a busy store.
    """
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            reply = await _reply_to(scope, operation, body)
        except StorageBusy:
            if attempt == ATTEMPTS_MAX:
                raise
        else:
            if not reply.get("UnprocessedItems"):
                return
    raise StorageBusy(f"{operation.name} could not write all its items, because the store was busy for too long.")


async def _reply_to(scope: Scope, operation: Operation[JsonWire], body: bytes) -> Any:
    """The reply to a request. Of several faults, the one that the service finds first is raised."""
    try:
        request: Any = msgspec.json.decode(body, type=operation.request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return await _reply_to_lenient(scope, operation, body)
    try:
        return await operation.start(scope, request, [])
    except Malformed:
        return await _reply_to_lenient(scope, operation, body)
    except ValidationException:
        find_fault(operation.request, operation.wire.rules, body)
        raise


async def _reply_to_lenient(scope: Scope, operation: Operation[JsonWire], body: bytes) -> Any:
    """The reply to a request that the fast decoder does not take, or whose insides are malformed."""
    request: Any = read_leniently(operation.request, operation.wire.rules, decode_object(body))
    try:
        return await operation.start(scope, request, [])
    except Malformed:
        raise SerializationException from None
