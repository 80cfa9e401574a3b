"""The operations on bulk puts: StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation.

A job reads the objects and puts their items (`transfers/bulk_work.py`). Source: the service model of November 2026 and
its documentation; what they do not tell (records, reports, the ARN, messages) is our own (unconfirmed).
"""

import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.messages import transfers as say
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.operations.lasting import lasting_since_now
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
    bulk_counts,
    described_bulk_put,
    kept_bulk_puts,
)
from hashrange.operations.transfers.transfer_requests import (
    TransferArn,
    TransfersListed,
    TransferToken,
    digest_without_token,
    hex_token,
    new_transfer_id,
    require_extras,
    require_objects,
    transfer_of_hex,
)
from hashrange.tables.schema import Table

BulkOperationNextToken = Annotated[str, Meta(min_length=1, max_length=1024, pattern="^([0-9a-f]{16})+$")]
_TOKEN_DIGITS = 48
"""Hexadecimal digits of tokens, which come in groups of 16."""

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

    Order of checks: member constraints → missing members of the output → members that do not go together → what this
    server can read → there is an S3 → the table exists → the token's earlier use → the table serves items and has no
    index that is being created → the quota.
    """
    source, output = request.InputS3Configuration, request.OutputS3Configuration
    for member, value in (("S3Bucket", output.S3Bucket), ("OutputType", output.OutputType)):
        if not value:
            raise ValidationException(say.OUTPUT_MEMBER_MISSING.format(member=member))
    if output.S3SseKmsKeyId is not None and output.S3SseAlgorithm != "KMS":
        raise ValidationException(say.KMS_KEY_WITHOUT_KMS)
    require_extras(ion=source.InputFormat == "ION", zstd=source.InputCompressionType == "ZSTD")
    require_objects(scope)
    now_seconds = scope.clock.service_time()
    table = await find_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
    bulk_puts = kept_bulk_puts(scope.documents)
    earlier = bulk_puts.earlier_use(scope, request.ClientToken, now_seconds)
    if earlier is not None:
        if earlier.digest != digest_without_token(request):
            raise IdempotentParameterMismatchException(say.BULK_PUT_CONFLICT)
        return {"BulkOperationDescription": described_bulk_put(earlier, bulk_puts.progress.get(*earlier.path))}
    _require_settled(table, now_seconds)
    bulk_puts.require_room(scope, limits.IMPORTS_AT_ONCE_MAX, say.TOO_MANY_BULK_PUTS)
    record = BulkRecord(
        scope.account,
        scope.region,
        table.name,
        table.uuid,
        request.ClientToken or str(uuid.uuid4()),
        now_seconds,
        transfer_id=new_transfer_id(now_seconds),
        table_id=table.table_id,
        digest=digest_without_token(request),
        source=source,
        output=msgspec.structs.replace(output, OutputType=list(dict.fromkeys(output.OutputType))),
        max_units=request.MaxWriteRequestUnits,
        tier=request.PerformanceTier or "STANDARD",
        lasting=lasting_since_now(scope, table.name, "StartBulkPutItems"),
    )
    await bulk_puts.begin(record, BulkProgress())
    scope.wake_job(BULK_JOB)
    return {"BulkOperationDescription": described_bulk_put(record, None)}


def _require_settled(table: Table, now_seconds: float) -> None:
    """Raise ResourceInUseException while the table or one of its indexes is being created, or the table deleted."""
    require_serving(table, now_seconds)
    states = [index.state for index in table.indexes] + [index.state for index in table.vector_indexes]
    if "CREATING" in states:
        raise ResourceInUseException(say.BULK_PUT_BESIDE_INDEX.format(name=table.name))


# --- DescribeBulkOperation, CancelBulkOperation -----------------------------------------------------


class BulkOperationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The bulk put."""

    BulkOperationArn: TransferArn


