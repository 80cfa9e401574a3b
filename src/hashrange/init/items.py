"""Which item does a line of a file, or a member of what a scan has printed, hold?
Three forms, told apart by the table's partition key, whose value is text, a number or bytes.

    {"Item": {"id": {"S": "ada"}, "born": {"N": "1815"}}}     a line of an export to S3
    {"id": {"S": "ada"}, "born": {"N": "1815"}}               DynamoDB JSON
    {"id": "ada", "born": 1815}                               plain JSON

No key is a map, so the second form is that in which the partition key's value is an object. The first has the single
member `Item`, an object that has the partition key. Numbers of plain JSON keep all their digits. Sets and binary values
have no plain form.
"""

import json
from typing import Any, NoReturn

import msgspec

from hashrange.init.requests import UnusableInput
from hashrange.written.values import place_of_json_fault

EXPORTED = "Item"
NESTED_TOO_DEEPLY = "it is nested too deeply."


class _Scanned(msgspec.Struct):
    """The member of a reply that holds its items."""

    Items: list[msgspec.Raw]


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
    """The items of a reply to Scan or Query, as the AWS CLI prints it; None for anything else."""
    try:
        found = msgspec.json.decode(body, type=_Scanned)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return [bytes(item) for item in found.Items]


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except UnicodeDecodeError:
        raise UnusableInput("it is not UTF-8; save the file as UTF-8.") from None
    except msgspec.ValidationError:
        raise UnusableInput("it is no JSON object, which an item is.") from None
    except msgspec.DecodeError:
        raise UnusableInput(f"it is no JSON{place_of_json_fault(text)}. Each line holds one whole item.") from None
    except RecursionError:
        raise UnusableInput(NESTED_TOO_DEEPLY) from None


def _from_plain(line: bytes) -> bytes:
    try:
        plain = _decoder.decode(line.decode())
        return msgspec.json.encode({name: _value(value) for name, value in plain.items()})
    except RecursionError:
        raise UnusableInput(NESTED_TOO_DEEPLY) from None
    except json.JSONDecodeError as error:
        raise UnusableInput(f"it is no JSON at line {error.lineno}, column {error.colno}.") from None
    except ValueError as error:  # ours, of a constant
        raise UnusableInput(f"it is no JSON: {error}.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_refuse_constant)


def _value(plain: Any) -> dict[str, Any]:
    """A plain value as an attribute value in wire form."""
    match plain:
        case _Number():
            return {"N": str(plain)}
        case str():
            return {"S": plain}
        case bool():
            return {"BOOL": plain}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [_value(one) for one in plain]}
        case _:
            return {"M": {name: _value(one) for name, one in plain.items()}}
