"""How are the records of a bulk put read? Lines as of an import, that may have a condition beside the item:

    {"Item":{…},"ConditionExpression":"…","ExpressionAttributeNames":{…},"ExpressionAttributeValues":{…}}

The members of the condition are those of PutItem (unconfirmed). A reader gives PutItemRequests instead of items.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from hashrange.items.steps import spend_decoding
from hashrange.operations.items.write_item import PutItemRequest
from hashrange.transfers.formats.ion_text import IonLineReader, plain_members
from hashrange.transfers.formats.json_lines import NO_ITEM, values_of_line
from hashrange.transfers.formats.lines import FaultyLine, LineReader, ReadItem

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
    return PutItemRequest(
        TableName="",
        Item=members.Item,
        ConditionExpression=members.ConditionExpression,
        ExpressionAttributeNames=members.ExpressionAttributeNames,
        ExpressionAttributeValues=members.ExpressionAttributeValues,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def _record_of(value: Any) -> ReadItem:
    """A record as the only member of an item that `request_in` takes out again."""
    if not isinstance(value, dict) or not isinstance(value.get("Item"), dict):
        return FaultyLine(NO_ITEM)
    try:
        return {"": put_request(msgspec.convert(value, RecordLine))}
    except (msgspec.ValidationError, RecursionError):
        return FaultyLine(NOT_A_RECORD)


def request_in(read: dict[str, Any]) -> PutItemRequest:
    """The request of a record that was read."""
    request: PutItemRequest = read[""]
    return request


class JsonRecordReader:
    """Reads records of DynamoDB JSON."""

    wants_first = False

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`."""
        spend_decoding(len(line))
        try:
            return ({"": put_request(_decode(line))},)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._several(line)

    def _several(self, line: bytes) -> Iterator[ReadItem]:
        return map(_record_of, values_of_line(line))


class IonRecordReader:
    """Reads records of Ion text."""

    wants_first = False

    def __init__(self) -> None:
        self._values = IonLineReader().values

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`."""
        found: list[ReadItem] = []
        for value in self._values(line):
            members = plain_members(value)
            found.append(members if isinstance(members, FaultyLine) else _record_of(members))
        return found


def record_reader(input_format: str) -> Callable[[], LineReader]:
    """Returns the function that makes the reader of one object."""
    return JsonRecordReader if input_format == "DYNAMODB_JSON" else IonRecordReader
