"""The operations on imports: ImportTable, DescribeImport, ListImports.

The table of an import is invisible, and its name free, until the import has ended. What S3 refuses becomes the
FailureCode of an import that has FAILED. A job makes imports (`transfers/import_work.py`).
Source: backups-observed.md 5.
"""

import secrets
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ImportConflictException,
    ImportNotFoundException,
    LimitExceededException,
    Malformed,
    ResourceInUseException,
    UnsupportedOperationException,
    ValidationException,
)
from hashrange.messages import transfers as say
from hashrange.messages.other_services import NEXT_TOKEN_INVALID
from hashrange.messages.tables import TABLE_EXISTS
from hashrange.operations.lookup import check_arn, find_table
from hashrange.operations.naming import by_import_arn, by_table_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.tables import index_members, members
from hashrange.operations.tables.create_table_checks import check_creation, refuse_unimplemented_members
from hashrange.operations.tables.requests import CreateTableRequest
from hashrange.operations.transfers.export_records import TransferToken
from hashrange.operations.transfers.extras import require_extras
from hashrange.operations.transfers.import_records import (
    IMPORT_JOB,
    ImportCounts,
    ImportProgress,
    ImportRecord,
    InputCompressionType,
    InputFormat,
    InputFormatOptions,
    S3BucketSource,
    kept_import_progress,
    kept_imports,
)

_TOKEN_DIGITS_MIN = 112
ImportNextToken = Annotated[str, Meta(min_length=112, max_length=1024, pattern="^([0-9a-f]{16})+$")]
ImportArn = Annotated[str, Meta(min_length=37, max_length=1024)]

# --- ImportTable ------------------------------------------------------------------------------------


