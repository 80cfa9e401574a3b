"""How is one export made? In steps: `_started`, the data files, the manifests.

A data file is written while its rows are read, and is there whole or not at all; once it is, the export's progress says
so. After a kill the work goes on behind the last file that the progress has, with the same rows as of the same moment,
and writes the file that was begun again, under the same key. The summary manifest comes last.
"""

import base64
import hashlib
from collections.abc import AsyncIterable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

import msgspec

from hashrange.items.row_layout import row_json, row_sizes_bytes
from hashrange.items.rows import decode_attributes, decode_row, part_row
from hashrange.items.types import Item, Key, Row
from hashrange.jobs.job import AT_ONCE
from hashrange.limits import INCREMENTAL_BILLED_BYTES_MIN
from hashrange.messages.transfers import LOG_EXPORT_FAILED, TABLE_DELETED
from hashrange.operations.transfers.export_filters import ExportFilter, compile_export_filter
from hashrange.operations.transfers.export_records import (
    EXPORT_PREFIX,
    DataFile,
    ExportProgress,
    ExportRecord,
    kept_exports,
    whole_filter,
)
from hashrange.operations.transfers.exports import begin_copy
from hashrange.s3.objects import ObjectOptions
from hashrange.store.row_copies import ChangedRow, row_copies_of
from hashrange.tables.span import Span
from hashrange.transfers.flows import Outflow
from hashrange.transfers.formats.ion_text import VERSION_MARK, ion_lines, ion_struct
from hashrange.transfers.formats.json_lines import item_lines
from hashrange.transfers.manifests import manifest_objects
from hashrange.transfers.workshop import LOG, Steps, TransferFailed, Workshop

FILE_BYTES = 64 * 1024 * 1024
"""Text of one data file, before it is compressed: what is read again after a kill."""
READ_BYTES = 256 * 1024
"""Rows that one step reads: about 2 ms with their lines."""
_END = b"\xff" * 8
_encode = msgspec.json.Encoder().encode


class ReadText(NamedTuple):
    """What one step has read."""

    text: bytes
    item_count: int
    size_bytes: int
    """Size of all rows that were read, also of those that the filter leaves out."""
    last_key: Key
    is_last: bool


async def end_other_copies(shop: Workshop, paths: list[str]) -> None:
    """End the copies of rows of exports that are in progress no more. `paths`: of those that are."""
    copies = row_copies_of(shop.store)
    wanted = {f"{EXPORT_PREFIX}{path}" for path in paths}
    for owner in list(copies.owners()):
        if owner.startswith(EXPORT_PREFIX) and owner not in wanted:
            await copies.end(owner)


