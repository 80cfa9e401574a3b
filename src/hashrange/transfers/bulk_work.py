"""How is one bulk put done? The objects below the prefix are read one after the other; each item is put as by PutItem,
with its condition, into the table that is there, so that streams, indexes and time to live see it.

Reports have a line for each record that could not be put: those with errors, and those whose condition was false. Lines
wait until they fill an object of the report (`bulk_reports.py`); they are kept together with the place up to which has
been read. After a kill, records behind that place are put again. A condition that is false then, of an item that is
already there as it was to be put, counts as true, because this bulk put has put it.

A bulk put that fails keeps why, and then writes the lines that it has; its reports tell of all records that it counts.
"""

from collections import deque
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import msgspec

from hashrange import limits
from hashrange.clock import Clock
from hashrange.errors import ApiError, ConditionalCheckFailedException, Malformed, ResourceNotFoundException
from hashrange.items.row_layout import is_same_item, row_json, row_size_bytes
from hashrange.items.rows import encode_row
from hashrange.items.steps import look
from hashrange.items.types import Key, Row
from hashrange.messages import transfers as say
from hashrange.operations.items.actions import Action, plan_action, requested_action
from hashrange.operations.items.write_item import PUT_RULES, PutItemRequest
from hashrange.operations.transfers.bulk_records import (
    BulkCounts,
    BulkProgress,
    BulkRecord,
    kept_bulk_puts,
    report_name,
)
from hashrange.operations.transfers.import_records import ReadingPlace
from hashrange.operations.transfers.transfer_records import TransferStatus
from hashrange.s3.objects import ObjectOptions, S3Failure
from hashrange.soon import settled
from hashrange.tables.capacity import change_units, index_units, write_units
from hashrange.tables.change import Change, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.states import serves_items
from hashrange.transfers.bulk_lines import record_reader, request_in
from hashrange.transfers.bulk_reports import NEW_LINES_BYTES, ReportLines
from hashrange.transfers.flows import Outflow
from hashrange.transfers.formats.lines import FaultyLine
from hashrange.transfers.reading import (
    FREED_BYTES,
    LinePlace,
    ObjectsReading,
    ObjectsToRead,
    ReadBytes,
    ReadItems,
    place_before,
    require_few_objects,
)
from hashrange.transfers.workshop import LOG, LOGGED_MAX, Steps, TransferFailed, Workshop, as_failed
from hashrange.wire.piecewise import free_request

BATCH_ITEMS, BATCH_BYTES = 64, 128 * 1024
"""Records that one step puts or refuses, and the bytes of items and of lines of reports: 2 ms for small items without
indexes."""
_ERROR, _CONDITION = "ERROR", "CONDITION_CHECK_FAILURE"
_encode = msgspec.json.Encoder().encode


class ToPut(NamedTuple):
    """A record that fits its table."""

    at: LinePlace
    action: Action
    key: Key
    plan: Plan
    request: PutItemRequest


class RefusedRecord(NamedTuple):
    """A record that does not."""

    at: LinePlace
    line: bytes
    """That of the report."""


class WriteRate:
    """Keeps the writes of one bulk put to so many write units a second of service time. A batch is written whole, and
    the next one begins when its units are over.
    """

    def __init__(self, units_per_second: int | None, clock: Clock) -> None:
        self._seconds_per_unit = 0.0 if units_per_second is None else 1 / units_per_second
        self._clock = clock
        self._free_seconds = 0.0
        """When the next batch may begin."""

    def take(self, units: float) -> None:
        """Use units."""
        self._free_seconds = max(self._free_seconds, self._clock.service_time()) + units * self._seconds_per_unit

    def seconds_left(self) -> float:
        """The seconds until the next batch may begin."""
        return max(0.0, self._free_seconds - self._clock.service_time())