class TableCreationParameters(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The table that is made."""

    TableName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")]
    AttributeDefinitions: list[members.AttributeDefinition]
    KeySchema: members.TableKeySchema
    BillingMode: members.BillingMode | None = None
    ProvisionedThroughput: members.ProvisionedThroughput | None = None
    OnDemandThroughput: members.OnDemandThroughput | None = None
    SSESpecification: members.SSESpecification | None = None
    GlobalSecondaryIndexes: list[index_members.GlobalSecondaryIndex] | None = None
    VectorIndexes: list[index_members.VectorIndex] | None = None


class ImportTableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is read, in which format, and which table is made of it."""

    ClientToken: TransferToken | None = None
    S3BucketSource: "S3BucketSource"
    InputFormat: "InputFormat"
    InputFormatOptions: "InputFormatOptions | None" = None
    InputCompressionType: "InputCompressionType | None" = None
    TableCreationParameters: "TableCreationParameters"


async def import_table(scope: Scope, request: ImportTableRequest) -> Reply:
    """ImportTable: begin to make a table of objects.

    Order of checks: member constraints → options and format → the checks of CreateTable → what this server can read →
    there is an S3 → the name is free → the token's earlier use → the quota of imports in progress.
    """
    if request.InputFormatOptions is not None and request.InputFormat != "CSV":
        raise ValidationException(say.OPTIONS_NOT_OF_FORMAT.format(format=request.InputFormat))
    creation = without_nulls(msgspec.to_builtins(request.TableCreationParameters))
    table_request = creation_request(creation)
    check_creation(table_request)
    refuse_unimplemented_members(table_request, "VectorIndexes")
    require_extras(ion=request.InputFormat == "ION", zstd=request.InputCompressionType == "ZSTD")
    missing = scope.missing_objects()
    if missing is not None:
        raise UnsupportedOperationException(missing)
    name = request.TableCreationParameters.TableName
    if await find_table(scope, name) is not None:
        raise ResourceInUseException(TABLE_EXISTS.format(name=name))
    now_seconds = scope.clock.service_time()
    progress = kept_import_progress(scope.documents)
    earlier = _earlier_use(scope, request, now_seconds)
    if earlier is not None:
        return {"ImportTableDescription": _description(earlier, progress.get(*earlier.path))}
    if len(progress.by_path(scope.account, scope.region)) >= limits.IMPORTS_AT_ONCE_MAX:
        raise LimitExceededException(say.TOO_MANY_IMPORTS.format(limit=limits.IMPORTS_AT_ONCE_MAX))
    record = ImportRecord(
        f"0{int(now_seconds * 1000):013d}-{secrets.token_hex(4)}",
        scope.account,
        scope.region,
        name,
        str(uuid.uuid4()),
        request.ClientToken or str(uuid.uuid4()),
        now_seconds,
        request.S3BucketSource,
        request.InputFormat,
        creation,
        request.InputCompressionType or "NONE",
        request.InputFormatOptions,
    )
    records = kept_imports(scope.documents)
    await records.write(records.change(record, *record.path), progress.change(ImportProgress(), *record.path))
    scope.wake_job(IMPORT_JOB)
    return {"ImportTableDescription": _description(record, None)}


def without_nulls(value: Any) -> Any:
    """The value, without members of structures that are absent."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def creation_request(creation: dict[str, Any]) -> CreateTableRequest:
    """The CreateTable that makes the table of an import. Raises Malformed."""
    try:
        return msgspec.convert(creation, CreateTableRequest)
    except msgspec.ValidationError:
        raise Malformed from None


def _earlier_use(scope: Scope, request: ImportTableRequest, now_seconds: float) -> ImportRecord | None:
    """The import that the request's token has begun, whatever else the request says. Raises ImportConflictException if
    its table has another name.
    """
    if request.ClientToken is None:
        return None
    for _, record in kept_imports(scope.documents).walk(scope.account, scope.region):
        is_valid = now_seconds - record.started_seconds < limits.TRANSFER_TOKEN_SECONDS
        if record.token == request.ClientToken and is_valid:
            if record.table_name != request.TableCreationParameters.TableName:
                raise ImportConflictException(say.IMPORT_CONFLICT)
            return record
    return None


def _description(record: ImportRecord, progress: ImportProgress | None) -> dict[str, Any]:
    """An import as it is told."""
    counts = record.counts or (ImportCounts() if progress is None else progress.counts)
    described: dict[str, Any] = {
        "ImportArn": record.arn,
        "ImportStatus": record.status,
        "TableArn": record.table_arn,
        "TableId": record.table_uuid,
        "ClientToken": record.token,
        "S3BucketSource": msgspec.to_builtins(record.source),
        "ErrorCount": counts.errors,
        "CloudWatchLogGroupArn": record.log_group_arn,
        "InputFormat": record.format,
        "InputCompressionType": record.compression,
        "TableCreationParameters": record.creation,
        "StartTime": record.started_seconds,
        "ProcessedSizeBytes": counts.processed_bytes,
        "ProcessedItemCount": counts.processed,
        "ImportedItemCount": counts.imported,
    }
    if record.options is not None:
        described["InputFormatOptions"] = msgspec.to_builtins(record.options)
    if record.status != "IN_PROGRESS":
        described["EndTime"] = record.ended_seconds
    if record.failure_code is not None:
        described |= {"FailureCode": record.failure_code, "FailureMessage": record.failure_message}
    return described


# --- DescribeImport, ListImports --------------------------------------------------------------------


class DescribeImportRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The import."""

    ImportArn: "ImportArn"


async def describe_import(scope: Scope, request: DescribeImportRequest) -> Reply:
    """DescribeImport: tell of one import, also of a table that is gone.

    Order of checks: member constraints → the import exists.
    """
    arn = request.ImportArn
    import_id = arn.rpartition("/import/")[2]
    record = None if "/" in import_id else kept_imports(scope.documents).get(scope.account, scope.region, import_id)
    if record is None or record.arn != arn:
        raise ImportNotFoundException(say.IMPORT_NOT_FOUND.format(arn=arn))
    progress = kept_import_progress(scope.documents).get(*record.path)
    return {"ImportTableDescription": _description(record, progress)}


class ListImportsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page size and page token."""

    TableArn: members.TableArn | None = None
    PageSize: Annotated[int, Meta(ge=1, le=limits.TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})] | None = None
    NextToken: ImportNextToken | None = None


async def list_imports(scope: Scope, request: ListImportsRequest) -> Reply:
    """ListImports: list the imports of the last 90 days, the newest first, also of tables that are gone.

    Order of checks: member constraints → form and account of the ARN → NextToken.
    """
    if request.TableArn is not None:
        check_arn(scope, request.TableArn, "ListImports")
    before = _import_of_token(request.NextToken)
    since_seconds = scope.clock.service_time() - limits.TRANSFERS_LISTED_SECONDS
    found = [
        record
        for _, record in kept_imports(scope.documents).walk(scope.account, scope.region)
        if record.started_seconds >= since_seconds
        and request.TableArn in (None, record.table_arn)
        and (before is None or record.import_id < before)
    ]
    found.sort(key=lambda record: record.import_id, reverse=True)
    size = request.PageSize or limits.IMPORTS_LISTED_USUALLY
    listed = found[:size]
    reply: Reply = {"ImportSummaryList": [_summary(record) for record in listed]}
    if len(found) > size:
        reply["NextToken"] = listed[-1].import_id.encode().hex().ljust(_TOKEN_DIGITS_MIN, "0")
    return reply


def _summary(record: ImportRecord) -> dict[str, Any]:
    described = _description(record, None)
    told = (
        "ImportArn",
        "ImportStatus",
        "TableArn",
        "S3BucketSource",
        "CloudWatchLogGroupArn",
        "InputFormat",
        "StartTime",
        "EndTime",
    )
    return {name: described[name] for name in told if name in described}


def _import_of_token(token: str | None) -> str | None:
    """The id of the import behind which a page begins. Raises ValidationException."""
    if token is None:
        return None
    try:
        return bytes.fromhex(token).rstrip(b"\x00").decode("ascii")
    except ValueError:
        raise ValidationException(NEXT_TOKEN_INVALID) from None


OPERATIONS = (
    Operation("ImportTable", ImportTableRequest, import_table, JsonWire(), writes=True),
    Operation("DescribeImport", DescribeImportRequest, describe_import, JsonWire(), tables=by_import_arn),
    Operation("ListImports", ListImportsRequest, list_imports, JsonWire(), tables=by_table_arn),
)
