"""How does a write become a stream record? As a row of the same commit, in the open shard that covers
the hash of the item's partition key.

    prefix ‖ stream ‖ shard ‖ sequence number     → the record, which `tables/stream_records.py` defines

Why: docs/adr/0031-streams.md.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.stream_records import UNRECORDED
from hashrange.tables.streams import SEQUENCE_BYTES, Purpose, label_on, sequence_at


class StreamRecords(Participant):
    """The participant that adds records to the streams that clients read."""

    needs_time = True
    purpose: Purpose = "readers"

    def __init__(self, terms: Terms) -> None:
        self._streams = terms.streams
        self._find_table = terms.find_table
        self._wake = terms.wake
        self._missing: list[int] = []
        """Ids of tables whose streams `recover` is to begin."""

    def load(self, engine: Engine, tables: Sequence[Table]) -> None:
        """Note which tables lack their streams; the store has read all streams before."""
        self._missing = self._streams.missing(tables)

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Yield functions that begin the streams of tables of an older format, each in the draft of one commit.

        In that format, tables only described their streams.
        Behind a restore, also one that keeps the last sequence number.
        """
        if self._streams.is_ahead:
            yield self._streams.keep_last
        missing, self._missing = self._missing, []
        for table_id in missing:
            opened = self._find_table(table_id)
            assert opened is not None
            table, partitions = opened.schema, opened.partitions[opened.source_id]
            yield lambda draft, table=table, partitions=partitions: (  # type: ignore[misc]
                self._streams.begin(draft, table, partitions)
            )

    def takes_part(self, table: Table) -> bool:
        """True for tables with a stream of this purpose that is on."""
        return label_on(table, self.purpose) is not None

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add a record for each change of an item, except by imports and restores. 2 µs each, plus engine time."""
        streams, put = self._streams, draft.batch.put
        last, now, on = streams.last, sequence_at(draft.at_seconds), streams.on[self.purpose]
        written = {}
        for change in changes:
            if change.origin in UNRECORDED:
                continue
            state = on[change.table.table_id]
            last = now if now > last else last + 1
            places = state.places
            prefix = state.record_prefixes[bisect_right(places, change.key[:HASH_BYTES]) if places else 0]
            written[prefix] = state
            put(prefix + last.to_bytes(SEQUENCE_BYTES, "big"), state.encode(change))
        draft.afterwards.append(partial(streams.written_up_to, last, written))

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """End the table's stream if `new` has another stream or none; begin a stream that only `new` has."""
        label = None if new is None else label_on(new, self.purpose)
        state = None if old is None else self._streams.on[self.purpose].get(old.table_id)
        if state is not None and state.stream.label != label:
            self._streams.end(draft, state, new)
        if new is not None and label is not None and (state is None or state.stream.label != label):
            self._streams.begin(draft, new, partitions, self.purpose)
            draft.afterwards.append(self._wake)

    def partition_splits(self, draft: Draft, table: Table, partition: Partition, children: Sequence[Partition]) -> None:
        """Replace the open shard of `partition` by two. Does nothing without a stream, or for an index's partition."""
        state = self._streams.on[self.purpose].get(table.table_id)
        if state is not None and partition.source_id == table.source_id:
            shard = next(one for one in state.open if one.partition == partition.number)
            self._streams.succeed(draft, state, {shard: children})


class FeedRecords(StreamRecords):
    """The participant that adds records to feeds, from which a job delivers them to Kinesis."""

    purpose: Purpose = "kinesis"

    def load(self, engine: Engine, tables: Sequence[Table]) -> None:
        """Do nothing: older formats have no feeds."""

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Yield nothing: older formats have no feeds."""
        return iter(())

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """Begin and end feeds; note the Kinesis stream and precision for the records of a feed that stays on."""
        super().table_changes(draft, old, new, partitions)
        state = None if new is None else self._streams.on[self.purpose].get(new.table_id)
        if new is not None and state is not None and state.stream.label == label_on(new, self.purpose):
            self._streams.retarget(draft, state, new)
