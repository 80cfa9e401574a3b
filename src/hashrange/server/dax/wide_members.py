"""How do the members of a long request become a struct and JSON? Piece by piece, giving way:
one call takes 20 ms and more for 60,000 attributes.

Members come from `arguments.py` and the methods: attribute maps in them hold nothing but attribute values, and
batches and transactions nothing that JSON has not got. So attribute maps with very many attributes are put into
the struct as they are, without a look at each.
"""

from collections.abc import Collection
from typing import Any, TypeVar

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import SerializationException
from hashrange.items.steps import spend, walk
from hashrange.operations.operation import JsonWire
from hashrange.server.dax.arguments import OperationMembers
from hashrange.server.protocols.values import request_of
from hashrange.wire.faults import read_slowly
from hashrange.wire.wide_maps import WIDE

T = TypeVar("T")

_Step = str | int
_WITH_MAPS = ("Item", "ExpressionAttributeValues", "ExpressionAttributeNames", "ExclusiveStartKey")
"""Members that may be wide."""
_WITH_ACTIONS = ("RequestItems", "TransactItems")
"""Members that hold items of several actions."""
_TOGETHER = 64
"""Values without members that are written by one call."""
_WRITE_STEPS = 2
"""Steps that writing a value counts as, beside the one for each member."""
_DECODED_BYTES_MAX = 16_000
"""Bytes of JSON that are decoded in one call; the slow path decodes more of them in pieces."""
_CONTAINERS = (dict, list)


def request_struct(members: OperationMembers, kind: type[T]) -> T:
    """Like `msgspec.convert(members, kind)`, without copying wide maps.
    Raises msgspec.ValidationError, RecursionError.
    """
    if not _may_be_wide(members):
        return msgspec.convert(members, kind)
    wide: list[tuple[tuple[_Step, ...], OperationMembers]] = []
    made: Any = msgspec.convert(_narrow(members, (), wide), kind)
    for path, value in wide:
        holder = made
        for step in path[:-1]:
            holder = getattr(holder, str(step)) if isinstance(holder, msgspec.Struct) else holder[step]
        if isinstance(holder, msgspec.Struct):
            msgspec.structs.force_setattr(holder, str(path[-1]), value)
        else:
            holder[path[-1]] = value
    found: T = made
    return found


def refused_request(members: OperationMembers, operation: Operation[JsonWire]) -> tuple[Any, bool]:
    """The request of members that `request_struct` refuses, and whether it was read leniently. Gives way.
    Raises their first fault as an ApiError.

    Batches and transactions are not written as JSON, which may be a hundred times as long as what the client sent.
    """
    if any(name in members for name in _WITH_ACTIONS):
        return read_slowly(operation.request, operation.wire.rules, b"", members), True
    body = request_json(members)
    if len(body) <= _DECODED_BYTES_MAX:
        return request_of(operation, body)
    return read_slowly(operation.request, operation.wire.rules, body), True


def _may_be_wide(members: OperationMembers) -> bool:
    for name in _WITH_MAPS:
        if len(members.get(name, ())) > WIDE:
            return True
    return any(name in members for name in _WITH_ACTIONS)


def _narrow(value: Any, path: tuple[_Step, ...], wide: list[tuple[tuple[_Step, ...], OperationMembers]]) -> Any:
    """The value without its wide maps, which are appended to `wide` with their paths."""
    if value.__class__ is dict:
        if len(value) > WIDE and path:
            wide.append((path, value))
            return {}
        if path and path[-1] in _WITH_MAPS:
            return value
        return {name: _narrow(one, (*path, name), wide) for name, one in value.items()}
    if value.__class__ is list and len(value) <= WIDE:
        return [_narrow(one, (*path, place), wide) for place, one in enumerate(walk(value))]
    return value


def request_json(members: OperationMembers) -> bytes:
    """Members as a JSON body. Gives way. Raises SerializationException for values that msgspec cannot write."""
    body = bytearray()
    try:
        _write(members, body)
    except (TypeError, ValueError, RecursionError):
        raise SerializationException from None
    return bytes(body)


def _write(value: Any, body: bytearray) -> None:
    """Append the JSON of a value."""
    if value.__class__ not in _CONTAINERS or (len(value) <= _TOGETHER and _is_flat(value)):
        spend(_WRITE_STEPS)
        body += msgspec.json.encode(value)
        return
    is_map = isinstance(value, dict)
    members: Collection[Any] = value.items() if isinstance(value, dict) else value
    before = b"{" if is_map else b"["
    for member in walk(members):
        body += before
        before = b","
        if is_map:
            body += msgspec.json.encode(member[0]) + b":"
        _write(member[1] if is_map else member, body)
    body += b"}" if is_map else b"]"


def _is_flat(value: Any) -> bool:
    members = value.values() if value.__class__ is dict else value
    return all(one.__class__ not in _CONTAINERS for one in members)
