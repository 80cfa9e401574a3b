"""How is one bulk put done? The objects below the prefix are read one after the other; each item is put as by PutItem,
with its condition, into the table that is there, so that streams, indexes and time to live see it.

Reports have a line for each record that could not be put: those with errors, and those whose condition was false. Lines
wait in documents until they fill an object of the report; they are kept together with the place up to which has been
read. After a kill, records behind that place are put again. A condition that is false then, of an item that is already
there as it was to be put, counts as true, because this bulk put has put it.

A bulk put that fails keeps why, and then writes the lines that it has; its reports tell of all records that it counts.
"""

import json
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import ApiError, ConditionalCheckFailedException, Malformed, ResourceNotFoundException
from hashrange.items.row_layout import is_same_item, row_json, row_size_bytes
from hashrange.items.rows import encode_row
from hashrange.items.types import Key, Row
from hashrange.messages import transfers as say
from hashrange.operations.items.actions import Action, plan_action, requested_action
from hashrange.operations.items.write_item import PUT_RULES
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
from hashrange.store.records import RecordChange
from hashrange.tables.capacity import change_units, index_units, write_units
from hashrange.tables.change import Change, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.states import serves_items
from hashrange.transfers.bulk_lines import record_reader, request_in
from hashrange.transfers.flows import Outflow
from hashrange.transfers.formats.lines import FaultyLine, ReadItem
from hashrange.transfers.reading import ObjectsReading, ObjectsToRead
from hashrange.transfers.workshop import LOG, LOGGED_MAX, Steps, TransferFailed, Workshop, as_failed

BATCH_ITEMS, BATCH_BYTES = 64, 128 * 1024
"""Items that one step puts, and their sizes: 2 ms for small items without indexes."""
REPORT_BYTES = 4 * 1024 * 1024
"""Lines of a report that fill an object."""
_ERROR, _CONDITION = "ERROR", "CONDITION_CHECK_FAILURE"
_encode = msgspec.json.Encoder().encode


