"""Which requests and items does a file of the init folder hold?
The forms in which the AWS CLI takes and prints requests → operation and body; three forms of items → DynamoDB JSON.

A request is

- CreateTable, as `aws dynamodb create-table --cli-input-json` takes it
- what `aws dynamodb describe-table` prints, without what cannot be asked for
- UpdateTimeToLive and PutItem, as their `--cli-input-json` take them
- BatchWriteItem, as `--cli-input-json` or `--request-items` take it

or a list of these. The items that a scan prints are no requests. A member that the operation does not have
is refused, because a misspelled one would have no effect.
"""

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.items.steps import spend, spend_decoding, walk
from hashrange.operations.operation import JsonWire
from hashrange.wire.piecewise import decode_in_pieces, members_of_list
from hashrange.written.names import did_you_mean
from hashrange.written.values import place_of_json_fault

BATCH = "BatchWriteItem"
FORMS = (
    "It must be a request of CreateTable, UpdateTimeToLive, PutItem or BatchWriteItem, or what `aws dynamodb"
    " describe-table` prints, or a list of these. Items belong into a .jsonl file, one in each line."
)
CHARACTERISTIC = {
    "RequestItems": BATCH,
    "TimeToLiveSpecification": "UpdateTimeToLive",
    "Item": "PutItem",
    "KeySchema": "CreateTable",
    "AttributeDefinitions": "CreateTable",
}
"""Member → the operation whose request it belongs to."""
DESCRIBING = ("Table", "TableDescription")
"""Members of replies that hold a table's description."""
_TABLE_STATUS = "TableStatus"

REQUEST_STEPS = 50
"""Steps of finding out which request it is that a file holds."""

T = TypeVar("T")
_begins_with_write = re.compile(
    rb'\[\s*\{\s*"(?:PutRequest"\s*:\s*\{\s*"Item|DeleteRequest"\s*:\s*\{\s*"Key)"\s*:\s*\{'
).match
"""Matches a list of writes. No item begins so: `Item` and `Key` are no types of values."""


class UnusableInput(Exception):
    """A file, or a line of it, holds no request or item; the message says why in one sentence."""


class InitRequest(NamedTuple):
    """One request of a file."""

    place: str
    """Place in the file, such as `request 2: `; empty if it is the only one."""
    operation: str
    body: bytes
    """The request's members as JSON."""
    items: int
    """Number of items that the request puts or deletes."""


class _Batch(msgspec.Struct):
    """The members of BatchWriteItem that are counted."""

    RequestItems: dict[str, list[msgspec.Raw]]


def is_batch(body: bytes) -> bool:
    """True for writes as `--request-items` takes them: each member is a table,
    which may be called like any member of a request.
    """
    spend_decoding(len(body))
    try:
        tables = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    texts = [bytes(writes) for writes in tables.values()]
    return all(text.startswith(b"[") for text in texts) and any(map(_begins_with_write, texts))


