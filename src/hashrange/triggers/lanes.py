"""How do the records of a shard become batches? In lanes, each of which delivers one batch after the other.

A *lane* takes the records of some of a shard's items, chosen by a hash of their keys; of all items if the mapping's
ParallelizationFactor is 1. So several batches of a shard can be delivered at the same time, and each item's changes
still come in order.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

import msgspec

from hashrange.items.steps import spend
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import sequence_at
from hashrange.triggers.batches import Batch, final_batch
from hashrange.triggers.windows import TumblingWindow, window_start

EVENT_BYTES = 4 * 1024
"""Bytes that an event may have besides its records and the state of a window:
brackets, and members about the window."""
STEPS_PER_RECORD = 4
BYTES_PER_STEP = 1024
_sequence_of = itemgetter(0)


class ReadAhead(NamedTuple):
    """Durable records that were read together from one shard."""

    first: SequenceNumber
    """The sequence number from which on was read."""
    end: SequenceNumber
    """The first sequence number that is not covered: after the last record."""
    records: Sequence[Sequence[tuple[SequenceNumber, bytes]]]
    """For each lane of the shard: (sequence number, stored record) of each of its records."""
    is_end: bool
    """True if no further durable record was found."""
    is_all: bool
    """True if no record behind these was found that is not durable yet."""


class BatchTerms(NamedTuple):
    """What a mapping says about its batches."""

    to_json: Callable[[SequenceNumber, bytes], bytes]
    """Makes the JSON of a stored record, as in an event."""
    matches: Callable[[bytes], bool] | None
    """True if a record with this JSON is to be delivered; None: all are."""
    window_seconds: int
    """Length of tumbling windows; 0 if there are none."""
    open_batch: Callable[[], Batch]
    """Makes an empty batch."""


class Lane(msgspec.Struct, eq=False):
    """One lane of a shard."""

    number: int
    position: SequenceNumber
    """No record of the lane with a smaller sequence number is to be read again."""
    window: TumblingWindow | None = None
    """The tumbling window of the last handled batch, until its end; None if there is none."""
    batches: deque[Batch] = msgspec.field(default_factory=deque)
    """Batches to deliver, in order. The last one may still take records; several are parts of one that failed."""
    read_bytes: int = 0
    """Bytes of the records that were put into pages and batches for the lane since `Delivery` counted them."""
    is_busy: bool = False
    """True while the first batch is at the function, or at the destination."""
    due_seconds: float | None = None
    """Service time at which the last batch takes no more records, or the window ends;
    None if no time changes anything."""
    passed: int = 0
    """Records that were passed over, because they do not match, since the last checkpoint."""
    save_seconds: float | None = None
    """Service time at which a checkpoint is to be stored, because of the records that were passed
    over; None if there are none."""

    @property
    def handled(self) -> SequenceNumber:
        """All records of the lane with smaller sequence numbers have been handled."""
        for batch in self.batches:
            if batch.sequences:
                return batch.sequences[0]
        return self.position

    def end_window_early(self) -> None:
        """Let the window's final invocation come next if its state has become too large."""
        if self.window is not None and self.window.is_too_large and not (self.batches and self.batches[0].is_final):
            self.batches.appendleft(final_batch(self.window.start_seconds))

    def replace_first(self, batches: Iterable[Batch]) -> None:
        """Deliver these batches instead of the first one. If they leave out the final invocation
        of a window, the window ends all the same.
        """
        first = self.batches.popleft()
        if first.is_final:
            self.window = None
        self.batches.extendleft(reversed(list(batches)))


def lane_of(keys_json: bytes, lanes: int) -> int:
    """Number of the lane of an item, of which the JSON of its key attributes is given. 0.2 µs."""
    return crc32(keys_json) % lanes


def take_records(lane: Lane, page: ReadAhead, terms: BatchTerms) -> None:
    """Put records of a page, from the lane's position on, into its last batch,
    until the page ends or the batch is complete.

    A batch is opened for the first record. A record that alone is longer than an event may be makes a batch of its own.
    If a record belongs to a later window than the lane's, the batch is the final invocation of the lane's window. Takes
    4 µs for a record of 1 KB, and more if there are filters.
    """
    records = page.records[lane.number]
    to_json, matches, window_seconds, open_batch = terms
    bytes_max = INVOCATION_PAYLOAD_BYTES_MAX - EVENT_BYTES - (len(lane.window.state) if lane.window else 0)
    batch = lane.batches[-1] if lane.batches else None
    end_sequence = _end_of(batch, window_seconds)
    for place in range(bisect_left(records, lane.position, key=_sequence_of), len(records)):
        sequence, record = records[place]
        spend(STEPS_PER_RECORD + len(record) // BYTES_PER_STEP)
        text = to_json(sequence, record)
        if matches is not None and not matches(text):
            lane.passed += 1
            continue
        if batch is None:
            start_seconds = window_start(sequence, window_seconds) if window_seconds else None
            if lane.window is not None and lane.window.start_seconds != start_seconds:
                lane.batches.append(final_batch(lane.window.start_seconds))
                lane.position = sequence
                return
            batch = open_batch()
            batch.window_start_seconds = start_seconds
            lane.batches.append(batch)
            end_sequence = _end_of(batch, window_seconds)
        elif batch.size_bytes + len(text) > bytes_max or (end_sequence is not None and sequence >= end_sequence):
            batch.is_complete = True
            lane.position = sequence
            return
        batch.add(sequence, text)
        lane.read_bytes += len(text)
        if batch.is_complete:
            lane.position = sequence + 1
            return
    lane.position = max(lane.position, page.end)


def _end_of(batch: Batch | None, window_seconds: int) -> SequenceNumber | None:
    """The first sequence number after the window that the batch belongs to."""
    if batch is None or batch.window_start_seconds is None:
        return None
    return sequence_at(batch.window_start_seconds + window_seconds)
