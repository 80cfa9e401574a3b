"""Is what an endpoint has answered a reply to this operation? botocore takes most types as they come, so they are
compared with its model here, once for each reply; a member that is missing is told when it is read.

The same is done for all commands that use boto3, so that no reply ends in a traceback, and no page leads to itself.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Never

from hashrange.terminal import escape_controls
from hashrange.toolkit.failures import ToolkitFailure

UNREADABLE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What botocore raises for replies that it cannot parse, beside its own errors."""
REASON_CHARACTERS_MAX = 200
NEXT_PAGES = {
    "ContinuationToken": ("NextContinuationToken",),
    "ExclusiveStartKey": ("LastEvaluatedKey",),
    "ExclusiveStartShardId": ("StreamDescription", "LastEvaluatedShardId"),
    "ExclusiveStartTableName": ("LastEvaluatedTableName",),
    "NextToken": ("NextToken",),
}
"""Member of a request by which a page begins → where its reply says how the next page begins."""
SAME_PAGE = "the pages have no end, because this one leads to itself"
LONGS = range(-(2**63), 2**63)
is_number = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?").fullmatch
"""Matches the text of a number of DynamoDB's, whatever its size."""


class ReplyPlace(NamedTuple):
    """Whose reply is read."""

    place: str
    """Region and endpoint, or service and endpoint."""
    service: str
    """As AWS calls it, such as `DynamoDB`."""
    operation: str

    def refuse(self, fault: str) -> Never:
        """Raise ToolkitFailure."""
        raise ToolkitFailure(
            f"the reply of {self.place} to {self.operation} is none of {self.service}'s: {fault}. Name another server"
            " with --endpoint."
        )


class ReplyMembers(dict[str, Any]):
    """An object of a reply. Reading a member that it lacks raises ToolkitFailure."""

    def __init__(self, source: ReplyPlace, members: Mapping[str, Any]) -> None:
        super().__init__(members)
        self._source = source

    def __missing__(self, name: str) -> Never:
        self._source.refuse(f"it lacks {escape_controls(name)}")


def unreadable_reason(error: Exception) -> str:
    """Why botocore cannot read a reply, in one line."""
    text = escape_controls(" ".join(str(error).split()).rstrip("."))[:REASON_CHARACTERS_MAX]
    return f"it cannot be read ({type(error).__name__}: {text})"


def checked_reply(client: Any, method: str, members: Mapping[str, Any], reply: Any, place: str) -> ReplyMembers:
    """A reply that a client of boto3 has returned for a request with these members. Raises ToolkitFailure."""
    model, operation = client.meta.service_model, client.meta.method_to_api_mapping[method]
    source = ReplyPlace(place, str(model.service_id), operation)
    shape = model.operation_model(operation).output_shape
    checked = ReplyMembers(source, reply) if shape is None else _checked(source, shape, reply, "it")
    if isinstance(reply, dict) and "ResponseMetadata" in reply:
        checked["ResponseMetadata"] = reply["ResponseMetadata"]
    if leads_to_itself(members, checked):
        source.refuse(SAME_PAGE)
    found: ReplyMembers = checked
    return found


def leads_to_itself(members: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
    """True if a reply says that the next page begins where the page of the request began."""
    for name, path in NEXT_PAGES.items():
        found: Any = reply
        for one in path:
            found = found.get(one) if isinstance(found, Mapping) else None
        if name in members and found is not None and found == members[name]:
            return True
    return False


def _checked(source: ReplyPlace, shape: Any, value: Any, place: str) -> Any:
    """A value with objects whose missing members are told. Raises ToolkitFailure for a value of another type."""
    match shape.type_name:
        case "structure" if isinstance(value, dict):
            known = {
                name: _checked(source, shape.members[name], one, name)
                for name, one in value.items()
                if name in shape.members
            }
            _require_sound(source, shape.name, known, place)
            return ReplyMembers(source, known)
        case "map" if isinstance(value, dict):
            return ReplyMembers(source, {key: _checked(source, shape.value, one, place) for key, one in value.items()})
        case "list" if isinstance(value, list):
            return [_checked(source, shape.member, one, place) for one in value]
        case "string" if isinstance(value, str) or "jsonvalue" in shape.serialization:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" | "long" if is_whole_number(value):
            return int(value)
        case "float" | "double" if is_finite(value):
            return value
        case "blob" | "timestamp":
            return value  # botocore has made them, or failed
    return source.refuse(f"{place} is no {shape.type_name}")


def is_finite(value: Any) -> bool:
    """True for a number, except those that are none, or beyond a double's."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_whole_number(value: Any) -> bool:
    """True for a whole number of 64 bits."""
    return is_finite(value) and value == value // 1 and int(value) in LONGS


def _require_sound(source: ReplyPlace, kind: str, members: dict[str, Any], place: str) -> None:
    """Raise ToolkitFailure for an attribute value, or a table's keys, that contradict themselves."""
    if kind == "AttributeValue":
        numbers = [*([members["N"]] if "N" in members else ()), *members.get("NS", ())]
        if len(members) != 1 or not all(map(is_number, numbers)):
            source.refuse(f"{place} is no attribute value")
    if kind == "TableDescription" and "KeySchema" in members and "AttributeDefinitions" in members:
        types = {one["AttributeName"]: one["AttributeType"] for one in members["AttributeDefinitions"]}
        indexes = [*members.get("GlobalSecondaryIndexes", ()), *members.get("LocalSecondaryIndexes", ())]
        keys = [members["KeySchema"], *(one["KeySchema"] for one in indexes if "KeySchema" in one)]
        for schema in keys:
            is_typed = all(types.get(one["AttributeName"]) in {"S", "N", "B"} for one in schema)
            if not is_typed or "HASH" not in {one["KeyType"] for one in schema}:
                source.refuse("KeySchema is no key of the attributes that AttributeDefinitions has")
