"""A handler for Lambda: items that time to live has deleted from a table go from its stream to S3 (docs/archive.md).

It runs as a function of Hashrange, `code = "hashrange.archive.trigger:handler"`, and in AWS Lambda, and needs boto3.
Variables of the function:

    ARCHIVE_BUCKET             the bucket; required
    ARCHIVE_PREFIX             begins all keys; `archive/`
    ARCHIVE_TYPE_ATTRIBUTE     the attribute whose value is the type; `Type`
    ARCHIVE_STORAGE_CLASS      S3's storage class; by default the bucket's
    ARCHIVE_REMOVALS           `expired` items only, which is the default, or `all` that are deleted
    ARCHIVE_PROFILE            profile of AWS's files with whose credentials S3 is called; the function's by default

Deliveries are at least once, so each object is written conditionally: a record that has been archived is passed over,
and so is one that is older than what is there. What failed is reported, and Lambda delivers it again.
"""

import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from hashrange.archive.objects import (
    PREFIX_BY_DEFAULT,
    Version,
    encode_archived,
    moment_of_record,
    named_table,
    object_key,
    prefix_fault,
    version_of_metadata,
)

TIME_TO_LIVE = "dynamodb.amazonaws.com"
TRIES_MAX = 5
"""Attempts at an object that others write or delete meanwhile."""
RESERVE_MS = 1_000
"""If less time is left until the time-out, the remaining records are reported as failed and come again."""

log = logging.getLogger("hashrange.archive")
log.setLevel(logging.INFO)


class ArchiveSettings(NamedTuple):
    """The variables of the function."""

    bucket: str
    prefix: str
    type_attribute: str
    storage_class: str
    is_for_all: bool
    """True if items that requests have deleted are archived too."""
    profile: str | None


class ArchiveFailure(Exception):
    """Records cannot be archived; the message says why."""


def read_variables(variables: Mapping[str, str]) -> ArchiveSettings:
    """The settings in environment variables. Raises ArchiveFailure."""
    bucket = variables.get("ARCHIVE_BUCKET", "")
    if not bucket:
        raise ArchiveFailure("the variable ARCHIVE_BUCKET is not set; it must name a bucket.")
    prefix = variables.get("ARCHIVE_PREFIX") or PREFIX_BY_DEFAULT
    fault = prefix_fault(prefix)
    if fault is not None:
        raise ArchiveFailure(f'the variable ARCHIVE_PREFIX is "{prefix}"; it {fault}.')
    removals = variables.get("ARCHIVE_REMOVALS") or "expired"
    if removals not in {"expired", "all"}:
        raise ArchiveFailure(f'the variable ARCHIVE_REMOVALS is "{removals}"; it must be "expired" or "all".')
    return ArchiveSettings(
        bucket,
        prefix,
        variables.get("ARCHIVE_TYPE_ATTRIBUTE") or "Type",
        variables.get("ARCHIVE_STORAGE_CLASS", ""),
        removals == "all",
        variables.get("ARCHIVE_PROFILE") or None,
    )


