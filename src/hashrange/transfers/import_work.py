"""How is one import made? A table is made that nobody sees; the objects below the prefix are read one after the other,
in the order of their keys, and their items are put into it, many in one commit; then the table is shown.

Its index entries are written in the same commits. The progress says up to which line objects have been read; after a
kill, lines behind it are read again, and the same rows are put once more. Of several items with one key the last stays.
A line that cannot be read is counted as an error, and logged with its place; one that is damaged ends its object.
"""

from collections.abc import Callable, Collection
from contextlib import aclosing, suppress

import msgspec

from hashrange.errors import Malformed, ResourceNotFoundException, ValidationException
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages import transfers as say
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.operations.tables.created_table import make_table
from hashrange.operations.transfers.import_records import (
    ImportCounts,
    ImportProgress,
    ImportRecord,
    ReadingPlace,
    kept_imports,
)
from hashrange.operations.transfers.imports import creation_request
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.index_keys import check_item_index_keys
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.transfers.formats.csv_lines import CsvLineReader
from hashrange.transfers.formats.ion_reading import IonLineReader
from hashrange.transfers.formats.json_lines import JsonLineReader
from hashrange.transfers.formats.lines import FaultyLine, LineReader, RawItem, ReadItem
from hashrange.transfers.reading import (
    FREED_BYTES,
    LINES_TOGETHER,
    LinePlace,
    ObjectsReading,
    ObjectsToRead,
    ReadBytes,
    ReadItems,
)
from hashrange.transfers.workshop import LOG, LOGGED_MAX, Steps, TransferFailed, Workshop
from hashrange.wire.piecewise import free

BATCH_ITEMS, BATCH_BYTES = 256, 256 * 1024
"""Items of one commit, or lines with errors in their place, and bytes of the items: 3 ms for small items without
indexes. With some there are fewer, as each index may have an entry of each item."""

KEYS_BITS = 1 << 24
"""Bits that tell which keys an import has put: 2 MB, for fifty imports may run. Of a million keys 3 % look as if they
were put before, of ten million a quarter.
"""


async def delete_other_tables(shop: Workshop, paths: list[str]) -> None:
    """Delete unseen tables that no import fills. `paths`: of the imports in progress."""
    catalog = shop.store.catalog
    unseen = catalog.importing()
    if unseen:
        records = [kept_imports(shop.store.documents).records.get(*path.split("/")) for path in paths]
        filled = {record.table_uuid for record in records if record is not None}
        for table in unseen:
            if table.schema.uuid not in filled:
                await catalog.delete(table.schema)


