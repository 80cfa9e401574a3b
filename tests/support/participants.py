"""Participants that only tests use: one keeps a log of every change, one refuses large items through capacity."""

from collections.abc import Iterator, Sequence

import msgspec

from hashrange.errors import ApiError, ProvisionedThroughputExceededException
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.ordered_queue import OrderedQueue
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table

PREFIX = b"\x00\x00\x00\x00\x7f\x00"
TAG = "change-log"
"""Tag of a table: `filling` once the log is requested, `on` when the walk has filled it."""


class Logged(msgspec.Struct, frozen=True, array_like=True):
    """A row of the log."""

    key: bytes
    old: bytes | None
    new: bytes | None
    at_seconds: float
    origin: str


class ChangeLog(Participant):
    """Adds a row for each change of a tagged table, in the commit of the change."""

    needs_time = True

    def __init__(self, terms: Terms) -> None:
        self._has_passed = terms.has_passed
        self._queue = OrderedQueue(PREFIX)

    def load(self, engine: Engine, stored: None) -> None:
        self._queue.load()

    def takes_part(self, table: Table) -> bool:
        return TAG in table.tags

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        logged = [one for one in changes if self._has_passed(source_of(one.table), one.key)]
        for place, one in enumerate(logged):
            assert one.position == draft.position
            self._put(draft, one.table, place, Logged(one.key, one.old, one.new, one.at_seconds, one.origin))

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        if old is not None and TAG in old.tags and (new is None or TAG not in new.tags):
            draft.batch.delete_range(PREFIX + table_bytes(old), PREFIX + (old.table_id + 1).to_bytes(4, "big"))

    def walks(self, table: Table) -> Sequence[bytes]:
        return [source_of(table)] if table.tags.get(TAG) == "filling" else []

    def derive(self, table: OpenTable, source: bytes, key: Key, row: Row) -> tuple[Key, Row]:
        return key, row

    def fill(self, draft: Draft, table: OpenTable, source: bytes, derived: Sequence[tuple[Key, Row]]) -> None:
        assert source == source_of(table)
        for place, (key, row) in enumerate(derived):
            self._put(draft, table, place, Logged(key, None, row, draft.at_seconds, "walk"))

    def filled(self, table: Table, source: bytes) -> Table:
        assert source == source_of(table)
        return msgspec.structs.replace(table, tags={**table.tags, TAG: "on"})

    def _put(self, draft: Draft, table: OpenTable, place: int, logged: Logged) -> None:
        key = table_bytes(table) + draft.position.to_bytes(8, "big") + place.to_bytes(4, "big")
        self._queue.put(draft.batch, key, msgspec.msgpack.encode(logged))


def table_bytes(table: Table | OpenTable) -> bytes:
    """Bytes that start the keys of a table's log rows, after the prefix."""
    return table.table_id.to_bytes(4, "big")


def source_of(table: Table | OpenTable) -> bytes:
    """Name of the log among the sources that are filled from its table."""
    return table_bytes(table) + b"\x7f\x00"


def logged(engine: Engine, table: OpenTable) -> Iterator[tuple[int, Logged]]:
    """Position and content of every row of a table's log, in order."""
    prefix = PREFIX + table_bytes(table)
    for engine_key, row in scan_prefix(engine, prefix):
        yield int.from_bytes(engine_key[len(prefix) :][:8], "big"), msgspec.msgpack.decode(row, type=Logged)


def replayed(engine: Engine, table: OpenTable) -> dict[bytes, bytes]:
    """The table's rows that follow from the log; fails where a change's old row differs from the last new row."""
    rows: dict[bytes, bytes] = {}
    for _, change in logged(engine, table):
        assert rows.get(change.key) == change.old, f"a change of {change.key!r} is missing, or there twice"
        if change.new is None:
            del rows[change.key]
        else:
            rows[change.key] = change.new
    return rows


def stored(engine: Engine, table: OpenTable) -> dict[bytes, bytes]:
    """The rows in the table."""
    return {engine_key[6:]: row for engine_key, row in scan_prefix(engine, table.source_id)}


ITEM_BYTES_MAX = 1_000
TOO_MUCH = "The level of configured provisioned throughput for the table was exceeded."


class SizeLimit(Participant):
    """Refuses items of more than 1,000 bytes, as if they exceeded the capacity."""

    may_refuse = True

    def __init__(self, terms: Terms) -> None:
        del terms

    def takes_part(self, table: Table) -> bool:
        return True

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        reasons = [ProvisionedThroughputExceededException(TOO_MUCH) if _is_large(one) else None for one in changes]
        return reasons if any(reasons) else None


def _is_large(change: Change) -> bool:
    return change.new is not None and row_size_bytes(change.new) > ITEM_BYTES_MAX
