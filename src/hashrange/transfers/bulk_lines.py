"""How are the records of a bulk put read? Lines as of an import, that may have a condition beside the item:

    {"Item":{…},"ConditionExpression":"…","ExpressionAttributeNames":{…},"ExpressionAttributeValues":{…}}

The members of the condition are those of PutItem (unconfirmed). A reader gives PutItemRequests instead of items.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from hashrange.operations.items.write_item import PutItemRequest
from hashrange.transfers.formats.ion_reading import IonLineReader, plain_members
from hashrange.transfers.formats.json_lines import NO_ITEM, JsonLineReader
from hashrange.transfers.formats.lines import FaultyLine, LineReader, ReadItem
from hashrange.wire.wide_maps import convert_in_pieces

NOT_A_RECORD = "its condition has members of another type"


class RecordLine(msgspec.Struct):
    """A line of one record."""

    Item: dict[str, dict[str, Any]]
    ConditionExpression: str | None = None
    ExpressionAttributeNames: dict[str, str] | None = None
    ExpressionAttributeValues: dict[str, dict[str, Any]] | None = None


_decode = msgspec.json.Decoder(RecordLine).decode


def put_request(members: RecordLine) -> PutItemRequest:
    """The PutItem of a record; its table is told later."""
    given = msgspec.structs.asdict(members)
    return PutItemRequest(TableName="", ReturnValuesOnConditionCheckFailure="ALL_OLD", **given)


def _record_of(value: Any) -> ReadItem:
    """A record as the only member of an item that `request_in` takes out again."""
    if not isinstance(value, dict) or not isinstance(value.get("Item"), dict):
        return FaultyLine(NO_ITEM)
    try:
        return {"": put_request(convert_in_pieces(value, RecordLine))}
    except (msgspec.ValidationError, RecursionError):
        return FaultyLine(NOT_A_RECORD)


def _decode_record(line: bytes) -> ReadItem:
    return {"": put_request(_decode(line))}


def _record_of_ion(value: Any) -> ReadItem:
    members = plain_members(value)
    return members if isinstance(members, FaultyLine) else _record_of(members)


def request_in(read: dict[str, Any]) -> PutItemRequest:
    """The request of a record that was read."""
    request: PutItemRequest = read[""]
    return request


def record_reader(input_format: str) -> Callable[[], LineReader]:
    """Returns the function that makes the reader of one object."""
    if input_format == "DYNAMODB_JSON":
        return partial(JsonLineReader, _decode_record, _record_of)
    return partial(IonLineReader, _record_of_ion)
