"""How do records become items of a table, several batches at a time? Threads take batches in the order of the records,
and write them.

A key that is in a batch being written is not begun again before that one is written, so the last record of a key wins.
What counts as done is what all batches before are, so a load that goes on writes some batches again, which changes
nothing.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.toolkit.moving.batch_writer import (
    BATCH_BYTES,
    BATCH_ITEMS,
    BatchWriter,
    item_deletion,
    item_put,
)
from hashrange.toolkit.moving.keys import BadRecord, RecordKey, TableKeyAttribute, record_key
from hashrange.toolkit.moving.load_files import LoadFile
from hashrange.toolkit.moving.masking import Masks
from hashrange.toolkit.moving.raw_client import Stopped
from hashrange.toolkit.moving.record_reading import FileRecord
from hashrange.toolkit.moving.threads import run_together

KEPT_EACH_ITEMS = 1000
"""Items after which the place is kept again."""
_decode_item = msgspec.json.Decoder(dict[str, dict[str, Any]]).decode


class LoadState(msgspec.Struct):
    """How far a load is: all records before a place are done."""

    file: int = 0
    """Number of the file, from 0."""
    number: int = 0
    """Number of its last record that is done."""
    loaded_items: int = 0
    deletions: int = 0
    bad_records: int = 0
    units: float = 0.0
    text_bytes: int = 0

    @property
    def has_begun(self) -> bool:
        """True if a record is done."""
        return self.number > 0 or self.file > 0


class RecordPlace(NamedTuple):
    """Where a record is."""

    file: int
    number: int


class LoadBatch:
    """Requests that are written together."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.places: list[RecordPlace] = []
        self.keys: set[RecordKey] = set()
        self.end = RecordPlace(0, 0)
        """The place of the last record before the next batch."""
        self.size_bytes = 0
        self.deletions = 0
        self.bad_records = 0
        self.refused_items = 0
        self.units = 0.0
        self.is_done = False

    @property
    def is_full(self) -> bool:
        """True if it is to be sent."""
        return len(self.requests) == BATCH_ITEMS or self.size_bytes >= BATCH_BYTES


class TableLoad:
    """A load of files into a table."""

    def __init__(
        self,
        writer: BatchWriter,
        attributes: Sequence[TableKeyAttribute],
        files: Sequence[LoadFile],
        read: Callable[[LoadFile], Iterator[FileRecord]],
        state: LoadState,
        *,
        masks: Masks | None = None,
        keep: Callable[[LoadState], None] | None = None,
    ) -> None:
        """`keep`: is told the state now and then."""
        self.state = state
        self._writer, self._attributes, self._files, self._read = writer, attributes, files, read
        self._masks, self._keep = masks, keep or (lambda _: None)
        self._records = self._all_records()
        self._next: tuple[RecordPlace, FileRecord] | None = None
        """A record that was read and has no batch yet."""
        self._written = deque[LoadBatch]()
        """Batches that are being written, or wait for one before them, in order."""
        self._is_free = threading.Condition()
        self._stop = threading.Event()
        self._kept_items = state.loaded_items
        self.faults = deque[tuple[str, int, str]]()
        """File, number and reason of bad records that were not told yet."""

    def run(self, threads: int, stop: threading.Event, on_tick: Callable[[], None]) -> None:
        """Load what is left. Raises UsageFault, ToolkitFailure, OSError."""
        self._stop = stop
        try:
            run_together([self._write_batches] * threads, stop, on_tick)
        finally:
            with self._is_free:
                self._is_free.notify_all()
                self._keep(self.state)

    def _write_batches(self) -> None:
        """Write batches until there is none."""
        while (batch := self._take()) is not None:
            written = self._writer.write(batch.requests) if batch.requests else None
            with self._is_free:
                if written is not None:
                    batch.units = written.units
                    batch.refused_items = len(written.refusals)
                    self._note([(batch.places[one.position], one.reason) for one in written.refusals])
                self._settle(batch)

    def _take(self) -> LoadBatch | None:
        """The next batch; None: all records are in one. Waits while another thread writes one of its keys."""
        with self._is_free:
            while True:
                if self._stop.is_set():
                    raise Stopped
                batch = self._read_batch()
                if batch is None:
                    return None
                if batch.places or batch.bad_records:
                    self._written.append(batch)
                    return batch
                self._is_free.wait()

    def _read_batch(self) -> LoadBatch | None:
        """The next records up to one whose key is being written: perhaps none; None: there are no more."""
        batch = LoadBatch()
        busy = set[RecordKey]().union(*[one.keys for one in self._written if not one.is_done])
        while not batch.is_full:
            if self._next is None:
                self._next = next(self._records, None)
            if self._next is None:
                return batch if batch.places or batch.bad_records else None
            place, record = self._next
            if not self._add(batch, busy, place, record):
                break
            self._next, batch.end = None, place
        return batch

    def _add(self, batch: LoadBatch, busy: set[RecordKey], place: RecordPlace, record: FileRecord) -> bool:
        """Add a record to a batch; False if it must wait for another one."""
        try:
            if record.fault:
                raise BadRecord(record.fault)
            key = record_key(record.item, self._attributes)
        except BadRecord as wrong:
            batch.bad_records += 1
            self._note([(place, str(wrong))])
            return True
        if key in busy or key in batch.keys:
            return False
        batch.keys.add(key)
        batch.requests.append(item_deletion(record.item) if record.is_deletion else item_put(record.item))
        batch.places.append(place)
        batch.deletions += record.is_deletion
        batch.size_bytes += len(record.item)
        return True

    def _settle(self, batch: LoadBatch) -> None:
        """Count a batch, and those behind it that are done, once all before are."""
        batch.is_done = True
        state = self.state
        while self._written and self._written[0].is_done:
            done = self._written.popleft()
            state.file, state.number = done.end
            state.loaded_items += len(done.requests) - done.deletions - done.refused_items
            state.deletions += done.deletions
            state.bad_records += done.bad_records + done.refused_items
            state.units += done.units
            state.text_bytes += done.size_bytes
        if state.loaded_items >= self._kept_items + KEPT_EACH_ITEMS:
            self._kept_items = state.loaded_items
            self._keep(state)
        self._is_free.notify_all()

    def _note(self, faults: Sequence[tuple[RecordPlace, str]]) -> None:
        self.faults.extend((self._files[place.file].path, place.number, reason) for place, reason in faults)

    def _all_records(self) -> Iterator[tuple[RecordPlace, FileRecord]]:
        """All records that are not done, masked."""
        for number, file in enumerate(self._files[self.state.file :], self.state.file):
            done = self.state.number if number == self.state.file else 0
            for record in self._read(file):
                if record.number > done:
                    yield RecordPlace(number, record.number), self._masked(record)

    def _masked(self, record: FileRecord) -> FileRecord:
        if self._masks is None or record.fault:
            return record
        try:
            item = _decode_item(record.item)
            self._masks.apply(item)
        except (BadRecord, msgspec.DecodeError) as wrong:
            return record._replace(fault=f"it cannot be masked: {wrong}")
        return record._replace(item=msgspec.json.encode(item))
