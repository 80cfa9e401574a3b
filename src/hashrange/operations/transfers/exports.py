"""The operations on exports: ExportTableToPointInTime, DescribeExport, ListExports.

A request is accepted once it is valid, recovery is on and the times are in its window; what S3 refuses becomes the
FailureCode of an export that has FAILED. A job makes exports (`transfers/exports_job.py`).
Source: backups-observed.md 4.
"""

import base64
import hashlib
import secrets
import uuid
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    LimitExceededException,
    UnsupportedOperationException,
    ValidationException,
)
from hashrange.messages import transfers as say
from hashrange.messages.other_services import NEXT_TOKEN_INVALID
from hashrange.operations.backups.continuous_backups import RestorableTimes, backed_up_table, restorable_times
from hashrange.operations.lookup import check_arn
from hashrange.operations.naming import by_export_arn, by_table_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables import members
from hashrange.operations.transfers.export_filters import check_export_filter, compile_export_filter
from hashrange.operations.transfers.export_records import (
    EXPORT_JOB,
    BucketName,
    BucketOwner,
    ExportFormat,
    ExportProgress,
    ExportRecord,
    ExportType,
    ExportViewType,
    FilterSpecification,
    IncrementalExportSpecification,
    KeyPrefix,
    KmsKeyId,
    S3SseAlgorithm,
    TransferToken,
    kept_export_progress,
    kept_exports,
)
from hashrange.tables.schema import Table

ExportArn = Annotated[str, Meta(min_length=37, max_length=1024)]

# --- ExportTableToPointInTime -----------------------------------------------------------------------


class ExportTableToPointInTimeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What is exported of which table, and where to. Times are in epoch seconds."""

    TableArn: members.TableArn
    ExportTime: float | None = None
    ClientToken: TransferToken | None = None
    S3Bucket: BucketName
    S3BucketOwner: BucketOwner | None = None
    S3Prefix: KeyPrefix | None = None
    S3SseAlgorithm: "S3SseAlgorithm | None" = None
    S3SseKmsKeyId: KmsKeyId | None = None
    ExportFormat: "ExportFormat | None" = None
    ExportType: "ExportType | None" = None
    IncrementalExportSpecification: "IncrementalExportSpecification | None" = None
    FilterSpecification: "FilterSpecification | None" = None


async def export_table_to_point_in_time(scope: Scope, request: ExportTableToPointInTimeRequest) -> Reply:
    """ExportTableToPointInTime: begin to export a table.

    Order of checks: member constraints → the ARN → members that do not go together → the filter's expressions → there
    is an S3 → the table exists → recovery is on → the expressions fit the table → the token's earlier use → times → the
    quota of exports in progress.
    """
    check_arn(scope, request.TableArn, "ExportTableToPointInTime")
    _check_couplings(request)
    wanted = None if request.FilterSpecification is None else compile_export_filter(request.FilterSpecification)
    missing = scope.missing_objects()
    if missing is not None:
        raise UnsupportedOperationException(missing)
    table = await backed_up_table(scope, request.TableArn)
    times = restorable_times(scope, table)
    if wanted is not None:
        check_export_filter(scope.tables[table.name], wanted)
    now_seconds = scope.clock.service_time()
    earlier = _earlier_use(scope, request, now_seconds)
    if earlier is not None:
        return {"ExportDescription": _description(earlier, is_whole=True)}
    _check_times(request, table, times, now_seconds)
    if len(kept_export_progress(scope.documents).by_path(scope.account, scope.region)) >= limits.EXPORTS_AT_ONCE_MAX:
        raise LimitExceededException(say.TOO_MANY_EXPORTS.format(limit=limits.EXPORTS_AT_ONCE_MAX))
    record = _record(request, table, now_seconds)
    records = kept_exports(scope.documents)
    progress = kept_export_progress(scope.documents)
    await records.write(records.change(record, *record.path), progress.change(ExportProgress(), *record.path))
    await begin_copy(scope, record, table)
    scope.wake_job(EXPORT_JOB)
    return {"ExportDescription": _description(record, is_whole=True)}


async def begin_copy(scope: Scope, record: ExportRecord, table: Table) -> None:
    """Let the rows of the export's moment be kept from now on. After a kill before this, the job does it."""
    if record.from_seconds is None:
        await scope.row_copies.begin(record.owner, table, record.at_seconds)
    else:
        await scope.row_copies.begin_of_changes(record.owner, table, record.from_seconds, record.at_seconds)