class ExportWork:
    """The work on one export. Implements `TransferWork`."""

    def __init__(self, workshop: Workshop, record: ExportRecord, progress: ExportProgress) -> None:
        self._shop = workshop
        self._record = record
        self._progress = progress
        self._kept = kept_exports(workshop.store.documents)
        self._copies = row_copies_of(workshop.store)
        self._flow: Outflow | None = None
        self._filter: ExportFilter | None = None
        self._span: Span | None = None

    async def make(self) -> Steps:
        """Implements `TransferWork.make`."""
        record = self._record
        folder = record.manifest_key.removesuffix("manifest-summary.json")
        if not self._progress.files:
            flow = self._begin_object(f"{folder}_started", content=b"")
            while flow.written() is None:
                yield None
        if not self._progress.has_all:
            await self._prepare()
            async with aclosing(self._write_files()) as steps:
                async for pause in steps:
                    yield pause
        await self._copies.end(record.owner)
        while seconds := self._shop.seconds_left(record):
            yield seconds
        done = self._completed()
        for key, content in manifest_objects(done, self._progress.files):
            flow = self._begin_object(key, content=content)
            while flow.written() is None:
                yield None
        await self._kept.conclude(done)

    async def give_up(self) -> None:
        """Implements `TransferWork.give_up`."""
        if self._flow is not None:
            await self._flow.give_up()

    async def _prepare(self) -> None:
        """Begin the copy of the table's rows unless the operation has. Raises TransferFailed."""
        record = self._record
        if self._copies.copy_of(record.owner) is None and not await self._begin_copy():
            raise TransferFailed("TableNotFound", TABLE_DELETED)
        wanted = whole_filter(self._shop.store.documents, record)
        if wanted is not None:
            self._filter = compile_export_filter(wanted)
            self._span = self._filter.span(record.keys)

    async def _begin_copy(self) -> bool:
        """Begin the copy of the table's rows; False if the table has been deleted."""
        record = self._record
        table = self._shop.store.catalog.find_id(record.table_id)
        if table is None or table.schema.uuid != record.table_uuid:
            return False
        return await begin_copy(self._copies, record, table.schema)

    # --- data files -----------------------------------------------------------------------------

    async def _write_files(self) -> Steps:
        is_last = False
        after = Key(self._progress.read_up_to) or _before(self._span)
        while not is_last:
            key = self._data_key(len(self._progress.files))
            flow = self._begin_object(key)
            text_bytes = item_count = size_bytes = 0
            while not is_last and text_bytes < FILE_BYTES:
                if not flow.has_room:
                    yield None
                    continue
                part = await self._read(after)
                after, is_last = part.last_key, part.is_last
                if part.text:
                    flow.add(part.text)
                text_bytes += len(part.text)
                item_count += part.item_count
                size_bytes += part.size_bytes
                yield AT_ONCE
            flow.finish()
            while (written := flow.written()) is None:
                yield None
            file = DataFile(item_count, written.md5, written.etag, key)
            await self._keep_progress(file, after, size_bytes, is_last=is_last)

    async def _keep_progress(self, file: DataFile, read_up_to: Key, size_bytes: int, *, is_last: bool) -> None:
        before = self._progress
        self._progress = ExportProgress(
            (*before.files, file), read_up_to, before.billed_bytes + size_bytes, has_all=is_last
        )
        await self._kept.keep_progress(self._record, self._progress)
        if not is_last:
            await self._copies.passed(self._record.owner, read_up_to)

    def _data_key(self, number: int) -> str:
        """The key of a data file, always the same one."""
        digest = hashlib.sha256(f"{self._record.arn}/{number}".encode()).digest()
        name = base64.b32encode(digest).decode().lower()[:26]
        folder = f"{self._record.transfer_id}/data" if self._record.from_seconds is None else "data"
        suffix = "ion" if self._record.format == "ION" else "json"
        return f"{self._record.root}{folder}/{name}.{suffix}.gz"

    async def _read(self, after: Key) -> ReadText:
        """The next rows as text."""
        if self._record.from_seconds is not None:
            return await self._read_changes(after)
        read = await self._copies.read(self._record.owner, after, READ_BYTES)
        rows, is_last = [row for _, row in read.rows], read.is_last
        if self._span is not None:
            lower, upper = self._span.lower, self._span.upper
            rows = [row for key, row in read.rows if lower <= key < upper]
            is_last = is_last or read.last_key >= upper
        size_bytes = sum(row_sizes_bytes(rows))
        if self._filter is not None:
            rows = [row for row in map(partial(_chosen, self._filter), rows) if row is not None]
        text = (ion_lines if self._record.format == "ION" else item_lines)(rows)
        return ReadText(text, len(rows), size_bytes, read.last_key, is_last)

    async def _read_changes(self, after: Key) -> ReadText:
        read = await self._copies.read_changes(self._record.owner, after, READ_BYTES)
        write = _changed_ion_line if self._record.format == "ION" else _changed_json_line
        has_old = self._record.view_type == "NEW_AND_OLD_IMAGES"
        changes = [one for one in read.rows if one.old is not None or one.new is not None]
        is_last = read.is_last
        if self._span is not None:
            lower, upper = self._span.lower, self._span.upper
            changes = [one for one in changes if lower <= one.key < upper]
            is_last = is_last or read.last_key >= upper
        size_bytes = sum(row_sizes_bytes([row for one in changes for row in (one.old, one.new) if row is not None]))
        lines = []
        for change in changes:
            shown = change if self._filter is None else _chosen_change(self._filter, change)
            if shown is not None:
                lines.append(write(shown, self._keys(change), has_old=has_old))
        return ReadText(b"".join(lines), len(lines), size_bytes, read.last_key, is_last)

    def _keys(self, change: ChangedRow) -> Item:
        row = change.new or change.old
        assert row is not None
        return decode_attributes(row, self._record.keys.names)

    # --- objects --------------------------------------------------------------------------------

    def _begin_object(self, key: str, content: bytes | None = None) -> Outflow:
        """Begin to write an object: of this content as it is, or of texts that are compressed."""
        record = self._record
        objects = self._shop.objects(record)
        options = ObjectOptions(
            encryption="aws:kms" if record.sse == "KMS" else record.sse, kms_key_id=record.kms_key_id or ""
        )

        def write(chunks: AsyncIterable[bytes]) -> Coroutine[Any, Any, str]:
            return objects.write(record.bucket, key, chunks, options, owner=record.bucket_owner)

        self._flow = Outflow(write, self._shop.flows, is_compressed=content is None)
        if content is not None:
            if content:
                self._flow.add(content)
            self._flow.finish()
        return self._flow

    # --- the end --------------------------------------------------------------------------------

    def _completed(self) -> ExportRecord:
        billed_bytes = self._progress.billed_bytes
        if self._record.from_seconds is not None:
            billed_bytes = max(billed_bytes, INCREMENTAL_BILLED_BYTES_MIN)
        return msgspec.structs.replace(
            self._record,
            status="COMPLETED",
            ended_seconds=self._shop.clock.service_time(),
            item_count=sum([file.item_count for file in self._progress.files]),
            billed_bytes=billed_bytes,
        )

    async def fail(self, code: str, message: str) -> None:
        """Implements `TransferWork.fail`."""
        LOG.warning(LOG_EXPORT_FAILED, self._record.arn, code, message)
        await self._copies.end(self._record.owner)
        now_seconds = self._shop.clock.service_time()
        await self._kept.conclude(
            msgspec.structs.replace(
                self._record, status="FAILED", ended_seconds=now_seconds, failure_code=code, failure_message=message
            )
        )


