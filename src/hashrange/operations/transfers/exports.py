"""The operations on exports: ExportTableToPointInTime, DescribeExport, ListExports.

A request is accepted once it is valid, recovery is on and the times are in its window; what S3 refuses becomes the
FailureCode of an export that has FAILED. A job makes exports (`transfers/export_work.py`).
Source: backups-observed.md 4.
"""

import base64
import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    ValidationException,
)
from hashrange.items.rows import part_row
from hashrange.items.types import Row
from hashrange.messages import transfers as say
from hashrange.messages.other_services import NEXT_TOKEN_INVALID
from hashrange.operations.backups.continuous_backups import RestorableTimes, backed_up_table, restorable_times
from hashrange.operations.lasting import Lasting, lasting_since_now
from hashrange.operations.lookup import check_arn
from hashrange.operations.naming import by_export_arn, by_table_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply, Structure
from hashrange.operations.tables import members
from hashrange.operations.transfers.export_filters import check_export_filter, compile_export_filter
from hashrange.operations.transfers.export_records import (
    EXPORT_JOB,
    ExportFormat,
    ExportProgress,
    ExportRecord,
    ExportType,
    ExportViewType,
    FilterSpecification,
    IncrementalExportSpecification,
    kept_exports,
)
from hashrange.operations.transfers.transfer_records import BucketName, BucketOwner, KeyPrefix, KmsKeyId, S3SseAlgorithm
from hashrange.operations.transfers.transfer_requests import (
    TransferArn,
    TransfersListed,
    TransferToken,
    digest_without_token,
    new_transfer_id,
    require_objects,
)
from hashrange.store.records import RecordChange
from hashrange.store.row_copies import RowCopies
from hashrange.tables.schema import Table

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
    require_objects(scope)
    table = await backed_up_table(scope, request.TableArn)
    times = restorable_times(scope, table)
    if wanted is not None:
        check_export_filter(scope.tables[table.name], wanted)
    now_seconds = scope.clock.service_time()
    exports = kept_exports(scope.documents)
    earlier = exports.earlier_use(scope, request.ClientToken, now_seconds)
    if earlier is not None:
        if earlier.digest != digest_without_token(request):
            raise ExportConflictException(say.EXPORT_CONFLICT)
        return {"ExportDescription": _description(scope, earlier, is_whole=True)}
    _check_times(request, table, times, now_seconds)
    exports.require_room(scope, limits.EXPORTS_AT_ONCE_MAX, say.TOO_MANY_EXPORTS)
    record = _record(request, table, now_seconds, lasting_since_now(scope, table.name, "ExportTableToPointInTime"))
    values = None if request.FilterSpecification is None else request.FilterSpecification.ExpressionAttributeValues
    kept_values = [] if values is None else [RecordChange(record.values_name, part_row(values))]
    await exports.begin(record, ExportProgress(), *kept_values)
    try:
        await begin_copy(scope.row_copies, record, table)
    finally:
        scope.wake_job(EXPORT_JOB)  # which otherwise begins the copy
    return {"ExportDescription": _description(scope, record, is_whole=True)}


async def begin_copy(copies: RowCopies, record: ExportRecord, table: Table) -> bool:
    """Let the rows of the export's moment be kept from now on; False if the table has been deleted. After a kill before
    this, the job does it.
    """
    if record.from_seconds is None:
        return await copies.begin(record.owner, table, record.at_seconds) is not None
    return await copies.begin_of_changes(record.owner, table, record.from_seconds, record.at_seconds) is not None


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