def _check_couplings(request: ExportTableToPointInTimeRequest) -> None:
    """Raise ValidationException for members that do not go together."""
    specification = request.IncrementalExportSpecification
    is_incremental = request.ExportType == "INCREMENTAL_EXPORT"
    if specification is not None and not is_incremental:
        raise ValidationException(say.SPECIFICATION_NOT_INCREMENTAL)
    if is_incremental and specification is None:
        raise ValidationException(say.SPECIFICATION_MISSING)
    if is_incremental and request.ExportTime is not None:
        raise ValidationException(say.EXPORT_TIME_WITH_INCREMENTAL)
    if specification is not None and specification.ExportFromTime is None:
        raise ValidationException(say.FROM_TIME_MISSING)
    if request.S3SseKmsKeyId is not None and request.S3SseAlgorithm != "KMS":
        raise ValidationException(say.KMS_KEY_WITHOUT_KMS)


def _check_times(
    request: ExportTableToPointInTimeRequest, table: Table, times: RestorableTimes, now_seconds: float
) -> None:
    """Raise InvalidExportTimeException for times outside the window of recovery."""
    window = request.IncrementalExportSpecification
    if window is None:
        at_seconds = request.ExportTime
        if at_seconds is not None and not times.earliest_seconds <= at_seconds <= now_seconds:
            raise InvalidExportTimeException(say.EXPORT_TIME_INVALID)
        if at_seconds is not None and int(at_seconds) > times.latest_seconds:
            raise InvalidExportTimeException(say.EXPORT_TIME_TOO_LATE)
        return
    from_seconds, to_seconds = window.ExportFromTime or 0.0, window.ExportToTime or now_seconds
    if from_seconds < int(table.created_at_seconds):
        raise InvalidExportTimeException(say.FROM_TIME_TOO_EARLY.format(date=_date(from_seconds)))
    if to_seconds > now_seconds:
        raise InvalidExportTimeException(say.TO_TIME_TOO_LATE.format(date=_date(to_seconds)))
    if to_seconds - from_seconds < limits.INCREMENTAL_SECONDS_MIN:
        raise InvalidExportTimeException(say.WINDOW_TOO_SHORT)
    if to_seconds - from_seconds > limits.INCREMENTAL_SECONDS_MAX:
        raise InvalidExportTimeException(say.WINDOW_TOO_LONG)
    if from_seconds < times.earliest_seconds:
        raise InvalidExportTimeException(say.EXPORT_TIME_INVALID)


def _date(seconds: float) -> str:
    """A time in a message, in a form of our own (unconfirmed)."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return str(seconds)


def _earlier_use(scope: Scope, request: ExportTableToPointInTimeRequest, now_seconds: float) -> ExportRecord | None:
    """The export that the request's token has begun. Raises ExportConflictException if it was requested otherwise."""
    if request.ClientToken is None:
        return None
    for _, record in kept_exports(scope.documents).walk(scope.account, scope.region):
        is_valid = now_seconds - record.started_seconds < limits.TRANSFER_TOKEN_SECONDS
        if record.token == request.ClientToken and is_valid:
            if record.digest != _digest(request):
                raise ExportConflictException(say.EXPORT_CONFLICT)
            return record
    return None


def _digest(request: ExportTableToPointInTimeRequest) -> str:
    text = msgspec.json.encode(msgspec.structs.replace(request, ClientToken=None), order="sorted")
    return hashlib.sha256(text).hexdigest()


def _record(request: ExportTableToPointInTimeRequest, table: Table, now_seconds: float) -> ExportRecord:
    """The record of a new export."""
    window = request.IncrementalExportSpecification
    from_seconds = None if window is None else window.ExportFromTime
    at_seconds = request.ExportTime if window is None else window.ExportToTime
    at_seconds = now_seconds if at_seconds is None else at_seconds
    told = msgspec.to_builtins(request)
    told["ClientToken"] = request.ClientToken or str(uuid.uuid4())
    told.setdefault("S3SseAlgorithm", "AES256")
    told.setdefault("ExportFormat", "DYNAMODB_JSON")
    view_type: ExportViewType = "NEW_AND_OLD_IMAGES"
    if window is None:
        told["ExportTime"] = at_seconds
    else:
        view_type = window.ExportViewType or view_type
        told["IncrementalExportSpecification"] = {
            "ExportFromTime": from_seconds,
            "ExportToTime": at_seconds,
            "ExportViewType": view_type,
        }
    return ExportRecord(
        f"0{int(now_seconds * 1000):013d}-{secrets.token_hex(4)}",
        table.account,
        table.region,
        table.name,
        table.table_id,
        table.uuid,
        table.keys,
        told["ClientToken"],
        _digest(request),
        now_seconds,
        at_seconds,
        request.S3Bucket,
        told,
        bucket_owner=request.S3BucketOwner or "",
        prefix=request.S3Prefix,
        sse=told["S3SseAlgorithm"],
        kms_key_id=request.S3SseKmsKeyId,
        format=told["ExportFormat"],
        from_seconds=from_seconds,
        view_type=view_type,
        filter=request.FilterSpecification,
    )