def requests_in(text: bytes, known: Mapping[str, Operation[JsonWire]]) -> list[InitRequest]:
    """The requests of a file, in order; gives way. Raises UnusableInput. `known`: name → operation."""
    if not text.strip():
        raise UnusableInput(f"it is empty. {FORMS}")
    if not text.lstrip().startswith(b"["):
        return [_request_in("", text, known)]
    try:
        bodies = members_of_list(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        bodies = list(map(bytes, _decoded(text, list[msgspec.Raw])))  # which says what is wrong
    return [_request_in(f"request {number}: ", body, known) for number, body in enumerate(bodies, 1)]


def _request_in(place: str, body: bytes, known: Mapping[str, Operation[JsonWire]]) -> InitRequest:
    spend(REQUEST_STEPS)
    try:
        name, body = _recognised(body)
        _refuse_unknown_members(name, body, known[name].request)
    except UnusableInput as error:
        raise UnusableInput(f"{place}{error}") from None
    return InitRequest(place, name, body, _items_in(name, body))


def _items_in(name: str, body: bytes) -> int:
    if name == BATCH:
        with contextlib.suppress(msgspec.MsgspecError):  # the operation says what is wrong
            return sum(map(len, msgspec.json.decode(body, type=_Batch).RequestItems.values()))
    return int(name == "PutItem")


def _recognised(body: bytes) -> tuple[str, bytes]:
    """Name of the operation and body of its request."""
    members = _decoded(body, dict[str, msgspec.Raw])
    if is_batch(body):
        return BATCH, b'{"RequestItems":%b}' % body
    for member in DESCRIBING:
        if member in members and bytes(members[member]).startswith(b"{"):
            return "CreateTable", creation_of(bytes(members[member]))
    if _TABLE_STATUS in members:
        return "CreateTable", creation_of(body)
    for member, name in CHARACTERISTIC.items():
        if member in members:
            return name, body
    if members and all(bytes(value).startswith(b"[") for value in members.values()):
        return BATCH, b'{"RequestItems":%b}' % body
    raise UnusableInput(f"it holds no request that can be applied. {FORMS}")


def _refuse_unknown_members(name: str, body: bytes, request: type) -> None:
    known = {field.name for field in msgspec.structs.fields(request)}
    unknown = sorted(_decoded(body, dict[str, msgspec.Raw]).keys() - known)
    if unknown:
        near = did_you_mean(unknown[0][:255], known)
        meant = f".{near}" if near else f"; it has {', '.join(sorted(known))}."
        raise UnusableInput(f"{name} has no member {unknown[0][:255]}{meant}")


def _decoded(body: bytes, kind: type[T]) -> T:
    spend_decoding(len(body))
    try:
        return msgspec.json.decode(body, type=kind)
    except UnicodeDecodeError:
        raise UnusableInput("it is not UTF-8; save it as UTF-8.") from None
    except msgspec.ValidationError:
        raise UnusableInput(f"it holds no JSON object. {FORMS}") from None
    except RecursionError:
        raise UnusableInput("it is nested too deeply.") from None
    except msgspec.DecodeError:
        hint = " If each of its lines is an item, name it .jsonl." if _has_lines(body) else ""
        raise UnusableInput(f"it is no JSON{place_of_json_fault(body)}.{hint}") from None


def _has_lines(body: bytes) -> bool:
    """True if the first of several lines is a JSON object by itself."""
    first, _, rest = body.lstrip().partition(b"\n")
    try:
        msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return False
    return bool(rest.strip())


# --- the request that makes a described table -----------------------------------------------------

COPIED = (
    "AttributeDefinitions",
    "TableName",
    "KeySchema",
    "OnDemandThroughput",
    "DeletionProtectionEnabled",
)
INDEX_COPIED = (
    "IndexName",
    "KeySchema",
    "Projection",
    "OnDemandThroughput",
    "VectorAttribute",
    "SearchSchema",
    "Dimensions",
    "DistanceFunction",
)
INDEX_KINDS = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes")
ON_DEMAND = "PAY_PER_REQUEST"


def creation_of(description: bytes) -> bytes:
    """The body of a CreateTable request, from a JSON object with the members of a TableDescription,
    which is well-formed JSON.

    Left out are states, times, counts, ARNs, replicas, encryption with keys of the account, and warm throughput.
    """
    table: dict[str, Any] = msgspec.json.decode(description)
    request = _copied(table, COPIED)
    billing = _member(table, "BillingModeSummary", "BillingMode") or "PROVISIONED"
    request["BillingMode"] = billing
    is_on_demand = billing == ON_DEMAND
    if not is_on_demand:
        request |= _units(table)
    for kind in INDEX_KINDS:
        indexes = table.get(kind)
        if isinstance(indexes, list) and indexes:
            has_units = kind == "GlobalSecondaryIndexes" and not is_on_demand
            request[kind] = [_index(index, has_units=has_units) for index in indexes]
    stream = table.get("StreamSpecification")
    if isinstance(stream, dict) and stream.get("StreamEnabled"):
        request["StreamSpecification"] = stream
    if table_class := _member(table, "TableClassSummary", "TableClass"):
        request["TableClass"] = table_class
    return msgspec.json.encode(request)


def _index(index: Any, *, has_units: bool) -> Any:
    if not isinstance(index, dict):
        return index  # CreateTable says what is wrong with it
    return _copied(index, INDEX_COPIED) | (_units(index) if has_units else {})


def _units(subject: dict[str, Any]) -> dict[str, Any]:
    throughput = subject.get("ProvisionedThroughput")
    if not isinstance(throughput, dict):
        return {}
    return {"ProvisionedThroughput": _copied(throughput, ("ReadCapacityUnits", "WriteCapacityUnits"))}


def _copied(members: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: members[name] for name in names if members.get(name) is not None}


def _member(members: dict[str, Any], outer: str, inner: str) -> Any:
    found = members.get(outer)
    return found.get(inner) if isinstance(found, dict) else None


# --- items ----------------------------------------------------------------------------------------

# A line of a file, or a member of what a scan has printed, holds an item in one of three forms. The table's partition
# key, whose value is text, a number or bytes, tells them apart.
#
#     {"Item": {"id": {"S": "ada"}, "born": {"N": "1815"}}}     a line of an export to S3
#     {"id": {"S": "ada"}, "born": {"N": "1815"}}               DynamoDB JSON
#     {"id": "ada", "born": 1815}                               plain JSON
#
# No key is a map, so the second form is that in which the partition key's value is an object. The first has the single
# member `Item`, an object that has the partition key. Numbers of plain JSON keep all their digits. Sets and binary
# values have no plain form.

EXPORTED = "Item"


class _Scanned(msgspec.Struct):
    """The member of a reply that holds its items."""

    Items: msgspec.Raw


class _Number(str):
    """Digits of a number in plain JSON."""

    __slots__ = ()


def item_json(line: bytes, partition_name: str) -> bytes:
    """The item in DynamoDB JSON, perhaps with faults that PutItem finds. Raises UnusableInput."""
    members = _members(line)
    if len(members) == 1 and EXPORTED in members and bytes(members[EXPORTED]).startswith(b"{"):
        inner = bytes(members[EXPORTED])
        inner_members = _members(inner)
        if partition_name in inner_members:
            line, members = inner, inner_members
    value = members.get(partition_name)
    if value is None:
        raise UnusableInput(f"the item has no attribute {partition_name}, the partition key of its table.")
    if bytes(value).startswith(b"{"):
        return line
    return _from_plain(line)


def scanned_items(body: bytes) -> list[bytes] | None:
    """The items of a reply to Scan or Query, as the AWS CLI prints it; None for anything else. Gives way."""
    spend_decoding(len(body))
    try:
        found = bytes(msgspec.json.decode(body, type=_Scanned).Items)
        return members_of_list(found) if found.startswith(b"[") else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    spend_decoding(len(text))
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except UnicodeDecodeError:
        raise UnusableInput("it is not UTF-8; save the file as UTF-8.") from None
    except msgspec.ValidationError:
        raise UnusableInput("it is no JSON object, which an item is.") from None
    except msgspec.DecodeError:
        raise UnusableInput(f"it is no JSON{place_of_json_fault(text)}. Each line holds one whole item.") from None
    except RecursionError:
        raise UnusableInput("it is nested too deeply.") from None


def _from_plain(line: bytes) -> bytes:
    try:
        plain = decode_in_pieces(line, _decode_plain)
        return b"{%b}" % b",".join(_members_json(plain))
    except RecursionError:
        raise UnusableInput("it is nested too deeply.") from None
    except json.JSONDecodeError:
        raise UnusableInput(f"it is no JSON{place_of_json_fault(line)}.") from None
    except ValueError as error:  # ours, of a constant
        raise UnusableInput(f"it is no JSON: {error}.") from None


def _decode_plain(text: bytes) -> Any:
    return _decoder.decode(text.decode())


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_refuse_constant)


def _value_json(plain: Any) -> bytes:
    """A plain value as an attribute value in wire form; gives way."""
    match plain:
        case _Number():
            return b'{"N":%b}' % msgspec.json.encode(str(plain))
        case str():
            return b'{"S":%b}' % msgspec.json.encode(plain)
        case bool():
            return b'{"BOOL":%b}' % msgspec.json.encode(plain)
        case None:
            return b'{"NULL":true}'
        case list():
            return b'{"L":[%b]}' % b",".join([_value_json(one) for one in walk(plain)])
        case _:
            return b'{"M":{%b}}' % b",".join(_members_json(plain))


def _members_json(plain: dict[str, Any]) -> list[bytes]:
    return [b"%b:%b" % (msgspec.json.encode(name), _value_json(one)) for name, one in walk(plain.items())]