def _record(
    request: ExportTableToPointInTimeRequest, table: Table, now_seconds: float, lasting: Lasting | None
) -> ExportRecord:
    """The record of a new export."""
    window, wanted = request.IncrementalExportSpecification, request.FilterSpecification
    from_seconds = None if window is None else window.ExportFromTime
    at_seconds = request.ExportTime if window is None else window.ExportToTime
    at_seconds = now_seconds if at_seconds is None else at_seconds
    told = msgspec.to_builtins(msgspec.structs.replace(request, FilterSpecification=None))
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
        table.account,
        table.region,
        table.name,
        table.uuid,
        told["ClientToken"],
        now_seconds,
        transfer_id=new_transfer_id(now_seconds),
        table_id=table.table_id,
        keys=table.keys,
        digest=digest_without_token(request),
        at_seconds=at_seconds,
        bucket=request.S3Bucket,
        told=told,
        bucket_owner=request.S3BucketOwner or "",
        prefix=request.S3Prefix,
        sse=told["S3SseAlgorithm"],
        kms_key_id=request.S3SseKmsKeyId,
        format=told["ExportFormat"],
        from_seconds=from_seconds,
        view_type=view_type,
        filter=None if wanted is None else msgspec.structs.replace(wanted, ExpressionAttributeValues=None),
        lasting=lasting,
    )


def _description(scope: Scope, record: ExportRecord, *, is_whole: bool = False) -> Structure:
    """An export as it is told. `is_whole`: with the type of an export whose request had none. Raises StorageError."""
    described = Structure(
        {
            "ExportArn": record.arn,
            "ExportStatus": record.status,
            "StartTime": record.started_seconds,
            "TableArn": record.table_arn,
            "TableId": record.table_uuid,
            "DestinationType": "S3",
        }
    )
    described.update({name: value for name, value in record.told.items() if name != "TableArn"})
    if record.filter is not None:
        told_filter = described["FilterSpecification"] = Structure(msgspec.to_builtins(record.filter))
        values = scope.documents.get(record.values_name)
        if values is not None:
            told_filter["ExpressionAttributeValues"] = Row(values)
    if is_whole:
        described.setdefault("ExportType", "FULL_EXPORT")
    if record.status != "IN_PROGRESS":
        described["EndTime"] = record.ended_seconds
    if record.status == "COMPLETED":
        described["ExportManifest"] = record.manifest_key
        described["BilledSizeBytes"], described["ItemCount"] = record.billed_bytes, record.item_count
    elif record.failure_code is not None:
        described["FailureCode"], described["FailureMessage"] = record.failure_code, record.failure_message
    return described


# --- DescribeExport, ListExports --------------------------------------------------------------------


class DescribeExportRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The export."""

    ExportArn: TransferArn


async def describe_export(scope: Scope, request: DescribeExportRequest) -> Reply:
    """DescribeExport: tell of one export, also of a table that is gone.

    Order of checks: member constraints → the export exists.
    """
    arn = request.ExportArn
    record = kept_exports(scope.documents).named(scope, arn)
    if record is None:
        raise ExportNotFoundException(say.EXPORT_NOT_FOUND.format(arn=arn))
    return {"ExportDescription": _description(scope, record)}


class ListExportsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page size and page token."""

    TableArn: members.TableArn | None = None
    MaxResults: TransfersListed | None = None
    NextToken: str | None = None


async def list_exports(scope: Scope, request: ListExportsRequest) -> Reply:
    """ListExports: list the exports of the last 90 days, the newest first, of tables that still exist.

    Order of checks: member constraints → form and account of the ARN → NextToken. The table need not exist.
    """
    if request.TableArn is not None:
        check_arn(scope, request.TableArn, "ListExports")
    before = _export_of_token(request.NextToken)

    def is_wanted(record: ExportRecord) -> bool:
        table = scope.tables.get(record.table_name)
        is_there = table is not None and table.schema.uuid == record.table_uuid
        return is_there and request.TableArn in (None, record.table_arn)

    size = request.MaxResults or limits.TRANSFERS_LISTED_MAX
    listed, has_more = kept_exports(scope.documents).page(scope, before, size, is_wanted)
    reply: Reply = {"ExportSummaries": [_summary(record) for record in listed]}
    if has_more:
        reply["NextToken"] = base64.urlsafe_b64encode(listed[-1].transfer_id.encode()).decode()
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
        JsonWire(reaches_out=True),
        tables=by_table_arn,
        writes=True,
    ),
    Operation("DescribeExport", DescribeExportRequest, describe_export, JsonWire(), tables=by_export_arn),
    Operation("ListExports", ListExportsRequest, list_exports, JsonWire(), tables=by_table_arn),
)