settings = read_variables(os.environ)  # when the module is loaded: then Lambda reports at once what is wrong


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Archive the deleted items of a batch; returns the records that failed. Raises ArchiveFailure."""
    records = [record for record in event["Records"] if is_archived(record, is_for_all=settings.is_for_all)]
    failed: list[str] = []
    for place, record in enumerate(records):
        number = record["dynamodb"]["SequenceNumber"]
        if place and context.get_remaining_time_in_millis() < RESERVE_MS:
            log.warning("no time is left for %d of %d records; they come again", len(records) - place, len(records))
            failed += [one["dynamodb"]["SequenceNumber"] for one in records[place:]]
            break
        try:
            archive_record(record)
        except (ClientError, RecordFailure) as error:
            log.error("the record %s is not archived: %s", number, error)  # noqa: TRY400 - one line
            failed.append(number)
        except BotoCoreError as error:  # S3 does not answer: it would not answer for the others either
            log.error("the record %s and those after it are not archived: %s", number, error)  # noqa: TRY400 - one line
            failed += [one["dynamodb"]["SequenceNumber"] for one in records[place:]]
            break
    if records:
        log.info("archived %d of %d deleted items in the bucket %s", len(records) - len(failed), len(records),
                 settings.bucket)  # fmt: skip
    if failed and not hears_of_failures(records[0]["eventSourceARN"], context.invoked_function_arn):
        raise ArchiveFailure(f"{len(failed)} of {len(records)} deleted items are not archived; the log says why.")
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}


def is_archived(record: Mapping[str, Any], *, is_for_all: bool) -> bool:
    """True for a record of an item that time to live has deleted, or if `is_for_all` of any deleted item."""
    identity = record.get("userIdentity") or {}
    is_expired = identity.get("type") == "Service" and identity.get("principalId") == TIME_TO_LIVE
    return record["eventName"] == "REMOVE" and (is_for_all or is_expired)


class RecordFailure(Exception):
    """One record cannot be archived; the message says why."""


def archive_record(record: Mapping[str, Any]) -> None:
    """Write the object of a deleted item, unless it or a later one is there.
    Raises ArchiveFailure, RecordFailure, ClientError, BotoCoreError.
    """
    change, stream = record["dynamodb"], record["eventSourceARN"]
    if "OldImage" not in change:
        raise ArchiveFailure(
            f"the stream of the table {named_table(stream)} has the view type {change.get('StreamViewType')}, without"
            " the items that are deleted. It must be OLD_IMAGE or NEW_AND_OLD_IMAGES."
        )
    item, keys = change["OldImage"], change["Keys"]
    names = key_names(stream, tuple(keys))
    if keys.keys() != set(names):
        raise RecordFailure(f"its key attributes are {', '.join(keys)}, and those of its table {', '.join(names)}.")
    values = [keys[name] for name in names]
    item_type = item_type_of(item, named_table(stream))
    version = Version(
        stream,
        int(change["SequenceNumber"]),
        moment_of_record(change["ApproximateCreationDateTime"]),
        ",".join(kind for value in values for kind in value),
    )
    content = encode_archived(version, item_type, item, is_expired=is_archived(record, is_for_all=False))
    write_version(object_key(settings.prefix, item_type, values), version, content)


def item_type_of(item: Mapping[str, Any], table: str) -> str:
    """The string or number in the type's attribute; without one, the table's name."""
    value = item.get(settings.type_attribute, {})
    return str(value.get("S") or value.get("N") or table)


def write_version(key: str, version: Version, content: bytes) -> None:
    """Write an object, unless the same or a later version of its item is there.
    Raises RecordFailure, ClientError, BotoCoreError.
    """
    there: Version | None = None
    condition = {"IfNoneMatch": "*"}
    for _ in range(TRIES_MAX):
        if put_version(key, version, content, condition):
            if there is not None:
                log.info("%s, deleted at %s, is replaced by the version deleted at %s", key, there.deleted_at,
                         version.deleted_at)  # fmt: skip
            return
        found = find_version(key)
        if found is None:
            there, condition = None, {"IfNoneMatch": "*"}
            continue
        there, etag = found
        if there is None or not version.is_of_same_item(there):
            raise RecordFailure(
                f"{key} is there already, and is not of {version.table} with keys of the types {version.key_types}."
                " Move it away, or set ARCHIVE_PREFIX, so that each table has a prefix of its own."
            )
        if not version.is_later_than(there):
            if version != there:
                log.warning("%s stays: it was deleted later, at %s, than the record %d, at %s", key, there.deleted_at,
                            version.sequence_number, version.deleted_at)  # fmt: skip
            return
        condition = {"IfMatch": etag}
    raise RecordFailure(f"{key} is being written by others all the time.")


def put_version(key: str, version: Version, content: bytes, condition: Mapping[str, str]) -> bool:
    """Write an object; False if the condition does not hold. Raises ClientError, BotoCoreError."""
    options = {"StorageClass": settings.storage_class} if settings.storage_class else {}
    try:
        clients().s3.put_object(
            Bucket=settings.bucket,
            Key=key,
            Body=content,
            ContentType="application/json",
            Metadata=version.metadata(),
            **condition,
            **options,
        )
    except ClientError as error:
        # 412: the condition does not hold; 409: another write is under way; 404: the object has been deleted.
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        is_gone = error.response["Error"]["Code"] == "NoSuchKey"
        if status in {409, 412} or is_gone:
            return False
        raise
    return True


def find_version(key: str) -> tuple[Version | None, str] | None:
    """The version of an object, as far as its metadata tell, and its ETag; None if there is no object.
    Raises ClientError, BotoCoreError.
    """
    try:
        found = clients().s3.head_object(Bucket=settings.bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise
    return version_of_metadata(found.get("Metadata", {})), found["ETag"]


@cache
def key_names(stream: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a table's key attributes, partition key first: a record does not tell which one that is.
    Raises ClientError, BotoCoreError.
    """
    if len(names) == 1:
        return names
    table = clients().dynamodb.describe_table(TableName=named_table(stream))["Table"]
    schema = sorted(table["KeySchema"], key=lambda element: element["KeyType"] != "HASH")
    return tuple(element["AttributeName"] for element in schema)


def hears_of_failures(stream: str, function_arn: str) -> bool:
    """True if the stream's mappings take batchItemFailures. They would ignore them otherwise: if this is not known,
    the whole batch has to fail.
    """
    try:
        found = clients().functions.list_event_source_mappings(EventSourceArn=stream, FunctionName=function_arn)
    except (ClientError, BotoCoreError):
        return False
    mappings = found["EventSourceMappings"]
    return bool(mappings) and all(
        "ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ()) for mapping in mappings
    )


class AwsClients(NamedTuple):
    """The clients of the services that are called."""

    s3: Any
    dynamodb: Any
    functions: Any


@cache
def clients() -> AwsClients:
    """The clients, made once in each process."""
    waits = Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    # An S3 other than AWS's may not know buckets in the names of hosts.
    is_elsewhere = bool(os.environ.get("AWS_ENDPOINT_URL_S3"))
    place = Config(s3={"addressing_style": "path" if is_elsewhere else "auto"})
    return AwsClients(
        boto3.Session(profile_name=settings.profile).client("s3", config=waits.merge(place)),
        boto3.client("dynamodb", config=waits),
        boto3.client("lambda", config=waits),
    )
