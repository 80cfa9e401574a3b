"""How do the mappings of the server's settings come into being?
A job makes one for each stream that is on of a table they name.

They are stored as all mappings are, so that they go on at their checkpoints after a restart. Their UUIDs follow from
stream and function, and from the number of mappings before them in the file that connect the same two.
One that the file no longer has, or whose stream is gone, is deleted.
"""

from collections.abc import Iterator, Sequence
from uuid import NAMESPACE_URL, uuid5

import msgspec

from hashrange.functions.names import FunctionKey
from hashrange.operations.streams.stream import stream_with_arn
from hashrange.store.interface import Catalog
from hashrange.store.streams import Streams
from hashrange.tables.schema import Table
from hashrange.tables.streams import has_stream, stream_arn
from hashrange.triggers.configuration import DeclaredMapping
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.mappings import Mappings

_CHANGING = (
    "uuid",
    "account",
    "region",
    "starting_sequence",
    "transition",
    "changing_until_seconds",
    "last_modified_seconds",
)
"""Members of a stored mapping that its declaration does not determine."""


class DeclaredMappings:
    """The job that makes the stored mappings agree with the declared ones."""

    def __init__(
        self, declared: Sequence[DeclaredMapping], mappings: Mappings, catalog: Catalog, streams: Streams
    ) -> None:
        self._declared = [
            (sum((other.table, other.function) == (one.table, one.function) for other in declared[:place]), one)
            for place, one in enumerate(declared)
        ]
        """Declared mappings, each with the number of those before it that connect the same table and function."""
        self._mappings = mappings
        self._catalog = catalog
        self._streams = streams

    async def run_slice(self) -> None:
        """Create, change and delete declared mappings. Raises StorageError."""
        wanted = {one.uuid: one for one in self._wanted()}
        stored = {one.uuid: one for one in self._mappings.all() if one.is_declared}
        for uuid, mapping in wanted.items():
            found = stored.get(uuid)
            if found is None:
                await self._mappings.create(mapping)
            elif found.transition != "Deleting" and (changed := _changed(found, mapping)) != found:
                await self._mappings.replace(found, changed)
        for uuid, found in stored.items():
            if uuid not in wanted and found.transition != "Deleting" and not self._is_drained(found):
                await self._mappings.delete(found)

    def _wanted(self) -> Iterator[EventSourceMapping]:
        for number, declared in self._declared:
            for account, region in sorted(self._catalog.elsewhere(declared.table)):
                table = self._catalog.find(account, region, declared.table)
                is_meant = declared.account in {None, account} and declared.region in {None, region}
                if is_meant and table is not None and has_stream(table.schema):
                    yield _mapping_of(number, declared, table.schema)

    def _is_drained(self, mapping: EventSourceMapping) -> bool:
        """True if the mapping is still declared, and delivers the rest of a stream that has ended."""
        stream = stream_with_arn(self._streams, mapping.stream_arn)
        return (
            stream is not None
            and not stream.is_on
            and any(_uuid_of(mapping.stream_arn, one, number) == mapping.uuid for number, one in self._declared)
        )


def _uuid_of(arn: str, declared: DeclaredMapping, number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"{arn} {declared.function} {number}"))


def _mapping_of(number: int, declared: DeclaredMapping, table: Table) -> EventSourceMapping:
    assert table.stream_label is not None
    arn = stream_arn(table.account, table.region, table.name, table.stream_label)
    return EventSourceMapping(
        uuid=_uuid_of(arn, declared, number),
        account=table.account,
        region=table.region,
        stream_arn=arn,
        function_arn=FunctionKey(table.account, table.region, declared.function).arn,
        starting_position=declared.starting_position,
        is_declared=True,
        **declared.settings(),
    )


def _changed(found: EventSourceMapping, wanted: EventSourceMapping) -> EventSourceMapping:
    kept = {name: getattr(found, name) for name in _CHANGING}
    return msgspec.structs.replace(wanted, **kept)
