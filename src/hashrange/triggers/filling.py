"""Which batch does a lane deliver next, and from when on?
Its last batch takes records until it is complete, and else waits for more.

A batch that is not full is complete when its batching window is over, when its tumbling window ends, or when its shard
has no further record. A tumbling window gets its final invocation when its time is over and all of its records have
been handled, or at the end of its shard (unconfirmed; its children begin with windows of their own).
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import itemgetter

from hashrange.items.steps import walk
from hashrange.limits import TRIGGER_PAGE_BYTES, TRIGGER_PAGE_RECORDS
from hashrange.store.streams import Streams
from hashrange.tables.stream_records import keys_json_of
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import horizon
from hashrange.triggers.batches import Batch, final_batch
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.lanes import Lane, ReadAhead, lane_of, take_records

StoredRecords = Sequence[tuple[SequenceNumber, bytes]]
_sequence_of = itemgetter(0)


async def fill_batch(shard: ConsumedShard, lane: Lane, streams: Streams, now_seconds: float) -> bool:
    """Put durable records into the lane's last batch; returns True if it is complete.

    Otherwise all durable records have been looked at, and `lane.due_seconds` is the time at which the batch will be
    complete, or None if only a new record changes anything. If the shard has been read to its end,
    it is drained then. Raises StorageError.
    """
    while True:
        if lane.batches and lane.batches[-1].is_complete:
            return True
        page = next((one for one in reversed(shard.pages) if one.first <= lane.position < one.end), None)
        is_new = page is None
        if page is None:
            page = await _read_page(shard, lane, streams, now_seconds)
        take_records(lane, page, shard.consumer.terms)
        if is_new and page.is_end and lane.position >= page.end:
            break
    if all(one.position >= page.end for one in shard.lanes):
        shard.pages.clear()
    if lane.batches and lane.batches[-1].is_complete:
        return True
    return _is_complete_now(shard, lane, page, now_seconds)


def _is_complete_now(shard: ConsumedShard, lane: Lane, page: ReadAhead, now_seconds: float) -> bool:
    """True if the last batch is complete although there are no further records,
    or the tumbling window gets its final invocation. `page`: the last one, which has just been read.
    """
    mapping, last = shard.consumer.mapping, shard.shard.last
    has_shard_ended = last is not None and shard.durable >= last
    window_seconds = mapping.tumbling_window_seconds
    lane.due_seconds = None
    if lane.batches:
        batch = lane.batches[-1]
        complete_seconds = batch.opened_seconds + mapping.batching_window_seconds
        if batch.window_start_seconds is not None:
            complete_seconds = min(complete_seconds, batch.window_start_seconds + window_seconds)
        batch.is_complete = has_shard_ended or now_seconds >= complete_seconds
        if not batch.is_complete:
            lane.due_seconds = complete_seconds
        return batch.is_complete
    if lane.window is not None:
        end_seconds = lane.window.start_seconds + window_seconds
        if has_shard_ended or (now_seconds >= end_seconds and page.is_all):
            lane.batches.append(final_batch(lane.window.start_seconds))
            return True
        lane.due_seconds = end_seconds if now_seconds < end_seconds else None
    elif last is not None and has_shard_ended:
        lane.position = max(lane.position, last + 1)
        if not any(one.batches or one.window or one.position <= last for one in shard.lanes):
            shard.is_drained = True
    return False


async def _read_page(shard: ConsumedShard, lane: Lane, streams: Streams, now_seconds: float) -> ReadAhead:
    """A new page of durable records, from the lane's position on.
    Gives way before and after, so that requests wait for the read alone.
    """
    first = lane.position = max(lane.position, horizon(now_seconds))
    await asyncio.sleep(0)
    found = await streams.records(shard.shard, first, TRIGGER_PAGE_RECORDS, TRIGGER_PAGE_BYTES)
    await asyncio.sleep(0)
    shard.durable, records = found.durable, found.records
    is_end, is_all = found.is_end or not records, not records or records[-1][0] <= found.durable
    if not is_all:
        records, is_end = records[: bisect_right(records, found.durable, key=_sequence_of)], True
    after = records[-1][0] + 1 if records else first
    while shard.pages and all(one.position >= shard.pages[0].end for one in shard.lanes):
        shard.pages.popleft()
    lane.read_bytes += sum([len(record) for _, record in records])
    page = ReadAhead(first, after, _by_lane(records, shard), is_end, is_all)
    shard.pages.append(page)
    return page


async def read_again(shard: ConsumedShard, lane: Lane, streams: Streams, now_seconds: float) -> None:
    """Let the lane's first batch have all of its records that are still stored. Raises StorageError."""
    batch = lane.batches[0]
    again = Batch(0.0, len(batch.sequences), size_bytes=-(1 << 62))  # complete by the number of its records alone
    reader = Lane(lane.number, batch.sequences[0], batches=deque([again]))
    await fill_batch(shard, reader, streams, now_seconds)
    lane.read_bytes += reader.read_bytes
    texts = dict(zip(again.sequences, again.records, strict=True))
    batch.records = [texts[one] for one in batch.sequences if one in texts]
    batch.size_bytes = sum(map(len, batch.records)) + len(batch.records)


def _by_lane(records: StoredRecords, shard: ConsumedShard) -> Sequence[StoredRecords]:
    """The records of each lane. Takes 1 µs a record if there are several lanes."""
    count = len(shard.lanes)
    if count == 1:
        return (records,)
    found: list[list[tuple[SequenceNumber, bytes]]] = [[] for _ in range(count)]
    for one in walk(records):
        found[lane_of(keys_json_of(one[1]), count)].append(one)
    return found