class BulkWork:
    """The work on one bulk put. Implements `TransferWork` and `Sink`."""

    def __init__(self, workshop: Workshop, record: BulkRecord, progress: BulkProgress) -> None:
        self._shop = workshop
        self._record = record
        self._progress = progress
        self._kept_puts = kept_bulk_puts(workshop.store.documents)
        self._may_repeat = progress.has_begun
        """True if records may have been put before by this bulk put."""
        source = record.source
        wanted = ObjectsToRead(source, source.InputCompressionType or "NONE", record_reader(source.InputFormat))
        self._objects = workshop.objects(record)
        self._reading = ObjectsReading(self._objects, wanted, progress.place, workshop.flows)
        self._batch: deque[ToPut | RefusedRecord] = deque()
        self._batch_bytes = 0
        self._rate = WriteRate(record.max_units, workshop.clock)
        self._counts = _copied(progress.counts or BulkCounts())
        """Those of all that has been read so far."""
        self._reports = {kind: ReportLines(report_name(record, kind)) for kind in (_ERROR, _CONDITION)}
        self._flow: Outflow | None = None
        self._logged = 0

    async def make(self) -> Steps:
        """Implements `TransferWork.make`."""
        for report in self._reports.values():
            report.load(self._shop.store.documents)
        if self._progress.failure is None:
            try:
                async with aclosing(self._read_all()) as steps:
                    async for pause in steps:
                        yield pause
            except (S3Failure, TransferFailed) as failure:
                failed = as_failed(failure)
                self._progress = msgspec.structs.replace(self._progress, failure=(failed.code, failed.message))
        await self._keep(self._progress.place)
        async with aclosing(self._write_reports()) as steps:
            async for pause in steps:
                yield pause
        if self._progress.failure is not None:
            await self.fail(*self._progress.failure)
            return
        while (seconds := self._shop.seconds_left(self._record)) and not self._is_cancelled():
            yield seconds
        if self._is_cancelled():
            await self._conclude("CANCELLED", "Cancelled", say.BULK_PUT_CANCELLED)
        else:
            await self._conclude("COMPLETED_WITH_ERRORS" if self._counts.failed else "COMPLETED")

    async def fail(self, code: str, message: str) -> None:
        """Implements `TransferWork.fail`. What has failed first is told, if reports could not be written either."""
        code, message = self._progress.failure or (code, message)
        LOG.warning(say.LOG_BULK_PUT_FAILED, self._record.arn, code, message)
        await self._conclude("FAILED", code, message)

    async def give_up(self) -> None:
        """Implements `TransferWork.give_up`."""
        await self._reading.give_up()
        if self._flow is not None:
            await self._flow.give_up()

    async def _read_all(self) -> Steps:
        """Count the objects, and put all records that have not been put."""
        if self._progress.total_bytes is None:
            async with aclosing(self._count_objects()) as steps:
                async for pause in steps:
                    yield pause
        if not self._progress.place.has_all:
            async with aclosing(self._put_all()) as steps:
                async for pause in steps:
                    yield pause

    async def _put_all(self) -> Steps:
        """Read and put all records, until the bulk put is cancelled."""
        async with aclosing(self._reading.steps(self)) as steps:
            async for pause in steps:
                yield pause
                while (seconds := self._rate.seconds_left()) and not self._is_cancelled():
                    yield seconds
                if self._is_cancelled():
                    await self._reading.give_up()
                    return
                if any(report.is_full for report in self._reports.values()):
                    async with aclosing(self._write_reports()) as others:
                        async for waits in others:
                            yield waits

    def _is_cancelled(self) -> bool:
        record = self._kept_puts.records.get(*self._record.path)
        return record is None or record.status == "CANCELLING"

    async def _count_objects(self) -> Steps:
        """Find out how many bytes all objects have, and note that items may be put from now on. Raises TransferFailed
        for more objects, or larger ones, than a bulk put reads.
        """
        listing = self._reading.list_objects()
        count = total_bytes = 0
        while not listing.is_over:
            info = listing.take()
            if info is None:
                yield None
                continue
            count += 1
            total_bytes += info.size_bytes
            require_few_objects(count)
            if info.size_bytes > limits.BULK_OBJECT_BYTES_MAX:
                message = say.OBJECT_TOO_LARGE.format(key=info.key, limit=limits.BULK_OBJECT_BYTES_MAX)
                raise TransferFailed("S3ObjectTooLarge", message)
        self._progress = msgspec.structs.replace(self._progress, total_bytes=total_bytes, has_begun=True)
        await self._keep_progress()

    # --- what is read -----------------------------------------------------------------------------

    def _table(self) -> OpenTable:
        """The table. Raises TransferFailed if it serves no items any more."""
        table = self._shop.store.catalog.find_id(self._record.table_id)
        is_there = table is not None and table.schema.uuid == self._record.table_uuid
        if table is None or not is_there or not serves_items(table.schema, self._shop.clock.service_time()):
            raise TransferFailed("ResourceNotFoundException", say.BULK_TABLE_GONE)
        return table

    @property
    def is_full(self) -> bool:
        """Implements `Sink.is_full`."""
        return len(self._batch) >= BATCH_ITEMS or self._batch_bytes >= BATCH_BYTES

    @property
    def has_taken(self) -> bool:
        """Implements `Sink.has_taken`."""
        return bool(self._batch)

    def take(self, read: ReadItems) -> None:
        """Implements `Sink.take`."""
        at = read.first
        (record,) = read.items
        if isinstance(record, FaultyLine):
            self.note_damage(at, record.reason)
            return
        request = request_in(record)
        table = self._table()
        try:
            action = requested_action("put", PUT_RULES, request, request.Item)
            self._batch.append(ToPut(at, action, *plan_action(table, action), request))
            self._batch_bytes += action.size_bytes
            return
        except ApiError as refused:
            reason = str(refused)
        except Malformed:
            reason = say.NOT_AN_ITEM
        self._refuse(at, reason, request.Item)
        free_request(request)

    def note_damage(self, at: LinePlace, reason: str) -> None:
        """Implements `Sink.note_damage`."""
        self._refuse(at, reason, None)

    def count_bytes(self, read: ReadBytes) -> None:
        """Implements `Sink.count_bytes`."""
        self._counts.input_bytes += read.compressed

    async def write(self) -> None:
        """Implements `Sink.write`. Stops when there are many lines of reports, which may be long."""
        table = self._table()
        while self._batch:
            if sum(report.new_bytes for report in self._reports.values()) >= NEW_LINES_BYTES:
                await self._keep(place_before(self._batch[0].at, self._progress.place))
                return
            one = self._batch.popleft()
            if isinstance(one, RefusedRecord):
                self._note_error(one.line)
            else:
                await self._put(table, one)
                if one.action.size_bytes >= FREED_BYTES:
                    free_request(one.request)
        self._batch_bytes = 0

    async def _put(self, table: OpenTable, one: ToPut) -> None:
        try:
            change = await settled(self._shop.store.mutate(table, one.key, one.plan))
        except ConditionalCheckFailedException as refused:
            self._rate.take(write_units(refused.size_bytes, 0))
            self._note_refused(one, refused.members.get("Item"))
        except ResourceNotFoundException:
            raise TransferFailed("ResourceNotFoundException", say.BULK_TABLE_GONE) from None
        except ApiError as refused:
            self._log_error(one.at, str(refused))
            self._note_error(_error_line(one.at, str(refused), one.action.item))
        else:
            self._note_put(change)

    def _note_put(self, change: Change) -> None:
        counts = self._counts
        counts.processed += 1
        local = [units for index, units in index_units(change.entries) if not index.is_global]
        self._rate.take(change_units(change) + sum(local))
        if change.new is not None:
            counts.table_bytes += row_size_bytes(change.new)
        for source, _, new in change.entries:
            index = source.index if source.vectors is None else source.vectors.index
            if new is not None and index is not None:
                name = index.name
                counts.index_bytes[name] = counts.index_bytes.get(name, 0) + row_size_bytes(new.row)

    def _note_refused(self, one: ToPut, present: Any) -> None:
        """Note that a condition was false."""
        row = Row(present) if isinstance(present, bytes) else None
        self._counts.processed += 1
        if (
            self._may_repeat
            and row is not None
            and is_same_item(row, encode_row(one.action.item, one.action.size_bytes))
        ):
            return
        self._counts.refused += 1
        if _CONDITION in self._record.output.OutputType:
            told: dict[str, Any] = {"ObjectKey": one.at.object_key, "Line": one.at.line, "Item": one.action.item}
            look()
            if row is not None:
                told["ExistingItem"] = msgspec.Raw(row_json(row))
            self._reports[_CONDITION].add(_encode(told) + b"\n")

    def _refuse(self, at: LinePlace, reason: str, item: Any) -> None:
        """Take a record that is refused."""
        self._log_error(at, reason)
        is_told = _ERROR in self._record.output.OutputType
        refused = RefusedRecord(at, _error_line(at, reason, item) if is_told else b"")
        self._batch.append(refused)
        self._batch_bytes += len(refused.line)

    def _log_error(self, at: LinePlace, reason: str) -> None:
        self._logged += 1
        if self._logged <= LOGGED_MAX:
            LOG.warning(say.LOG_RECORD_REFUSED, self._record.arn, at.object_key, at.line, reason)

    def _note_error(self, line: bytes) -> None:
        """Note an error, with its line of the report."""
        self._counts.processed += 1
        self._counts.failed += 1
        if _ERROR in self._record.output.OutputType:
            self._reports[_ERROR].add(line)

    # --- progress ---------------------------------------------------------------------------------

    async def keep(self, place: ReadingPlace, read: ReadBytes) -> None:
        """Implements `Sink.keep`."""
        self._may_repeat = False
        self._progress = msgspec.structs.replace(self._progress, begun_bytes=read.compressed)
        await self._keep(place)

    async def _keep(self, place: ReadingPlace) -> None:
        """Keep a place, and what belongs to it."""
        self._progress = msgspec.structs.replace(self._progress, counts=_copied(self._counts), place=place)
        await self._keep_progress()

    async def _keep_progress(self) -> None:
        """Keep the progress, and the lines of reports that belong to it."""
        changes = [change for report in self._reports.values() for change in report.kept()]
        await self._kept_puts.keep_progress(self._record, self._progress, *changes)

    # --- reports ----------------------------------------------------------------------------------

    async def _write_reports(self) -> Steps:
        """Write an object of each report that has lines which were kept."""
        output = self._record.output
        bucket = output.S3Bucket or self._record.source.S3Bucket  # earlier versions kept records without one
        encryption = "aws:kms" if output.S3SseAlgorithm == "KMS" else output.S3SseAlgorithm or ""
        options = ObjectOptions(encryption=encryption, kms_key_id=output.S3SseKmsKeyId or "")
        for kind, report in self._reports.items():
            if not report.texts:
                continue
            number = self._progress.parts.get(kind, 0)
            key = f"{self._record.report_root}{kind.lower().replace('_', '-')}/{number:06d}.json.gz"

            def write(chunks: Any, key: str = key) -> Any:
                return self._objects.write(bucket, key, chunks, options, owner=output.S3BucketOwner or "")

            self._flow = flow = Outflow(write, self._shop.flows, is_compressed=True)
            for text in report.texts:
                flow.add(text)
            flow.finish()
            while flow.written() is None:
                yield None
            parts = {**self._progress.parts, kind: number + 1}
            self._progress = msgspec.structs.replace(self._progress, parts=parts)
            await self._kept_puts.keep_progress(self._record, self._progress, *report.removed())

    # --- the end ----------------------------------------------------------------------------------

    async def _conclude(self, status: TransferStatus, code: str | None = None, message: str | None = None) -> None:
        """Keep that it has ended, and drop what is left of its reports."""
        input_bytes = self._counts.input_bytes + self._progress.begun_bytes
        record = msgspec.structs.replace(
            self._record,
            status=status,
            ended_seconds=self._shop.clock.service_time(),
            counts=msgspec.structs.replace(self._counts, input_bytes=input_bytes),
            total_bytes=self._progress.total_bytes,
            failure_code=code,
            failure_message=message,
        )
        removed = [change for report in self._reports.values() for change in report.removed()]
        await self._kept_puts.conclude(record, *removed)


def _error_line(at: LinePlace, reason: str, item: Any) -> bytes:
    """The line of a report for a record with an error. `item`: None if it could not be read. Half of a surrogate pair,
    which JSON can have and UTF-8 cannot, leaves the item out.
    """
    told = {"ObjectKey": at.object_key, "Line": at.line, "ErrorMessage": reason}
    look()
    if item is not None:
        with suppress(UnicodeEncodeError):
            return _encode(told | {"Item": item}) + b"\n"
    return _encode(told) + b"\n"


def _copied(counts: BulkCounts) -> BulkCounts:
    return msgspec.structs.replace(counts, index_bytes=dict(counts.index_bytes))
