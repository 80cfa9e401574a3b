"""Which tables are there, if several servers make and delete them? One partition of Cassandra holds all descriptions;
each change is a conditional batch that advances its revision.

Every server has a view in memory, which a job refreshes each second, and `look_up` at once. A table that is deleted is
first marked as such; then its slots are closed, so that no server serves it any more, whatever its view says; then its
name is free. Whoever finds a marked table goes on with that.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

import msgspec

from hashrange.errors import OutcomeUnknown, ResourceNotFoundException, StorageError
from hashrange.messages.cluster import OUTCOME_UNKNOWN
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.global_indexes import drop_entries
from hashrange.store.cassandra.layout import SLOTS
from hashrange.store.cassandra.session import GIVE_UP_SECONDS, QUORUM, SERIAL, CqlStatement, OutcomeLost, Session
from hashrange.store.cassandra.slots import Slots
from hashrange.store.cassandra.works import Close
from hashrange.store.embedded.layout import decode_table, encode_table
from hashrange.store.interface import TableChanged
from hashrange.store.table_view import TableView
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import first_partitions
from hashrange.tables.schema import Table

AccountRegion = tuple[str, str]
"""Account and Region."""


class CassandraCatalog:
    """The tables of a cluster."""

    is_late = True

    def __init__(
        self, session: Session, slots: Slots, service_time: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self._session = session
        self._slots = slots
        self._service_time = service_time
        self._monotonic = monotonic
        self._revision: int | None = None
        self._next_id = 1
        self._stored: dict[int, bytes] = {}
        """Table id → description as stored."""
        self._by_id: dict[int, OpenTable] = {}
        self._by_place: dict[AccountRegion, TableView] = {}
        """The views that have tables."""
        self._views: WeakValueDictionary[AccountRegion, TableView] = WeakValueDictionary()
        """All views."""
        self._followers: list[TableChanged] = []
        self._order = asyncio.Lock()

    # --- the view ---------------------------------------------------------------------------------

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table with this name, in any state; None if the view has none."""
        tables = self._by_place.get((account, region))
        return None if tables is None else tables.get(name)

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live view of one account and Region: name → table."""
        return self._view((account, region))

    def _view(self, place: AccountRegion) -> TableView:
        return self._views.setdefault(place, TableView())

    def elsewhere(self, name: str) -> Collection[tuple[str, str]]:
        """(account, Region) of every table of that name."""
        return [place for place, tables in self._by_place.items() if name in tables]

    def all_tables(self) -> Sequence[OpenTable]:
        """Every table, in order of table id."""
        return [self._by_id[table_id] for table_id in sorted(self._by_id)]

    def importing(self) -> Sequence[OpenTable]:
        """None: a cluster imports nothing."""
        return ()

    def find_id(self, table_id: int) -> OpenTable | None:
        """The table with this id; None if the view has none."""
        return self._by_id.get(table_id)

    def on_change(self, changed: TableChanged) -> None:
        """Call `changed` after each change of the view."""
        self._followers.append(changed)

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Refresh the view; True if one of these names now has another table. Raises StorageError."""
        wanted = list(names)
        before = [self.find(account, region, name) for name in wanted]
        await self.refresh()
        return [self.find(account, region, name) for name in wanted] != before

    async def refresh(self) -> None:
        """Bring the view up to date. Raises StorageError."""
        async with self._order:
            await self._refresh()

    async def _refresh(self) -> None:
        head = await self._session.execute(cql.READ_CATALOG_HEAD, level=SERIAL)
        if not head:
            return
        _, revision, next_id, _ = head[0]
        if revision == self._revision:
            return
        stored = {
            table_id: bytes(description)
            for table_id, description in await self._session.execute(cql.READ_CATALOG, level=QUORUM)
        }
        self._revision, self._next_id = revision, next_id
        self._show(stored)

    def _show(self, stored: Mapping[int, bytes]) -> None:
        for table_id in self._stored.keys() - stored.keys():
            self._list(table_id, None)
        for table_id, description in stored.items():
            if self._stored.get(table_id) != description:
                self._list(table_id, description)

    def _list(self, table_id: int, description: bytes | None) -> None:
        """Put a table into the view, or take it out."""
        before = self._by_id.pop(table_id, None)
        if before is not None:
            place = before.schema.account, before.schema.region
            tables = self._by_place[place]
            if tables.get(before.name) is before:
                del tables[before.name]
            if not tables:
                del self._by_place[place]
        after = None
        if description is None:
            self._stored.pop(table_id, None)
        else:
            schema = decode_table(description)
            sources = schema.sources
            after = OpenTable(schema, {source_id: first_partitions(source_id, SLOTS) for source_id in sources})
            self._stored[table_id] = description
            self._by_id[table_id] = after
            place = schema.account, schema.region
            tables = self._by_place[place] = self._view(place)
            tables[schema.name] = after
        for changed in self._followers:
            changed(before, after)

    # --- changes ----------------------------------------------------------------------------------

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Store the table `make(table_id)`; None (nothing done) if its name is taken. Raises StorageError."""

        def planned() -> tuple[Table, Sequence[CqlStatement]] | None:
            table = make(self._next_id)
            if self.find(table.account, table.region, table.name) is not None:
                return None
            return table, [(cql.PUT_TABLE, (table.table_id, encode_table(table)))]

        table = await self._change(planned, takes_id=True)
        return None if table is None else self.find_id(table.table_id)

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace a description; False (nothing done) if the stored one differs from `old`. Raises StorageError."""

        def planned() -> tuple[Table, Sequence[CqlStatement]] | None:
            return (new, [(cql.PUT_TABLE, (new.table_id, encode_table(new)))]) if self._is_stored(old) else None

        return await self._change(planned) is not None

    async def delete(self, table: Table) -> bool:
        """Delete a table with all its rows; False (nothing done) if the stored description differs. Raises
        StorageError: then the table may be marked as deleted, and the next operation that finds it goes on.
        """
        now_seconds = self._service_time()
        marked = table
        if table.deleted_at_seconds is None or table.deleted_at_seconds > now_seconds:
            marked = msgspec.structs.replace(table, deleted_at_seconds=now_seconds)
            if not await self.replace(table, marked):
                return False
        closing = [self._slots.writer(table.table_id, slot).add(Close()) for slot in range(SLOTS)]
        for result in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, ResourceNotFoundException):
                raise result  # other slots are closed already

        def planned() -> tuple[Table, Sequence[CqlStatement]] | None:
            return (marked, [(cql.DELETE_TABLE, (table.table_id,))]) if self._is_stored(marked) else None

        if await self._change(planned) is None:
            return False
        await drop_entries(self._session, [source_id for source_id in table.sources if source_id != table.source_id])
        return True

    def _is_stored(self, table: Table) -> bool:
        stored = self._by_id.get(table.table_id)
        return stored is not None and stored.schema == table

    async def _change(
        self, plan: Callable[[], tuple[Table, Sequence[CqlStatement]] | None], *, takes_id: bool = False
    ) -> Table | None:
        """Commit what `plan` makes of the view; None if it makes nothing of one that is up to date."""
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        async with self._order:
            await self._refresh()
            while (planned := plan()) is not None:
                table, statements = planned
                if await self._commit(statements, takes_id=takes_id):
                    return table
                if self._monotonic() >= until_seconds:
                    raise StorageError(OUTCOME_UNKNOWN.format(place=self._session.place))
                await self._refresh()
        return None

    async def _commit(self, statements: Sequence[CqlStatement], *, takes_id: bool) -> bool:
        """Advance the revision with these statements; False if somebody else has. May raise StorageError."""
        former, batch = self._revision, secrets.token_bytes(16)
        revision, next_id = (former or 0) + 1, self._next_id + takes_id
        head: CqlStatement = (
            (cql.BEGIN_CATALOG, (revision, next_id, batch))
            if former is None
            else (cql.ADVANCE_CATALOG, (revision, next_id, batch, former))
        )
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        was_lost = False
        while True:
            try:
                is_done = await self._session.decide(head, *statements)
            except OutcomeLost:
                was_lost, is_done = True, False
            if not is_done:
                found = await self._session.execute(cql.READ_CATALOG_HEAD, level=SERIAL)
                now, now_batch = (found[0][1], found[0][3]) if found else (None, None)
                if now == former:
                    if self._monotonic() >= until_seconds:
                        raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place))
                    continue
                if now is not None and now > revision and was_lost:
                    raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place))
                is_done = now_batch == batch
            if not is_done:
                return False
            await self._refresh()
            return True
