"""The operations on bulk puts: StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation.

A job reads the objects and puts their items (`transfers/bulk_work.py`). Source: the service model of November 2026 and
its documentation; what they do not tell (records, reports, the ARN, messages) is our own (unconfirmed).
"""

import hashlib
import secrets
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    IdempotentParameterMismatchException,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    UnsupportedOperationException,
    ValidationException,
)
from hashrange.messages import transfers as say
from hashrange.messages.other_services import NEXT_TOKEN_INVALID
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.operations.lookup import find_table, require_serving
from hashrange.operations.naming import by_bulk_operation_arn, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables import members
from hashrange.operations.transfers.bulk_records import (
    BULK_JOB,
    BulkCounts,
    BulkProgress,
    BulkRecord,
    InputS3Configuration,
    OutputS3Configuration,
    PerformanceTier,
    described_bulk_put,
    kept_bulk_progress,
    kept_bulk_puts,
)
from hashrange.operations.transfers.export_records import TransferToken
from hashrange.operations.transfers.extras import require_extras
from hashrange.tables.schema import Table

BulkOperationArn = Annotated[str, Meta(min_length=37, max_length=1024)]
BulkOperationNextToken = Annotated[str, Meta(min_length=1, max_length=1024, pattern="^([0-9a-f]{16})+$")]
_TOKEN_DIGITS = 16
"""Hexadecimal digits of tokens come in groups of so many."""

# --- StartBulkPutItems ------------------------------------------------------------------------------


class StartBulkPutItemsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What is read, into which table it is put, and where the reports go."""

    ClientToken: TransferToken | None = None
    InputS3Configuration: "InputS3Configuration"
    OutputS3Configuration: "OutputS3Configuration"
    TableName: members.TableArn
    MaxWriteRequestUnits: Annotated[int, Meta(ge=1024)] | None = None
    PerformanceTier: "PerformanceTier | None" = None


async def start_bulk_put_items(scope: Scope, request: StartBulkPutItemsRequest) -> Reply:
    """StartBulkPutItems: begin to put the items of objects into a table.

    Order of checks: member constraints → members that do not go together → what this server can read → there is an S3 →
    the table exists, serves items and has no index that is being created → the token's earlier use → the quota.
    """
    source, output = request.InputS3Configuration, request.OutputS3Configuration
    if output.S3SseKmsKeyId is not None and output.S3SseAlgorithm != "KMS":
        raise ValidationException(say.KMS_KEY_WITHOUT_KMS)
    require_extras(ion=source.InputFormat == "ION", zstd=source.InputCompressionType == "ZSTD")
    missing = scope.missing_objects()
    if missing is not None:
        raise UnsupportedOperationException(missing)
    now_seconds = scope.clock.service_time()
    table = await find_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
    progress = kept_bulk_progress(scope.documents)
    earlier = _earlier_use(scope, request, now_seconds)
    if earlier is not None:
        return {"BulkOperationDescription": described_bulk_put(earlier, progress.get(*earlier.path))}
    _require_settled(table, now_seconds)
    if len(progress.by_path(scope.account, scope.region)) >= limits.IMPORTS_AT_ONCE_MAX:
        raise LimitExceededException(say.TOO_MANY_BULK_PUTS.format(limit=limits.IMPORTS_AT_ONCE_MAX))
    record = BulkRecord(
        f"0{int(now_seconds * 1000):013d}-{secrets.token_hex(4)}",
        scope.account,
        scope.region,
        table.name,
        table.table_id,
        table.uuid,
        request.ClientToken or str(uuid.uuid4()),
        _digest(request),
        now_seconds,
        source,
        output,
        request.MaxWriteRequestUnits,
        request.PerformanceTier or "STANDARD",
    )
    records = kept_bulk_puts(scope.documents)
    await records.write(records.change(record, *record.path), progress.change(BulkProgress(), *record.path))
    scope.wake_job(BULK_JOB)
    return {"BulkOperationDescription": described_bulk_put(record, None)}


def _require_settled(table: Table, now_seconds: float) -> None:
    """Raise ResourceInUseException while the table or one of its indexes is being created, or the table deleted."""
    require_serving(table, now_seconds)
    if any(index.state == "CREATING" for index in table.indexes):
        raise ResourceInUseException(say.BULK_PUT_BESIDE_INDEX.format(name=table.name))


def _earlier_use(scope: Scope, request: StartBulkPutItemsRequest, now_seconds: float) -> BulkRecord | None:
    """The bulk put that the request's token has begun. Raises IdempotentParameterMismatchException if it was requested
    otherwise.
    """
    if request.ClientToken is None:
        return None
    for _, record in kept_bulk_puts(scope.documents).walk(scope.account, scope.region):
        is_valid = now_seconds - record.started_seconds < limits.TRANSFER_TOKEN_SECONDS
        if record.token == request.ClientToken and is_valid:
            if record.digest != _digest(request):
                raise IdempotentParameterMismatchException(say.BULK_PUT_CONFLICT)
            return record
    return None


def _digest(request: StartBulkPutItemsRequest) -> str:
    text = msgspec.json.encode(msgspec.structs.replace(request, ClientToken=None), order="sorted")
    return hashlib.sha256(text).hexdigest()


# --- DescribeBulkOperation, CancelBulkOperation -----------------------------------------------------


class BulkOperationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The bulk put."""

    BulkOperationArn: "BulkOperationArn"