def _description(record: ExportRecord, *, is_whole: bool = False) -> dict[str, Any]:
    """An export as it is told. `is_whole`: with the type of an export whose request had none."""
    described: dict[str, Any] = {
        "ExportArn": record.arn,
        "ExportStatus": record.status,
        "StartTime": record.started_seconds,
        "TableArn": record.table_arn,
        "TableId": record.table_uuid,
        "DestinationType": "S3",
    }
    described |= {name: value for name, value in record.told.items() if name != "TableArn"}
    if is_whole:
        described.setdefault("ExportType", "FULL_EXPORT")
    if record.status != "IN_PROGRESS":
        described["EndTime"] = record.ended_seconds
    if record.status == "COMPLETED":
        described |= {
            "ExportManifest": record.manifest_key,
            "BilledSizeBytes": record.billed_bytes,
            "ItemCount": record.item_count,
        }
    elif record.failure_code is not None:
        described |= {"FailureCode": record.failure_code, "FailureMessage": record.failure_message}
    return described


# --- DescribeExport, ListExports --------------------------------------------------------------------


class DescribeExportRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The export."""

    ExportArn: "ExportArn"


async def describe_export(scope: Scope, request: DescribeExportRequest) -> Reply:
    """DescribeExport: tell of one export, also of a table that is gone.

    Order of checks: member constraints → the export exists.
    """
    arn = request.ExportArn
    export_id = arn.rpartition("/export/")[2]
    record = None if "/" in export_id else kept_exports(scope.documents).get(scope.account, scope.region, export_id)
    if record is None or record.arn != arn:
        raise ExportNotFoundException(say.EXPORT_NOT_FOUND.format(arn=arn))
    return {"ExportDescription": _description(record)}


class ListExportsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page size and page token."""

    TableArn: members.TableArn | None = None
    MaxResults: Annotated[int, Meta(ge=1, le=limits.TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})] | None = None
    NextToken: str | None = None


async def list_exports(scope: Scope, request: ListExportsRequest) -> Reply:
    """ListExports: list the exports of the last 90 days, the newest first, of tables that still exist.

    Order of checks: member constraints → form and account of the ARN → NextToken. The table need not exist.
    """
    if request.TableArn is not None:
        check_arn(scope, request.TableArn, "ListExports")
    before = _export_of_token(request.NextToken)
    since_seconds = scope.clock.service_time() - limits.TRANSFERS_LISTED_SECONDS
    found = []
    for _, record in kept_exports(scope.documents).walk(scope.account, scope.region):
        table = scope.tables.get(record.table_name)
        if table is None or table.schema.uuid != record.table_uuid or record.started_seconds < since_seconds:
            continue
        if request.TableArn in (None, record.table_arn) and (before is None or record.export_id < before):
            found.append(record)
    found.sort(key=lambda record: record.export_id, reverse=True)
    size = request.MaxResults or limits.TRANSFERS_LISTED_MAX
    listed = found[:size]
    reply: Reply = {"ExportSummaries": [_summary(record) for record in listed]}
    if len(found) > size:
        reply["NextToken"] = base64.urlsafe_b64encode(listed[-1].export_id.encode()).decode()
    return reply


def _summary(record: ExportRecord) -> dict[str, Any]:
    return {
        "ExportArn": record.arn,
        "ExportStatus": record.status,
        "ExportType": record.told.get("ExportType", "FULL_EXPORT"),
    }


def _export_of_token(token: str | None) -> str | None:
    """The id of the export behind which a page begins. Raises ValidationException."""
    if token is None:
        return None
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        raise ValidationException(NEXT_TOKEN_INVALID) from None


OPERATIONS = (
    Operation(
        "ExportTableToPointInTime",
        ExportTableToPointInTimeRequest,
        export_table_to_point_in_time,
        JsonWire(),
        tables=by_table_arn,
        writes=True,
    ),
    Operation("DescribeExport", DescribeExportRequest, describe_export, JsonWire(), tables=by_export_arn),
    Operation("ListExports", ListExportsRequest, list_exports, JsonWire(), tables=by_table_arn),
)