def _before(span: Span | None) -> Key:
    """A key below those of the span, with hardly any rows between."""
    if span is None or not span.lower:
        return Key(b"")
    *front, last = span.lower
    return Key(bytes(front)) if not last else Key(bytes((*front, last - 1)) + _END)


def _chosen(wanted: ExportFilter, row: Row) -> Row | None:
    """What the filter leaves of a row; None if it does not choose it."""
    item = decode_row(row)
    if not wanted.chooses(item):
        return None
    return row if wanted.projection is None else part_row(wanted.projection.project(item))


def _chosen_change(wanted: ExportFilter, change: ChangedRow) -> ChangedRow | None:
    """A change of whose row, as it is behind it or was before it, the filter chooses."""
    row = change.new or change.old
    assert row is not None
    if not wanted.chooses(decode_row(row)):
        return None
    if wanted.projection is None:
        return change
    project = wanted.projection.project
    old, new = [None if one is None else part_row(project(decode_row(one))) for one in (change.old, change.new)]
    return change._replace(old=old, new=new)


# --- lines of changes -----------------------------------------------------------------------------
#
#     {"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"OldImage":{…},"NewImage":{…}}
#     $ion_1_0 {Record:{Metadata:{WriteTimestampMicros:….},Keys:{…},OldImage:{…},NewImage:{…}}}
#
# Images that a row does not have, and OldImage with the view NEW_IMAGE, are left out. The form in Ion is (unconfirmed).
# Source: global-tables-backup.md 3.3.


def _images(change: ChangedRow, *, has_old: bool) -> Sequence[tuple[str, Row]]:
    shown = (("OldImage", change.old if has_old else None), ("NewImage", change.new))
    return [(name, row) for name, row in shown if row is not None]


def _micros(change: ChangedRow) -> int:
    return round(change.at_seconds * 1000) * 1000


def _changed_json_line(change: ChangedRow, keys: Item, *, has_old: bool) -> bytes:
    """The line of a change as DynamoDB JSON. `has_old`: with the row before it."""
    head = b'{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":' % _micros(change)
    parts = [head, _encode(keys)]
    for name, row in _images(change, has_old=has_old):
        parts += [b',"%b":' % name.encode(), row_json(row)]
    return b"".join((*parts, b"}\n"))


def _changed_ion_line(change: ChangedRow, keys: Item, *, has_old: bool) -> bytes:
    """The line of a change as Ion text."""
    parts = [f"Metadata:{{WriteTimestampMicros:{_micros(change)}.}}", f"Keys:{ion_struct(keys)}"]
    parts += [f"{name}:{ion_struct(decode_row(row))}" for name, row in _images(change, has_old=has_old)]
    return f"{VERSION_MARK}{{Record:{{{','.join(parts)}}}}}\n".encode()
