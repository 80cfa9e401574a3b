"""How do archived items come back? Each object of an archive (archive/objects.py) is compared with the item
that its table has at this key now, and the item is put if that is wanted.

S3 and DynamoDB are called by boto3, which is loaded with the first client. All functions block; several threads may
use an `ArchiveStore` and a `TargetTable`.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from http.client import HTTPException
from typing import Any, Literal, NamedTuple

from hashrange.archive.objects import (
    CONTENT_BYTES_MAX,
    ArchivedItem,
    ObjectDamaged,
    key_segment,
    object_key,
    read_archived,
    segment_prefix,
)
from hashrange.cli.remote import moment_of
from hashrange.cli.reply_shapes import misfit
from hashrange.clock import SystemClock
from hashrange.errors import HashrangeError
from hashrange.toolkit.replies import UNREADABLE_ERRORS, checked_reply, unreadable_reason

READS_MAX = 3
"""Times that an object is read whose connection breaks off."""

SdkItem = dict[str, Any]
"""An item as boto3's clients take and return it: DynamoDB's JSON with bytes for binary values."""
ArchivedState = Literal["new", "identical", "different", "written", "replaced", "unusable"]
"""What is so of an archived item: no item has its key; it is there; another item is there; and what was done."""


PUT = ("new", "written", "replaced")
"""States of items that are put now, or would be."""


class Aws(NamedTuple):
    """A client of boto3, and how it is told of."""

    client: Any
    name: str
    """`S3 at http://localhost:8000`."""

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply to an operation. Raises AwsRefusal if it is refused, AwsFailure if nobody answers."""
        reply = guarded(self.name, lambda: getattr(self.client, operation)(**members))
        return guarded(self.name, lambda: checked_reply(self.client, operation, members, reply, self.name))


class AwsFailure(HashrangeError):
    """A service does not answer, or has refused something (AwsRefusal), as the message says."""


class AwsRefusal(AwsFailure):
    """A service has refused a request; holds the error's code."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def guarded(name: str, work: Callable[[], Any]) -> Any:
    """What `work` returns. Raises AwsRefusal and AwsFailure for errors of the library. `name`: that of the service."""
    # Imported here: loaded with boto3, which may be missing.
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return work()
    except ClientError as error:
        code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
        raise AwsRefusal(code, f"{name} refused {error.operation_name}: {code}: {message}") from error
    except UNREADABLE_ERRORS as error:
        raise AwsFailure(f"the reply of {name} is none of AWS's: {unreadable_reason(error)}.") from error
    except (BotoCoreError, HTTPException, OSError) as error:
        raise AwsFailure(f"{name} cannot be used: {' '.join(str(error).split())}") from error


# --- S3 ---------------------------------------------------------------------------------------------


class ArchiveObject(NamedTuple):
    """An object that the list of a bucket tells."""

    key: str
    size_bytes: int


class ArchiveStore(NamedTuple):
    """The archive in a bucket."""

    s3: Aws
    bucket: str
    prefix: str

    def objects(self, item_type: str | None, key_prefix: str) -> Iterator[list[ArchiveObject]]:
        """The objects of a type, or of all, whose partition keys begin with `key_prefix`, some hundred at a time.
        If `key_prefix` is very long, others are among them. Raises AwsFailure.
        """
        begins = [self.prefix]
        if item_type is not None:
            begins = [f"{self.prefix}{key_segment({'S': item_type})}/"]
        elif key_prefix:
            begins = [
                each["Prefix"] for page in self._lists(self.prefix, "/") for each in page.get("CommonPrefixes", ())
            ]
        for begin in begins:
            for page in self._lists(begin + segment_prefix(key_prefix), ""):
                found = (ArchiveObject(each["Key"], each["Size"]) for each in page.get("Contents", ()))
                yield [each for each in found if not each.key.endswith("/")]  # consoles make folders of such objects

    def _lists(self, prefix: str, delimiter: str) -> Iterator[Any]:
        members: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        if delimiter:
            members["Delimiter"] = delimiter
        while True:
            page = self.s3.ask("list_objects_v2", **members)
            yield page
            if not page.get("IsTruncated"):
                return
            members["ContinuationToken"] = page["NextContinuationToken"]

    def read(self, one: ArchiveObject) -> bytes:
        """The content of an object. Raises ObjectDamaged if it cannot be had, AwsFailure."""
        if one.size_bytes > CONTENT_BYTES_MAX:
            raise ObjectDamaged("it is too long for an archived item")
        for tries_left in reversed(range(READS_MAX)):
            try:
                with closing(self.s3.ask("get_object", Bucket=self.bucket, Key=one.key)["Body"]) as body:
                    content: bytes = guarded(self.s3.name, lambda body=body: body.read(CONTENT_BYTES_MAX + 1))  # type: ignore[misc]
                    return content
            except AwsRefusal as refusal:
                if refusal.code == "InvalidObjectState":
                    raise ObjectDamaged(
                        "its storage class has to be restored from first, by `aws s3api restore-object`"
                    ) from refusal
                raise ObjectDamaged(str(refusal)) from refusal
            except AwsFailure:
                if not tries_left:
                    raise
        raise AssertionError


# --- the table --------------------------------------------------------------------------------------


class TimeToLiveChoice(NamedTuple):
    """What becomes of the attribute by which the table's items expire."""

    attribute: str | None
    """None: items stay as they were archived."""
    expires_at_seconds: int | None = None
    """The attribute's new value; None: it is removed."""

    def apply(self, item: SdkItem) -> SdkItem:
        """The item as it is put."""
        if self.attribute is None or self.attribute not in item:
            return item
        kept = {name: value for name, value in item.items() if name != self.attribute}
        if self.expires_at_seconds is None:
            return kept
        return {**kept, self.attribute: {"N": str(self.expires_at_seconds)}}


