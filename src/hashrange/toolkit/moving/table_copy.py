"""How are a table's items copied into another one? By a thread for each segment, which reads a page, writes its items,
and keeps behind which key the segment goes on.

A kill between the two lets a page be written again, which changes nothing.
"""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec

from hashrange.toolkit.moving.batch_writer import BATCH_BYTES, BATCH_ITEMS, BatchWriter, item_put
from hashrange.toolkit.moving.pages import ScanReader
from hashrange.toolkit.moving.raw_client import Stopped
from hashrange.toolkit.moving.table_scan import SegmentState
from hashrange.toolkit.moving.threads import run_together


class ShardPlace(msgspec.Struct):
    """How far a shard of a stream has been read."""

    sequence_number: str = ""
    """That of its last record that is written; empty: none is."""
    is_drained: bool = False
    """True if it is closed, and written to its end."""


class CopyState(msgspec.Struct):
    """How far a copy is."""

    segments: list[SegmentState]
    copied_items: int = 0
    bad_items: int = 0
    scanned_items: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    text_bytes: int = 0
    changes: int = 0
    """Changes of the source that were copied after its items."""
    shards: dict[str, ShardPlace] | None = None
    """Shards of the source's stream; None: it is not followed."""

    @property
    def has_begun(self) -> bool:
        """True if a page is copied."""
        return self.scanned_items > 0 or any(one.key or one.is_done for one in self.segments)


class TableCopy:
    """A copy of the items that a table has."""

    def __init__(
        self, reader: ScanReader, writer: BatchWriter, state: CopyState, keep: Callable[[CopyState], None]
    ) -> None:
        """`keep`: is told each change of state."""
        self.state = state
        self._reader, self._writer, self._keep = reader, writer, keep
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.faults = deque[tuple[bytes, str]]()
        """Items that the target refuses, and why, that were not told yet."""

    def run(self, stop: threading.Event, on_tick: Callable[[], None]) -> None:
        """Copy what is left. Raises ToolkitFailure."""
        self._stop = stop
        works = [partial(self._copy, number) for number, one in enumerate(self.state.segments) if not one.is_done]
        run_together(works, stop, on_tick)

    def _copy(self, number: int) -> None:
        """Copy one segment."""
        segment = self.state.segments[number]
        for page in self._reader.pages(number, segment.key.encode()):
            units, refused = self._write(page.items)
            with self._lock:
                if self._stop.is_set():
                    raise Stopped
                state = self.state
                state.copied_items += len(page.items) - refused
                state.bad_items += refused
                state.scanned_items += page.scanned_count
                state.read_units += page.units
                state.write_units += units
                state.text_bytes += page.size_bytes
                segment.advance(page)
                self._keep(state)

    def _write(self, items: list[msgspec.Raw]) -> tuple[float, int]:
        """Write the items of a page; returns write units, and how many the target refuses."""
        units, refused, start = 0.0, 0, 0
        while start < len(items):
            end, size_bytes = start, 0
            while end < min(start + BATCH_ITEMS, len(items)) and size_bytes < BATCH_BYTES:
                size_bytes += memoryview(items[end]).nbytes
                end += 1
            written = self._writer.write([item_put(item) for item in items[start:end]])
            self.faults.extend((bytes(items[start + one.position]), one.reason) for one in written.refusals)
            units += written.units
            refused += len(written.refusals)
            start = end
        return units, refused