def _named(scope: Scope, request: BulkOperationRequest) -> BulkRecord:
    """The bulk put that a request names. Raises ResourceNotFoundException."""
    arn = request.BulkOperationArn
    record = kept_bulk_puts(scope.documents).named(scope, arn)
    if record is None:
        raise ResourceNotFoundException(say.BULK_PUT_NOT_FOUND.format(arn=arn))
    return record


async def describe_bulk_operation(scope: Scope, request: BulkOperationRequest) -> Reply:
    """DescribeBulkOperation: tell of one bulk put.

    Order of checks: member constraints → it exists.
    """
    record = _named(scope, request)
    progress = kept_bulk_puts(scope.documents).progress.get(*record.path)
    described = described_bulk_put(record, progress)
    counts = bulk_counts(record, progress)
    table = scope.tables.get(record.table_name)
    described["BulkOperationUsage"] = [_usage(record, counts, None if table is None else table.schema)]
    return {"BulkOperationDescription": described}


def _usage(record: BulkRecord, counts: BulkCounts, table: Table | None) -> dict[str, Any]:
    vectors = {index.name for index in (() if table is None else table.vector_indexes)}
    index_bytes = {name: size_bytes for name, size_bytes in counts.index_bytes.items() if name not in vectors}
    usage: dict[str, Any] = {
        "TableName": record.table_name,
        "BulkPutBytes": counts.table_bytes + sum(index_bytes.values()),
        "Table": {"BulkPutBytes": counts.table_bytes},
    }
    indexes = () if table is None else table.indexes
    local = {index.name for index in indexes if not index.is_global}
    for member, is_local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
        told = {
            name: {"BulkPutBytes": size_bytes}
            for name, size_bytes in index_bytes.items()
            if (name in local) is is_local
        }
        if told:
            usage[member] = told
    of_vectors = {
        name: {"BulkPutVectorBytes": size_bytes} for name, size_bytes in counts.index_bytes.items() if name in vectors
    }
    if of_vectors:
        usage["VectorIndexes"] = of_vectors
    return usage


async def cancel_bulk_operation(scope: Scope, request: BulkOperationRequest) -> Reply:
    """CancelBulkOperation: ask a bulk put to stop. What it has put stays.

    Order of checks: member constraints → it exists. One that has ended stays as it is (unconfirmed).
    """
    record = _named(scope, request)
    if record.status == "IN_PROGRESS":
        records = kept_bulk_puts(scope.documents).records
        cancelling = msgspec.structs.replace(record, status="CANCELLING")
        await records.write(records.replacement(record, cancelling, *record.path))
        record = cancelling
        scope.wake_job(BULK_JOB)
    return {"BulkOperationArn": record.arn, "BulkOperationStatus": record.status}


# --- ListBulkOperations -----------------------------------------------------------------------------


class ListBulkOperationsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Page size and page token."""

    MaxResults: TransfersListed | None = None
    NextToken: BulkOperationNextToken | None = None


async def list_bulk_operations(scope: Scope, request: ListBulkOperationsRequest) -> Reply:
    """ListBulkOperations: list the bulk puts of the last 90 days, the newest first.

    Order of checks: member constraints → NextToken.
    """
    before = transfer_of_hex(request.NextToken)
    size = request.MaxResults or limits.IMPORTS_LISTED_USUALLY
    listed, has_more = kept_bulk_puts(scope.documents).page(scope, before, size, lambda _: True)
    reply: Reply = {"BulkOperationsSummaryList": [_summary(record) for record in listed]}
    if has_more:
        reply["NextToken"] = hex_token(listed[-1].transfer_id, _TOKEN_DIGITS)
    return reply


def _summary(record: BulkRecord) -> dict[str, Any]:
    told = ("BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime")
    described = described_bulk_put(record, None)
    return {name: described[name] for name in told if name in described}


OPERATIONS = (
    Operation(
        "StartBulkPutItems",
        StartBulkPutItemsRequest,
        start_bulk_put_items,
        JsonWire(reaches_out=True),
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
