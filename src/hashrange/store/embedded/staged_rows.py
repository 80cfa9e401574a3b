"""Which copies are in progress, how far are they, and which former rows do writers keep for them? A participant knows.

A copy is stored at its begin, and then from time to time (`StoredCopy`). Between two times, the rows that it has put
into its target tell how far it is. Why: docs/adr/0071-row-copies.md.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from contextlib import closing
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Key
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.tables.change import Change
from hashrange.tables.schema import KeySchema, Table
from hashrange.tables.source_id import SourceId, key_in_source, make_source_id, table_id_of
from hashrange.tables.streams import SEQUENCE_MAX

FOUND_KEYS_MAX = 4_096
"""Keys of kept rows that are remembered of each copy, before all of them are forgotten: 0.6 MB of keys of 50 bytes."""
AFTER_BEGIN = layout.encode_sequence(SEQUENCE_MAX)
"""Stands before rows that writes have kept: a change that is undone is an earlier one."""


class StoredCopy(msgspec.Struct, frozen=True):
    """What is stored of a copy in progress."""

    owner: str
    source_id: bytes
    keys: KeySchema | None
    """The key attributes of the rows; None if no changes are undone."""
    at_seconds: float
    since: bytes
    """The first sequence number whose change is to be undone, 12 bytes."""
    until: bytes
    """The last one."""
    undone_down_to: bytes = b""
    """Number of the partition and sequence number of the record that was undone last; nothing at the begin."""
    is_ready: bool = True
    passed: bytes = b""
    is_of_changes: bool = False
    """True if it has the rows that were changed between two moments, as the log tells of them, and no others."""
    target: bytes = b""
    """Source id of the rows that are moved; empty if none have been. Rows behind `passed` that stand there are moved,
    but the target's stored statistics do not count them yet.
    """


encode_copy = msgspec.msgpack.Encoder().encode
decode_copy = layout.row_decoder(msgspec.msgpack.Decoder(StoredCopy).decode, "a copy in progress")


class CopiesRead(NamedTuple):
    """The copies in progress of an engine, and its kept rows, as `StagedRows` holds them."""

    by_number: dict[int, StoredCopy]
    """With the key that each has passed according to its target."""
    by_owner: dict[str, int]
    by_table: dict[int, dict[int, bytes]]
    uncounted: dict[int, Key]
    kept: dict[str, SourceId]
    users: dict[bytes, Counter[str]]


class StagedRows(Participant):
    """The participant that keeps former rows for copies; it has all copies, and knows whose rows are kept."""

    def __init__(self, terms: Terms) -> None:
        self._streams = terms.streams
        self.by_number: dict[int, StoredCopy] = {}
        """The copies, the one with the lowest number first."""
        self.last_number = 0
        """The highest number that a copy has had; no other copy gets it."""
        self.by_owner: dict[str, int] = {}
        self.unstored: dict[int, int] = {}
        """Number of a copy → slices by which it has come further since it was stored; missing: by none."""
        self.uncounted: dict[int, Key] = {}
        """Number of a copy → key in its target behind which rows are still to be counted, because they were moved by
        slices that were not stored before the engine was opened.
        """
        self.mixed: set[int] = set()
        """Numbers of copies that have been stored, and have moved no rows since: the memtable holds other rows."""
        self.kept: dict[str, SourceId] = {}
        """Owner → whose rows are kept for it."""
        self._users: dict[bytes, Counter[str]] = {}
        """Source id → owner for whom its rows are kept or copied, and whether both are."""
        self._by_table: dict[int, dict[int, bytes]] = {}
        """Table id → number of each copy of its rows → the key that it has passed."""
        self._found: defaultdict[int, set[Key]] = defaultdict(set)
        """Number of a copy → keys whose former rows have been found among those that are kept for it, where they stay
        until it ends: they need not be looked for again.
        """

    def read(self, engine: Engine, tables: Sequence[Table]) -> CopiesRead:
        """Read the copies, and whose rows are kept."""
        copies, kept = CopiesRead({}, {}, {}, {}, {}, {}), layout.KEPT_PREFIX
        for engine_key, row in scan_prefix(engine, layout.COPY_PREFIX):
            number, copy = int.from_bytes(engine_key[len(layout.COPY_PREFIX) :], "big"), decode_copy(row)
            last = _last_key(engine, copy.target) if copy.target else b""
            if last > copy.passed:
                copies.uncounted[number] = Key(copy.passed)
                copy = msgspec.structs.replace(copy, passed=last)
            copies.by_number[number], copies.by_owner[copy.owner] = copy, number
            if not copy.is_of_changes:
                copies.by_table.setdefault(table_id_of(copy.source_id), {})[number] = copy.passed
            _use(copies.users, copy.source_id, copy.owner)
        for engine_key, _ in scan_prefix(engine, kept):
            place = engine_key[len(kept) :]
            owner, source_id = place[4:].decode(), make_source_id(int.from_bytes(place[:4], "big"))
            copies.kept[owner] = source_id
            _use(copies.users, source_id, owner)
        return copies

    def load(self, engine: Engine, stored: CopiesRead) -> None:
        """Take over the copies, and whose rows are kept."""
        self.by_number, self.by_owner, self._by_table, self.uncounted, self.kept, self._users = stored
        self.last_number = max(self.last_number, next(reversed(self.by_number), 0))
        self.unstored, self.mixed = {}, set()
        self._found.clear()
        for number, copy in self.by_number.items():
            self._hold(number, copy)

    def content(self) -> Sequence[dict[Any, Any]]:
        """The copies, and whose rows are kept."""
        return self.by_number, self.by_owner, self.kept, self._users

    def begun_after(self, number: int) -> Sequence[tuple[int, str]]:
        """As `RowCopies.begun_after`."""
        numbers = list(takewhile(lambda one: one > number, reversed(self.by_number)))
        return [(one, self.by_number[one].owner) for one in reversed(numbers)]

    def see(self, number: int, copy: StoredCopy, unstored: int = 0) -> None:
        """Note that a copy has begun or come further. `unstored`: slices since it was stored."""
        if unstored:
            self.unstored[number] = unstored
            self.mixed.discard(number)
        else:
            self.unstored.pop(number, None)
        if number not in self.by_number:
            self.last_number = max(self.last_number, number)
            _use(self._users, copy.source_id, copy.owner)
        self.by_number[number], self.by_owner[copy.owner] = copy, number
        if not copy.is_of_changes:
            self._by_table.setdefault(table_id_of(copy.source_id), {})[number] = copy.passed
        self._hold(number, copy)

    def _hold(self, number: int, copy: StoredCopy) -> None:
        """Keep the changes in the log that a copy is still to undo."""
        if copy.is_ready:
            self._streams.holds.pop((self, number), None)
        else:
            held = table_id_of(copy.source_id), layout.decode_sequence(copy.since)
            self._streams.holds[self, number] = held

    def forget(self, number: int) -> None:
        """Note that a copy has ended."""
        copy = self.by_number.pop(number)
        table_id = table_id_of(copy.source_id)
        del self.by_owner[copy.owner]
        self._use_no_longer(copy.source_id, copy.owner)
        self.unstored.pop(number, None)
        self.uncounted.pop(number, None)
        self.mixed.discard(number)
        self._found.pop(number, None)
        if not copy.is_of_changes:
            del self._by_table[table_id][number]
            if not self._by_table[table_id]:
                del self._by_table[table_id]
        self._streams.holds.pop((self, number), None)

    def needs(self, source_id: bytes, *, without: str | None = None) -> bool:
        """True if rows are needed although their table is deleted: a copy reads them, or they are kept for an owner
        other than `without`.
        """
        return any(owner != without for owner in self.users(source_id))

    def users(self, source_id: bytes) -> Collection[str]:
        """As `RowCopies.users`."""
        return self._users.get(source_id, {}).keys()

    def keep(self, owner: str, source_id: SourceId) -> None:
        """Note whose rows are kept for an owner from now on."""
        self.keep_no_longer(owner)
        self.kept[owner] = source_id
        _use(self._users, source_id, owner)

    def keep_no_longer(self, owner: str) -> None:
        """Note that no rows are kept for an owner."""
        if owner in self.kept:
            self._use_no_longer(self.kept.pop(owner), owner)

    def _use_no_longer(self, source_id: bytes, owner: str) -> None:
        users = self._users[source_id]
        users[owner] -= 1
        if not users[owner]:
            del users[owner]
        if not users:
            del self._users[source_id]

    def takes_part(self, table: Table) -> bool:
        """True for tables of which a copy is in progress."""
        return table.table_id in self._by_table

    def follows(self, change: Change, engine: Engine) -> bool:
        """True if a copy has not passed the row, and no earlier change has kept a former one. For each copy 0.2 µs, and
        4 µs to look for a former row.
        """
        key = change.key
        for number, passed in self._by_table[change.table.table_id].items():
            if key > passed and key not in self._found[number] and not self._is_kept(engine, number, key):
                return True
        return False

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Keep the former rows that copies have not passed, unless an earlier change has done so. 3 µs each."""
        for change in changes:
            key = change.key
            for number, passed in self._by_table[change.table.table_id].items():
                if key > passed and key not in self._found[number] and not self._is_kept(draft.engine, number, key):
                    draft.batch.put(layout.staged_prefix(number) + key, AFTER_BEGIN + (change.old or b""))

    def _is_kept(self, engine: Engine, number: int, key: Key) -> bool:
        """True if the former row at `key` is kept for a copy, which is then remembered."""
        if engine.get(layout.staged_prefix(number) + key) is None:
            return False
        found = self._found[number]
        if len(found) == FOUND_KEYS_MAX:
            found.clear()
        found.add(key)
        return True


def _use(users: dict[bytes, Counter[str]], source_id: bytes, owner: str) -> None:
    users.setdefault(source_id, Counter())[owner] += 1


def _last_key(engine: Engine, source_id: bytes) -> bytes:
    """The key of a source's last row; empty if it has none. Raises what `scan_range` raises."""
    with closing(scan_range(engine, source_id, prefix_upper_bound(source_id), is_reverse=True)) as rows:
        return next((key_in_source(engine_key) for engine_key, _ in rows), b"")
