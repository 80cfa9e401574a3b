"""How is a whole table scanned into a file or a pipe? By a thread for each segment, which reads a page, makes its text,
writes it, and keeps behind which key the segment goes on.

What is written and what is kept changes under one lock. So a kill at any moment leaves a file that, cut where the state
says, has each item of the pages up to the kept keys once.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from hashrange.toolkit.moving.item_forms import TEXT_FORMS, FormName, page_text
from hashrange.toolkit.moving.pages import ScanPage, ScanReader
from hashrange.toolkit.moving.raw_client import Stopped
from hashrange.toolkit.moving.threads import run_together


class SegmentState(msgspec.Struct):
    """How far a segment is."""

    key: str = ""
    """Behind this key, in DynamoDB JSON, it goes on; empty: from its begin."""
    is_done: bool = False

    def advance(self, page: ScanPage) -> None:
        """Note that a page, the segment's next one, is done."""
        self.key = bytes(page.last_evaluated_key).decode()
        self.is_done = not self.key


class ScanState(msgspec.Struct):
    """How far a scan is."""

    segments: list[SegmentState]
    written_items: int = 0
    scanned_items: int = 0
    """Items that were read, also those that the filter has dropped."""
    units: float = 0.0
    size_bytes: int = 0
    """Where the file is cut."""
    text_bytes: int = 0
    """Bytes of the pages that were read."""

    @property
    def has_begun(self) -> bool:
        """True if a page was read."""
        return self.scanned_items > 0 or any(one.key or one.is_done for one in self.segments)


class Output(Protocol):
    """Takes what is written."""

    size_bytes: int

    def write(self, piece: bytes) -> None:
        """Write a piece of text, compressed."""


class TableScan:
    """A scan into an output."""

    def __init__(
        self,
        reader: ScanReader,
        state: ScanState,
        output: Output,
        form: FormName,
        pack: Callable[[bytes], bytes] = bytes,
        *,
        limit: int | None = None,
        keep: Callable[[ScanState], None] | None = None,
    ) -> None:
        """`pack`: compresses a piece. `limit`: items that are written at most. `keep`: is told each change of state."""
        self.state = state
        self._reader, self._output, self._keep = reader, output, keep or (lambda _: None)
        self._form_name, self._form, self._pack = form, TEXT_FORMS[form], pack
        self._limit = limit
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def run(self, stop: threading.Event, on_tick: Callable[[], None]) -> None:
        """Scan what is left, and finish the text. Raises ToolkitFailure, and what the output raises."""
        self._stop = stop
        if not self._output.size_bytes:
            self._write(self._form.head)
            self._record()
        works = [partial(self._scan, number) for number, one in enumerate(self.state.segments) if not one.is_done]
        run_together(works, stop, on_tick)
        self._write(self._form.tail)

    @property
    def _left(self) -> int | None:
        """Items that may still be written; None: any number."""
        return None if self._limit is None else self._limit - self.state.written_items

    def _scan(self, number: int) -> None:
        """Scan one segment."""
        segment = self.state.segments[number]
        if self._left == 0:
            return
        for page in self._reader.pages(number, segment.key.encode()):
            if not self._take(segment, page):
                return

    def _take(self, segment: SegmentState, page: ScanPage) -> bool:
        """Write a page; False if there is enough."""
        is_free = self._limit is None  # then other threads may write meanwhile
        piece = self._piece(page.items) if is_free else b""
        with self._lock:
            if self._stop.is_set():
                raise Stopped
            items = page.items
            if not is_free:
                items = items[: self._left]
                piece = self._piece(items)
            if piece:
                if self.state.written_items:
                    self._write(self._form.between)
                self._output.write(piece)
            state = self.state
            state.written_items += len(items)
            state.scanned_items += page.scanned_count
            state.units += page.units
            state.text_bytes += page.size_bytes
            segment.advance(page)
            self._record()
            return self._left != 0

    def _piece(self, items: Sequence[msgspec.Raw]) -> bytes:
        return self._pack(page_text(self._form_name, items)) if items else b""

    def _write(self, text: bytes) -> None:
        if text:
            self._output.write(self._pack(text))

    def _record(self) -> None:
        self.state.size_bytes = self._output.size_bytes
        self._keep(self.state)