class ImportWork:
    """The work on one import. Implements `TransferWork` and `Sink`."""

    def __init__(self, workshop: Workshop, record: ImportRecord, progress: ImportProgress) -> None:
        self._shop = workshop
        self._record = record
        self._progress = progress
        self._kept = kept_imports(workshop.store.documents)
        self._catalog = workshop.store.catalog
        self._table: OpenTable | None = None
        wanted = ObjectsToRead(record.source, record.compression, line_reader(record), LINES_TOGETHER)
        self._reading = ObjectsReading(workshop.objects(record), wanted, progress.place, workshop.flows)
        self._batch: dict[Key, Row] = {}
        self._items: dict[Key, Item] = {}
        """The items of the batch, if index entries follow from them."""
        self._batch_bytes = 0
        self._batch_errors = 0
        """Errors since the batch was written."""
        self._large: list[RawItem] = []
        """Large items of the batch, as they were read and as they are written."""
        self._keys: KeysPut | None = None
        """None if the table may have rows from before this object was made."""
        self._counts = progress.counts or ImportCounts()
        """Those of all that has been read so far."""
        self._logged = 0

    async def make(self) -> Steps:
        """Implements `TransferWork.make`."""
        await self._make_table()
        if not self._progress.place.has_all:
            async with aclosing(self._reading.steps(self)) as steps:
                async for pause in steps:
                    yield pause
        while seconds := self._shop.seconds_left(self._record):
            yield seconds
        if not await self._show():
            raise TransferFailed("TableAlreadyExists", say.IMPORTED_NAME_TAKEN.format(name=self._record.table_name))
        if self._counts.errors:
            await self._conclude("ItemValidationError", say.ITEMS_REFUSED)
        else:
            await self._conclude()

    async def give_up(self) -> None:
        """Implements `TransferWork.give_up`."""
        await self._reading.give_up()

    # --- the table ------------------------------------------------------------------------------

    def _find_table(self) -> OpenTable | None:
        """The table while it is being imported, or once it is shown."""
        record = self._record
        shown = self._catalog.find(record.account, record.region, record.table_name)
        tables = (*self._catalog.importing(), *(() if shown is None else (shown,)))
        return next((one for one in tables if one.schema.uuid == record.table_uuid), None)

    async def _make_table(self) -> None:
        """Make the table, unless it has been made."""
        self._table = self._find_table()
        if self._table is not None:
            return
        record = self._record
        request = creation_request(record.creation)

        def make(table_id: int) -> Table:
            began = record.started_seconds
            table = make_table(request, record.table_name, table_id, record.account, record.region, began, began)
            return msgspec.structs.replace(table, uuid=record.table_uuid, is_importing=True)

        self._table, self._keys = await self._catalog.create(make), KeysPut()

    async def _show(self) -> bool:
        """Let requests find the table; False if its name is taken."""
        table = self._find_table()
        if table is None:
            return False
        if not table.schema.is_importing:
            return True
        active_at_seconds = self._shop.clock.service_time()
        shown = msgspec.structs.replace(table.schema, is_importing=False, active_at_seconds=active_at_seconds)
        return await self._catalog.replace(table.schema, shown)

    # --- what is read -----------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Implements `Sink.is_full`."""
        assert self._table is not None
        rows_of_item = 1 + len(self._table.entry_sources)
        items = len(self._batch) + self._batch_errors
        return items >= BATCH_ITEMS // rows_of_item or self._batch_bytes >= BATCH_BYTES // rows_of_item

    @property
    def has_taken(self) -> bool:
        """Implements `Sink.has_taken`."""
        return bool(self._batch or self._batch_errors)

    def take(self, read: ReadItems) -> None:
        """Implements `Sink.take`."""
        table, batch, items = self._table, self._batch, self._items
        assert table is not None
        fitting = 0
        for number, one in enumerate(read.items):
            fit = fit_item(table, one)
            if isinstance(fit, str):
                self.note_damage(read.place(number), fit)
                if isinstance(one, dict):
                    free(one)
                continue
            key, row, item, size_bytes = fit
            fitting += 1
            batch[key] = row
            if table.entry_sources:
                items[key] = item
            size_bytes = max(len(row), size_bytes)
            self._batch_bytes += size_bytes
            if size_bytes >= FREED_BYTES and isinstance(one, dict):
                self._large += (one, item)
        self._counts.processed += fitting
        self._counts.imported += fitting

    def note_damage(self, at: LinePlace, reason: str) -> None:
        """Implements `Sink.note_damage`, and notes an item that is refused."""
        self._batch_errors += 1
        self._counts.processed += 1
        self._counts.errors += 1
        self._logged += 1
        if self._logged <= LOGGED_MAX:
            LOG.warning(say.LOG_ITEM_REFUSED, self._record.arn, at.object_key, at.line, reason)
        elif self._logged == LOGGED_MAX + 1:
            LOG.warning(say.LOG_MORE_REFUSED, self._record.arn)

    def count_bytes(self, read: ReadBytes) -> None:
        """Implements `Sink.count_bytes`."""
        self._counts.processed_bytes += read.text

    async def write(self) -> None:
        """Implements `Sink.write`."""
        table = None if self._table is None else self._catalog.find_id(self._table.table_id)
        if table is None:
            raise TransferFailed("TableNotFound", say.TABLE_DELETED)
        self._table = table
        self._batch_errors = 0
        if self._batch:
            batch, self._batch, self._batch_bytes = self._batch, {}, 0
            items, self._items = self._items, {}
            known = None if self._keys is None else self._keys.add(batch)
            try:
                await row_copies_of(self._shop.store).load(table, batch, items, known)
            except ResourceNotFoundException:
                raise TransferFailed("TableNotFound", say.TABLE_DELETED) from None
            large, self._large = self._large, []
            for item in large:
                free(item)

    async def keep(self, place: ReadingPlace, read: ReadBytes) -> None:
        """Implements `Sink.keep`."""
        counts = msgspec.structs.replace(self._counts, processed_bytes=self._counts.processed_bytes + read.text)
        self._progress = ImportProgress(counts, place)
        await self._kept.keep_progress(self._record, self._progress)

    # --- the end ----------------------------------------------------------------------------------

    async def fail(self, code: str, message: str) -> None:
        """Implements `TransferWork.fail`. A table that has items stays, and is shown unless its name is taken."""
        with suppress(TransferFailed):
            await self.write()  # what was read before S3 failed
        table = self._find_table()
        if table is not None and table.schema.is_importing and not (self._counts.imported and await self._show()):
            await self._catalog.delete(table.schema)
        await self._conclude(code, message)

    async def _conclude(self, code: str | None = None, message: str | None = None) -> None:
        """Keep that the import has ended, with its FailureCode if it has failed."""
        if code is not None:
            LOG.warning(say.LOG_IMPORT_FAILED, self._record.arn, code, message)
        record = msgspec.structs.replace(
            self._record,
            status="COMPLETED" if code is None else "FAILED",
            ended_seconds=self._shop.clock.service_time(),
            counts=self._counts,
            failure_code=code,
            failure_message=message,
        )
        await self._kept.conclude(record)


