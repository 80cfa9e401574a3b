"""`POST tables/NAME/split`: splits a partition of a table into two halves of its hashes,
as happens when the table outgrows its partitions.

Partitions are not stored separately, so their sizes are unknown; the largest is taken to be the one with the most
hashes, among those that hold several partition keys.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.limits import PARTITIONS_MAX
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving
from hashrange.server.protocols.admin.tables import find_named_table
from hashrange.soon import settled
from hashrange.store.interface import Store
from hashrange.store.pause import PAUSE
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.read_spans import hash_span
from hashrange.tables.source_id import HASH_BYTES


class SplitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: which partition of a table to split."""

    partition: int | None = None
    """Number of the partition among all that the table ever had, from 1; None means the largest that can be split."""
    account: str | None = None
    region: str | None = None


async def split(serving: Serving, request: SplitRequest, name: str) -> dict[str, object]:
    """Split a partition durably; return the table's partitions in order of hashes. Raises Refused or StorageError."""
    store = serving.service.store
    table = find_named_table(store.catalog, name, request.account, request.region)
    if len(table.partitions[table.source_id]) >= PARTITIONS_MAX:
        raise Refused(409, sentences.TOO_MANY_PARTITIONS.format(name=name, count=PARTITIONS_MAX))
    partition = await _choose(store, table, request.partition)
    if not await store.maintenance.split_partition(store.maintenance.lease(), partition):
        raise Refused(409, sentences.PARTITION_CHANGED.format(name=name, number=partition.number))
    table = find_named_table(store.catalog, name, table.schema.account, table.schema.region)
    return {"partitions": [_shown(one) for one in table.partitions[table.source_id]]}


async def _choose(store: Store, table: OpenTable, number: int | None) -> Partition:
    """Return the partition of this number or, with None, the largest that can be split.

    Raises Refused if no partition has the number, or none can be split.
    """
    partitions = table.partitions[table.source_id]
    if number is None:
        what, candidates = f"Table {table.name}", sorted(partitions, key=_count_hashes, reverse=True)
    else:
        what = f"Partition {number} of table {table.name}"
        candidates = [one for one in partitions if one.number == number]
        if not candidates:
            numbers = ", ".join(str(one.number) for one in partitions)
            raise Refused(404, sentences.NO_PARTITION.format(name=table.name, number=number, numbers=numbers))
    for partition in candidates:
        if await _has_several_keys(store, partition):
            return partition
        await PAUSE
    raise Refused(409, sentences.TOO_FEW_KEYS.format(what=what))


async def _has_several_keys(store: Store, partition: Partition) -> bool:
    """True if the partition has several partition keys: its first and last item have different hashes."""
    hashes = set()
    for is_reverse in (False, True):
        span = hash_span(partition.hashes, is_reverse=is_reverse)
        page = await settled(store.page(partition.source_id, span, 1, 1, consistent=True))
        if page.last_key is not None:
            hashes.add(page.last_key[:HASH_BYTES])
    return len(hashes) > 1


def _count_hashes(partition: Partition) -> int:
    return partition.hashes.last - partition.hashes.first


def _shown(partition: Partition) -> dict[str, object]:
    """Return the reply's members for a partition. Hashes are hexadecimal texts, because many languages cannot read JSON
    numbers of 64 bits.
    """
    first, last = partition.hashes
    return {"number": partition.number, "first_hash": f"{first:016x}", "last_hash": f"{last:016x}"}


ENDPOINT = Operation("POST tables/NAME/split", SplitRequest, split, AdminWire())
