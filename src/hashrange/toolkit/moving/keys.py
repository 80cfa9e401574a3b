"""What is an item's key? The values of the table's key attributes; two items with one key are one item."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import HashrangeError

RecordKey = tuple[str, ...]
KINDS = {"S": "string", "N": "number", "B": "binary value"}
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder(dict[str, str]).decode


class BadRecord(HashrangeError):
    """A record cannot be loaded. Its text says why, beginning with a small letter."""


class TableKeyAttribute(NamedTuple):
    """A key attribute of a table."""

    name: str
    kind: str
    """S, N or B."""


def key_attributes(table: Mapping[str, Any]) -> list[TableKeyAttribute]:
    """The key attributes of a table, the partition key first. `table`: as DescribeTable tells it."""
    kinds = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    return [TableKeyAttribute(one["AttributeName"], kinds[one["AttributeName"]]) for one in table["KeySchema"]]


def record_key(item: bytes, attributes: Sequence[TableKeyAttribute]) -> RecordKey:
    """The key of an item in DynamoDB JSON. Raises BadRecord."""
    try:
        members = _decode_members(item)
    except msgspec.DecodeError as error:
        raise BadRecord(f"it is no item: {error}") from None
    return tuple([_key_value(members.get(name), name, kind) for name, kind in attributes])


def _key_value(value: msgspec.Raw | None, name: str, kind: str) -> str:
    if value is None:
        raise BadRecord(f"it has no attribute {name}, which the table's key needs.")
    try:
        text = _decode_value(value)[kind]
        return text if kind != "N" else str(Decimal(text).normalize())
    except (msgspec.DecodeError, KeyError, InvalidOperation):
        raise BadRecord(f"its attribute {name} is no {KINDS[kind]}, which the table's key needs.") from None