def _named(scope: Scope, request: BulkOperationRequest) -> BulkRecord:
    """The bulk put that a request names. Raises ResourceNotFoundException."""
    arn = request.BulkOperationArn
    bulk_id = arn.rpartition("/")[2]
    record = kept_bulk_puts(scope.documents).get(scope.account, scope.region, bulk_id)
    if record is None or record.arn != arn:
        raise ResourceNotFoundException(say.BULK_PUT_NOT_FOUND.format(arn=arn))
    return record


async def describe_bulk_operation(scope: Scope, request: BulkOperationRequest) -> Reply:
    """DescribeBulkOperation: tell of one bulk put.

    Order of checks: member constraints → it exists.
    """
    record = _named(scope, request)
    progress = kept_bulk_progress(scope.documents).get(*record.path)
    described = described_bulk_put(record, progress)
    counts = record.counts or (BulkCounts() if progress is None else progress.counts)
    table = scope.tables.get(record.table_name)
    described["BulkOperationUsage"] = [_usage(record, counts, None if table is None else table.schema)]
    return {"BulkOperationDescription": described}


def _usage(record: BulkRecord, counts: BulkCounts, table: Table | None) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "TableName": record.table_name,
        "BulkPutBytes": counts.table_bytes + sum(counts.index_bytes.values()),
        "Table": {"BulkPutBytes": counts.table_bytes},
    }
    indexes = () if table is None else table.indexes
    local = {index.name for index in indexes if not index.is_global}
    for member, is_local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
        told = {
            name: {"BulkPutBytes": size_bytes}
            for name, size_bytes in counts.index_bytes.items()
            if (name in local) is is_local
        }
        if told:
            usage[member] = told
    return usage


async def cancel_bulk_operation(scope: Scope, request: BulkOperationRequest) -> Reply:
    """CancelBulkOperation: ask a bulk put to stop. What it has put stays.

    Order of checks: member constraints → it exists. One that has ended stays as it is (unconfirmed).
    """
    record = _named(scope, request)
    if record.status == "IN_PROGRESS":
        records = kept_bulk_puts(scope.documents)
        cancelling = msgspec.structs.replace(record, status="CANCELLING")
        await records.write(records.replacement(record, cancelling, *record.path))
        record = cancelling
        scope.wake_job(BULK_JOB)
    return {"BulkOperationArn": record.arn, "BulkOperationStatus": record.status}


# --- ListBulkOperations -----------------------------------------------------------------------------


class ListBulkOperationsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Page size and page token."""

    MaxResults: Annotated[int, Meta(ge=1, le=limits.TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})] | None = None
    NextToken: BulkOperationNextToken | None = None


async def list_bulk_operations(scope: Scope, request: ListBulkOperationsRequest) -> Reply:
    """ListBulkOperations: list the bulk puts of the last 90 days, the newest first.

    Order of checks: member constraints → NextToken.
    """
    before = _bulk_of_token(request.NextToken)
    since_seconds = scope.clock.service_time() - limits.TRANSFERS_LISTED_SECONDS
    found = [
        record
        for _, record in kept_bulk_puts(scope.documents).walk(scope.account, scope.region)
        if record.started_seconds >= since_seconds and (before is None or record.bulk_id < before)
    ]
    found.sort(key=lambda record: record.bulk_id, reverse=True)
    size = request.MaxResults or limits.IMPORTS_LISTED_USUALLY
    listed = found[:size]
    reply: Reply = {"BulkOperationsSummaryList": [_summary(record) for record in listed]}
    if len(found) > size:
        digits = listed[-1].bulk_id.encode().hex()
        reply["NextToken"] = digits.ljust(-(-len(digits) // _TOKEN_DIGITS) * _TOKEN_DIGITS, "0")
    return reply


def _summary(record: BulkRecord) -> dict[str, Any]:
    told = ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")
    described = described_bulk_put(record, None)
    return {name: described[name] for name in told if name in described}


def _bulk_of_token(token: str | None) -> str | None:
    """The id of the bulk put behind which a page begins. Raises ValidationException."""
    if token is None:
        return None
    try:
        return bytes.fromhex(token).rstrip(b"\x00").decode("ascii")
    except ValueError:
        raise ValidationException(NEXT_TOKEN_INVALID) from None


OPERATIONS = (
    Operation(
        "StartBulkPutItems",
        StartBulkPutItemsRequest,
        start_bulk_put_items,
        JsonWire(),
        tables=by_table_name,
        writes=True,
    ),
    Operation(
        "DescribeBulkOperation",
        BulkOperationRequest,
        describe_bulk_operation,
        JsonWire(),
        tables=by_bulk_operation_arn,
    ),
    Operation(
        "CancelBulkOperation",
        BulkOperationRequest,
        cancel_bulk_operation,
        JsonWire(),
        tables=by_bulk_operation_arn,
        writes=True,
    ),
    Operation("ListBulkOperations", ListBulkOperationsRequest, list_bulk_operations, JsonWire()),
)