class ToPut(NamedTuple):
    """A record that fits its table."""

    object_key: str
    line: int
    action: Action
    key: Key
    plan: Plan


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
        self._reading = ObjectsReading(self._objects, wanted, progress.place, self, workshop.flows)
        self._batch: list[ToPut] = []
        self._batch_bytes = 0
        self._rate = WriteRate(record.max_units, workshop.clock)
        self._counts = _copied(progress.counts or BulkCounts())
        """Those of all that has been read so far."""
        self._lines: dict[str, list[bytes]] = {_ERROR: [], _CONDITION: []}
        """Lines of reports since the place was kept."""
        self._kept: dict[str, bytes] = {}
        """Lines in documents, which are in no object yet."""
        self._flow: Outflow | None = None
        self._logged = 0

    async def make(self) -> Steps:
        """Implements `TransferWork.make`."""
        documents = self._shop.store.documents
        for kind in self._lines:
            self._kept[kind] = documents.get(report_name(self._record, kind)) or b""
        if self._progress.failure is None:
            try:
                async with aclosing(self._read_all()) as steps:
                    async for pause in steps:
                        yield pause
            except (S3Failure, TransferFailed) as failure:
                failed = as_failed(failure)
                self._progress = msgspec.structs.replace(self._progress, failure=(failed.code, failed.message))
        await self.keep(self._progress.place, 0)
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
        async with aclosing(self._reading.steps()) as steps:
            async for pause in steps:
                yield pause
                while (seconds := self._rate.seconds_left()) and not self._is_cancelled():
                    yield seconds
                if self._is_cancelled():
                    await self._reading.give_up()
                    return
                if max(map(len, self._kept.values())) >= REPORT_BYTES:
                    async with aclosing(self._write_reports()) as others:
                        async for waits in others:
                            yield waits

    def _is_cancelled(self) -> bool:
        record = self._kept_puts.records.get(*self._record.path)
        return record is None or record.status == "CANCELLING"

    async def _count_objects(self) -> Steps:
        """Find out how many bytes all objects have, and note that items may be put from now on."""
        listing = self._reading.list_objects()
        total_bytes = 0
        while not listing.is_over:
            info = listing.take()
            if info is None:
                yield None
            else:
                total_bytes += info.size_bytes
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

    def take(self, key: str, line: int, read: ReadItem) -> None:
        """Implements `Sink.take`."""
        if isinstance(read, FaultyLine):
            self.note_damage(key, line, read.reason)
            return
        request = request_in(read)
        table = self._table()
        try:
            action = requested_action("put", PUT_RULES, request, request.Item)
            self._batch.append(ToPut(key, line, action, *plan_action(table, action)))
            self._batch_bytes += action.size_bytes
        except ApiError as refused:
            self._note_error(key, line, str(refused), request.Item)
        except Malformed:
            self._note_error(key, line, say.NOT_AN_ITEM, request.Item)

    def note_damage(self, key: str, line: int, reason: str) -> None:
        """Implements `Sink.note_damage`."""
        self._note_error(key, line, reason, None)

    def count_bytes(self, text_bytes: int, object_bytes: int) -> None:
        """Implements `Sink.count_bytes`."""
        self._counts.input_bytes += object_bytes

    async def write(self) -> None:
        """Implements `Sink.write`."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        table = self._table()
        for one in batch:
            try:
                change = await settled(self._shop.store.mutate(table, one.key, one.plan))
            except ConditionalCheckFailedException as refused:
                self._rate.take(write_units(refused.size_bytes, 0))
                self._note_refused(one, refused.members.get("Item"))
            except ResourceNotFoundException:
                raise TransferFailed("ResourceNotFoundException", say.BULK_TABLE_GONE) from None
            except ApiError as refused:
                self._note_error(one.object_key, one.line, str(refused), one.action.item)
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
            if new is not None and source.index is not None:
                name = source.index.name
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
            told: dict[str, Any] = {"ObjectKey": one.object_key, "Line": one.line, "Item": one.action.item}
            if row is not None:
                told["ExistingItem"] = msgspec.Raw(row_json(row))
            self._lines[_CONDITION].append(_encode(told) + b"\n")

    def _note_error(self, key: str, line: int, reason: str, item: Any) -> None:
        self._counts.processed += 1
        self._counts.failed += 1
        self._logged += 1
        if self._logged <= LOGGED_MAX:
            LOG.warning(say.LOG_RECORD_REFUSED, self._record.arn, key, line, reason)
        if _ERROR in self._record.output.OutputType:
            told = {"ObjectKey": key, "Line": line, "ErrorMessage": reason}
            self._lines[_ERROR].append(_error_line(told if item is None else told | {"Item": item}))

    # --- progress ---------------------------------------------------------------------------------

    async def keep(self, place: ReadingPlace, text_bytes: int) -> None:
        """Implements `Sink.keep`."""
        self._progress = msgspec.structs.replace(self._progress, counts=_copied(self._counts), place=place)
        for kind, lines in self._lines.items():
            self._kept[kind] += b"".join(lines)
            lines.clear()
        self._may_repeat = False
        await self._keep_progress()

    async def _keep_progress(self) -> None:
        """Keep the progress, and the lines of reports that belong to it."""
        reports = [
            RecordChange(report_name(self._record, kind), lines or None, None) for kind, lines in self._kept.items()
        ]
        await self._kept_puts.keep_progress(self._record, self._progress, *reports)

    # --- reports ----------------------------------------------------------------------------------

    async def _write_reports(self) -> Steps:
        """Write an object of each report that has lines which were kept."""
        output = self._record.output
        bucket = output.S3Bucket or self._record.source.S3Bucket
        encryption = "aws:kms" if output.S3SseAlgorithm == "KMS" else output.S3SseAlgorithm or ""
        options = ObjectOptions(encryption=encryption, kms_key_id=output.S3SseKmsKeyId or "")
        for kind, lines in list(self._kept.items()):
            if not lines:
                continue
            number = self._progress.parts.get(kind, 0)
            key = f"{self._record.report_root}{kind.lower().replace('_', '-')}/{number:06d}.json.gz"

            def write(chunks: Any, key: str = key) -> Any:
                return self._objects.write(bucket, key, chunks, options, owner=output.S3BucketOwner or "")

            self._flow = flow = Outflow(write, self._shop.flows, is_compressed=True)
            flow.add(lines)
            flow.finish()
            while flow.written() is None:
                yield None
            self._kept[kind] = b""
            parts = {**self._progress.parts, kind: number + 1}
            self._progress = msgspec.structs.replace(self._progress, parts=parts)
            await self._keep_progress()

    # --- the end ----------------------------------------------------------------------------------

    async def _conclude(self, status: TransferStatus, code: str | None = None, message: str | None = None) -> None:
        """Keep that it has ended, and drop what is left of its reports."""
        record = msgspec.structs.replace(
            self._record,
            status=status,
            ended_seconds=self._shop.clock.service_time(),
            counts=self._counts,
            total_bytes=self._progress.total_bytes,
            failure_code=code,
            failure_message=message,
        )
        await self._kept_puts.conclude(record, *[RecordChange(report_name(record, kind), None) for kind in self._lines])


def _copied(counts: BulkCounts) -> BulkCounts:
    return msgspec.structs.replace(counts, index_bytes=dict(counts.index_bytes))


def _error_line(told: dict[str, Any]) -> bytes:
    """A line of the report of errors. What UTF-8 cannot hold, half of a surrogate pair, is escaped, as it came."""
    try:
        return _encode(told) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(told)).encode() + b"\n"
