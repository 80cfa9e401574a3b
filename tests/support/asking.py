"""Operations asked without a server: what they reply, as plain values."""

from collections.abc import Coroutine
from typing import Any

import msgspec

from hashrange.operations.meter import Meter, with_capacity
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Structure, plain_values


async def run_operation(scope: Scope, operation: Operation, request: msgspec.Struct | dict[str, Any]) -> Any:
    """The reply of one request, a struct or its members. Raises what the operation raises."""
    if isinstance(request, dict):
        request = msgspec.convert(request, operation.request)
    meter = Meter()
    reply = await start(scope, operation, request, meter)
    if isinstance(reply, bytes):
        return msgspec.json.decode(reply or b"{}")
    if reply is None:
        return {}
    return plain_values(Structure(with_capacity(reply, operation.capacity, request, meter)))


def start(scope: Scope, operation: Operation, request: msgspec.Struct, meter: Meter) -> Coroutine[Any, Any, Any]:
    """The operation's coroutine, as the service makes it."""
    if operation.capacity is None:
        return operation.run(scope, request)
    return operation.run(scope, request, meter)
