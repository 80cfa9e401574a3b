"""How does a test run an operation without a server? It gets the reply as plain values;
the reply as JSON must say the same.
"""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.operations.meter import Meter, with_capacity
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Structure, plain_values
from hashrange.server.protocols.dynamodb_json.writing import reply_json


async def run_operation(scope: Scope, operation: Operation[JsonWire], request: msgspec.Struct | dict[str, Any]) -> Any:
    """The reply to one request, given as a struct or its members. Raises the operation's errors."""
    if isinstance(request, dict):
        request = msgspec.convert(request, operation.request)
    meter = Meter()
    reply = await operation.start(scope, request, meter)
    if reply is None:
        return {}
    whole = finished(reply, operation, request, meter)
    plain = plain_values(Structure(whole))
    assert msgspec.json.decode(reply_json(whole)) == plain, operation.name
    return plain


async def run_to_json(scope: Scope, operation: Operation[JsonWire], request: dict[str, Any]) -> bytes:
    """The reply to one request as the JSON protocol writes it. Raises the operation's errors."""
    meter = Meter()
    decoded: msgspec.Struct = msgspec.convert(request, operation.request)
    reply = await operation.start(scope, decoded, meter)
    return reply_json(finished(reply, operation, decoded, meter))


def finished(reply: Any, operation: Operation[JsonWire], request: Any, meter: Meter) -> Any:
    """The reply with the capacity if the request asks for it, as the service adds it."""
    detail = None if operation.capacity is None else request.ReturnConsumedCapacity
    if operation.capacity is None or detail is None:
        return reply
    return with_capacity(reply, operation.capacity, detail, meter)
