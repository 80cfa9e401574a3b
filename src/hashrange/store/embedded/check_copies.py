"""Are copies in progress, kept rows and windows of recovery sound? And which rows and records do they explain that
belong to no table and no stream?

Kept rows, and those that a copy reads, may stand without their table: they decode, and their statistics equal a
recount, which leaves out what a copy has moved since it was stored.
A former row that is kept for a copy lies behind the key that the copy has passed. A table whose recovery is on has a
window, whose marks are numbers; records of its change log from the window's begin on, and those that a copy is still to
undo, need no shard that shows them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_row
from hashrange.items.types import Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.changed_rows import rows_of_changed
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.staged_rows import StoredCopy, decode_copy
from hashrange.tables import streams
from hashrange.tables.schema import KeySchema, Table
from hashrange.tables.source_id import make_source_id, table_id_of

_SHORT_BYTES = 4


class CopyCheck:
    """Checks the copies, kept rows and windows of a folder. Damaged descriptions of copies raise an exception."""

    def __init__(self, engine: Engine, tables: Sequence[Table]) -> None:
        self._engine = engine
        self._tables = {table.table_id: table for table in tables}
        self._copies: dict[int, StoredCopy] = {
            int.from_bytes(engine_key[len(layout.COPY_PREFIX) :], "big"): decode_copy(row)
            for engine_key, row in scan_prefix(engine, layout.COPY_PREFIX)
        }
        self._kept: list[tuple[int, bytes, bytes]] = [
            (int.from_bytes(place[:_SHORT_BYTES], "big"), place[_SHORT_BYTES:], row)
            for place, row in self._below(layout.KEPT_PREFIX)
        ]
        self.loose_sources = {make_source_id(table_id) for table_id, _, _ in self._kept if table_id} | {
            copy.source_id for copy in self._copies.values()
        }
        """Source ids whose rows may stand without their table."""
        self._counted_up_to = {copy.target: copy.target + copy.passed for copy in self._copies.values() if copy.target}
        """Source id of a copy's target → engine key of its last row that the stored statistics count."""
        self._firsts: dict[int, list[tuple[streams.Sequence, streams.Sequence]]] = {}
        """Table id → first and last sequence numbers of records that are needed."""
        self._untrimmed: set[int] = set()
        self._windows: Counter[int] = Counter()
        """Table id → number of marks."""
        self._wrong_marks: list[str] = []
        self._read_windows()
        for copy in self._copies.values():
            if not copy.is_ready:
                table = self._tables.get(table_id_of(copy.source_id))
                has_window = table is not None and streams.has_recovery(table)
                # a log is trimmed from its begin; without a window, what lies behind the last record stays, too
                last = layout.decode_sequence(copy.until) if has_window else streams.SEQUENCE_MAX
                needed = layout.decode_sequence(copy.since), last
                self._firsts.setdefault(table_id_of(copy.source_id), []).append(needed)

    def _below(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return ((engine_key[len(prefix) :], row) for engine_key, row in scan_prefix(self._engine, prefix))

    def _read_windows(self) -> None:
        for place, row in self._below(layout.WINDOW_PREFIX):
            table_id, sequence = int.from_bytes(place[:_SHORT_BYTES], "big"), place[_SHORT_BYTES:]
            if len(sequence) != streams.SEQUENCE_BYTES:
                self._wrong_marks.append(f"the mark {place.hex()} of a window of recovery has a key of a wrong length")
                continue
            first = layout.decode_sequence(sequence)
            if first == streams.SEQUENCE_MAX:
                self._untrimmed.add(table_id)
                continue
            if len(row) != layout.NUMBER_BYTES:
                self._wrong_marks.append(f"the mark {place.hex()} of a window of recovery holds no number")
            if not self._windows[table_id]:
                self._firsts.setdefault(table_id, []).append((first, streams.SEQUENCE_MAX))
            self._windows[table_id] += 1

    # --- what they explain ------------------------------------------------------------------------

    def keeps_record(self, table_id: int, sequence: streams.Sequence) -> bool:
        """True if the record of a change log may stand there although no shard shows it."""
        needed = self._firsts.get(table_id, ())
        return table_id in self._untrimmed or any(first <= sequence <= last for first, last in needed)

    def counts(self, source_id: bytes, engine_key: bytes) -> bool:
        """False for a row that a copy has moved since it was stored: the statistics do not count it yet."""
        last = self._counted_up_to.get(source_id)
        return last is None or engine_key <= last

    def keys_of_table(self, table_id: int) -> KeySchema | None:
        """The key attributes of a table that is there, or that a copy reads; None if nobody knows them."""
        if table_id in self._tables:
            return self._tables[table_id].keys
        of_copies = [one.keys for one in self._copies.values() if table_id_of(one.source_id) == table_id]
        return next((keys for keys in of_copies if keys is not None), None)

    # --- faults -----------------------------------------------------------------------------------

    def faults(self) -> Iterator[str]:
        """Report all faults. 5 µs for each former row."""
        yield from self._wrong_marks
        yield from self._kept_faults()
        yield from self._copy_faults()
        yield from self._staged_faults()
        for table_id, count in self._windows.items():
            table = self._tables.get(table_id)
            if table is None or not streams.has_recovery(table):
                yield f"table id {table_id} has {count} marks of recovery, and is no table whose recovery is on"
        for table in self._tables.values():
            if streams.has_recovery(table) and not self._windows[table.table_id]:
                yield f"the recovery of table {table.name} is on, and it has no window"

    def _kept_faults(self) -> Iterator[str]:
        counter = self._engine.get(layout.NEXT_TABLE_ID_KEY)
        next_table_id = 1 if counter is None else int.from_bytes(counter, "big")
        owners = Counter(owner for _, owner, _ in self._kept)
        for table_id, owner, row in self._kept:
            place = f"the row that keeps rows for {owner.decode(errors='replace')}"
            if row:
                yield f"{place} is not empty"
            if not 0 < table_id < next_table_id:
                yield f"{place} names table id {table_id}, but the next id to be given out is {next_table_id}"
        yield from [
            f"rows of {count} tables are kept for {owner.decode(errors='replace')}"
            for owner, count in owners.items()
            if count > 1
        ]

    def _copy_faults(self) -> Iterator[str]:
        owners = Counter(one.owner for one in self._copies.values())
        yield from [f"{count} copies are in progress for {owner}" for owner, count in owners.items() if count > 1]
        for number, copy in self._copies.items():
            if not copy.is_ready and copy.keys is None:
                yield f"copy {number} of {copy.owner} is to undo changes of rows whose keys it does not know"

    def _staged_faults(self) -> Iterator[str]:
        for place, row in self._below(layout.STAGED_PREFIX):
            copy = self._copies.get(int.from_bytes(place[:_SHORT_BYTES], "big"))
            name = f"former row {place.hex()}"
            if copy is None:
                yield f"{name} belongs to no copy"
            elif len(row) < streams.SEQUENCE_BYTES:
                yield f"{name} says of no change that it is before it"
            elif copy.is_of_changes:
                for one in rows_of_changed(row):
                    yield from row_faults(name, one)
            elif former := row[streams.SEQUENCE_BYTES :]:
                yield from row_faults(name, Row(former))


def row_faults(place: str, row: Row) -> Iterator[str]:
    """Report a row that cannot be read."""
    try:
        row_size_bytes(row)
        decode_row(row)
    except Exception as error:  # noqa: BLE001 - any error that damaged bytes cause is a finding
        yield f"{place} cannot be read: {type(error).__name__}: {error}"
