"""The operations on imports: ImportTable, DescribeImport, ListImports.

The table of an import is invisible, and its name free, until the import has ended. What S3 refuses becomes the
FailureCode of an import that has FAILED. A job makes imports (`transfers/import_work.py`).
Source: backups-observed.md 5.
"""

import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ImportConflictException,
    ImportNotFoundException,
    Malformed,
    ResourceInUseException,
    ValidationException,
)
from hashrange.messages import transfers as say
from hashrange.messages.tables import TABLE_EXISTS
from hashrange.operations.lasting import lasting_since_now
from hashrange.operations.lookup import check_arn, find_table
from hashrange.operations.naming import by_import_arn, by_table_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.tables import index_members, members
from hashrange.operations.tables.create_table_checks import check_creation
from hashrange.operations.tables.requests import CreateTableRequest
from hashrange.operations.transfers.import_records import (
    IMPORT_JOB,
    ImportProgress,
    ImportRecord,
    InputCompressionType,
    InputFormat,
    InputFormatOptions,
    S3BucketSource,
    import_counts,
    kept_imports,
)
from hashrange.operations.transfers.transfer_requests import (
    TransferArn,
    TransfersListed,
    TransferToken,
    hex_token,
    new_transfer_id,
    require_extras,
    require_objects,
    transfer_of_hex,
)

_TOKEN_DIGITS_MIN = 112
ImportNextToken = Annotated[str, Meta(min_length=_TOKEN_DIGITS_MIN, max_length=1024, pattern="^([0-9a-f]{16})+$")]

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
    VectorIndexes: list[index_members.NewVectorIndex] | None = None


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
    require_extras(ion=request.InputFormat == "ION", zstd=request.InputCompressionType == "ZSTD")
    require_objects(scope)
    name = request.TableCreationParameters.TableName
    if await find_table(scope, name) is not None:
        raise ResourceInUseException(TABLE_EXISTS.format(name=name))
    now_seconds = scope.clock.service_time()
    imports = kept_imports(scope.documents)
    earlier = imports.earlier_use(scope, request.ClientToken, now_seconds)
    if earlier is not None:
        if earlier.table_name != name:
            raise ImportConflictException(say.IMPORT_CONFLICT)
        return {"ImportTableDescription": _description(earlier, imports.progress.get(*earlier.path))}
    imports.require_room(scope, limits.IMPORTS_AT_ONCE_MAX, say.TOO_MANY_IMPORTS)
    record = ImportRecord(
        scope.account,
        scope.region,
        name,
        str(uuid.uuid4()),
        request.ClientToken or str(uuid.uuid4()),
        now_seconds,
        transfer_id=new_transfer_id(now_seconds),
        source=request.S3BucketSource,
        format=request.InputFormat,
        creation=creation,
        compression=request.InputCompressionType or "NONE",
        options=request.InputFormatOptions,
        lasting=lasting_since_now(scope, name, "ImportTable"),
    )
    await imports.begin(record, ImportProgress())
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


def _description(record: ImportRecord, progress: ImportProgress | None) -> dict[str, Any]:
    """An import as it is told."""
    counts = import_counts(record, progress)
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

    ImportArn: TransferArn


async def describe_import(scope: Scope, request: DescribeImportRequest) -> Reply:
    """DescribeImport: tell of one import, also of a table that is gone.

    Order of checks: member constraints → the import exists.
    """
    arn = request.ImportArn
    imports = kept_imports(scope.documents)
    record = imports.named(scope, arn)
    if record is None:
        raise ImportNotFoundException(say.IMPORT_NOT_FOUND.format(arn=arn))
    progress = imports.progress.get(*record.path)
    return {"ImportTableDescription": _description(record, progress)}


class ListImportsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page size and page token."""

    TableArn: members.TableArn | None = None
    PageSize: TransfersListed | None = None
    NextToken: ImportNextToken | None = None


async def list_imports(scope: Scope, request: ListImportsRequest) -> Reply:
    """ListImports: list the imports of the last 90 days, the newest first, also of tables that are gone.

    Order of checks: member constraints → form and account of the ARN → NextToken.
    """
    if request.TableArn is not None:
        check_arn(scope, request.TableArn, "ListImports")
    before = transfer_of_hex(request.NextToken)
    size = request.PageSize or limits.IMPORTS_LISTED_USUALLY
    listed, has_more = kept_imports(scope.documents).page(
        scope, before, size, lambda record: request.TableArn in (None, record.table_arn)
    )
    reply: Reply = {"ImportSummaryList": [_summary(record) for record in listed]}
    if has_more:
        reply["NextToken"] = hex_token(listed[-1].transfer_id, _TOKEN_DIGITS_MIN)
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


OPERATIONS = (
    Operation("ImportTable", ImportTableRequest, import_table, JsonWire(reaches_out=True), writes=True),
    Operation("DescribeImport", DescribeImportRequest, describe_import, JsonWire(), tables=by_import_arn),
    Operation("ListImports", ListImportsRequest, list_imports, JsonWire(), tables=by_table_arn),
)