class TargetTable:
    """The table into which items come back."""

    def __init__(self, dynamodb: Aws, name: str, service_time_seconds: float | None = None) -> None:
        """Asks for the table. `service_time_seconds`: None, if the server has not told it. Raises AwsFailure."""
        self._dynamodb = dynamodb
        reply = dynamodb.ask("describe_table", TableName=name)
        self.name: str = reply["Table"]["TableName"]
        replied_at_seconds = moment_of(reply["ResponseMetadata"]["HTTPHeaders"].get("date"))
        self.now_seconds = service_time_seconds or replied_at_seconds or SystemClock.wall_time()
        types = {each["AttributeName"]: each["AttributeType"] for each in reply["Table"]["AttributeDefinitions"]}
        schema = sorted(reply["Table"]["KeySchema"], key=lambda element: element["KeyType"] != "HASH")
        self.key_types = {element["AttributeName"]: types[element["AttributeName"]] for element in schema}
        """Name of each key attribute → its type, partition key first."""
        described = dynamodb.ask("describe_time_to_live", TableName=name)["TimeToLiveDescription"]
        is_on = described["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}
        self.time_to_live_attribute: str | None = described["AttributeName"] if is_on else None

    def key_of(self, item: SdkItem) -> SdkItem:
        """The key of an item."""
        return {name: item[name] for name in self.key_types}

    def is_expired(self, item: SdkItem) -> bool:
        """True if time to live would delete the item at once."""
        value = item.get(self.time_to_live_attribute or "", {})
        return "N" in value and Decimal(value["N"]) <= Decimal(self.now_seconds)

    def find(self, key: SdkItem) -> SdkItem | None:
        """The item that has this key now. Raises AwsFailure."""
        reply = self._dynamodb.ask("get_item", TableName=self.name, Key=key, ConsistentRead=True)
        found: SdkItem | None = reply.get("Item")
        return found

    def put(self, item: SdkItem, *, is_replacing: bool) -> bool:
        """Put an item; False if there is one and it is not to be replaced. Raises AwsFailure."""
        members: dict[str, Any] = {"TableName": self.name, "Item": item}
        if not is_replacing:
            members |= {
                "ConditionExpression": "attribute_not_exists(#key)",
                "ExpressionAttributeNames": {"#key": next(iter(self.key_types))},
            }
        try:
            self._dynamodb.ask("put_item", **members)
        except AwsRefusal as refusal:
            if refusal.code == "ConditionalCheckFailedException":
                return False
            raise
        return True


# --- one object -------------------------------------------------------------------------------------


class Selection(NamedTuple):
    """What is to be brought back, and how."""

    origin_table: str
    """Name of the table that the items were deleted from."""
    key_prefix: str
    choice: TimeToLiveChoice
    is_writing: bool
    is_replacing: bool


class Result(NamedTuple):
    """What was found of an object, or done."""

    key: str
    state: ArchivedState
    told: str
    """When the item was deleted; of an unusable object, what is wrong with it."""
    expires_again: bool = False
    """True if time to live would delete the item at once."""


def bring_back(archive: ArchiveStore, table: TargetTable, selection: Selection, one: ArchiveObject) -> Result | None:
    """Compare an object's item with the table, and put it if that is selected; None if its partition key is not.
    Raises AwsFailure.
    """
    try:
        archived, archived_item = usable_item(archive, table, selection, one)
    except ObjectDamaged as damage:
        return Result(one.key, "unusable", str(damage))
    if not partition_key_text(table, archived_item).startswith(selection.key_prefix):
        return None
    item = selection.choice.apply(archived_item)
    try:
        state = compare_and_put(table, selection, item)
    except AwsRefusal as refusal:
        if refusal.code not in {"ValidationException", "ItemCollectionSizeLimitExceededException"}:
            raise
        return Result(one.key, "unusable", str(refusal).removesuffix("."))
    return Result(one.key, state, archived.deleted_at, state in PUT and table.is_expired(item))


def usable_item(
    archive: ArchiveStore, table: TargetTable, selection: Selection, one: ArchiveObject
) -> tuple[ArchivedItem, SdkItem]:
    """What an object says, and its item. Raises ObjectDamaged if the table cannot have the item, AwsFailure."""
    archived = read_archived(archive.read(one))
    if archived.table != selection.origin_table:
        raise ObjectDamaged(f"its item is of the table {archived.table}")
    wrong = misfit({"Item": archived.item}, "GetItem")
    if wrong is not None:
        raise ObjectDamaged(f"its item is none: {wrong}")
    for name, kind in table.key_types.items():
        if kind not in archived.item.get(name, {}):
            raise ObjectDamaged(f"its item has no key attribute {name} of the type {kind}")
    try:
        values = [archived.item[name] for name in table.key_types]
        json.dumps(archived.item, ensure_ascii=False).encode()
        place = object_key(archive.prefix, archived.item_type, values)
        item = {name: sdk_value(value) for name, value in archived.item.items()}
    except ValueError:
        raise ObjectDamaged("its item holds what is neither Unicode nor Base64") from None
    if place != one.key:
        raise ObjectDamaged(f"its item belongs at {place}")
    return archived, item


def compare_and_put(table: TargetTable, selection: Selection, item: SdkItem) -> ArchivedState:
    """What the table has at an item's key, and what was done. Raises AwsFailure."""
    key = table.key_of(item)
    found = table.find(key)
    if found is None:
        if not selection.is_writing:
            return "new"
        if table.put(item, is_replacing=False):
            return "written"
        found = table.find(key) or {}
    when = table.time_to_live_attribute  # an item that expires at another time is the same item
    if comparable(found, when) == comparable(item, when):
        return "identical"
    if selection.is_writing and selection.is_replacing:
        table.put(item, is_replacing=True)
        return "replaced"
    return "different"


def partition_key_text(table: TargetTable, item: SdkItem) -> str:
    """The partition key of an item as text; empty for a binary one, of which no prefix can be given."""
    name, kind = next(iter(table.key_types.items()))
    return "" if kind == "B" else str(item[name][kind])


def sdk_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value of DynamoDB's JSON as boto3's clients take it. Raises ValueError for what is no Base64."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: b64decode(content, validate=True)}
        case "BS":
            return {kind: [b64decode(one, validate=True) for one in content]}
        case "L":
            return {kind: [sdk_value(one) for one in content]}
        case "M":
            return {kind: {name: sdk_value(one) for name, one in content.items()}}
    return {kind: content}


def comparable(item: SdkItem, left_out: str | None) -> Any:
    """What is equal for equal items, however their sets are ordered and their numbers are written.
    `left_out`: an attribute that does not count.
    """
    return {name: _comparable_value(value) for name, value in item.items() if name != left_out}


def _comparable_value(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return kind, Decimal(content)
        case "NS":
            return kind, frozenset(map(Decimal, content))
        case "SS" | "BS":
            return kind, frozenset(content)
        case "L":
            return kind, [_comparable_value(one) for one in content]
        case "M":
            return kind, {name: _comparable_value(one) for name, one in content.items()}
    return kind, content