class KeysPut:
    """The keys that have been put into a table, as far as one bit for each of KEYS_BITS hashes can tell."""

    def __init__(self) -> None:
        self._bits = bytearray(KEYS_BITS // 8)

    def add(self, keys: Collection[Key]) -> list[Key]:
        """Add keys; returns those that may have been added before. 0.2 µs each, where a look for its row takes 5."""
        bits, found = self._bits, []
        for key in keys:
            place = hash(key) % KEYS_BITS
            byte, bit = place >> 3, 1 << (place & 7)
            if bits[byte] & bit:
                found.append(key)
            else:
                bits[byte] |= bit
        return found


def fit_item(table: OpenTable, read: ReadItem) -> tuple[Key, Row, Item, int] | str:
    """Key, row and size of an item that was read, checked as PutItem would, and its canonical form; or why it cannot be
    written. 6 µs for 400 bytes.
    """
    if isinstance(read, FaultyLine):
        return read.reason
    try:
        item, size_bytes = check_item(read)
        if size_bytes > ITEM_SIZE_MAX_BYTES:
            return ITEM_TOO_LARGE
        key = table.item_key(item)
        if table.checks_items:
            check_item_index_keys(table, item)
        return key, encode_row(item, size_bytes), item, size_bytes
    except ValidationException as fault:
        return str(fault)
    except Malformed:
        return say.NOT_AN_ITEM


def line_reader(record: ImportRecord) -> Callable[[], LineReader]:
    """Returns the function that makes the reader of one object of an import."""
    if record.format == "DYNAMODB_JSON":
        return JsonLineReader
    if record.format == "ION":
        return IonLineReader
    csv = None if record.options is None else record.options.Csv
    delimiter = "," if csv is None or csv.Delimiter is None else csv.Delimiter
    header = None if csv is None else csv.HeaderList
    key_types = {one["AttributeName"]: one["AttributeType"] for one in record.creation["AttributeDefinitions"]}
    return lambda: CsvLineReader(delimiter, header, key_types)
